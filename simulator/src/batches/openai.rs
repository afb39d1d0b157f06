//! OpenAI's batches.
//!
//! | request | answer |
//! |---|---|
//! | `POST /v1/files`, `GET /v1/files/{id}`, `GET /v1/files/{id}/content` | see [`super::files`] |
//! | `GET /v1/files?limit&after&purpose` | as the list of batches |
//! | `POST /v1/batches` with `input_file_id`, `endpoint`, `completion_window` (`24h`), `metadata` | the batch |
//! | `GET /v1/batches/{id}`, `POST /v1/batches/{id}/cancel` | the batch |
//! | `GET /v1/batches?limit&after` | `object` (`list`), `data`, `first_id`, `last_id`, `has_more`; newest first |
//!
//! A line of the input file has `custom_id`, `method` (`POST`), `url` (the batch's `endpoint`) and `body`. A batch has `id`, `object`,
//! `endpoint`, `errors` (`data` of `code`, `line`, `message`, `param`), `input_file_id`, `completion_window`, `status` (`in_progress`,
//! `completed`, `expired`, `cancelling`, `cancelled`, or `failed` when the file was not one of requests), `output_file_id`,
//! `error_file_id`, a time for each status, `request_counts` (`total`, `completed`, `failed`) and `metadata`. A line of either file of
//! results has `id`, `custom_id`, `response` (`status_code`, `request_id`, `body`) and `error` (`code`: `batch_expired` or
//! `batch_cancelled`, `message`) ("Batch" in OpenAI's API reference).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use hyper::http::request::Parts;
use hyper::{Method, Response};
use jiff::{SignedDuration, Timestamp};
use regatta_serving::Format as ChatFormat;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::lines::{Line, LineEnd, Work};
use super::store::{Batch, End, File, Mistake, Origin, Results};
use super::{answer, json_lines, no_such, no_such_route, query, segments};
use crate::answer_body::AnswerBody;
use crate::api_error::{ApiError, Dialect, json_bytes};
use crate::endpoint::Endpoint;
use crate::formats::Format;

/// The only completion window that the API accepts.
const WINDOW: &str = "24h";
const WINDOW_LENGTH: SignedDuration = SignedDuration::from_hours(24);
/// Most requests of a batch.
const MAX_LINES: usize = 50_000;
/// Most batches on a page.
const MAX_PAGE: usize = 100;
/// Most files on a page.
const MAX_FILES_PAGE: usize = 10_000;
/// Most errors reported about a file.
const MAX_MISTAKES: usize = 50;
/// Limits of a batch's metadata: number of pairs, and characters of keys and of values.
const MAX_METADATA: [usize; 3] = [16, 64, 512];

#[derive(Deserialize)]
struct Creation {
    input_file_id: String,
    endpoint: String,
    completion_window: String,
    metadata: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct InputLine<'a> {
    custom_id: String,
    method: String,
    url: String,
    #[serde(borrow)]
    body: &'a RawValue,
}

#[derive(Serialize)]
struct OutputLine<'a> {
    id: String,
    custom_id: &'a str,
    response: Option<LineResponse<'a>>,
    error: Option<LineError>,
}

#[derive(Serialize)]
struct LineResponse<'a> {
    status_code: u16,
    request_id: &'a str,
    body: &'a RawValue,
}

#[derive(Serialize)]
struct LineError {
    code: &'static str,
    message: &'static str,
}

impl Endpoint {
    pub(super) fn serve_openai_batches(
        self: &Arc<Self>,
        head: &Parts,
        body: &Bytes,
    ) -> Result<Response<AnswerBody>, ApiError> {
        let store = &self.batches.store;
        let file = |id: &str| store.file(id).ok_or_else(|| no_such("file", id));
        let dialect = Dialect::Openai;
        match (&head.method, segments(head.uri.path()).as_slice()) {
            (&Method::POST, ["files"]) => Ok(answer(&self.upload(head, body)?)),
            (&Method::GET, ["files"]) => {
                let limit = query::limit(&head.uri, MAX_FILES_PAGE)?;
                let (after, purpose) = (query::value(&head.uri, "after"), query::value(&head.uri, "purpose"));
                let files =
                    store.files().into_iter().filter(|file| purpose.is_none_or(|purpose| file.purpose == purpose));
                let (page, has_more) = query::page(files.collect(), limit, after, |file| &file.id);
                let data: Vec<Value> = page.iter().map(File::wire).collect();
                let (first_id, last_id) = (page.first().map(|file| &file.id), page.last().map(|file| &file.id));
                Ok(answer(&json!({
                    "object": "list", "data": data, "first_id": first_id, "last_id": last_id, "has_more": has_more
                })))
            }
            (&Method::GET, ["files", id]) => Ok(answer(&file(id)?.wire())),
            (&Method::GET, ["files", id, "content"]) => Ok(json_lines(file(id)?.content)),
            (&Method::POST, ["batches"]) => Ok(answer(&self.create_openai_batch(body)?)),
            (&Method::GET, ["batches"]) => {
                let limit = query::limit(&head.uri, MAX_PAGE)?;
                let after = query::value(&head.uri, "after");
                let (page, has_more) = query::page(store.batches(dialect), limit, after, |batch| &batch.id);
                let data: Vec<Value> = page.iter().map(wire).collect();
                let id = |batch: Option<&Batch>| batch.map(|batch| batch.id.clone());
                let (first_id, last_id) = (id(page.first()), id(page.last()));
                Ok(answer(&json!({
                    "object": "list", "data": data, "first_id": first_id, "last_id": last_id, "has_more": has_more
                })))
            }
            (&Method::GET, ["batches", id]) => {
                Ok(answer(&wire(&store.batch(dialect, id).ok_or_else(|| no_such("batch", id))?)))
            }
            (&Method::POST, ["batches", id, "cancel"]) => {
                let batch = store.cancel(dialect, id, self.clock.now()).ok_or_else(|| no_such("batch", id))?;
                if batch.end.is_some() {
                    return Err(ApiError::conflict(format!(
                        "the batch {id} has ended; only one that runs can be cancelled"
                    )));
                }
                Ok(answer(&wire(&batch)))
            }
            _ => Err(no_such_route(head)),
        }
    }

