//! Publishes shards while their queue's window has room.

use std::collections::{BTreeMap, BTreeSet};

use regatta_backends::{CellProgress, ShardRow, ShardState};
use regatta_catalog::Sweep;
use regatta_proto::{ItemIndex, Job, SessionJob, SessionKey, Transcript};

use crate::budget::affordable_sessions;
use crate::coordinator::{Coordinator, CoordinatorError, Watched};
use crate::shards::SHARD_ITEMS;

/// Shards asked of the ledger at once.
const SHARDS_AT_ONCE: u32 = 64;

impl Coordinator {
    /// Tops up every queue that `sweep` uses, each to at most `window` sessions outstanding.
    pub(crate) async fn dispatch(
        &self,
        watched: &Watched,
        progress: &[CellProgress],
        window: u64,
    ) -> Result<(), CoordinatorError> {
        let sweep = &watched.sweep;
        let window = window.max(u64::from(SHARD_ITEMS));
        let mut affordable = affordable_sessions(sweep, progress, watched.worst_session);
        for (queue, outstanding) in outstanding(progress) {
            self.metrics.window.with_label_values(&[&queue]).set(outstanding.cast_signed());
            let mut room = window.saturating_sub(outstanding).min(affordable);
            // Topping up in halves keeps the number of ledger queries small without ever letting a queue run dry.
            if room < window / 2 && outstanding > 0 && affordable == u64::MAX {
                continue;
            }
            for shard in self.ledger.next_shards(&sweep.id, &queue, SHARDS_AT_ONCE).await? {
                // A shard left in `dispatching` by a crash is in doubt: reconciliation decides about it.
                if shard.state != ShardState::Planned {
                    continue;
                }
                if u64::from(shard.count) > room {
                    break;
                }
                let published = self.publish(sweep, &shard, &queue).await?;
                room = room.saturating_sub(published);
                affordable = affordable.saturating_sub(published);
            }
        }
        Ok(())
    }

    /// Publishes the sessions of `shard` that have no result yet. The intent is written before and the fact after, so that a crash in
    /// between leaves the shard visibly in doubt instead of losing or doubling it.
    async fn publish(&self, sweep: &Sweep, shard: &ShardRow, queue: &str) -> Result<u64, CoordinatorError> {
        let Some(cell) = sweep.cell(shard.cell) else { return Ok(0) };
        let from = shard.first as usize;
        let selected = sweep.selected(cell);
        let items = &selected[from.min(selected.len())..(from + shard.count as usize).min(selected.len())];
        let (Some(first), Some(last)) = (items.first(), items.last()) else { return Ok(0) };
        let recorded: BTreeSet<ItemIndex> =
            self.ledger.recorded_items(&sweep.id, shard.cell, *first, *last).await?.into_iter().collect();
        let missing: Vec<ItemIndex> = items.iter().copied().filter(|item| !recorded.contains(item)).collect();
        let attempts: BTreeMap<ItemIndex, u32> = self.ledger.highest_attempt(&sweep.id, shard.cell, &missing).await?;
        let jobs: Vec<Job> = missing
            .iter()
            .map(|item| {
                Job::Session(Box::new(SessionJob {
                    key: SessionKey { sweep: sweep.id.clone(), cell: shard.cell, item: *item },
                    lock: sweep.digest,
                    attempt: attempts.get(item).copied().unwrap_or(0) + 1,
                    transcript: Transcript::default(),
                }))
            })
            .collect();
        let published = jobs.len() as u32;
        self.ledger.mark_shard(&sweep.id, shard.index, ShardState::Dispatching, 0).await?;
        if !jobs.is_empty() {
            self.queue.publish_jobs(queue, jobs).await?;
        }
        self.ledger.mark_shard(&sweep.id, shard.index, ShardState::Dispatched, published).await?;
        self.metrics.dispatched.inc_by(u64::from(published));
        Ok(u64::from(published))
    }
}

/// Sessions dispatched and not yet recorded, by queue; queues with nothing left are there too.
pub(crate) fn outstanding(progress: &[CellProgress]) -> BTreeMap<String, u64> {
    let mut queues = BTreeMap::new();
    for cell in progress {
        *queues.entry(cell.queue.clone()).or_insert(0) += cell.dispatched.saturating_sub(cell.recorded);
    }
    queues
}
