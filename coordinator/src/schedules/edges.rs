//! Interfaces that schedules need: a gate that judges nights, and a messenger that tells of them.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::Timestamp;
use regatta_proto::SweepId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Verdict of a gate about a night.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NightVerdict {
    /// Shown to be no worse than the policy allows.
    Go,
    /// Shown to be worse.
    NoGo,
    /// Neither is shown.
    Inconclusive,
}

impl fmt::Display for NightVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Go => "GO",
            Self::NoGo => "NO-GO",
            Self::Inconclusive => "INCONCLUSIVE",
        })
    }
}

/// A night that is to be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateQuestion {
    /// The sweep of the tick.
    pub run: SweepId,
    /// The sweep that it is held against; without one it is only given a score.
    pub baseline: Option<SweepId>,
    /// Text of the gate policy.
    pub policy: String,
    /// Number of the night among those of its schedule that were judged, from 1.
    pub night: u32,
}

/// A gate's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct GateJudgement {
    /// Verdict; `None` without a baseline.
    pub verdict: Option<NightVerdict>,
    /// Mean of the policy's metrics over cells, higher is better; for `baseline: best`.
    pub score: Option<f64>,
    /// The judgement as `regatta gate --json` has it.
    pub document: Value,
}

/// Reason why a night was not judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// It never will be: the policy does not fit, or a document is not there.
    #[error("{0}")]
    Refused(String),
    /// A store was away.
    #[error("{0}")]
    Failed(String),
}

/// Judges nights.
pub trait NightGate: Send + Sync {
    /// Reads a policy.
    ///
    /// # Errors
    /// With what is wrong with it.
    fn check(&self, policy: &str) -> Result<(), String>;

    /// Judges a night.
    ///
    /// # Errors
    /// When it cannot be judged, now or ever.
    fn judge<'a>(&'a self, question: &'a GateQuestion) -> BoxFuture<'a, Result<GateJudgement, GateError>>;
}

/// A message that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Id of the message, the same however often it is sent.
    pub id: String,
    /// `webhook/NAME` or `command/NAME`.
    pub channel: String,
    /// Body, a JSON document.
    pub body: String,
    /// When it is sent.
    pub at: Timestamp,
}

/// Sends messages to the channels of the coordinator's policy.
pub trait Messenger: Send + Sync {
    /// Looks for a channel.
    ///
    /// # Errors
    /// When the policy has none of that name, with those it has.
    fn knows(&self, channel: &str) -> Result<(), String>;

    /// Sends a message.
    ///
    /// # Errors
    /// When nobody took it.
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), String>>;
}

/// Implementations that schedules need.
#[derive(Clone)]
pub struct Scheduling {
    /// Judges nights.
    pub gate: Arc<dyn NightGate>,
    /// Tells of them.
    pub messenger: Arc<dyn Messenger>,
}
