//! Sweeps and their states, from the plan to the removal.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use regatta_proto::{Money, SweepId, SweepState};

use crate::ledger::sqlite::{SqliteLedger, planning, removing};
use crate::ledger::{Created, LedgerError, NewSweep, PageMark, SweepRow, Term};

impl SqliteLedger {
    pub(crate) async fn create_sweep(&self, sweep: NewSweep) -> Result<Created, LedgerError> {
        self.0.write("create a sweep", move |tx| planning::create(tx, &sweep)).await
    }

    pub(crate) async fn sweep(&self, sweep: &SweepId) -> Result<Option<SweepRow>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read a sweep", move |tx| Ok(planning::sweeps(tx, Some(&sweep))?.pop())).await
    }

    pub(crate) async fn sweeps(&self) -> Result<Vec<SweepRow>, LedgerError> {
        self.0.read("read the sweeps", |tx| planning::sweeps(tx, None)).await
    }

    pub(crate) async fn sweeps_after(
        &self,
        after: Option<&PageMark>,
        limit: u32,
    ) -> Result<Vec<SweepRow>, LedgerError> {
        let after = after.cloned();
        self.0.read("read the sweeps", move |tx| planning::sweeps_after(tx, after.as_ref(), limit)).await
    }

    pub(crate) async fn transition(
        &self,
        sweep: &SweepId,
        from: &[SweepState],
        to: SweepState,
        at: Timestamp,
    ) -> Result<bool, LedgerError> {
        let (sweep, from) = (sweep.clone(), from.to_vec());
        self.0.write("change a sweep's state", move |tx| planning::transition(tx, &sweep, &from, to, at)).await
    }

    pub(crate) async fn begin_tabulating(
        &self,
        sweep: &SweepId,
        generation: u32,
        budget: Option<Money>,
        granted: Option<Money>,
        term: Term,
    ) -> Result<bool, LedgerError> {
        let sweep = sweep.clone();
        self.write_as_leader(term, "end a sweep's run", move |tx| {
            planning::begin_tabulating(tx, &sweep, generation, budget, granted)
        })
        .await
    }

    pub(crate) async fn set_granted(&self, sweep: &SweepId, granted: Option<Money>) -> Result<(), LedgerError> {
        let sweep = sweep.clone();
        self.0.write("note what was granted", move |tx| planning::set_granted(tx, &sweep, granted)).await
    }

    pub(crate) async fn note_tabulated(&self, sweep: &SweepId, generation: u32) -> Result<(), LedgerError> {
        let sweep = sweep.clone();
        self.0
            .write("note that a sweep's documents are written", move |tx| {
                planning::note_tabulated(tx, &sweep, generation)
            })
            .await
    }

    pub(crate) async fn begin_removal(&self, sweep: &SweepId, generation: u32) -> Result<bool, LedgerError> {
        let sweep = sweep.clone();
        self.0.write("begin to remove a sweep", move |tx| removing::begin(tx, &sweep, Some(generation))).await
    }

    pub(crate) async fn removed(&self, sweeps: &BTreeSet<SweepId>) -> Result<BTreeSet<SweepId>, LedgerError> {
        let sweeps = sweeps.clone();
        self.0.read("read removed sweeps", move |tx| removing::removed(tx, &sweeps)).await
    }

    pub(crate) async fn is_alive(&self, sweep: &SweepId, within: Duration) -> Result<bool, LedgerError> {
        if self.1.is_held(sweep, within) {
            return Ok(true);
        }
        let (sweep, presence) = (sweep.clone(), self.1.clone());
        self.0
            .read("read what runs of a sweep", move |tx| {
                Ok(presence.is_any_seen(&removing::unended(tx, &sweep)?, within))
            })
            .await
    }

    pub(crate) async fn drop_sweep(&self, sweep: &SweepId) -> Result<bool, LedgerError> {
        let sweep = sweep.clone();
        self.0.write("remove a sweep", move |tx| removing::drop_sweep(tx, &sweep)).await
    }
}
