//! Answers to callers: outputs of a call, or an error.

use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use regatta_appbench::{Refusal as CallRefusal, Warning as CallWarning};
use serde_json::{Map, Value, json};

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// Each described output, in the order of the description.
    pub(super) outputs: Vec<(Arc<str>, Arc<str>)>,
    /// Deviations of the call from the description.
    pub(super) warnings: Vec<CallWarning>,
}

impl Answer {
    /// `{"outputs": {…}, "warnings": [{"kind", "argument"}]}`.
    pub(super) fn json(&self) -> Value {
        json!({"outputs": outputs_json(&self.outputs), "warnings": warnings_json(&self.warnings)})
    }
}

pub(super) fn outputs_json(outputs: &[(Arc<str>, Arc<str>)]) -> Map<String, Value> {
    outputs.iter().map(|(slot, value)| (slot.to_string(), (**value).into())).collect()
}

pub(super) fn warnings_json(warnings: &[CallWarning]) -> Value {
    warnings.iter().map(|warning| json!({"kind": warning.kind(), "argument": warning.argument()})).collect()
}

/// An error response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    /// Error code, for programs.
    pub(super) code: &'static str,
    /// The problem and its solution, for people.
    pub(super) message: String,
}

impl Refused {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    /// The error for a call that was refused.
    pub(super) fn call(refusal: CallRefusal, app: &str, api: &str) -> Self {
        let status = match refusal {
            CallRefusal::Permission => StatusCode::FORBIDDEN,
            CallRefusal::UnknownApp | CallRefusal::UnknownApi => StatusCode::NOT_FOUND,
            CallRefusal::Exhausted => StatusCode::TOO_MANY_REQUESTS,
            CallRefusal::Unparseable => StatusCode::BAD_REQUEST,
        };
        Self::new(status, refusal.as_str(), format!("{app}.{api} was not called: {refusal}"))
    }

    /// `{"error": {"code", "message"}}`.
    pub(super) fn json(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message}})
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.status, Json(self.json())).into_response()
    }
}
