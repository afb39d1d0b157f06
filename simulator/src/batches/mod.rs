//! Batches: many requests are submitted at once and answered later, at a lower price.
//!
//! Both providers' APIs are served, in memory: [`openai`] with its files, and [`anthropic`]. A batch is processed after `batch.delay_ms`.
//! Each of its requests is then answered like a single request, except that a part `batch.failed` of them fails and `batch.expired` of them
//! expire, that limits and other faults do not apply, and that the price is that of the variant `batch`, if the model has one. The metadata
//! of a request identifies its session ([`crate::identity`]). Results are in the reverse order of the requests, because neither provider
//! guarantees an order.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Body;
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use regatta_serving::{NoBody, read_body};
use serde::Serialize;

use crate::answer_body::AnswerBody;
use crate::api_error::{ApiError, Dialect, json_bytes};
use crate::delivery::Dropped;
use crate::endpoint::Endpoint;
use crate::responding::respond;

mod anthropic;
mod files;
pub(crate) mod lines;
mod multipart;
mod openai;
mod query;
pub(crate) mod store;
mod work;

/// Longest upload in bytes: Anthropic's limit, which is above OpenAI's.
const MAX_UPLOAD_BYTES: usize = 256 << 20;

/// The provider whose batch API `path` belongs to; `None` for other paths.
pub(crate) fn dialect_of(path: &str) -> Option<Dialect> {
    match segments(path).as_slice() {
        ["files" | "batches", ..] => Some(Dialect::Openai),
        ["messages", "batches", ..] => Some(Dialect::Anthropic),
        _ => None,
    }
}

/// The segments of a path after the version, which is optional.
fn segments(path: &str) -> Vec<&str> {
    path.strip_prefix("/v1").unwrap_or(path).trim_matches('/').split('/').collect()
}

impl Endpoint {
    /// Answers a request about batches in `dialect`.
    pub(crate) async fn serve_batches<B>(
        self: &Arc<Self>,
        dialect: Dialect,
        head: &Parts,
        body: B,
    ) -> Result<Response<AnswerBody>, Dropped>
    where
        B: Body<Data = Bytes, Error: std::fmt::Display>,
    {
        let body = if head.method == Method::POST {
            match read_body(body, MAX_UPLOAD_BYTES, None).await {
                Ok(body) => body,
                Err(NoBody::Refused(refusal)) => return Ok(self.refuse(refusal, dialect)),
                Err(NoBody::Disconnected(error)) => {
                    tracing::debug!(%error, "a client of the simulated endpoint went away while it sent a batch");
                    return Err(Dropped);
                }
            }
        } else {
            Bytes::new()
        };
        let answer = match dialect {
            Dialect::Openai => self.serve_openai_batches(head, &body),
            Dialect::Anthropic => self.serve_anthropic_batches(head, &body),
        };
        Ok(answer.unwrap_or_else(|refusal| self.refuse(refusal, dialect)))
    }

    fn batch_delay(&self) -> Duration {
        Duration::from_millis(self.simulation.batch.delay_ms)
    }
}

fn answer(value: &impl Serialize) -> Response<AnswerBody> {
    respond(StatusCode::OK, "application/json", json_bytes(value))
}

fn json_lines(lines: Bytes) -> Response<AnswerBody> {
    respond(StatusCode::OK, "application/jsonl", lines)
}

fn no_such_route(head: &Parts) -> ApiError {
    ApiError::unknown_route(format!("there is no {} {} about batches", head.method, head.uri.path()))
}

fn no_such(what: &str, id: &str) -> ApiError {
    let shown: String = id.chars().take(80).collect();
    ApiError::unknown_id(format!("there is no {what} {shown:?}; this endpoint forgets everything when it stops"))
}
