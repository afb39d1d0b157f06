//! OpenAI's responses.
//!
//! An answer has `id`, `object`, `created_at`, `status` (`completed`; `incomplete` with `incomplete_details.reason`
//! `max_output_tokens`), `error`, `model`, `output` (an item of type `message` whose content is a part of type `output_text`) and
//! `usage` (`input_tokens`, `input_tokens_details.cached_tokens`, which are part of them, `output_tokens`,
//! `output_tokens_details.reasoning_tokens`, `total_tokens`, and OpenRouter's `cost`). A stream is of named events, each with its name as
//! `type` and a `sequence_number`: `response.created`, `response.in_progress`, `response.output_item.added`,
//! `response.content_part.added`, `response.output_text.delta`, `response.output_text.done`, `response.content_part.done`,
//! `response.output_item.done`, and `response.completed` or `response.incomplete`. A generation that fails ends in `response.failed`, whose
//! response has an `error` of `code` and `message`.

use bytes::Bytes;
use regatta_proto::Finish;
use serde_json::{Value, json};

use super::narrator::{Narrator, write_named};
use crate::api_error::{ApiError, json_bytes};
use crate::draft::{Draft, Stamp};

/// The whole answer.
pub(crate) fn response(draft: &Draft, text: &str, finish: Finish, stamp: &Stamp) -> Bytes {
    json_bytes(&Events::new(draft, finish, stamp).response(End::of(finish), text))
}

/// The answer in pieces.
pub(crate) struct Events {
    id: String,
    item: String,
    created: i64,
    model: String,
    finish: Finish,
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
    pub(crate) fn new(draft: &Draft, finish: Finish, stamp: &Stamp) -> Self {
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
            item: format!("msg_{}", stamp.id),
            created: stamp.created,
            model: draft.model.clone(),
            finish,
            usage,
            sequence_number: 0,
        }
    }

    fn response(&self, end: End<'_>, text: &str) -> Value {
        let is_over = matches!(end, End::Completed | End::Incomplete);
        let error = match &end {
            End::Failed(error) => json!({"code": "server_error", "message": error.message}),
            _ => Value::Null,
        };
        let details = matches!(end, End::Incomplete).then(|| json!({"reason": "max_output_tokens"}));
        let output = match end {
            End::InProgress => json!([]),
            _ => json!([self.message(if is_over { end.status() } else { "incomplete" }, text)]),
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

    fn message(&self, status: &str, text: &str) -> Value {
        json!({"id": self.item, "type": "message", "status": status, "role": "assistant", "content": [part(text)]})
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

    /// An event about the one part of the one item.
    fn write_of_part(&mut self, out: &mut Vec<u8>, name: &str, field: &str, value: Value) {
        let mut fields = json!({"item_id": self.item, "output_index": 0, "content_index": 0});
        fields[field] = value;
        self.write(out, name, fields);
    }
}

impl Narrator for Events {
    fn opening(&mut self, out: &mut Vec<u8>) {
        let response = self.response(End::InProgress, "");
        self.write(out, "response.created", json!({"response": response}));
        self.write(out, "response.in_progress", json!({"response": response}));
        let item =
            json!({"id": self.item, "type": "message", "status": "in_progress", "role": "assistant", "content": []});
        self.write(out, "response.output_item.added", json!({"output_index": 0, "item": item}));
        self.write_of_part(out, "response.content_part.added", "part", part(""));
    }

    fn piece(&mut self, piece: &str, out: &mut Vec<u8>) {
        self.write_of_part(out, "response.output_text.delta", "delta", piece.into());
    }

    fn closing(&mut self, text: &str, out: &mut Vec<u8>) {
        self.write_of_part(out, "response.output_text.done", "text", text.into());
        self.write_of_part(out, "response.content_part.done", "part", part(text));
        let end = End::of(self.finish);
        let item = self.message(end.status(), text);
        self.write(out, "response.output_item.done", json!({"output_index": 0, "item": item}));
        let name = format!("response.{}", end.status());
        let response = self.response(end, text);
        self.write(out, &name, json!({"response": response}));
    }

    fn error(&mut self, error: &ApiError, text: &str, out: &mut Vec<u8>) {
        let response = self.response(End::Failed(error), text);
        self.write(out, "response.failed", json!({"response": response}));
    }
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}
