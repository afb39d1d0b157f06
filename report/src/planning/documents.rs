//! A pilot from the documents that an ended sweep has left behind, for whoever has neither its ledger nor its data.

use std::collections::BTreeMap;

use regatta_proto::{BenchmarkName, ItemId, Level, ModelRef, Setting, SweepLock};

use super::{Judging, Pilot, PilotPair, ROUNDING, Spent};
use crate::runs::{MetricDefinition, PairedCells, SessionScores};
use crate::summary::{self, Summary};

/// Sessions of a model in a setting.
pub struct PilotCell<'a> {
    /// Benchmark.
    pub benchmark: BenchmarkName,
    /// Setting.
    pub setting: Setting,
    /// Model.
    pub model: ModelRef,
    /// Metrics of the setting, in the order of `measures.json`.
    pub definitions: &'a [MetricDefinition],
    /// Groups of items that are not independent.
    pub groups: &'a BTreeMap<ItemId, String>,
    /// Results of all trials.
    pub sessions: Vec<SessionScores<'a>>,
    /// Spending of the sessions that have a score, that neither a filter nor the length of the context ended, and that have no answer of the
    /// response cache.
    pub spent: Spent,
}

impl Pilot {
    /// Reads the cells of the sweep of `summary`, in the order of its grid, as a pilot.
    #[must_use]
    pub fn of_cells(summary: &Summary, lock: &SweepLock, cells: &[PilotCell<'_>]) -> Self {
        let mut pairs = Vec::new();
        for (at, one) in cells.iter().enumerate() {
            let is_comparable =
                |other: &&PilotCell<'_>| other.benchmark == one.benchmark && other.setting == one.setting;
            pairs.extend(cells.iter().skip(at + 1).filter(is_comparable).filter_map(|other| pair(one, other)));
        }
        let spent =
            cells.iter().map(|cell| ((cell.benchmark.clone(), cell.setting.clone(), cell.model.clone()), cell.spent));
        let spent = spent.collect();
        let Summary { judges, judging, .. } = summary;
        // Runs of early versions have one bill of all judges together.
        let of_all = (judges.is_empty() && *judging != summary::Judging::default()).then_some((
            None,
            judging.usage,
            judging.cost,
        ));
        let bills = judges.iter().map(|of| (Some(&of.judge), of.usage, of.cost)).chain(of_all);
        let judging = Judging::new(bills, lock, &spent);
        Self { sweep: summary.sweep.clone(), pairs, spent, judging }
    }
}

fn pair(one: &PilotCell<'_>, other: &PilotCell<'_>) -> Option<PilotPair> {
    // Leaderboards are ordered by the first metric that they show.
    let definition = one.definitions.iter().find(|of| of.headline)?;
    let paired = PairedCells::new(one.groups, &one.sessions, &other.sessions);
    let (variance, is_binary) = paired.components(definition)?;
    // Neither seed nor level is part of the mean, which is every session's difference where none varies.
    let mean = || paired.difference(definition, 0, Level::USUAL).map(|difference| difference.complete().value);
    let agreed = variance.in_session() == 0.0 && mean().is_some_and(|mean| mean.abs() <= ROUNDING);
    Some(PilotPair {
        benchmark: one.benchmark.clone(),
        setting: one.setting.clone(),
        models: [one.model.clone(), other.model.clone()],
        key: (definition.evaluator, definition.metric()),
        variance,
        is_binary,
        agreed,
    })
}
