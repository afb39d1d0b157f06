//! Sweeps and sessions that run again.

use std::time::Duration;

use regatta_proto::{Money, SweepId, SweepState};

use crate::ledger::sqlite::{SqliteLedger, attempts, resume};
use crate::ledger::{LedgerError, Quota, Reopened, Term};

impl SqliteLedger {
    pub(crate) async fn check_reopening(&self, sweep: &SweepId, quota: Quota) -> Result<(), LedgerError> {
        let sweep = sweep.clone();
        self.0.read("check the quota of a resume", move |tx| resume::check(tx, &sweep, quota)).await
    }

    pub(crate) async fn reopen_unmeasured(&self, sweep: &SweepId, quota: Quota) -> Result<Reopened, LedgerError> {
        let sweep = sweep.clone();
        self.0.write("reopen a sweep", move |tx| resume::reopen(tx, &sweep, quota)).await
    }

    pub(crate) async fn resume(
        &self,
        sweep: &SweepId,
        from: SweepState,
        budget: Option<Money>,
        quota: Quota,
    ) -> Result<Option<Reopened>, LedgerError> {
        let sweep = sweep.clone();
        self.0.write("resume a sweep", move |tx| resume::resume(tx, &sweep, from, budget, quota)).await
    }

    pub(crate) async fn reset_dispatch(
        &self,
        sweep: &SweepId,
        silent_for: Duration,
        term: Term,
    ) -> Result<Option<u64>, LedgerError> {
        let (sweep, presence) = (sweep.clone(), self.1.clone());
        self.0
            .write("reset what was dispatched of a sweep", move |tx| {
                if !presence.is_leading(term) {
                    return Ok(None);
                }
                resume::reset(tx, &sweep, &presence, silent_for).map(Some)
            })
            .await
    }

    pub(crate) async fn forget_workers(&self, sweep: &SweepId) -> Result<(), LedgerError> {
        let (sweep, presence) = (sweep.clone(), self.1.clone());
        self.0
            .read("read attempts without an end", move |tx| {
                presence.forget(&sweep, &attempts::all_unended(tx, &sweep)?);
                Ok(())
            })
            .await
    }
}
