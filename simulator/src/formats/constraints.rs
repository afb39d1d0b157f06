//! The form that a request asks of its answer, in every format, and an answer of that form: where no benchmark and no script has an answer, clients
//! that ask for JSON, for an answer by a schema, or for the call of a tool get one that they can parse.
//!
//! | | chat completions | responses | messages |
//! |---|---|---|---|
//! | form of the text | `response_format` | `text.format` | `output_config.format`, `output_format` |
//! | call of a tool | `tool_choice` | `tool_choice` | `tool_choice` |
//! | log-probabilities | `logprobs`, `top_logprobs` | `include`, `top_logprobs` | |

use std::sync::Arc;

use regatta_proto::{Reply, ToolCall, ToolChoice};
use regatta_serving::Format as ChatFormat;
use serde_json::Value;

use crate::api_error::ApiError;
use crate::examples::example;
use crate::formats::ChatCall;

/// Most candidates of a token, as at OpenAI.
const MAX_CANDIDATES: u64 = 20;
const LOGPROBS: &str = "message.output_text.logprobs";
/// Said by a model that must not call a tool.
const NOTHING: &str = "No benchmark and no script has an answer to this.";

/// The form of a text.
#[derive(Debug, Clone, PartialEq)]
enum Output {
    /// Any JSON object.
    Object,
    /// JSON by this schema.
    Schema(Value),
}

