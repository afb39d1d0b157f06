//! Attempts that are running, so that the money of one that dies is still known.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use regatta_llm::Meter;
use regatta_proto::{
    Attempt, AttemptId, AttemptTotals, IdError, Money, OpenAttempt, Progress, SessionKey, SweepId, Try, WorkerId,
};
use tokio::time::Instant;

use crate::traced::TracedAttempt;

/// The attempts of this process; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Attempts {
    worker: WorkerId,
    numbered: Arc<AtomicU64>,
    told: Told,
}

/// Attempts that are told of.
#[derive(Debug, Clone, Default)]
struct Told(Arc<Mutex<BTreeMap<AttemptId, Entry>>>);

impl Told {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<AttemptId, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Entry {
    /// The attempt with the calls that are recorded, and none that is under way.
    attempt: OpenAttempt,
    under_way: BTreeMap<u64, UnderWay>,
    /// When it is told of next; `None` for at once, because its present state was not told.
    due: Option<Instant>,
    is_told: bool,
}

/// A call of which a try was sent, and that is not recorded yet.
#[derive(Debug, Default)]
struct UnderWay {
    /// Totals of the tries that have failed.
    failed: AttemptTotals,
    /// Worst-case cost of the one that is on its way or answered; `None` when the price is unknown.
    at_most: Option<Money>,
}

impl Entry {
    /// The attempt with its calls under way.
    fn as_it_stands(&self) -> OpenAttempt {
        let mut attempt = self.attempt.clone();
        for call in self.under_way.values() {
            attempt.totals += call.failed;
            attempt.in_flight_at_most = attempt.in_flight_at_most.zip(call.at_most).map(|(sum, one)| sum + one);
        }
        attempt
    }
}

/// A running attempt is told of at least this often: who hears of it no more takes it for dead, and its session may be dispatched again.
pub(crate) const TOLD_EVERY: Duration = Duration::from_secs(10);

/// Attempts told of in one report, which has to fit into a message.
pub(crate) const OPEN_A_REPORT: usize = 1_000;

/// A session that waits for its place in a batch is told of after this time: later than a place takes to find where nothing is wrong, and
/// before a coordinator that has found its queue empty asks what is under way.
const WAITS_UNTOLD: Duration = Duration::from_secs(2);

/// An attempt that has ended is told of after this time: its end is mostly published before, and tells more.
const ENDS_UNTOLD: Duration = Duration::from_secs(2);

impl Attempts {
    pub(crate) fn of(worker: WorkerId) -> Self {
        Self { worker, numbered: Arc::default(), told: Told::default() }
    }

    /// The worker that makes these attempts.
    pub(crate) const fn worker(&self) -> &WorkerId {
        &self.worker
    }

    /// An id that no other attempt has.
    pub(crate) fn next_id(&self) -> Result<AttemptId, IdError> {
        AttemptId::new(format!("{}-{}", self.worker, self.numbered.fetch_add(1, Ordering::Relaxed)))
    }

    /// An attempt at `key` begins. It ends when the guard is closed or dropped.
    pub(crate) fn open(&self, key: &SessionKey, number: u32, started_at: Timestamp) -> Result<OpenGuard<'_>, IdError> {
        self.open_from(key, number, started_at, None)
    }

