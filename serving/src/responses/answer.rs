//! OpenAI's responses.
//!
//! An answer has `id`, `object`, `created_at`, `status` (`completed`; `incomplete` with `incomplete_details.reason` `max_output_tokens`),
//! `error`, `model`, `output` (an item of type `message` whose content is a part of type `output_text`, and one of type `function_call`
//! with `call_id`, `name` and `arguments` for each call, with `namespace` where its tool is in one; a tool that takes a text is called by a
//! `custom_tool_call` with `input`) and `usage` (`input_tokens`, `input_tokens_details.cached_tokens`, which are part
//! of them, `output_tokens`, `output_tokens_details.reasoning_tokens`, `total_tokens`, and OpenRouter's `cost`). A stream is of named
//! events, each with its name as `type` and a `sequence_number`: `response.created`, `response.in_progress`, `response.output_item.added`,
//! `response.content_part.added`, `response.output_text.delta`, `response.output_text.done`, `response.content_part.done`,
//! `response.output_item.done`, for calls `response.function_call_arguments.delta` and `.done` instead of those of the part, and
//! `response.completed` or `response.incomplete`. A generation that fails ends in `response.failed`, whose response has an `error` of
//! `code` and `message`.

use bytes::Bytes;
use regatta_proto::{Finish, Reply, ToolCall};
use serde_json::{Value, json};

use super::forms::{ToolForm, input};
use crate::answer::Answer;
use crate::error::{ApiError, json_bytes};
use crate::logprobs::tokens;
use crate::parts::{Part, part, parts, position};
use crate::sse_encoder::{SseEncoder, write_named};

/// The whole answer.
pub(crate) fn response(answer: &Answer<'_>) -> Bytes {
    let events = Events::new(answer);
    json_bytes(&events.response(&End::of(answer.reply.finish), events.output(answer.reply)))
}

/// The SSE encoder of responses.
pub(crate) struct Events {
    id: String,
    /// The common part of its items' ids.
    stamp: String,
    created: i64,
    model: String,
    has_text: bool,
    /// Forms of its calls by their positions; `None` for those of functions.
    forms: Vec<Option<ToolForm>>,
    usage: Value,
    sequence_number: u64,
    /// Index of the current item.
    output_index: usize,
}

/// State of a response.
enum End<'a> {
    InProgress,
    Completed,
    /// Incomplete, for this reason.
    Incomplete(&'static str),
    Failed(&'a ApiError),
}

impl End<'_> {
    const fn of(finish: Finish) -> Self {
        match finish {
            Finish::Length => Self::Incomplete("max_output_tokens"),
            Finish::ContentFilter => Self::Incomplete("content_filter"),
            _ => Self::Completed,
        }
    }

    const fn status(&self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete(_) => "incomplete",
            Self::Failed(_) => "failed",
        }
    }
}

impl Events {
    pub(crate) fn new(answer: &Answer<'_>) -> Self {
        let Answer { model, usage: used, stamp, forms, .. } = *answer;
        let form = |call: &ToolCall| forms.and_then(|forms| forms.of(&call.name)).cloned();
        let mut usage = json!({
            "input_tokens": used.input,
            "input_tokens_details": {"cached_tokens": used.cached_input},
            "output_tokens": used.output,
            "output_tokens_details": {"reasoning_tokens": used.reasoning},
            "total_tokens": used.total(),
        });
        if let Some(cost) = stamp.cost {
            usage["cost"] = cost.into();
        }
        Self {
            id: format!("resp_{}", stamp.id),
            stamp: stamp.id.clone(),
            created: stamp.created,
            model: model.to_owned(),
            has_text: parts(answer.reply).any(|part| part == Part::Text),
            forms: answer.reply.tool_calls.iter().map(form).collect(),
            usage,
            sequence_number: 0,
            output_index: 0,
        }
    }

