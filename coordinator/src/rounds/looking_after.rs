//! Looks after one running sweep until nothing of it is left to run, and asks for its tables.

use std::sync::Arc;
use std::time::Duration;

use regatta_backends::{AccountState, CellProgress, Term};
use regatta_proto::{Digest, Report, SweepId};
use tokio::time::Instant;

use super::watched::Watched;
use crate::budget::of_sweep;
use crate::dispatch::Dispatched;
use crate::{Coordinator, CoordinatorError};

/// `true` once it is known what a sweep cost that has nothing left to run: its workers have given their leases back, or have had the time to.
fn is_settled(account: Option<&AccountState>, over_since: &mut Option<Instant>, within: Duration) -> bool {
    let since = *over_since.get_or_insert_with(Instant::now);
    account.is_none_or(AccountState::is_settled) || since.elapsed() >= within
}

/// Request for the tables of `sweep`, of this generation.
pub(crate) fn tabulate(sweep: &SweepId, lock: Digest, generation: u32) -> Report {
    Report::Tabulate { sweep: sweep.clone(), lock, generation: Some(generation) }
}

impl Coordinator {
    /// Dispatches and watches one running sweep, or ends it.
    pub(super) async fn look_after(
        &self,
        one: &mut Watched,
        progress: &[CellProgress],
    ) -> Result<(), CoordinatorError> {
        if !one.undeclared.is_empty() {
            let undeclared = one.undeclared.clone();
            one.undeclared = self.declare_each(undeclared, &mut one.unanswering, one.term).await?;
        }
        let heard;
        let progress = if !one.is_settled {
            let is_over = Instant::now() >= one.settles_at;
            one.is_settled = is_over && self.is_all_recorded(&one.sweep.id, &mut one.echo, one.term).await?.is_some();
            if !one.is_settled {
                return Ok(());
            }
            one.is_heard();
            // What was recorded meanwhile is not in `progress`. It is looked at at once, because the answer grows old.
            heard = self.ledger.cell_progress(&one.sweep.id).await?;
            &heard
        } else {
            progress
        };
        let complete = progress.iter().all(|cell| cell.settled == cell.items);
        if one.is_paused && (!complete || one.sweep.lock.decide.is_some()) {
            // What workers have in hand ends and is recorded. Whatever is lost meanwhile is missed when it goes on.
            (one.over_since, one.is_asked_at_its_end) = (None, false);
            return Ok(());
        }
        if complete && self.release_next(one, progress).await? {
            // What was released is not in `progress`.
            return Ok(());
        }
        let dispatched = if complete { Dispatched::default() } else { self.dispatch(one, progress).await? };
        let must_hear =
            dispatched.must_hear() || !self.dispatch_held_back(one).await? || !self.rejudge(one, progress).await?;
        if must_hear {
            one.is_settled = false;
            one.echo.forget();
            return Ok(());
        }
        if complete || dispatched.is_over() {
            let sweep = Arc::clone(&one.sweep);
            let account = self.permits.account(&of_sweep(&sweep.id)).await?;
            if !is_settled(account.as_ref(), &mut one.over_since, self.config.leases_return_within) {
                return Ok(());
            }
            if !self.is_all_told(one).await? {
                return Ok(());
            }
            let granted = account.map(|account| account.at_most());
            self.lead_on(one.term).await?;
            if self.ledger.begin_tabulating(&sweep.id, one.generation, one.budget, granted, one.term).await? {
                self.ask_for_tables(&sweep.id, sweep.digest, one.generation, one.term).await?;
                one.running = false;
            }
            return Ok(());
        }
        (one.over_since, one.is_asked_at_its_end) = (None, false);
        self.reconcile(one, progress).await
    }

    /// `true` once all that was reported while the sweep ran is recorded, attempts without a result among it. The request for tables is in one partition
    /// of the reports, and overtakes those of the others.
    async fn is_all_told(&self, one: &mut Watched) -> Result<bool, CoordinatorError> {
        if self.reports_keep_order() {
            return Ok(true);
        }
        if !one.is_asked_at_its_end {
            one.is_asked_at_its_end = true;
            one.echo.forget();
        }
        Ok(self.is_all_recorded(&one.sweep.id, &mut one.echo, one.term).await?.is_some())
    }

    /// Asks scorers for the tables of `sweep`.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub(crate) async fn ask_for_tables(
        &self,
        sweep: &SweepId,
        lock: Digest,
        generation: u32,
        term: Term,
    ) -> Result<(), CoordinatorError> {
        self.report(vec![tabulate(sweep, lock, generation)], term).await?;
        tracing::info!(%sweep, "tables are asked for");
        Ok(())
    }
}
