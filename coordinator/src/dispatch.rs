//! Publishes shards while their queue's window has room.

use std::collections::{BTreeMap, BTreeSet};

use regatta_backends::{CellProgress, QueueError, ShardRow, ShardState, Term, TranscriptRef, UnderWay};
use regatta_catalog::read_transcript;
use regatta_proto::{CellIndex, ItemIndex, Job, Money, SessionJob, SessionKey, Transcript};
use regatta_traces::session_span;
use tokio::time::Instant;

use crate::budget::{first_call, of_sweep, unclaimed};
use crate::rounds::Watched;
use crate::traced::TracedDispatch;
use crate::window::{Window, is_outstanding, outstanding};
use crate::{Coordinator, CoordinatorError, shards};

/// Shards asked of the ledger at once, for each queue. Public for simulations of the dispatcher.
pub const SHARDS_AT_ONCE: u32 = 64;

/// Result of one pass over the shards of a sweep.
#[derive(Debug, Default)]
pub(crate) struct Dispatched {
    /// A shard was published, be it without a job.
    has_published: bool,
    /// A shard did not fit the budget.
    unaffordable: bool,
    /// Sessions are outstanding, unsettled or in doubt.
    unsettled: bool,
    /// A shard waits until all that was reported is recorded: reports of its sessions may be among it.
    unheard: bool,
}

/// Result of publishing a shard.
enum Published {
    /// Number of its sessions whose jobs are in the queue now.
    Jobs(u64),
    /// Nothing: a session of it may be under way, and nobody tells of it. Its worker is gone, or its reports wait.
    Unheard,
}

impl Dispatched {
    /// True if the budget lets nothing more run and nothing runs. While shards turn out to have nothing left to run, as many do after a resume,
    /// further ones may have.
    pub(crate) const fn is_over(&self) -> bool {
        self.unaffordable && !self.has_published && !self.unsettled
    }

    /// True if nothing may be dispatched until everything that was reported is recorded.
    pub(crate) const fn must_hear(&self) -> bool {
        self.unheard
    }
}

/// True if the queue did not take the jobs, and others may.
const fn is_left_alone(published: &Result<Published, CoordinatorError>) -> bool {
    matches!(published, Err(CoordinatorError::Unanswered | CoordinatorError::Queue(QueueError::TooLate { .. })))
}

impl Watched {
    /// The most that the first calls of `shard` may cost together.
    fn worst_case(&self, shard: &ShardRow) -> Money {
        Money(first_call(&self.first_calls, shard.cell).0.saturating_mul(u64::from(shard.count)))
    }
}

