//! Sweeps and sessions that run again.

use std::time::Duration;

use regatta_proto::{Money, SweepId, SweepState};

use crate::ledger::postgres::pool::{Fault, read, write};
use crate::ledger::postgres::{PostgresLedger, resume};
use crate::ledger::{LedgerError, Quota, Reopened, Term};

impl PostgresLedger {
    pub(crate) async fn check_reopening(&self, sweep: &SweepId, quota: Quota) -> Result<(), LedgerError> {
        read!(self.0, "check the quota of a resume", client => resume::check(client, sweep, quota))
    }

    pub(crate) async fn reopen_unmeasured(&self, sweep: &SweepId, quota: Quota) -> Result<Reopened, LedgerError> {
        write!(self.0, "reopen a sweep", tx => resume::reopen(tx, sweep, quota))
    }

    pub(crate) async fn resume(
        &self,
        sweep: &SweepId,
        from: SweepState,
        budget: Option<Money>,
        quota: Quota,
    ) -> Result<Option<Reopened>, LedgerError> {
        write!(self.0, "resume a sweep", tx => resume::resume(tx, sweep, from, budget, quota))
    }

    pub(crate) async fn reset_dispatch(
        &self,
        sweep: &SweepId,
        silent_for: Duration,
        term: Term,
    ) -> Result<Option<u64>, LedgerError> {
        write!(self.0, "reset what was dispatched of a sweep", tx => resume::reset(tx, sweep, silent_for, term))
    }

    pub(crate) async fn forget_workers(&self, sweep: &SweepId) -> Result<(), LedgerError> {
        write!(self.0, "forget who works on a sweep", tx => resume::forget_workers(tx, sweep))
    }
}
