//! Delivers a possible answer to the client, subject to limits, faults and latency, and counts it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Response, StatusCode};
use regatta_proto::Digest;
use regatta_serving::at_once;
use tokio::time::Instant;

use crate::account::Account;
use crate::answer_body::AnswerBody;
use crate::api_error::{ApiError, Dialect, overloaded, server_error};
use crate::draft::Draft;
use crate::endpoint::Endpoint;
use crate::event_stream::{Ending, EventStream};
use crate::faults::{Fate, Fault, generation_time};
use crate::rate_limit_headers::{tell_like_anthropic, tell_like_openai};
use crate::responding::{respond, respond_error};
use crate::trickle::Trickle;

const GARBAGE: &[u8] = b"<html><head><title>upstream connect error</title></head><body>\xff\xfe{\"choices\": [{\"mess";

/// Closes the connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the simulation dropped the connection")]
pub struct Dropped;

impl Endpoint {
    /// Delivers `draft`, or the fault that was drawn for `request`.
    pub(crate) async fn deliver(
        self: &Arc<Self>,
        draft: Draft,
        request: &Digest,
    ) -> Result<Response<AnswerBody>, Dropped> {
        let (now, tokens, dialect) = (Instant::now(), draft.usage.total(), draft.format.dialect());
        self.tally.requested(&draft.model, tokens, now);
        let mut response = match self.limits.admit(now, tokens) {
            Ok(()) => self.play(draft, request).await?,
            Err(excess) => {
                self.tally.over_limit(excess.limit, now);
                respond_error(&excess.into_error(), dialect)
            }
        };
        if self.simulation.rate_limit_headers {
            let standing = self.limits.standing(Instant::now());
            match dialect {
                Dialect::Openai => tell_like_openai(response.headers_mut(), &standing),
                Dialect::Anthropic => tell_like_anthropic(response.headers_mut(), &standing, self.clock.now()),
            }
        }
        Ok(response)
    }

    /// Delivers an admitted request according to its fate.
    async fn play(self: &Arc<Self>, draft: Draft, request: &Digest) -> Result<Response<AnswerBody>, Dropped> {
        let mut account = Account::open(Arc::clone(self), draft.model.clone(), draft.item);
        let occurrence = self.seen.count(*request);
        let Fate { fault, latency, first_token } = Fate::draw(&self.simulation, request, occurrence);
        let (is_streamed, dialect) = (draft.streaming.is_some(), draft.format.dialect());
        let fault = fault.filter(|fault| is_streamed || !fault.needs_stream());
        if let Some(fault) = fault {
            self.tally.faulty(fault);
        }
        let error = match fault {
            Some(Fault::RateLimited) => ApiError::rate_limited(None, "simulated rate limit; try again later"),
            Some(Fault::RateLimitedWithRetryAfter) => {
                ApiError::rate_limited(Some(1), "simulated rate limit; try again in 1 s")
            }
            Some(Fault::Overloaded) => overloaded(dialect),
            Some(Fault::ServerError) => server_error(),
            Some(Fault::ErrorIn200) => ApiError { status: StatusCode::OK, ..server_error() },
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
                let delay = if is_streamed { first_token } else { latency };
                return Ok(self.answer(account, draft, fault, delay, id).await);
            }
        };
        // A refusal is quick; a failure takes as long as an answer.
        if !matches!(fault, Some(Fault::RateLimited | Fault::RateLimitedWithRetryAfter | Fault::Overloaded)) {
            wait(latency).await;
        }
        account.failed();
        Ok(respond_error(&error, dialect))
    }

    /// Answers after `delay`, plus the time of the fault and, for an answer in one piece, of the generation.
    async fn answer(
        &self,
        mut account: Account,
        draft: Draft,
        fault: Option<Fault>,
        delay: Duration,
        id: String,
    ) -> Response<AnswerBody> {
        let bill = self.bill(&draft, None, self.clock.now());
        account.generated(bill);
        let stamp = self.stamp(id, bill);
        if let Some(keeping) = &draft.keeping {
            self.responses.keep(keeping, &draft.whole(&stamp));
        }
        let delay = match fault {
            Some(Fault::Slow) => delay + Duration::from_millis(self.simulation.faults.slow_ms),
            _ => delay,
        };
        let latency = &self.simulation.latency;
        let Some((encoder, reply)) = draft.narrated(&stamp) else {
            let body = draft.whole(&stamp);
            wait(delay + generation_time(latency, draft.usage.output)).await;
            return whole(account, fault, body);
        };
        wait(delay).await;
        let mut response = respond(StatusCode::OK, "text/event-stream", Bytes::new());
        let ending = match fault {
            Some(Fault::StreamError) => Ending::Error,
            Some(Fault::StreamCut) => Ending::Cut,
            Some(Fault::Truncated) => Ending::Broken,
            _ => Ending::Whole,
        };
        if ending != Ending::Whole || fault == Some(Fault::SlowLoris) {
            account.lost();
        }
        *response.body_mut() = match fault {
            Some(Fault::SlowLoris) => AnswerBody::Trickle(Box::new(Trickle::new(&at_once(encoder, reply), account))),
            _ => {
                let pause = generation_time(latency, 1);
                AnswerBody::Stream(Box::new(EventStream::new(encoder, account, reply.clone(), ending, pause)))
            }
        };
        response
    }
}

/// The response with the whole answer.
fn whole(mut account: Account, fault: Option<Fault>, body: Bytes) -> Response<AnswerBody> {
    let mut response = respond(StatusCode::OK, "application/json", Bytes::new());
    *response.body_mut() = match fault {
        Some(Fault::Truncated) => {
            account.lost();
            AnswerBody::first_half_of(&body)
        }
        Some(Fault::SlowLoris) => {
            account.lost();
            AnswerBody::Trickle(Box::new(Trickle::new(&body, account)))
        }
        _ => {
            account.delivered();
            AnswerBody::Whole(body)
        }
    };
    response
}

/// Waits. If the client disconnects meanwhile, the connection drops the request's future, and its account with it.
async fn wait(duration: Duration) {
    if !duration.is_zero() {
        tokio::time::sleep(duration).await;
    }
}
