//! Anthropic's message batches.
//!
//! | request | answer |
//! |---|---|
//! | `POST /v1/messages/batches` with `requests` (each a `custom_id` and the `params` of a message) | the batch |
//! | `GET /v1/messages/batches/{id}`, `POST /v1/messages/batches/{id}/cancel` | the batch |
//! | `GET /v1/messages/batches?limit&after_id&before_id` | `data`, `first_id`, `last_id`, `has_more`; newest first |
//! | `GET /v1/messages/batches/{id}/results` | a line for each request, once the batch has ended |
//!
//! A batch has `id`, `type`, `processing_status` (`in_progress`, `canceling`, `ended`), `request_counts` (`processing`, `succeeded`,
//! `errored`, `canceled`, `expired`; all in `processing` until the end), `created_at`, `expires_at`, `ended_at`, `cancel_initiated_at`,
//! `archived_at` and `results_url`. A line of results has `custom_id` and a `result` of `type` `succeeded` (with `message`), `errored`
//! (with `error`, an error object as of a message), `canceled` or `expired` ("Message Batches" in Anthropic's API reference).

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::HOST;
use hyper::http::request::Parts;
use hyper::{Method, Response};
use jiff::SignedDuration;
use regatta_serving::Format as ChatFormat;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::lines::{Line, LineEnd, Work};
use super::store::{Batch, Origin, Results};
use super::{answer, json_lines, no_such, no_such_route, query, segments};
use crate::answer_body::AnswerBody;
use crate::api_error::{ApiError, Dialect, json_bytes};
use crate::endpoint::Endpoint;
use crate::formats::Format;

const WINDOW: SignedDuration = SignedDuration::from_hours(24);
/// Most requests of a batch.
const MAX_LINES: usize = 100_000;
/// Longest name of a request, in characters.
const MAX_NAME: usize = 64;
/// Most batches on a page.
const MAX_PAGE: usize = 1_000;

#[derive(Deserialize)]
struct Creation<'a> {
    #[serde(borrow)]
    requests: Vec<InputLine<'a>>,
}

#[derive(Deserialize)]
struct InputLine<'a> {
    custom_id: String,
    #[serde(borrow)]
    params: &'a RawValue,
}

