//! Tables across cells, as a benchmark's paper has them: all models and settings of a sweep, with the published numbers.

use std::collections::BTreeMap;

use regatta_proto::{ModelRef, Setting};
use serde::{Deserialize, Serialize};

use crate::{Table, Unit};

/// Results of one setting and model over all trials, from which [`crate::Tables::paper_tables`] makes its tables.
#[derive(Debug, Clone, PartialEq)]
pub struct CellResult<'a> {
    /// The setting.
    pub setting: &'a Setting,
    /// The model under test.
    pub model: &'a ModelRef,
    /// Model family, independent of the provider; published numbers are looked up by it.
    pub family: &'a str,
    /// The answers came from a simulated endpoint.
    pub simulated: bool,
    /// Sessions with a score, over all trials.
    pub scored: u64,
    /// Expected sessions, over all trials.
    pub sessions: u64,
    /// Values by the name of the metric.
    pub metrics: BTreeMap<&'a str, Measured>,
    /// The same over the items of one task, by its name.
    pub tasks: BTreeMap<&'a str, BTreeMap<&'a str, Measured>>,
    /// The same over the items of one part of the data set ([`crate::Dataset::parts`]), by its name.
    pub parts: BTreeMap<&'a str, BTreeMap<&'a str, Measured>>,
    /// The benchmark's own aggregates, one a trial.
    pub tables: Vec<&'a Table>,
    /// The benchmark's own aggregate of all trials together.
    pub all_trials: &'a Table,
    /// Average use of money, calls, tokens and time per session.
    pub spending: Spending,
}

/// Use of resources per session of a setting and model, on average over the sessions with a score and an answered call that neither a filter
/// nor the length of the context ended: all fields are over the same sessions. Calls of judges are not included.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spending {
    /// Dollars for all calls of models; without a value when a price is unknown, and where answers came from the response cache.
    pub cost_usd: Measured,
    /// Answered calls of models; `None` where no session was answered.
    pub calls: Option<f64>,
    /// Tokens of all calls, prompts and answers together; `None` where those of a call are unknown, or answers came from the response cache.
    pub tokens: Option<f64>,
    /// Total latency of the calls in seconds; `None` where no session was answered, and where answers came from the response cache.
    pub seconds: Option<f64>,
}

/// A table of the paper. Rows and columns are in the paper's order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PaperTable {
    /// A name for files: lower-case letters, digits and `-`; unique within the benchmark.
    pub name: String,
    /// Title, such as `Table 3: turn level`.
    pub title: String,
    /// Headings of the row keys, such as `model`, `format`.
    pub keys: Vec<String>,
    /// Columns after the keys.
    pub columns: Vec<PaperColumn>,
    /// The rows.
    pub rows: Vec<PaperRow>,
    /// Footnotes, such as differences from the paper's setup.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The paper shows this as a bar chart: one group of bars for each row, one bar for each column.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_figure: bool,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PaperColumn {
    /// Heading of the column.
    pub label: String,
    /// Unit of the column's values.
    #[serde(default)]
    pub unit: Unit,
    /// Digits after the decimal point.
    pub decimals: u8,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PaperRow {
    /// Row keys, one for each heading in [`PaperTable::keys`].
    pub keys: Vec<String>,
    /// The row's answers came from a simulated model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// Share of the row's sessions that have a score, 0..=1.
    pub coverage: f64,
    /// Values, one for each of [`PaperTable::columns`].
    pub entries: Vec<PaperEntry>,
}

/// Our value, with the published one if the paper gives it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct PaperEntry {
    /// Value of this sweep.
    #[serde(flatten)]
    pub ours: Measured,
    /// Published value in the same unit as ours (a share in 0..=1, not percent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
}

/// A value with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Mean over trials; absent when nothing has a score.
    pub value: Option<f64>,
    /// Lower end of the interval, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the interval, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Sample standard deviation over trials; absent for fewer than two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
}

impl Measured {
    /// Mean and sample standard deviation over the `trials` that have a value.
    #[must_use]
    pub fn over_trials(trials: impl IntoIterator<Item = Option<f64>>) -> Self {
        let values: Vec<f64> = trials.into_iter().flatten().collect();
        if values.is_empty() {
            return Self::default();
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { value: Some(mean), sd: (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()), low: None, high: None }
    }
}

impl CellResult<'_> {
    /// Share of the expected sessions that have a score, 0..=1.
    #[must_use]
    pub fn coverage(&self) -> f64 {
        if self.sessions == 0 { 0.0 } else { self.scored as f64 / self.sessions as f64 }
    }

    /// Returns the metric `name`, or a [`Measured`] without a value when there is no such metric.
    #[must_use]
    pub fn metric(&self, name: &str) -> Measured {
        self.metrics.get(name).copied().unwrap_or_default()
    }

    /// Returns the metric `name` over the items of `task`, or one without a value.
    #[must_use]
    pub fn metric_of_task(&self, task: &str, name: &str) -> Measured {
        self.tasks.get(task).and_then(|metrics| metrics.get(name)).copied().unwrap_or_default()
    }

    /// Returns the metric `name` over the items of `part`, or one without a value.
    #[must_use]
    pub fn metric_of_part(&self, part: &str, name: &str) -> Measured {
        self.parts.get(part).and_then(|metrics| metrics.get(name)).copied().unwrap_or_default()
    }
}

impl PaperColumn {
    /// A column of shares in percent with one decimal, as most papers have them.
    #[must_use]
    pub fn percent(label: impl Into<String>) -> Self {
        Self { label: label.into(), unit: Unit::Percent, decimals: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_over_trials_is_that_of_a_sample() {
        let found = Measured::over_trials([Some(1.0), None, Some(2.0), Some(3.0)]);
        assert_eq!((found.value, found.sd), (Some(2.0), Some(1.0)));
        assert_eq!(Measured::over_trials([Some(1.0)]).sd, None);
        assert_eq!(Measured::over_trials([None]), Measured::default());
    }
}
