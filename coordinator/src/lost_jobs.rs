//! Jobs that the broker has lost while others of their sweep go on. A sweep that is not quiet would notice them at its end, hours later, and
//! until then they fill its window.
//!
//! A job is lost when nobody tells of its session who should. It was published, or its session last told of, longer ago than a session counts as
//! told of ([`CoordinatorConfig::running_within`](crate::CoordinatorConfig::running_within)). By [`NOTICED_WITHIN`] after that the broker had
//! noticed whoever held it and was cut off, and offered it to others; then its queue was seen empty, so that one of them had it; and that one has
//! had [`TOLD_WITHIN`] to tell of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use regatta_backends::{ShardRow, ShardState, UnderWay};
use regatta_catalog::Sweep;
use regatta_proto::{CellIndex, ItemIndex, ShardIndex};
use tokio::time::Instant;

use crate::held::HeldBack;
use crate::rounds::Watched;
use crate::{Coordinator, CoordinatorError, shards};

/// Longest time that a broker takes to notice that a worker is cut off.
const NOTICED_WITHIN: Duration = Duration::from_secs(60);
/// Longest time that a worker takes to tell of what it was given, with the time that the report takes to be recorded.
const TOLD_WITHIN: Duration = Duration::from_secs(15);
/// Pause between two looks.
const LOOKS_APART: Duration = Duration::from_secs(10);
/// Sessions that are asked after in one look, but for those of a last shard.
const SESSIONS_A_LOOK: u32 = 8_192;
/// Shards that are remembered. Where more are dispatched while sessions may be told of, the oldest ones are left to the end of the sweep.
const SHARDS_KEPT: usize = 4_096;

/// What one coordinator knows of jobs of a sweep that may be lost.
#[derive(Debug, Default)]
pub(crate) struct LostJobs {
    /// Shards that may have sessions without a result, each with the time by which all its jobs were published; the next to be looked at first.
    shards: VecDeque<(Instant, ShardRow)>,
    /// When each queue was seen empty, of late.
    empty_at: BTreeMap<String, VecDeque<Instant>>,
    looked_at: Option<Instant>,
    /// Sessions that nobody tells of; reports of them may wait to be recorded.
    suspects: BTreeMap<CellIndex, BTreeSet<ItemIndex>>,
}

impl LostJobs {
    /// Nothing is known but that `shards` were dispatched before now.
    pub(crate) fn among(shards: Vec<ShardRow>) -> Self {
        let mut all = Self::default();
        shards
            .into_iter()
            .filter(|shard| shard.state == ShardState::Dispatched)
            .for_each(|shard| all.dispatched(shard));
        all
    }

    /// All jobs of `shard` are published.
    pub(crate) fn dispatched(&mut self, shard: ShardRow) {
        if self.shards.len() == SHARDS_KEPT {
            self.shards.pop_front();
        }
        self.shards.push_back((Instant::now(), shard));
    }

    /// Those of `shards` are not dispatched any more.
    pub(crate) fn planned_again(&mut self, shards: &[ShardIndex]) {
        self.shards.retain(|(_, shard)| !shards.contains(&shard.index));
        self.suspects.clear();
    }

    /// Shards whose jobs have been published for `long_enough` and whose queue was seen empty between `within` ago: no longer than the one and no
    /// shorter than the other. They are remembered no more.
    fn take_due(
        &mut self,
        sweep: &Sweep,
        long_enough: Duration,
        (longest, shortest): (Duration, Duration),
    ) -> Vec<(Instant, ShardRow)> {
        let is_drained = |shard: &ShardRow| {
            let seen = queue_of(sweep, shard.cell).and_then(|queue| self.empty_at.get(&queue));
            seen.is_some_and(|seen| seen.iter().any(|at| at.elapsed() <= longest && at.elapsed() >= shortest))
        };
        let (mut due, mut kept, mut sessions) = (Vec::new(), VecDeque::with_capacity(self.shards.len()), 0);
        for (since, shard) in std::mem::take(&mut self.shards) {
            if sessions < SESSIONS_A_LOOK && since.elapsed() >= long_enough && is_drained(&shard) {
                sessions += shard.count;
                due.push((since, shard));
            } else {
                kept.push_back((since, shard));
            }
        }
        self.shards = kept;
        due
    }
}

/// The queue of a cell's sessions; `None` where the cell is not of `sweep`.
fn queue_of(sweep: &Sweep, cell: CellIndex) -> Option<String> {
    let endpoint = &sweep.cell(cell)?.model.endpoint;
    Some(sweep.lock.endpoints.get(endpoint)?.queue(endpoint, &sweep.id))
}

