//! Makes the parts of a batch durable, one after the other.

use regatta_backends::ToldBy;
use regatta_catalog::{checkpoint_keys, remove_checkpoints};
use regatta_proto::{CostSum, Report, SweepId, Usage};

use super::batch::Batch;
use super::{Scorer, ScorerError};
use crate::finish::finish;

impl Scorer {
    /// Makes `batch` durable, part by part, and takes each part out of it that is: a store that fails one call of many does not have all of them
    /// made again. Each part may be repeated.
    pub(super) async fn handle(&self, batch: &mut Batch) -> Result<(), ScorerError> {
        if !batch.held.is_empty() {
            self.ledger.record_held(batch.held.clone()).await?;
            batch.held.clear();
        }
        if !batch.open.is_empty() {
            self.gone.warn(self.ledger.record_progress(batch.still_open()).await?);
            batch.open.clear();
        }
        while let Some(sessions) = batch.sessions.first_entry() {
            let sweep = self.catalog.sweep(sessions.key()).await?;
            self.record(&sweep, sessions.get()).await?;
            sessions.remove();
        }
        while let Some(report) = batch.others.front() {
            self.handle_other(report).await?;
            batch.others.pop_front();
        }
        Ok(())
    }

    /// Makes one of [`Batch::others`] durable. May be repeated at any point.
    async fn handle_other(&self, report: &Report) -> Result<(), ScorerError> {
        match report {
            Report::HandedOver { key, attempt, totals, taken_over } => {
                let told_by = if *taken_over { ToldBy::Successor } else { ToldBy::Itself };
                if !self.ledger.record_handover(key, attempt.clone(), *totals, told_by).await? {
                    self.gone.warn([key.sweep.clone()]);
                    return Ok(());
                }
                // A process that was cut off tells of its attempts itself, sooner or later, and then their tokens are counted.
                if *taken_over {
                    self.metrics.surplus.with_label_values(&["taken_over"]).inc();
                } else {
                    self.metrics.surplus.with_label_values(&["handed_over"]).inc();
                    self.count_usage(&totals.usage, &totals.cost);
                }
            }
            Report::Judge(outcome) => {
                let sweep = self.catalog.sweep(&outcome.lock).await?;
                self.judged(&sweep, outcome.clone()).await?;
            }
            Report::Rejudge { lock, .. } => {
                let sweep = self.catalog.sweep(lock).await?;
                self.rejudge(&sweep).await?;
            }
            Report::Echo { sweep, number, partition, .. } => {
                self.ledger.echo(sweep, *number, *partition).await?;
            }
            Report::Tabulate { lock, generation, .. } => {
                let sweep = self.catalog.sweep(lock).await?;
                let state = finish(&self.ledger, &self.catalog, &sweep, *generation, &*self.clock).await?;
                if state.is_end()
                    && let Err(error) = self.remove_needless_checkpoints(&sweep.id).await
                {
                    tracing::warn!(%error, sweep = %sweep.id, "checkpoints were left behind; they go with the sweep");
                }
                tracing::info!(sweep = %sweep.id, %state, "reports written");
            }
            Report::Session(_) | Report::Progress(_) => {}
        }
        Ok(())
    }

    /// Removes the checkpoints of a sweep that has ended. Of one that was resumed while its reports were written they are what its sessions go
    /// on from.
    async fn remove_needless_checkpoints(&self, sweep: &SweepId) -> Result<(), ScorerError> {
        let blobs = self.catalog.blobs();
        let listed = checkpoint_keys(blobs, sweep).await?;
        // Looked at as late as possible: keys name no generation, so what is resumed after this look may lose a checkpoint that it has just written.
        let has_ended = self.ledger.sweep(sweep).await?.is_some_and(|row| row.state.is_end());
        if has_ended {
            remove_checkpoints(blobs, &listed).await?;
        }
        Ok(())
    }

    pub(crate) fn count_usage(&self, usage: &Usage, cost: &CostSum) {
        let tokens = &self.metrics.tokens;
        tokens.with_label_values(&["input"]).inc_by(usage.input);
        tokens.with_label_values(&["cached_input"]).inc_by(usage.cached_input);
        tokens.with_label_values(&["output"]).inc_by(usage.output);
        tokens.with_label_values(&["reasoning"]).inc_by(usage.reasoning);
        self.metrics.cost_nanodollars.inc_by(cost.known.0);
        self.metrics.unpriced_calls.inc_by(cost.unknown_calls);
    }
}
