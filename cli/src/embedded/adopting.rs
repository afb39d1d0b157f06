//! A sweep that ran elsewhere becomes a run of this machine: its files and everything that it is made of are in the run's blobs already.

use anyhow::Context;
use regatta_catalog::Sweep;
use regatta_proto::{Report, SweepState};
use regatta_scorer::{Past, WantedVerdicts};

use super::{Embedded, clock};

impl Embedded {
    /// Records `sweep` from its transcripts, with the verdicts of its judges, as one that ended in `state`. Its documents stay as they are.
    ///
    /// # Errors
    /// When a store fails, or transcripts cannot be read.
    pub(crate) async fn adopt(
        &self,
        sweep: &Sweep,
        state: SweepState,
        verdicts: &WantedVerdicts<'_>,
    ) -> anyhow::Result<()> {
        let past = Past::read(self.catalog.blobs(), &sweep.id).await?;
        self.coordinator.enter(sweep).await?;
        if let (Some(file), Some(began_at)) = (self.ledger.as_file(), past.created_at) {
            file.correct_beginning(&sweep.id, began_at).await?;
        }
        let scorer = self.scorer_apart(sweep).await?;
        let recovery = scorer.recover_lost(sweep, &past).await.context("failed to record sessions")?;
        if let Some(segment) = recovery.unreadable.first() {
            anyhow::bail!("failed to read the transcripts in {segment} of {}", sweep.id);
        }
        verdicts.keep(&self.ledger).await.context("failed to keep the verdicts of the sweep's judges")?;
        let settle = Report::Rejudge { sweep: sweep.id.clone(), lock: sweep.digest };
        scorer.record_left_over(vec![settle]).await.context("failed to score sessions with the verdicts of judges")?;
        // Their judges have not answered there either.
        scorer.settle_left_waiting(sweep).await.context("failed to settle sessions whose judges have not answered")?;
        let ended_at = past.ended_at.unwrap_or_else(|| clock().now());
        if state != SweepState::Cancelled {
            self.ledger.transition(&sweep.id, &[SweepState::Running], SweepState::Tabulating, ended_at).await?;
        }
        let from = [SweepState::Running, SweepState::Tabulating];
        if !self.ledger.transition(&sweep.id, &from, state, ended_at).await? {
            anyhow::bail!(
                "failed to record {} as {state}: another process changed its state meanwhile; try again",
                sweep.id
            );
        }
        Ok(())
    }
}
