//! Reads for viewers of sweeps.

use regatta_proto::{CellIndex, ItemIndex, SweepId};

use super::{LedgerFuture, each};
use crate::ledger::{
    AttemptRow, AttemptTimes, CellMean, DaySpending, EndingCount, FlagCount, ItemMean, ItemPage, ItemQuery, Ledger,
    ListedSession, ScoreValue, SessionView,
};

/// Reads for viewers.
impl Ledger {
    /// Number of sessions that were not measured or are model failures, by cell and cause.
    ///
    /// # Errors
    /// When the store fails.
    pub fn endings<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, Vec<EndingCount>> {
        each!(self.endings(sweep))
    }

    /// Number of sessions with flags, by cell and flags.
    ///
    /// # Errors
    /// When the store fails.
    pub fn flag_counts<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, Vec<FlagCount>> {
        each!(self.flag_counts(sweep))
    }

    /// A page of the items with a recorded session that meets the conditions of `query`.
    ///
    /// # Errors
    /// When the store fails.
    pub fn find_items<'a>(&'a self, sweep: &'a SweepId, query: &'a ItemQuery) -> LedgerFuture<'a, ItemPage> {
        each!(self.find_items(sweep, query))
    }

    /// The recorded sessions of `items` in `cells`, by item and cell, with `value` of each.
    ///
    /// # Errors
    /// When the store fails.
    pub fn listed_sessions<'a>(
        &'a self,
        sweep: &'a SweepId,
        cells: &'a [CellIndex],
        items: &'a [ItemIndex],
        value: Option<&'a ScoreValue>,
    ) -> LedgerFuture<'a, Vec<ListedSession>> {
        each!(self.listed_sessions(sweep, cells, items, value))
    }

    /// Means of `value` over the recorded sessions in `cells` of each item that has any, in the order of the data set.
    ///
    /// # Errors
    /// When the store fails.
    pub fn item_means<'a>(
        &'a self,
        sweep: &'a SweepId,
        cells: &'a [CellIndex],
        value: &'a ScoreValue,
    ) -> LedgerFuture<'a, Vec<ItemMean>> {
        each!(self.item_means(sweep, cells, value))
    }

    /// The recorded session of `item` in `cell`, settled or not.
    ///
    /// # Errors
    /// When the store fails.
    pub fn session<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        item: ItemIndex,
    ) -> LedgerFuture<'a, Option<SessionView>> {
        each!(self.session(sweep, cell, item))
    }

    /// The attempts at one session, by number and id.
    ///
    /// # Errors
    /// When the store fails.
    pub fn session_attempts<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        item: ItemIndex,
    ) -> LedgerFuture<'a, Vec<AttemptRow>> {
        each!(self.session_attempts(sweep, cell, item))
    }

    /// Cost of a sweep's attempts by cell and day of their end, oldest day first.
    ///
    /// # Errors
    /// When the store fails.
    pub fn spending_by_day<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, Vec<DaySpending>> {
        each!(self.spending_by_day(sweep))
    }

    /// Time that a sweep's attempts took, by cell; cells without ended attempts are left out. Reads every attempt.
    ///
    /// # Errors
    /// When the store fails.
    pub fn attempt_times<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, Vec<AttemptTimes>> {
        each!(self.attempt_times(sweep))
    }

    /// Means of `value` over the settled sessions of each of `cells`; cells without such sessions are left out.
    ///
    /// # Errors
    /// When the store fails.
    pub fn cell_means<'a>(
        &'a self,
        sweep: &'a SweepId,
        cells: &'a [CellIndex],
        value: &'a ScoreValue,
    ) -> LedgerFuture<'a, Vec<CellMean>> {
        each!(self.cell_means(sweep, cells, value))
    }
}