impl Coordinator {
    /// Looks for lost jobs of a sweep that is not quiet, and dispatches their sessions again.
    pub(crate) async fn dispatch_lost(&self, watched: &mut Watched) -> Result<(), CoordinatorError> {
        if watched.lost_jobs.suspects.is_empty() {
            watched.echo.forget();
            if self.config.queue_survives
                && watched.lost_jobs.looked_at.is_none_or(|looked_at| looked_at.elapsed() >= LOOKS_APART)
            {
                watched.lost_jobs.looked_at = Some(Instant::now());
                self.look_for_suspects(watched).await?;
            }
            return Ok(());
        }
        if !self.is_all_recorded(&watched.sweep.id, &mut watched.echo, watched.term).await? {
            return Ok(());
        }
        watched.is_heard();
        for (cell, suspects) in std::mem::take(&mut watched.lost_jobs.suspects) {
            let suspects: Vec<ItemIndex> = suspects.into_iter().collect();
            let lost = self.silent(&watched.sweep, cell, &suspects, &watched.held).await?;
            if let Some(lost) = lost.filter(|lost| !lost.is_empty()) {
                self.dispatch_again(watched, cell, &lost).await?;
            }
        }
        Ok(())
    }

    /// Takes note of which queues are empty, and suspects sessions of the shards that are due.
    async fn look_for_suspects(&self, watched: &mut Watched) -> Result<(), CoordinatorError> {
        let sweep = watched.sweep.clone();
        let (longest, shortest) = (self.config.running_within.saturating_sub(NOTICED_WITHIN), TOLD_WITHIN);
        for (name, endpoint) in &sweep.lock.endpoints {
            let queue = endpoint.queue(name, &sweep.id);
            let is_empty = self.queue.depth(&queue).await? == 0;
            let seen = watched.lost_jobs.empty_at.entry(queue).or_default();
            seen.retain(|at| at.elapsed() <= longest);
            if is_empty {
                seen.push_back(Instant::now());
            }
        }
        let long_enough = self.config.running_within.max(self.config.lost_after);
        for (since, shard) in watched.lost_jobs.take_due(&sweep, long_enough, (longest, shortest)) {
            let items = shards::items(&sweep, &shard);
            // Remembered whatever the ledger says, or does not say.
            watched.lost_jobs.shards.push_back((since, shard));
            match self.silent(&sweep, shard.cell, items, &watched.held).await? {
                None => drop(watched.lost_jobs.shards.pop_back()),
                Some(silent) if silent.is_empty() => {}
                Some(silent) => watched.lost_jobs.suspects.entry(shard.cell).or_default().extend(silent),
            }
        }
        Ok(())
    }

    /// Those of `items` of which no worker tells and which are not `held` back; `None` when each has a result.
    async fn silent(
        &self,
        sweep: &Sweep,
        cell: CellIndex,
        items: &[ItemIndex],
        held: &HeldBack,
    ) -> Result<Option<Vec<ItemIndex>>, CoordinatorError> {
        let (Some(first), Some(last)) = (items.iter().min(), items.iter().max()) else { return Ok(None) };
        // Before the results: a session that ends in between has one then.
        let under_way = self.ledger.under_way(&sweep.id, cell, items, self.config.running_within).await?;
        let recorded = self.ledger.recorded_items(&sweep.id, cell, *first, *last).await?;
        let recorded: BTreeSet<ItemIndex> = recorded.into_iter().collect();
        let missing: Vec<ItemIndex> = items.iter().copied().filter(|item| !recorded.contains(item)).collect();
        let is_silent =
            |item: &ItemIndex| matches!(under_way.get(item), None | Some(UnderWay::Silent)) && !held.holds(cell, *item);
        Ok((!missing.is_empty()).then(|| missing.into_iter().filter(is_silent).collect()))
    }

    /// Publishes the jobs of sessions that are lost, once. They count as dispatched already.
    async fn dispatch_again(
        &self,
        watched: &mut Watched,
        cell: CellIndex,
        lost: &[ItemIndex],
    ) -> Result<(), CoordinatorError> {
        let sweep = watched.sweep.clone();
        let Some(queue) = queue_of(&sweep, cell) else { return Ok(()) };
        let jobs = self.jobs(watched, cell, lost).await?;
        self.lead_on(watched.term).await?;
        let until = self.leads_until(watched.term)?;
        // Whether they are published or not, their workers have as long to tell of them as before.
        for (since, shard) in &mut watched.lost_jobs.shards {
            if shard.cell == cell && shards::items(&sweep, shard).iter().any(|item| lost.contains(item)) {
                *since = Instant::now();
            }
        }
        tracing::warn!(sweep = %sweep.id, sessions = lost.len(), "dispatching sessions again that no worker tells of, while others go on");
        self.metrics.reconciled.inc();
        self.metrics.dispatched.inc_by(lost.len() as u64);
        Ok(self.queue.publish_jobs_once(&queue, jobs, until).await?)
    }
}
