//! Means of cost, tokens, calls and latency per session, for tables of papers that compare costs.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use regatta_backends::AttemptRow;
use regatta_benchmarks::{Measured, Spending};
use regatta_proto::{CellIndex, CostSum, ItemIndex, Usage};

use super::group::GroupResult;
use crate::failures::{Place, place};

/// Sums over the attempts of a cell that led to answered sessions.
#[derive(Debug, Default)]
struct Used {
    cost: CostSum,
    calls: u64,
    usage: Usage,
    latency_us: u64,
    sessions: BTreeSet<ItemIndex>,
    may_be_cached: bool,
}

/// Sums over the answered sessions, by cell.
#[derive(Debug, Default)]
pub(crate) struct Usages(BTreeMap<CellIndex, Used>);

impl Usages {
    /// Sums over all attempts of a sweep of whose sessions `answered` have a score and were cut short by nobody. Of these, sessions without
    /// an answered call have neither tokens nor a time: every mean of a row is over the others. Attempts that were repeated, lost, or came to
    /// no score are no part of what a session costs: they are reported apart. An attempt that was handed over belongs to the session that went
    /// on.
    pub(crate) fn of(attempts: &[AttemptRow], answered: &HashSet<Place>) -> Self {
        let counts = |attempt: &&AttemptRow| !attempt.state.is_wasted() && answered.contains(&place(attempt));
        let counting = || attempts.iter().filter(counts);
        let with_calls: HashSet<Place> = counting().filter(|attempt| attempt.calls > 0).map(place).collect();
        let mut cells: BTreeMap<CellIndex, Used> = BTreeMap::new();
        for attempt in counting().filter(|attempt| with_calls.contains(&place(attempt))) {
            let used = cells.entry(attempt.key.cell).or_default();
            used.cost += attempt.cost;
            used.calls += u64::from(attempt.calls);
            used.usage += attempt.usage;
            // A ledger may be of somebody else.
            used.latency_us = used.latency_us.saturating_add(attempt.latency_us);
            used.may_be_cached |= attempt.may_be_cached();
            used.sessions.insert(attempt.key.item);
        }
        Self(cells)
    }

    /// Means over the answered sessions of `group`; the money with its deviation over trials. Where answers came from the response cache,
    /// nothing but the number of calls is known.
    pub(crate) fn per_session(&self, group: &GroupResult) -> Spending {
        let trials = || group.cells.iter().map(|trial| self.0.get(&trial.cell.index));
        let all_used = || trials().flatten();
        let sessions: usize = all_used().map(|used| used.sessions.len()).sum();
        let mean = |of: &dyn Fn(&Used) -> f64| {
            let sum: f64 = all_used().map(of).sum();
            if sessions == 0 { None } else { Some(sum / sessions as f64) }
        };
        let calls = mean(&|used| used.calls as f64);
        if all_used().any(|used| used.may_be_cached) {
            return Spending { calls, ..Spending::default() };
        }
        let dollars = trials().map(|used| Some(used?.cost.known.dollars() / used?.sessions.len() as f64));
        let dollars = Measured { value: mean(&|used| used.cost.known.dollars()), ..Measured::over_trials(dollars) };
        // One trial whose price is unknown makes the mean unknown.
        let all_known = all_used().all(|used| used.cost.unknown_calls == 0);
        let all_metered = all_used().all(|used| used.usage.complete().is_some());
        Spending {
            cost_usd: if all_known { dollars } else { Measured::default() },
            calls,
            tokens: mean(&|used| used.usage.total() as f64).filter(|_| all_metered),
            seconds: mean(&|used| used.latency_us as f64 / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use regatta_backends::AttemptState;
    use regatta_proto::{Cause, Cell, Money, Outcome};

    use super::*;
    use crate::tabulation::Tabulation;
    use crate::tabulation::tests::harness::{attempt, lock, rows, sweep};

    /// Means of a model whose sessions of the first `answered` items of the first trial, and of all of the second one, were answered; the others
    /// ended as `end` says, with attempts that `change` makes.
    fn spending(answered: usize, end: &Outcome, change: &dyn Fn(&mut AttemptRow)) -> Spending {
        let sweep = sweep(lock(&["x/one"]));
        let outcome = |cell: &Cell, at: usize| {
            Some(if cell.trial.0 == 0 && at >= answered { end.clone() } else { Outcome::Measured })
        };
        let (mut tabulation, mut attempts) = (Tabulation::new(&sweep, &[]).unwrap(), Vec::new());
        for cell in sweep.cells() {
            let rows = rows(&sweep, cell, &outcome);
            for row in &rows {
                let mut attempt = attempt(&sweep, cell, row, AttemptState::Recorded);
                if cell.trial.0 == 0 && row.outcome == *end {
                    change(&mut attempt);
                }
                attempts.push(attempt);
            }
            tabulation.add(cell, &rows).unwrap();
        }
        tabulation.usages(&attempts).per_session(&tabulation.into_groups()[0])
    }

    fn refused(attempt: &mut AttemptRow) {
        (attempt.calls, attempt.latency_us, attempt.usage) = (0, 0, Usage::default());
        attempt.cost = CostSum { known: Money::ZERO, unknown_calls: 0 };
    }

    fn have_same_cost(one: &Spending, other: &Spending) -> bool {
        (one.cost_usd.value.unwrap() - other.cost_usd.value.unwrap()).abs() < 1e-12
    }

    #[test]
    fn times_of_others_that_no_sum_holds_do_not_begin_anew() {
        let found = spending(0, &Outcome::Measured, &|attempt| attempt.latency_us = 1 << 62);
        let seconds = found.seconds.unwrap();
        assert!(seconds > u64::MAX as f64 / 1e6 / 100.0, "{seconds}");
    }

    #[test]
    fn what_a_filter_ended_makes_no_row_of_a_table_cheap() {
        for cause in [Cause::ContentFilter, Cause::ContextLength] {
            let found = spending(1, &Outcome::ModelFailure { cause }, &refused);
            let all = spending(4, &Outcome::Measured, &|_| ());
            assert!(have_same_cost(&found, &all), "{cause:?}: {found:?}");
            assert_eq!((found.calls, found.tokens, found.seconds), (all.calls, all.tokens, all.seconds), "{cause:?}");
        }
    }

    #[test]
    fn every_mean_of_a_row_is_over_the_sessions_with_an_answered_call() {
        let found = spending(2, &Outcome::Measured, &|_| ());
        let silent = spending(2, &Outcome::ModelFailure { cause: Cause::Internal }, &refused);
        assert_eq!((silent.calls, silent.tokens, silent.seconds), (found.calls, found.tokens, found.seconds));
        assert!(have_same_cost(&silent, &found), "{silent:?}");
    }

    #[test]
    fn where_nothing_was_answered_nothing_is_known() {
        let sweep = sweep(lock(&["x/one"]));
        let mut tabulation = Tabulation::new(&sweep, &[]).unwrap();
        for cell in sweep.cells() {
            let end = Outcome::ModelFailure { cause: Cause::ContentFilter };
            tabulation.add(cell, &rows(&sweep, cell, &|_, _| Some(end.clone()))).unwrap();
        }
        let found = tabulation.usages(&[]).per_session(&tabulation.into_groups()[0]);
        assert_eq!(found, Spending::default());
    }
}
