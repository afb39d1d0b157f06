//! From an answer that could be given to what the client gets: limits, faults, latency, and the books.

use std::sync::PoisonError;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Response, StatusCode};
use regatta_proto::{Digest, Usage};
use tokio::time::Instant;

use crate::answer_body::AnswerBody;
use crate::api_error::{ApiError, respond};
use crate::counters::{AnsweredItem, Tally};
use crate::faults::{Fate, Fault, generation_time};
use crate::routes::Endpoint;

const GARBAGE: &[u8] = b"<html><head><title>upstream connect error</title></head><body>\xff\xfe{\"choices\": [{\"mess";

/// Closes the connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the simulation dropped the connection")]
pub(crate) struct Dropped;

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// JSON.
    pub(crate) body: Bytes,
    pub(crate) usage: Usage,
    pub(crate) item: Option<AnsweredItem>,
}

impl Endpoint {
    /// Delivers what `generate` makes of an answer id, or the fault that `request` drew instead.
    pub(crate) async fn deliver(
        &self,
        model: &str,
        request: &Digest,
        generate: impl FnOnce(&str) -> Answer,
    ) -> Result<Response<AnswerBody>, Dropped> {
        self.tally.requested(model);
        if let Some(wait) = self.over_limit() {
            self.tally.over_limit();
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            let message = format!("too many requests in the last minute; try again in {seconds} s");
            return Ok(ApiError::rate_limited(Some(seconds), message).into_response());
        }
        let occurrence = self.seen.count(*request);
        let Fate { fault, latency } = Fate::draw(&self.simulation, request, occurrence);
        if let Some(fault) = fault {
            self.tally.faulty(fault);
        }
        let error = match fault {
            Some(Fault::RateLimited) => ApiError::rate_limited(None, "simulated rate limit; try again later"),
            Some(Fault::RateLimitedWithRetryAfter) => {
                ApiError::rate_limited(Some(1), "simulated rate limit; try again in 1 s")
            }
            Some(Fault::ServerError) => ApiError::server_error(),
            Some(Fault::ErrorIn200) => ApiError::server_error().with_status_ok(),
            Some(Fault::Garbage) => {
                self.wait(latency, Usage::default()).await;
                return Ok(respond(StatusCode::OK, "text/html", Bytes::from_static(GARBAGE)));
            }
            Some(Fault::Dropped) => {
                self.wait(latency, Usage::default()).await;
                return Err(Dropped);
            }
            Some(Fault::Truncated | Fault::Slow) | None => {
                let id = format!("{}-{occurrence}", &request.to_string()[..24]);
                return Ok(self.answer(model, fault, latency, generate(&id)).await);
            }
        };
        // Being turned away is quick; failing takes as long as answering.
        if error.status != StatusCode::TOO_MANY_REQUESTS {
            self.wait(latency, Usage::default()).await;
        }
        Ok(error.into_response())
    }

    async fn answer(
        &self,
        model: &str,
        fault: Option<Fault>,
        latency: Duration,
        answer: Answer,
    ) -> Response<AnswerBody> {
        let Answer { body, usage, item } = answer;
        let slowness = match fault {
            Some(Fault::Slow) => Duration::from_millis(self.simulation.faults.slow_ms),
            _ => Duration::ZERO,
        };
        self.wait(latency + slowness + generation_time(&self.simulation.latency, usage.output), usage).await;
        if fault == Some(Fault::Truncated) {
            self.tally.lost(usage);
            let mut response = respond(StatusCode::OK, "application/json", Bytes::new());
            *response.body_mut() = AnswerBody::first_half_of(&body);
            return response;
        }
        self.tally.answered(model, usage, item);
        respond(StatusCode::OK, "application/json", body)
    }

    /// Time until the next request would be admitted, if this one is not.
    fn over_limit(&self) -> Option<Duration> {
        let window = self.window.as_ref()?;
        window.lock().unwrap_or_else(PoisonError::into_inner).admit(Instant::now()).err()
    }

    /// Waits, and notices when the client goes away meanwhile: the connection then drops this future.
    async fn wait(&self, duration: Duration, usage: Usage) {
        if duration.is_zero() {
            return;
        }
        let mut patience = Patience { tally: &self.tally, usage, is_over: false };
        tokio::time::sleep(duration).await;
        patience.is_over = true;
    }
}

/// A client that waits for `usage` tokens.
struct Patience<'a> {
    tally: &'a Tally,
    usage: Usage,
    is_over: bool,
}

impl Drop for Patience<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.tally.abandoned(self.usage);
        }
    }
}
