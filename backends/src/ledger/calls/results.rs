//! Sessions, costs and metrics of a sweep.

use regatta_proto::{CellIndex, CostSum, SweepId, Usage};

use super::{LedgerFuture, each};
use crate::ledger::{AttemptRow, CallSums, CostMoments, JudgeCosts, Ledger, MetricRow, SessionRow};

/// Results: calls of reports and exports.
impl Ledger {
    /// The settled sessions of a cell, ordered by item.
    ///
    /// # Errors
    /// When the store fails.
    pub fn sessions<'a>(&'a self, sweep: &'a SweepId, cell: CellIndex) -> LedgerFuture<'a, Vec<SessionRow>> {
        each!(self.sessions(sweep, cell))
    }

    /// All attempts of a sweep, ordered by cell, item, number and id.
    ///
    /// # Errors
    /// When the store fails.
    pub fn attempts<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, Vec<AttemptRow>> {
        each!(self.attempts(sweep))
    }

    /// The oldest open attempt of a sweep, by the reports of workers.
    ///
    /// # Errors
    /// When the store fails.
    pub fn oldest_open<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, Option<AttemptRow>> {
        each!(self.oldest_open(sweep))
    }

    /// Sums of the costs of each cell's sessions by task, for forecasts, without those whose price is unknown and those with answers of the response
    /// cache, which nobody paid for; tasks without such sessions are left out. Reads every attempt.
    ///
    /// # Errors
    /// When the store fails.
    pub fn cost_moments<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, Vec<(CellIndex, String, CostMoments)>> {
        each!(self.cost_moments(sweep))
    }

    /// Sums over the calls of a sweep's sessions, by cell; cells without calls are left out. The module `call_sums` defines which calls count.
    ///
    /// # Errors
    /// When the store fails.
    pub fn call_sums<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, Vec<(CellIndex, CallSums)>> {
        each!(self.call_sums(sweep))
    }

    /// Tokens and money that a sweep's judges used.
    ///
    /// # Errors
    /// When the store fails.
    pub fn judge_costs<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, (Usage, CostSum)> {
        each!(self.judge_costs(sweep))
    }

    /// Tokens and money of each judge of a sweep, by name.
    ///
    /// # Errors
    /// When the store fails.
    pub fn costs_by_judge<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, Vec<JudgeCosts>> {
        each!(self.costs_by_judge(sweep))
    }

    /// Replaces all metrics of the cells that `rows` name.
    ///
    /// # Errors
    /// When the store fails, or two rows have the same cell, evaluator and metric.
    pub fn save_metrics<'a>(&'a self, sweep: &'a SweepId, rows: Vec<MetricRow>) -> LedgerFuture<'a, ()> {
        each!(self.save_metrics(sweep, rows))
    }

    /// All metrics of a sweep, ordered by cell and, within a cell, as saved.
    ///
    /// # Errors
    /// When the store fails.
    pub fn metrics<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, Vec<MetricRow>> {
        each!(self.metrics(sweep))
    }
}
