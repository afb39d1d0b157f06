//! Errors and answers as HTTP responses.

use bytes::Bytes;
use hyper::{Response, StatusCode, header};
pub(crate) use regatta_serving::{ApiError, Dialect, json_bytes};

use crate::answer_body::AnswerBody;

/// Header of every answer of a simulated endpoint, so that none can be mistaken for a real provider's.
pub(crate) const SIMULATED_HEADER: &str = "x-regatta-simulated";

/// 500: simulated failure of the server.
pub(crate) fn server_error() -> ApiError {
    ApiError::server_error(StatusCode::INTERNAL_SERVER_ERROR, "simulated server error; try again")
}

/// 503, or 529 at Anthropic: simulated overload.
pub(crate) fn overloaded(dialect: Dialect) -> ApiError {
    ApiError::overloaded(dialect, "simulated overload; try again later")
}

/// The response with `error`.
pub(crate) fn respond_error(error: &ApiError, dialect: Dialect) -> Response<AnswerBody> {
    let mut response = respond(error.status, "application/json", error.body(dialect));
    if let Some(seconds) = error.retry_after_s {
        response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from(seconds));
    }
    response
}

/// A response with the common headers.
pub(crate) fn respond(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::Whole(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content_type));
    headers.insert(SIMULATED_HEADER, header::HeaderValue::from_static("true"));
    response
}
