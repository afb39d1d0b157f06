//! Reads for viewers of sweeps.

use regatta_proto::{CellIndex, ItemIndex, SweepId};

use crate::ledger::sqlite::{SqliteLedger, views};
use crate::ledger::{
    AttemptRow, AttemptTimes, CellMean, DaySpending, EndingCount, FlagCount, ItemMean, ItemPage, ItemQuery,
    LedgerError, ListedSession, ScoreValue, SessionView,
};

impl SqliteLedger {
    pub(crate) async fn endings(&self, sweep: &SweepId) -> Result<Vec<EndingCount>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("count how sessions ended", move |tx| views::endings(tx, &sweep)).await
    }

    pub(crate) async fn flag_counts(&self, sweep: &SweepId) -> Result<Vec<FlagCount>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("count flags", move |tx| views::flag_counts(tx, &sweep)).await
    }

    pub(crate) async fn find_items(&self, sweep: &SweepId, query: &ItemQuery) -> Result<ItemPage, LedgerError> {
        let (sweep, query) = (sweep.clone(), query.clone());
        self.0.read("find items", move |tx| views::find_items(tx, &sweep, &query)).await
    }

    pub(crate) async fn listed_sessions(
        &self,
        sweep: &SweepId,
        cells: &[CellIndex],
        items: &[ItemIndex],
        value: Option<&ScoreValue>,
    ) -> Result<Vec<ListedSession>, LedgerError> {
        let (sweep, cells, items, value) = (sweep.clone(), cells.to_vec(), items.to_vec(), value.cloned());
        self.0.read("list sessions", move |tx| views::listed_sessions(tx, &sweep, &cells, &items, value.as_ref())).await
    }

    pub(crate) async fn item_means(
        &self,
        sweep: &SweepId,
        cells: &[CellIndex],
        value: &ScoreValue,
    ) -> Result<Vec<ItemMean>, LedgerError> {
        let (sweep, cells, value) = (sweep.clone(), cells.to_vec(), value.clone());
        self.0.read("read mean scores of items", move |tx| views::item_means(tx, &sweep, &cells, &value)).await
    }

    pub(crate) async fn session(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        item: ItemIndex,
    ) -> Result<Option<SessionView>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read a session", move |tx| views::session(tx, &sweep, cell, item)).await
    }

    pub(crate) async fn session_attempts(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        item: ItemIndex,
    ) -> Result<Vec<AttemptRow>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read a session's attempts", move |tx| views::session_attempts(tx, &sweep, cell, item)).await
    }

    pub(crate) async fn spending_by_day(&self, sweep: &SweepId) -> Result<Vec<DaySpending>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read what was spent by day", move |tx| views::spending_by_day(tx, &sweep)).await
    }

    pub(crate) async fn attempt_times(&self, sweep: &SweepId) -> Result<Vec<AttemptTimes>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("sum up how long attempts took", move |tx| views::attempt_times(tx, &sweep)).await
    }

    pub(crate) async fn cell_means(
        &self,
        sweep: &SweepId,
        cells: &[CellIndex],
        value: &ScoreValue,
    ) -> Result<Vec<CellMean>, LedgerError> {
        let (sweep, cells, value) = (sweep.clone(), cells.to_vec(), value.clone());
        self.0.read("read mean scores", move |tx| views::cell_means(tx, &sweep, &cells, &value)).await
    }
}