    fn response(&self, end: &End<'_>, output: Vec<Value>) -> Value {
        let is_over = matches!(end, End::Completed | End::Incomplete(_));
        let error = match end {
            End::Failed(error) => json!({"code": "server_error", "message": error.message}),
            _ => Value::Null,
        };
        let details = match end {
            End::Incomplete(reason) => json!({"reason": reason}),
            _ => Value::Null,
        };
        json!({
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": end.status(),
            "error": error,
            "incomplete_details": details,
            "model": self.model,
            "output": output,
            "usage": is_over.then_some(&self.usage),
        })
    }

    /// All items of the output.
    fn output(&self, reply: &Reply) -> Vec<Value> {
        parts(reply).map(|part| self.item(part, reply)).collect()
    }

    /// The item of the part `told`, whole. If the answer was cut off, its last item is incomplete.
    fn item(&self, told: Part, reply: &Reply) -> Value {
        let is_last = parts(reply).last() == Some(told);
        let status = if is_last { End::of(reply.finish) } else { End::Completed }.status();
        match told {
            Part::Thought => self.thought(reply, &[summary_part(part(reply, told))], true),
            Part::Text => self.message(status, &[text_part(part(reply, told), reply)]),
            Part::Call(number) => self.call(number, status, reply, part(reply, told)),
        }
    }

    fn thought(&self, reply: &Reply, summary: &[Value], is_over: bool) -> Value {
        let opaque = reply.reasoning.as_ref().and_then(|reasoning| reasoning.opaque.as_deref()).filter(|_| is_over);
        json!({"id": self.item_id(Part::Thought), "type": "reasoning", "summary": summary, "encrypted_content": opaque})
    }

    fn message(&self, status: &str, content: &[Value]) -> Value {
        let id = self.item_id(Part::Text);
        json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content})
    }

    fn call(&self, number: usize, status: &str, reply: &Reply, arguments: &str) -> Value {
        let Some(ToolCall { id: call_id, name, .. }) = reply.tool_calls.get(number) else { return Value::Null };
        let (id, call_id) = (self.item_id(Part::Call(number)), &**call_id);
        let function = |name: &str| {
            json!({
                "id": id, "type": "function_call", "status": status, "call_id": call_id, "name": name, "arguments": arguments,
            })
        };
        match self.form(number) {
            // Responses never had calls of the first form.
            None | Some(ToolForm::First) => function(name),
            Some(ToolForm::Namespaced { namespace, name }) => {
                let mut call = function(name);
                call["namespace"] = json!(namespace);
                call
            }
            Some(ToolForm::Text) => json!({
                "id": id, "type": "custom_tool_call", "status": status, "call_id": call_id, "name": &**name, "input": input(arguments),
            }),
        }
    }

    fn form(&self, number: usize) -> Option<&ToolForm> {
        self.forms.get(number)?.as_ref()
    }

    fn is_text(&self, number: usize) -> bool {
        matches!(self.form(number), Some(ToolForm::Text))
    }

    fn item_id(&self, part: Part) -> String {
        match part {
            Part::Thought => format!("rs_{}", self.stamp),
            Part::Text => format!("msg_{}", self.stamp),
            Part::Call(number) if self.is_text(number) => format!("ctc_{}_{number}", self.stamp),
            Part::Call(number) => format!("fc_{}_{number}", self.stamp),
        }
    }

    /// Writes an event; `fields` is an object.
    fn write(&mut self, out: &mut Vec<u8>, name: &str, fields: Value) {
        let mut data = json!({"type": name, "sequence_number": self.sequence_number});
        if let (Value::Object(data), Value::Object(fields)) = (&mut data, fields) {
            data.extend(fields);
        }
        self.sequence_number += 1;
        write_named(out, name, &data);
    }

    /// Writes an event about `part` that has `value` in `field`.
    fn write_of(&mut self, out: &mut Vec<u8>, part: Part, name: &str, field: &str, value: Value) {
        let mut fields = json!({"item_id": self.item_id(part), "output_index": self.output_index});
        match part {
            Part::Thought => fields["summary_index"] = 0.into(),
            Part::Text => fields["content_index"] = 0.into(),
            Part::Call(_) => {}
        }
        fields[field] = value;
        self.write(out, name, fields);
    }
}

