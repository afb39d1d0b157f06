//! Errors of an endpoint.

use hyper::StatusCode;
pub(crate) use regatta_serving::{ApiError, Dialect, json_bytes};

/// 500: simulated failure of the server.
pub(crate) fn server_error() -> ApiError {
    ApiError::server_error(StatusCode::INTERNAL_SERVER_ERROR, "simulated server error; try again")
}

/// 503, or 529 at Anthropic: simulated overload.
pub(crate) fn overloaded(dialect: Dialect) -> ApiError {
    ApiError::overloaded(dialect, "simulated overload; try again later")
}
