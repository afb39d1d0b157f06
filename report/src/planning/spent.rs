//! Spending of a pilot's sessions, as far as it tells of what the next ones will take.
//!
//! The rule is that of what a session costs in a report ([`crate::Spending::per_session`]): sessions that have a score and that neither a
//! filter nor the length of the context ended, without those of which answers came from the response cache. All others took less than the
//! next ones will, or nothing.

use std::collections::{BTreeMap, HashMap};

use regatta_backends::{AttemptRow, SessionRow};
use regatta_catalog::Sweep;
use regatta_proto::{BenchmarkName, CellIndex, CostSum, ModelRef, Setting, Usage};

use crate::durations::is_answered;
use crate::failures::{Place, place};

/// Spending of answered sessions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// Sessions.
    pub sessions: u64,
    /// Their tokens.
    pub usage: Usage,
    /// Their money.
    pub cost: CostSum,
}

/// Attempts at a session, but those that were repeated or lost.
#[derive(Default)]
struct Took {
    usage: Usage,
    cost: CostSum,
    may_be_cached: bool,
}

/// Spending of the answered ones of `sessions`, by benchmark, setting and model of their cells.
pub(super) fn of_sweep(
    sweep: &Sweep,
    sessions: &BTreeMap<CellIndex, Vec<SessionRow>>,
    attempts: &[AttemptRow],
) -> BTreeMap<(BenchmarkName, Setting, ModelRef), Spent> {
    let mut took: HashMap<Place, Took> = HashMap::new();
    for attempt in attempts.iter().filter(|attempt| !attempt.state.is_wasted()) {
        let of = took.entry(place(attempt)).or_default();
        of.usage += attempt.usage;
        of.cost += attempt.cost;
        of.may_be_cached |= attempt.may_be_cached();
    }
    let mut spent: BTreeMap<_, Spent> = BTreeMap::new();
    for cell in sweep.cells() {
        let of = spent.entry((cell.benchmark.clone(), cell.setting.clone(), cell.model.clone())).or_default();
        let answered = sessions.get(&cell.index).into_iter().flatten().filter(|row| is_answered(&row.outcome));
        let took = answered.filter_map(|row| took.get(&(cell.index, row.item)));
        for took in took.filter(|took| !took.may_be_cached) {
            of.sessions += 1;
            of.usage += took.usage;
            of.cost += took.cost;
        }
    }
    spent
}

#[cfg(test)]
mod tests {
    use regatta_backends::AttemptState;
    use regatta_proto::{Cause, Cell, Outcome};

    use super::*;
    use crate::tabulation::tests::harness::{attempt, lock, rows, sweep};

    /// Spending of `x/one` and of `x/two`, whose sessions end as `outcome` says and whose attempts are as `change` makes them.
    fn spent(outcome: &dyn Fn(&Cell, usize) -> Option<Outcome>, change: &dyn Fn(&Cell, &mut AttemptRow)) -> [Spent; 2] {
        let sweep = sweep(lock(&["x/one", "x/two"]));
        let (mut sessions, mut attempts) = (BTreeMap::new(), Vec::new());
        for cell in sweep.cells() {
            let rows = rows(&sweep, cell, outcome);
            for row in &rows {
                let mut attempt = attempt(&sweep, cell, row, AttemptState::Recorded);
                change(cell, &mut attempt);
                attempts.push(attempt);
            }
            sessions.insert(cell.index, rows);
        }
        let found = of_sweep(&sweep, &sessions, &attempts);
        let of = |model: &str| *found.iter().find(|((_, _, of), _)| of.model.as_str() == model).unwrap().1;
        [of("one"), of("two")]
    }

    fn is_second(cell: &Cell) -> bool {
        cell.model.model.as_str() == "two"
    }

    fn nothing(_: &Cell, attempt: &mut AttemptRow) {
        if attempt.outcome != Some(Outcome::Measured) {
            (attempt.calls, attempt.usage, attempt.cost) = (0, Usage::default(), CostSum::default());
        }
    }

    #[test]
    fn sessions_that_were_not_measured_or_that_a_filter_ended_are_none_of_no_cost() {
        let ends = [
            Outcome::NotMeasured { cause: Cause::Timeout },
            Outcome::NotMeasured { cause: Cause::ContentFilter },
            Outcome::ModelFailure { cause: Cause::ContentFilter },
            Outcome::ModelFailure { cause: Cause::ContextLength },
        ];
        for end in ends {
            // Of the four items of both trials, three end so.
            let outcome =
                |cell: &Cell, at: usize| Some(if is_second(cell) && at > 0 { end.clone() } else { Outcome::Measured });
            let [one, two] = spent(&outcome, &nothing);
            assert_eq!((one.sessions, two.sessions), (8, 2), "{end:?}");
            assert_eq!(one.cost.known.0 / one.sessions, two.cost.known.0 / two.sessions, "{end:?}");
            assert_eq!(one.usage.total() / one.sessions, two.usage.total() / two.sessions, "{end:?}");
            let all = |cell: &Cell, _: usize| Some(if is_second(cell) { end.clone() } else { Outcome::Measured });
            assert_eq!(spent(&all, &nothing)[1], Spent::default(), "{end:?}: nothing is known of a session of its");
        }
    }

    #[test]
    fn an_answer_that_is_wrong_is_one() {
        let outcome = |_: &Cell, _: usize| Some(Outcome::ModelFailure { cause: Cause::Internal });
        assert_eq!(spent(&outcome, &|_, _| ())[0].sessions, 8);
    }

    #[test]
    fn answers_of_the_response_cache_took_what_another_run_paid() {
        let cached = |cell: &Cell, attempt: &mut AttemptRow| {
            if is_second(cell) {
                attempt.cached_calls = Some(attempt.calls);
            }
        };
        assert_eq!(spent(&|_, _| Some(Outcome::Measured), &cached)[1], Spent::default());
    }
}
