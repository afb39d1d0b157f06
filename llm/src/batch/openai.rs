//! OpenAI's batch API, pure: a file of lines is uploaded, a batch is created from it under our name, and the results are downloaded as one
//! or two files.
//!
//! Facts from OpenAI's API reference, "Files" and "Batch". Simulated endpoints have the same API.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::Timestamp;
use regatta_proto::ErrorClass;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::shapes::{Batch, Ending, Envelope, LineResult, Page, Stage};

pub(super) const FILES: &str = "/files";
pub(super) const BATCHES: &str = "/batches";

/// Most bytes of a file of lines.
pub(super) const FILE_BYTES_MAX: usize = 200_000_000;

/// The path that each line calls, independent of the base address.
const CHAT: &str = "/v1/chat/completions";
/// The only completion window that the API accepts.
const WINDOW: &str = "24h";
/// Metadata key that holds our name of the batch.
const NAME: &str = "regatta_batch";
/// Batches on a page of the list.
const PAGE: u32 = 100;

#[derive(Serialize)]
struct Line<'a> {
    custom_id: &'a str,
    method: &'a str,
    url: &'a str,
    body: &'a RawValue,
}

/// Writes one line of the file.
///
/// # Errors
/// Never, because all of it is JSON already.
pub(super) fn write_line(out: &mut Vec<u8>, custom_id: &str, body: &RawValue) -> Result<(), serde_json::Error> {
    serde_json::to_writer(&mut *out, &Line { custom_id, method: "POST", url: CHAT, body })?;
    out.push(b'\n');
    Ok(())
}

/// The form that uploads a file of lines under `name`. No line can hold its boundary: that begins with a line break, which JSON escapes.
pub(super) fn envelope(name: &str) -> Envelope {
    let boundary = format!("regatta-{name}");
    let head = format!(
        "--{boundary}\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{boundary}\r\ncontent-disposition: \
         form-data; name=\"file\"; filename=\"{name}.jsonl\"\r\ncontent-type: application/jsonl\r\n\r\n"
    );
    Envelope {
        content_type: format!("multipart/form-data; boundary={boundary}"),
        head: head.into(),
        tail: format!("\r\n--{boundary}--\r\n").into(),
    }
}

#[derive(Deserialize)]
struct File {
    id: String,
}

/// The id of an uploaded file.
///
/// # Errors
/// When the answer does not describe a file.
pub(super) fn read_file(body: &[u8]) -> Result<String, serde_json::Error> {
    serde_json::from_slice::<File>(body).map(|file| file.id)
}

#[derive(Serialize)]
struct Creation<'a> {
    input_file_id: &'a str,
    endpoint: &'a str,
    completion_window: &'a str,
    metadata: BTreeMap<&'a str, &'a str>,
}

/// The request that creates a batch from a file, under our name.
///
/// # Errors
/// Never, because a text can always be written as JSON.
pub(super) fn creation(file: &str, name: &str) -> Result<Vec<u8>, serde_json::Error> {
    let metadata = BTreeMap::from([(NAME, name)]);
    serde_json::to_vec(&Creation { input_file_id: file, endpoint: CHAT, completion_window: WINDOW, metadata })
}

/// The path of the page of the list that follows the batch `after`.
pub(super) fn page(after: Option<&str>) -> String {
    after.map_or_else(|| format!("{BATCHES}?limit={PAGE}"), |after| format!("{BATCHES}?limit={PAGE}&after={after}"))
}

/// The path of the content of a file.
pub(super) fn content(file: &str) -> String {
    format!("{FILES}/{file}/content")
}

#[derive(Deserialize)]
struct WireBatch {
    id: String,
    status: String,
    #[serde(default)]
    errors: Option<Errors>,
    #[serde(default)]
    output_file_id: Option<String>,
    #[serde(default)]
    error_file_id: Option<String>,
    #[serde(default)]
    created_at: Option<i64>,
    #[serde(default)]
    completed_at: Option<i64>,
    #[serde(default)]
    failed_at: Option<i64>,
    #[serde(default)]
    expired_at: Option<i64>,
    #[serde(default)]
    cancelled_at: Option<i64>,
    #[serde(default)]
    request_counts: Option<Counts>,
    #[serde(default)]
    metadata: Option<BTreeMap<String, serde_json::Value>>,
}

