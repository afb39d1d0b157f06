//! Instructions and messages of Anthropic's format, as [`ChatMessage`]s.

use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRole, Image, Reasoning, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::NO_OBJECT;
use crate::content::{Content, PLAIN, pass_on};
use crate::error::ApiError;
use crate::fields::{Fields, Text, parse};
use crate::images::image;
use crate::reader::Reader;
use crate::refused::SIGNED_THOUGHT;

/// Takes the conversation out of a request.
pub(super) fn conversation(fields: &mut Fields<'_>, reader: &mut Reader) -> Result<Vec<ChatMessage>, ApiError> {
    let mut messages = system(fields, reader)?;
    let turns = fields.objects("messages")?;
    if turns.is_empty() {
        return Err(fields.refuse("messages", "is empty; send at least one"));
    }
    for mut turn in turns {
        let role = match turn.need_text("role")?.as_ref() {
            "system" => ChatRole::System,
            "user" => ChatRole::User,
            "assistant" => ChatRole::Assistant,
            other => return Err(turn.refuse("role", &format!("is {other:?}; expected user, assistant or system"))),
        };
        let path = turn.path_of("content");
        let content = turn.raw("content");
        append(&mut messages, role, content, &path, reader)?;
        turn.finish(reader)?;
    }
    Ok(messages)
}

/// A message for each block of the instructions.
fn system(fields: &mut Fields<'_>, reader: &mut Reader) -> Result<Vec<ChatMessage>, ApiError> {
    let Some(value) = fields.raw("system") else { return Ok(Vec::new()) };
    let blocks: Vec<&RawValue> = if value.get().starts_with('[') { parse(value, "system")? } else { vec![value] };
    let mut messages = Vec::with_capacity(blocks.len());
    for (index, block) in blocks.into_iter().enumerate() {
        let content = if block.get().starts_with('{') {
            text_block(Fields::of(block, format!("system[{index}]"))?, reader)?
        } else {
            Content::read(Some(block), "system", PLAIN, reader)?
        };
        if !content.text.is_empty() {
            let cache_until_here = content.cache_until_here && reader.is_whole();
            messages.push(ChatMessage { cache_until_here, ..ChatMessage::new(ChatRole::System, content.text) });
        }
    }
    Ok(messages)
}

fn text_block(mut block: Fields<'_>, reader: &mut Reader) -> Result<Content, ApiError> {
    let kind = block.need_text("type")?;
    if kind != "text" {
        return Err(block.refuse("type", &format!("is {kind:?}; only text can be carried")));
    }
    let content = Content {
        text: block.text("text")?.unwrap_or_default().into(),
        cache_until_here: block.raw("cache_control").is_some(),
        images: Vec::new(),
    };
    block.pass_over(&["citations"]);
    block.finish(reader)?;
    Ok(content)
}

/// The contents of a message's blocks, until they are appended as a message.
#[derive(Default)]
struct Said {
    text: String,
    images: Vec<Image>,
    calls: Vec<ToolCall>,
    thoughts: Thoughts,
    cache_until_here: bool,
    /// A text block was there, even if empty.
    is_there: bool,
}

/// Thoughts of a message.
#[derive(Default)]
struct Thoughts {
    /// Texts, of which some are empty.
    texts: Vec<String>,
    /// The part of the first signed one that only its provider can read.
    opaque: Option<Arc<str>>,
    /// Number of those that are signed.
    signed: usize,
    /// The order in which signed ones, texts and calls came.
    order: Vec<Place>,
    /// A signed one is of a provider whose messages have one alone.
    is_alone: bool,
}

/// A block of a message, for the order of its blocks.
enum Place {
    /// Text of so many bytes.
    Text(usize),
    Call,
    /// Blocks of a signed thought.
    Signed(Vec<Value>),
}

impl Place {
    /// The block as Anthropic's endpoints write it into [`Reasoning::opaque`].
    fn blocks(self) -> Vec<Value> {
        match self {
            Self::Text(bytes) => vec![json!({"type": "text", "bytes": bytes})],
            Self::Call => vec![json!({"type": "tool_use"})],
            Self::Signed(blocks) => blocks,
        }
    }
}

impl Thoughts {
    /// All of them as one.
    fn together(mut self) -> Option<Reasoning> {
        if self.texts.is_empty() {
            return None;
        }
        self.texts.retain(|text| !text.is_empty());
        let mut opaque = self.opaque;
        if self.signed > 1 {
            // Texts and calls that follow the last one need no place.
            let end = self.order.iter().rposition(|place| matches!(place, Place::Signed(_))).map_or(0, |last| last + 1);
            let blocks: Vec<Value> = self.order.into_iter().take(end).flat_map(Place::blocks).collect();
            opaque = Some(Value::Array(blocks).to_string().into());
        }
        Some(Reasoning { text: self.texts.join("\n\n").into(), opaque })
    }
}

/// Appends one message of this format, which becomes several of ours if it holds results of tools.
fn append(
    messages: &mut Vec<ChatMessage>,
    role: ChatRole,
    content: Option<&RawValue>,
    path: &str,
    reader: &mut Reader,
) -> Result<(), ApiError> {
    let before = messages.len();
    let mut said = Said::default();
    match content {
        Some(blocks) if blocks.get().starts_with('[') => {
            for (index, block) in parse::<Vec<&RawValue>>(blocks, path)?.into_iter().enumerate() {
                add(&mut said, messages, role, (block, &format!("{path}[{index}]")), reader)?;
            }
        }
        text => {
            said.text.push_str(&Content::read(text, path, PLAIN, reader)?.text);
            said.is_there = true;
        }
    }
    // A message that has only results is not a message of the user.
    if said.is_there || messages.len() == before {
        write_down(&mut said, messages, role, reader);
    }
    Ok(())
}

