//! Numbers of a cell by split.

use regatta_benchmarks::{CellResult, Measured, PaperEntry, PaperRow};
use regatta_proto::Evaluator;
use serde_json::Value;

use super::metrics::name;
use crate::data::Split;
use crate::setting::{Mode, Route};

/// A cell and its place on the benchmark's axes.
#[derive(Clone, Copy)]
pub(super) struct Cell<'a> {
    pub(super) mode: Mode,
    pub(super) result: &'a CellResult<'a>,
}

/// A number of a split: its metric, and where it is in the aggregate of the official evaluator and of the paper's.
pub(super) struct Number {
    pub(super) metric: &'static str,
    pub(super) label: &'static str,
    official: &'static str,
    paper: &'static str,
}

/// The columns of Tables 3 and 5.
pub(super) const MAIN: [Number; 3] = [
    Number { metric: name::F1_APP, label: "F1 app", official: "/evaluation/app_hit_f1", paper: "/f1_app" },
    Number { metric: name::F1_API, label: "F1 API", official: "/evaluation/api_hit_f1", paper: "/f1_api" },
    Number { metric: name::SUCCESS, label: "Succ", official: "/evaluation/complete_match", paper: "/succ" },
];
/// The columns of Table 11.
pub(super) const EXACT: [Number; 2] = [
    Number { metric: name::EM_APP, label: "EM app", official: "/evaluation_extra/app_exact_match", paper: "/em_app" },
    Number { metric: name::EM_API, label: "EM API", official: "/evaluation_extra/api_exact_match", paper: "/em_api" },
];

impl Number {
    /// The number in the aggregate of a split.
    pub(super) fn of(&self, evaluator: Evaluator, group: &Value) -> Option<f64> {
        group.pointer(if evaluator == Evaluator::Paper { self.paper } else { self.official })?.as_f64()
    }
}

impl<'a> Cell<'a> {
    /// The cell, if its setting is known.
    pub(super) fn of(result: &'a CellResult<'a>) -> Option<Self> {
        Some(Self { mode: Mode::of(result.setting)?, result })
    }

    /// True if a plan was asked for by `route`, with `shots` demonstrations.
    pub(super) fn is(self, route: Route, shots: u8) -> bool {
        (self.mode.route, self.mode.shots) == (route, shots)
    }

    /// Number that `read` finds in the aggregates of a split, over trials, with the interval of the split's `metric` where that is known.
    pub(super) fn value(self, split: Split, metric: &str, read: impl Fn(&Value) -> Option<f64>) -> Measured {
        let groups = self.result.tables.iter().map(|table| table.aggregate.get(split.as_str()));
        let over_trials = Measured::over_trials(groups.map(|group| group.and_then(&read)));
        let Measured { low, high, .. } = self.result.metric_of_task(split.as_str(), metric);
        if over_trials.value.is_some() { Measured { low, high, ..over_trials } } else { over_trials }
    }

    /// A number of a split.
    pub(super) fn number(self, evaluator: Evaluator, split: Split, number: &Number) -> Measured {
        self.value(split, number.metric, |group| number.of(evaluator, group))
    }

    /// A row of what `entries` are, under the model's name and `keys`.
    pub(super) fn row(self, keys: &[&str], entries: Vec<PaperEntry>) -> PaperRow {
        let model = self.result.model.to_string();
        PaperRow {
            keys: std::iter::once(model.as_str()).chain(keys.iter().copied()).map(str::to_owned).collect(),
            simulated: self.result.simulated,
            coverage: self.result.coverage(),
            entries,
        }
    }
}

/// An entry of ours alone.
pub(super) const fn ours(ours: Measured) -> PaperEntry {
    PaperEntry { ours, published: None }
}

/// Names of keys, for tables.
pub(super) fn keys(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
