//! The address and the body of a request.

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use regatta_proto::{ChatRequest, Tool, ToolChoice};
use serde::Serialize;
use serde_json::Value;

use super::contents::{Content, Conversation};
use super::thinking::ThinkingConfig;
use crate::wire::images::encoded_bytes;

/// The bits of a seed, which is a signed number of 32 bits and must not be negative.
const SEED_BITS: u64 = 0x7fff_ffff;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "GenerationConfig::is_empty")]
    generation_config: GenerationConfig<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Function<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parameters_json_schema: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    function_calling_config: FunctionCalling<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCalling<'a> {
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_function_names: Option<[&'a str; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [Arc<str>],
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_logprobs: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

impl<'a> GenerationConfig<'a> {
    fn new(model: &str, request: &'a ChatRequest) -> Self {
        let sampling = &request.sampling;
        Self {
            temperature: sampling.temperature,
            top_p: sampling.top_p,
            max_output_tokens: sampling.max_tokens,
            seed: sampling.seed.map(|seed| seed & SEED_BITS),
            stop_sequences: &request.stop,
            response_mime_type: request.output.as_ref().map(|_| "application/json"),
            response_json_schema: request.output.as_ref().map(|output| &*output.schema),
            response_logprobs: request.logprobs.map(|_| true),
            logprobs: request.logprobs.filter(|count| *count > 0),
            thinking_config: ThinkingConfig::new(model, request.thinking),
        }
    }

    fn is_empty(&self) -> bool {
        self.temperature.is_none()
            && self.top_p.is_none()
            && self.max_output_tokens.is_none()
            && self.seed.is_none()
            && self.stop_sequences.is_empty()
            && self.response_mime_type.is_none()
            && self.response_logprobs.is_none()
            && self.thinking_config.is_none()
    }
}

/// The path of a request. A model name may include its collection, as in `tunedModels/m`.
pub(super) fn path(model: &str, stream: bool) -> String {
    let mut path = String::from(if model.contains('/') { "/" } else { "/models/" });
    for byte in model.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/@".contains(&byte) {
            path.push(char::from(byte));
        } else {
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path.push_str(if stream { ":streamGenerateContent?alt=sse" } else { ":generateContent" });
    path
}

/// Writes the body.
///
/// # Errors
/// When the format cannot express a part of the request.
pub(super) fn body(model: &str, request: &ChatRequest) -> Result<Bytes, String> {
    let Conversation { system, contents } = Conversation::new(request)?;
    let functions: Vec<Function<'_>> = request.tools.iter().map(function).collect();
    let body = Body {
        system_instruction: system,
        contents,
        tool_config: choice(&request.tool_choice).filter(|_| !functions.is_empty()),
        tools: (!functions.is_empty()).then_some([Tools { function_declarations: functions }]),
        generation_config: GenerationConfig::new(model, request),
    };
    let texts: usize = request.messages.iter().map(|message| message.content.len() + 60).sum();
    let mut bytes = Vec::with_capacity((256 + texts + texts / 16).saturating_add(encoded_bytes(request)));
    serde_json::to_writer(&mut bytes, &body)
        .map_err(|error| format!("the request cannot be written as JSON: {error}"))?;
    Ok(bytes.into())
}

fn function(tool: &Tool) -> Function<'_> {
    Function { name: &tool.name, description: tool.description.as_deref(), parameters_json_schema: &tool.parameters }
}

/// The tool configuration; `None` for the default.
fn choice(choice: &ToolChoice) -> Option<ToolConfig<'_>> {
    let (mode, allowed_function_names) = match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => ("NONE", None),
        ToolChoice::Required => ("ANY", None),
        ToolChoice::Named(name) => ("ANY", Some([&**name])),
    };
    Some(ToolConfig { function_calling_config: FunctionCalling { mode, allowed_function_names } })
}
