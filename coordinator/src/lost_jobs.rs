//! Jobs that the broker has lost while others of their sweep go on. A sweep that is not quiet would notice them at its end, hours later, and
//! until then they fill its window.
//!
//! The rule is that of a quiet sweep, for one session and the queue of its job: for as long as it takes a broker to notice that a worker is cut
//! off, and another to tell of what it is given ([`CoordinatorConfig::lost_after`](crate::CoordinatorConfig::lost_after)), no job has waited in
//! the queue; the session's job was published, and the session last told of, longer ago than one counts as told of
//! ([`CoordinatorConfig::running_within`](crate::CoordinatorConfig::running_within)). It is so at several looks, because the ledger's clock may be
//! put forward; then all that was reported is recorded; and then it is so once more.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use regatta_backends::{OpenQuestion, ShardRow, ShardState, UnderWay};
use regatta_catalog::Sweep;
use regatta_proto::{CellIndex, ItemIndex, ShardIndex};
use tokio::time::Instant;

use crate::rounds::Watched;
use crate::{Coordinator, CoordinatorError, shards};

/// Pause between two looks.
const LOOKS_APART: Duration = Duration::from_secs(5);
/// Pause after which nobody knows whether a job has waited since the last look.
const UNSEEN_AFTER: Duration = Duration::from_secs(20);
/// Time for which a session, or a question, must be silent in every look, by this process's clock. All workers tell of all that they have within it.
const SUSPECTED_FOR: Duration = Duration::from_secs(15);
/// Sessions that are asked after in one look, but for those of a last shard.
const SESSIONS_A_LOOK: u32 = 8_192;
/// Shards that are remembered. Where more are dispatched while sessions count as told of, the oldest ones are left to the end of the sweep.
const SHARDS_KEPT: usize = 16_384;

/// What one coordinator knows of jobs of a sweep that may be lost.
#[derive(Debug, Default)]
pub(crate) struct LostJobs {
    /// Shards that may have sessions without a result, each with the time by which all its jobs were published; the next to be looked at first.
    shards: VecDeque<(Instant, ShardRow)>,
    /// Since when each queue has been drained at every look.
    drained: BTreeMap<String, Instant>,
    looked_at: Option<Instant>,
    /// Sessions of which no worker tells, and since when they were found so at every look.
    suspects: BTreeMap<CellIndex, BTreeMap<ItemIndex, Instant>>,
    /// The same of questions.
    pub(crate) questions: BTreeMap<OpenQuestion, Instant>,
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

    /// Jobs of `items` of a cell are published again, or are about to be.
    pub(crate) fn published(&mut self, sweep: &Sweep, cell: CellIndex, items: &[ItemIndex]) {
        let items: BTreeSet<ItemIndex> = items.iter().copied().collect();
        for (since, shard) in &mut self.shards {
            if shard.cell == cell && shards::items(sweep, shard).iter().any(|item| items.contains(item)) {
                *since = Instant::now();
            }
        }
        if let Some(suspects) = self.suspects.get_mut(&cell) {
            suspects.retain(|item, _| !items.contains(item));
        }
    }

    /// Those of `shards` are not dispatched any more.
    pub(crate) fn planned_again(&mut self, shards: &[ShardIndex]) {
        self.shards.retain(|(_, shard)| !shards.contains(&shard.index));
        self.suspects.clear();
    }

    /// A queue was looked at.
    fn seen(&mut self, queue: String, is_drained: bool) {
        if is_drained {
            self.drained.entry(queue).or_insert_with(Instant::now);
        } else {
            self.drained.remove(&queue);
        }
    }

    /// True if no job has waited in the queue of `cell` for `long_enough`.
    fn has_been_drained(&self, sweep: &Sweep, cell: CellIndex, long_enough: Duration) -> bool {
        queue_of(sweep, cell).is_some_and(|queue| self.is_drained(&queue, long_enough))
    }

    /// True if no job has waited in `queue` for `long_enough`.
    pub(crate) fn is_drained(&self, queue: &str, long_enough: Duration) -> bool {
        self.drained.get(queue).is_some_and(|since| since.elapsed() >= long_enough)
    }

