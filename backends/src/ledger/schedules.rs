//! Schedules, their ticks, and the notices about them.
//!
//! A schedule's clock is advanced only by [`Ledger::admit_ticks`](super::Ledger::admit_ticks), which compares it with the expected value, and a
//! tick changes its state only from the given one. All calls of the leader carry its term, and have no effect under another one.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};
use regatta_proto::{Digest, Money, OwnerName, ScheduleName, SweepId};
use serde::{Deserialize, Serialize};

/// Age at which notices that were sent or given up are deleted.
pub(super) const NOTICES_KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRow {
    /// Name.
    pub name: ScheduleName,
    /// The schedule as it was submitted, as JSON.
    pub document: String,
    /// `true` if it starts only sweeps that a person requests.
    pub is_paused: bool,
    /// Time of creation or of the last replacement.
    pub created_at: Timestamp,
    /// Time up to which every tick is decided.
    pub decided_until: Timestamp,
    /// Number of nights that a gate has judged.
    pub judged: u32,
    /// The owner, who also owns its sweeps; `None` for schedules of versions before owners.
    pub owner: Option<OwnerName>,
}

/// Result of writing a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PutSchedule {
    /// The schedule was created.
    Created,
    /// The same schedule existed already.
    Unchanged,
    /// The document was replaced; the ticks stay.
    Replaced,
    /// A schedule with another document exists, and was left unchanged.
    Differs,
    /// The schedule that was to be replaced is not there any more as it was seen; what is there was left unchanged.
    Overtaken,
}

impl PutSchedule {
    /// `true` if the schedule is there now as it was to be written.
    pub(super) const fn is_there(self) -> bool {
        match self {
            Self::Created | Self::Unchanged | Self::Replaced => true,
            Self::Differs | Self::Overtaken => false,
        }
    }
}

/// State of a tick. `due` → `running` → `ended`; or `due` → `missed`, and `refused` from either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TickState {
    /// The tick waits for its turn.
    Due,
    /// The sweep has been written, or is about to be.
    Running,
    /// The sweep has ended.
    Ended,
    /// The time has passed, and the schedule's catch-up policy does not make up for it.
    Missed,
    /// The sweep could not be planned, or exceeds the budget.
    Refused,
}

impl TickState {
    const ALL: [Self; 5] = [Self::Due, Self::Running, Self::Ended, Self::Missed, Self::Refused];

    /// Name in SQL, documents and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Running => "running",
            Self::Ended => "ended",
            Self::Missed => "missed",
            Self::Refused => "refused",
        }
    }
}

impl fmt::Display for TickState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
impl FromStr for TickState {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == text);
        found.ok_or_else(|| format!("unknown state of a tick {text:?}"))
    }
}

/// A schedule to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSchedule {
    /// Name.
    pub name: ScheduleName,
    /// Document of the schedule, which the ledger does not read.
    pub document: String,
    /// Owner, unless the schedule replaces another, which keeps its own.
    pub owner: Option<OwnerName>,
    /// Time of writing.
    pub at: Timestamp,
    /// Keys of the stored objects that its sweeps are planned from.
    pub inputs: BTreeSet<String>,
}

/// A moment at which a schedule starts a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickRow {
    /// The schedule.
    pub schedule: ScheduleName,
    /// The moment; with the schedule's name it identifies the tick.
    pub at: Timestamp,
    /// State of the tick.
    pub state: TickState,
    /// `true` if a person requested it, `false` if the clock did.
    pub by_hand: bool,
    /// The first of the ticks that this row represents, if it is missed.
    pub since: Timestamp,
    /// Number of ticks that this row represents, at least 1.
    pub stands_for: u32,
    /// Reason, if it is missed or refused.
    pub reason: Option<String>,
    /// The sweep of the tick.
    pub sweep: Option<SweepId>,
    /// Digest of the sweep's lock.
    pub lock: Option<Digest>,
    /// Time at which the sweep was planned.
    pub started_at: Option<Timestamp>,
    /// Time at which the tick ended.
    pub ended_at: Option<Timestamp>,
    /// Cost of the sweep, as far as known.
    pub spent: Option<Money>,
    /// Outcome as JSON.
    pub outcome: Option<String>,
}

/// Consecutive ticks that are missed for the same reason, represented by one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissedTicks {
    /// Time of the last tick.
    pub at: Timestamp,
    /// Time of the first tick.
    pub since: Timestamp,
    /// Number of ticks, at least 1.
    pub stands_for: u32,
    /// Reason, for people.
    pub reason: String,
}

/// Decisions about the ticks between two moments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// Expected value of the schedule's clock.
    pub from: Timestamp,
    /// New value of the schedule's clock.
    pub until: Timestamp,
    /// Ticks that wait for their turn from now on.
    pub due: Vec<Timestamp>,
    /// Ticks that are missed.
    pub missed: Vec<MissedTicks>,
    /// Waiting ticks that newer ones replace, each with the reason.
    pub replaced: Vec<(Timestamp, String)>,
}

/// The end of a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickEnd {
    /// State before the end.
    pub from: TickState,
    /// State at the end: ended, missed or refused.
    pub to: TickState,
    /// Time of the end.
    pub at: Timestamp,
    /// Reason, if it is missed or refused.
    pub reason: Option<String>,
    /// Cost of the sweep, as far as known.
    pub spent: Option<Money>,
    /// Outcome as JSON.
    pub outcome: Option<String>,
    /// `true` if a gate has judged it; the schedule counts such nights.
    pub is_judged: bool,
    /// Generation of the sweep that has ended. The tick of one that was resumed since goes on.
    pub generation: Option<u32>,
}

/// A new message about a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNotice {
    /// Globally unique id; a second message with the same id is not written.
    pub id: String,
    /// Channel that it is sent to.
    pub channel: String,
    /// Body of the message.
    pub body: String,
}

/// A message about a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeRow {
    /// Id of the message, the same at every try.
    pub id: String,
    /// The schedule.
    pub schedule: ScheduleName,
    /// Channel that it is sent to.
    pub channel: String,
    /// Body of the message.
    pub body: String,
    /// Number of failed tries to send it.
    pub tries: u32,
}
