//! What callers are told: outputs of a call, or why there are none.

use std::sync::Arc;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use regatta_appbench::{Refusal as CallRefusal, Warning as CallWarning};
use serde_json::{Map, Value, json};

/// What a call returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// Each described output, in described order.
    pub(super) outputs: Vec<(Arc<str>, Arc<str>)>,
    /// What was against the description.
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

/// Why a request gets nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    /// For programs.
    pub(super) code: &'static str,
    /// For people: what is wrong and what to do.
    pub(super) message: String,
}

impl Refused {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    /// A call that was refused.
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
