//! The body of a request.

use std::sync::Arc;

use bytes::Bytes;
use regatta_proto::{ChatRequest, OutputSchema, Tool, ToolChoice};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::conversation::{Block, Conversation, Message};
use super::reasoning::Asked;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "InferenceConfig::is_empty")]
    inference_config: InferenceConfig<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    additional_model_request_fields: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InferenceConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [Arc<str>],
}

impl InferenceConfig<'_> {
    fn is_empty(&self) -> bool {
        self.max_tokens.is_none()
            && self.temperature.is_none()
            && self.top_p.is_none()
            && self.stop_sequences.is_empty()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    tools: Vec<ToolEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolEntry<'a> {
    tool_spec: ToolSpec<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolSpec<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: InputSchema<'a>,
}

#[derive(Serialize)]
struct InputSchema<'a> {
    json: &'a Value,
}

/// Writes the body.
///
/// # Errors
/// When Converse cannot express a part of the request.
pub(super) fn body(model: &str, request: &ChatRequest) -> Result<Bytes, String> {
    if request.logprobs.is_some() {
        return Err("Bedrock's Converse has no log-probabilities".to_owned());
    }
    if let Some(passed) = &request.passed {
        return Err(format!(
            "Bedrock's Converse cannot be sent {}, which the client wrote; leave it out",
            passed.names()
        ));
    }
    let Asked { fields, max_tokens, temperature, top_p } = Asked::new(model, request)?;
    let Conversation { system, messages } = Conversation::new(model, request)?;
    let body = Body {
        system,
        messages,
        inference_config: InferenceConfig { max_tokens, temperature, top_p, stop_sequences: &request.stop },
        tool_config: tools(request)?,
        output_config: request.output.as_ref().map(format),
        additional_model_request_fields: fields,
    };
    let written = serde_json::to_vec(&body);
    written.map(Bytes::from).map_err(|error| format!("the request cannot be written as JSON: {error}"))
}

fn tools(request: &ChatRequest) -> Result<Option<ToolConfig<'_>>, String> {
    if request.tools.is_empty() {
        return Ok(None);
    }
    let tool_choice = match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => return Err("Bedrock's Converse cannot offer tools and forbid to call them".to_owned()),
        ToolChoice::Required => Some(json!({"any": {}})),
        ToolChoice::Named(name) => Some(json!({"tool": {"name": name}})),
    };
    Ok(Some(ToolConfig { tools: request.tools.iter().map(tool).collect(), tool_choice }))
}

fn tool(tool: &Tool) -> ToolEntry<'_> {
    let input_schema = InputSchema { json: &tool.parameters };
    ToolEntry { tool_spec: ToolSpec { name: &tool.name, description: tool.description.as_deref(), input_schema } }
}

/// The output format, whose schema is sent as a text.
fn format(output: &OutputSchema) -> Value {
    let schema = json!({"name": output.name, "schema": output.schema.to_string()});
    json!({"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}})
}
