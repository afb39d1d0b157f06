//! Schedules, their ticks and notices.

use jiff::Timestamp;
use regatta_proto::{Digest, Money, ScheduleName, SweepId};

use super::{LedgerFuture, each};
use crate::ledger::{
    Admission, Ledger, NewNotice, NewSchedule, NoticeRow, PutSchedule, ScheduleRow, Term, TickEnd, TickRow,
};

/// Schedules: calls of the API.
impl Ledger {
    /// Writes a schedule. An existing one with another document is replaced if it is the one that `replaces` names, as it was read before, by
    /// document, owner and time of writing; its clock then starts anew, and its owner stays.
    ///
    /// # Errors
    /// [`LedgerError::ObjectRemoved`](super::LedgerError::ObjectRemoved) if an input of what would be there is not stored any more, or when
    /// the store fails.
    pub fn put_schedule<'a>(
        &'a self,
        new: &'a NewSchedule,
        replaces: Option<&'a ScheduleRow>,
    ) -> LedgerFuture<'a, PutSchedule> {
        each!(self.put_schedule(new, replaces))
    }

    /// All schedules, by name.
    ///
    /// # Errors
    /// When the store fails.
    pub fn schedules(&self) -> LedgerFuture<'_, Vec<ScheduleRow>> {
        each!(self.schedules(None))
    }

    /// At most `limit` schedules whose names come after `after`, by name.
    ///
    /// # Errors
    /// When the store fails.
    pub fn schedules_after<'a>(
        &'a self,
        after: Option<&'a ScheduleName>,
        limit: u32,
    ) -> LedgerFuture<'a, Vec<ScheduleRow>> {
        each!(self.schedules_after(after, limit))
    }

    /// The schedule with this name; `None` if there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub fn schedule<'a>(&'a self, name: &'a ScheduleName) -> LedgerFuture<'a, Option<ScheduleRow>> {
        Box::pin(async move { Ok(each!(self.schedules(Some(name))).await?.pop()) })
    }

    /// Pauses a schedule, or continues it from `at`; ticks during the pause are never made up for. Returns `false` if there is no such
    /// schedule.
    ///
    /// # Errors
    /// When the store fails.
    pub fn pause_schedule<'a>(&'a self, name: &'a ScheduleName, paused: bool, at: Timestamp) -> LedgerFuture<'a, bool> {
        each!(self.pause_schedule(name, paused, at))
    }

    /// Deletes a schedule with its ticks and notices; its sweeps stay. Returns `false` if there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub fn delete_schedule<'a>(&'a self, name: &'a ScheduleName) -> LedgerFuture<'a, bool> {
        each!(self.delete_schedule(name))
    }

    /// Adds a tick that a person requests. Returns `false` if it exists already, `None` if there is no such schedule.
    ///
    /// # Errors
    /// When the store fails.
    pub fn add_tick<'a>(&'a self, name: &'a ScheduleName, at: Timestamp) -> LedgerFuture<'a, Option<bool>> {
        each!(self.add_tick(name, at))
    }

    /// At most `limit` ticks of a schedule, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub fn ticks<'a>(&'a self, name: &'a ScheduleName, limit: u32) -> LedgerFuture<'a, Vec<TickRow>> {
        each!(self.ticks(name, Some(limit)))
    }

    /// Ticks of a schedule that are due or running, oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub fn open_ticks<'a>(&'a self, name: &'a ScheduleName) -> LedgerFuture<'a, Vec<TickRow>> {
        each!(self.ticks(name, None))
    }

    /// Cost of the sweeps of a schedule's ticks since `since`.
    ///
    /// # Errors
    /// When the store fails.
    pub fn spent_since<'a>(&'a self, name: &'a ScheduleName, since: Timestamp) -> LedgerFuture<'a, Money> {
        each!(self.spent_since(name, since))
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
    ) -> LedgerFuture<'a, bool> {
        each!(self.admit_ticks(name, admission, notices, term))
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
    ) -> LedgerFuture<'a, bool> {
        each!(self.start_tick(name, tick, sweep, at, term))
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
    ) -> LedgerFuture<'a, bool> {
        each!(self.end_tick(name, tick, end, notices, term))
    }

    /// At most `limit` notices that are due by `now`, the longest waiting first.
    ///
    /// # Errors
    /// When the store fails.
    pub fn waiting_notices(&self, now: Timestamp, limit: u32) -> LedgerFuture<'_, Vec<NoticeRow>> {
        each!(self.waiting_notices(now, limit))
    }

    /// Records that a notice was sent.
    ///
    /// # Errors
    /// When the store fails.
    pub fn notice_sent<'a>(&'a self, id: &'a str) -> LedgerFuture<'a, ()> {
        each!(self.notice_sent(id))
    }

    /// Records that sending a notice failed. It is tried again at `next`, or never if that is `None`.
    ///
    /// # Errors
    /// When the store fails.
    pub fn notice_failed<'a>(&'a self, id: &'a str, problem: &'a str, next: Option<Timestamp>) -> LedgerFuture<'a, ()> {
        each!(self.notice_failed(id, problem, next))
    }
}
