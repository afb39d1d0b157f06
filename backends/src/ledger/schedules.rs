//! Schedules, their ticks, and the notices about them.
//!
//! A schedule's clock only moves by [`Ledger::admit_ticks`], which compares where it stood, and a tick only changes its state from the one
//! that is named. All that the leader does names its term, and has no effect under another one.

use std::fmt;
use std::str::FromStr;

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use regatta_proto::{Digest, Money, OwnerName, ScheduleName, SweepId};
use serde::{Deserialize, Serialize};

#[cfg(feature = "faults")]
use super::away;
use super::{Ledger, LedgerError, Term, each};

/// Age at which notices are forgotten that were sent or given up.
pub(super) const NOTICES_KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRow {
    /// Name.
    pub name: ScheduleName,
    /// The request, as JSON.
    pub document: String,
    /// `true` while it starts only sweeps that are asked for by hand.
    pub is_paused: bool,
    /// When it was created, or last replaced.
    pub created_at: Timestamp,
    /// Every tick up to here is decided.
    pub decided_until: Timestamp,
    /// Nights that a gate has judged.
    pub judged: u32,
    /// The owner, also of its sweeps; `None` for schedules of versions before owners.
    pub owner: Option<OwnerName>,
}

/// Effect of writing a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PutSchedule {
    /// There was none of that name.
    Created,
    /// It was there, and is the same.
    Unchanged,
    /// It has another document now; its ticks stay.
    Replaced,
    /// It is there with another document, which was left alone.
    Differs,
}

/// Where a tick stands. `due` → `running` → `ended`; or `due` → `missed`, and to `refused` from either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TickState {
    /// Waits for its turn.
    Due,
    /// The sweep is written, or is about to be.
    Running,
    /// The sweep has ended.
    Ended,
    /// The time went by, and the schedule's catch-up policy does not make up for it.
    Missed,
    /// The sweep could not be planned or paid for.
    Refused,
}

impl TickState {
    const ALL: [Self; 5] = [Self::Due, Self::Running, Self::Ended, Self::Missed, Self::Refused];

    /// The word used in SQL, documents and metrics.
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

/// A moment at which a schedule wants a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickRow {
    /// The schedule.
    pub schedule: ScheduleName,
    /// The moment; with the schedule's name it identifies the tick.
    pub at: Timestamp,
    /// Where it stands.
    pub state: TickState,
    /// `true` if a person asked for it, not the clock.
    pub by_hand: bool,
    /// The first of the ticks that it stands for, where it is missed.
    pub since: Timestamp,
    /// Number of ticks that it stands for, at least 1.
    pub stands_for: u32,
    /// Why it is missed or refused.
    pub reason: Option<String>,
    /// The sweep of the tick.
    pub sweep: Option<SweepId>,
    /// Digest of its sweep's lock.
    pub lock: Option<Digest>,
    /// When its sweep was planned.
    pub started_at: Option<Timestamp>,
    /// When it came to its end.
    pub ended_at: Option<Timestamp>,
    /// Cost of the sweep, as far as known.
    pub spent: Option<Money>,
    /// Outcome, as JSON.
    pub outcome: Option<String>,
}

/// Consecutive ticks that are missed for one reason; one row stands for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissedTicks {
    /// The last of them.
    pub at: Timestamp,
    /// The first of them.
    pub since: Timestamp,
    /// Number of them, at least 1.
    pub stands_for: u32,
    /// Why, for people.
    pub reason: String,
}

/// Decisions about the ticks between two moments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// Where the schedule's clock stood.
    pub from: Timestamp,
    /// Where it stands afterwards.
    pub until: Timestamp,
    /// Ticks that wait for their turn from now on.
    pub due: Vec<Timestamp>,
    /// Ticks that never will.
    pub missed: Vec<MissedTicks>,
    /// Ticks that waited, and that newer ones replace, with why.
    pub replaced: Vec<(Timestamp, String)>,
}

