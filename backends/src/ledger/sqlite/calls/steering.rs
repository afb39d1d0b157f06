//! Sweeps that people steer while they run.

use regatta_proto::{EndpointName, Money, SweepId};

use crate::ledger::LedgerError;
use crate::ledger::sqlite::{SqliteLedger, steering};

impl SqliteLedger {
    pub(crate) async fn pause_sweep(&self, sweep: &SweepId) -> Result<bool, LedgerError> {
        let sweep = sweep.clone();
        self.0.write("pause a sweep", move |tx| steering::pause(tx, &sweep)).await
    }

    pub(crate) async fn go_on(&self, sweep: &SweepId, budget: Option<Money>) -> Result<bool, LedgerError> {
        let sweep = sweep.clone();
        self.0.write("have a sweep go on", move |tx| steering::go_on(tx, &sweep, budget)).await
    }

    pub(crate) async fn limit_concurrency(
        &self,
        sweep: &SweepId,
        endpoint: &EndpointName,
        calls: Option<u32>,
    ) -> Result<bool, LedgerError> {
        let (sweep, endpoint) = (sweep.clone(), endpoint.clone());
        self.0
            .write("limit the calls of a sweep", move |tx| steering::limit_concurrency(tx, &sweep, &endpoint, calls))
            .await
    }
}
