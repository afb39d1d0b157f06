//! Messages in Converse's format: turns alternate, so adjacent messages of one role are merged.

use regatta_proto::{ChatMessage, ChatRequest, ChatRole};
use serde::Serialize;
use serde_json::Value;

use super::reasoning::{content, knows_cache_points};
use crate::wire::anthropic::blocks::{Returned, give_back};
use crate::wire::arguments::Arguments;
use crate::wire::images::{encoded, only_users_have_images, text_beside_images};

/// Most cache points in a request.
const MARKS_MAX: usize = 4;

/// A block of a turn, or of the system prompt.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Block<'a> {
    Image(Image),
    Text(&'a str),
    ToolUse(ToolUse<'a>),
    ToolResult(ToolResult<'a>),
    ReasoningContent(Value),
    CachePoint(CachePoint),
}

#[derive(Debug, Serialize)]
pub(super) struct Image {
    format: &'static str,
    source: ImageSource,
}

/// The file of an image, in base64.
#[derive(Debug, Serialize)]
struct ImageSource {
    bytes: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolUse<'a> {
    tool_use_id: &'a str,
    name: &'a str,
    input: Arguments<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolResult<'a> {
    tool_use_id: &'a str,
    content: Vec<Block<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct CachePoint {
    #[serde(rename = "type")]
    kind: &'static str,
}

const CACHE_POINT: Block<'static> = Block::CachePoint(CachePoint { kind: "default" });

/// A turn.
#[derive(Debug, Serialize)]
pub(super) struct Message<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

/// A conversation.
#[derive(Debug)]
pub(super) struct Conversation<'a> {
    /// System messages at the beginning of the conversation.
    pub(super) system: Vec<Block<'a>>,
    pub(super) messages: Vec<Message<'a>>,
}

impl<'a> Conversation<'a> {
    /// System messages within the conversation stay in their place; few models accept them there.
    ///
    /// # Errors
    /// When the result of a tool does not name its call, or an image cannot be sent.
    pub(super) fn new(model: &str, request: &'a ChatRequest) -> Result<Self, String> {
        only_users_have_images(request)?;
        let marks = request.messages.iter().filter(|message| message.cache_until_here).count();
        // If there are too many marks, the last ones are kept, because they cover the longest prefixes.
        let mut skipped = if knows_cache_points(model) { marks.saturating_sub(MARKS_MAX) } else { marks };
        let count = request.messages.iter().take_while(|message| message.role == ChatRole::System).count();
        let mut conversation = Self { system: Vec::new(), messages: Vec::new() };
        for (index, message) in request.messages.iter().enumerate() {
            let (role, blocks) = blocks(message)?;
            let place =
                if index < count { &mut conversation.system } else { conversation.turn(role, blocks.is_empty()) };
            place.extend(blocks);
            if message.cache_until_here {
                match skipped.checked_sub(1) {
                    Some(fewer) => skipped = fewer,
                    None if place.is_empty() => {}
                    None => place.push(CACHE_POINT),
                }
            }
        }
        conversation.messages.retain(|message| !message.content.is_empty());
        Ok(conversation)
    }

    /// The content of the turn that a message of `role` belongs to. An empty message belongs to the turn before it, whatever its role.
    fn turn(&mut self, role: &'static str, is_empty: bool) -> &mut Vec<Block<'a>> {
        let continues = self.messages.last().is_some_and(|last| last.role == role || is_empty);
        if !continues {
            self.messages.push(Message { role, content: Vec::new() });
        }
        let last = self.messages.len() - 1;
        &mut self.messages[last].content
    }
}

fn blocks(message: &ChatMessage) -> Result<(&'static str, Vec<Block<'_>>), String> {
    Ok(match message.role {
        ChatRole::System => ("system", vec![Block::Text(&message.content)]),
        ChatRole::User => ("user", asked(message)?),
        ChatRole::Assistant => ("assistant", give_back(message).into_iter().filter_map(returned).collect()),
        ChatRole::Tool => {
            let call = message.tool_call_id.as_deref().ok_or("the result of a tool does not name its call")?;
            let text = &*message.content;
            // Converse refuses blank texts.
            let content = if text.trim().is_empty() { Vec::new() } else { vec![Block::Text(text)] };
            ("user", vec![Block::ToolResult(ToolResult { tool_use_id: call, content })])
        }
    })
}

/// Images, then the text.
fn asked(message: &ChatMessage) -> Result<Vec<Block<'_>>, String> {
    let images = encoded(message)?.into_iter();
    let images = images.map(|image| Image { format: image.format.as_str(), source: ImageSource { bytes: image.data } });
    Ok(images.map(Block::Image).chain(text_beside_images(message).map(Block::Text)).collect())
}

fn returned(block: Returned<'_>) -> Option<Block<'_>> {
    match block {
        Returned::Text(text) => Some(Block::Text(text)),
        Returned::Thought(block) => content(&block).map(Block::ReasoningContent),
        Returned::ToolUse(call) => {
            Some(Block::ToolUse(ToolUse { tool_use_id: &call.id, name: &call.name, input: Arguments::of(call) }))
        }
    }
}
