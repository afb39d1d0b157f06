//! Numbers of a cell.

use regatta_benchmarks::{Better, Unit as Shown};
use serde::Deserialize;

/// Aggregation of the values of sessions into a number: one of `mean`, `ratio`, `f1`, `average`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MetricSpec {
    /// Mean of this value.
    #[serde(default)]
    pub(crate) mean: Option<String>,
    /// A sum over another.
    #[serde(default)]
    pub(crate) ratio: Option<RatioSpec>,
    /// Micro F1 of sums.
    #[serde(default)]
    pub(crate) f1: Option<F1Spec>,
    /// Mean of these metrics.
    #[serde(default)]
    pub(crate) average: Option<Vec<String>>,
    /// Unit in which people read it.
    #[serde(default)]
    pub(crate) unit: Unit,
    /// Smallest and largest value that a session can have, where they are not those of its values.
    #[serde(default)]
    pub(crate) range: Option<(f64, f64)>,
    /// The better end, where it is not that of its values.
    #[serde(default)]
    pub(crate) better: Option<Better>,
    /// `true` if leaderboards show it.
    #[serde(default = "yes")]
    pub(crate) headline: bool,
}

fn yes() -> bool {
    true
}

/// A sum over another, each over the sessions of a trial.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RatioSpec {
    /// Value above the line.
    pub(crate) numerator: String,
    /// Value below the line.
    pub(crate) denominator: String,
}

/// 2 Σ right / (Σ predicted + Σ gold).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct F1Spec {
    /// Name of the value that counts right predictions.
    pub(crate) right: String,
    /// Name of the value that counts all predictions.
    pub(crate) predicted: String,
    /// Name of the value that counts the golds.
    pub(crate) gold: String,
}

/// Unit in which people read a number.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// As it is.
    #[default]
    Plain,
    /// A share, times 100.
    Percent,
}

impl From<Unit> for Shown {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::Plain => Self::Plain,
            Unit::Percent => Self::Percent,
        }
    }
}
