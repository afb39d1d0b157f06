//! `POST /v1/responses` as OpenAI's clients write it.

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Sampling};

use super::conversation::conversation;
use super::forms::{self, ToolForms};
use crate::call::{ChatCall, Streaming};
use crate::chat::request::output_schema;
use crate::error::ApiError;
use crate::fields::{Fields, Text};
use crate::reader::Reader;
use crate::refused::UNREAD_ANSWER;
use crate::thinking::effort;
use crate::tools::offered;

/// Fields that do not affect the answer. The endpoint is to store nothing, whatever `store` says; `client_metadata` has ids that are new with
/// each start.
const BY_THE_WAY: &[&str] = &[
    "user",
    "store",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "prompt_cache_options",
    "stream_options",
    "client_metadata",
];
/// Values of `include` that are supported.
const LOGPROBS: &str = "message.output_text.logprobs";
const THOUGHTS: &str = "reasoning.encrypted_content";
/// Values of `include` that add something to the calls of tools which no request here offers, or to what was sent.
const OF_OTHER_TOOLS: &[&str] = &[
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "web_search_call.action.sources",
    "web_search_call.results",
];

pub(crate) fn parse<'a>(body: &'a [u8], reader: &mut Reader) -> Result<ChatCall<'a>, ApiError> {
    let mut fields = Fields::of_body(body)?;
    let model = fields.need_text("model")?;
    let max_tokens = fields.take("max_output_tokens")?;
    if max_tokens == Some(0) {
        return Err(fields.refuse("max_output_tokens", "is 0; ask for at least one token"));
    }
    let instructions = fields.text("instructions")?.map(|text| ChatMessage::new(ChatRole::System, text));
    let mut messages: Vec<ChatMessage> = instructions.into_iter().collect();
    conversation(&mut messages, fields.raw("input"), reader)?;
    if messages.is_empty() {
        return Err(fields.refuse("input", "is empty; send a text or at least one item"));
    }
    let (temperature, top_p) = (fields.take("temperature")?, fields.take("top_p")?);
    let is_streamed = fields.take::<bool>("stream")?.unwrap_or(false);
    let metadata = fields.raw("metadata");
    let tools = fields.raw("tools");
    let mut request = ChatRequest::new(messages, Sampling { temperature, top_p, max_tokens, seed: None });
    let (mut forms, mut unread) = (ToolForms::default(), Vec::new());
    if reader.is_whole() {
        (request.tools, forms) = forms::read(tools, reader)?;
        fill(&mut request, &mut fields, reader)?;
    } else {
        request.tools = offered(tools);
        unread = fields.rest();
    }
    fields.finish(reader)?;
    let streaming = is_streamed.then_some(Streaming { include_usage: true });
    Ok(ChatCall { model, request, streaming, tools, metadata, forms, unread, left_out: Vec::new() })
}

/// Reads the fields that only a whole reading needs.
fn fill(request: &mut ChatRequest, fields: &mut Fields<'_>, reader: &mut Reader) -> Result<(), ApiError> {
    fields.pass_over(BY_THE_WAY);
    fields.pass_unless("service_tier", &["\"auto\"", "\"default\""], reader);
    fields.pass_unless("truncation", &["\"disabled\""], reader);
    fields.only("background", &["false"], UNREAD_ANSWER, reader)?;
    request.tool_choice = forms::choice(fields, reader)?;
    request.parallel_tool_calls = fields.take("parallel_tool_calls")?;
    if let Some(mut text) = fields.object("text")? {
        text.pass_unless("verbosity", &["\"medium\""], reader);
        if let Some(mut format) = text.object("format")? {
            match format.need_text("type")?.as_ref() {
                "text" => format.finish(reader)?,
                "json_schema" => request.output = Some(output_schema(format, reader)?),
                _ => reader.pass_on("text"),
            }
        }
        text.finish(reader)?;
    }
    if let Some(mut reasoning) = fields.object("reasoning")? {
        request.thinking = effort(&mut reasoning, "effort", reader)?;
        if reasoning.raw("summary").is_some() | reasoning.raw("generate_summary").is_some() {
            reader.left_out.insert("reasoning.summary");
        }
        reasoning.finish(reader)?;
    }
    let mut has_logprobs = false;
    for included in fields.take::<Vec<Text<'_>>>("include")?.unwrap_or_default() {
        match included.0.as_ref() {
            LOGPROBS => has_logprobs = true,
            THOUGHTS => {}
            nothing if OF_OTHER_TOOLS.contains(&nothing) => {}
            other => return Err(fields.refuse("include", &format!("holds {other:?}, which no answer has here"))),
        }
    }
    let top = fields.take::<u8>("top_logprobs")?;
    request.logprobs = match (has_logprobs, top) {
        (false, None | Some(0)) => None,
        (_, top) => Some(top.unwrap_or(0)),
    };
    Ok(())
}

#[cfg(test)]
mod tests;