    fn create_openai_batch(self: &Arc<Self>, body: &[u8]) -> Result<Value, ApiError> {
        let Creation { input_file_id, endpoint, completion_window, metadata } = serde_json::from_slice(body)
            .map_err(|error| ApiError::bad_request(None, format!("failed to read the batch: {error}")))?;
        if completion_window != WINDOW {
            return Err(ApiError::bad_request(Some("completion_window"), "`completion_window` is `24h`"));
        }
        let formats = [Format::Chat(ChatFormat::Chat), Format::Chat(ChatFormat::Responses), Format::Embeddings];
        let Some(format) = formats.into_iter().find(|format| format.route() == endpoint) else {
            let message = "`endpoint` is /v1/chat/completions, /v1/responses or /v1/embeddings";
            return Err(ApiError::bad_request(Some("endpoint"), message));
        };
        if !metadata.as_ref().is_none_or(is_within_bounds) {
            let [pairs, key, value] = MAX_METADATA;
            let message = format!("`metadata` has at most {pairs} pairs of {key} and {value} characters");
            return Err(ApiError::bad_request(Some("metadata"), message));
        }
        let Some(file) = self.batches.store.file(&input_file_id) else {
            let message = format!("there is no file {input_file_id:?}; upload it first");
            return Err(ApiError::bad_request(Some("input_file_id"), message));
        };
        let origin = Origin::Openai { input_file: input_file_id, format, metadata };
        let batch = match read(&file.content, format) {
            Ok(lines) => self.start_batch("batch_", origin, Work { format, lines })?,
            Err(mistakes) => self.reject_batch("batch_", origin, mistakes)?,
        };
        Ok(wire(&batch))
    }

    /// Stores the result files of the batch `id`.
    pub(super) fn keep_openai_results(&self, id: &str, ends: &[(String, LineEnd)], at: Timestamp) -> Results {
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        for (position, (custom_id, end)) in ends.iter().enumerate() {
            let out = if matches!(end, LineEnd::Answered { .. }) { &mut output } else { &mut errors };
            out.extend_from_slice(&json_bytes(&OutputLine::new(id, position, custom_id, end)));
            out.push(b'\n');
        }
        let keep = |name: &str, content: Vec<u8>| {
            let file = File {
                id: self.batches.store.new_id("file-"),
                name: format!("{id}_{name}.jsonl"),
                purpose: "batch_output",
                created: at,
                content: content.into(),
            };
            (!file.content.is_empty()).then(|| {
                let id = file.id.clone();
                self.batches.store.keep(file);
                id
            })
        };
        Results::Files { output: keep("output", output), errors: keep("error", errors) }
    }
}

impl<'a> OutputLine<'a> {
    fn new(batch: &str, position: usize, custom_id: &'a str, end: &'a LineEnd) -> Self {
        let response = |status_code, request_id, body| Some(LineResponse { status_code, request_id, body });
        let (response, error) = match end {
            LineEnd::Answered { id, body } => (response(200, id, body), None),
            LineEnd::Failed { id, status, body } => (response(*status, id, body), None),
            LineEnd::Expired => {
                let message = "the request was not reached before the batch expired";
                (None, Some(LineError { code: "batch_expired", message }))
            }
            LineEnd::Cancelled => {
                let message = "the request was not reached before the batch was cancelled";
                (None, Some(LineError { code: "batch_cancelled", message }))
            }
        };
        let batch = batch.strip_prefix("batch_").unwrap_or(batch);
        Self { id: format!("batch_req_{batch}_{position}"), custom_id, response, error }
    }
}

fn is_within_bounds(metadata: &BTreeMap<String, String>) -> bool {
    let [pairs, key_length, value_length] = MAX_METADATA;
    let fits = |text: &String, length: usize| text.chars().count() <= length;
    metadata.len() <= pairs && metadata.iter().all(|(key, value)| fits(key, key_length) && fits(value, value_length))
}

