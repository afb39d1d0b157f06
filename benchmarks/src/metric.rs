//! What a benchmark measures: how a number of a cell comes from the flat values of its sessions.

use serde::{Deserialize, Serialize};

/// A number of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Its name, as `tool_f1`.
    pub name: String,
    /// How it comes from the sessions' values.
    pub measure: Measure,
    /// Smallest and largest value that a session, and so a cell, can have. The largest may be infinite.
    pub range: (f64, f64),
    /// Which end of the range is the good one.
    pub better: Better,
    /// How people read it.
    pub unit: Unit,
    /// What it is where there are sessions but nothing to divide by; `None`: then it has no value.
    pub if_empty: Option<f64>,
    /// A value that says that nothing can be said: a trial with a session that has it above zero has no ratio. So crashes of an evaluator
    /// are told from wrong answers.
    pub void_if: Option<String>,
    /// Whether leaderboards show it.
    pub headline: bool,
}

/// How a metric comes from the flat values of sessions ([`crate::Score::values`], by name). A value that a session lacks does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Measure {
    /// Mean over items of each item's mean over those of its sessions that have the value.
    Mean {
        /// The value.
        value: String,
    },
    /// In each trial, one sum over another (a micro average); then the mean over trials.
    Ratio {
        /// Summed above the line.
        numerator: String,
        /// Summed below the line.
        denominator: String,
        /// Whether the denominator belongs to the item, whatever a model does, so that [`crate::Suite::score_failure`] tells it.
        of_item: bool,
    },
    /// In each trial, the harmonic mean of Σ `right` / Σ `predicted` and Σ `right` / Σ `gold`, which is 2 Σ `right` / (Σ `predicted` +
    /// Σ `gold`); then the mean over trials. No session has more right than gold; none has more right than predicted, or else the
    /// metric's range must end above 1.
    F1 {
        /// What is right.
        right: String,
        /// What was predicted.
        predicted: String,
        /// What there is; of the item, as above.
        gold: String,
    },
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    #[default]
    Higher,
    /// Less is better.
    Lower,
}

/// How people read a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// As it is; mostly in 0..=1.
    #[default]
    Plain,
    /// A share, times 100.
    Percent,
    /// A grade in 0..=10.
    OutOfTen,
    /// A number of turns.
    Turns,
    /// Dollars.
    Money,
}

impl Unit {
    /// Whether it is the usual one, which documents need not name.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::Plain
    }

    /// What a value is multiplied with to be shown.
    #[must_use]
    pub const fn factor(self) -> f64 {
        match self {
            Self::Percent => 100.0,
            Self::Plain | Self::OutOfTen | Self::Turns | Self::Money => 1.0,
        }
    }

    /// The ends of the scale on which values are drawn; `None` where there is no natural one.
    #[must_use]
    pub const fn scale(self) -> Option<(f64, f64)> {
        match self {
            Self::Plain | Self::Percent => Some((0.0, 1.0)),
            Self::OutOfTen => Some((0.0, 10.0)),
            Self::Turns | Self::Money => None,
        }
    }
}

impl Metric {
    /// The mean of a value in 0..=1, higher being better, that leaderboards show.
    #[must_use]
    pub fn mean(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            measure: Measure::Mean { value: name.to_owned() },
            range: (0.0, 1.0),
            better: Better::Higher,
            unit: Unit::Plain,
            if_empty: None,
            void_if: None,
            headline: true,
        }
    }
}
