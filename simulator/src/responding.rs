//! Responses of every route.

use bytes::Bytes;
use hyper::{Response, StatusCode, header};

use crate::answer_body::AnswerBody;
use crate::api_error::{ApiError, Dialect};

/// Header of every answer of a simulated endpoint, so that none can be mistaken for a real provider's.
pub(crate) const SIMULATED_HEADER: &str = "x-regatta-simulated";

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
