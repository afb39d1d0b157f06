//! Outages that batches live through, at each look again: a line tells of one, and not a line a look.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use regatta_backends::Outage;

/// An outage that one batch or all batches of a lane meet. Its pauses are those between their looks.
#[derive(Debug)]
pub(super) struct MetOutage(Mutex<Outage>);

impl Default for MetOutage {
    fn default() -> Self {
        Self(Mutex::new(Outage::new(Duration::ZERO, Duration::ZERO)))
    }
}

impl MetOutage {
    /// Notes a failure; true if a line in the log is due, as [`Outage`] says.
    pub(super) fn fails(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fails().is_told
    }

    /// Notes a success.
    pub(super) fn ends(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).ends();
    }
}
