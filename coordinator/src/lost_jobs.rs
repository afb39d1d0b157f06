//! Jobs that the broker has lost while others of their sweep go on. A sweep that is not quiet would notice them at its end, hours later, and
//! until then they fill its window.
//!
//! The rule is that of a quiet sweep, for one session and the queue of its job: for as long as it takes a broker to notice that a worker is cut
//! off, and another to tell of what it is given ([`CoordinatorConfig::lost_after`](crate::CoordinatorConfig::lost_after)), no job has waited in
//! the queue, or later ones have [overtaken](crate::overtaken) it for as long; the session's job was published, and the session last told of,
//! longer ago than one counts as told of ([`CoordinatorConfig::running_within`](crate::CoordinatorConfig::running_within)). Because the
//! ledger's clock may be put forward, the session is suspected at several looks before, for as long by this process's clock; then all that was
//! reported is recorded; and then the rule is looked at once more.
//!
//! Whatever is published fills its queue, and what else is lost there has to wait for as long again. So sessions are suspected before they are
//! silent for long enough, from `lost_after` on: what was lost together is suspected at one look, and dispatched again together.
//!
//! This module asks the ledger and the queues, and acts; what one coordinator has learned from them is kept in
//! [`LostJobs`](crate::suspects::LostJobs).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use regatta_backends::{ASKED_WITHIN, Queue, ShardRow, UnderWay};
use regatta_proto::{CellIndex, ItemIndex};
use tokio::time::Instant;

use crate::queues::{queue_of, queues_of};
use crate::rounds::Watched;
use crate::suspects::{Gathering, LongEnough, Looked, PublishedShard, Ripe};
use crate::{Coordinator, CoordinatorConfig, CoordinatorError, shards};

/// Pause between two looks.
const LOOKS_APART: Duration = Duration::from_secs(5);
/// Shortest time for which a session must be silent in every look, by this process's clock. All workers tell of all that they have within it.
const SUSPECTED_FOR: Duration = Duration::from_secs(15);
/// Sessions that are dispatched again at once, between two looks at who leads.
const SESSIONS_A_PART: usize = 128;

/// Sessions without a result.
struct Unrecorded {
    all: BTreeSet<ItemIndex>,
    /// Of these the ones of which no worker tells, and which are not held back.
    silent: BTreeSet<ItemIndex>,
}

impl Coordinator {
    /// Looks for lost jobs of a sweep that is not quiet, and dispatches their sessions again.
    pub(crate) async fn dispatch_lost(&self, watched: &mut Watched) -> Result<(), CoordinatorError> {
        let is_due = !watched.lost_jobs.was_searched_within(LOOKS_APART);
        if self.config.queue_survives && is_due {
            self.look_for_suspects(watched).await?;
            self.look_for_lost_questions(watched).await?;
            watched.lost_jobs.searched();
        }
        let long_enough = LongEnough { drained: self.config.lost_after, suspected: self.suspected_for() };
        match watched.lost_jobs.gathering(&watched.sweep, Instant::now(), long_enough) {
            Gathering::NothingIsRipe => {
                watched.echo.forget();
                return Ok(());
            }
            Gathering::OthersWillBe => return Ok(()),
            Gathering::Done => {}
        }
        let asked_at = self.is_all_recorded(&watched.sweep.id, &mut watched.echo, watched.term).await?;
        let Some(asked_at) = asked_at else { return Ok(()) };
        watched.is_heard();
        // What was true of the queues a moment ago need not be true now. Of all cells at once: what is dispatched here waits in them.
        self.look_at_queues(watched).await?;
        // Of what became suspect since the question, nobody knows what was reported.
        let Ripe { sessions, questions } = watched.lost_jobs.ripe_by(&watched.sweep, asked_at, long_enough);
        for (cell, suspects) in sessions {
            self.lead_on(watched.term).await?;
            let silent = self.unrecorded(watched, cell, &suspects, self.config.running_within).await?.silent;
            watched.lost_jobs.clear_of_suspicion(cell, &suspects);
            let lost: Vec<ItemIndex> = suspects.into_iter().filter(|item| silent.contains(item)).collect();
            for lost in lost.chunks(SESSIONS_A_PART) {
                self.dispatch_again(watched, cell, lost).await?;
            }
        }
        self.have_lost_asked_again(watched, questions).await
    }

    /// Takes note of which queues are drained.
    pub(crate) async fn look_at_queues(&self, watched: &mut Watched) -> Result<(), CoordinatorError> {
        let sweep = watched.sweep.clone();
        watched.lost_jobs.forget_unseen();
        let queues = queues_of(&sweep.id, &sweep.lock);
        for (queue, look) in self.ask_each(&mut watched.unanswering, queues, watched.term, Queue::is_drained).await? {
            let is_drained = match look {
                Some(Ok(is_drained)) => is_drained,
                Some(Err(error)) => {
                    tracing::debug!(sweep = %sweep.id, queue, %error, "failed to count the jobs that wait");
                    false
                }
                None => false,
            };
            watched.lost_jobs.seen(queue, is_drained);
        }
        watched.lost_jobs.looked();
        Ok(())
    }

