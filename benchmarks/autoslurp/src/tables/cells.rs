//! Cells of the tables, with their places on the benchmark's axes.

use regatta_benchmarks::{CellResult, Measured, PaperEntry, PaperRow};

use crate::policy::Policy;
use crate::setting::{Mode, Route, TODAY};

/// A cell and its place on the benchmark's axes.
pub(super) struct Cell<'a> {
    pub(super) mode: Mode,
    pub(super) result: &'a CellResult<'a>,
}

impl<'a> Cell<'a> {
    /// The cell, if its setting is known.
    pub(super) fn of(result: &'a CellResult<'a>) -> Option<Self> {
        Some(Self { mode: Mode::of(result.setting)?, result })
    }

    /// The framework of the paper that it is: one of our policies, or an external agent whose name begins with the framework's.
    pub(super) fn framework(&self) -> Option<Policy> {
        match &self.mode.route {
            Route::Native(policy) => Some(*policy),
            Route::External(agent) => {
                let agent = agent.as_str().to_ascii_lowercase();
                Policy::ALL.into_iter().find(|policy| agent.starts_with(policy.as_str()))
            }
        }
    }

    /// Orchestrator, for readers.
    pub(super) fn team(&self) -> String {
        match &self.mode.route {
            Route::Native(policy) => policy.title().to_owned(),
            Route::External(agent) => format!("external/{agent}"),
        }
    }

    /// The utterances and, where it is not the usual one, the day.
    pub(super) fn data(&self) -> String {
        let data = self.mode.dataset.as_str();
        if self.mode.today == TODAY { data.to_owned() } else { format!("{data}, {}", self.mode.today) }
    }

    /// The cast, for readers.
    pub(super) fn cast(&self) -> String {
        self.mode.cast.clone().unwrap_or_else(|| "none".to_owned())
    }

    /// The accuracy that the official scripts print, over a hundred and with their rule for the last item, however many items there are.
    /// None of an incomplete run: what is missing would count as wrong, and another item as the last.
    pub(super) fn printed(&self) -> Measured {
        if self.result.coverage() < 1.0 {
            return Measured::default();
        }
        let printed = |table: &&regatta_benchmarks::Table| table.columns.first().and_then(|(_, value)| *value);
        Measured::over_trials(self.result.tables.iter().map(printed))
    }

    /// A row of what `entries` are, under the model's name, the team's, and the data's.
    pub(super) fn row(&self, entries: Vec<PaperEntry>) -> PaperRow {
        self.row_under(vec![self.result.model.to_string(), self.team(), self.data()], entries)
    }

    /// A row of what `entries` are, under `keys`.
    pub(super) fn row_under(&self, keys: Vec<String>, entries: Vec<PaperEntry>) -> PaperRow {
        PaperRow { keys, simulated: self.result.simulated, coverage: self.result.coverage(), entries }
    }

    /// A number that is known of its sessions, if there are any.
    pub(super) fn known(&self, value: f64) -> Measured {
        Measured { value: (self.result.scored > 0).then_some(value), ..Measured::default() }
    }
}

/// Keys of [`Cell::row`].
pub(super) fn row_keys() -> Vec<String> {
    keys(&["model", "team", "data"])
}

/// Names of keys.
pub(super) fn keys(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// An entry of ours alone.
pub(super) const fn ours(ours: Measured) -> PaperEntry {
    PaperEntry { ours, published: None }
}
