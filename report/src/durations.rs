//! Time that sessions took, with all that happened in them.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use regatta_backends::{AttemptRow, AttemptState, CallSums};
use regatta_proto::{Cause, CellIndex, ItemIndex, Outcome};

use crate::failures::{Place, place};
use crate::summary::Percentiles;

/// Durations of a sweep's sessions, in seconds: from the beginning of an attempt to its end, so with failed tries, and waits for retries
/// and limits. Attempts that one worker handed to another count together; those that were repeated or lost do not.
pub(crate) struct Durations<'a> {
    sessions: BTreeMap<Place, Session>,
    calls: &'a [(CellIndex, CallSums)],
}

#[derive(Clone, Copy, Default)]
struct Session {
    seconds: f64,
    in_calls: f64,
    /// Answered calls.
    calls: u64,
    may_be_cached: bool,
    has_score: bool,
    is_answered: bool,
}

impl<'a> Durations<'a> {
    /// Durations of `attempts` at the sessions of a sweep, of which `scored` have a score.
    pub(crate) fn new(attempts: &[AttemptRow], scored: &HashSet<Place>, calls: &'a [(CellIndex, CallSums)]) -> Self {
        let mut sessions: BTreeMap<Place, Session> = BTreeMap::new();
        for attempt in attempts.iter().filter(|attempt| !attempt.state.is_wasted()) {
            let Some((from, to)) = worked(attempt) else { continue };
            let session = sessions.entry(place(attempt)).or_default();
            session.seconds += to.duration_since(from).as_secs_f64().max(0.0);
            session.in_calls += attempt.latency_us as f64 / 1e6;
            session.calls += u64::from(attempt.calls);
            session.may_be_cached |= attempt.may_be_cached();
            session.has_score = scored.contains(&place(attempt));
            session.is_answered |= session.has_score
                && attempt.state == AttemptState::Recorded
                && attempt.outcome.as_ref().is_some_and(is_answered);
        }
        Self { sessions, calls }
    }

    /// Sessions of `cells` that have a score and of which answers came from the response cache, or may have.
    pub(crate) fn cached(&self, cells: &[CellIndex]) -> u64 {
        self.of(cells).filter(|session| session.has_score && session.may_be_cached).count() as u64
    }

    /// Durations of the sessions of `cells` that have a score, without those that ended before any call was answered; `None`
    /// without any, and where answers came from the response cache, which took no time.
    pub(crate) fn of_sessions(&self, cells: &[CellIndex]) -> Option<Percentiles> {
        if self.sums(cells).from_cache > 0 {
            return None;
        }
        self.percentiles(cells, |session| (session.has_score && session.calls > 0).then_some(session.seconds))
    }

    /// Time that sessions of `cells` which were answered spent in model calls, each from sending its last try to the last byte. A session
    /// without an answered call has none. `None` without any, and where answers came from the response cache or by a batch API, which tell nothing of a model's speed.
    pub(crate) fn in_calls(&self, cells: &[CellIndex]) -> Option<Percentiles> {
        let sums = self.sums(cells);
        if sums.from_cache > 0 || sums.batched > 0 {
            return None;
        }
        self.percentiles(cells, |session| (session.is_answered && session.calls > 0).then_some(session.in_calls))
    }

    fn percentiles(&self, cells: &[CellIndex], seconds: impl Fn(&Session) -> Option<f64>) -> Option<Percentiles> {
        let mut found: Vec<f64> = self.of(cells).filter_map(seconds).collect();
        found.sort_by(f64::total_cmp);
        Percentiles::of_sorted(&found)
    }

    /// Durations of the answered calls of `cells`, each from sending its last try; `None` without any.
    pub(crate) fn of_calls(&self, cells: &[CellIndex]) -> Option<Percentiles> {
        Percentiles::of_sketch(&self.sums(cells).latency)
    }

