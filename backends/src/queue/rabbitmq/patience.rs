//! How long a first contact is tried.

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::backoff::Backoff;
use super::link::is_passing;
use crate::queue::QueueError;

/// Waits between the tries of a first contact, until the time for it is over.
///
/// A broker that is starting or electing refuses what it does a moment later, and who gives up then leaves a deployment without this
/// process.
pub(super) struct Patience<'a> {
    deadline: Instant,
    backoff: Backoff,
    purpose: &'a str,
    closed: &'a CancellationToken,
}

impl<'a> Patience<'a> {
    /// Patience from now on for `purpose`, which completes the sentence "failed to".
    pub(super) fn new(shared: &'a Shared, purpose: &'a str) -> Self {
        let backoff = Backoff::new(shared.seed, purpose);
        Self { deadline: Instant::now() + shared.connect_timeout, backoff, purpose, closed: &shared.closed }
    }

    /// Returns when it is time for the next try.
    ///
    /// # Errors
    /// The given error, when another try would not help or come too late; [`QueueError::Closed`] when the queue was closed meanwhile.
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

/// Whether trying again may help.
fn may_pass(error: &QueueError) -> bool {
    match error {
        QueueError::Connect { source, .. } | QueueError::Broker { source, .. } => is_passing(source),
        _ => false,
    }
}
