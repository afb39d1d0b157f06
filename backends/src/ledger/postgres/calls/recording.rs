//! Attempts and sessions as they are reported.

use std::collections::BTreeSet;

use jiff::Timestamp;
use regatta_proto::{Attempt, AttemptTotals, OpenAttempt, Partition, SessionKey, SweepId, WorkerId};

use crate::ledger::postgres::pool::{Fault, write};
use crate::ledger::postgres::{PostgresLedger, attempts, held, planning, sessions};
use crate::ledger::{Held, LedgerError, Recorded, SessionRecord, ToldBy};

impl PostgresLedger {
    pub(crate) async fn record(&self, records: Vec<SessionRecord>) -> Result<Vec<Recorded>, LedgerError> {
        write!(self.0, "record sessions", tx => sessions::record(tx, &records))
    }

    pub(crate) async fn record_progress(
        &self,
        reports: Vec<(OpenAttempt, WorkerId)>,
    ) -> Result<BTreeSet<SweepId>, LedgerError> {
        write!(self.0, "record running attempts", tx => attempts::record_progress(tx, &reports))
    }

    pub(crate) async fn record_held(&self, held: BTreeSet<Held>) -> Result<(), LedgerError> {
        write!(self.0, "record what workers hold", tx => held::record(tx, &held))
    }

    pub(crate) async fn record_handover(
        &self,
        key: &SessionKey,
        attempt: Attempt,
        totals: AttemptTotals,
        told_by: ToldBy,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "record a hand-over", tx => {
            attempts::record_handover(tx, key, &attempt, totals, told_by)
        })
    }

    pub(crate) async fn echo(&self, sweep: &SweepId, number: u64, partition: Partition) -> Result<(), LedgerError> {
        write!(self.0, "note an echo", tx => planning::echo(tx, sweep, number, partition))
    }

    pub(crate) async fn close_open_attempts(&self, sweep: &SweepId, at: Timestamp) -> Result<u64, LedgerError> {
        write!(self.0, "close open attempts", tx => attempts::close_open(tx, sweep, at))
    }
}
