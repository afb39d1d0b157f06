//! The four metrics of the tables, and their places in a cell's results.

use regatta_benchmarks::{CellResult, Measured, Table};

use crate::data::Language;

/// A metric of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// The mean of the others.
    Average,
    /// Plans.
    Plan,
    /// Choice between call and rejection.
    CallRejection,
    /// Calls.
    FunctionCall,
}

impl Measure {
    /// All four in the order of the repository's table.
    pub(super) const ALL: [Self; 4] = [Self::Average, Self::Plan, Self::CallRejection, Self::FunctionCall];

    /// Heading of the column.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Average => "Average",
            Self::Plan => "Plan",
            Self::CallRejection => "Call Rejection",
            Self::FunctionCall => "Function Call",
        }
    }

    /// Name of the metric, which parts of the data set have too.
    pub(super) const fn metric(self) -> &'static str {
        match self {
            Self::Average => "score",
            Self::Plan => "plan",
            Self::CallRejection => "cr",
            Self::FunctionCall => "fc",
        }
    }

    /// Keys in the aggregates of `official` and `paper`.
    const fn keys(self) -> [&'static str; 2] {
        match self {
            Self::Average => ["Average", "Score"],
            Self::Plan => ["Plan", "Plan"],
            Self::CallRejection => ["Call Rejection Classification Accuracy", "C/R"],
            Self::FunctionCall => ["FC", "FC"],
        }
    }

    /// Returns the value of all trials of a cell together, with its deviation over trials. It is not a mean over
    /// items, so it is taken from the aggregates.
    pub(super) fn of(self, cell: &CellResult<'_>, language: Language) -> Measured {
        measured(cell, |table| self.in_table(table, language))
    }

    /// Returns the mean of both languages; absent when one of them is.
    pub(super) fn of_both(self, cell: &CellResult<'_>) -> Measured {
        let [one, other] = Language::ALL;
        measured(cell, |table| Some((self.in_table(table, one)? + self.in_table(table, other)?) / 2.0))
    }

    fn in_table(self, table: &Table, language: Language) -> Option<f64> {
        let [official, paper] = self.keys();
        let of_language = table.aggregate.get(language.name())?;
        let key_metrics = of_language.get("overall_statistics").and_then(|all| all.get("key_metrics"));
        match key_metrics {
            Some(official_metrics) => official_metrics.get(official)?.as_f64(),
            None => of_language.get(paper)?.as_f64(),
        }
    }
}

fn measured(cell: &CellResult<'_>, value: impl Fn(&Table) -> Option<f64>) -> Measured {
    let by_trial = Measured::over_trials(cell.tables.iter().map(|table| value(table)));
    Measured { value: value(cell.all_trials), ..by_trial }
}