    /// Jobs were published to `queue`, or are about to be.
    pub(crate) fn filled(&mut self, queue: &str) {
        self.drained.remove(queue);
    }

    /// The next shards to ask after, of those whose jobs have been published for `long_enough`. They are remembered no more.
    fn take_due(&mut self, long_enough: Duration) -> Vec<(Instant, ShardRow)> {
        let (mut due, mut kept, mut sessions) = (Vec::new(), VecDeque::with_capacity(self.shards.len()), 0);
        for (since, shard) in std::mem::take(&mut self.shards) {
            if sessions < SESSIONS_A_LOOK && since.elapsed() >= long_enough {
                sessions += shard.count;
                due.push((since, shard));
            } else {
                kept.push_back((since, shard));
            }
        }
        self.shards = kept;
        due
    }

    /// Sessions that have been suspected for long enough.
    fn ripe(&self) -> BTreeMap<CellIndex, Vec<ItemIndex>> {
        let of_cell = |suspects: &BTreeMap<ItemIndex, Instant>| -> Vec<ItemIndex> {
            suspects.iter().filter(|(_, since)| is_ripe(**since)).map(|(item, _)| *item).collect()
        };
        let all = self.suspects.iter().map(|(cell, suspects)| (*cell, of_cell(suspects)));
        all.filter(|(_, items)| !items.is_empty()).collect()
    }
}

/// True for what was silent in every look since then.
pub(crate) fn is_ripe(since: Instant) -> bool {
    since.elapsed() >= SUSPECTED_FOR
}

/// The queue of a cell's sessions; `None` where the cell is not of `sweep`.
fn queue_of(sweep: &Sweep, cell: CellIndex) -> Option<String> {
    let endpoint = &sweep.cell(cell)?.model.endpoint;
    Some(sweep.lock.endpoints.get(endpoint)?.queue(endpoint, &sweep.id))
}

/// Sessions without a result.
struct Unrecorded {
    all: BTreeSet<ItemIndex>,
    /// Those of which no worker tells, and which are not held back.
    silent: BTreeSet<ItemIndex>,
}

impl Coordinator {
    /// Looks for lost jobs of a sweep that is not quiet, and dispatches their sessions again.
    pub(crate) async fn dispatch_lost(&self, watched: &mut Watched) -> Result<(), CoordinatorError> {
        let is_due = watched.lost_jobs.looked_at.is_none_or(|looked_at| looked_at.elapsed() >= LOOKS_APART);
        if self.config.queue_survives && is_due {
            self.look_for_suspects(watched).await?;
            self.look_for_lost_questions(watched).await?;
        }
        let (ripe, questions) = (watched.lost_jobs.ripe(), watched.lost_jobs.ripe_questions());
        if ripe.is_empty() && questions.is_empty() {
            watched.echo.forget();
            return Ok(());
        }
        if !self.is_all_recorded(&watched.sweep.id, &mut watched.echo, watched.term).await? {
            return Ok(());
        }
        watched.is_heard();
        // What is true of the queues a moment ago need not be true now.
        self.look_at_queues(watched).await;
        for (cell, suspects) in ripe {
            self.lead_on(watched.term).await?;
            let is_drained = watched.lost_jobs.has_been_drained(&watched.sweep, cell, self.config.lost_after);
            let silent = self.unrecorded(watched, cell, &suspects).await?.silent;
            let lost: Vec<ItemIndex> =
                suspects.into_iter().filter(|item| is_drained && silent.contains(item)).collect();
            if lost.is_empty() {
                watched.lost_jobs.suspects.remove(&cell);
            } else {
                self.dispatch_again(watched, cell, &lost).await?;
            }
        }
        self.have_asked_again(watched, questions).await
    }

