//! Reads a streamed answer. Only the end of the connection marks its end; the last chunks have the stop reason and the token counts.

use regatta_proto::{ErrorClass, Usage};
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::answer::Gathered;
use super::trouble::of_event;
use crate::errors::Failure;
use crate::wire::{Completion, Part, ReadContext, ServerEvent, StreamReader, trouble};

/// The parts received so far.
#[derive(Debug, Default)]
pub(super) struct Reader(Gathered);

impl StreamReader for Reader {
    fn event(&mut self, event: &ServerEvent<'_>, context: &ReadContext<'_>) -> Result<Part, Failure> {
        let data: Value = serde_json::from_str(event.data).map_err(|error| {
            let detail =
                context.secret.detail(&format!("an event of the stream is not JSON ({error}): {}", event.data));
            trouble::in_stream(ErrorClass::BadResponse, detail)
        })?;
        if let Some(failure) = of_event(&data, context) {
            return Err(failure);
        }
        Ok(if self.0.take(data) { Part::Answer } else { Part::Other })
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn usage(&self) -> Option<Usage> {
        self.0.billed()
    }

    fn tier(&self) -> Option<&str> {
        self.0.tier()
    }

    fn end(self: Box<Self>, headers: &HeaderMap, context: &ReadContext<'_>) -> Result<Completion, Failure> {
        if !self.0.is_complete() {
            let detail = "the stream ended before the answer did".to_owned();
            return Err(trouble::in_stream(ErrorClass::BadResponse, detail));
        }
        Ok(self.0.completion(headers, context))
    }
}