#[derive(Deserialize)]
struct Counts {
    #[serde(default)]
    total: u64,
    #[serde(default)]
    completed: u64,
    #[serde(default)]
    failed: u64,
}

#[derive(Deserialize)]
struct Errors {
    #[serde(default)]
    data: Vec<Trouble>,
}

#[derive(Deserialize, Default)]
struct Trouble {
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    line: Option<u64>,
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
}

/// A page of the list of batches.
///
/// # Errors
/// When the answer is no page of the list.
pub(super) fn read_page(body: &[u8]) -> Result<Page, serde_json::Error> {
    let page: WirePage = serde_json::from_slice(body)?;
    let next = page.data.last().filter(|_| page.has_more).map(|last| last.id.clone());
    Ok(Page { batches: page.data.into_iter().map(WireBatch::understood).collect(), next })
}

impl WireBatch {
    fn understood(self) -> Batch {
        let stage = match self.status.as_str() {
            "completed" => Stage::Ended,
            "expired" => Stage::Expired,
            "cancelled" => Stage::Cancelled,
            "failed" => failed(self.errors),
            // `validating`, `in_progress`, `finalizing`, `cancelling`, and any state that is added between creation and end.
            _ => Stage::Running,
        };
        let ended = self.completed_at.or(self.failed_at).or(self.expired_at).or(self.cancelled_at);
        let counts = self.request_counts.unwrap_or(Counts { total: 0, completed: 0, failed: 0 });
        let name = self.metadata.and_then(|metadata| Some(metadata.get(NAME)?.as_str()?.to_owned()));
        Batch {
            id: self.id,
            stage,
            done: counts.completed.saturating_add(counts.failed),
            total: counts.total,
            created_at: self.created_at.and_then(second),
            ended_at: ended.and_then(second),
            name,
            files: [self.output_file_id, self.error_file_id].into_iter().flatten().collect(),
        }
    }
}

fn second(second: i64) -> Option<Timestamp> {
    Timestamp::from_second(second).ok()
}

/// A batch that the provider's validation rejected. Most errors are about the lines; a full queue and an account without credit are not.
fn failed(errors: Option<Errors>) -> Stage {
    let first = errors.and_then(|errors| errors.data.into_iter().next()).unwrap_or_default();
    let class = match first.code.as_deref() {
        Some("token_limit_exceeded" | "request_limit_exceeded" | "rate_limit_exceeded") => ErrorClass::RateLimited,
        Some("billing_hard_limit_reached" | "insufficient_quota") => ErrorClass::Quota,
        Some("model_not_found") => ErrorClass::NotFound,
        _ => ErrorClass::BadRequest,
    };
    let message = first.message.or(first.code).unwrap_or_else(|| "the provider gave no reason".to_owned());
    let place = first.line.map_or(String::new(), |line| format!("line {line}: "));
    Stage::Failed { class, message: format!("the batch was refused: {place}{message}") }
}

#[derive(Deserialize)]
struct WireResult<'a> {
    custom_id: String,
    #[serde(borrow)]
    response: Option<WireResponse<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireResponse<'a> {
    status_code: u16,
    #[serde(default)]
    request_id: Option<String>,
    #[serde(borrow)]
    body: &'a RawValue,
}

/// One line of a file of results.
///
/// # Errors
/// When the line is not a result.
pub(super) fn read_result(line: &[u8]) -> Result<LineResult, serde_json::Error> {
    let WireResult { custom_id, response, error } = serde_json::from_slice(line)?;
    let ending = match (response, error) {
        (Some(response), _) => Ending::Answered {
            status: response.status_code,
            request_id: response.request_id.filter(|id| !id.is_empty()),
            body: Bytes::copy_from_slice(response.body.get().as_bytes()),
        },
        (None, error) => without_response(error),
    };
    Ok(LineResult { custom_id, ending })
}

fn without_response(error: Option<&RawValue>) -> Ending {
    let code = error.and_then(|error| serde_json::from_str::<Trouble>(error.get()).ok()).and_then(|error| error.code);
    match code.as_deref() {
        Some("batch_expired") => Ending::Expired,
        Some("batch_cancelled") => Ending::Cancelled,
        // The line was not sent, or not answered; it counts as a server error with the provider's message.
        _ => {
            let error = error.map_or("null", RawValue::get);
            Ending::Answered { status: 500, request_id: None, body: format!("{{\"error\":{error}}}").into() }
        }
    }
}

#[cfg(test)]
mod tests;