    fn of(&self, cells: &[CellIndex]) -> impl Iterator<Item = &Session> {
        cells.iter().flat_map(|cell| {
            let of_cell = self.sessions.range((*cell, ItemIndex(0))..=(*cell, ItemIndex(u32::MAX)));
            of_cell.map(|(_, session)| session)
        })
    }

    fn sums(&self, cells: &[CellIndex]) -> CallSums {
        let mut sums = CallSums::default();
        self.calls.iter().filter(|(cell, _)| cells.contains(cell)).for_each(|(_, of_cell)| sums.merge(of_cell));
        sums
    }
}

/// `true` for an attempt of whose calls the endpoint answered all that it was asked. One that a filter or the length of the
/// context ended took next to nothing: beside a session that was answered it would make its model cheap and fast.
pub(crate) fn is_answered(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Measured => true,
        Outcome::ModelFailure { cause } => !matches!(cause, Cause::ContentFilter | Cause::ContextLength),
        Outcome::NotMeasured { .. } => false,
    }
}

/// Time in which at least one session was under way, in seconds: a pause before a resume is no part of it. `None` without any.
pub(crate) fn running_seconds(attempts: &[AttemptRow]) -> Option<f64> {
    let mut spans: Vec<(Timestamp, Timestamp)> = attempts.iter().filter_map(worked).collect();
    spans.sort();
    let mut reached = spans.first()?.0;
    let mut seconds = 0.0;
    for (from, to) in spans {
        if to > reached {
            seconds += to.duration_since(from.max(reached)).as_secs_f64();
            reached = to;
        }
    }
    Some(seconds)
}

