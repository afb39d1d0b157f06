//! Attempts and sessions as they are reported.

use std::collections::BTreeSet;

use jiff::Timestamp;
use regatta_proto::{Attempt, AttemptTotals, OpenAttempt, Partition, SessionKey, SweepId, WorkerId};

use super::{LedgerFuture, each};
use crate::ledger::{Held, Ledger, Recorded, SessionRecord, ToldBy};

/// Recording: the scorer's calls, and the end of what never reports.
impl Ledger {
    /// Records sessions, and returns the classification of each, in the given order.
    ///
    /// # Errors
    /// When the store fails.
    pub fn record(&self, records: Vec<SessionRecord>) -> LedgerFuture<'_, Vec<Recorded>> {
        each!(self.record(records))
    }

    /// Stores the spending of running attempts so far. Attempts that have ended are not changed, nor are those with larger totals in store.
    /// Attempts of sweeps and cells that do not exist are left out, because one report tells of many sweeps, and one of them may have been
    /// removed; returns these sweeps.
    ///
    /// # Errors
    /// When the store fails.
    pub fn record_progress(&self, reports: Vec<(OpenAttempt, WorkerId)>) -> LedgerFuture<'_, BTreeSet<SweepId>> {
        each!(self.record_progress(reports))
    }

    /// Records that workers hold this work now; work of sweeps that do not exist is left out. A batch tells of all attempts that have its id
    /// ([`AttemptId::batch`](regatta_proto::AttemptId::batch)), as if each had been reported; a batch of before a resume
    /// says that none of them runs.
    ///
    /// # Errors
    /// When the store fails.
    pub fn record_held(&self, held: BTreeSet<Held>) -> LedgerFuture<'_, ()> {
        each!(self.record_held(held))
    }

    /// Stores the spending of an attempt, and the possible cost of its failed tries, when another worker took over. Has no effect when
    /// repeated, or after the attempt's result. Its calls are counted with the attempt that continues.
    ///
    /// The attempt knows best what it has spent: its own report replaces that of its successor, whichever comes first. A successor knows of
    /// the calls up to a checkpoint; where the attempt's progress is ahead of that, it stays, and its calls in flight may be spent.
    ///
    /// Returns `false`, and changes nothing, if there is no such sweep or cell.
    ///
    /// # Errors
    /// When the store fails.
    pub fn record_handover<'a>(
        &'a self,
        key: &'a SessionKey,
        attempt: Attempt,
        totals: AttemptTotals,
        told_by: ToldBy,
    ) -> LedgerFuture<'a, bool> {
        each!(self.record_handover(key, attempt, totals, told_by))
    }

    /// Records that all reports of `partition` before the question `number` have been recorded. The sweep has it as its echo once this is so of each
    /// partition; a number lower than the last one changes nothing.
    ///
    /// # Errors
    /// When the store fails.
    pub fn echo<'a>(&'a self, sweep: &'a SweepId, number: u64, partition: Partition) -> LedgerFuture<'a, ()> {
        each!(self.echo(sweep, number, partition))
    }

    /// Marks all open attempts of a sweep as lost, and returns their number. To be called when the sweep ends.
    ///
    /// # Errors
    /// When the store fails.
    pub fn close_open_attempts<'a>(&'a self, sweep: &'a SweepId, at: Timestamp) -> LedgerFuture<'a, u64> {
        each!(self.close_open_attempts(sweep, at))
    }
}