impl SseEncoder for Events {
    fn opening(&mut self, out: &mut Vec<u8>) {
        let response = self.response(&End::InProgress, Vec::new());
        self.write(out, "response.created", json!({"response": response}));
        self.write(out, "response.in_progress", json!({"response": response}));
    }

    fn begin(&mut self, part: Part, reply: &Reply, out: &mut Vec<u8>) {
        let status = End::InProgress.status();
        let item = match part {
            Part::Thought => self.thought(reply, &[], false),
            Part::Text => self.message(status, &[]),
            Part::Call(number) => self.call(number, status, reply, ""),
        };
        self.output_index = position(reply, part);
        let output_index = self.output_index;
        self.write(out, "response.output_item.added", json!({"output_index": output_index, "item": item}));
        match part {
            Part::Thought => {
                self.write_of(out, part, "response.reasoning_summary_part.added", "part", summary_part(""))
            }
            Part::Text => self.write_of(out, part, "response.content_part.added", "part", told_text("")),
            Part::Call(_) => {}
        }
    }

    fn piece(&mut self, part: Part, piece: &str, out: &mut Vec<u8>) {
        let name = match part {
            Part::Thought => "response.reasoning_summary_text.delta",
            Part::Text => "response.output_text.delta",
            // Whoever has calls of this form writes each as one piece.
            Part::Call(number) if self.is_text(number) => {
                let input = input(piece);
                return self.write_of(out, part, "response.custom_tool_call_input.delta", "delta", input.into());
            }
            Part::Call(_) => "response.function_call_arguments.delta",
        };
        self.write_of(out, part, name, "delta", piece.into());
    }

    fn end(&mut self, told: Part, reply: &Reply, out: &mut Vec<u8>) {
        let text = part(reply, told);
        match told {
            Part::Thought => {
                self.write_of(out, told, "response.reasoning_summary_text.done", "text", text.into());
                self.write_of(out, told, "response.reasoning_summary_part.done", "part", summary_part(text));
            }
            Part::Text => {
                self.write_of(out, told, "response.output_text.done", "text", text.into());
                self.write_of(out, told, "response.content_part.done", "part", text_part(text, reply));
            }
            Part::Call(number) if self.is_text(number) => {
                self.write_of(out, told, "response.custom_tool_call_input.done", "input", input(text).into());
            }
            Part::Call(_) => {
                self.write_of(out, told, "response.function_call_arguments.done", "arguments", text.into());
            }
        }
        let (item, output_index) = (self.item(told, reply), self.output_index);
        self.write(out, "response.output_item.done", json!({"output_index": output_index, "item": item}));
    }

    fn closing(&mut self, reply: &Reply, out: &mut Vec<u8>) {
        let end = End::of(reply.finish);
        let name = format!("response.{}", end.status());
        let response = self.response(&end, self.output(reply));
        self.write(out, &name, json!({"response": response}));
    }

    fn error(&mut self, error: &ApiError, text: &str, out: &mut Vec<u8>) {
        let told = self.has_text.then(|| self.message("incomplete", &[told_text(text)]));
        let response = self.response(&End::Failed(error), told.into_iter().collect());
        self.write(out, "response.failed", json!({"response": response}));
    }
}

fn summary_part(text: &str) -> Value {
    json!({"type": "summary_text", "text": text})
}

/// The text of an answer, whole.
fn text_part(text: &str, reply: &Reply) -> Value {
    let mut part = told_text(text);
    if let Some(logprobs) = &reply.logprobs {
        part["logprobs"] = tokens(logprobs);
    }
    part
}

fn told_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}