    /// The same for a session that waits for its place in a batch, whose line will be another attempt: this one is told of only if the wait
    /// is long.
    pub(crate) fn wait(&self, key: &SessionKey, number: u32, started_at: Timestamp) -> Result<OpenGuard<'_>, IdError> {
        self.open_from(key, number, started_at, Some(Instant::now() + WAITS_UNTOLD))
    }

    fn open_from(
        &self,
        key: &SessionKey,
        number: u32,
        started_at: Timestamp,
        due: Option<Instant>,
    ) -> Result<OpenGuard<'_>, IdError> {
        let id = self.next_id()?;
        let attempt = OpenAttempt {
            key: key.clone(),
            id: id.clone(),
            number,
            started_at,
            totals: AttemptTotals::default(),
            in_flight_at_most: Some(Money::ZERO),
        };
        self.told.locked().insert(id.clone(), Entry { attempt, under_way: BTreeMap::new(), due, is_told: false });
        let here = AttemptHere { told: self.told.clone(), id };
        Ok(OpenGuard { attempts: self, here, number, started_at })
    }

    /// Reports of attempts that changed since the last ones, or were last reported at least [`TOLD_EVERY`] ago. An attempt that begins
    /// and ends between two reports is in none of them.
    pub(crate) fn progress(&self) -> Vec<Progress> {
        let (mut changed, now) = (Vec::new(), Instant::now());
        for entry in self.told.locked().values_mut() {
            if entry.due.is_none_or(|due| now >= due) {
                (entry.due, entry.is_told) = (Some(now + TOLD_EVERY), true);
                changed.push(entry.as_it_stands());
            }
        }
        changed.chunks(OPEN_A_REPORT).map(|open| Progress::of_attempts(self.worker.clone(), open.to_vec())).collect()
    }

    /// The attempts of `sweep` that were told of are told of at once: nobody may know any more that they run.
    pub(crate) fn tell_again(&self, sweep: &SweepId) {
        let mut told = self.told.locked();
        for entry in told.values_mut().filter(|entry| entry.is_told && entry.attempt.key.sweep == *sweep) {
            entry.due = None;
        }
    }
}

/// An attempt that this process tells of until this is dropped: while it runs, and then until its end is published. While that waits for the
/// broker, nobody else knows that the session is not lost.
#[derive(Debug)]
pub(crate) struct AttemptHere {
    told: Told,
    id: AttemptId,
}

impl Drop for AttemptHere {
    fn drop(&mut self) {
        self.told.locked().remove(&self.id);
    }
}

/// A running attempt.
pub(crate) struct OpenGuard<'a> {
    attempts: &'a Attempts,
    here: AttemptHere,
    number: u32,
    started_at: Timestamp,
}

impl OpenGuard<'_> {
    pub(crate) const fn number(&self) -> u32 {
        self.number
    }

    /// A call begins, as one of those under way. What its meter hears counts until the call is recorded, or the meter is dropped.
    pub(crate) fn call<'a>(&'a self, traced: Option<&'a TracedAttempt>) -> CallMeter<'a> {
        let number = self.attempts.numbered.fetch_add(1, Ordering::Relaxed);
        CallMeter { told: &self.attempts.told, id: self.here.id.clone(), number, traced, waits: AtomicU32::new(0) }
    }

    /// The calls that are over have spent this much, those of `recorded` among them.
    pub(crate) fn record(&self, totals: AttemptTotals, recorded: &[Arc<CallMeter<'_>>]) {
        if let Some(entry) = self.here.told.locked().get_mut(&self.here.id) {
            entry.attempt.totals = totals;
            for meter in recorded {
                entry.under_way.remove(&meter.number);
            }
            entry.due = None;
        }
    }

    /// The attempt is over, and has come to `totals`. It is told of with these until the second part is dropped, once its end is published.
    pub(crate) fn close(self, ended_at: Timestamp, totals: AttemptTotals) -> (Attempt, AttemptHere) {
        if let Some(entry) = self.here.told.locked().get_mut(&self.here.id) {
            entry.attempt.totals = totals;
            let next = Instant::now() + ENDS_UNTOLD;
            entry.due = Some(entry.due.map_or(next, |due| due.max(next)));
        }
        (self.until(ended_at), self.here)
    }

    /// The attempt is over. `None` if no report has named it: then nobody has to hear of its end, and no later report names it.
    pub(crate) fn close_if_told(self, ended_at: Timestamp) -> Option<Attempt> {
        let entry = self.here.told.locked().remove(&self.here.id)?;
        entry.is_told.then(|| self.until(ended_at))
    }

    /// The attempt, as if it ended at `ended_at`.
    pub(crate) fn until(&self, ended_at: Timestamp) -> Attempt {
        Attempt {
            id: self.here.id.clone(),
            number: self.number,
            worker: self.attempts.worker.clone(),
            started_at: self.started_at,
            ended_at,
        }
    }
}