/// Reads the requests of a file.
fn read(content: &Bytes, format: Format) -> Result<Vec<Line>, Vec<Mistake>> {
    let (mut lines, mut mistakes, mut names) = (Vec::new(), Vec::new(), HashSet::new());
    let numbered = content.split(|byte| *byte == b'\n').enumerate();
    for (index, line) in numbered.filter(|(_, line)| !line.trim_ascii().is_empty()) {
        match read_line(content, line, format, &mut names) {
            Ok(line) => lines.push(line),
            Err(mistake) if mistakes.len() < MAX_MISTAKES => {
                mistakes.push(Mistake { line: Some(index + 1), ..mistake })
            }
            Err(_) => {}
        }
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    match lines.len() {
        0 => Err(vec![mistake("empty_file", None, "the file holds no request".into())]),
        1..=MAX_LINES => Ok(lines),
        lines => {
            let message = format!("the file holds {lines} requests; at most {MAX_LINES} are taken");
            Err(vec![mistake("too_many_requests", None, message)])
        }
    }
}

/// Reads one request of the file `content`; `names` are those of the requests before it.
fn read_line(content: &Bytes, line: &[u8], format: Format, names: &mut HashSet<String>) -> Result<Line, Mistake> {
    let InputLine { custom_id, method, url, body } = serde_json::from_slice(line)
        .map_err(|error| mistake("invalid_json_line", None, format!("failed to read the request: {error}")))?;
    if method != "POST" {
        return Err(mistake("invalid_method", Some("method"), "`method` is POST".into()));
    }
    if url != format.route() {
        let message = format!("`url` is {url:?}, but the batch's `endpoint` is {}", format.route());
        return Err(mistake("mismatched_endpoint", Some("url"), message));
    }
    if !names.insert(custom_id.clone()) {
        let message = format!("`custom_id` {custom_id:?} was there before");
        return Err(mistake("duplicate_custom_id", Some("custom_id"), message));
    }
    Ok(Line { custom_id, body: content.slice_ref(body.get().as_bytes()) })
}

const fn mistake(code: &'static str, param: Option<&'static str>, message: String) -> Mistake {
    Mistake { code, message, line: None, param }
}

/// The JSON of a batch.
fn wire(batch: &Batch) -> Value {
    let seconds = |at: Option<Timestamp>| at.map(Timestamp::as_second);
    let (input_file, format, metadata) = match &batch.origin {
        Origin::Openai { input_file, format, metadata } => (input_file.as_str(), *format, metadata.as_ref()),
        Origin::Anthropic => ("", Format::Chat(ChatFormat::Messages), None),
    };
    let status = status(batch);
    let ended_as = |name: &str| seconds(batch.end.as_ref().filter(|_| status == name).map(|end| end.at));
    let counts = batch.end.as_ref().map(|end| end.counts).unwrap_or_default();
    let (mut output, mut errors, mut mistakes) = (None, None, None);
    match batch.end.as_ref().map(|end| &end.results) {
        Some(Results::Files { output: answers, errors: failures }) => {
            (output, errors) = (answers.as_ref(), failures.as_ref())
        }
        Some(Results::Rejected(found)) => mistakes = Some(found),
        Some(Results::Lines(_)) | None => {}
    }
    let mistakes = mistakes.map(|found| {
        let data: Vec<Value> = found
            .iter()
            .map(|Mistake { code, message, line, param }| json!({"code": code, "line": line, "message": message, "param": param}))
            .collect();
        json!({"object": "list", "data": data})
    });
    json!({
        "id": batch.id,
        "object": "batch",
        "endpoint": format.route(),
        "errors": mistakes,
        "input_file_id": input_file,
        "completion_window": WINDOW,
        "status": status,
        "output_file_id": output,
        "error_file_id": errors,
        "created_at": batch.created.as_second(),
        "in_progress_at": seconds((status != "failed").then_some(batch.created)),
        "expires_at": seconds(batch.created.checked_add(WINDOW_LENGTH).ok()),
        "finalizing_at": ended_as("completed"),
        "completed_at": ended_as("completed"),
        "failed_at": ended_as("failed"),
        "expired_at": ended_as("expired"),
        "cancelling_at": seconds(batch.cancelling),
        "cancelled_at": ended_as("cancelled"),
        "request_counts": {
            "total": batch.total,
            "completed": counts.answered,
            "failed": counts.failed + counts.expired + counts.cancelled,
        },
        "metadata": metadata,
    })
}

fn status(batch: &Batch) -> &'static str {
    match &batch.end {
        None if batch.cancelling.is_some() => "cancelling",
        None => "in_progress",
        Some(End { results: Results::Rejected(_), .. }) => "failed",
        Some(End { counts, .. }) if counts.cancelled > 0 => "cancelled",
        Some(End { counts, .. }) if counts.expired > 0 => "expired",
        Some(_) => "completed",
    }
}
