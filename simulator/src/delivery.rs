//! From an answer that could be given to what the client gets: limits, faults, latency, and the books.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Response, StatusCode};
use regatta_proto::Digest;
use tokio::time::Instant;

use crate::account::Account;
use crate::answer_body::AnswerBody;
use crate::api_error::{ApiError, respond};
use crate::draft::Draft;
use crate::faults::{Fate, Fault, generation_time};
use crate::rate_limit_headers::tell_like_openai;
use crate::routes::Endpoint;

const GARBAGE: &[u8] = b"<html><head><title>upstream connect error</title></head><body>\xff\xfe{\"choices\": [{\"mess";

/// Closes the connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the simulation dropped the connection")]
pub(crate) struct Dropped;

impl Endpoint {
    /// Delivers `draft`, or the fault that `request` drew instead.
    pub(crate) async fn deliver(
        self: &Arc<Self>,
        draft: Draft,
        request: &Digest,
    ) -> Result<Response<AnswerBody>, Dropped> {
        let (now, tokens) = (Instant::now(), draft.usage.total());
        self.tally.requested(&draft.model, tokens, now);
        let mut response = match self.limits.admit(now, tokens) {
            Ok(()) => self.play(draft, request).await?,
            Err(excess) => {
                self.tally.over_limit(excess.limit, now);
                excess.into_error().into_response()
            }
        };
        if self.simulation.rate_limit_headers {
            tell_like_openai(response.headers_mut(), &self.limits.standing(Instant::now()));
        }
        Ok(response)
    }

    /// Lets the fate of an admitted request take its course.
    async fn play(self: &Arc<Self>, draft: Draft, request: &Digest) -> Result<Response<AnswerBody>, Dropped> {
        let account = Account::open(Arc::clone(self), draft.model.clone(), draft.item);
        let occurrence = self.seen.count(*request);
        let Fate { fault, latency, .. } = Fate::draw(&self.simulation, request, occurrence);
        let fault = fault.filter(|fault| !fault.needs_stream());
        if let Some(fault) = fault {
            self.tally.faulty(fault);
        }
        let error = match fault {
            Some(Fault::RateLimited) => ApiError::rate_limited(None, "simulated rate limit; try again later"),
            Some(Fault::RateLimitedWithRetryAfter) => {
                ApiError::rate_limited(Some(1), "simulated rate limit; try again in 1 s")
            }
            Some(Fault::Overloaded) => ApiError::overloaded(),
            Some(Fault::ServerError) => ApiError::server_error(),
            Some(Fault::ErrorIn200) => ApiError::server_error().with_status_ok(),
            Some(Fault::Garbage) => {
                wait(latency).await;
                account.failed();
                return Ok(respond(StatusCode::OK, "text/html", Bytes::from_static(GARBAGE)));
            }
            Some(Fault::Dropped) => {
                wait(latency).await;
                account.failed();
                return Err(Dropped);
            }
            Some(Fault::Truncated | Fault::Slow | Fault::SlowLoris | Fault::StreamError | Fault::StreamCut) | None => {
                let id = format!("{}-{occurrence}", &request.to_string()[..24]);
                return Ok(self.answer(account, draft, fault, latency, id).await);
            }
        };
        // Being turned away is quick; failing takes as long as answering.
        if !matches!(fault, Some(Fault::RateLimited | Fault::RateLimitedWithRetryAfter | Fault::Overloaded)) {
            wait(latency).await;
        }
        account.failed();
        Ok(error.into_response())
    }

    async fn answer(
        &self,
        mut account: Account,
        draft: Draft,
        fault: Option<Fault>,
        latency: Duration,
        id: String,
    ) -> Response<AnswerBody> {
        let bill = self.bill(&draft, None);
        account.generated(bill);
        let body = draft.whole(&self.stamp(id, bill));
        wait(latency + self.slowness(fault) + generation_time(&self.simulation.latency, draft.usage.output)).await;
        let mut response = respond(StatusCode::OK, "application/json", Bytes::new());
        *response.body_mut() = match fault {
            Some(Fault::Truncated) => {
                account.lost();
                AnswerBody::first_half_of(&body)
            }
            Some(Fault::SlowLoris) => {
                account.lost();
                AnswerBody::trickle(&body)
            }
            _ => {
                account.delivered();
                AnswerBody::Whole(body)
            }
        };
        response
    }

    fn slowness(&self, fault: Option<Fault>) -> Duration {
        match fault {
            Some(Fault::Slow) => Duration::from_millis(self.simulation.faults.slow_ms),
            _ => Duration::ZERO,
        }
    }
}

/// Waits. When the client goes away meanwhile, the connection drops the request's future, and with it its account.
async fn wait(duration: Duration) {
    if !duration.is_zero() {
        tokio::time::sleep(duration).await;
    }
}
