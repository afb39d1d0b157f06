//! The body of a chat request, written straight to bytes.

use bytes::Bytes;
use regatta_proto::{ChatMessage, ChatRequest, ChatRole, OutputSchema, Tool, ToolCall, ToolChoice};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::unwritable;
use crate::wire::images::{Encoded, encoded, encoded_bytes, only_users_have_images, text_beside_images};

/// Model families that refuse `max_tokens` and require `max_completion_tokens`, which older models and other servers do not know.
const COMPLETION_TOKEN_FAMILIES: [&str; 4] = ["gpt-5", "o1", "o3", "o4"];

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [std::sync::Arc<str>],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Function<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_logprobs: Option<u8>,
    #[serde(flatten)]
    thinking: Fields,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

/// Fields of a single dialect.
struct Fields(Vec<(&'static str, Value)>);

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (*name, value)))
    }
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    r#type: &'static str,
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'a str,
    strict: bool,
    schema: &'a Value,
}

#[derive(Serialize)]
struct Function<'a> {
    r#type: &'static str,
    function: &'a Tool,
}

/// Writes the body.
///
/// # Errors
/// A sentence, when a number is not finite, or the format cannot express a part of the request that would change the answer.
pub(crate) fn body(model: &str, request: &ChatRequest, stream: bool, dialect: Dialect) -> Result<Bytes, String> {
    only_users_have_images(request)?;
    let sampling = &request.sampling;
    let (max_tokens, max_completion_tokens) =
        if wants_completion_tokens(model) { (None, sampling.max_tokens) } else { (sampling.max_tokens, None) };
    // Among the models behind this format, only Claude needs cache breakpoints; others refuse them or cache by themselves.
    let marks_cache = model.contains("claude");
    let messages =
        request.messages.iter().map(|message| Message::of(message, marks_cache, dialect)).collect::<Result<_, _>>()?;
    let texts: usize = request.messages.iter().map(|message| message.content.len() + 40).sum();
    let mut bytes = Vec::with_capacity((256 + texts + texts / 16).saturating_add(encoded_bytes(request)));
    let body = Body {
        model,
        messages,
        temperature: finite("temperature", sampling.temperature)?,
        top_p: finite("top_p", sampling.top_p)?,
        max_tokens,
        max_completion_tokens,
        seed: sampling.seed,
        stop: &request.stop,
        tools: request.tools.iter().map(|function| Function { r#type: "function", function }).collect(),
        tool_choice: tool_choice(request)?,
        parallel_tool_calls: request.parallel_tool_calls.filter(|_| !request.tools.is_empty()),
        response_format: request.output.as_ref().map(|OutputSchema { name, schema }| ResponseFormat {
            r#type: "json_schema",
            json_schema: JsonSchema { name, strict: true, schema },
        }),
        logprobs: request.logprobs.map(|_| true),
        top_logprobs: request.logprobs.filter(|candidates| *candidates > 0),
        thinking: Fields(request.thinking.map_or(Ok(Vec::new()), |thinking| dialect.thinking(model, thinking))?),
        stream,
        stream_options: stream.then_some(StreamOptions { include_usage: true }),
    };
    serde_json::to_writer(&mut bytes, &body).map_err(|error| unwritable(&error))?;
    Ok(bytes.into())
}

/// Refuses a number that is not finite, which JSON would silently write as `null`.
pub(crate) fn finite(name: &str, number: Option<f64>) -> Result<Option<f64>, String> {
    match number {
        Some(number) if !number.is_finite() => Err(format!("{name} is {number}; only finite numbers can be sent")),
        number => Ok(number),
    }
}

/// Refuses a request that requires a call but has no tool.
pub(crate) fn must_call_something(request: &ChatRequest) -> Result<(), String> {
    let must = matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Named(_));
    if must && request.tools.is_empty() {
        return Err("a tool has to be called, but the request holds none".to_owned());
    }
    Ok(())
}

fn tool_choice(request: &ChatRequest) -> Result<Option<Value>, String> {
    must_call_something(request)?;
    Ok(match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => (!request.tools.is_empty()).then(|| json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Named(name) => Some(json!({"type": "function", "function": {"name": name}})),
    })
}

pub(crate) fn wants_completion_tokens(model: &str) -> bool {
    COMPLETION_TOKEN_FAMILIES
        .iter()
        .any(|family| model.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.'])))
}

/// One message.
struct Message<'a> {
    message: &'a ChatMessage,
    images: Vec<Encoded>,
    marks_cache: bool,
    dialect: Dialect,
}

impl<'a> Message<'a> {
    fn of(message: &'a ChatMessage, marks_cache: bool, dialect: Dialect) -> Result<Self, String> {
        if message.role == ChatRole::Tool && message.tool_call_id.is_none() {
            return Err("a tool's result does not say which call it belongs to".to_owned());
        }
        let images = encoded(message)?;
        Ok(Self { message, images, marks_cache: marks_cache && message.cache_until_here, dialect })
    }

    /// The content in parts: images, then the text.
    fn parts(&self) -> Vec<Part<'_>> {
        let images = self.images.iter().map(|image| Part::ImageUrl { image_url: ImageUrl { url: image.data_url() } });
        let cache_control = self.marks_cache.then_some(CacheControl { r#type: "ephemeral" });
        let text = text_beside_images(self.message).map(|text| Part::Text { text, cache_control });
        images.chain(text).collect()
    }
}

impl Serialize for Message<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.message;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", &message.role)?;
        if message.content.is_empty() && !message.tool_calls.is_empty() {
            map.serialize_entry("content", &())?;
        } else if self.marks_cache || !self.images.is_empty() {
            map.serialize_entry("content", &self.parts())?;
        } else {
            map.serialize_entry("content", &message.content)?;
        }
        if !message.tool_calls.is_empty() {
            let calls: Vec<Call<'_>> = message.tool_calls.iter().map(Call::of).collect();
            map.serialize_entry("tool_calls", &calls)?;
            // Reasoning before a call must be sent back (DeepSeek refuses the conversation without it), but no other reasoning.
            if let Some(reasoning) = &message.reasoning {
                match reasoning.opaque.as_deref().and_then(|opaque| serde_json::from_str::<Vec<Value>>(opaque).ok()) {
                    Some(details) => map.serialize_entry("reasoning_details", &details)?,
                    None => {
                        for name in self.dialect.thoughts() {
                            map.serialize_entry(name, &reasoning.text)?;
                        }
                    }
                }
            }
        }
        if let Some(id) = message.tool_call_id.as_ref().filter(|_| message.role == ChatRole::Tool) {
            map.serialize_entry("tool_call_id", id)?;
        }
        map.end()
    }
}

/// A part of a content.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    ImageUrl {
        image_url: ImageUrl,
    },
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct CacheControl {
    r#type: &'static str,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> Call<'a> {
    fn of(call: &'a ToolCall) -> Self {
        let function = CalledFunction { name: &call.name, arguments: &call.arguments };
        Self { id: &call.id, r#type: "function", function }
    }
}
