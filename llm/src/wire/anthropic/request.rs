//! The body of a request.

use std::sync::Arc;

use bytes::Bytes;
use regatta_proto::{ChatRequest, OutputSchema, Tool, ToolChoice};
use serde::Serialize;
use serde_json::Value;

use super::conversation::{Block, Conversation, Message};
use super::thinking::{Mode, Plan};
use crate::wire::images::encoded_bytes;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolParam<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Mode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [Arc<str>],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
}

#[derive(Serialize)]
struct ToolParam<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: &'a Value,
}

#[derive(Serialize)]
struct Choice<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disable_parallel_tool_use: bool,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<OutputFormat<'a>>,
}

#[derive(Serialize)]
struct OutputFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    schema: &'a Value,
}

/// Writes the body.
///
/// # Errors
/// When the format cannot express a part of the request.
pub(super) fn body(model: &str, request: &ChatRequest, stream: bool) -> Result<Bytes, String> {
    if request.logprobs.is_some() {
        return Err("Anthropic's format has no log-probabilities".to_owned());
    }
    let plan = Plan::new(model, request.thinking, &request.sampling)?;
    let Conversation { system, messages } = Conversation::new(request)?;
    let format = request.output.as_ref().map(format);
    let body = Body {
        model,
        max_tokens: plan.max_tokens,
        system,
        messages,
        tools: request.tools.iter().map(tool).collect(),
        tool_choice: choice(request),
        thinking: plan.mode,
        output_config: (plan.effort.is_some() || format.is_some())
            .then_some(OutputConfig { effort: plan.effort, format }),
        temperature: plan.temperature,
        top_p: plan.top_p,
        stop_sequences: &request.stop,
        stream,
    };
    let texts: usize = request.messages.iter().map(|message| message.content.len() + 60).sum();
    let mut bytes = Vec::with_capacity((256 + texts + texts / 16).saturating_add(encoded_bytes(request)));
    serde_json::to_writer(&mut bytes, &body)
        .map_err(|error| format!("the request cannot be written as JSON: {error}"))?;
    Ok(bytes.into())
}

fn tool(tool: &Tool) -> ToolParam<'_> {
    ToolParam { name: &tool.name, description: tool.description.as_deref(), input_schema: &tool.parameters }
}

/// The tool choice; `None` for the default, and without tools.
fn choice(request: &ChatRequest) -> Option<Choice<'_>> {
    let (kind, name) = match &request.tool_choice {
        ToolChoice::Auto => ("auto", None),
        ToolChoice::None => ("none", None),
        ToolChoice::Required => ("any", None),
        ToolChoice::Named(name) => ("tool", Some(&**name)),
    };
    let disable_parallel_tool_use = request.parallel_tool_calls == Some(false) && kind != "none";
    let is_default = kind == "auto" && !disable_parallel_tool_use;
    (!request.tools.is_empty() && !is_default).then_some(Choice { kind, name, disable_parallel_tool_use })
}

fn format(output: &OutputSchema) -> OutputFormat<'_> {
    OutputFormat { kind: "json_schema", schema: &output.schema }
}