/// Tells of a call of a running attempt while it is under way.
#[derive(Debug)]
pub(crate) struct CallMeter<'a> {
    told: &'a Told,
    id: AttemptId,
    /// Unique within the process.
    number: u64,
    traced: Option<&'a TracedAttempt>,
    /// Tries that have waited.
    waits: AtomicU32,
}

impl CallMeter<'_> {
    fn tell(&self, change: impl FnOnce(&mut UnderWay)) {
        if let Some(entry) = self.told.locked().get_mut(&self.id) {
            change(entry.under_way.entry(self.number).or_default());
            entry.due = None;
        }
    }
}

impl Meter for CallMeter<'_> {
    fn waited(&self, since: Timestamp, until: Timestamp) {
        if let Some(traced) = self.traced {
            traced.waited((self.number, self.waits.fetch_add(1, Ordering::Relaxed)), since, until);
        }
    }

    fn sent(&self, at_most: Option<Money>) {
        self.tell(|call| call.at_most = at_most);
    }

    fn failed(&self, failed: &Try) {
        self.tell(|call| {
            call.at_most = Some(Money::ZERO);
            call.failed.add_failed(failed);
        });
    }
}

impl Drop for CallMeter<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.told.locked().get_mut(&self.id) {
            entry.under_way.remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::{CellIndex, ErrorClass, ItemIndex, Usage};

    use super::*;

