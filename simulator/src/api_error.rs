//! Refusals, in the shapes of OpenAI's and Anthropic's errors.
//!
//! OpenAI: `{"error": {"message", "type", "param", "code"}}`. Anthropic: `{"type": "error", "error": {"type", "message"}}`, whose inner
//! type follows from the status ("Errors" in Anthropic's API reference).

use bytes::Bytes;
use hyper::{Response, StatusCode, header};
use serde::Serialize;

use crate::answer_body::AnswerBody;

/// Marks every answer of a simulated endpoint, so that no result of one can pass for a real provider's.
pub(crate) const SIMULATED_HEADER: &str = "x-regatta-simulated";

/// Status of an overload at Anthropic.
const OVERLOADED_AT_ANTHROPIC: u16 = 529;

/// Whose manners errors and headers have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Openai,
    Anthropic,
}

/// An answer that is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    /// OpenAI's `type`.
    pub(crate) kind: &'static str,
    /// OpenAI's `code`.
    pub(crate) code: Option<&'static str>,
    /// The field or header at fault.
    pub(crate) param: Option<&'static str>,
    /// What is wrong and what to do.
    pub(crate) message: String,
    /// Seconds of `Retry-After`.
    pub(crate) retry_after_s: Option<u64>,
}

#[derive(Serialize)]
struct Envelope<'a> {
    error: Fields<'a>,
}

#[derive(Serialize)]
struct AnthropicEnvelope<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    error: AnthropicFields<'a>,
}

#[derive(Serialize)]
struct AnthropicFields<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct Fields<'a> {
    message: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    param: Option<&'a str>,
    code: Option<&'a str>,
}

impl ApiError {
    /// 400: the request is at fault.
    pub(crate) fn bad_request(param: Option<&'static str>, message: impl Into<String>) -> Self {
        Self::invalid(StatusCode::BAD_REQUEST, None, param, message)
    }

    /// 404: there is no such model.
    pub(crate) fn unknown_model(message: impl Into<String>) -> Self {
        Self::invalid(StatusCode::NOT_FOUND, Some("model_not_found"), Some("model"), message)
    }

    /// 404: there is nothing of this id.
    pub(crate) fn unknown_id(message: impl Into<String>) -> Self {
        Self::invalid(StatusCode::NOT_FOUND, None, None, message)
    }

    /// 409: not in this state.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::invalid(StatusCode::CONFLICT, None, None, message)
    }

    /// 404: there is no such route.
    pub(crate) fn unknown_route(message: impl Into<String>) -> Self {
        Self::invalid(StatusCode::NOT_FOUND, Some("unknown_url"), None, message)
    }

    /// 405: the route takes another method.
    pub(crate) fn wrong_method(message: impl Into<String>) -> Self {
        Self::invalid(StatusCode::METHOD_NOT_ALLOWED, None, None, message)
    }

    /// 413: the body is too long.
    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::invalid(StatusCode::PAYLOAD_TOO_LARGE, None, None, message)
    }

    /// 429.
    pub(crate) fn rate_limited(retry_after_s: Option<u64>, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::TOO_MANY_REQUESTS,
            kind: "requests",
            code: Some("rate_limit_exceeded"),
            param: None,
            message: message.into(),
            retry_after_s,
        }
    }

    /// 500.
    pub(crate) fn server_error() -> Self {
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            kind: "server_error",
            code: None,
            param: None,
            message: "simulated server error; try again".to_owned(),
            retry_after_s: None,
        }
    }

    /// 503, or 529 at Anthropic.
    pub(crate) fn overloaded(dialect: Dialect) -> Self {
        let own = match dialect {
            Dialect::Openai => None,
            Dialect::Anthropic => StatusCode::from_u16(OVERLOADED_AT_ANTHROPIC).ok(),
        };
        Self {
            status: own.unwrap_or(StatusCode::SERVICE_UNAVAILABLE),
            message: "simulated overload; try again later".to_owned(),
            ..Self::server_error()
        }
    }

    /// The same error object under a status that promises success.
    pub(crate) fn with_status_ok(self) -> Self {
        Self { status: StatusCode::OK, ..self }
    }

    fn invalid(
        status: StatusCode,
        code: Option<&'static str>,
        param: Option<&'static str>,
        message: impl Into<String>,
    ) -> Self {
        Self { status, kind: "invalid_request_error", code, param, message: message.into(), retry_after_s: None }
    }

    /// What is sent in place of an answer.
    pub(crate) fn body(&self, dialect: Dialect) -> Bytes {
        match dialect {
            Dialect::Openai => json_bytes(&Envelope {
                error: Fields { message: &self.message, kind: self.kind, param: self.param, code: self.code },
            }),
            Dialect::Anthropic => json_bytes(&AnthropicEnvelope {
                kind: "error",
                error: AnthropicFields { kind: self.anthropic_kind(), message: &self.message },
            }),
        }
    }

    const fn anthropic_kind(&self) -> &'static str {
        match self.status.as_u16() {
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            OVERLOADED_AT_ANTHROPIC => "overloaded_error",
            400..500 => "invalid_request_error",
            // Also errors under a status that promises success.
            _ => "api_error",
        }
    }

    /// The answer on the wire.
    pub(crate) fn into_response(self, dialect: Dialect) -> Response<AnswerBody> {
        let mut response = respond(self.status, "application/json", self.body(dialect));
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from(seconds));
        }
        response
    }
}

/// JSON of a value made of plain fields and text-keyed maps, which always serialises.
pub(crate) fn json_bytes(value: &impl Serialize) -> Bytes {
    let mut out = Vec::with_capacity(1024);
    match serde_json::to_writer(&mut out, value) {
        Ok(()) => out.into(),
        Err(error) => {
            tracing::error!(%error, "failed to serialise an answer of the simulated endpoint");
            Bytes::new()
        }
    }
}

/// An answer with the headers that all of them share.
pub(crate) fn respond(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::Whole(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content_type));
    headers.insert(SIMULATED_HEADER, header::HeaderValue::from_static("true"));
    response
}
