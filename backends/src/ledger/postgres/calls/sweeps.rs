//! Sweeps and their states, from the plan to the removal.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use regatta_proto::{Money, SweepId, SweepState};

use crate::ledger::postgres::pool::{Fault, read, write};
use crate::ledger::postgres::{PostgresLedger, planning, removing};
use crate::ledger::{Created, LedgerError, NewSweep, PageMark, SweepRow, Term};

impl PostgresLedger {
    pub(crate) async fn create_sweep(&self, sweep: NewSweep) -> Result<Created, LedgerError> {
        write!(self.0, "create a sweep", tx => planning::create(tx, &sweep))
    }

    pub(crate) async fn sweep(&self, sweep: &SweepId) -> Result<Option<SweepRow>, LedgerError> {
        read!(self.0, "read a sweep", client => planning::sweeps(client, Some(sweep))).map(|mut found| found.pop())
    }

    pub(crate) async fn sweeps(&self) -> Result<Vec<SweepRow>, LedgerError> {
        read!(self.0, "read the sweeps", client => planning::sweeps(client, None))
    }

    pub(crate) async fn sweeps_after(
        &self,
        after: Option<&PageMark>,
        limit: u32,
    ) -> Result<Vec<SweepRow>, LedgerError> {
        read!(self.0, "read the sweeps", client => planning::sweeps_after(client, after, limit))
    }

    pub(crate) async fn transition(
        &self,
        sweep: &SweepId,
        from: &[SweepState],
        to: SweepState,
        at: Timestamp,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "change a sweep's state", tx => planning::transition(tx, sweep, from, to, at))
    }

    pub(crate) async fn begin_tabulating(
        &self,
        sweep: &SweepId,
        generation: u32,
        budget: Option<Money>,
        granted: Option<Money>,
        term: Term,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "end a sweep's run", tx => planning::begin_tabulating(tx, sweep, generation, budget, granted, term))
    }

    pub(crate) async fn set_granted(&self, sweep: &SweepId, granted: Option<Money>) -> Result<(), LedgerError> {
        write!(self.0, "note what was granted", tx => planning::set_granted(tx, sweep, granted))
    }

    pub(crate) async fn note_tabulated(&self, sweep: &SweepId, generation: u32) -> Result<(), LedgerError> {
        write!(self.0, "note that a sweep's documents are written", tx => planning::note_tabulated(tx, sweep, generation))
    }

    pub(crate) async fn begin_removal(&self, sweep: &SweepId, generation: u32) -> Result<bool, LedgerError> {
        write!(self.0, "begin to remove a sweep", tx => removing::begin(tx, sweep, Some(generation)))
    }

    pub(crate) async fn removed(&self, sweeps: &BTreeSet<SweepId>) -> Result<BTreeSet<SweepId>, LedgerError> {
        read!(self.0, "read removed sweeps", client => removing::removed(client, sweeps))
    }

    pub(crate) async fn is_alive(&self, sweep: &SweepId, within: Duration) -> Result<bool, LedgerError> {
        read!(self.0, "read what runs of a sweep", client => removing::is_alive(client, sweep, within))
    }

    pub(crate) async fn drop_sweep(&self, sweep: &SweepId) -> Result<bool, LedgerError> {
        write!(self.0, "remove a sweep", tx => removing::drop_sweep(tx, sweep))
    }
}
