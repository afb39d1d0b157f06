//! Sweeps of which the ledger knows, as pilots of others.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use regatta_backends::{Ledger, SessionRow};
use regatta_catalog::Sweep;
use regatta_proto::CellIndex;
use regatta_report::{Pilot, Tabulation, count_cached};

use crate::finish::FinishError;

/// Reads what `sweep` says as a pilot. It need not have ended.
pub fn read_pilot<'a>(ledger: &'a Ledger, sweep: &'a Sweep) -> BoxFuture<'a, Result<Pilot, FinishError>> {
    Box::pin(async move {
        let mut tabulation = Tabulation::new(sweep, &ledger.cell_progress(&sweep.id).await?)?;
        let mut sessions: BTreeMap<CellIndex, Vec<SessionRow>> = BTreeMap::new();
        for cell in sweep.cells() {
            let rows = ledger.sessions(&sweep.id, cell.index).await?;
            tabulation.add(cell, &rows)?;
            sessions.insert(cell.index, rows);
        }
        let (mut attempts, calls) = (ledger.attempts(&sweep.id).await?, ledger.call_sums(&sweep.id).await?);
        count_cached(&mut attempts, &calls);
        let bills = ledger.costs_by_judge(&sweep.id).await?;
        Ok(Pilot::new(sweep, tabulation, &sessions, &attempts, &bills))
    })
}
