//! Metrics of a benchmark: definitions of how a number of a cell is computed from the flat values of its sessions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Definition of a number that is reported for each cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Name in tables and files, such as `tool_f1`.
    pub name: String,
    /// Formula that computes the metric from the values of sessions.
    pub measure: Measure,
    /// Smallest and largest value that a session, and so a cell, can have. The largest may be infinite.
    pub range: (f64, f64),
    /// Direction in which the metric improves.
    pub better: Better,
    /// Unit in which reports show the metric.
    pub unit: Unit,
    /// Value where there are sessions but the denominator is 0; with `None` the metric then has no value.
    pub if_empty: Option<f64>,
    /// Name of a value that makes a trial void: a trial in which any session has it above zero has no ratio. This
    /// tells crashes of an evaluator from wrong answers.
    pub void_if: Option<String>,
    /// By name of a value that the metric is made of, the name of another that is above zero in a session that should have it and has
    /// none, such as one whose judge gave no grade. To the metric it is missing, as a session without a score is: coverage and bounds
    /// count it, and no other metric does. An average keeps the parts that the session has.
    pub missing_if: BTreeMap<String, String>,
    /// Leaderboards show this metric.
    pub headline: bool,
}

/// Formula of a metric over the flat values of sessions ([`crate::Score::values`], by name). A session that lacks a
/// value is left out of it.
///
/// Every measure has an interval over clusters of items, by linearisation where it is not a mean. Intervals of
/// averages therefore account for parts that come from the same sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Mean over items of each item's mean over those of its sessions that have the value.
    Mean {
        /// Name of the value.
        value: String,
    },
    /// In each trial, the sum of one value over the sum of another (a micro average); then the mean over trials.
    Ratio {
        /// Name of the value that is summed in the numerator.
        numerator: String,
        /// Name of the value that is summed in the denominator.
        denominator: String,
        /// The denominator depends on the item alone and not on the model's answers, so that
        /// [`crate::Evaluation::score_failure`] knows it too.
        of_item: bool,
    },
    /// In each trial, the harmonic mean of Σ `right` / Σ `predicted` and Σ `right` / Σ `gold`, which is 2 Σ `right` / (Σ `predicted` +
    /// Σ `gold`); then the mean over trials. No session has more right than gold; none has more right than predicted, or else the
    /// metric's range must end above 1.
    F1 {
        /// Name of the value that counts correct predictions.
        right: String,
        /// Name of the value that counts predictions.
        predicted: String,
        /// Name of the value that counts gold elements; it depends on the item alone.
        gold: String,
    },
    /// A [`Measure::Ratio`] or [`Measure::F1`] whose sums run over the sessions of all trials together, instead of over those of each.
    Pooled {
        /// The measure whose sums are pooled.
        of: Box<Measure>,
        /// Name of a value that excludes a whole group (see below): when any session of the group has it above zero,
        /// in any trial, the group's sessions add nothing to the sums. This follows official code that loses its
        /// counters when it crashes.
        zero_group_if: Option<String>,
    },
    /// The mean over groups of items ([`crate::Item::group`]; an item without one is a group by itself) of the sum of
    /// one value over the sum of another. All selected groups have equal weight. A group whose denominator is 0
    /// counts as [`Metric::if_empty`], and is left out when that is `None`, like a group without any score.
    GroupMean {
        /// Name of the value that is summed in the numerator.
        numerator: String,
        /// Name of the value that is summed in the denominator.
        denominator: String,
        /// The denominator depends on the item alone, as in [`Measure::Ratio`].
        of_item: bool,
        /// Combination of the trials of a group.
        trials: OverTrials,
        /// Name of a value that excludes a run of the group: a trial in which any session of the group has it above
        /// zero does not count. A group without a remaining run has a denominator of 0.
        drop_run_if: Option<String>,
        /// Name of a value that sets a group to 0 when any of its sessions has it above zero, in any trial.
        zero_group_if: Option<String>,
    },
    /// The plain mean of several measures, each within the metric's range. It has a value where all of them have one.
    Average {
        /// The measures; these may be averages themselves.
        of: Vec<Measure>,
    },
}

