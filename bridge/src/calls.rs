//! Model calls.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::HeaderValue;
use hyper::{HeaderMap, Response, StatusCode};
use regatta_proto::{Digest, MemberName};
use regatta_serving::{Answer, ApiError, ChatCall, Format, Reading, Stamp, Streaming};
use serde::de::IgnoredAny;

use crate::answer_body::{AnswerBody, Claim};
use crate::answers::{JSON, refuse, refuse_call, respond};
use crate::connection::Peer;
use crate::flights::{Boarding, IN_FLIGHT_MAX, Pilot, Seat, Ticket};
use crate::open::{Opened, Outcome};
use crate::session::Answered;

/// Counts the tries of a client of OpenAI's or Anthropic's.
const RETRY_COUNT: &str = "x-stainless-retry-count";
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Tells what the request says and the call does not carry.
const LEFT_OUT: &str = "x-regatta-left-out";
const REQUEST_ID: &str = "x-request-id";

/// A request to a model of an open session.
pub(crate) struct Asked<'a> {
    pub(crate) opened: &'a Arc<Opened>,
    pub(crate) member: Option<MemberName>,
    pub(crate) format: Format,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
    pub(crate) peer: &'a Peer,
    /// Seconds since 1970 that every answer carries.
    pub(crate) created: i64,
}

impl Asked<'_> {
    /// Answers it.
    pub(crate) async fn answer(self) -> Response<AnswerBody> {
        let dialect = self.format.dialect();
        let ChatCall { model, mut request, streaming, left_out, .. } =
            match ChatCall::parse(self.format, self.body, Reading::Whole) {
                Ok(call) => call,
                Err(error) => {
                    if serde_json::from_slice::<IgnoredAny>(self.body).is_ok() {
                        self.opened.session.unreadable(&error.message);
                    }
                    return refuse(&error, dialect);
                }
            };
        request.member.clone_from(&self.member);
        let seat = match self.opened.flights.board(self.ticket(), self.peer.clone()) {
            Boarding::Joined(seat) => seat,
            Boarding::New(pilot, seat) => {
                fly(Arc::clone(self.opened), pilot, request, model.into_owned());
                seat
            }
            Boarding::Full => {
                let message = format!("{IN_FLIGHT_MAX} calls of this session are in flight; wait for one to end");
                return refuse(&ApiError::rate_limited(Some(1), message), dialect);
            }
            Boarding::Closed => return refuse(&closed(), dialect),
        };
        let Seat { number, mut outcome } = seat;
        let landed = tokio::select! {
            biased;
            landed = outcome.wait_for(Option::is_some) => landed.ok().and_then(|landed| landed.clone()),
            () = self.opened.closed.cancelled() => return refuse(&closed(), dialect),
        };
        match landed.as_deref() {
            Some(Ok(answered)) => self.tell(answered, streaming, number, &left_out),
            Some(Err(refused)) => refuse_call(refused, dialect),
            None => {
                let message = "the call broke off";
                refuse(&ApiError::server_error(StatusCode::INTERNAL_SERVER_ERROR, message), dialect)
            }
        }
    }

    fn ticket(&self) -> Ticket {
        let text = |name: &str| self.headers.get(name).and_then(|value| value.to_str().ok());
        let member = self.member.as_ref().map_or("", MemberName::as_str);
        Ticket {
            request: Digest::of_parts([self.format.route().as_bytes(), member.as_bytes(), self.body]),
            idempotency_key: text(IDEMPOTENCY_KEY).map(str::to_owned),
            is_retry: text(RETRY_COUNT).and_then(|count| count.parse::<u32>().ok()).is_some_and(|count| count > 0),
        }
    }

    fn tell(
        &self,
        answered: &Answered,
        streaming: Option<Streaming>,
        number: u64,
        left_out: &[&str],
    ) -> Response<AnswerBody> {
        let Answered { reply, usage, model } = answered;
        // The number alone, so that a session that goes the same way tells its agent the same.
        let id = format!("regatta-{number}");
        let stamp = Stamp { id: id.clone(), created: self.created, cost: None, fingerprint: None };
        let answer = Answer { model, reply, usage, stamp: &stamp };
        let (content_type, bytes): (&str, Bytes) = match streaming {
            None => (JSON, answer.whole(self.format)),
            Some(streaming) => ("text/event-stream", answer.streamed(self.format, streaming)),
        };
        let claim = Claim { opened: Arc::clone(self.opened), number, peer: self.peer.clone() };
        let mut response = respond(StatusCode::OK, content_type, AnswerBody::new(bytes, Some(claim)));
        let headers = response.headers_mut();
        headers
            .extend(HeaderValue::from_str(&id).ok().map(|id| (hyper::header::HeaderName::from_static(REQUEST_ID), id)));
        if !left_out.is_empty()
            && let Ok(names) = HeaderValue::from_str(&left_out.join(", "))
        {
            headers.insert(LEFT_OUT, names);
        }
        response
    }
}

/// Makes the call in a task of its own, so that it ends whether or not anybody waits.
fn fly(opened: Arc<Opened>, pilot: Pilot<Outcome>, request: regatta_proto::ChatRequest, model: String) {
    tokio::spawn(async move {
        let Pilot { number, outcome: told, running } = pilot;
        // A call that panics has failed.
        let mut landing = Landing { opened: &opened, number, is_answered: false };
        let outcome = opened.session.call(request, &model).await;
        landing.is_answered = outcome.is_ok();
        drop(landing);
        told.send_replace(Some(Arc::new(outcome)));
        drop(running);
    });
}

/// Tells that a call is over, however it ends.
struct Landing<'a> {
    opened: &'a Opened,
    number: u64,
    is_answered: bool,
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        self.opened.flights.landed(self.number, self.is_answered);
    }
}

/// 410.
pub(crate) fn closed() -> ApiError {
    let message = "this session is over; nothing is answered any more";
    ApiError { status: StatusCode::GONE, code: Some("session_closed"), ..ApiError::bad_request(None, message) }
}
