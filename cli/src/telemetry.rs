//! `/metrics` and `/healthz` of a process.

use std::net::SocketAddr;

use anyhow::Context;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus::{Encoder, Registry, TextEncoder};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Opens `address`; a taken port is a configuration error that says what to do.
pub(crate) async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| {
            format!("failed to listen on {address}; is another process using the port? Choose another with --listen")
        })
        .map_err(crate::exit::bad_configuration)
}

pub(crate) fn routes(registry: Registry) -> axum::Router {
    axum::Router::new()
        .route("/metrics", get(move || async move { metrics(&registry) }))
        .route("/healthz", get(|| async { "ok" }))
}

fn metrics(registry: &Registry) -> Response {
    let mut text = Vec::new();
    match TextEncoder::new().encode(&registry.gather(), &mut text) {
        Ok(()) => ([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Serves `routes` until `stop` fires.
pub(crate) fn serve(
    listener: TcpListener,
    routes: axum::Router,
    stop: CancellationToken,
) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let served = axum::serve(listener, routes).with_graceful_shutdown(async move { stop.cancelled().await }).await;
        if let Err(error) = served {
            tracing::error!(%error, "the HTTP server ended");
        }
    })
}