impl ChatCall<'_> {
    /// An answer of the form that the request asks for, made up without regard to what it says; `None` if it asks for none.
    ///
    /// # Errors
    /// 400, when the form cannot be read, or no answer of that form can be made up.
    pub(crate) fn made_up(&self, format: ChatFormat) -> Result<Option<Reply>, ApiError> {
        let (output, choice) = (self.output(format)?, self.choice(format)?);
        let functions = self.functions()?;
        let called = match &choice {
            ToolChoice::Auto | ToolChoice::None => None,
            ToolChoice::Required => Some(functions.first().ok_or_else(|| {
                ApiError::bad_request(Some("tool_choice"), "a call is required, and `tools` has no function")
            })?),
            ToolChoice::Named(name) => Some(functions.iter().find(|(known, _)| known == name).ok_or_else(|| {
                ApiError::bad_request(Some("tool_choice"), format!("`tools` has no function {name:?} to be called"))
            })?),
        };
        if let Some((name, schema)) = called {
            let arguments = example(schema).ok_or_else(|| beyond("tools", "arguments"))?.to_string().into();
            let before: usize = self.request.messages.iter().map(|message| message.tool_calls.len()).sum();
            let call = ToolCall { id: format!("call_{before}").into(), name: Arc::clone(name), arguments };
            return Ok(Some(Reply::calling(None, vec![call])));
        }
        Ok(match output {
            Some(Output::Object) => Some(Reply::said("{}")),
            Some(Output::Schema(schema)) => {
                let text = example(&schema).ok_or_else(|| beyond(field_of_output(format), "an answer"))?;
                Some(Reply::said(text.to_string()))
            }
            None => (choice == ToolChoice::None).then(|| Reply::said(NOTHING)),
        })
    }

    /// Number of candidates of each token; `None` if no log-probabilities are asked for.
    ///
    /// # Errors
    /// 400, when there are too many, or the fields cannot be read.
    pub(crate) fn logprobs(&self, format: ChatFormat) -> Result<Option<u8>, ApiError> {
        let is_asked = match format {
            ChatFormat::Chat => self.value("logprobs")? == Value::Bool(true),
            ChatFormat::Responses => {
                self.value("include")?.as_array().is_some_and(|included| included.iter().any(|name| name == LOGPROBS))
            }
            ChatFormat::Messages => return Ok(None),
        };
        let top = match self.value("top_logprobs")? {
            Value::Null => 0,
            number => number.as_u64().filter(|top| *top <= MAX_CANDIDATES).ok_or_else(|| {
                let message = format!("`top_logprobs` is a number from 0 to {MAX_CANDIDATES}");
                ApiError::bad_request(Some("top_logprobs"), message)
            })?,
        };
        if top > 0 && !is_asked && format == ChatFormat::Chat {
            return Err(ApiError::bad_request(Some("top_logprobs"), "`top_logprobs` needs `logprobs` beside it"));
        }
        Ok((is_asked || top > 0).then(|| u8::try_from(top).unwrap_or(u8::MAX)))
    }

    fn output(&self, format: ChatFormat) -> Result<Option<Output>, ApiError> {
        let (asked, place) = match format {
            ChatFormat::Chat => (self.value("response_format")?, "/json_schema/schema"),
            ChatFormat::Responses => (inner(self.value("text")?, "format"), "/schema"),
            ChatFormat::Messages => {
                let newer = inner(self.value("output_config")?, "format");
                (if newer.is_null() { self.value("output_format")? } else { newer }, "/schema")
            }
        };
        match asked.get("type").and_then(Value::as_str) {
            Some("json_object") => Ok(Some(Output::Object)),
            Some("json_schema") => match asked.pointer(place) {
                Some(schema) if schema.is_object() => Ok(Some(Output::Schema(schema.clone()))),
                _ => {
                    let field = field_of_output(format);
                    Err(ApiError::bad_request(Some(field), format!("`{field}` has no schema where this format has it")))
                }
            },
            _ => Ok(None),
        }
    }

    fn choice(&self, format: ChatFormat) -> Result<ToolChoice, ApiError> {
        let choice = self.value("tool_choice")?;
        let name = |place: &str| match choice.pointer(place).and_then(Value::as_str) {
            Some(name) => Ok(ToolChoice::Named(name.into())),
            None => Err(ApiError::bad_request(Some("tool_choice"), "`tool_choice` names no function")),
        };
        let kind = choice.as_str().or_else(|| choice.get("type").and_then(Value::as_str));
        match (kind, format) {
            (Some("none"), _) => Ok(ToolChoice::None),
            (Some("required"), ChatFormat::Chat | ChatFormat::Responses) => Ok(ToolChoice::Required),
            (Some("any"), ChatFormat::Messages) => Ok(ToolChoice::Required),
            (Some("function"), ChatFormat::Chat) => name("/function/name"),
            (Some("function"), ChatFormat::Responses) => name("/name"),
            (Some("tool"), ChatFormat::Messages) => name("/name"),
            // `auto`, and choices that leave another one than a function.
            _ => Ok(ToolChoice::Auto),
        }
    }

    /// Names and schemas of the functions that are offered.
    fn functions(&self) -> Result<Vec<(Arc<str>, Value)>, ApiError> {
        let failed =
            |error| ApiError::bad_request(Some("tools"), format!("failed to read `tools` of the request: {error}"));
        let tools = self.tools.map_or_else(|| Ok(Vec::new()), |tools| serde_json::from_str(tools.get()));
        let tools: Vec<Value> = tools.map_err(failed)?;
        let function = |mut tool: Value| {
            // Anthropic's functions may be called `custom`; at OpenAI that is a tool that takes a text.
            let is_function = match tool.get("type").and_then(Value::as_str) {
                None | Some("function") => true,
                Some("custom") => tool.get("input_schema").is_some(),
                Some(_) => false,
            };
            let mut function = if tool["function"].is_object() { tool["function"].take() } else { tool };
            let name: Arc<str> = function.get("name")?.as_str()?.into();
            let schema = ["parameters", "input_schema"]
                .into_iter()
                .find_map(|field| function.get_mut(field).map(Value::take).filter(Value::is_object));
            is_function.then(|| (name, schema.unwrap_or_else(|| serde_json::json!({"type": "object"}))))
        };
        Ok(tools.into_iter().filter(Value::is_object).filter_map(function).collect())
    }

    /// The value of a field that a gist does not read; null if it is absent.
    fn value(&self, name: &'static str) -> Result<Value, ApiError> {
        let Some((_, written)) = self.unread.iter().find(|(field, _)| field == name) else { return Ok(Value::Null) };
        serde_json::from_str(written.get()).map_err(|error| {
            ApiError::bad_request(Some(name), format!("failed to read `{name}` of the request: {error}"))
        })
    }
}

/// The field `name` of an object; null if there is none.
fn inner(mut object: Value, name: &str) -> Value {
    object.get_mut(name).map(Value::take).unwrap_or_default()
}

const fn field_of_output(format: ChatFormat) -> &'static str {
    match format {
        ChatFormat::Chat => "response_format",
        ChatFormat::Responses => "text",
        ChatFormat::Messages => "output_config",
    }
}

/// 400: a schema has something that nothing can be made up for.
fn beyond(field: &'static str, what: &str) -> ApiError {
    let message = format!(
        "a simulated model cannot make up {what} by the schema in `{field}`: it has a `pattern`, a condition, a restriction beside \
         a reference or alternatives, or bounds that leave nothing or are too large; have the model `scripted` say it"
    );
    ApiError::bad_request(Some(field), message)
}
