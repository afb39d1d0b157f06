//! Health of a role's writes to its stores, so that no more money is spent while they fail.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

/// Health of the writes of one role; clones share it.
#[derive(Debug, Clone, Default)]
pub struct StoreHealth(Arc<Mutex<Option<Stalled>>>);

/// An ongoing failure of writes.
#[derive(Debug, Clone)]
pub struct Stalled {
    /// Time of the first failure since the last success.
    pub since: Instant,
    /// The last error, in words.
    pub reason: String,
}

impl StoreHealth {
    /// The ongoing failure; `None` if the last write succeeded.
    #[must_use]
    pub fn stalled(&self) -> Option<Stalled> {
        self.locked().clone()
    }

    /// Records a failed write.
    pub fn fails(&self, reason: &str) {
        let mut state = self.locked();
        let since = state.as_ref().map_or_else(Instant::now, |stalled| stalled.since);
        *state = Some(Stalled { since, reason: reason.to_owned() });
    }

    /// Records a successful write.
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
