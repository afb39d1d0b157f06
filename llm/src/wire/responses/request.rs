//! The body of a request.

use bytes::Bytes;
use regatta_proto::{ChatMessage, ChatRequest, ChatRole, OutputSchema, Thinking, Tool, ToolChoice};
use serde::Serialize;
use serde_json::{Value, json};

use crate::wire::images::{encoded, only_users_have_images, text_beside_images};
use crate::wire::openai::dialect::effort;
use crate::wire::openai::request::{finite, must_call_something, wants_completion_tokens};
use crate::wire::openai::unwritable;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    input: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Function<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Effort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_logprobs: Option<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
    store: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
}

#[derive(Serialize)]
struct Function<'a> {
    r#type: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parameters: &'a Value,
    /// Sent explicitly, because the default here is `true`, which would refuse schemas that chat completions accept.
    strict: bool,
}

#[derive(Serialize)]
struct Text<'a> {
    format: TextFormat<'a>,
}

#[derive(Serialize)]
struct TextFormat<'a> {
    r#type: &'static str,
    name: &'a str,
    strict: bool,
    schema: &'a Value,
}

#[derive(Serialize)]
struct Effort {
    effort: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    /// The type is optional at OpenAI, but llama.cpp refuses an assistant's message without it.
    Message {
        r#type: &'static str,
        role: ChatRole,
        content: Content<'a>,
    },
    Call {
        r#type: &'static str,
        call_id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    Result {
        r#type: &'static str,
        call_id: &'a str,
        output: &'a str,
    },
    /// A reasoning item, unchanged.
    Thought(Value),
}

/// The content of a message.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

/// A part of a content.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    /// Compatible servers require `detail`, whose default at OpenAI is `auto`.
    InputImage {
        image_url: String,
        detail: &'static str,
    },
    InputText {
        text: &'a str,
    },
}

/// Writes the body.
///
/// # Errors
/// A sentence, when a number is not finite, or the format cannot express a part of the request that would change the answer.
pub(super) fn body(model: &str, request: &ChatRequest, stream: bool) -> Result<Bytes, String> {
    if !request.stop.is_empty() {
        return Err("OpenAI's responses know no texts that end an answer; use chat completions".to_owned());
    }
    only_users_have_images(request)?;
    let sampling = &request.sampling;
    let effort = request.thinking.map_or(Ok(None), |thinking| effort(model, thinking))?;
    let is_system = |message: &&ChatMessage| message.role == ChatRole::System;
    let leading = request.messages.iter().take_while(is_system).count();
    let (instructions, conversation) = request.messages.split_at(leading);
    let mut input = Vec::with_capacity(conversation.len());
    for message in conversation {
        items(message, &mut input)?;
    }
    let mut include = Vec::new();
    if thinks(model, request.thinking) {
        include.push("reasoning.encrypted_content");
    }
    if request.logprobs.is_some() {
        include.push("message.output_text.logprobs");
    }
    let body = Body {
        model,
        instructions: (!instructions.is_empty()).then(|| {
            let texts: Vec<&str> = instructions.iter().map(|message| &*message.content).collect();
            texts.join("\n\n")
        }),
        input,
        temperature: finite("temperature", sampling.temperature)?,
        top_p: finite("top_p", sampling.top_p)?,
        max_output_tokens: sampling.max_tokens,
        tools: request.tools.iter().map(function).collect(),
        tool_choice: tool_choice(request)?,
        parallel_tool_calls: request.parallel_tool_calls.filter(|_| !request.tools.is_empty()),
        text: request.output.as_ref().map(|OutputSchema { name, schema }| Text {
            format: TextFormat { r#type: "json_schema", name, strict: true, schema },
        }),
        reasoning: effort.map(|effort| Effort { effort }),
        top_logprobs: request.logprobs.filter(|candidates| *candidates > 0),
        include,
        store: false,
        stream,
    };
    serde_json::to_vec(&body).map(Bytes::from).map_err(|error| unwritable(&error))
}

/// `true` if the model returns reasoning; other models refuse a request for it.
fn thinks(model: &str, thinking: Option<Thinking>) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let never = name.starts_with("gpt-5-chat");
    !never && wants_completion_tokens(name) || thinking.is_some_and(|thinking| thinking != Thinking::Off)
}

fn function(tool: &Tool) -> Function<'_> {
    Function {
        r#type: "function",
        name: &tool.name,
        description: tool.description.as_deref(),
        parameters: &tool.parameters,
        strict: false,
    }
}

fn tool_choice(request: &ChatRequest) -> Result<Option<Value>, String> {
    must_call_something(request)?;
    Ok(match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => (!request.tools.is_empty()).then(|| json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Named(name) => Some(json!({"type": "function", "name": name})),
    })
}

/// The content of a message: its text, or images and the text.
fn content(message: &ChatMessage) -> Result<Content<'_>, String> {
    if message.images.is_empty() {
        return Ok(Content::Text(&message.content));
    }
    let images = encoded(message)?.into_iter();
    let images = images.map(|image| Part::InputImage { image_url: image.data_url(), detail: "auto" });
    Ok(Content::Parts(images.chain(text_beside_images(message).map(|text| Part::InputText { text })).collect()))
}

/// The items of a message: reasoning, text, calls, in the order in which they were received.
fn items<'a>(message: &'a ChatMessage, input: &mut Vec<Item<'a>>) -> Result<(), String> {
    if message.role == ChatRole::Tool {
        let id = message.tool_call_id.as_deref();
        let call_id = id.ok_or("a tool's result does not say which call it belongs to")?;
        input.push(Item::Result { r#type: "function_call_output", call_id, output: &message.content });
        return Ok(());
    }
    let opaque = message.reasoning.as_ref().and_then(|reasoning| reasoning.opaque.as_deref());
    let thoughts = opaque.and_then(|opaque| serde_json::from_str::<Vec<Value>>(opaque).ok());
    input.extend(thoughts.into_iter().flatten().map(Item::Thought));
    if !message.content.is_empty() || message.tool_calls.is_empty() {
        input.push(Item::Message { r#type: "message", role: message.role, content: content(message)? });
    }
    input.extend(message.tool_calls.iter().map(|call| Item::Call {
        r#type: "function_call",
        call_id: &call.id,
        name: &call.name,
        arguments: &call.arguments,
    }));
    Ok(())
}
