//! Retries of the first connection.

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::backoff::Backoff;
use super::link::is_passing;
use crate::queue::QueueError;

/// Waits between the tries of the first connection, until its time-out.
///
/// A broker that is starting or electing a leader refuses requests that it accepts a moment later; a process that gave up would be missing
/// from its deployment.
pub(super) struct Patience<'a> {
    deadline: Instant,
    backoff: Backoff,
    purpose: &'a str,
    closed: &'a CancellationToken,
}

impl<'a> Patience<'a> {
    /// Starts the time-out for `purpose`, which completes the sentence "failed to".
    pub(super) fn new(shared: &'a Shared, purpose: &'a str) -> Self {
        let backoff = Backoff::new(shared.seed, purpose);
        Self { deadline: Instant::now() + shared.connect_timeout, backoff, purpose, closed: &shared.closed }
    }

    /// Returns when the next try is due.
    ///
    /// # Errors
    /// The given error, if another try cannot succeed or would be too late; [`QueueError::Closed`] if the queue was closed meanwhile.
    pub(super) async fn after(&mut self, error: QueueError) -> Result<(), QueueError> {
        let next_try = Instant::now() + self.backoff.next();
        if next_try >= self.deadline || !may_pass(&error) {
            return Err(error);
        }
        tracing::warn!(error = &error as &dyn std::error::Error, "failed to {}; trying again", self.purpose);
        let slept = self.closed.run_until_cancelled(tokio::time::sleep_until(next_try)).await;
        slept.ok_or(QueueError::Closed)
    }
}

/// `true` if another try may succeed.
fn may_pass(error: &QueueError) -> bool {
    match error {
        QueueError::Connect { source, .. } | QueueError::Broker { source, .. } => is_passing(source),
        _ => false,
    }
}
