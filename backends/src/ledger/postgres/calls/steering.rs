//! Sweeps that people steer while they run.

use regatta_proto::{EndpointName, Money, SweepId};

use crate::ledger::LedgerError;
use crate::ledger::postgres::pool::{Fault, write};
use crate::ledger::postgres::{PostgresLedger, steering};

impl PostgresLedger {
    pub(crate) async fn pause_sweep(&self, sweep: &SweepId) -> Result<bool, LedgerError> {
        write!(self.0, "pause a sweep", tx => steering::pause(tx, sweep))
    }

    pub(crate) async fn go_on(&self, sweep: &SweepId, budget: Option<Money>) -> Result<bool, LedgerError> {
        write!(self.0, "have a sweep go on", tx => steering::go_on(tx, sweep, budget))
    }

    pub(crate) async fn limit_concurrency(
        &self,
        sweep: &SweepId,
        endpoint: &EndpointName,
        calls: Option<u32>,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "limit the calls of a sweep", tx => steering::limit_concurrency(tx, sweep, endpoint, calls))
    }
}
