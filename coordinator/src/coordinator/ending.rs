//! Ends sweeps before they are over, and has them go on.

use futures::future::BoxFuture;

use regatta_proto::{SweepId, SweepState};

use super::steering::is_steered;
use super::{Coordinator, CoordinatorError};
use crate::Resumption;
use crate::budget::of_sweep;
use crate::rounds::tabulate;

impl Coordinator {
    /// Stops a sweep: nothing more is dispatched, jobs in queues become void, sessions that run are finished and recorded.
    ///
    /// # Errors
    /// When there is no such sweep, or it has ended.
    pub fn cancel<'a>(&'a self, id: &'a SweepId) -> BoxFuture<'a, Result<(), CoordinatorError>> {
        Box::pin(async move {
            let row = self.ledger.sweep(id).await?.ok_or_else(|| CoordinatorError::UnknownSweep(id.clone()))?;
            // Before anything is changed: a cancelled sweep must get its reports, whatever fails afterwards.
            let granted_before = self.permits.granted(&of_sweep(id)).await?;
            if !self.ledger.transition(id, &[SweepState::Running], SweepState::Cancelled, self.clock.now()).await? {
                return Err(CoordinatorError::WrongState { id: id.clone(), state: row.state, wish: "cancelled" });
            }
            // Sessions that run are finished, and may be granted more: whoever asks for the tables looks again.
            let granted = self.permits.granted(&of_sweep(id)).await.unwrap_or(granted_before);
            if let Err(error) = self.ledger.set_granted(id, granted).await {
                tracing::warn!(sweep = %id, %error, "failed to note what a cancelled sweep was granted; its reports know recorded costs alone");
            }
            // It is cancelled, and the leader has scorers told until its tables are written.
            if self.reports_keep_order()
                && let Err(error) = self.queue.publish_reports(vec![tabulate(id, row.lock, row.generation)]).await
            {
                tracing::warn!(sweep = %id, %error, "scorers could not be told of a cancelled sweep; they are told again");
            }
            Ok(())
        })
    }

    /// Runs the sessions of an ended sweep that were not measured, as further attempts. One that runs goes on if it is paused, and its budget is
    /// raised if that is wished; sessions that the budget of before has ended are run by a resume once it has ended.
    ///
    /// # Errors
    /// When there is no such sweep, or it is complete, or runs and nothing is wished of it, or its budget cannot be changed as wished, or its
    /// owner's quota does not allow these sessions.
    pub fn resume<'a>(
        &'a self,
        id: &'a SweepId,
        resumption: Resumption,
    ) -> BoxFuture<'a, Result<(), CoordinatorError>> {
        Box::pin(async move {
            let row = self.ledger.sweep(id).await?.ok_or_else(|| CoordinatorError::UnknownSweep(id.clone()))?;
            if is_steered(&row, &resumption) {
                return self.go_on(row, resumption).await;
            }
            if !row.state.is_end() || row.state == SweepState::Complete {
                return Err(CoordinatorError::WrongState { id: id.clone(), state: row.state, wish: "resumed" });
            }
            let quota = self.quotas.of(row.owner.as_ref()).granted;
            // Before anything is changed. Others may take the last of the quota until the sessions are charged below; then a raised grant stays.
            self.ledger.check_reopening(id, quota).await?;
            let mut budget = None;
            if let Some(change) = resumption.budget {
                let present = row.budget.ok_or_else(|| CoordinatorError::NoBudget(id.clone()))?;
                let raised = change.apply(present);
                let sweep = self.catalog.sweep(&row.lock).await?;
                // First of all: an account that is open may be spent. To repeat it grants nothing twice.
                self.ledger.grant(id, raised, quota).await?;
                // The supervising task may not have noticed that the sweep had ended, and would end it again on the old cap. The ledger
                // refuses a budget that is lower.
                if raised >= present {
                    self.open_accounts(&sweep, Some(raised)).await?;
                }
                budget = Some(raised);
            }
            // Jobs of the sweep are of this process from here on, if the queue does not survive one.
            self.adopt(id);
            // All of the rest at once: whoever repeats this after a failure must not raise the budget twice, and a night that goes on counts
            // as running again. The leader has questions asked again once workers have heard of the resume.
            let Some(reopened) = self.ledger.resume(id, row.state, budget, quota).await? else {
                let row = self.ledger.sweep(id).await?.ok_or_else(|| CoordinatorError::UnknownSweep(id.clone()))?;
                return Err(CoordinatorError::WrongState { id: id.clone(), state: row.state, wish: "resumed" });
            };
            tracing::info!(sweep = %id, to_run = reopened.to_run, to_judge = reopened.to_judge, "resumed");
            Ok(())
        })
    }
}