    /// Takes note of which queues are drained.
    async fn look_at_queues(&self, watched: &mut Watched) {
        let sweep = watched.sweep.clone();
        let lost_jobs = &mut watched.lost_jobs;
        if lost_jobs.looked_at.is_none_or(|looked_at| looked_at.elapsed() > UNSEEN_AFTER) {
            lost_jobs.drained.clear();
            lost_jobs.suspects.clear();
            lost_jobs.questions.clear();
        }
        for (name, endpoint) in &sweep.lock.endpoints {
            let queue = endpoint.queue(name, &sweep.id);
            let is_drained = self.queue.is_drained(&queue).await.unwrap_or_else(|error| {
                tracing::debug!(sweep = %sweep.id, queue, %error, "nobody knows whether jobs wait");
                false
            });
            watched.lost_jobs.seen(queue, is_drained);
        }
        watched.lost_jobs.looked_at = Some(Instant::now());
    }

    /// Finds out which sessions no worker tells of, of the shards that are due.
    async fn look_for_suspects(&self, watched: &mut Watched) -> Result<(), CoordinatorError> {
        self.look_at_queues(watched).await;
        let (sweep, now) = (watched.sweep.clone(), Instant::now());
        let long_enough = self.config.running_within.max(self.config.lost_after);
        let mut due: BTreeMap<CellIndex, Vec<(Instant, ShardRow)>> = BTreeMap::new();
        for (since, shard) in watched.lost_jobs.take_due(long_enough) {
            due.entry(shard.cell).or_default().push((since, shard));
        }
        // Remembered whatever the ledger says, or does not say.
        watched.lost_jobs.shards.extend(due.values().flatten().copied());
        let mut complete = BTreeSet::new();
        for (cell, shards) in due {
            self.lead_on(watched.term).await?;
            let items: Vec<ItemIndex> =
                shards.iter().flat_map(|(_, shard)| shards::items(&sweep, shard)).copied().collect();
            let Unrecorded { all, silent } = self.unrecorded(watched, cell, &items).await?;
            let is_complete = |shard: &ShardRow| shards::items(&sweep, shard).iter().all(|item| !all.contains(item));
            complete.extend(shards.iter().filter(|(_, shard)| is_complete(shard)).map(|(_, shard)| shard.index));
            let is_drained = watched.lost_jobs.has_been_drained(&sweep, cell, self.config.lost_after);
            let suspects = watched.lost_jobs.suspects.entry(cell).or_default();
            for item in items {
                if is_drained && silent.contains(&item) {
                    suspects.entry(item).or_insert(now);
                } else {
                    suspects.remove(&item);
                }
            }
        }
        let lost_jobs = &mut watched.lost_jobs;
        lost_jobs.shards.retain(|(_, shard)| !complete.contains(&shard.index));
        lost_jobs.suspects.retain(|_, suspects| !suspects.is_empty());
        Ok(())
    }

    /// Those of `items` without a result.
    async fn unrecorded(
        &self,
        watched: &Watched,
        cell: CellIndex,
        items: &[ItemIndex],
    ) -> Result<Unrecorded, CoordinatorError> {
        let sweep = &watched.sweep;
        // Before the results: a session that ends in between has one then.
        let under_way = self.ledger.under_way(&sweep.id, cell, items, self.config.running_within).await?;
        let recorded: BTreeSet<ItemIndex> =
            self.ledger.recorded_among(&sweep.id, cell, items).await?.into_iter().collect();
        let all: BTreeSet<ItemIndex> = items.iter().copied().filter(|item| !recorded.contains(item)).collect();
        let is_silent = |item: &ItemIndex| {
            matches!(under_way.get(item), None | Some(UnderWay::Silent)) && !watched.held.holds(cell, *item)
        };
        let silent = all.iter().copied().filter(is_silent).collect();
        Ok(Unrecorded { all, silent })
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
        // Nothing that is counted changes, and yet the sweep moves: whoever takes these has the time to tell of them.
        self.move_on(watched).await?;
        self.lead_on(watched.term).await?;
        let until = self.leads_until(watched.term)?;
        // Before they are published: whether they were or not, nothing is published twice on suspicion.
        watched.lost_jobs.published(&sweep, cell, lost);
        watched.lost_jobs.filled(&queue);
        tracing::warn!(sweep = %sweep.id, sessions = lost.len(), "dispatching sessions again that no worker tells of, while others go on");
        self.metrics.reconciled.inc();
        self.metrics.dispatched.inc_by(lost.len() as u64);
        Ok(self.queue.publish_jobs_once(&queue, jobs, until).await?)
    }
}
