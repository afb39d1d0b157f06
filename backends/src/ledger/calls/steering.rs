//! Sweeps that people steer while they run.

use regatta_proto::{EndpointName, Money, SweepId};

use super::{LedgerFuture, each};
use crate::ledger::Ledger;

/// Steering: calls of the coordinator's API.
impl Ledger {
    /// Pauses a sweep that runs: once this has returned, none of its shards is claimed until it goes on. Returns `false`, and changes nothing,
    /// if it does not run. Idempotent.
    ///
    /// # Errors
    /// When the sweep is unknown or the store fails.
    pub fn pause_sweep<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, bool> {
        each!(self.pause_sweep(sweep))
    }

    /// Has a sweep that runs go on if it is paused, and raises its budget to `budget` if one is given (the present one is accepted as no
    /// change), in one transaction. Returns `false`, and changes nothing, if it does not run. Idempotent.
    ///
    /// # Errors
    /// [`LedgerError::BudgetNotRaised`](super::LedgerError::BudgetNotRaised) if the present budget is higher or without limit, which changes
    /// nothing, or when the sweep is unknown or the store fails.
    pub fn go_on<'a>(&'a self, sweep: &'a SweepId, budget: Option<Money>) -> LedgerFuture<'a, bool> {
        each!(self.go_on(sweep, budget))
    }

    /// Limits the calls at once of a sweep that runs at one of its endpoints, in place of what the spec says; `None` takes the limit away. It stays
    /// when the sweep ends and is resumed. Returns `false`, and changes nothing, if the sweep does not run. Idempotent.
    ///
    /// # Errors
    /// When the sweep is unknown or the store fails.
    pub fn limit_concurrency<'a>(
        &'a self,
        sweep: &'a SweepId,
        endpoint: &'a EndpointName,
        calls: Option<u32>,
    ) -> LedgerFuture<'a, bool> {
        each!(self.limit_concurrency(sweep, endpoint, calls))
    }
}
