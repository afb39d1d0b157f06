//! Messages in Gemini's format.

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, ImageFormat};
use serde::Serialize;

use super::signatures::Signatures;
use crate::wire::arguments::Arguments;
use crate::wire::images::{encoded, only_users_have_images, text_beside_images};

/// A turn, or the system instruction.
#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<Part<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(flatten)]
    said: Said<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Said<'a> {
    Text(&'a str),
    InlineData(InlineData),
    FunctionCall(FunctionCall<'a>),
    FunctionResponse(FunctionResponse<'a>),
}

/// The file of an image.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData {
    mime_type: &'static str,
    data: String,
}

#[derive(Debug, Serialize)]
struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: Arguments<'a>,
}

#[derive(Debug, Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: Response<'a>,
}

/// A function's result, in the field that the reference names for any value.
#[derive(Debug, Serialize)]
struct Response<'a> {
    output: &'a str,
}

/// A conversation.
#[derive(Debug)]
pub(super) struct Conversation<'a> {
    /// System messages at the beginning of the conversation.
    pub(super) system: Option<Content<'a>>,
    pub(super) contents: Vec<Content<'a>>,
}

impl<'a> Conversation<'a> {
    /// # Errors
    /// When a system message comes later, a tool's result has no call, or an image cannot be sent.
    pub(super) fn new(request: &'a ChatRequest) -> Result<Self, String> {
        only_users_have_images(request)?;
        let count = request.messages.iter().take_while(|message| message.role == ChatRole::System).count();
        let (system, rest) = request.messages.split_at(count);
        let system: Vec<Part<'_>> = system.iter().map(|message| text(&message.content)).collect();
        let mut contents: Vec<Content<'_>> = Vec::with_capacity(rest.len());
        for (index, message) in rest.iter().enumerate() {
            let (role, parts) = match message.role {
                ChatRole::System => {
                    return Err(
                        "Gemini's format has instructions before the conversation only, not within it".to_owned()
                    );
                }
                ChatRole::User => ("user", asked(message)?),
                ChatRole::Assistant => ("model", answered(message)),
                ChatRole::Tool => ("user", vec![result(message, &rest[..index])?]),
            };
            match contents.last_mut() {
                // Results of parallel calls share a turn.
                Some(last) if message.role == ChatRole::Tool && last.holds_results() => last.parts.extend(parts),
                _ if parts.is_empty() => {}
                _ => contents.push(Content { role: Some(role), parts }),
            }
        }
        let system = (!system.is_empty()).then_some(Content { role: None, parts: system });
        Ok(Self { system, contents })
    }
}

impl Content<'_> {
    fn holds_results(&self) -> bool {
        self.parts.last().is_some_and(|part| matches!(part.said, Said::FunctionResponse(_)))
    }
}

fn text(text: &str) -> Part<'_> {
    Part { said: Said::Text(text), thought_signature: None }
}

/// Images, then the text.
fn asked(message: &ChatMessage) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::with_capacity(message.images.len() + 1);
    for image in encoded(message)? {
        if image.format == ImageFormat::Gif {
            return Err("Gemini takes no GIF; make a PNG, a JPEG or a WebP of the image".to_owned());
        }
        let said = Said::InlineData(InlineData { mime_type: image.format.media_type(), data: image.data });
        parts.push(Part { said, thought_signature: None });
    }
    parts.extend(text_beside_images(message).map(text));
    Ok(parts)
}

fn answered(message: &ChatMessage) -> Vec<Part<'_>> {
    let Signatures { text: signature, mut calls } = Signatures::of(message.reasoning.as_ref());
    let mut parts = Vec::with_capacity(message.tool_calls.len() + 1);
    if !message.content.is_empty() || signature.is_some() {
        parts.push(Part { thought_signature: signature, ..text(&message.content) });
    }
    parts.extend(message.tool_calls.iter().enumerate().map(|(index, call)| {
        let call = FunctionCall { id: given(&call.id), name: &call.name, args: Arguments::of(call) };
        Part { said: Said::FunctionCall(call), thought_signature: calls.remove(&index) }
    }));
    parts
}

/// A tool's result. The format repeats the function's name, which is that of the newest earlier call with this id.
fn result<'a>(message: &'a ChatMessage, before: &'a [ChatMessage]) -> Result<Part<'a>, String> {
    let id = message.tool_call_id.as_deref().ok_or("the result of a tool does not name its call")?;
    let call = before.iter().rev().flat_map(|message| &message.tool_calls).find(|call| *call.id == *id);
    let call = call.ok_or_else(|| format!("the result of a tool names call {id:?}, which was not made"))?;
    let response = Response { output: &message.content };
    let said = Said::FunctionResponse(FunctionResponse { id: given(id), name: &call.name, response });
    Ok(Part { said, thought_signature: None })
}

/// An id that Gemini gave; most of its models give none, and Regatta then uses `call_N`.
fn given(id: &str) -> Option<&str> {
    let is_made_up = id.strip_prefix("call_").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    (!is_made_up).then_some(id)
}
