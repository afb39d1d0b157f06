//! State of a role's writes to its stores, so that nothing more is paid for while they fail.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

/// State of the writes of one role; clones share it.
#[derive(Debug, Clone, Default)]
pub struct StoreHealth(Arc<Mutex<Option<Stalled>>>);

/// Nothing could be written for a while.
#[derive(Debug, Clone)]
pub struct Stalled {
    /// When it failed for the first time since it last succeeded.
    pub since: Instant,
    /// The last failure, in words.
    pub reason: String,
}

impl StoreHealth {
    /// Since when and why nothing can be written; `None` while it can.
    #[must_use]
    pub fn stalled(&self) -> Option<Stalled> {
        self.locked().clone()
    }

    /// A try has failed.
    pub fn fails(&self, reason: &str) {
        let mut state = self.locked();
        let since = state.as_ref().map_or_else(Instant::now, |stalled| stalled.since);
        *state = Some(Stalled { since, reason: reason.to_owned() });
    }

    /// A try has succeeded.
    pub fn succeeds(&self) {
        *self.locked() = None;
    }

    fn locked(&self) -> MutexGuard<'_, Option<Stalled>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_stalled_since_the_first_failure_after_the_last_success() {
        let health = StoreHealth::default();
        assert!(health.stalled().is_none());
        health.fails("full");
        tokio::time::advance(Duration::from_secs(40)).await;
        health.fails("still full");
        let stalled = health.stalled().unwrap();
        assert_eq!((stalled.since.elapsed(), stalled.reason.as_str()), (Duration::from_secs(40), "still full"));
        health.succeeds();
        assert!(health.clone().stalled().is_none());
    }
}
