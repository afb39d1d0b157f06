//! Sweeps and their states, from the plan to the removal.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use regatta_proto::{Money, SweepId, SweepState};

use super::{LedgerFuture, each};
use crate::ledger::{Created, Ledger, NewSweep, PageMark, SweepRow, Term};

/// Sweeps: calls of the coordinator and its API.
impl Ledger {
    /// Writes a sweep with its cells and shards. An existing sweep with the same id is left unchanged.
    ///
    /// # Errors
    /// [`LedgerError::QuotaExceeded`](super::LedgerError::QuotaExceeded), [`LedgerError::Removed`](super::LedgerError::Removed) for an id
    /// that [`Ledger::removed`] names, [`LedgerError::ObjectRemoved`](super::LedgerError::ObjectRemoved) if one of its inputs is not there
    /// any more, when a shard names a cell that is not among the sweep's, or when the store fails.
    pub fn create_sweep(&self, sweep: NewSweep) -> LedgerFuture<'_, Created> {
        each!(self.create_sweep(sweep))
    }

    /// The sweep with this id; `None` if there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub fn sweep<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, Option<SweepRow>> {
        each!(self.sweep(sweep))
    }

    /// All sweeps, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub fn sweeps(&self) -> LedgerFuture<'_, Vec<SweepRow>> {
        each!(self.sweeps())
    }

    /// At most `limit` sweeps that come after `after` (`None`: from the newest on), newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub fn sweeps_after<'a>(&'a self, after: Option<&'a PageMark>, limit: u32) -> LedgerFuture<'a, Vec<SweepRow>> {
        each!(self.sweeps_after(after, limit))
    }

    /// Moves a sweep to the state `to` if its state is in `from`, and returns `true` if it did. Of several concurrent callers, one
    /// succeeds. If `to` is an end, `at` is stored as its time.
    ///
    /// # Errors
    /// [`LedgerError::Removed`](super::LedgerError::Removed) for a sweep that is to run while it is being removed, or when the store fails.
    pub fn transition<'a>(
        &'a self,
        sweep: &'a SweepId,
        from: &'a [SweepState],
        to: SweepState,
        at: Timestamp,
    ) -> LedgerFuture<'a, bool> {
        each!(self.transition(sweep, from, to, at))
    }

    /// Moves a sweep from `running` to `tabulating`, and stores the total that its account has granted. Returns `false`, and changes
    /// nothing, if it is in another state, was resumed since `generation`, has another budget than `budget`, or `term` is over.
    ///
    /// # Errors
    /// When the store fails.
    pub fn begin_tabulating<'a>(
        &'a self,
        sweep: &'a SweepId,
        generation: u32,
        budget: Option<Money>,
        granted: Option<Money>,
        term: Term,
    ) -> LedgerFuture<'a, bool> {
        each!(self.begin_tabulating(sweep, generation, budget, granted, term))
    }

    /// Stores the total that the account of a sweep has granted, if the sweep ends in another way.
    ///
    /// # Errors
    /// When there is no such sweep, or the store fails.
    pub fn set_granted<'a>(&'a self, sweep: &'a SweepId, granted: Option<Money>) -> LedgerFuture<'a, ()> {
        each!(self.set_granted(sweep, granted))
    }

    /// Notes that everything is written that `sweep` leaves behind after so many resumes. An older note changes nothing.
    ///
    /// # Errors
    /// When there is no such sweep, or the store fails.
    pub fn note_tabulated<'a>(&'a self, sweep: &'a SweepId, generation: u32) -> LedgerFuture<'a, ()> {
        each!(self.note_tabulated(sweep, generation))
    }

    /// Begins the removal of an ended sweep: from now on it cannot be resumed, so that its files may go before its rows. Returns `false`, and
    /// changes nothing, if there is no such sweep, it is running, or it was resumed since it had this `generation`. Idempotent.
    ///
    /// # Errors
    /// When the store fails.
    pub fn begin_removal<'a>(&'a self, sweep: &'a SweepId, generation: u32) -> LedgerFuture<'a, bool> {
        each!(self.begin_removal(sweep, generation))
    }

    /// The members of `sweeps` that were removed, or whose removal has begun.
    ///
    /// # Errors
    /// When the store fails.
    pub fn removed<'a>(&'a self, sweeps: &'a BTreeSet<SweepId>) -> LedgerFuture<'a, BTreeSet<SweepId>> {
        each!(self.removed(sweeps))
    }

    /// `true` if workers have told within the last `within` of sessions of `sweep` without a result, of batches or of questions. What runs
    /// goes on when its sweep ends.
    ///
    /// # Errors
    /// When the store fails.
    pub fn is_alive<'a>(&'a self, sweep: &'a SweepId, within: Duration) -> LedgerFuture<'a, bool> {
        each!(self.is_alive(sweep, within))
    }

    /// Deletes an ended sweep with its rows; verdicts stay, because other sweeps share them. Its id is not used again. Returns `false` if
    /// there is no such sweep, or it is running.
    ///
    /// # Errors
    /// When the store fails.
    pub fn drop_sweep<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, bool> {
        each!(self.drop_sweep(sweep))
    }
}