impl Coordinator {
    /// Tops up every queue of the sweep, each to at most its window.
    pub(crate) async fn dispatch(
        &self,
        watched: &mut Watched,
        progress: &[CellProgress],
    ) -> Result<Dispatched, CoordinatorError> {
        let sweep = &watched.sweep.clone();
        let mut unclaimed = self.unclaimed(watched, progress).await?;
        let mut done = Dispatched {
            unsettled: progress.iter().any(|cell| is_outstanding(cell) || cell.recorded > cell.settled),
            ..Dispatched::default()
        };
        let was_heard = watched.was_heard_lately() || !self.config.queue_survives;
        'queues: for (queue, mut own) in outstanding(progress) {
            let window = Window::of(sweep, &queue, self.config.window);
            if window.is_full_enough(own) && unclaimed.is_none() {
                continue;
            }
            if watched.leaves_alone(&queue) {
                done.unsettled = true;
                continue;
            }
            for shard in self.ledger.next_shards(&sweep.id, &queue, SHARDS_AT_ONCE).await? {
                // A shard left in `dispatching` by a crash is in doubt: reconciliation decides about it.
                if shard.state != ShardState::Planned {
                    done.unsettled = true;
                    continue;
                }
                let count = u64::from(shard.count);
                if unclaimed.is_some_and(|left| watched.worst_case(&shard) > left) {
                    // A cheaper model may be behind it.
                    done.unaffordable = true;
                    continue;
                }
                if !window.admits(own, count) {
                    break;
                }
                let published = self.publish(watched, &shard, &queue, was_heard).await;
                if is_left_alone(&published) {
                    done.unsettled = true;
                    continue 'queues;
                }
                match published? {
                    Published::Jobs(published) => {
                        own += published;
                        let claimed = first_call(&watched.first_calls, shard.cell).0.saturating_mul(published);
                        unclaimed = unclaimed.map(|left| Money(left.0.saturating_sub(claimed)));
                        done.has_published = true;
                    }
                    Published::Unheard => {
                        (done.unsettled, done.unheard) = (true, true);
                        break 'queues;
                    }
                }
            }
        }
        if let Some(left) = unclaimed.filter(|_| done.is_over()) {
            self.dispatch_within(watched, progress, left, &mut done).await?;
        }
        Ok(done)
    }

    /// Publishes planned shards of the whole sweep, each of which `left` pays for. The first ones of a queue may all be of a model that is too
    /// expensive by now.
    async fn dispatch_within(
        &self,
        watched: &mut Watched,
        progress: &[CellProgress],
        mut left: Money,
        done: &mut Dispatched,
    ) -> Result<(), CoordinatorError> {
        let sweep = &watched.sweep.clone();
        let was_heard = watched.was_heard_lately() || !self.config.queue_survives;
        let cells: BTreeMap<CellIndex, &CellProgress> = progress.iter().map(|cell| (cell.index, cell)).collect();
        let (mut own, mut published) = (outstanding(progress), 0);
        for shard in self.ledger.shards(&sweep.id).await? {
            // Later rounds of a sweep with a question are not released yet.
            let is_released = |cell: &&&CellProgress| u64::from(shard.first) + u64::from(shard.count) <= cell.items;
            let Some(cell) = cells.get(&shard.cell).filter(is_released) else { continue };
            // In doubt: reconciliation decides about it.
            done.unsettled |= shard.state == ShardState::Dispatching;
            done.unsettled |= watched.leaves_alone(&cell.queue);
            if shard.state != ShardState::Planned
                || watched.worst_case(&shard) > left
                || watched.leaves_alone(&cell.queue)
            {
                continue;
            }
            let own = own.entry(cell.queue.clone()).or_insert(0);
            if published == SHARDS_AT_ONCE
                || !Window::of(sweep, &cell.queue, self.config.window).admits(*own, shard.count.into())
            {
                break;
            }
            let sent = self.publish(watched, &shard, &cell.queue, was_heard).await;
            if is_left_alone(&sent) {
                done.unsettled = true;
                continue;
            }
            match sent? {
                Published::Jobs(jobs) => {
                    *own += jobs;
                    left = Money(
                        left.0.saturating_sub(first_call(&watched.first_calls, shard.cell).0.saturating_mul(jobs)),
                    );
                    (done.has_published, published) = (true, published + 1);
                }
                Published::Unheard => {
                    (done.unsettled, done.unheard) = (true, true);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Money that the budget leaves for further sessions; `None` without a budget.
    async fn unclaimed(&self, watched: &Watched, progress: &[CellProgress]) -> Result<Option<Money>, CoordinatorError> {
        if watched.sweep.lock.budget_usd.is_none() {
            return Ok(None);
        }
        let Some(account) = self.permits.account(&of_sweep(&watched.sweep.id)).await? else {
            return Ok(Some(Money::ZERO));
        };
        if watched.budget.is_some_and(|budget| budget != account.cap) {
            // Who led before, and stood still, has put the cap of before a resume back.
            self.open_accounts(&watched.sweep, watched.budget).await?;
        }
        let (_, judged) = self.ledger.judge_costs(&watched.sweep.id).await?;
        Ok(Some(unclaimed(&account, progress, judged.known, &watched.first_calls)))
    }

    /// Publishes the sessions of `shard` that have no result yet. The intent is written before and the fact after, so that a crash in
    /// between leaves the shard visibly in doubt instead of losing or doubling it. `was_heard` says that everything was recorded that had been
    /// reported when this round began to dispatch.
    async fn publish(
        &self,
        watched: &mut Watched,
        shard: &ShardRow,
        queue: &str,
        was_heard: bool,
    ) -> Result<Published, CoordinatorError> {
        let sweep = &watched.sweep.clone();
        let items = shards::items(sweep, shard);
        let (Some(first), Some(last)) = (items.iter().min(), items.iter().max()) else {
            return Ok(Published::Jobs(0));
        };
        // Before the results: a session that ends in between has one then. The other way round it would be in neither.
        let under_way = self.ledger.under_way(&sweep.id, shard.cell, items, self.config.running_within).await?;
        let recorded: BTreeSet<ItemIndex> =
            self.ledger.recorded_items(&sweep.id, shard.cell, *first, *last).await?.into_iter().collect();
        let missing: Vec<ItemIndex> = items.iter().copied().filter(|item| !recorded.contains(item)).collect();
        let (mut to_run, mut held, mut may_run) = (Vec::new(), Vec::new(), false);
        for item in &missing {
            match under_way.get(item) {
                // It is under way, from an earlier dispatch.
                Some(UnderWay::Told) => {}
                Some(UnderWay::Unconfirmed) => held.push(*item),
                evidence @ (Some(UnderWay::Silent) | None) => {
                    may_run |= evidence.is_some() || watched.may_have_run;
                    to_run.push(*item);
                }
            }
        }
        if may_run && !was_heard {
            return Ok(Published::Unheard);
        }
        let jobs = self.jobs(watched, shard.cell, &to_run).await?;
        let (published, outstanding) = (jobs.len() as u32, missing.len() as u32);
        let is_first = |job: &Job| matches!(job, Job::Session(job) if job.attempt == 1);
        let are_first = jobs.len() == items.len() && jobs.iter().all(is_first);
        let term = watched.term;
        self.lead_on(term).await?;
        if !self.ledger.claim_shard(&sweep.id, shard.index, watched.generation, term).await? {
            return Ok(Published::Jobs(0));
        }
        watched.held.hold(shard.cell, held);
        let begun = are_first.then(Instant::now);
        if !jobs.is_empty() {
            let traced = TracedDispatch::prepare(&self.tracer, sweep, queue, &jobs, self.clock.now());
            let sent = self.send_once(watched, queue, jobs).await;
            if matches!(sent, Err(CoordinatorError::NotLeading | CoordinatorError::Queue(QueueError::TooLate { .. }))) {
                self.unclaim(watched, shard, term).await?;
            }
            sent?;
            traced.send(&self.tracer, self.clock.now());
        }
        self.ledger.confirm_shard(&sweep.id, shard.index, outstanding, term).await?;
        watched.lost_jobs.dispatched(sweep, ShardRow { state: ShardState::Dispatched, ..*shard }, begun);
        self.metrics.dispatched.inc_by(u64::from(published));
        Ok(Published::Jobs(u64::from(published)))
    }

    /// Plans `shard` again, which was claimed under `term` and of which nothing was sent. Should another have led since, it finds the shard in
    /// doubt, or has published it.
    async fn unclaim(&self, watched: &mut Watched, shard: &ShardRow, term: Term) -> Result<(), CoordinatorError> {
        let sweep = &watched.sweep.clone();
        watched.held.forget(shard.cell, shards::items(sweep, shard));
        let progress = self.ledger.cell_progress(&sweep.id).await?;
        // It is counted as dispatched once it is confirmed.
        if let Some(cell) = progress.iter().find(|cell| cell.index == shard.cell) {
            let (shards, dispatched) = ([shard.index], cell.dispatched);
            self.ledger.plan_shards_again(&sweep.id, shard.cell, &shards, dispatched, term).await?;
        }
        Ok(())
    }

    /// The jobs of sessions of `cell` that have no result, each as the attempt after those that are known.
    pub(crate) async fn jobs(
        &self,
        watched: &Watched,
        cell: CellIndex,
        items: &[ItemIndex],
    ) -> Result<Vec<Job>, CoordinatorError> {
        let sweep = &watched.sweep;
        let attempts: BTreeMap<ItemIndex, u32> = self.ledger.highest_attempt(&sweep.id, cell, items).await?;
        let left_off = self.ledger.continuations(&sweep.id, cell, items).await?;
        let mut jobs = Vec::with_capacity(items.len());
        for item in items {
            let key = SessionKey { sweep: sweep.id.clone(), cell, item: *item };
            let transcript = match left_off.get(item) {
                // A budget ended it: what it has paid for is not paid for again.
                Some(at) => self.transcript_to_go_on_from(&key, at).await?,
                None => Transcript::default(),
            };
            jobs.push(Job::Session(Box::new(SessionJob {
                key,
                lock: sweep.digest,
                attempt: attempts.get(item).copied().unwrap_or(0) + 1,
                generation: watched.generation,
                transcript,
            })));
        }
        Ok(jobs)
    }

    /// The transcript of the session `key` that is stored at `at`. Where it is lost, by retention or a damaged disk, the session begins anew:
    /// nobody could ever read it, and the sweep would never end.
    async fn transcript_to_go_on_from(
        &self,
        key: &SessionKey,
        at: &TranscriptRef,
    ) -> Result<Transcript, CoordinatorError> {
        match read_transcript(self.catalog.blobs(), &key.sweep, at).await {
            Ok(stored) => Ok(stored.transcript),
            Err(error) if error.is_loss() => {
                let _about = session_span(key, None).entered();
                tracing::warn!(%error, "a session begins anew and is paid for again: what it would go on from is lost");
                Ok(Transcript::default())
            }
            Err(error) => Err(error.into()),
        }
    }
}