impl Measure {
    /// `true` for a ratio of sums over sessions, those of a group included, and for an average of which a part is one.
    #[must_use]
    pub fn is_of_sums(&self) -> bool {
        match self {
            Self::Mean { .. } => false,
            Self::Ratio { .. } | Self::F1 { .. } | Self::Pooled { .. } | Self::GroupMean { .. } => true,
            Self::Average { of } => of.iter().any(Self::is_of_sums),
        }
    }

    /// Names of the values that exclude sessions or groups from it.
    fn exclusions(&self) -> Vec<&str> {
        match self {
            Self::Mean { .. } | Self::Ratio { .. } | Self::F1 { .. } => Vec::new(),
            Self::Pooled { of, zero_group_if } => of.exclusions().into_iter().chain(zero_group_if.as_deref()).collect(),
            Self::GroupMean { drop_run_if, zero_group_if, .. } => {
                drop_run_if.as_deref().into_iter().chain(zero_group_if.as_deref()).collect()
            }
            Self::Average { of } => of.iter().flat_map(Self::exclusions).collect(),
        }
    }

    /// Names of the values that it is made of.
    #[must_use]
    pub fn values(&self) -> Vec<&str> {
        match self {
            Self::Mean { value } => vec![value],
            Self::Ratio { numerator, denominator, .. } | Self::GroupMean { numerator, denominator, .. } => {
                vec![numerator, denominator]
            }
            Self::F1 { right, predicted, gold } => vec![right, predicted, gold],
            Self::Pooled { of, .. } => of.values(),
            Self::Average { of } => of.iter().flat_map(Self::values).collect(),
        }
    }
}

/// Combination of several trials into one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverTrials {
    /// The ratio of each trial that has a score, then the mean over trials. A trial whose denominator is 0 counts as
    /// [`Metric::if_empty`].
    #[default]
    Mean,
    /// One ratio of sums over all trials.
    Pooled,
}

/// Direction in which a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    #[default]
    Higher,
    /// Less is better.
    Lower,
}

/// Unit in which reports show a number.
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
    /// `true` for the default unit, which serialised documents leave out.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::Plain
    }

    /// Factor that converts a value to the shown unit.
    #[must_use]
    pub const fn factor(self) -> f64 {
        match self {
            Self::Percent => 100.0,
            Self::Plain | Self::OutOfTen | Self::Turns | Self::Money => 1.0,
        }
    }

    /// Ends of the scale on which values are drawn; `None` where there is no natural scale.
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
    /// A metric for leaderboards: the mean of a value in 0..=1, higher being better.
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
            missing_if: BTreeMap::new(),
            headline: true,
        }
    }

    /// `true` if `is_such` holds for one of the values that it is made of, or that exclude sessions from it.
    pub fn depends_on(&self, is_such: impl Fn(&str) -> bool) -> bool {
        let flags = self.void_if.iter().chain(self.missing_if.values()).map(String::as_str);
        self.measure.values().into_iter().chain(self.measure.exclusions()).chain(flags).any(is_such)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_depends_on_what_it_sums_and_on_what_excludes_sessions_from_it() {
        let ratio = || Measure::Ratio { numerator: "top".into(), denominator: "bottom".into(), of_item: false };
        let pooled = Measure::Pooled { of: Box::new(ratio()), zero_group_if: Some("crashed".into()) };
        let metric = Metric {
            measure: Measure::Average { of: vec![Measure::Mean { value: "grade".into() }, pooled] },
            void_if: Some("void".into()),
            missing_if: BTreeMap::from([("grade".into(), "ungraded".into())]),
            ..Metric::mean("all")
        };
        for name in ["grade", "top", "bottom", "crashed", "void", "ungraded"] {
            assert!(metric.depends_on(|value| value == name), "{name}");
        }
        assert!(!metric.depends_on(|value| value == "all"), "its own name is no value");
    }
}
