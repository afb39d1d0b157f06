//! Between the transcripts and requests of sessions and the messages of the protocol.

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::sync::Arc;

use regatta_benchmarks::delegated;
use regatta_coded::{Ask, AskMessage, AskTool, Event as Said, Reply as Simulated, ToolCallOf};
use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Image, Reply, Role, Sampling, Tool, ToolCall, Transcript};
use serde_json::Value;

use crate::images::{IMAGE_BYTES_MAX, Images, too_many};
use crate::scoring::shown;

/// Most messages of a request.
const MESSAGES_MAX: usize = 10_000;
/// Most tools of a request.
const TOOLS_MAX: usize = 1_000;

/// The replies of a session, which is all that a program sees of it.
pub(super) fn replies(transcript: &Transcript) -> Vec<Said> {
    let said = |role: Role, reply: &Reply| Said {
        role: role.as_str(),
        text: reply.text.clone(),
        tool_calls: reply.tool_calls.iter().map(call_of).collect(),
        results: Vec::new(),
    };
    delegated::turns(transcript).iter().map(|turn| said(turn.role, &turn.reply)).collect()
}

/// The request that a program asks for, with `images` of its folder, and the role that gets it.
///
/// # Errors
/// In words, when it cannot be sent.
pub(super) fn request(ask: Ask, roles: &[Role], images: &Images) -> Result<(Role, ChatRequest), String> {
    let Ask { role, messages, tools, sampling, stop } = ask;
    let known = || roles.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(", ");
    let role = roles
        .iter()
        .find(|known| known.as_str() == role)
        .ok_or_else(|| format!("it asks the role {role:?}; `roles` of benchmark.yaml declares: {}", known()))?;
    if messages.is_empty() || messages.len() > MESSAGES_MAX || tools.len() > TOOLS_MAX {
        return Err(format!(
            "it asks with {} messages and {} tools; a request has 1 to {MESSAGES_MAX} messages and at most {TOOLS_MAX} tools",
            messages.len(),
            tools.len()
        ));
    }
    let messages: Vec<ChatMessage> =
        messages.into_iter().map(|asked| message(asked, images)).collect::<Result<_, _>>()?;
    if let Some(problem) = too_many(&messages) {
        return Err(problem);
    }
    let request = ChatRequest {
        stop: stop.into_iter().map(Arc::from).collect(),
        tools: tools.into_iter().map(tool).collect(),
        ..ChatRequest::new(messages, checked(sampling)?)
    };
    Ok((*role, request))
}

fn checked(sampling: regatta_coded::SamplingOf) -> Result<Sampling, String> {
    let regatta_coded::SamplingOf { temperature, top_p, max_tokens } = sampling;
    if let Some(value) = temperature.filter(|value| !(0.0..=2.0).contains(value)) {
        return Err(format!("`temperature` is {value}; it must be in 0..=2"));
    }
    if let Some(value) = top_p.filter(|value| !(*value > 0.0 && *value <= 1.0)) {
        return Err(format!("`top_p` is {value}; it must be above 0, at most 1"));
    }
    if max_tokens.is_some_and(|value| NonZeroU32::new(value).is_none()) {
        return Err("`max_tokens` is 0; it must be at least 1".to_owned());
    }
    Ok(Sampling { temperature, top_p, max_tokens, ..Sampling::default() })
}

fn message(asked: AskMessage, images: &Images) -> Result<ChatMessage, String> {
    let AskMessage { role, content, images: shown, tool_calls, tool_call_id } = asked;
    let role = match &*role {
        "system" => ChatRole::System,
        "user" => ChatRole::User,
        "assistant" => ChatRole::Assistant,
        "tool" => ChatRole::Tool,
        other => return Err(format!("a message is of {other:?}; it is of system, user, assistant or tool")),
    };
    if (role == ChatRole::Tool) != tool_call_id.is_some() {
        return Err("messages of a tool, and no others, name their call by `tool_call_id`".to_owned());
    }
    if role != ChatRole::Assistant && !tool_calls.is_empty() {
        return Err("messages of the assistant alone have `tool_calls`".to_owned());
    }
    if role != ChatRole::User && !shown.is_empty() {
        return Err("messages of the user alone have `images`".to_owned());
    }
    Ok(ChatMessage {
        images: at_paths(&shown, images)?,
        tool_calls: tool_calls.into_iter().map(call).collect(),
        tool_call_id,
        ..ChatMessage::new(role, content)
    })
}

/// The images at these paths of the folder.
///
/// # Errors
/// In words, when there is none at one of them.
fn at_paths(paths: &[String], images: &Images) -> Result<Vec<Image>, String> {
    let image = |path: &String| {
        let none = || {
            format!(
                "it shows {path:?}, which is none of its `files`, or no PNG, JPEG, GIF or WebP of at most {IMAGE_BYTES_MAX} bytes"
            )
        };
        images.get(path).cloned().ok_or_else(none)
    };
    paths.iter().map(image).collect()
}

/// The message that shows judges the images at these paths; `None` where there are none.
///
/// # Errors
/// In words, when it cannot be sent.
pub(super) fn shown_to_judges(paths: &[String], images: &Images) -> Result<Option<ChatMessage>, String> {
    let message = shown(at_paths(paths, images)?);
    match too_many(message.as_slice()) {
        Some(problem) => Err(problem),
        None => Ok(message),
    }
}

fn tool(asked: AskTool) -> Tool {
    let AskTool { name, description, parameters } = asked;
    Tool { name: name.into(), description: description.map(Arc::from), parameters: Arc::new(Value::Object(parameters)) }
}

fn call(of: ToolCallOf) -> ToolCall {
    ToolCall { id: of.id, name: of.name, arguments: of.arguments }
}

fn call_of(call: &ToolCall) -> ToolCallOf {
    ToolCallOf { id: Arc::clone(&call.id), name: Arc::clone(&call.name), arguments: Arc::clone(&call.arguments) }
}

/// Messages of a request, as a simulated model sees them.
pub(super) fn messages_of(request: &ChatRequest, images: &Images) -> Vec<AskMessage> {
    let path = |shown: &Image| images.iter().find(|(_, image)| *image == shown).map(|(path, _)| path.clone());
    let messages = request.messages.iter().map(|message| AskMessage {
        role: Cow::Borrowed(name_of(message.role)),
        content: Arc::clone(&message.content),
        images: message.images.iter().filter_map(path).collect(),
        tool_calls: message.tool_calls.iter().map(call_of).collect(),
        tool_call_id: message.tool_call_id.clone(),
    });
    messages.collect()
}

/// Name of a message's role, as [`message`] reads it.
const fn name_of(role: ChatRole) -> &'static str {
    match role {
        ChatRole::System => "system",
        ChatRole::User => "user",
        ChatRole::Assistant => "assistant",
        ChatRole::Tool => "tool",
    }
}

/// Reply of a simulated model.
pub(super) fn reply(simulated: Simulated) -> Reply {
    let Simulated { text, tool_calls } = simulated;
    if tool_calls.is_empty() {
        Reply::said(text.unwrap_or_default())
    } else {
        Reply::calling(text.as_deref(), tool_calls.into_iter().map(call).collect())
    }
}
