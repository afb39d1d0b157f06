//! Attempts and sessions as they are reported.

use std::collections::BTreeSet;

use jiff::Timestamp;
use regatta_proto::{Attempt, AttemptTotals, OpenAttempt, Partition, SessionKey, SweepId, WorkerId};

use crate::ledger::sqlite::{SqliteLedger, attempts, planning, sessions};
use crate::ledger::{Held, LedgerError, Recorded, SessionRecord, ToldBy};

impl SqliteLedger {
    pub(crate) async fn record(&self, records: Vec<SessionRecord>) -> Result<Vec<Recorded>, LedgerError> {
        self.0.write("record sessions", move |tx| sessions::record(tx, &records)).await
    }

    pub(crate) async fn record_progress(
        &self,
        reports: Vec<(OpenAttempt, WorkerId)>,
    ) -> Result<BTreeSet<SweepId>, LedgerError> {
        self.1.see(reports.iter().map(|(open, _)| open.id.clone()));
        self.0.write("record running attempts", move |tx| attempts::record_progress(tx, &reports)).await
    }

    pub(crate) async fn record_held(&self, held: BTreeSet<Held>) -> Result<(), LedgerError> {
        self.1.hold(held);
        Ok(())
    }

    pub(crate) async fn record_handover(
        &self,
        key: &SessionKey,
        attempt: Attempt,
        totals: AttemptTotals,
        told_by: ToldBy,
    ) -> Result<bool, LedgerError> {
        let key = key.clone();
        self.1.see([attempt.id.clone()]);
        self.0
            .write("record a hand-over", move |tx| attempts::record_handover(tx, &key, &attempt, totals, told_by))
            .await
    }

    pub(crate) async fn echo(&self, sweep: &SweepId, number: u64, partition: Partition) -> Result<(), LedgerError> {
        let sweep = sweep.clone();
        self.0.write("note an echo", move |tx| planning::echo(tx, &sweep, number, partition)).await
    }

    pub(crate) async fn close_open_attempts(&self, sweep: &SweepId, at: Timestamp) -> Result<u64, LedgerError> {
        let sweep = sweep.clone();
        self.0.write("close open attempts", move |tx| attempts::close_open(tx, &sweep, at)).await
    }
}
