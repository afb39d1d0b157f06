//! The routes of MCP in a build without MCP.

use axum::http::StatusCode;

use super::answer::Refused;

/// `/mcp/ITEM`.
pub(super) async fn of_item() -> Refused {
    Refused::new(StatusCode::NOT_IMPLEMENTED, "no_mcp", crate::NO_MCP)
}

/// `/mcp/ITEM/SESSION`.
pub(super) async fn of_session() -> Refused {
    of_item().await
}
