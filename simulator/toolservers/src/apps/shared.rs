//! State that all requests share, and their bound.

#[cfg(feature = "mcp")]
use tokio_util::sync::CancellationToken;

use super::sessions::Sessions;
#[cfg(feature = "mcp")]
use super::tools::Tools;

/// Longest request in bytes: a call has a handful of short arguments.
pub(super) const BODY_BYTES_MAX: usize = 64 << 10;

/// State that all requests share.
pub(super) struct Shared {
    pub(super) sessions: Sessions,
    #[cfg(feature = "mcp")]
    pub(super) tools: Tools,
    #[cfg(feature = "mcp")]
    pub(super) stopping: CancellationToken,
    /// Only this machine can connect.
    #[cfg(feature = "mcp")]
    pub(super) is_local: bool,
}
