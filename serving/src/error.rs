//! Errors in the formats of OpenAI and Anthropic.
//!
//! OpenAI: `{"error": {"message", "type", "param", "code"}}`. Anthropic: `{"type": "error", "error": {"type", "message"}}`, whose inner
//! type follows from the status ("Errors" in Anthropic's API reference).

use std::borrow::Cow;

use bytes::Bytes;
use hyper::StatusCode;
use serde::Serialize;

/// Anthropic's status for an overload.
const OVERLOADED_AT_ANTHROPIC: u16 = 529;

/// The provider whose errors and headers a format uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI's.
    Openai,
    /// Anthropic's.
    Anthropic,
}

/// An error that is sent instead of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// HTTP status, unless the error is sent within a stream whose status was 200 already.
    pub status: StatusCode,
    /// OpenAI's `type`.
    pub kind: &'static str,
    /// OpenAI's `code`.
    pub code: Option<&'static str>,
    /// The field or header at fault.
    pub param: Option<Cow<'static, str>>,
    /// The problem, and the way to solve it.
    pub message: String,
    /// Seconds of `Retry-After`.
    pub retry_after_s: Option<u64>,
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
    #[must_use]
    pub fn bad_request(param: Option<&'static str>, message: impl Into<String>) -> Self {
        Self::invalid(StatusCode::BAD_REQUEST, None, param, message)
    }

    /// 400: the field `param` is at fault.
    #[must_use]
    pub fn of_field(param: String, message: impl Into<String>) -> Self {
        Self { param: Some(Cow::Owned(param)), ..Self::bad_request(None, message) }
    }

    /// 404: the model does not exist.
    #[must_use]
    pub fn unknown_model(message: impl Into<String>) -> Self {
        Self::invalid(StatusCode::NOT_FOUND, Some("model_not_found"), Some("model"), message)
    }

    /// 404: nothing has this id.
    #[must_use]
    pub fn unknown_id(message: impl Into<String>) -> Self {
        Self::invalid(StatusCode::NOT_FOUND, None, None, message)
    }

    /// 409: the resource is not in a state that allows this.
    #[must_use]
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::invalid(StatusCode::CONFLICT, None, None, message)
    }

    /// 404: no route has this path.
    #[must_use]
    pub fn unknown_route(message: impl Into<String>) -> Self {
        Self::invalid(StatusCode::NOT_FOUND, Some("unknown_url"), None, message)
    }

    /// 405: the route takes another method.
    #[must_use]
    pub fn wrong_method(message: impl Into<String>) -> Self {
        Self::invalid(StatusCode::METHOD_NOT_ALLOWED, None, None, message)
    }

    /// 413: the body is too long.
    #[must_use]
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::invalid(StatusCode::PAYLOAD_TOO_LARGE, None, None, message)
    }

    /// 408: the body took too long.
    #[must_use]
    pub fn too_slow(message: impl Into<String>) -> Self {
        Self::invalid(StatusCode::REQUEST_TIMEOUT, None, None, message)
    }

    /// 429: too many requests.
    #[must_use]
    pub fn rate_limited(retry_after_s: Option<u64>, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::TOO_MANY_REQUESTS,
            kind: "requests",
            code: Some("rate_limit_exceeded"),
            param: None,
            message: message.into(),
            retry_after_s,
        }
    }

    /// 5xx: the request is not at fault.
    #[must_use]
    pub fn server_error(status: StatusCode, message: impl Into<String>) -> Self {
        Self { kind: "server_error", ..Self::invalid(status, None, None, message) }
    }

    /// 503, or 529 at Anthropic.
    #[must_use]
    pub fn overloaded(dialect: Dialect, message: impl Into<String>) -> Self {
        let own = match dialect {
            Dialect::Openai => None,
            Dialect::Anthropic => StatusCode::from_u16(OVERLOADED_AT_ANTHROPIC).ok(),
        };
        Self::server_error(own.unwrap_or(StatusCode::SERVICE_UNAVAILABLE), message)
    }

    fn invalid(
        status: StatusCode,
        code: Option<&'static str>,
        param: Option<&'static str>,
        message: impl Into<String>,
    ) -> Self {
        let param = param.map(Cow::Borrowed);
        Self { status, kind: "invalid_request_error", code, param, message: message.into(), retry_after_s: None }
    }

    /// The body of the error response.
    #[must_use]
    pub fn body(&self, dialect: Dialect) -> Bytes {
        match dialect {
            Dialect::Openai => json_bytes(&Envelope {
                error: Fields {
                    message: &self.message,
                    kind: self.kind,
                    param: self.param.as_deref(),
                    code: self.code,
                },
            }),
            Dialect::Anthropic => json_bytes(&AnthropicEnvelope {
                kind: "error",
                error: AnthropicFields { kind: self.anthropic_kind(), message: &self.message },
            }),
        }
    }

    const fn anthropic_kind(&self) -> &'static str {
        match self.status.as_u16() {
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            OVERLOADED_AT_ANTHROPIC => "overloaded_error",
            400..500 => "invalid_request_error",
            504 => "timeout_error",
            // Includes errors within a stream whose status was 200.
            _ => "api_error",
        }
    }
}

/// JSON of a value made of plain fields and text-keyed maps, which always serialises.
#[must_use]
pub fn json_bytes(value: &impl Serialize) -> Bytes {
    let mut out = Vec::with_capacity(1024);
    match serde_json::to_writer(&mut out, value) {
        Ok(()) => out.into(),
        Err(error) => {
            tracing::error!(%error, "failed to serialise an answer");
            Bytes::new()
        }
    }
}
