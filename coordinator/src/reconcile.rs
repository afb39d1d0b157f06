//! Jobs that may have been lost: left in doubt by a coordinator's crash, or by a broker that forgot them.
//!
//! Nothing is dispatched twice on suspicion. Only when every queue of the sweep is empty and no outcome has come in for a while are
//! the sessions without a result dispatched again, with the next attempt number; should an outcome still turn up, the fence makes
//! one of the two waste, and counts it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use regatta_backends::{CellProgress, Ledger, ShardRow, ShardState};
use regatta_catalog::Sweep;
use regatta_proto::{CellIndex, ItemIndex, Lane, Report};
use tokio::time::Instant;

use crate::rounds::Watched;
use crate::window::is_outstanding;
use crate::{Coordinator, CoordinatorError};

/// Workers give a batch up after two days; only then its sessions can be lost.
const BATCH_ENDS_WITHIN: Duration = Duration::from_secs(49 * 3600);

/// What moves while a sweep is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Life {
    recorded: u64,
    settled: u64,
    /// Also those of attempts that run.
    tokens: u64,
}

/// When a sweep last moved, as far as this process has seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quiet {
    seen: Option<Life>,
    since: Instant,
    /// Looks for jobs that nobody has since then; each comes after twice the quiet time of the one before.
    looks: u32,
}

impl Quiet {
    pub(crate) fn new() -> Self {
        Self { seen: None, since: Instant::now(), looks: 0 }
    }

    /// For how long these numbers have not changed.
    fn observe(&mut self, life: Life) -> Duration {
        if self.seen != Some(life) {
            *self = Self { seen: Some(life), since: Instant::now(), looks: 0 };
        }
        self.since.elapsed()
    }

    fn restart(&mut self) {
        (self.since, self.looks) = (Instant::now(), 0);
    }

    /// `true` if another look is due; the first is, after the quiet time `first`.
    fn is_look_due(&mut self, first: Duration) -> bool {
        let is_due = self.since.elapsed() >= first.saturating_mul(1 << self.looks.min(16));
        self.looks += u32::from(is_due);
        is_due
    }
}

impl Coordinator {
    pub(crate) async fn reconcile(
        &self,
        watched: &mut Watched,
        progress: &[CellProgress],
    ) -> Result<(), CoordinatorError> {
        let sum = |count: fn(&CellProgress) -> u64| -> u64 { progress.iter().map(count).sum() };
        let (recorded, settled) = (sum(|cell| cell.recorded), sum(|cell| cell.settled));
        let quiet = watched.quiet.observe(Life { recorded, settled, tokens: sum(|cell| cell.usage.total()) });
        if watched.quiet.is_look_due(self.config.missed_after) {
            self.look_for_missing(&watched.sweep, progress, quiet).await?;
        }
        if quiet < self.config.doubtful_after {
            watched.echo.forget();
            return Ok(());
        }
        let sweep = &watched.sweep;
        let shards = self.ledger.shards(&sweep.id).await?;
        let released: BTreeMap<CellIndex, u64> = progress.iter().map(|cell| (cell.index, cell.items)).collect();
        let is_released =
            |shard: &ShardRow| released.get(&shard.cell).is_some_and(|items| u64::from(shard.first) < *items);
        let is_in = |state| shards.iter().any(|shard| shard.state == state && is_released(shard));
        // Jobs of sessions, or of judges whose answers recorded sessions wait for. What is counted as dispatched may be too little after a
        // resume, whose sweep still had sessions under way; when nothing is left to dispatch, all that is missing is outstanding.
        let missing = sum(|cell| cell.items) > recorded;
        let outstanding = progress.iter().any(is_outstanding) || (missing && !is_in(ShardState::Planned));
        let lost = (outstanding || recorded > settled) && quiet >= self.lost_after(sweep);
        let in_doubt = lost || is_in(ShardState::Dispatching);
        if !in_doubt || self.has_waiting_jobs(sweep).await? {
            watched.echo.forget();
            return Ok(());
        }
        if !self.is_all_recorded(&watched.sweep.id, &mut watched.echo).await? {
            return Ok(());
        }
        let sweep = &watched.sweep;
        let sessions = self.forget_dispatch(sweep).await?;
        tracing::warn!(sweep = %sweep.id, sessions, quiet_s = quiet.as_secs(), "dispatching sessions again that have no result");
        self.metrics.reconciled.inc();
        watched.quiet.restart();
        Ok(())
    }

    /// Warns when sessions are outstanding, no job waits, and no worker tells of one: then their jobs are lost, or a worker that had them.
    async fn look_for_missing(
        &self,
        sweep: &Sweep,
        progress: &[CellProgress],
        quiet: Duration,
    ) -> Result<(), CoordinatorError> {
        let outstanding = progress.iter().filter(|cell| is_outstanding(cell));
        let outstanding: u64 = outstanding.map(|cell| cell.dispatched - cell.recorded).sum();
        if outstanding == 0 || self.lost_after(sweep) > self.config.lost_after || self.has_waiting_jobs(sweep).await? {
            return Ok(());
        }
        if running(&self.ledger, sweep, self.config.running_within).await? == 0 {
            tracing::warn!(
                sweep = %sweep.id,
                sessions = outstanding,
                quiet_s = quiet.as_secs(),
                "sessions are outstanding, but no job waits and no worker tells of one; they are dispatched again after {} s of quiet, \
                 unless reports of them wait for a scorer",
                self.config.lost_after.as_secs()
            );
            self.metrics.missing.inc();
        }
        Ok(())
    }

    /// Quiet time after which jobs of `sweep` count as lost. A batch is quiet until the provider is done with it, and the job that follows
    /// it is held by a worker, so no queue tells of it.
    fn lost_after(&self, sweep: &Sweep) -> Duration {
        let has_batches = sweep.lock.endpoints.values().any(|endpoint| endpoint.lane == Lane::Batch);
        if has_batches { self.config.lost_after.max(BATCH_ENDS_WITHIN) } else { self.config.lost_after }
    }

    /// Plans again everything of `sweep` without a result, and has the questions asked again that its sessions wait for.
    pub(crate) async fn forget_dispatch(&self, sweep: &Sweep) -> Result<u64, CoordinatorError> {
        let term = self.lead().await?;
        let sessions = self.ledger.reset_dispatch(&sweep.id, term).await?.ok_or(CoordinatorError::NotLeading)?;
        let waiting = self.ledger.cell_progress(&sweep.id).await?.iter().any(|cell| cell.recorded > cell.settled);
        if waiting {
            let rejudge = Report::Rejudge { sweep: sweep.id.clone(), lock: sweep.digest };
            self.queue.publish_reports(vec![rejudge]).await?;
        }
        Ok(sessions)
    }
}

/// Sessions of `sweep` without a result of which a worker has told within the last `within`.
pub(crate) async fn running(ledger: &Ledger, sweep: &Sweep, within: Duration) -> Result<u64, CoordinatorError> {
    let mut running = 0;
    for cell in sweep.cells() {
        let selected = sweep.selected(cell);
        let (Some(first), Some(last)) = (selected.first(), selected.last()) else { continue };
        let recorded = ledger.recorded_items(&sweep.id, cell.index, *first, *last).await?;
        let recorded: BTreeSet<ItemIndex> = recorded.into_iter().collect();
        let missing: Vec<ItemIndex> = selected.iter().copied().filter(|item| !recorded.contains(item)).collect();
        running += ledger.running_items(&sweep.id, cell.index, &missing, within).await?.len() as u64;
    }
    Ok(running)
}
