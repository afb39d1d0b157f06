//! `/metrics` and `/healthz` of a process.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus::{Encoder, Registry, TextEncoder};

pub(crate) fn routes(registry: Registry) -> axum::Router {
    health().route("/metrics", get(move || async move { metrics(&registry) }))
}

/// `/healthz` alone.
pub(crate) fn health() -> axum::Router {
    axum::Router::new().route("/healthz", get(|| async { "ok" }))
}

fn metrics(registry: &Registry) -> Response {
    let mut text = Vec::new();
    match TextEncoder::new().encode(&registry.gather(), &mut text) {
        Ok(()) => ([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
