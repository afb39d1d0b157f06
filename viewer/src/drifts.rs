//! Drift over the nights of a deployment's schedules. Whoever serves the pages works it out: that compares runs, which pages do not.

use futures::future::BoxFuture;
use regatta_proto::ScheduleName;

/// Reason for which the drift of a schedule is not shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriftError {
    /// Somebody else's is worked out at this moment: results of two runs are in memory meanwhile.
    #[error("the drift of another request is being computed; try again in a minute")]
    Busy,
    /// The nights could not be compared, for this reason.
    #[error("failed to compare the nights: {0}")]
    Failed(String),
}

/// Compares the nights of schedules for their pages.
pub trait Drifts: Send + Sync {
    /// A page of its own on the last nights of `schedule`, with its style inside and without script; `None` if none has results yet.
    ///
    /// # Errors
    /// When another one is worked out, or a store fails.
    fn page<'a>(&'a self, schedule: &'a ScheduleName) -> BoxFuture<'a, Result<Option<String>, DriftError>>;
}
