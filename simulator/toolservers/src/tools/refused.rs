//! Requests that are refused, with a code for programs and a sentence for people.

use axum::body::Body;
use hyper::{Response, StatusCode, header};
use serde_json::{Value, json};

/// An error response.
#[derive(Debug)]
pub(super) struct Refused {
    status: StatusCode,
    /// Error code, for programs.
    code: &'static str,
    /// The problem and its solution, for people.
    message: String,
}

impl Refused {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    /// `{"error": {"code", "message"}}`.
    pub(super) fn json(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message}})
    }

    pub(super) fn response(&self) -> Response<Body> {
        respond(self.status, "application/json", self.json().to_string())
    }
}

pub(super) fn respond(status: StatusCode, content_type: &'static str, text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content_type));
    response
}
