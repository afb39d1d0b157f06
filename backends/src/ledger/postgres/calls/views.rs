//! Reads for viewers of sweeps.

use regatta_proto::{CellIndex, ItemIndex, SweepId};

use crate::ledger::postgres::pool::{Fault, read};
use crate::ledger::postgres::{PostgresLedger, views};
use crate::ledger::{
    AttemptRow, AttemptTimes, CellMean, DaySpending, EndingCount, FlagCount, ItemMean, ItemPage, ItemQuery,
    LedgerError, ListedSession, ScoreValue, SessionView,
};

impl PostgresLedger {
    pub(crate) async fn endings(&self, sweep: &SweepId) -> Result<Vec<EndingCount>, LedgerError> {
        read!(self.0, "count how sessions ended", client => views::endings(client, sweep))
    }

    pub(crate) async fn flag_counts(&self, sweep: &SweepId) -> Result<Vec<FlagCount>, LedgerError> {
        read!(self.0, "count flags", client => views::flag_counts(client, sweep))
    }

    pub(crate) async fn find_items(&self, sweep: &SweepId, query: &ItemQuery) -> Result<ItemPage, LedgerError> {
        read!(self.0, "find items", client => views::find_items(client, sweep, query))
    }

    pub(crate) async fn listed_sessions(
        &self,
        sweep: &SweepId,
        cells: &[CellIndex],
        items: &[ItemIndex],
        value: Option<&ScoreValue>,
    ) -> Result<Vec<ListedSession>, LedgerError> {
        read!(self.0, "list sessions", client => views::listed_sessions(client, sweep, cells, items, value))
    }

    pub(crate) async fn item_means(
        &self,
        sweep: &SweepId,
        cells: &[CellIndex],
        value: &ScoreValue,
    ) -> Result<Vec<ItemMean>, LedgerError> {
        read!(self.0, "read mean scores of items", client => views::item_means(client, sweep, cells, value))
    }

    pub(crate) async fn session(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        item: ItemIndex,
    ) -> Result<Option<SessionView>, LedgerError> {
        read!(self.0, "read a session", client => views::session(client, sweep, cell, item))
    }

    pub(crate) async fn session_attempts(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        item: ItemIndex,
    ) -> Result<Vec<AttemptRow>, LedgerError> {
        read!(self.0, "read a session's attempts", client => views::session_attempts(client, sweep, cell, item))
    }

    pub(crate) async fn spending_by_day(&self, sweep: &SweepId) -> Result<Vec<DaySpending>, LedgerError> {
        read!(self.0, "read what was spent by day", client => views::spending_by_day(client, sweep))
    }

    pub(crate) async fn attempt_times(&self, sweep: &SweepId) -> Result<Vec<AttemptTimes>, LedgerError> {
        read!(self.0, "sum up how long attempts took", client => views::attempt_times(client, sweep))
    }

    pub(crate) async fn cell_means(
        &self,
        sweep: &SweepId,
        cells: &[CellIndex],
        value: &ScoreValue,
    ) -> Result<Vec<CellMean>, LedgerError> {
        read!(self.0, "read mean scores", client => views::cell_means(client, sweep, cells, value))
    }
}
