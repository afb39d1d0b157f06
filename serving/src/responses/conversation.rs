//! The items of a conversation in OpenAI's responses, as [`ChatMessage`]s.

use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRole, Reasoning, ToolCall};
use serde_json::value::RawValue;

use super::forms::{arguments, flattened};
use crate::content::{Content, SIDED, pass_on};
use crate::error::ApiError;
use crate::fields::{Fields, parse, refuse};
use crate::reader::Reader;
use crate::refused::PROVIDERS_STATE;

/// Reads `input`: a text, which is one message of the user, or a list of items.
pub(super) fn conversation(
    messages: &mut Vec<ChatMessage>,
    input: Option<&RawValue>,
    reader: &mut Reader,
) -> Result<(), ApiError> {
    let Some(input) = input else { return Ok(()) };
    if input.get().starts_with('"') {
        messages.push(ChatMessage::new(ChatRole::User, parse::<Arc<str>>(input, "input")?));
        return Ok(());
    }
    if !input.get().starts_with('[') {
        return Err(refuse("input", "cannot be read: expected a text or a list of items"));
    }
    let mut thought = None;
    for (index, item) in parse::<Vec<&RawValue>>(input, "input")?.into_iter().enumerate() {
        append(messages, &mut thought, (item, &format!("input[{index}]")), reader)?;
    }
    match thought {
        None => Ok(()),
        Some(_) => Err(refuse("input", "ends in a reasoning, which belongs before what the model said or called")),
    }
}

/// Appends the item that is at a path. Calls and reasoning are items of their own here, and parts of the assistant's message with us.
fn append(
    messages: &mut Vec<ChatMessage>,
    thought: &mut Option<Reasoning>,
    (value, path): (&RawValue, &str),
    reader: &mut Reader,
) -> Result<(), ApiError> {
    let mut item = Fields::of(value, path.to_owned())?;
    // Clients send an answer back as they got it.
    item.pass_over(&["id", "status", "phase"]);
    let kind = item.text("type")?.unwrap_or("message".into());
    match kind.as_ref() {
        "message" => {
            let role = match item.text("role")?.as_deref() {
                Some("system" | "developer") => ChatRole::System,
                Some("user") => ChatRole::User,
                Some("assistant") => ChatRole::Assistant,
                other => {
                    let other = other.unwrap_or_default();
                    let why = format!("is {other:?}; expected system, developer, user or assistant");
                    return Err(item.refuse("role", &why));
                }
            };
            let path = item.path_of("content");
            let content = Content::read(item.raw("content"), &path, SIDED, reader)?;
            let reasoning = if role == ChatRole::Assistant { thought.take() } else { None };
            let images = content.images;
            messages.push(ChatMessage { reasoning, images, ..ChatMessage::new(role, content.text) });
        }
        "function_call" | "custom_tool_call" => {
            let id = item.need("call_id")?;
            let name: Arc<str> = item.need("name")?;
            let call = if kind == "custom_tool_call" {
                ToolCall { id, name, arguments: arguments(&item.need_text("input")?) }
            } else {
                let name = item.text("namespace")?.map_or_else(|| Arc::clone(&name), |space| flattened(&space, &name));
                ToolCall { id, name, arguments: item.need("arguments")? }
            };
            match messages.last_mut().filter(|last| last.role == ChatRole::Assistant && thought.is_none()) {
                Some(last) => last.tool_calls.push(call),
                None => messages.push(ChatMessage {
                    tool_calls: vec![call],
                    reasoning: thought.take(),
                    ..ChatMessage::new(ChatRole::Assistant, "")
                }),
            }
        }
        "function_call_output" | "custom_tool_call_output" => {
            let path = item.path_of("output");
            let output = Content::read(item.raw("output"), &path, SIDED, reader)?;
            let result = ChatMessage { images: output.images, ..ChatMessage::new(ChatRole::Tool, output.text) };
            messages.push(ChatMessage { tool_call_id: Some(item.need("call_id")?), ..result });
        }
        "reasoning" if reader.is_whole() => think(thought, &mut item, reader)?,
        "reasoning" => {}
        "item_reference" => return Err(item.refuse("type", PROVIDERS_STATE)),
        other if !reader.is_whole() => {
            let why = format!("is {other:?}; only messages, functions and reasoning can be carried");
            return Err(item.refuse("type", &why));
        }
        _ => pass_on(value, path, reader)?,
    }
    item.finish(reader)
}

/// Reads a reasoning as an answer has it: a summary, and an encrypted content that has to be sent back with it.
fn think(thought: &mut Option<Reasoning>, item: &mut Fields<'_>, reader: &mut Reader) -> Result<(), ApiError> {
    let mut texts = Vec::new();
    for field in ["summary", "content"] {
        for mut part in item.objects(field)? {
            part.pass_over(&["type"]);
            texts.push(part.need_text("text")?.into_owned());
            part.finish(reader)?;
        }
    }
    if thought.is_some() {
        reader.pass_on("input");
    }
    *thought = Some(Reasoning { text: texts.join("\n\n").into(), opaque: item.take("encrypted_content")? });
    Ok(())
}
