//! Anthropic's message batches, pure: one request creates a batch of many, and the results are downloaded as lines.
//!
//! Facts from Anthropic's API reference, "Message Batches".

use bytes::Bytes;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::shapes::{Batch, Ending, Envelope, LineResult, Page, Stage};

pub(super) const BATCHES: &str = "/messages/batches";

/// Most bytes of the request that creates a batch.
pub(super) const REQUEST_BYTES_MAX: usize = 256_000_000;

/// Batches on a page of the list.
const PAGE: u32 = 100;

/// Writes one request of the batch.
///
/// # Errors
/// Never, because a text can always be written as JSON.
pub(super) fn write_line(
    out: &mut Vec<u8>,
    is_first: bool,
    custom_id: &str,
    params: &RawValue,
) -> Result<(), serde_json::Error> {
    if !is_first {
        out.push(b',');
    }
    out.extend_from_slice(b"{\"custom_id\":");
    serde_json::to_writer(&mut *out, custom_id)?;
    out.extend_from_slice(b",\"params\":");
    out.extend_from_slice(params.get().as_bytes());
    out.push(b'}');
    Ok(())
}

/// The JSON around the requests.
pub(super) fn envelope() -> Envelope {
    Envelope {
        content_type: "application/json".to_owned(),
        head: Bytes::from_static(b"{\"requests\":["),
        tail: Bytes::from_static(b"]}"),
    }
}

/// The path of the page of the list that follows the batch `after`.
pub(super) fn page(after: Option<&str>) -> String {
    after.map_or_else(|| format!("{BATCHES}?limit={PAGE}"), |after| format!("{BATCHES}?limit={PAGE}&after_id={after}"))
}

/// The path of the results of a batch. The batch also has an address for them, but that could lead elsewhere.
pub(super) fn results(batch: &str) -> String {
    format!("{BATCHES}/{batch}/results")
}

#[derive(Deserialize)]
struct WireBatch {
    id: String,
    processing_status: String,
    #[serde(default)]
    request_counts: Counts,
    #[serde(default)]
    created_at: Option<Timestamp>,
    #[serde(default)]
    ended_at: Option<Timestamp>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Counts {
    processing: u64,
    succeeded: u64,
    errored: u64,
    canceled: u64,
    expired: u64,
}

/// A batch.
///
/// # Errors
/// When the answer does not describe a batch.
pub(super) fn read_batch(body: &[u8]) -> Result<Batch, serde_json::Error> {
    serde_json::from_slice(body).map(WireBatch::understood)
}

#[derive(Deserialize)]
struct WirePage {
    data: Vec<WireBatch>,
    #[serde(default)]
    has_more: bool,
    #[serde(default)]
    last_id: Option<String>,
}

/// A page of the list of batches.
///
/// # Errors
/// When the answer is no page of the list.
pub(super) fn read_page(body: &[u8]) -> Result<Page, serde_json::Error> {
    let page: WirePage = serde_json::from_slice(body)?;
    let next = page.last_id.or_else(|| page.data.last().map(|last| last.id.clone())).filter(|_| page.has_more);
    Ok(Page { batches: page.data.into_iter().map(WireBatch::understood).collect(), next })
}

impl WireBatch {
    fn understood(self) -> Batch {
        let Counts { processing, succeeded, errored, canceled, expired } = self.request_counts;
        let done = [errored, canceled, expired].into_iter().fold(succeeded, u64::saturating_add);
        Batch {
            id: self.id,
            // Each line tells whether it expired or was cancelled.
            stage: if self.processing_status == "ended" { Stage::Ended } else { Stage::Running },
            done,
            total: done.saturating_add(processing),
            created_at: self.created_at,
            ended_at: self.ended_at,
            name: None,
            files: Vec::new(),
        }
    }
}

#[derive(Deserialize)]
struct WireResult<'a> {
    custom_id: String,
    #[serde(borrow)]
    result: WireEnding<'a>,
}

#[derive(Deserialize)]
struct WireEnding<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// One line of the results.
///
/// # Errors
/// When the line is not a result.
pub(super) fn read_result(line: &[u8]) -> Result<LineResult, serde_json::Error> {
    let WireResult { custom_id, result } = serde_json::from_slice(line)?;
    let answered = |status: u16, body: Option<&RawValue>| Ending::Answered {
        status,
        request_id: None,
        body: Bytes::copy_from_slice(body.map_or("null", RawValue::get).as_bytes()),
    };
    let ending = match result.kind.as_str() {
        "succeeded" => answered(200, result.message),
        "expired" => Ending::Expired,
        "canceled" => Ending::Cancelled,
        _ => answered(result.error.map_or(500, |error| status_of(error.get())), result.error),
    };
    Ok(LineResult { custom_id, ending })
}

/// The status that a live call would have had with this error.
fn status_of(error: &str) -> u16 {
    #[derive(Deserialize)]
    struct Typed {
        #[serde(rename = "type", default)]
        kind: String,
        #[serde(default)]
        error: Option<Box<Typed>>,
    }
    let outer = serde_json::from_str::<Typed>(error).ok();
    let kind = outer.map(|outer| outer.error.map_or(outer.kind, |inner| inner.kind)).unwrap_or_default();
    match kind.as_str() {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    }
}

#[cfg(test)]
mod tests;
