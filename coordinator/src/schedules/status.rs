//! How a schedule and its ticks stand, for people and programs.

use jiff::Timestamp;
use regatta_backends::{LedgerError, PutSchedule, TickRow, TickState};
use regatta_proto::{Digest, Money, ScheduleName, SweepId, SweepState};
use serde::{Deserialize, Serialize};

use super::document::ScheduleSpec;
use super::edges::NightVerdict;
use crate::Submission;

/// A schedule that is handed in.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleRequest {
    /// The schedule.
    pub schedule: ScheduleSpec,
    /// What each of its sweeps is planned from.
    pub submission: Submission,
    /// Whether another schedule of this name is replaced.
    #[serde(default)]
    pub replace: bool,
}

/// Effect of handing a schedule in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulePut {
    /// Its name.
    pub name: ScheduleName,
    /// What was done.
    pub effect: PutSchedule,
    /// Its next tick.
    pub next: Option<Timestamp>,
}

/// How a schedule stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScheduleStatus {
    /// The schedule.
    pub schedule: ScheduleSpec,
    /// Digest of what each of its sweeps is planned from.
    pub submission: Digest,
    /// Whether it starts nothing but what is asked for by hand.
    pub is_paused: bool,
    /// When it was created, or last replaced.
    pub created_at: Timestamp,
    /// Its next tick; none while it is paused.
    pub next: Option<Timestamp>,
    /// What its sweeps have cost in the present month of its zone, that of a running one left out.
    pub spent_this_month: Money,
    /// The last tick that has come.
    pub last: Option<TickStatus>,
}

/// How a tick stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TickStatus {
    /// The moment.
    pub at: Timestamp,
    /// Where it stands.
    pub state: TickState,
    /// Whether somebody asked for it, and not the clock.
    pub by_hand: bool,
    /// The first of the ticks that it stands for, where it is missed.
    pub since: Timestamp,
    /// Number of ticks that it stands for, at least 1.
    pub stands_for: u32,
    /// Why it is missed or refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepId>,
    /// When its sweep was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// What its sweep has cost, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Money>,
    /// What came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<NightOutcome>,
}

/// What came out of a night.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NightOutcome {
    /// How its sweep ended.
    pub state: SweepState,
    /// Verdict of the gate, where it was asked and there was a baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<NightVerdict>,
    /// The sweep it was held against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<SweepId>,
    /// Mean of the gate policy's metrics over cells, higher is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Why there is no verdict although there is a gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<String>,
}

impl TickStatus {
    pub(crate) fn new(row: TickRow) -> Result<Self, LedgerError> {
        let outcome = row.outcome.as_deref().map(serde_json::from_str).transpose();
        let outcome = outcome
            .map_err(|error| LedgerError::Unreadable { field: "schedule_ticks.outcome", found: error.to_string() })?;
        let TickRow { at, state, by_hand, since, stands_for, reason, sweep, started_at, ended_at, spent, .. } = row;
        Ok(Self { at, state, by_hand, since, stands_for, reason, sweep, started_at, ended_at, spent, outcome })
    }
}
