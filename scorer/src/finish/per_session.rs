//! Means of cost, tokens, calls and latency per session, for tables of papers that compare costs.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use regatta_backends::AttemptRow;
use regatta_benchmarks::{Measured, Spending};
use regatta_proto::{CellIndex, CostSum, ItemIndex, Usage};

use super::group::GroupResult;
use crate::failures::{Place, place};

/// Sums over the attempts of a cell that led to sessions with a score.
#[derive(Debug, Default)]
struct Used {
    cost: CostSum,
    calls: u64,
    usage: Usage,
    latency_us: u64,
    /// Sessions with an answered call.
    answered: BTreeSet<ItemIndex>,
    may_be_cached: bool,
}

/// Sums over the sessions with a score, by cell.
#[derive(Debug, Default)]
pub(crate) struct Usages(BTreeMap<CellIndex, Used>);

impl Usages {
    /// Sums over all attempts of a sweep whose `scored` sessions have a score. Attempts that were repeated, lost, or came to no score are no
    /// part of what a session costs: they are reported apart. An attempt that was handed over belongs to the session that went on.
    pub(crate) fn of(attempts: &[AttemptRow], scored: &HashSet<Place>) -> Self {
        let mut cells: BTreeMap<CellIndex, Used> = BTreeMap::new();
        let counts = |attempt: &&AttemptRow| !attempt.state.is_wasted() && scored.contains(&place(attempt));
        for attempt in attempts.iter().filter(counts) {
            let used = cells.entry(attempt.key.cell).or_default();
            used.cost += attempt.cost;
            used.calls += u64::from(attempt.calls);
            used.usage += attempt.usage;
            used.latency_us += attempt.latency_us;
            used.may_be_cached |= attempt.may_be_cached();
            if attempt.calls > 0 {
                used.answered.insert(attempt.key.item);
            }
        }
        Self(cells)
    }

    /// Means over the sessions of `group` that have a score; the money with its deviation over trials. Time is that of the sessions with an
    /// answered call. Where answers came from the response cache, nothing but the number of calls is known.
    pub(crate) fn per_session(&self, group: &GroupResult) -> Spending {
        let scored = group.sessions.scored();
        let trials = || group.cells.iter().map(|trial| (self.0.get(&trial.cell.index), trial.sessions.scored()));
        let all_used = || trials().filter_map(|(used, _)| used);
        let mean = |of: &dyn Fn(&Used) -> f64, sessions: u64| {
            let sum: f64 = all_used().map(of).sum();
            if sessions == 0 { None } else { Some(sum / sessions as f64) }
        };
        let calls = mean(&|used| used.calls as f64, scored);
        if all_used().any(|used| used.may_be_cached) {
            return Spending { calls, ..Spending::default() };
        }
        let dollars = trials().map(|(used, scored)| {
            let used = used.filter(|used| scored > 0 && used.cost.unknown_calls == 0)?;
            Some(used.cost.known.dollars() / scored as f64)
        });
        // One trial whose price is unknown makes the mean unknown.
        let all_known = all_used().all(|used| used.cost.unknown_calls == 0);
        let all_metered = all_used().all(|used| used.usage.complete().is_some());
        let answered: usize = all_used().map(|used| used.answered.len()).sum();
        Spending {
            cost_usd: if all_known { Measured::over_trials(dollars) } else { Measured::default() },
            calls,
            tokens: mean(&|used| used.usage.total() as f64, scored).filter(|_| all_metered),
            seconds: mean(&|used| used.latency_us as f64 / 1e6, answered as u64),
        }
    }
}
