//! Sweeps that stop when their question is answered.

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ModelRef;

/// Most looks at the scores in a pass over the items.
pub(crate) const ROUNDS_MAX: u32 = 1000;

/// A question that a sweep is to answer. The sweep runs in rounds, and stops as soon as the answer is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Decide {
    /// `ranking` (the order of every two models), `best`, `against ENDPOINT/MODEL` (each other model and this one), or `interval` (the
    /// value of each model to within the margin). Asked in every benchmark and setting.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub question: DecideQuestion,
    /// Metric to decide by, a mean over items. Default: the first one that leaderboards show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Largest difference that does not matter, in percentage points of the metric's scale: `2pp`. `0pp` asks for the order alone.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub margin: Margin,
    /// Probability that all answers together are right, at least; between 0 and 1.
    #[serde(default = "confidence")]
    pub confidence: f64,
    /// Most looks at the scores in a pass over the items.
    #[serde(default = "rounds")]
    pub rounds: u32,
    /// The population that the answer is about.
    #[serde(default)]
    pub over: DecideOver,
    /// Limits in addition to the spec's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<DecideLimits>,
}

/// Limits of the sessions that a sweep with a question runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DecideLimits {
    /// Most trials of an item. Items get the spec's `trials` first, and then one more at a time while the answer is open.
    pub trials: u16,
}

/// The population that the items of a sweep are drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DecideOver {
    /// All items like these: the answer is about new items and trials too, like the intervals of reports.
    #[default]
    NewItems,
    /// These items and trials alone: the answer is the one that the whole grid would give. Sequences are narrower, and end in a point.
    Grid,
}

/// The question to decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DecideQuestion {
    /// The order of every two models.
    Ranking,
    /// The best model.
    Best,
    /// The order of each other model and this one.
    Against(ModelRef),
    /// The value of each model.
    Interval,
}

impl fmt::Display for DecideQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ranking => f.write_str("ranking"),
            Self::Best => f.write_str("best"),
            Self::Against(baseline) => write!(f, "against {baseline}"),
            Self::Interval => f.write_str("interval"),
        }
    }
}

impl FromStr for DecideQuestion {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "ranking" => Ok(Self::Ranking),
            "best" => Ok(Self::Best),
            "interval" => Ok(Self::Interval),
            _ => {
                let baseline = text.strip_prefix("against ").map(str::trim_start).ok_or_else(|| {
                    format!(
                        "unknown question {text:?}; known: ranking, best, against ENDPOINT/MODEL, interval{}",
                        crate::did_you_mean(text, ["ranking", "best", "interval"].into_iter())
                    )
                })?;
                baseline.parse().map(Self::Against).map_err(|error| format!("the baseline {baseline:?}: {error}"))
            }
        }
    }
}

impl TryFrom<String> for DecideQuestion {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<DecideQuestion> for String {
    fn from(question: DecideQuestion) -> Self {
        question.to_string()
    }
}

/// A part of a scale, in percentage points.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Margin {
    points: f64,
}

impl Margin {
    /// The part of the scale, 0 to 1.
    #[must_use]
    pub fn part(self) -> f64 {
        self.points / 100.0
    }
}

impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}pp", self.points)
    }
}

impl FromStr for Margin {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let points = text.strip_suffix("pp").and_then(|points| points.trim_end().parse::<f64>().ok());
        match points {
            Some(points) if (0.0..100.0).contains(&points) => Ok(Self { points }),
            _ => Err(format!("{text:?} is no margin; write percentage points from 0 to below 100, as 2pp")),
        }
    }
}

impl TryFrom<String> for Margin {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Margin> for String {
    fn from(margin: Margin) -> Self {
        margin.to_string()
    }
}

const fn confidence() -> f64 {
    0.95
}

const fn rounds() -> u32 {
    20
}

impl Decide {
    /// Most trials of an item, given the spec's `trials`.
    #[must_use]
    pub fn trials_max(&self, trials: u16) -> u16 {
        self.at_most.map_or(trials, |limits| limits.trials)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_written_as_it_is_read() {
        for text in ["ranking", "best", "interval", "against sim/oracle"] {
            assert_eq!(text.parse::<DecideQuestion>().unwrap().to_string(), text);
        }
        let error = "rankin".parse::<DecideQuestion>().unwrap_err();
        assert!(error.contains("known: ranking, best, against ENDPOINT/MODEL, interval"), "{error}");
        assert!("against nobody".parse::<DecideQuestion>().is_err(), "a baseline is an endpoint and a model");
    }

    #[test]
    fn a_margin_is_in_percentage_points() {
        assert_eq!("2pp".parse::<Margin>().unwrap().part(), 0.02);
        assert_eq!("0.5pp".parse::<Margin>().unwrap().to_string(), "0.5pp");
        for bad in ["2", "2%", "-1pp", "100pp", "pp", "NaNpp"] {
            assert!(bad.parse::<Margin>().unwrap_err().contains("as 2pp"), "{bad}");
        }
    }
}