    fn key() -> SessionKey {
        SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(0) }
    }

    fn totals(output: u64) -> AttemptTotals {
        AttemptTotals { usage: Usage { output, ..Usage::default() }, ..AttemptTotals::default() }
    }

    /// Numbers of attempts in each report.
    fn told(attempts: &Attempts) -> Vec<usize> {
        attempts.progress().iter().map(|report| report.open.len()).collect()
    }

    fn attempts() -> Attempts {
        Attempts::of("w1".parse().unwrap())
    }

    #[test]
    fn a_running_attempt_is_reported_once_until_its_spending_changes() {
        let attempts = attempts();
        let open = attempts.open(&key(), 1, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(told(&attempts), [1]);
        assert!(told(&attempts).is_empty());
        open.record(totals(5), &[]);
        assert_eq!(attempts.progress()[0].open[0].totals, totals(5));
        assert!(told(&attempts).is_empty());
    }

    #[test]
    fn calls_under_way_count_from_when_they_are_sent_until_they_are_recorded() {
        let attempts = attempts();
        let open = attempts.open(&key(), 1, Timestamp::UNIX_EPOCH).unwrap();
        let told = || {
            let open = attempts.progress().remove(0).open.remove(0);
            (open.totals, open.in_flight_at_most)
        };
        let (first, second) = (Arc::new(open.call(None)), Arc::new(open.call(None)));
        assert_eq!(told(), (totals(0), Some(Money::ZERO)));
        first.sent(Some(Money(7)));
        second.sent(Some(Money(20)));
        assert_eq!(told(), (totals(0), Some(Money(27))));
        let failed = Try { at_most: Some(Money(7)), ..Try::not_sent(ErrorClass::Timeout, String::new()) };
        first.failed(&failed);
        let doubtful = AttemptTotals { maybe_spent: Money(7), ..totals(0) };
        assert_eq!(told(), (doubtful, Some(Money(20))));
        first.sent(None);
        assert_eq!(told(), (doubtful, None));
        open.record(AttemptTotals { maybe_spent: Money(7), ..totals(5) }, &[first]);
        assert_eq!(told(), (AttemptTotals { maybe_spent: Money(7), ..totals(5) }, Some(Money(20))));
        drop(second);
        open.record(totals(5), &[]);
        assert_eq!(told(), (totals(5), Some(Money::ZERO)));
    }

    #[test]
    fn attempts_of_a_resumed_sweep_are_told_of_at_once() {
        let attempts = attempts();
        let _open = attempts.open(&key(), 1, Timestamp::UNIX_EPOCH).unwrap();
        attempts.progress();
        attempts.tell_again(&"other".parse().unwrap());
        assert!(told(&attempts).is_empty());
        attempts.tell_again(&key().sweep);
        assert_eq!(told(&attempts), [1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_attempt_is_told_of_every_ten_seconds_whether_it_changed_or_not() {
        let attempts = attempts();
        let _open = attempts.open(&key(), 1, Timestamp::UNIX_EPOCH).unwrap();
        attempts.progress();
        tokio::time::advance(Duration::from_secs(9)).await;
        assert!(told(&attempts).is_empty());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(told(&attempts), [1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_waits_for_its_batch_is_told_of_once_the_wait_is_long() {
        let attempts = attempts();
        let waits = attempts.wait(&key(), 1, Timestamp::UNIX_EPOCH).unwrap();
        assert!(told(&attempts).is_empty());
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(told(&attempts), [1]);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(told(&attempts), [1]);
        assert!(waits.close_if_told(Timestamp::UNIX_EPOCH).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_that_is_closed_before_anybody_was_told_is_in_no_later_report() {
        let attempts = attempts();
        let waits = attempts.wait(&key(), 1, Timestamp::UNIX_EPOCH).unwrap();
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(waits.close_if_told(Timestamp::UNIX_EPOCH), None);
        assert!(told(&attempts).is_empty());
    }

    #[test]
    fn attempts_are_told_of_in_reports_of_a_thousand() {
        let attempts = attempts();
        let open: Vec<_> = (0..1_001).map(|_| attempts.open(&key(), 1, Timestamp::UNIX_EPOCH).unwrap()).collect();
        assert_eq!(told(&attempts), [1_000, 1]);
        drop(open);
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_that_is_over_is_told_of_with_its_last_totals_until_its_end_is_published() {
        let attempts = attempts();
        let open = attempts.open(&key(), 1, Timestamp::UNIX_EPOCH).unwrap();
        open.call(None).sent(None);
        attempts.progress();
        let (closed, here) = open.close(Timestamp::UNIX_EPOCH, totals(5));
        assert_eq!((closed.number, closed.id.as_str()), (1, "w1-0"));
        for _ in 0..20 {
            tokio::time::advance(Duration::from_secs(10)).await;
            let told = attempts.progress().remove(0).open.remove(0);
            assert_eq!((told.totals, told.in_flight_at_most), (totals(5), Some(Money::ZERO)));
        }
        drop(here);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(told(&attempts).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_whose_end_is_published_at_once_is_not_told_of_again() {
        let attempts = attempts();
        let open = attempts.open(&key(), 1, Timestamp::UNIX_EPOCH).unwrap();
        open.record(totals(5), &[]);
        let (_, here) = open.close(Timestamp::UNIX_EPOCH, totals(5));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(told(&attempts).is_empty());
        drop(here);
    }

    #[test]
    fn an_attempt_that_ends_without_a_report_is_not_told_of_any_more() {
        let attempts = attempts();
        let open = attempts.open(&key(), 1, Timestamp::UNIX_EPOCH).unwrap();
        attempts.progress();
        attempts.tell_again(&key().sweep);
        drop(open);
        assert!(told(&attempts).is_empty());
    }

    #[test]
    fn no_two_attempts_of_a_process_share_an_id() {
        let attempts = attempts();
        assert_ne!(attempts.next_id().unwrap(), attempts.next_id().unwrap());
    }
}
