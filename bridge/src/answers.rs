//! Answers of the bridge, refusals among them.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use regatta_memory::{ByteHolder, HeldBytes};
use regatta_proto::ErrorClass;
use regatta_serving::{ApiError, Dialect, json_bytes};
use tokio::sync::OwnedSemaphorePermit;

use crate::answer_body::AnswerBody;
use crate::session::Refused;

/// The clients of OpenAI and Anthropic obey it, whatever the status.
const SHOULD_RETRY: &str = "x-should-retry";

pub(crate) const JSON: &str = "application/json";

/// An answer of `status`.
pub(crate) fn respond(status: StatusCode, content_type: &str, body: AnswerBody) -> Response<AnswerBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    if let Ok(content_type) = HeaderValue::from_str(content_type) {
        response.headers_mut().insert(CONTENT_TYPE, content_type);
    }
    response
}

/// A JSON document.
pub(crate) fn json(value: &impl serde::Serialize) -> Response<AnswerBody> {
    respond(StatusCode::OK, JSON, AnswerBody::new(json_bytes(value), None))
}

/// A text that counts, and takes its request's place, until it is sent.
struct Counted {
    text: Bytes,
    _held: (ByteHolder, OwnedSemaphorePermit),
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

/// A JSON document of what a session has in memory. Its client can have it as often as it asks, and may read as slowly as it likes.
pub(crate) fn stored(text: Bytes, held: HeldBytes, place: OwnedSemaphorePermit) -> Response<AnswerBody> {
    let holder = held.holder();
    held.keep(text.len() as u64);
    let counted = Counted { text, _held: (holder, place) };
    respond(StatusCode::OK, JSON, AnswerBody::new(Bytes::from_owner(counted), None))
}

/// A refusal in the shape of `dialect`.
pub(crate) fn refuse(error: &ApiError, dialect: Dialect) -> Response<AnswerBody> {
    let mut response = respond(error.status, JSON, AnswerBody::new(error.body(dialect), None));
    if let Some(seconds) = error.retry_after_s {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// A refusal of a call, which is final.
pub(crate) fn refuse_call(refused: &Refused, dialect: Dialect) -> Response<AnswerBody> {
    let mut response = refuse(&error_of(refused), dialect);
    response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    response
}

/// API error that a client gets for a refused call.
pub(crate) fn error_of(refused: &Refused) -> ApiError {
    let (status, kind) = match refused.class {
        ErrorClass::BadRequest | ErrorClass::ContextLength | ErrorClass::ContentFilter => {
            (StatusCode::BAD_REQUEST, "invalid_request_error")
        }
        ErrorClass::Auth => (StatusCode::UNAUTHORIZED, "invalid_request_error"),
        ErrorClass::NotFound => (StatusCode::NOT_FOUND, "invalid_request_error"),
        ErrorClass::RateLimited => (StatusCode::TOO_MANY_REQUESTS, "requests"),
        ErrorClass::Quota => (StatusCode::TOO_MANY_REQUESTS, "insufficient_quota"),
        ErrorClass::Budget => (StatusCode::PAYMENT_REQUIRED, "insufficient_quota"),
        ErrorClass::Timeout => (StatusCode::GATEWAY_TIMEOUT, "server_error"),
        ErrorClass::Connection | ErrorClass::Server | ErrorClass::BadResponse => {
            (StatusCode::BAD_GATEWAY, "server_error")
        }
        ErrorClass::Poison | ErrorClass::CacheMiss => (StatusCode::SERVICE_UNAVAILABLE, "server_error"),
    };
    let code = match refused.class {
        ErrorClass::ContextLength => "context_length_exceeded",
        ErrorClass::RateLimited => "rate_limit_exceeded",
        ErrorClass::Quota => "insufficient_quota",
        ErrorClass::NotFound => "model_not_found",
        ErrorClass::Auth => "invalid_api_key",
        other => other.as_str(),
    };
    let asked = refused.status.and_then(|status| StatusCode::from_u16(status).ok());
    let status = asked.filter(|status| status.is_client_error() || status.is_server_error()).unwrap_or(status);
    ApiError { status, kind, code: Some(code), param: None, message: refused.message.clone(), retry_after_s: None }
}

/// A document that is not JSON.
pub(crate) fn raw(status: StatusCode, content_type: &str, body: Vec<u8>) -> Response<AnswerBody> {
    respond(status, content_type, AnswerBody::new(Bytes::from(body), None))
}
