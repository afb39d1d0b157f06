//! Reads a streamed response. The last event has it whole, so the pieces only determine the time to first token.

use regatta_proto::{ErrorClass, Usage};
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::errors::Failure;
use crate::wire::size::bytes_of;
use crate::wire::{Completion, Part, ReadContext, ServerEvent, StreamReader, trouble};

use super::answer::{BILL, completion};

/// The parts received so far.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    whole: Option<Value>,
    /// Completed items, because some servers leave them out of the whole response.
    items: Vec<Value>,
    usage: Option<Usage>,
    tier: Option<Box<str>>,
    /// Of the items and the whole.
    bytes: usize,
}

impl StreamReader for Reader {
    fn event(&mut self, event: &ServerEvent<'_>, context: &ReadContext<'_>) -> Result<Part, Failure> {
        let data = event.data.trim();
        if data.is_empty() {
            return Ok(Part::Other);
        }
        if data == "[DONE]" {
            return Ok(Part::End);
        }
        let mut body: Value = serde_json::from_str(data).map_err(|error| {
            let detail = format!("an event of the stream is no JSON ({error}): {data}");
            trouble::in_stream(ErrorClass::BadResponse, context.secret.detail(&detail))
        })?;
        self.usage = (BILL.usage)(&body).or(self.usage);
        if let Some(tier) = (BILL.tier)(&body).filter(|tier| self.tier.as_deref() != Some(*tier)) {
            self.tier = Some(tier.into());
        }
        let kind = body.get("type").and_then(Value::as_str).unwrap_or(event.name).to_owned();
        match kind.as_str() {
            "response.completed" | "response.incomplete" | "response.done" => {
                self.whole = body.get_mut("response").map(Value::take);
                self.bytes += self.whole.as_ref().map_or(0, bytes_of);
                Ok(Part::End)
            }
            "response.failed" => Err(failed(body.get("response").unwrap_or(&body), context)),
            "error" => Err(failed(&body, context)),
            "response.output_item.done" => {
                let item = body.get_mut("item").map(Value::take);
                self.bytes += item.as_ref().map_or(0, bytes_of);
                self.items.extend(item);
                Ok(Part::Answer)
            }
            "response.output_item.added" => {
                let is_call =
                    body.pointer("/item/type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("_call"));
                Ok(if is_call { Part::Answer } else { Part::Other })
            }
            delta if delta.ends_with(".delta") => Ok(Part::Answer),
            _ => trouble::of_event(&body, false, BILL, context).map_or(Ok(Part::Other), Err),
        }
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn tier(&self) -> Option<&str> {
        self.tier.as_deref()
    }

    fn end(self: Box<Self>, headers: &HeaderMap, context: &ReadContext<'_>) -> Result<Completion, Failure> {
        let Self { whole, items, .. } = *self;
        let Some(mut whole) = whole else {
            let detail = "the stream ended before the response did".to_owned();
            return Err(trouble::in_stream(ErrorClass::BadResponse, detail));
        };
        let holds_none = whole.get("output").and_then(Value::as_array).is_none_or(Vec::is_empty);
        if let Some(fields) = whole.as_object_mut().filter(|_| holds_none && !items.is_empty()) {
            fields.insert("output".to_owned(), Value::Array(items));
        }
        completion(whole, headers, context)
    }
}

fn failed(body: &Value, context: &ReadContext<'_>) -> Failure {
    let failure = trouble::of_event(body, true, BILL, context);
    failure.unwrap_or_else(|| trouble::in_stream(ErrorClass::Server, context.secret.detail(&body.to_string())))
}
