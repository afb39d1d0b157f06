//! Steers sweeps that run: pauses them, has them go on, raises their budgets, lowers their calls at once.

use futures::future::BoxFuture;

use regatta_backends::SweepRow;
use regatta_proto::{SweepId, SweepState};

use super::{Coordinator, CoordinatorError};
use crate::{BudgetChange, ConcurrencyChange, Resumption};

impl Coordinator {
    /// Pauses a sweep that runs: nothing more is dispatched, and workers take no more jobs from its queues; sessions that they have begun are
    /// finished and recorded. Idempotent.
    ///
    /// # Errors
    /// When there is no such sweep, or it does not run.
    pub fn pause<'a>(&'a self, id: &'a SweepId) -> BoxFuture<'a, Result<(), CoordinatorError>> {
        Box::pin(async move {
            self.row(id).await?;
            if !self.ledger.pause_sweep(id).await? {
                return Err(self.is_over(id, "paused").await);
            }
            tracing::info!(sweep = %id, "paused");
            Ok(())
        })
    }

    /// Lowers the calls at once of a sweep that runs at one of its endpoints, or gives back those of its spec. Sessions that workers have begun go on
    /// by the limit of before.
    ///
    /// # Errors
    /// When there is no such sweep or endpoint, it does not run, or its spec does not allow as many calls.
    pub fn limit_concurrency<'a>(
        &'a self,
        id: &'a SweepId,
        change: &'a ConcurrencyChange,
    ) -> BoxFuture<'a, Result<(), CoordinatorError>> {
        Box::pin(async move {
            let row = self.row(id).await?;
            let ConcurrencyChange { endpoint, calls } = change;
            let sweep = self.catalog.sweep(&row.lock).await?;
            let Some(spec) = sweep.lock.endpoints.get(endpoint) else {
                return Err(CoordinatorError::UnknownEndpoint { id: id.clone(), endpoint: endpoint.clone() });
            };
            let most = spec.limits.concurrency;
            if let Some(wanted) = calls.filter(|calls| !(1..=most).contains(calls)) {
                return Err(CoordinatorError::Concurrency { endpoint: endpoint.clone(), wanted, most });
            }
            if !self.ledger.limit_concurrency(id, endpoint, *calls).await? {
                return Err(self.is_over(id, "held to fewer calls").await);
            }
            tracing::info!(sweep = %id, %endpoint, ?calls, "calls at once changed");
            Ok(())
        })
    }

    /// Has the sweep of `row`, which runs, go on with what `resumption` changes.
    pub(super) async fn go_on(&self, row: SweepRow, resumption: Resumption) -> Result<(), CoordinatorError> {
        let id = &row.id;
        // Of a sweep that is paused the same request finds nothing to do, once it has been obeyed.
        if !row.is_paused && matches!(resumption.budget, Some(BudgetChange::By(_))) {
            return Err(CoordinatorError::RelativeBudget(id.clone()));
        }
        let mut raised = None;
        if let Some(change) = resumption.budget {
            let present = row.budget.ok_or_else(|| CoordinatorError::NoBudget(id.clone()))?;
            let budget = change.apply(present);
            self.ledger.grant(id, budget, self.quotas.of(row.owner.as_ref()).granted).await?;
            raised = Some((budget, self.catalog.sweep(&row.lock).await?));
        }
        // Both at once: whoever repeats this after a failure must not raise the budget twice.
        if !self.ledger.go_on(id, raised.as_ref().map(|(budget, _)| *budget)).await? {
            return Err(self.is_over(id, "resumed").await);
        }
        if let Some((budget, sweep)) = raised
            && let Err(error) = self.open_accounts(&sweep, Some(budget)).await
        {
            tracing::warn!(sweep = %id, %error, "workers cannot spend a raised budget yet; the leader tries again");
        }
        tracing::info!(sweep = %id, "goes on");
        Ok(())
    }

    async fn row(&self, id: &SweepId) -> Result<SweepRow, CoordinatorError> {
        self.ledger.sweep(id).await?.ok_or_else(|| CoordinatorError::UnknownSweep(id.clone()))
    }

    /// The sweep does not run, or not any more, so that `wish` is refused.
    async fn is_over(&self, id: &SweepId, wish: &'static str) -> CoordinatorError {
        match self.row(id).await {
            Ok(SweepRow { id, state, .. }) => CoordinatorError::WrongState { id, state, wish },
            Err(error) => error,
        }
    }
}

/// `true` if a resume is about a sweep that runs: it has one go on that is paused, or gives it more money.
pub(super) fn is_steered(row: &SweepRow, resumption: &Resumption) -> bool {
    row.state == SweepState::Running && (row.is_paused || resumption.budget.is_some())
}