fn write_down(said: &mut Said, messages: &mut Vec<ChatMessage>, role: ChatRole, reader: &Reader) {
    let Said { text, images, calls, thoughts, cache_until_here, .. } = std::mem::take(said);
    messages.push(ChatMessage {
        images,
        tool_calls: calls,
        reasoning: thoughts.together(),
        cache_until_here: cache_until_here && reader.is_whole(),
        ..ChatMessage::new(role, text)
    });
}

fn add(
    said: &mut Said,
    messages: &mut Vec<ChatMessage>,
    role: ChatRole,
    (value, path): (&RawValue, &str),
    reader: &mut Reader,
) -> Result<(), ApiError> {
    let mut block = Fields::of(value, path.to_owned())?;
    let is_cached = block.raw("cache_control").is_some();
    let kind = block.need_text("type")?;
    match (kind.as_ref(), role) {
        ("text", _) => {
            let text = block.text("text")?.unwrap_or_default();
            said.text.push_str(&text);
            said.thoughts.order.push(Place::Text(text.len()));
            said.cache_until_here |= is_cached;
            said.is_there |= !said.text.is_empty();
            block.pass_over(&["citations"]);
        }
        ("tool_use", ChatRole::Assistant) => {
            let arguments = arguments(block.raw("input"));
            said.calls.push(ToolCall { id: block.need("id")?, name: block.need("name")?, arguments });
            said.thoughts.order.push(Place::Call);
            said.cache_until_here |= is_cached;
            said.is_there = true;
            block.pass_over(&["caller"]);
        }
        ("tool_result", ChatRole::User) => {
            if said.is_there {
                write_down(said, messages, role, reader);
            }
            messages.push(result(&mut block, is_cached, reader)?);
        }
        ("thinking" | "redacted_thinking", ChatRole::Assistant) => {
            think(said, &mut block, &kind, reader)?;
        }
        _ if reader.is_whole() => {
            said.is_there = true;
            pass_on(value, path, reader)?;
        }
        (other, _) => {
            let Some(image) = image(&mut block, other)? else {
                let why =
                    format!("is {other:?} here; only text, images, tools and thoughts in their places can be carried");
                return Err(block.refuse("type", &why));
            };
            said.images.push(image);
            said.is_there = true;
        }
    }
    block.finish(reader)
}

/// The arguments byte for byte; or, for the wrapper around a model's invalid JSON, the text inside it.
fn arguments(input: Option<&RawValue>) -> Arc<str> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Broken<'a> {
        #[serde(rename = "INVALID_JSON", borrow)]
        text: Text<'a>,
    }
    let input = input.map_or("{}", RawValue::get);
    match serde_json::from_str::<Broken<'_>>(input) {
        Ok(Broken { text: Text(text) }) if input.contains(NO_OBJECT) => text.into(),
        _ => input.into(),
    }
}

/// A tool's result. `is_error` is left out, and reported, because there is no field for it and the text describes the failure.
fn result(block: &mut Fields<'_>, is_cached: bool, reader: &mut Reader) -> Result<ChatMessage, ApiError> {
    let path = block.path_of("content");
    let content = Content::read(block.raw("content"), &path, PLAIN, reader)?;
    if block.take::<bool>("is_error")? == Some(true) {
        reader.left_out.insert("messages.content.is_error");
    }
    Ok(ChatMessage {
        tool_call_id: Some(block.need("tool_use_id")?),
        cache_until_here: (is_cached || content.cache_until_here) && reader.is_whole(),
        images: content.images,
        ..ChatMessage::new(ChatRole::Tool, content.text)
    })
}

/// Reads a reasoning as an answer has it: a text, and a signature that has to be sent back with it.
fn think(said: &mut Said, block: &mut Fields<'_>, kind: &str, reader: &Reader) -> Result<(), ApiError> {
    if !reader.is_whole() {
        return Ok(());
    }
    let text = block.text("thinking")?.unwrap_or_default();
    let signature = block.text("signature")?.filter(|signature| !signature.is_empty());
    said.is_there = true;
    let thoughts = &mut said.thoughts;
    if let Some(opaque) = signature.or(block.text("data")?) {
        let blocks = signed(kind, &text, &opaque);
        thoughts.is_alone |= blocks.is_none();
        thoughts.signed += 1;
        if thoughts.is_alone && thoughts.signed > 1 {
            return Err(block.refuse("signature", SIGNED_THOUGHT));
        }
        thoughts.order.extend(blocks.map(Place::Signed));
        thoughts.opaque.get_or_insert_with(|| Arc::from(opaque));
    }
    thoughts.texts.push(text.into_owned());
    Ok(())
}

/// The blocks of a signed thought: itself, or those of an answer that was told with all of its thoughts as one. `None` if it is of another
/// provider, or has places of texts and calls already.
fn signed(kind: &str, text: &str, opaque: &str) -> Option<Vec<Value>> {
    let is_thought = |block: &Value| {
        let kind = block.get("type").and_then(Value::as_str);
        kind.is_some_and(|kind| ["thinking", "redacted_thinking"].contains(&kind))
    };
    match serde_json::from_str(opaque) {
        Ok(Value::Array(blocks)) => blocks.iter().all(is_thought).then_some(blocks),
        Ok(Value::Object(_)) => None,
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | Err(_) => {
            let field = if kind == "redacted_thinking" { "data" } else { "signature" };
            let mut block = json!({"type": kind, field: opaque});
            if kind == "thinking" {
                block["thinking"] = text.into();
            }
            Some(vec![block])
        }
    }
}