#[derive(Serialize)]
struct OutputLine<'a> {
    custom_id: &'a str,
    result: LineResult<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum LineResult<'a> {
    Succeeded { message: &'a RawValue },
    Errored { error: &'a RawValue },
    Canceled,
    Expired,
}

impl Endpoint {
    pub(super) fn serve_anthropic_batches(
        self: &Arc<Self>,
        head: &Parts,
        body: &Bytes,
    ) -> Result<Response<AnswerBody>, ApiError> {
        let store = &self.batches.store;
        let dialect = Dialect::Anthropic;
        let batch = |id: &str| store.batch(dialect, id).ok_or_else(|| no_such("batch", id));
        // The first two are `messages` and `batches`.
        match (&head.method, &segments(head.uri.path())[2..]) {
            (&Method::POST, []) => {
                let lines = read(body)?;
                let batch = self.start_batch(
                    "msgbatch_",
                    Origin::Anthropic,
                    Work { format: Format::Chat(ChatFormat::Messages), lines },
                )?;
                Ok(answer(&wire(&batch, head)))
            }
            (&Method::GET, []) => {
                let limit = query::limit(&head.uri, MAX_PAGE)?;
                let (page, has_more) = match query::value(&head.uri, "before_id") {
                    Some(before) => page_before(store.batches(dialect), limit, before),
                    None => {
                        let after = query::value(&head.uri, "after_id");
                        query::page(store.batches(dialect), limit, after, |batch| &batch.id)
                    }
                };
                let data: Vec<Value> = page.iter().map(|batch| wire(batch, head)).collect();
                let id = |batch: Option<&Batch>| batch.map(|batch| batch.id.clone());
                let (first_id, last_id) = (id(page.first()), id(page.last()));
                Ok(answer(&json!({"data": data, "first_id": first_id, "last_id": last_id, "has_more": has_more})))
            }
            (&Method::GET, [id]) => Ok(answer(&wire(&batch(id)?, head))),
            (&Method::POST, [id, "cancel"]) => {
                let batch = store.cancel(dialect, id, self.clock.now()).ok_or_else(|| no_such("batch", id))?;
                if batch.end.is_some() {
                    return Err(ApiError::conflict(format!(
                        "the batch {id} has ended; only one that runs can be cancelled"
                    )));
                }
                Ok(answer(&wire(&batch, head)))
            }
            (&Method::GET, [id, "results"]) => match batch(id)?.end.map(|end| end.results) {
                Some(Results::Lines(lines)) => Ok(json_lines(lines)),
                _ => Err(ApiError::unknown_id(format!("the batch {id} has no results before it has ended"))),
            },
            _ => Err(no_such_route(head)),
        }
    }
}

/// Writes the result lines of a batch.
pub(super) fn results(ends: &[(String, LineEnd)]) -> Results {
    let mut out = Vec::new();
    for (custom_id, end) in ends {
        let result = match end {
            LineEnd::Answered { body, .. } => LineResult::Succeeded { message: body },
            LineEnd::Failed { body, .. } => LineResult::Errored { error: body },
            LineEnd::Expired => LineResult::Expired,
            LineEnd::Cancelled => LineResult::Canceled,
        };
        out.extend_from_slice(&json_bytes(&OutputLine { custom_id, result }));
        out.push(b'\n');
    }
    Results::Lines(out.into())
}

/// The `limit` entries directly before the one with the id `before`, and `true` if there are earlier ones.
fn page_before(batches: Vec<Batch>, limit: usize, before: &str) -> (Vec<Batch>, bool) {
    let end = batches.iter().position(|batch| batch.id == before).unwrap_or(0);
    let begin = end.saturating_sub(limit);
    (batches.into_iter().take(end).skip(begin).collect(), begin > 0)
}

/// Reads the requests of a batch. Like Anthropic, refuses a batch with invalid names, but reports invalid params in the results.
fn read(body: &Bytes) -> Result<Vec<Line>, ApiError> {
    let Creation { requests } = serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(None, format!("failed to read the batch: {error}")))?;
    let refused = |message: String| Err(ApiError::bad_request(Some("requests"), message));
    if requests.is_empty() || requests.len() > MAX_LINES {
        return refused(format!("`requests` holds {} of them; 1 to {MAX_LINES} are taken", requests.len()));
    }
    let mut names = HashSet::new();
    for InputLine { custom_id, .. } in &requests {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !(1..=MAX_NAME).contains(&custom_id.len()) || !custom_id.chars().all(is_plain) {
            return refused(format!("`custom_id` {custom_id:?} is not 1 to {MAX_NAME} letters, digits, `_` and `-`"));
        }
        if !names.insert(custom_id) {
            return refused(format!("`custom_id` {custom_id:?} is there twice"));
        }
    }
    let line = |InputLine { custom_id, params }: InputLine<'_>| Line {
        custom_id,
        body: body.slice_ref(params.get().as_bytes()),
    };
    Ok(requests.into_iter().map(line).collect())
}

/// The JSON of a batch, for a client that asked with `head`.
fn wire(batch: &Batch, head: &Parts) -> Value {
    let counts = batch.end.as_ref().map(|end| end.counts).unwrap_or_default();
    let status = match (&batch.end, batch.cancelling) {
        (Some(_), _) => "ended",
        (None, Some(_)) => "canceling",
        (None, None) => "in_progress",
    };
    let results_url = batch.end.as_ref().map(|_| {
        let host = head.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
        format!("http://{host}/v1/messages/batches/{}/results", batch.id)
    });
    json!({
        "id": batch.id,
        "type": "message_batch",
        "processing_status": status,
        "request_counts": {
            "processing": if batch.end.is_some() { 0 } else { batch.total },
            "succeeded": counts.answered,
            "errored": counts.failed,
            "canceled": counts.cancelled,
            "expired": counts.expired,
        },
        "ended_at": batch.end.as_ref().map(|end| end.at),
        "created_at": batch.created,
        "expires_at": batch.created.checked_add(WINDOW).ok(),
        "archived_at": null,
        "cancel_initiated_at": batch.cancelling,
        "results_url": results_url,
    })
}
