//! OpenAI's responses.
//!
//! An answer has `id`, `object`, `created_at`, `status` (`completed`; `incomplete` with `incomplete_details.reason`
//! `max_output_tokens`), `error`, `model`, `output` (an item of type `message` whose content is a part of type `output_text`, and
//! one of type `function_call` with `call_id`, `name` and `arguments` for each call) and `usage` (`input_tokens`, `input_tokens_details.cached_tokens`, which are part of them, `output_tokens`,
//! `output_tokens_details.reasoning_tokens`, `total_tokens`, and OpenRouter's `cost`). A stream is of named events, each with its name as
//! `type` and a `sequence_number`: `response.created`, `response.in_progress`, `response.output_item.added`,
//! `response.content_part.added`, `response.output_text.delta`, `response.output_text.done`, `response.content_part.done`,
//! `response.output_item.done`, for calls `response.function_call_arguments.delta` and `.done` instead of those of the part, and `response.completed` or `response.incomplete`. A generation that fails ends in `response.failed`, whose
//! response has an `error` of `code` and `message`.

use bytes::Bytes;
use regatta_proto::{Finish, ToolCall};
use serde_json::{Value, json};

use super::narrator::{Narrator, write_named};
use crate::api_error::{ApiError, json_bytes};
use crate::draft::{Draft, Stamp};
use crate::said::{Part, Said};

/// The whole answer.
pub(crate) fn response(draft: &Draft, said: &Said, stamp: &Stamp) -> Bytes {
    let events = Events::new(draft, said, stamp);
    json_bytes(&events.response(&End::of(said.finish), events.output(said)))
}

/// The answer in pieces.
pub(crate) struct Events {
    id: String,
    /// What the ids of its items have in common.
    stamp: String,
    created: i64,
    model: String,
    has_text: bool,
    usage: Value,
    sequence_number: u64,
}

/// How far a response is.
enum End<'a> {
    InProgress,
    Completed,
    Incomplete,
    Failed(&'a ApiError),
}

impl End<'_> {
    const fn of(finish: Finish) -> Self {
        match finish {
            Finish::Length => Self::Incomplete,
            _ => Self::Completed,
        }
    }

    const fn status(&self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
            Self::Failed(_) => "failed",
        }
    }
}

impl Events {
    pub(crate) fn new(draft: &Draft, said: &Said, stamp: &Stamp) -> Self {
        let used = &draft.usage;
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
            model: draft.model.clone(),
            has_text: said.has_text_block(),
            usage,
            sequence_number: 0,
        }
    }

    fn response(&self, end: &End<'_>, output: Vec<Value>) -> Value {
        let is_over = matches!(end, End::Completed | End::Incomplete);
        let error = match end {
            End::Failed(error) => json!({"code": "server_error", "message": error.message}),
            _ => Value::Null,
        };
        let details = matches!(end, End::Incomplete).then(|| json!({"reason": "max_output_tokens"}));
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

    /// All items.
    fn output(&self, said: &Said) -> Vec<Value> {
        said.parts().map(|part| self.item(part, said)).collect()
    }

    /// The item that is `part`, whole. An answer that was cut was cut in its last one.
    fn item(&self, part: Part, said: &Said) -> Value {
        let is_last = said.parts().last() == Some(part);
        let status = if is_last { End::of(said.finish) } else { End::Completed }.status();
        match part {
            Part::Text => self.message(status, &[text_part(said.text())]),
            Part::Call(number) => self.call(number, status, said, said.part(part)),
        }
    }

    fn message(&self, status: &str, content: &[Value]) -> Value {
        let id = self.item_id(Part::Text);
        json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content})
    }

    fn call(&self, number: usize, status: &str, said: &Said, arguments: &str) -> Value {
        let Some(ToolCall { id, name, .. }) = said.calls.get(number) else { return Value::Null };
        json!({
            "id": self.item_id(Part::Call(number)),
            "type": "function_call",
            "status": status,
            "call_id": &**id,
            "name": &**name,
            "arguments": arguments,
        })
    }

    fn item_id(&self, part: Part) -> String {
        match part {
            Part::Text => format!("msg_{}", self.stamp),
            Part::Call(number) => format!("fc_{}_{number}", self.stamp),
        }
    }

    fn output_index(&self, part: Part) -> usize {
        match part {
            Part::Text => 0,
            Part::Call(number) => number + usize::from(self.has_text),
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

    /// An event that tells `value` of what is told of `part`.
    fn write_of(&mut self, out: &mut Vec<u8>, part: Part, name: &str, field: &str, value: Value) {
        let mut fields = json!({"item_id": self.item_id(part), "output_index": self.output_index(part)});
        if part == Part::Text {
            fields["content_index"] = 0.into();
        }
        fields[field] = value;
        self.write(out, name, fields);
    }
}

impl Narrator for Events {
    fn opening(&mut self, out: &mut Vec<u8>) {
        let response = self.response(&End::InProgress, Vec::new());
        self.write(out, "response.created", json!({"response": response}));
        self.write(out, "response.in_progress", json!({"response": response}));
    }

    fn begin(&mut self, part: Part, said: &Said, out: &mut Vec<u8>) {
        let status = End::InProgress.status();
        let item = match part {
            Part::Text => self.message(status, &[]),
            Part::Call(number) => self.call(number, status, said, ""),
        };
        let output_index = self.output_index(part);
        self.write(out, "response.output_item.added", json!({"output_index": output_index, "item": item}));
        if part == Part::Text {
            self.write_of(out, part, "response.content_part.added", "part", text_part(""));
        }
    }

    fn piece(&mut self, part: Part, piece: &str, out: &mut Vec<u8>) {
        let name = match part {
            Part::Text => "response.output_text.delta",
            Part::Call(_) => "response.function_call_arguments.delta",
        };
        self.write_of(out, part, name, "delta", piece.into());
    }

    fn end(&mut self, part: Part, said: &Said, out: &mut Vec<u8>) {
        let text = said.part(part);
        match part {
            Part::Text => {
                self.write_of(out, part, "response.output_text.done", "text", text.into());
                self.write_of(out, part, "response.content_part.done", "part", text_part(text));
            }
            Part::Call(_) => {
                self.write_of(out, part, "response.function_call_arguments.done", "arguments", text.into());
            }
        }
        let (item, output_index) = (self.item(part, said), self.output_index(part));
        self.write(out, "response.output_item.done", json!({"output_index": output_index, "item": item}));
    }

    fn closing(&mut self, said: &Said, out: &mut Vec<u8>) {
        let end = End::of(said.finish);
        let name = format!("response.{}", end.status());
        let response = self.response(&end, self.output(said));
        self.write(out, &name, json!({"response": response}));
    }

    fn error(&mut self, error: &ApiError, text: &str, out: &mut Vec<u8>) {
        let told = self.has_text.then(|| self.message(End::Incomplete.status(), &[text_part(text)]));
        let response = self.response(&End::Failed(error), told.into_iter().collect());
        self.write(out, "response.failed", json!({"response": response}));
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}
