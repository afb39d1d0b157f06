//! `POST /v1/chat/completions` as OpenAI's clients write it.

use std::collections::BTreeSet;
use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, OutputSchema, Sampling, ToolCall, ToolChoice};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Number, Value};

use super::thoughts;
use crate::call::{ChatCall, Streaming};
use crate::content::{Content, PLAIN};
use crate::error::ApiError;
use crate::fields::{Fields, Text, parse as read, refuse, shallow};
use crate::reader::Reader;
use crate::refused::{ONE_ANSWER, UNREAD_ANSWER};
use crate::responses::forms::{SAME_NAME, ToolForm, ToolForms, arguments, with_text};
use crate::thinking::effort;
use crate::tools::{foreign, function, offered};

/// Fields that do not affect the answer. What of a `prediction` does not come true is paid as if it had been answered, beyond any limit.
const BY_THE_WAY: &[&str] = &[
    "user",
    "store",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "prompt_cache_options",
    "prediction",
];

#[derive(Deserialize, Default)]
struct StreamOptions {
    include_usage: Option<bool>,
}

pub(crate) fn parse<'a>(body: &'a [u8], reader: &mut Reader) -> Result<ChatCall<'a>, ApiError> {
    let mut fields = Fields::of_body(body)?;
    let model = fields.need_text("model")?;
    let messages = fields.objects("messages")?;
    if messages.is_empty() {
        return Err(fields.refuse("messages", "is empty; send at least one"));
    }
    let mut called = 0;
    let messages = messages.into_iter().map(|message| self::message(message, &mut called, reader));
    let messages = messages.collect::<Result<_, _>>()?;
    if fields.take::<u64>("n")?.is_some_and(|n| n != 1) {
        return Err(fields.refuse("n", ONE_ANSWER));
    }
    let (max_tokens, max_completion_tokens) = (fields.take("max_tokens")?, fields.take("max_completion_tokens")?);
    let max_tokens = max_completion_tokens.or(max_tokens);
    if max_tokens == Some(0) {
        return Err(fields.refuse("max_tokens", "is 0; ask for at least one token"));
    }
    let sampling = Sampling {
        temperature: fields.take("temperature")?,
        top_p: fields.take("top_p")?,
        max_tokens,
        seed: seed(&mut fields, reader)?,
    };
    let is_streamed = fields.take::<bool>("stream")?.unwrap_or(false);
    let options: StreamOptions = fields.take("stream_options")?.unwrap_or_default();
    let streaming = is_streamed.then(|| Streaming { include_usage: options.include_usage.unwrap_or(false) });
    let metadata = fields.raw("metadata");
    let tools = fields.raw("tools");
    let mut request = ChatRequest::new(messages, sampling);
    let (mut forms, mut unread) = (ToolForms::default(), Vec::new());
    if reader.is_whole() {
        forms = offer(&mut request, &mut fields, tools, reader)?;
        fill(&mut request, &mut fields, reader)?;
        if forms.has_first() {
            // The client reads one call of an answer.
            request.parallel_tool_calls = Some(false);
        }
    } else {
        request.tools = offered(tools);
        unread = fields.rest();
    }
    fields.finish(reader)?;
    Ok(ChatCall { model, request, streaming, tools, metadata, forms, unread, left_out: Vec::new() })
}