/// Beginning and end of an attempt that somebody worked on. Of one that was lost nobody knows when its worker died.
fn worked(attempt: &AttemptRow) -> Option<(Timestamp, Timestamp)> {
    match attempt.state {
        AttemptState::Recorded | AttemptState::HandedOver | AttemptState::Waste => {
            Some((attempt.started_at, attempt.ended_at?))
        }
        AttemptState::Open | AttemptState::Lost => None,
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::{Cause, CostSum, Money, SessionKey, Usage};

    use super::*;

    fn attempt(item: u32, state: AttemptState, from: i64, to: i64) -> AttemptRow {
        let at = |second| Timestamp::from_second(1_800_000_000 + second).unwrap();
        AttemptRow {
            key: SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(item) },
            id: format!("a-{item}-{from}").parse().unwrap(),
            number: 1,
            worker: "w".parse().unwrap(),
            state,
            started_at: at(from),
            ended_at: Some(at(to)),
            outcome: (state == AttemptState::Recorded).then_some(Outcome::Measured),
            usage: Usage::default(),
            cost: CostSum::default(),
            maybe_spent: Money::ZERO,
            at_most: None,
            calls: 1,
            cached_calls: Some(0),
            retries: 0,
            latency_us: 1,
            transcript: None,
        }
    }

    /// Sessions of the first cell.
    fn scored(items: &[u32]) -> HashSet<Place> {
        items.iter().map(|item| (CellIndex(0), ItemIndex(*item))).collect()
    }

    #[test]
    fn a_session_lasts_as_long_as_all_attempts_that_led_to_its_score() {
        let attempts = [
            attempt(0, AttemptState::Recorded, 0, 2),
            attempt(1, AttemptState::HandedOver, 0, 3),
            attempt(1, AttemptState::Recorded, 10, 14),
            attempt(2, AttemptState::Waste, 0, 900),
            attempt(2, AttemptState::Recorded, 900, 901),
        ];
        let scored = scored(&[0, 1, 2]);
        let found = Durations::new(&attempts, &scored, &[]).of_sessions(&[CellIndex(0)]).unwrap();
        assert_eq!((found.p50, found.p90, found.p99), (2.0, 7.0, 7.0));
        assert_eq!(Durations::new(&attempts, &scored, &[]).of_sessions(&[CellIndex(1)]), None);
    }

    #[test]
    fn a_session_without_a_score_does_not_make_an_endpoint_look_fast() {
        let cause = Cause::Auth;
        let refused =
            AttemptRow { outcome: Some(Outcome::NotMeasured { cause }), ..attempt(0, AttemptState::Recorded, 0, 0) };
        let found = Durations::new(&[refused, attempt(1, AttemptState::Recorded, 0, 5)], &scored(&[1]), &[]);
        assert_eq!(found.of_sessions(&[CellIndex(0)]).unwrap().p50, 5.0);
    }

    #[test]
    fn a_session_that_was_answered_and_that_no_judge_graded_is_in_no_time() {
        let attempts = [attempt(0, AttemptState::Recorded, 0, 9), attempt(1, AttemptState::Recorded, 0, 5)];
        let found = Durations::new(&attempts, &scored(&[1]), &[]);
        assert_eq!(found.of_sessions(&[CellIndex(0)]).unwrap().p99, 5.0);
        assert_eq!(found.in_calls(&[CellIndex(0)]).unwrap().p99, 1e-6);
        let none = Durations::new(&attempts, &scored(&[]), &[]);
        assert_eq!((none.of_sessions(&[CellIndex(0)]), none.in_calls(&[CellIndex(0)])), (None, None));
    }

    #[test]
    fn a_session_without_an_answered_call_is_in_no_median() {
        let refused = Outcome::ModelFailure { cause: Cause::ContentFilter };
        // Of the other an agent ended before it asked for anything.
        for outcome in [refused, Outcome::Measured] {
            let asked_nothing = AttemptRow {
                outcome: Some(outcome),
                calls: 0,
                latency_us: 0,
                ..attempt(0, AttemptState::Recorded, 0, 0)
            };
            let answered = |item| AttemptRow { latency_us: 5_000_000, ..attempt(item, AttemptState::Recorded, 0, 6) };
            let attempts =
                [asked_nothing.clone(), AttemptRow { key: answered(3).key, ..asked_nothing }, answered(1), answered(2)];
            let (found, cells) = (Durations::new(&attempts, &scored(&[0, 1, 2, 3]), &[]), [CellIndex(0)]);
            let (whole, in_calls) = (found.of_sessions(&cells).unwrap(), found.in_calls(&cells).unwrap());
            assert_eq!((whole.p50, whole.n, in_calls.p50, in_calls.n), (6.0, Some(2), 5.0, Some(2)));
        }
    }

    #[test]
    fn sessions_that_the_cache_answered_or_may_have_answered_are_counted() {
        let of = |item, cached_calls| AttemptRow { cached_calls, ..attempt(item, AttemptState::Recorded, 0, 2) };
        let attempts = [of(0, Some(0)), of(1, Some(1)), of(2, None)];
        assert_eq!(Durations::new(&attempts, &scored(&[0, 1, 2]), &[]).cached(&[CellIndex(0)]), 2);
    }

    #[test]
    fn cached_responses_take_no_time_so_that_nothing_is_said_of_it() {
        let sums = [(CellIndex(0), CallSums { calls: 2, from_cache: 1, ..CallSums::default() })];
        let attempts = [attempt(0, AttemptState::Recorded, 0, 2)];
        assert_eq!(Durations::new(&attempts, &scored(&[0]), &sums).of_sessions(&[CellIndex(0)]), None);
    }

    #[test]
    fn time_in_which_nothing_ran_is_no_running_time() {
        let attempts = [
            attempt(0, AttemptState::Recorded, 0, 5),
            attempt(1, AttemptState::Recorded, 3, 8),
            attempt(2, AttemptState::Waste, 8, 9),
            attempt(2, AttemptState::Lost, 9, 500),
            attempt(2, AttemptState::Recorded, 600, 601),
        ];
        assert_eq!(running_seconds(&attempts), Some(10.0));
        assert_eq!(running_seconds(&[]), None);
    }
}
