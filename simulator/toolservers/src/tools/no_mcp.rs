//! The routes of MCP in a build without MCP.

use std::sync::Arc;

use axum::body::Body;
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};

use super::refused::Refused;
use super::sessions::SessionName;
use super::shared::Shared;

/// `/mcp` and `/sessions/ID/mcp`.
pub(super) async fn serve(_: Arc<Shared>, _: Option<SessionName>, _: Request<Incoming>) -> Response<Body> {
    Refused::new(StatusCode::NOT_IMPLEMENTED, "no_mcp", crate::NO_MCP).response()
}