/// Reads the tools, or the `functions` of the first versions, and the forms of those that are called in another way than functions are today.
fn offer(
    request: &mut ChatRequest,
    fields: &mut Fields<'_>,
    tools: Option<&RawValue>,
    reader: &mut Reader,
) -> Result<ToolForms, ApiError> {
    let (mut forms, mut names) = (ToolForms::default(), BTreeSet::new());
    // What else a tool of another form says has no place in a function.
    let mut aside = Reader::new(reader.reading);
    for (index, tool) in list(tools, "tools")?.into_iter().enumerate() {
        let path = format!("tools[{index}]");
        let mut tool = Fields::of(tool, path.clone())?;
        let kind = tool.text("type")?;
        let offered = match kind.as_deref() {
            None | Some("function") => {
                let Some(inner) = tool.object("function")? else {
                    return Err(tool.refuse("function", "is missing"));
                };
                let offered = function(inner, "parameters", reader)?;
                // Two functions of one name are for the endpoint to judge.
                if !names.insert(Arc::clone(&offered.name)) && forms.is_text(&offered.name) {
                    return Err(refuse(&path, SAME_NAME));
                }
                offered
            }
            Some("custom") => {
                let Some(inner) = tool.object("custom")? else { return Err(tool.refuse("custom", "is missing")) };
                let offered = with_text(inner, &mut aside)?;
                forms.add(&mut names, (&offered.name, ToolForm::Text), &path)?;
                offered
            }
            Some(kind) => return Err(tool.refuse("type", foreign(kind))),
        };
        request.tools.push(offered);
        tool.pass_over(&["cache_control"]);
        tool.finish(reader)?;
    }
    for (index, first) in fields.objects("functions")?.into_iter().enumerate() {
        if tools.is_some() {
            return Err(fields.refuse("functions", "cannot stand beside `tools`; send one of them"));
        }
        let offered = function(first, "parameters", &mut aside)?;
        forms.add(&mut names, (&offered.name, ToolForm::First), &format!("functions[{index}]"))?;
        request.tools.push(offered);
    }
    reader.left_out.extend(aside.left_out);
    // The endpoint would be offered the others too, in forms in which its calls are not read.
    if !forms.is_empty() && reader.keep_back("tools") {
        reader.left_out.insert("tools.fields");
    }
    Ok(forms)
}

/// Reads the fields that only a whole reading needs.
fn fill(request: &mut ChatRequest, fields: &mut Fields<'_>, reader: &mut Reader) -> Result<(), ApiError> {
    fields.pass_over(BY_THE_WAY);
    fields.pass_unless("service_tier", &["\"auto\"", "\"default\""], reader);
    fields.only("modalities", &["[\"text\"]"], UNREAD_ANSWER, reader)?;
    fields.pass_unless("verbosity", &["\"medium\""], reader);
    for penalty in ["frequency_penalty", "presence_penalty"] {
        if fields.take::<f64>(penalty)?.is_some_and(|penalty| penalty != 0.0) {
            reader.pass_on(penalty);
        }
    }
    let first = first_choice(fields, reader)?;
    if first.is_some() && fields.raw("tool_choice").is_some() {
        return Err(fields.refuse("function_call", "cannot stand beside `tool_choice`; send one of them"));
    }
    request.tool_choice = match first {
        Some(choice) => choice,
        None => tool_choice(fields, reader)?,
    };
    request.parallel_tool_calls = fields.take("parallel_tool_calls")?;
    request.output = output(fields, reader)?;
    request.stop = stop(fields)?;
    request.thinking = effort(fields, "reasoning_effort", reader)?;
    let (logprobs, top) = (fields.take::<bool>("logprobs")?, fields.take::<u8>("top_logprobs")?);
    request.logprobs = match (logprobs, top) {
        (Some(true), top) => Some(top.unwrap_or(0)),
        (_, None | Some(0)) => None,
        _ => return Err(fields.refuse("top_logprobs", "needs `logprobs` beside it")),
    };
    Ok(())
}

/// Reads a message; `called` is the number of calls of the first form before it.
fn message(mut fields: Fields<'_>, called: &mut u32, reader: &mut Reader) -> Result<ChatMessage, ApiError> {
    let is_result = fields.peek("role").is_some_and(|role| role.get() == "\"function\"");
    let role = role(&mut fields)?;
    let path = fields.path_of("content");
    let content = Content::read(fields.raw("content"), &path, PLAIN, reader)?;
    let calls = fields.objects("tool_calls")?.into_iter();
    let mut message = ChatMessage {
        tool_calls: calls.map(|call| tool_call(call, reader)).collect::<Result<_, _>>()?,
        tool_call_id: fields.take("tool_call_id")?,
        images: content.images,
        ..ChatMessage::new(role, content.text)
    };
    if is_result {
        message.tool_call_id = Some(id_of_first(*called));
    }
    if reader.is_whole() {
        if let Some(mut call) = fields.object("function_call")? {
            *called += 1;
            let (name, arguments) = (call.need("name")?, call.need("arguments")?);
            message.tool_calls.push(ToolCall { id: id_of_first(*called), name, arguments });
            call.finish(reader)?;
        }
        if is_result && *called == 0 {
            return Err(fields.refuse("role", "is of a function's result, and no function was called before it"));
        }
        message.cache_until_here = content.cache_until_here | fields.raw("cache_control").is_some();
        if role == ChatRole::Assistant {
            message.reasoning = thoughts::take(&mut fields)?;
            // Clients send an answer back as they got it.
            fields.pass_over(&["annotations"]);
        } else if !message.tool_calls.is_empty() {
            return Err(fields.refuse("tool_calls", "belongs to the assistant's messages alone"));
        }
        if (role == ChatRole::Tool) != message.tool_call_id.is_some() {
            return Err(fields.refuse("tool_call_id", "has to be there in results of tools, and nowhere else"));
        }
        say_the_name(&mut message, &mut fields, reader)?;
    }
    fields.finish(reader)?;
    Ok(message)
}