/// The end of a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickEnd {
    /// The state it had.
    pub from: TickState,
    /// The state it gets: ended, missed or refused.
    pub to: TickState,
    /// When.
    pub at: Timestamp,
    /// Why, where it is missed or refused.
    pub reason: Option<String>,
    /// Cost of the sweep, as far as known.
    pub spent: Option<Money>,
    /// Outcome, as JSON.
    pub outcome: Option<String>,
    /// `true` if a gate has judged it: the schedule counts such nights.
    pub is_judged: bool,
}

/// A message about a tick that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNotice {
    /// Unique for ever; a second one is not written.
    pub id: String,
    /// Where it goes.
    pub channel: String,
    /// Body of the message.
    pub body: String,
}

/// A message about a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeRow {
    /// Id of the message, the same however often it is sent.
    pub id: String,
    /// The schedule.
    pub schedule: ScheduleName,
    /// Where it goes.
    pub channel: String,
    /// Body of the message.
    pub body: String,
    /// Times that sending it has failed.
    pub tries: u32,
}

/// Schedules: calls of whoever keeps them.
impl Ledger {
    /// Writes a schedule of `owner`. One that is there with another document is replaced if `replaces`, its clock then begins at `at`; it
    /// keeps its owner.
    ///
    /// # Errors
    /// When the store fails.
    pub fn put_schedule<'a>(
        &'a self,
        name: &'a ScheduleName,
        document: &'a str,
        owner: Option<&'a OwnerName>,
        at: Timestamp,
        replaces: bool,
    ) -> BoxFuture<'a, Result<PutSchedule, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.put_schedule(name, document, owner, at, replaces)) })
    }

    /// All schedules, by name.
    ///
    /// # Errors
    /// When the store fails.
    pub fn schedules<'a>(&'a self) -> BoxFuture<'a, Result<Vec<ScheduleRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.schedules(None)) })
    }

    /// A schedule; `None` when there is none of that name.
    ///
    /// # Errors
    /// When the store fails.
    pub fn schedule<'a>(&'a self, name: &'a ScheduleName) -> BoxFuture<'a, Result<Option<ScheduleRow>, LedgerError>> {
        Box::pin(async move { Ok(each!(self, ledger => ledger.schedules(Some(name)))?.pop()) })
    }

    /// Pauses a schedule, or lets it go on from `at`: ticks of the pause are never made up for. Says whether there is such a schedule.
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

    /// Removes a schedule with its ticks and notices, and says whether there was one. Its sweeps stay.
    ///
    /// # Errors
    /// When the store fails.
    pub fn delete_schedule<'a>(&'a self, name: &'a ScheduleName) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.delete_schedule(name)) })
    }

    /// Adds a tick that somebody asks for, and says whether it is new. `None` when there is no such schedule.
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

    /// Lets the ended tick of a sweep run again, because somebody resumes the sweep. Nothing happens to other sweeps.
    ///
    /// # Errors
    /// When the store fails.
    pub fn reopen_tick<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.reopen_tick(sweep)) })
    }

    /// Money that the sweeps of a schedule's ticks since `since` have cost.
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
    /// Decides the ticks between two moments, and says whether it did: not when the schedule's clock stands elsewhere, when it is paused or
    /// gone, nor when `term` is over.
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

    /// Moves a tick from `due` to `running` with its sweep, and says whether it did: not when it stands elsewhere, when another tick of its
    /// schedule is running, nor when `term` is over. Whoever is told `true` writes the sweep.
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

    /// Ends a tick, with the notices of that, and says whether it did: not when it stands elsewhere, nor when `term` is over.
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

    /// At most `limit` notices that are to be sent by `now`, the longest waiting first.
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

    /// Notes that a notice was sent.
    ///
    /// # Errors
    /// When the store fails.
    pub fn notice_sent<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.notice_sent(id)) })
    }

    /// Notes that sending a notice has failed, and that it is tried again at `next`, or never.
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
