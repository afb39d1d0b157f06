//! Causes of drift, and how each is known.

use std::fmt;

use regatta_benchmarks::Unit;
use regatta_proto::counted;
use regatta_report::Difference;
use serde::Serialize;

/// The thing that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Cause {
    /// Regatta itself, or what it was asked for: settings, evaluators, seeds, trials, limits of endpoints, a budget, an external agent.
    Harness,
    /// The data set, or the items drawn from it.
    Data,
    /// The model under test, and its refusals.
    Model,
    /// The judge, also where it cannot be asked.
    Judge,
    /// The way it is served: address, gateway, tier, how fast calls are answered, or that they are not, and what filters or the length of the
    /// context end.
    Provider,
    /// Scores moved, and nothing above did; or sessions have no score, for a reason that results do not name.
    Unexplained,
}

/// Evidence for a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Evidence {
    /// The locks of the two nights differ.
    Declared,
    /// The endpoint says that something else answered.
    Served,
    /// Numbers of the same sessions differ by more than chance.
    Measured,
}

/// A change from one night to the next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Finding {
    pub(super) cause: Cause,
    pub(super) evidence: Evidence,
    pub(super) what: String,
    pub(super) before: String,
    pub(super) now: String,
    /// P-value of "no difference" for a measured value, corrected (Holm) over all that was measured that night; `None` for other changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) p_holm: Option<f64>,
}

/// A headline metric that moved by more than chance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Moved {
    pub(super) cell: String,
    pub(super) metric: String,
    pub(super) unit: Unit,
    /// Sessions that neither night cut off, where the difference is over these alone; absent where it is over all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uncut: Option<usize>,
    pub(super) difference: Difference,
    pub(super) p_holm: f64,
}

impl Moved {
    /// The metric, and the sessions that the difference is over where these are not all.
    pub(super) fn what(&self) -> String {
        let Self { metric, uncut, .. } = self;
        match uncut {
            Some(count) => {
                let sessions = counted(*count as u64, "session", "sessions");
                format!("{metric}, over the {sessions} that neither night cut off")
            }
            None => metric.clone(),
        }
    }
}

/// Median times of a cell that are apart, or that answers of the response cache leave unknown. They have no test: a session's time is a
/// matter of how much it was answered, too, which the pace of its calls is not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Paced {
    pub(super) cell: String,
    /// Median seconds in model calls of a session with a score that was asked and answered, the night before; absent without any.
    pub(super) before_s: Option<f64>,
    pub(super) now_s: Option<f64>,
    /// Sessions that the median is of.
    pub(super) sessions_before: usize,
    pub(super) sessions_now: usize,
    /// Sentence on the sessions that are left out because answers of theirs came from the response cache; absent where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cached_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cached_now: Option<String>,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Harness => "harness",
            Self::Data => "data",
            Self::Model => "model",
            Self::Judge => "judge",
            Self::Provider => "provider",
            Self::Unexplained => "unexplained",
        })
    }
}