/// `ChatMessage` has no field for the name of its author, so a name that differs from the role is put before the text.
fn say_the_name(message: &mut ChatMessage, fields: &mut Fields<'_>, reader: &mut Reader) -> Result<(), ApiError> {
    let Some(name) = fields.text("name")? else { return Ok(()) };
    let role = match message.role {
        ChatRole::System => "system",
        ChatRole::User => "user",
        ChatRole::Assistant => "assistant",
        ChatRole::Tool => return Ok(()),
    };
    if name != role && !message.content.is_empty() {
        message.content = format!("{name}: {}", message.content).into();
        reader.left_out.insert("messages.name");
    }
    Ok(())
}

/// The id of a call of the first form, which has none there: by its number in the conversation. Mistral takes nine letters and digits alone.
fn id_of_first(number: u32) -> Arc<str> {
    format!("call{number:05}").into()
}

fn tool_call(mut call: Fields<'_>, reader: &mut Reader) -> Result<ToolCall, ApiError> {
    let kind = call.text("type")?;
    let id = call.need("id")?;
    let tool_call = match kind.as_deref() {
        Some("custom") => {
            let Some(mut custom) = call.object("custom")? else { return Err(call.refuse("custom", "is missing")) };
            let arguments = arguments(&custom.need_text("input")?);
            let tool_call = ToolCall { id, name: custom.need("name")?, arguments };
            custom.finish(reader)?;
            tool_call
        }
        Some(other) if other != "function" && reader.is_whole() => return Err(call.refuse("type", foreign(other))),
        _ => {
            let Some(mut function) = call.object("function")? else {
                return Err(call.refuse("function", "is missing"));
            };
            let tool_call = ToolCall { id, name: function.need("name")?, arguments: function.need("arguments")? };
            function.finish(reader)?;
            tool_call
        }
    };
    call.pass_over(&["index"]);
    call.finish(reader)?;
    Ok(tool_call)
}

fn role(fields: &mut Fields<'_>) -> Result<ChatRole, ApiError> {
    match fields.need_text("role")?.as_ref() {
        "system" | "developer" => Ok(ChatRole::System),
        "user" => Ok(ChatRole::User),
        "assistant" => Ok(ChatRole::Assistant),
        "tool" | "function" => Ok(ChatRole::Tool),
        other => {
            let why = format!("is {other:?}; expected system, developer, user, assistant or tool");
            Err(fields.refuse("role", &why))
        }
    }
}

/// Most providers take seeds of 64 bits without a sign; others are for the endpoint to judge. A simulated model takes those with a sign as well.
fn seed(fields: &mut Fields<'_>, reader: &mut Reader) -> Result<Option<u64>, ApiError> {
    let Some(seed) = fields.take::<Number>("seed")? else { return Ok(None) };
    let signed = seed.as_i64().filter(|_| !reader.is_whole()).map(i64::cast_unsigned);
    let seed = seed.as_u64().or(signed);
    if seed.is_none() {
        reader.pass_on("seed");
    }
    Ok(seed)
}

