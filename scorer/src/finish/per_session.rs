//! Means of cost, tokens, calls and latency per session, for tables of papers that compare costs.

use std::collections::{BTreeMap, HashSet};

use regatta_backends::AttemptRow;
use regatta_benchmarks::{Measured, Spending};
use regatta_proto::{CellIndex, CostSum, Usage};

use super::group::GroupResult;
use crate::failures::{Place, place};

/// Sums over the attempts of a cell that led to sessions with a score.
#[derive(Debug, Default)]
struct Used {
    cost: CostSum,
    calls: u64,
    usage: Usage,
    latency_us: u64,
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
        }
        Self(cells)
    }

    /// Means over the sessions of `group` that have a score; the money with its deviation over trials.
    pub(crate) fn per_session(&self, group: &GroupResult) -> Spending {
        let scored = group.sessions.scored();
        let trials = || group.cells.iter().map(|trial| (self.0.get(&trial.cell.index), trial.sessions.scored()));
        let dollars = trials().map(|(used, scored)| {
            let used = used.filter(|used| scored > 0 && used.cost.unknown_calls == 0)?;
            Some(used.cost.known.dollars() / scored as f64)
        });
        // One trial whose price is unknown makes the mean unknown.
        let all_known = trials().flat_map(|(used, _)| used).all(|used| used.cost.unknown_calls == 0);
        let all_metered = trials().flat_map(|(used, _)| used).all(|used| used.usage.complete().is_some());
        let mean = |of: &dyn Fn(&Used) -> f64| {
            let sum: f64 = trials().filter_map(|(used, _)| used.map(of)).sum();
            if scored == 0 { 0.0 } else { sum / scored as f64 }
        };
        Spending {
            cost_usd: if all_known { Measured::over_trials(dollars) } else { Measured::default() },
            calls: mean(&|used| used.calls as f64),
            tokens: all_metered.then(|| mean(&|used| used.usage.total() as f64)),
            seconds: mean(&|used| used.latency_us as f64 / 1e6),
        }
    }
}
