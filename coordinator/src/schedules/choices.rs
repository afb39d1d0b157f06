//! Choices of a schedule that are written as one word.

use std::fmt;
use std::str::FromStr;

use regatta_proto::SweepId;
use serde::{Deserialize, Serialize};

/// The run that a night is compared with.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Baseline {
    /// The last night that was complete.
    #[default]
    Previous,
    /// The complete night with the best value of the gate policy's metrics.
    Best,
    /// One sweep.
    Sweep(SweepId),
}

/// Ticks that are made up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum CatchUp {
    /// None: a tick that cannot start in time is missed.
    #[default]
    None,
    /// The last one, once.
    Last,
    /// So many of the last ones, one after the other.
    All(u32),
}

impl FromStr for CatchUp {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let bound = |text: &str| text.strip_prefix("all:").and_then(|count| count.parse().ok());
        match text {
            "none" => Ok(Self::None),
            "last" => Ok(Self::Last),
            _ => bound(text).map(Self::All).ok_or_else(|| {
                format!("catch_up is {text:?}; known: none, last, all:N (the last N ticks, one after the other)")
            }),
        }
    }
}
impl fmt::Display for CatchUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Last => f.write_str("last"),
            Self::All(count) => write!(f, "all:{count}"),
        }
    }
}
impl TryFrom<String> for CatchUp {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
impl From<CatchUp> for String {
    fn from(policy: CatchUp) -> Self {
        policy.to_string()
    }
}

impl FromStr for Baseline {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "previous" => Ok(Self::Previous),
            "best" => Ok(Self::Best),
            id => id
                .parse()
                .map(Self::Sweep)
                .map_err(|error| format!("baseline is {id:?}; write previous, best, or the name of a sweep: {error}")),
        }
    }
}
impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Previous => f.write_str("previous"),
            Self::Best => f.write_str("best"),
            Self::Sweep(id) => id.fmt(f),
        }
    }
}
impl TryFrom<String> for Baseline {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
impl From<Baseline> for String {
    fn from(baseline: Baseline) -> Self {
        baseline.to_string()
    }
}