/// Reads `function_call`, the choice among `functions`; `None` if it is absent.
fn first_choice(fields: &mut Fields<'_>, reader: &mut Reader) -> Result<Option<ToolChoice>, ApiError> {
    let Some(value) = fields.raw("function_call") else { return Ok(None) };
    if let Ok(Text(word)) = read::<Text<'_>>(value, "function_call") {
        return match word.as_ref() {
            "auto" => Ok(Some(ToolChoice::Auto)),
            "none" => Ok(Some(ToolChoice::None)),
            other => Err(refuse("function_call", &format!("is {other:?}; expected auto, none or a name in an object"))),
        };
    }
    let mut choice = Fields::of(value, "function_call".to_owned())?;
    let name = choice.need("name")?;
    choice.finish(reader)?;
    Ok(Some(ToolChoice::Named(name)))
}

/// Reads `tool_choice`. The name of a function stands where [`named`] finds it in an object.
fn tool_choice(fields: &mut Fields<'_>, reader: &mut Reader) -> Result<ToolChoice, ApiError> {
    let Some(value) = fields.raw("tool_choice") else { return Ok(ToolChoice::Auto) };
    if let Some(choice) = choice_by_word(value)? {
        return Ok(choice);
    }
    let mut choice = Fields::of(value, "tool_choice".to_owned())?;
    let kind = choice.text("type")?;
    let field = match kind.as_deref() {
        None | Some("function") => "function",
        Some("custom") => "custom",
        Some(_) => {
            reader.pass_on("tool_choice");
            return Ok(ToolChoice::Auto);
        }
    };
    let name = named(&mut choice, field, reader)?;
    choice.finish(reader)?;
    Ok(ToolChoice::Named(name))
}

/// The choice that a word stands for; `None` for a value that is no text.
pub(crate) fn choice_by_word(value: &RawValue) -> Result<Option<ToolChoice>, ApiError> {
    let Ok(Text(word)) = read::<Text<'_>>(value, "tool_choice") else { return Ok(None) };
    match word.as_ref() {
        "auto" => Ok(Some(ToolChoice::Auto)),
        "none" => Ok(Some(ToolChoice::None)),
        "required" => Ok(Some(ToolChoice::Required)),
        other => Err(refuse("tool_choice", &format!("is {other:?}; expected auto, none or required"))),
    }
}

/// The name of the tool that has to be called; it is in `field`.
fn named(choice: &mut Fields<'_>, field: &str, reader: &mut Reader) -> Result<Arc<str>, ApiError> {
    let Some(mut tool) = choice.object(field)? else { return Err(choice.refuse(field, "is missing")) };
    let name = tool.need("name")?;
    tool.finish(reader)?;
    Ok(name)
}

fn output(fields: &mut Fields<'_>, reader: &mut Reader) -> Result<Option<OutputSchema>, ApiError> {
    let Some(mut format) = fields.object("response_format")? else { return Ok(None) };
    let kind = format.need_text("type")?;
    let output = match kind.as_ref() {
        "text" => None,
        "json_schema" => {
            let Some(schema) = format.object("json_schema")? else {
                return Err(format.refuse("json_schema", "is missing"));
            };
            Some(output_schema(schema, reader)?)
        }
        _ => {
            reader.pass_on("response_format");
            None
        }
    };
    format.finish(reader)?;
    Ok(output)
}

/// A schema of the answer, with its name. `strict` is ignored, because the schema is always enforced.
pub(crate) fn output_schema(mut fields: Fields<'_>, reader: &mut Reader) -> Result<OutputSchema, ApiError> {
    let (name, schema): (Arc<str>, Value) = (fields.need("name")?, fields.need("schema")?);
    let schema = shallow(schema, &fields.path_of("schema"))?;
    if fields.text("description")?.is_some() {
        reader.left_out.insert("output.description");
    }
    fields.take::<bool>("strict")?;
    fields.finish(reader)?;
    Ok(OutputSchema { name, schema: Arc::new(schema) })
}

fn stop(fields: &mut Fields<'_>) -> Result<Vec<Arc<str>>, ApiError> {
    let Some(value) = fields.raw("stop") else { return Ok(Vec::new()) };
    if value.get().starts_with('"') { Ok(vec![read(value, "stop")?]) } else { read(value, "stop") }
}

/// The entries of a list that may be absent.
pub(crate) fn list<'a>(value: Option<&'a RawValue>, path: &str) -> Result<Vec<&'a RawValue>, ApiError> {
    value.map_or_else(|| Ok(Vec::new()), |value| read(value, path))
}

#[cfg(test)]
mod tests;
