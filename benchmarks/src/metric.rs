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
///
/// Every measure has an interval over clusters of items, whose values are linearised where it is no mean; so those of averages are right
/// too, although their parts come from the same sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// A [`Measure::Ratio`] or [`Measure::F1`] whose sums run over the sessions of all trials together, instead of over those of each.
    Pooled {
        /// The ratio.
        of: Box<Measure>,
        /// A value that takes a whole group (see below) out: where any of its sessions has it above zero, in whatever trial, none of them
        /// adds anything to the sums. So an official code behaves that loses its counters when it crashes.
        zero_group_if: Option<String>,
    },
    /// The mean over groups of items ([`crate::Item::group`]; an item without one is a group by itself) of one sum over another. All
    /// groups that are selected count alike, also one in which there is nothing to divide by: it counts as [`Metric::if_empty`], and is
    /// left out where that says nothing. A group without any score is left out too.
    GroupMean {
        /// Summed above the line.
        numerator: String,
        /// Summed below the line.
        denominator: String,
        /// Whether the denominator belongs to the item, as above.
        of_item: bool,
        /// How the trials of a group become its number.
        trials: OverTrials,
        /// A value that takes a group's run out: in a trial in which any of the group's sessions has it above zero, none of them counts.
        /// A group all of whose runs are out has nothing to divide by.
        drop_run_if: Option<String>,
        /// A value that ruins a group: where any of its sessions has it above zero, in whatever trial, the group counts as 0.
        zero_group_if: Option<String>,
    },
    /// The plain mean of several measures, each within the metric's range. It has a value where all of them have one.
    Average {
        /// The measures; averages too.
        of: Vec<Measure>,
    },
}

/// How several trials become one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverTrials {
    /// A ratio in each trial that has a score (what has nothing to divide by counts as when empty), and then the mean over trials.
    #[default]
    Mean,
    /// One ratio of sums over all trials.
    Pooled,
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
