//! Schedules, their ticks, and the notices about them.
//!
//! A schedule's clock is advanced only by [`Ledger::admit_ticks`], which compares it with the expected value, and a tick changes its state
//! only from the given one. All calls of the leader carry its term, and have no effect under another one.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use regatta_proto::{Digest, Money, OwnerName, ScheduleName, SweepId};
use serde::{Deserialize, Serialize};

#[cfg(feature = "faults")]
use super::away;
use super::{Ledger, LedgerError, Term, each};

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

/// Schedules: calls of the API.
impl Ledger {
    /// Writes a schedule. An existing one with another document is replaced if it is the one that `replaces` names, as it was read before, by
    /// document, owner and time of writing; its clock then starts anew, and its owner stays.
    ///
    /// # Errors
    /// [`LedgerError::ObjectRemoved`] if an input of what would be there is not stored any more, or when the store fails.
    pub fn put_schedule<'a>(
        &'a self,
        new: &'a NewSchedule,
        replaces: Option<&'a ScheduleRow>,
    ) -> BoxFuture<'a, Result<PutSchedule, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.put_schedule(new, replaces)) })
    }

    /// All schedules, by name.
    ///
    /// # Errors
    /// When the store fails.
    pub fn schedules<'a>(&'a self) -> BoxFuture<'a, Result<Vec<ScheduleRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.schedules(None)) })
    }

    /// The schedule with this name; `None` if there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub fn schedule<'a>(&'a self, name: &'a ScheduleName) -> BoxFuture<'a, Result<Option<ScheduleRow>, LedgerError>> {
        Box::pin(async move { Ok(each!(self, ledger => ledger.schedules(Some(name)))?.pop()) })
    }

    /// Pauses a schedule, or continues it from `at`; ticks during the pause are never made up for. Returns `false` if there is no such
    /// schedule.
    ///
    /// # Errors
    /// When the store fails.
    pub fn pause_schedule<'a>(
        &'a self,
        name: &'a ScheduleName,
        paused: bool,
        at: Timestamp,
    ) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.pause_schedule(name, paused, at)) })
    }

    /// Deletes a schedule with its ticks and notices; its sweeps stay. Returns `false` if there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub fn delete_schedule<'a>(&'a self, name: &'a ScheduleName) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.delete_schedule(name)) })
    }

    /// Adds a tick that a person requests. Returns `false` if it exists already, `None` if there is no such schedule.
    ///
    /// # Errors
    /// When the store fails.
    pub fn add_tick<'a>(
        &'a self,
        name: &'a ScheduleName,
        at: Timestamp,
    ) -> BoxFuture<'a, Result<Option<bool>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.add_tick(name, at)) })
    }

    /// At most `limit` ticks of a schedule, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub fn ticks<'a>(&'a self, name: &'a ScheduleName, limit: u32) -> BoxFuture<'a, Result<Vec<TickRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.ticks(name, Some(limit))) })
    }

    /// Ticks of a schedule that are due or running, oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub fn open_ticks<'a>(&'a self, name: &'a ScheduleName) -> BoxFuture<'a, Result<Vec<TickRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.ticks(name, None)) })
    }

    /// Cost of the sweeps of a schedule's ticks since `since`.
    ///
    /// # Errors
    /// When the store fails.
    pub fn spent_since<'a>(
        &'a self,
        name: &'a ScheduleName,
        since: Timestamp,
    ) -> BoxFuture<'a, Result<Money, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.spent_since(name, since)) })
    }
}

/// Schedules: the leader's calls.
impl Ledger {
    /// Decides the ticks between two moments. Returns `false`, and changes nothing, if the schedule's clock has another value, it is paused
    /// or deleted, or `term` is over.
    ///
    /// # Errors
    /// When the store fails.
    pub fn admit_ticks<'a>(
        &'a self,
        name: &'a ScheduleName,
        admission: &'a Admission,
        notices: &'a [NewNotice],
        term: Term,
    ) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.admit_ticks(name, admission, notices, term)) })
    }

    /// Moves a tick from `due` to `running` with its sweep. Returns `false`, and changes nothing, if it is in another state, another tick
    /// of its schedule is running, or `term` is over. The caller that gets `true` writes the sweep.
    ///
    /// # Errors
    /// When the store fails.
    pub fn start_tick<'a>(
        &'a self,
        name: &'a ScheduleName,
        tick: Timestamp,
        sweep: (&'a SweepId, &'a Digest),
        at: Timestamp,
        term: Term,
    ) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.start_tick(name, tick, sweep, at, term)) })
    }

    /// Ends a tick and adds the notices about it. Returns `false`, and changes nothing, if it is in another state, or `term` is over.
    ///
    /// # Errors
    /// When the store fails.
    pub fn end_tick<'a>(
        &'a self,
        name: &'a ScheduleName,
        tick: Timestamp,
        end: &'a TickEnd,
        notices: &'a [NewNotice],
        term: Term,
    ) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.end_tick(name, tick, end, notices, term)) })
    }

    /// At most `limit` notices that are due by `now`, the longest waiting first.
    ///
    /// # Errors
    /// When the store fails.
    pub fn waiting_notices<'a>(
        &'a self,
        now: Timestamp,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<NoticeRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.waiting_notices(now, limit)) })
    }

    /// Records that a notice was sent.
    ///
    /// # Errors
    /// When the store fails.
    pub fn notice_sent<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.notice_sent(id)) })
    }

    /// Records that sending a notice failed. It is tried again at `next`, or never if that is `None`.
    ///
    /// # Errors
    /// When the store fails.
    pub fn notice_failed<'a>(
        &'a self,
        id: &'a str,
        problem: &'a str,
        next: Option<Timestamp>,
    ) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.notice_failed(id, problem, next)) })
    }
}
