//! `POST /v1/messages` as Anthropic's clients write it.

use std::sync::Arc;

use regatta_proto::{ChatRequest, OutputSchema, Sampling, Thinking, ToolChoice};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::conversation::conversation;
use crate::call::{ChatCall, Streaming};
use crate::chat::request::list;
use crate::error::ApiError;
use crate::fields::{Fields, shallow};
use crate::reader::Reader;
use crate::refused::PROVIDERS_TOOL;
use crate::responses::forms::ToolForms;
use crate::tools::{function, is_clients_own, offered};

/// Name given to an output's schema, which has none in this format.
const OUTPUT: &str = "output";

#[derive(Deserialize)]
struct WireMetadata<'a> {
    #[serde(borrow)]
    user_id: Option<&'a RawValue>,
}

pub(crate) fn parse<'a>(body: &'a [u8], reader: &mut Reader) -> Result<ChatCall<'a>, ApiError> {
    let mut fields = Fields::of_body(body)?;
    let model = fields.need_text("model")?;
    let max_tokens: u32 = fields.need("max_tokens")?;
    if max_tokens == 0 {
        return Err(fields.refuse("max_tokens", "is 0; ask for at least one token"));
    }
    let messages = conversation(&mut fields, reader)?;
    let sampling = Sampling {
        temperature: fields.take("temperature")?,
        top_p: fields.take("top_p")?,
        max_tokens: Some(max_tokens),
        seed: None,
    };
    let is_streamed = fields.take::<bool>("stream")?.unwrap_or(false);
    let metadata = fields.take::<WireMetadata<'_>>("metadata")?.and_then(|metadata| metadata.user_id);
    let tools = fields.raw("tools");
    let mut request = ChatRequest::new(messages, sampling);
    let mut unread = Vec::new();
    if reader.is_whole() {
        fill(&mut request, &mut fields, tools, reader)?;
    } else {
        request.tools = offered(tools);
        unread = fields.rest();
    }
    fields.finish(reader)?;
    let streaming = is_streamed.then_some(Streaming { include_usage: true });
    Ok(ChatCall {
        model,
        request,
        streaming,
        tools,
        metadata,
        forms: ToolForms::default(),
        unread,
        left_out: Vec::new(),
    })
}

/// Reads the fields that only a whole reading needs.
fn fill(
    request: &mut ChatRequest,
    fields: &mut Fields<'_>,
    tools: Option<&RawValue>,
    reader: &mut Reader,
) -> Result<(), ApiError> {
    // It changes the price, and nothing else.
    fields.pass_over(&["cache_control"]);
    fields.pass_unless("service_tier", &["\"auto\"", "\"standard_only\""], reader);
    for (index, tool) in list(tools, "tools")?.into_iter().enumerate() {
        let mut tool = Fields::of(tool, format!("tools[{index}]"))?;
        match tool.text("type")?.as_deref() {
            None | Some("custom") => {}
            Some(kind) if is_clients_own(kind) => reader.pass_on("tools"),
            Some(_) => return Err(tool.refuse("type", PROVIDERS_TOOL)),
        }
        request.tools.push(function(tool, "input_schema", reader)?);
    }
    (request.tool_choice, request.parallel_tool_calls) = tool_choice(fields, reader)?;
    request.stop = fields.take("stop_sequences")?.unwrap_or_default();
    let (effort, output) = output_config(fields, reader)?;
    request.output = output;
    request.thinking = thinking(fields, effort, reader)?;
    Ok(())
}

fn tool_choice(fields: &mut Fields<'_>, reader: &mut Reader) -> Result<(ToolChoice, Option<bool>), ApiError> {
    let Some(mut choice) = fields.object("tool_choice")? else { return Ok((ToolChoice::Auto, None)) };
    let tool_choice = match choice.need_text("type")?.as_ref() {
        "auto" => ToolChoice::Auto,
        "none" => ToolChoice::None,
        "any" => ToolChoice::Required,
        "tool" => ToolChoice::Named(choice.need("name")?),
        other => return Err(choice.refuse("type", &format!("is {other:?}; expected auto, any, tool or none"))),
    };
    let is_single = choice.take::<bool>("disable_parallel_tool_use")? == Some(true);
    choice.finish(reader)?;
    Ok((tool_choice, is_single.then_some(false)))
}

/// The effort and the format of the output. In the first version of the API, `output_format` was a field of its own.
fn output_config(
    fields: &mut Fields<'_>,
    reader: &mut Reader,
) -> Result<(Option<Thinking>, Option<OutputSchema>), ApiError> {
    let (mut effort, mut format) = (None, fields.object("output_format")?);
    if let Some(mut config) = fields.object("output_config")? {
        effort = match config.text("effort")?.as_deref() {
            None => None,
            Some("low") => Some(Thinking::Low),
            Some("medium") => Some(Thinking::Medium),
            Some("high") => Some(Thinking::High),
            // Which models have it, the provider knows.
            Some(_) => {
                reader.pass_on("output_config");
                reader.pass_on("thinking");
                None
            }
        };
        format = config.object("format")?.or(format);
        config.finish(reader)?;
    }
    let Some(mut format) = format else { return Ok((effort, None)) };
    match format.need_text("type")?.as_ref() {
        "json_schema" => {}
        _ => {
            reader.pass_on(&format.path_of("type"));
            return Ok((effort, None));
        }
    }
    let schema: Value = shallow(format.need("schema")?, &format.path_of("schema"))?;
    format.finish(reader)?;
    Ok((effort, Some(OutputSchema { name: OUTPUT.into(), schema: Arc::new(schema) })))
}

/// The amount of thinking: a budget, or an effort beside `adaptive` (high if none is named). An effort beside anything else, or alone, limits
/// the whole answer, and goes to the endpoint as it is.
fn thinking(
    fields: &mut Fields<'_>,
    effort: Option<Thinking>,
    reader: &mut Reader,
) -> Result<Option<Thinking>, ApiError> {
    let Some(mut mode) = fields.object("thinking")? else {
        if effort.is_some() {
            reader.pass_on("output_config");
        }
        return Ok(None);
    };
    let asked = match mode.need_text("type")?.as_ref() {
        "enabled" => Some(Thinking::Tokens(mode.need("budget_tokens")?)),
        "disabled" => Some(Thinking::Off),
        "adaptive" => Some(effort.unwrap_or(Thinking::High)),
        _ => {
            reader.pass_on("thinking");
            None
        }
    };
    if effort.is_some() && asked != effort {
        reader.pass_on("output_config");
    }
    // `display` limits the thinking that is shown.
    mode.pass_over(&["display"]);
    mode.finish(reader)?;
    Ok(asked)
}

#[cfg(test)]
mod tests;