    /// Finds out which sessions no worker tells of, of the shards that are due.
    async fn look_for_suspects(&self, watched: &mut Watched) -> Result<(), CoordinatorError> {
        self.look_at_queues(watched).await?;
        self.look_at_what_is_given(watched).await?;
        let (sweep, now) = (watched.sweep.clone(), Instant::now());
        let mut due: BTreeMap<CellIndex, Vec<PublishedShard>> = BTreeMap::new();
        for shard in watched.lost_jobs.take_due(self.config.lost_after, self.config.lost_after) {
            due.entry(shard.row.cell).or_default().push(shard);
        }
        let lost_jobs = &mut watched.lost_jobs;
        // Remembered whatever the ledger says, or does not say.
        lost_jobs.remember(&sweep, &due);
        lost_jobs.forget_waiting(&sweep, self.config.lost_after);
        let mut complete = BTreeSet::new();
        for (cell, shards) in due {
            self.lead_on(watched.term).await?;
            let with_times: Vec<(ItemIndex, Instant)> = shards
                .iter()
                .flat_map(|shard| shards::items(&sweep, &shard.row).iter().map(|item| (*item, shard.done)))
                .collect();
            let items: Vec<ItemIndex> = with_times.iter().map(|(item, _)| *item).collect();
            let Unrecorded { all, silent } = self.unrecorded(watched, cell, &items, self.config.lost_after).await?;
            let is_complete =
                |shard: &PublishedShard| shards::items(&sweep, &shard.row).iter().all(|item| !all.contains(item));
            complete.extend(shards.iter().filter(|shard| is_complete(shard)).map(|shard| shard.row.index));
            // Ended ones too: who has handed a session over may have put its job at the end of the queue.
            let attempts = self.ledger.highest_attempt(&sweep.id, cell, &items).await?;
            let items = with_times.into_iter();
            watched.lost_jobs.suspect(
                &sweep,
                cell,
                items.map(|(item, published)| Looked {
                    item,
                    published,
                    is_silent: silent.contains(&item),
                    was_told_of: attempts.contains_key(&item),
                }),
                now,
                self.config.lost_after,
            );
        }
        watched.lost_jobs.forget_complete(&complete);
        Ok(())
    }

    /// Finds out how far each queue has been given out: up to the last shard with a session that has a result, or of which a worker has told.
    async fn look_at_what_is_given(&self, watched: &mut Watched) -> Result<(), CoordinatorError> {
        let sweep = watched.sweep.clone();
        // Where calls are gathered to batches, jobs leave the queue and come back to its end.
        let live = sweep.lock.endpoints.iter().filter(|(_, endpoint)| endpoint.lane.is_live());
        for queue in live.map(|(name, endpoint)| endpoint.queue(name, &sweep.id)) {
            let shards = watched.lost_jobs.next_given(&queue);
            let mut by_cell: BTreeMap<CellIndex, Vec<(Instant, ShardRow)>> = BTreeMap::new();
            for (begun, shard) in shards {
                by_cell.entry(shard.cell).or_default().push((begun, shard));
            }
            let mut given = None;
            for (cell, shards) in by_cell {
                self.lead_on(watched.term).await?;
                let of_cell = shards.iter().flat_map(|(_, shard)| shards::items(&sweep, shard));
                let items: Vec<ItemIndex> = of_cell.copied().collect();
                let under_way = self.ledger.under_way(&sweep.id, cell, &items, self.config.running_within).await?;
                let recorded = self.ledger.recorded_among(&sweep.id, cell, &items).await?;
                let taken: BTreeSet<ItemIndex> = under_way.into_keys().chain(recorded).collect();
                let is_given = |shard: &ShardRow| shards::items(&sweep, shard).iter().any(|item| taken.contains(item));
                let last = shards.iter().filter(|(_, shard)| is_given(shard)).map(|(begun, _)| *begun).max();
                given = given.max(last);
            }
            watched.lost_jobs.given_out(queue, given);
        }
        Ok(())
    }

    /// Time for which a session or question must be suspected, by this process's clock. What nobody has told of since its job was lost is silent for
    /// long enough then, and all workers have had the time to tell of what they have. Sessions and questions count as lost at once: what comes
    /// of the ones fills the queues of the others.
    fn suspected_for(&self) -> Duration {
        let CoordinatorConfig { running_within, lost_after, .. } = self.config;
        (running_within + ASKED_WITHIN).saturating_sub(lost_after).max(SUSPECTED_FOR) + LOOKS_APART
    }

    /// Sessions of `items` without a result, silent if nobody has told of them for `within`.
    async fn unrecorded(
        &self,
        watched: &Watched,
        cell: CellIndex,
        items: &[ItemIndex],
        within: Duration,
    ) -> Result<Unrecorded, CoordinatorError> {
        let sweep = &watched.sweep;
        // Before the results: a session that ends in between has one then.
        let under_way = self.ledger.under_way(&sweep.id, cell, items, within).await?;
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
        // Before they are published: whether they were or not, nothing is published twice on suspicion.
        watched.lost_jobs.published(&sweep, cell, lost);
        tracing::warn!(sweep = %sweep.id, sessions = lost.len(), "dispatching sessions again that no worker tells of, while others go on");
        self.metrics.reconciled.inc();
        self.metrics.dispatched.inc_by(lost.len() as u64);
        match self.send_once(watched, &queue, jobs).await {
            // It is noticed again that nobody tells of them.
            Err(CoordinatorError::Unanswered) => Ok(()),
            other => other,
        }
    }
}
