//! State of a schedule and its ticks, for people and programs.

use jiff::Timestamp;
use regatta_backends::{LedgerError, PutSchedule, TickRow, TickState};
use regatta_proto::{Digest, Money, OwnerName, ScheduleName, SweepId, SweepState};
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
    /// The submission that each of its sweeps is planned from.
    pub submission: Submission,
    /// `true` to replace another schedule of this name.
    #[serde(default)]
    pub replace: bool,
}

/// Effect of handing a schedule in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulePut {
    /// Name.
    pub name: ScheduleName,
    /// Effect of the request.
    pub effect: PutSchedule,
    /// Next tick.
    pub next: Option<Timestamp>,
}

/// State of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScheduleStatus {
    /// The schedule.
    pub schedule: ScheduleSpec,
    /// Digest of what each of its sweeps is planned from.
    pub submission: Digest,
    /// `true` while it starts only sweeps that are asked for by hand.
    pub is_paused: bool,
    /// When it was created, or last replaced.
    pub created_at: Timestamp,
    /// Next tick; none while the schedule is paused.
    pub next: Option<Timestamp>,
    /// Cost of its sweeps in the present month of its zone; a running one is left out.
    pub spent_this_month: Money,
    /// The last tick that has come.
    pub last: Option<TickStatus>,
    /// The owner, also of its sweeps; `None` for schedules of versions before owners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerName>,
}

/// State of a tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TickStatus {
    /// The moment.
    pub at: Timestamp,
    /// State of the tick.
    pub state: TickState,
    /// `true` if a person asked for it, not the clock.
    pub by_hand: bool,
    /// The first of the ticks that it stands for, where it is missed.
    pub since: Timestamp,
    /// Number of ticks that it stands for, at least 1.
    pub stands_for: u32,
    /// Reason why it is missed or refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The sweep of the tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepId>,
    /// When its sweep was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Cost of the sweep, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Money>,
    /// Outcome; `None` until the sweep has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<NightOutcome>,
}

/// Outcome of a night.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NightOutcome {
    /// State in which the sweep ended.
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
    /// Reason why there is no verdict although there is a gate.
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
