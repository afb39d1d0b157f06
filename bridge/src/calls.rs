//! Model calls.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use regatta_memory::HeldBytes;
use regatta_proto::{Digest, MemberName};
use regatta_serving::{ApiError, ChatCall, Expanded, Format, Keeping, Reading};
use serde::de::IgnoredAny;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::answer_body::AnswerBody;
use crate::answers::{error_of, refuse, refuse_call, respond};
use crate::connection::Peer;
use crate::open::{Opened, Outcome};
use crate::single_flight::{CallLeader, IN_FLIGHT_MAX, Join, RequestKey, Waiter};
use crate::telling::Telling;

const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Tells what the request says and the call does not carry.
const LEFT_OUT: &str = "x-regatta-left-out";
const REQUEST_ID: &str = "x-request-id";
/// After so long without an answer the client is told, and as often again, that it is still waited for; clients give up after a minute of
/// silence and more.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// A request to a model of an open session.
pub(crate) struct Asked<'a> {
    pub(crate) opened: &'a Arc<Opened>,
    pub(crate) member: Option<MemberName>,
    pub(crate) format: Format,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: Bytes,
    /// The request with what it refers to. Whether it was asked before is a question of what was sent.
    pub(crate) expanded: Expanded,
    /// Bytes of the request.
    pub(crate) held: HeldBytes,
    pub(crate) peer: &'a Peer,
    /// Seconds since 1970 that every answer carries.
    pub(crate) created: i64,
    /// Permit of the request within its session, held until it is answered.
    pub(crate) place: OwnedSemaphorePermit,
}

impl Asked<'_> {
    /// Answers it. A call that takes its time (it waits for a permit, or is tried again) is answered with a status that promises success
    /// before it is over, and with what says nothing until then: spaces before a JSON document, comments among events. What goes wrong after
    /// that can only be told in the body, which then is an error of the format's.
    pub(crate) async fn answer(self) -> Response<AnswerBody> {
        let key = self.key();
        let Self { opened, member, format, body, expanded, held, peer, created, place, .. } = self;
        let dialect = format.dialect();
        let Expanded { body: whole, keeping } = expanded;
        let body = whole.unwrap_or(body);
        let (model, mut request, streaming, forms, left_out) = match ChatCall::parse(format, &body, Reading::Whole) {
            Ok(ChatCall { model, request, streaming, forms, left_out, .. }) => {
                (model.into_owned(), request, streaming, forms, left_out)
            }
            Err(error) => {
                if serde_json::from_slice::<IgnoredAny>(&body).is_ok() {
                    opened.session.unreadable(&error.message);
                }
                return refuse(&error, dialect);
            }
        };
        // It may be long, and the wait as well. No read waits for others: what is kept of it meanwhile is counted beside them.
        drop(body);
        let (holder, bytes) = (held.holder(), keeping.as_ref().map_or(0, Keeping::bytes));
        held.keep(bytes);
        let keeping = keeping.map(|keeping| (keeping, holder));
        request.member = member;
        let reads_one_call = request.parallel_tool_calls == Some(false);
        let Waiter { number, outcome } = match opened.shared_calls.join(key, peer.clone()) {
            Join::Wait(waiter) => waiter,
            Join::Lead(leader, waiter) => {
                lead(Arc::clone(opened), leader, request, model.clone());
                waiter
            }
            Join::Full => {
                let message = format!("{IN_FLIGHT_MAX} calls of this session are in flight; wait for one to end");
                return refuse(&ApiError::rate_limited(Some(1), message), dialect);
            }
            Join::Closed => return refuse(&closed(), dialect),
        };
        let telling = Telling {
            opened: Arc::clone(opened),
            peer: peer.clone(),
            number,
            model,
            format,
            streaming,
            forms,
            reads_one_call,
            keeping,
            created,
        };
        let (id, content_type) = (telling.id(), telling.content_type());
        let mut pending = outcome_of(Arc::clone(opened), outcome).boxed();
        let body = match tokio::time::timeout(SILENCE_MAX, &mut pending).await {
            Ok(Err(error)) => return refuse(&error, dialect),
            Ok(Ok(finished)) => match &*finished {
                Ok(answered) => telling.answered(answered),
                Err(refused) => return refuse_call(refused, dialect),
            },
            Err(_) => {
                let meanwhile = telling.meanwhile();
                let end = async move {
                    let body = match pending.await {
                        Ok(finished) => match &*finished {
                            Ok(answered) => telling.answered(answered),
                            Err(refused) => telling.failed(&error_of(refused)),
                        },
                        Err(error) => telling.failed(&error),
                    };
                    drop(place);
                    body
                };
                AnswerBody::after(end.boxed(), meanwhile, SILENCE_MAX)
            }
        };
        let mut response = respond(StatusCode::OK, content_type, body);
        let headers = response.headers_mut();
        headers.extend(HeaderValue::from_str(&id).ok().map(|id| (HeaderName::from_static(REQUEST_ID), id)));
        if !left_out.is_empty()
            && let Ok(names) = HeaderValue::from_str(&left_out.join(", "))
        {
            headers.insert(LEFT_OUT, names);
        }
        response
    }

    fn key(&self) -> RequestKey {
        let key = self.headers.get(IDEMPOTENCY_KEY).and_then(|key| key.to_str().ok());
        let member = self.member.as_ref().map_or("", MemberName::as_str);
        RequestKey {
            request: Digest::of_parts([self.format.route().as_bytes(), member.as_bytes(), &self.body]),
            idempotency_key: key.map(str::to_owned),
        }
    }
}

/// Waits for the outcome of a call. An error when the call's task broke off, or the session is closed meanwhile.
async fn outcome_of(opened: Arc<Opened>, mut outcome: watch::Receiver<Option<Outcome>>) -> Result<Outcome, ApiError> {
    let broke_off = || ApiError::server_error(StatusCode::INTERNAL_SERVER_ERROR, "the call broke off");
    tokio::select! {
        biased;
        finished = outcome.wait_for(Option::is_some) => {
            finished.ok().and_then(|finished| finished.clone()).ok_or_else(broke_off)
        }
        () = opened.closed.cancelled() => Err(closed()),
    }
}

/// Makes the call in a task of its own, so that it ends whether or not anybody waits.
fn lead(opened: Arc<Opened>, leader: CallLeader<Outcome>, request: regatta_proto::ChatRequest, model: String) {
    tokio::spawn(async move {
        let CallLeader { number, outcome: told, running } = leader;
        // A call that panics has failed.
        let mut pending = FinishOnDrop { opened: &opened, number, is_answered: false };
        let outcome = opened.session.call(request, &model).await;
        pending.is_answered = outcome.is_ok();
        drop(pending);
        told.send_replace(Some(Arc::new(outcome)));
        drop(running);
    });
}

/// Tells that a call is over, however it ends.
struct FinishOnDrop<'a> {
    opened: &'a Opened,
    number: u64,
    is_answered: bool,
}

impl Drop for FinishOnDrop<'_> {
    fn drop(&mut self) {
        self.opened.shared_calls.finished(self.number, self.is_answered);
    }
}

/// 410.
pub(crate) fn closed() -> ApiError {
    let message = "this session is over; nothing is answered any more";
    ApiError { status: StatusCode::GONE, code: Some("session_closed"), ..ApiError::bad_request(None, message) }
}

#[cfg(test)]
mod tests;
