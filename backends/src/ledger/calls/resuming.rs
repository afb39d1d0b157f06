//! Sweeps and sessions that run again.

use std::time::Duration;

use regatta_proto::{Money, SweepId, SweepState};

use super::{LedgerFuture, each};
use crate::ledger::{Ledger, Quota, Reopened, Term};

/// Resuming: calls of the coordinator.
impl Ledger {
    /// Fails if [`Ledger::reopen_unmeasured`] would exceed the quota at this moment, or the sweep is being removed; changes nothing.
    ///
    /// # Errors
    /// [`LedgerError::QuotaExceeded`](super::LedgerError::QuotaExceeded), [`LedgerError::Removed`](super::LedgerError::Removed), or when
    /// the store fails.
    pub fn check_reopening<'a>(&'a self, sweep: &'a SweepId, quota: Quota) -> LedgerFuture<'a, ()> {
        each!(self.check_reopening(sweep, quota))
    }

    /// Prepares a resume of a sweep and raises its generation. The rows of sessions that were not measured are deleted, and their attempts
    /// become waste. Sessions whose judge was unavailable and whose transcript is stored wait again. Questions stay claimed as they are: workers
    /// may wait for their answers. In every cell with missing sessions, all shards become planned again, and the number of dispatched sessions is set to that of
    /// recorded ones.
    ///
    /// The rows of sessions that the budget ended ([`Cause::Budget`](regatta_proto::Cause::Budget)) are deleted too. If any of their calls
    /// was answered, their attempt becomes handed over instead of waste, and [`Ledger::continuations`] returns its transcript.
    ///
    /// Sessions that begin anew are granted to the sweep a second time, from the lower of its owner's quota and `quota`. Not those that
    /// never ran, which were granted with the sweep, nor those that the budget ended, which go on. A sweep without an owner is granted all.
    ///
    /// # Errors
    /// [`LedgerError::QuotaExceeded`](super::LedgerError::QuotaExceeded) or [`LedgerError::Removed`](super::LedgerError::Removed), which
    /// change nothing, or when the store fails.
    pub fn reopen_unmeasured<'a>(&'a self, sweep: &'a SweepId, quota: Quota) -> LedgerFuture<'a, Reopened> {
        each!(self.reopen_unmeasured(sweep, quota))
    }

    /// Has a sweep run again that is in the end `from`, in one transaction: prepares it as [`Ledger::reopen_unmeasured`] does, raises its
    /// budget to `budget` if one is given (the present one is accepted as no change), and has the ended tick of a schedule run again that it
    /// is of. `None` if it is not in `from`, which changes nothing: so whoever repeats what has failed resumes once.
    ///
    /// # Errors
    /// [`LedgerError::BudgetNotRaised`](super::LedgerError::BudgetNotRaised) if the present budget is higher or without limit, and
    /// [`LedgerError::QuotaExceeded`](super::LedgerError::QuotaExceeded), which change nothing, or when the store fails.
    pub fn resume<'a>(
        &'a self,
        sweep: &'a SweepId,
        from: SweepState,
        budget: Option<Money>,
        quota: Quota,
    ) -> LedgerFuture<'a, Option<Reopened>> {
        each!(self.resume(sweep, from, budget, quota))
    }

    /// Resets the dispatch of all sessions without a result, for jobs that were lost with their queue, and returns the number of sessions
    /// that are planned again. `None` if `term` is over, which changes nothing. If such jobs are alive after all, some sessions run twice, and
    /// the surplus attempts are recorded as waste.
    ///
    /// Questions without an answer may be claimed again, except those that were claimed, or last told of, within `silent_for`: a scorer may have
    /// asked them since the jobs were found to be lost. With zero there are no such.
    ///
    /// # Errors
    /// When the sweep is unknown or the store fails.
    pub fn reset_dispatch<'a>(
        &'a self,
        sweep: &'a SweepId,
        silent_for: Duration,
        term: Term,
    ) -> LedgerFuture<'a, Option<u64>> {
        each!(self.reset_dispatch(sweep, silent_for, term))
    }

    /// Forgets that workers have told of attempts and batches of the sweep: they have ended with their process. None of its sessions counts as under
    /// way any more, until somebody tells of one.
    ///
    /// # Errors
    /// When the sweep is unknown or the store fails.
    pub fn forget_workers<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, ()> {
        each!(self.forget_workers(sweep))
    }
}
