//! Attempts that are running, so that the money of one that dies is still known.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use regatta_proto::{Attempt, AttemptId, CostSum, IdError, Money, OpenAttempt, Progress, SessionKey, Usage, WorkerId};
use tokio::time::Instant;

/// The attempts of this process.
pub(crate) struct Attempts {
    worker: WorkerId,
    numbered: AtomicU64,
    open: Mutex<BTreeMap<AttemptId, Entry>>,
}

struct Entry {
    attempt: OpenAttempt,
    /// When the present state was reported.
    reported: Option<Instant>,
}

/// A running attempt is told of at least this often: who hears of it no more takes it for dead, and its session may be dispatched again.
const TOLD_EVERY: Duration = Duration::from_secs(10);

impl Attempts {
    pub(crate) fn of(worker: WorkerId) -> Self {
        Self { worker, numbered: AtomicU64::new(0), open: Mutex::default() }
    }

    /// Whose attempts these are.
    pub(crate) const fn worker(&self) -> &WorkerId {
        &self.worker
    }

    /// An id that no other attempt has.
    pub(crate) fn next_id(&self) -> Result<AttemptId, IdError> {
        AttemptId::new(format!("{}-{}", self.worker, self.numbered.fetch_add(1, Ordering::Relaxed)))
    }

    /// An attempt at `key` begins. It ends when the guard is turned into an [`Attempt`], or dropped.
    pub(crate) fn open(&self, key: &SessionKey, number: u32, started_at: Timestamp) -> Result<OpenGuard<'_>, IdError> {
        let id = self.next_id()?;
        let attempt = OpenAttempt {
            key: key.clone(),
            id: id.clone(),
            number,
            started_at,
            usage: Usage::default(),
            cost: CostSum::default(),
            in_flight_at_most: Some(Money::ZERO),
        };
        self.locked().insert(id.clone(), Entry { attempt, reported: None });
        Ok(OpenGuard { attempts: self, id, number, started_at })
    }

    /// What has changed since the last report, or was not reported for a while; `None` for nothing. Attempts that come and go between two
    /// reports need none.
    pub(crate) fn progress(&self) -> Option<Progress> {
        let (mut changed, now) = (Vec::new(), Instant::now());
        for entry in self.locked().values_mut() {
            if entry.reported.is_none_or(|reported| now.duration_since(reported) >= TOLD_EVERY) {
                entry.reported = Some(now);
                changed.push(entry.attempt.clone());
            }
        }
        (!changed.is_empty()).then(|| Progress { worker: self.worker.clone(), open: changed })
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, BTreeMap<AttemptId, Entry>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running attempt.
pub(crate) struct OpenGuard<'a> {
    attempts: &'a Attempts,
    id: AttemptId,
    number: u32,
    started_at: Timestamp,
}

impl OpenGuard<'_> {
    pub(crate) const fn number(&self) -> u32 {
        self.number
    }

    /// The attempt has spent this much, and its call in flight will cost at most `in_flight_at_most`.
    pub(crate) fn spent(&self, usage: Usage, cost: CostSum, in_flight_at_most: Option<Money>) {
        if let Some(entry) = self.attempts.locked().get_mut(&self.id) {
            entry.attempt.usage = usage;
            entry.attempt.cost = cost;
            entry.attempt.in_flight_at_most = in_flight_at_most;
            entry.reported = None;
        }
    }

    /// The attempt is over.
    pub(crate) fn close(self, ended_at: Timestamp) -> Attempt {
        Attempt {
            id: self.id.clone(),
            number: self.number,
            worker: self.attempts.worker.clone(),
            started_at: self.started_at,
            ended_at,
        }
    }
}

impl Drop for OpenGuard<'_> {
    fn drop(&mut self) {
        self.attempts.locked().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::{CellIndex, ItemIndex};

    use super::*;

    fn key() -> SessionKey {
        SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(0) }
    }

    fn attempts() -> Attempts {
        Attempts::of("w1".parse().unwrap())
    }

    #[test]
    fn a_running_attempt_is_reported_once_until_its_spending_changes() {
        let attempts = attempts();
        let open = attempts.open(&key(), 1, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(attempts.progress().unwrap().open.len(), 1);
        assert_eq!(attempts.progress(), None);
        open.spent(Usage { output: 5, ..Usage::default() }, CostSum::default(), None);
        assert_eq!(attempts.progress().unwrap().open[0].usage.output, 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_attempt_is_told_of_every_ten_seconds_whether_it_changed_or_not() {
        let attempts = attempts();
        let _open = attempts.open(&key(), 1, Timestamp::UNIX_EPOCH).unwrap();
        attempts.progress();
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(attempts.progress(), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(attempts.progress().unwrap().open.len(), 1);
    }

    #[test]
    fn an_attempt_that_is_over_is_not_reported_any_more() {
        let attempts = attempts();
        let open = attempts.open(&key(), 1, Timestamp::UNIX_EPOCH).unwrap();
        attempts.progress();
        let closed = open.close(Timestamp::UNIX_EPOCH);
        assert_eq!((closed.number, closed.id.as_str()), (1, "w1-0"));
        assert_eq!(attempts.progress(), None);
    }

    #[test]
    fn no_two_attempts_of_a_process_share_an_id() {
        let attempts = attempts();
        assert_ne!(attempts.next_id().unwrap(), attempts.next_id().unwrap());
    }
}
