//! Messages in Anthropic's format: system messages apart, and tool results inside the user's turns.

use regatta_proto::{ChatMessage, ChatRequest, ChatRole};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::blocks::{Returned, give_back};
use crate::wire::arguments::Arguments;
use crate::wire::images::{encoded, only_users_have_images, text_beside_images};

/// Most cache breakpoints in a request.
const MARKS_MAX: usize = 4;

/// A cache breakpoint.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

const EPHEMERAL: CacheControl = CacheControl { kind: "ephemeral" };

/// A block of a message.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Image {
        source: Source,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Arguments<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    #[serde(untagged)]
    Thought(Value),
}

/// The file of an image.
#[derive(Debug, Serialize)]
pub(super) struct Source {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'static str,
    data: String,
}

impl<'a> Block<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text { text, cache_control: None }
    }

    fn mark(&mut self) {
        match self {
            Self::Image { cache_control, .. }
            | Self::Text { cache_control, .. }
            | Self::ToolUse { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => *cache_control = Some(EPHEMERAL),
            // Reasoning cannot carry a breakpoint.
            Self::Thought(_) => {}
        }
    }
}

/// A turn.
#[derive(Debug, Serialize)]
pub(super) struct Message<'a> {
    role: &'static str,
    #[serde(serialize_with = "content")]
    content: Vec<Block<'a>>,
}

/// Writes a single text as a string.
fn content<S: Serializer>(blocks: &[Block<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    match blocks {
        [Block::Text { text, cache_control: None }] => serializer.serialize_str(text),
        blocks => blocks.serialize(serializer),
    }
}

/// A conversation.
#[derive(Debug)]
pub(super) struct Conversation<'a> {
    /// System messages at the beginning of the conversation.
    pub(super) system: Vec<Block<'a>>,
    pub(super) messages: Vec<Message<'a>>,
}

impl<'a> Conversation<'a> {
    /// System messages within the conversation stay in their place; models before Opus 4.8 refuse them.
    ///
    /// # Errors
    /// When the result of a tool does not name its call, or an image cannot be sent.
    pub(super) fn new(request: &'a ChatRequest) -> Result<Self, String> {
        only_users_have_images(request)?;
        let is_system = |message: &&ChatMessage| message.role == ChatRole::System;
        let mut system: Vec<Block<'_>> =
            request.messages.iter().take_while(is_system).map(|message| Block::text(&message.content)).collect();
        let mut messages: Vec<Message<'_>> = Vec::with_capacity(request.messages.len());
        let mut marked = Vec::new();
        for message in &request.messages[system.len()..] {
            let (role, content) = blocks(message)?;
            match messages.last_mut() {
                Some(last) if message.role == ChatRole::Tool && last.holds_results() => last.content.extend(content),
                _ if content.is_empty() => continue,
                _ => messages.push(Message { role, content }),
            }
            if message.cache_until_here {
                marked.push(messages.len() - 1);
            }
        }
        let own = system.last_mut().map(Block::mark);
        marked.dedup();
        for index in marked.into_iter().rev().take(MARKS_MAX - usize::from(own.is_some())) {
            if let Some(block) = messages[index].content.last_mut() {
                block.mark();
            }
        }
        Ok(Self { system, messages })
    }
}

impl Message<'_> {
    fn holds_results(&self) -> bool {
        matches!(self.content.last(), Some(Block::ToolResult { .. }))
    }
}

fn blocks(message: &ChatMessage) -> Result<(&'static str, Vec<Block<'_>>), String> {
    Ok(match message.role {
        ChatRole::System => ("system", vec![Block::text(&message.content)]),
        ChatRole::User => ("user", asked(message)?),
        ChatRole::Assistant => ("assistant", give_back(message).into_iter().map(returned).collect()),
        ChatRole::Tool => {
            let call = message.tool_call_id.as_deref().ok_or("the result of a tool does not name its call")?;
            let content = &*message.content;
            ("user", vec![Block::ToolResult { tool_use_id: call, content, cache_control: None }])
        }
    })
}

/// Images, then the text.
fn asked(message: &ChatMessage) -> Result<Vec<Block<'_>>, String> {
    let images = encoded(message)?.into_iter().map(|image| Block::Image {
        source: Source { kind: "base64", media_type: image.format.media_type(), data: image.data },
        cache_control: None,
    });
    Ok(images.chain(text_beside_images(message).map(Block::text)).collect())
}

fn returned(block: Returned<'_>) -> Block<'_> {
    match block {
        Returned::Text(text) => Block::text(text),
        Returned::Thought(block) => Block::Thought(block),
        Returned::ToolUse(call) => {
            Block::ToolUse { id: &call.id, name: &call.name, input: Arguments::of(call), cache_control: None }
        }
    }
}
