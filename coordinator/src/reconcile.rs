//! Jobs that may have been lost: left in doubt by a coordinator's crash, or by a broker that forgot them.
//!
//! Nothing is dispatched twice on suspicion. Only when every queue of the sweep is empty and no outcome has come in for a while are
//! the sessions without a result dispatched again, with the next attempt number: those of the shards in doubt, or, after a longer while, all;
//! but none of which a worker tells, by its attempt or by its batch.
//! Should an outcome still turn up, the fence makes one of the two waste, and counts it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use regatta_backends::{CellProgress, Ledger, ShardRow, ShardState, Term, UnderWay};
use regatta_catalog::Sweep;
use regatta_proto::{CellIndex, ItemIndex, Report, ShardIndex};
use tokio::time::Instant;

use crate::held::HeldBack;
use crate::queues::{queue_of, queues_of};
use crate::quiet::Quiet;
use crate::rejudging::Rejudging;
use crate::rounds::Watched;
use crate::suspects::LostJobs;
use crate::window::is_outstanding;
use crate::{Coordinator, CoordinatorError, shards};

/// Shortest and longest pause between two looks at what workers tell of while a sweep is quiet: a look reads of every session.
const LOOKS_APART: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(30));

/// All workers tell of all that they have within this time.
const TOLD_WITHIN: Duration = Duration::from_secs(15);

/// Longest time for which lost sessions wait for others that nobody tells of any more, until these count as lost too.
const WAITED_FOR: Duration = Duration::from_secs(35);

/// Pause after a look at a sweep that has been quiet for `quiet`. What was told of until then is soon known to be lost, or goes on for long.
fn looks_apart(quiet: Duration) -> Duration {
    (quiet / 12).clamp(LOOKS_APART.0, LOOKS_APART.1)
}

impl Coordinator {
    pub(crate) async fn reconcile(
        &self,
        watched: &mut Watched,
        progress: &[CellProgress],
    ) -> Result<(), CoordinatorError> {
        self.take_note(watched, progress).await?;
        let quiet = watched.quiet.time();
        if watched.quiet.is_look_due(self.config.missed_after) {
            self.look_for_missing(&watched.sweep, progress, quiet).await?;
        }
        if quiet < self.config.doubtful_after || watched.quiet.watched() < self.hears_within() {
            return self.dispatch_lost(watched).await;
        }
        let sweep = &watched.sweep.clone();
        let shards = self.ledger.shards(&sweep.id).await?;
        let released: BTreeMap<CellIndex, u64> = progress.iter().map(|cell| (cell.index, cell.items)).collect();
        let is_released =
            |shard: &ShardRow| released.get(&shard.cell).is_some_and(|items| u64::from(shard.first) < *items);
        let all_dispatched = !shards.iter().any(|shard| shard.state == ShardState::Planned && is_released(shard));
        let may_be_lost = quiet >= self.config.lost_after;
        // Jobs that a queue did not confirm may still come when it answers again.
        let is_silent = |queue: &String| {
            watched.unconfirming.is_silent(queue) && !watched.lost_jobs.is_drained(queue, self.config.doubtful_after)
        };
        let may_come = |shard: &ShardRow| queue_of(sweep, shard.cell).is_some_and(|queue| is_silent(&queue));
        let doubtful: Vec<&ShardRow> = shards
            .iter()
            .filter(|shard| shard.state == ShardState::Dispatching && is_released(shard) && !may_come(shard))
            .collect();
        let may_be_lost = may_be_lost && !queues_of(&sweep.id, &sweep.lock).iter().any(is_silent);
        let seems_lost = may_be_lost && self.seems_lost(sweep, &mut watched.quiet, progress, all_dispatched).await?;
        if progress.iter().any(|cell| cell.recorded > cell.settled) {
            self.doubtful_questions(watched).await?;
        } else {
            watched.lost_jobs.in_doubt.clear();
        }
        let are_questions_doubtful = !watched.lost_jobs.doubtful_by(Instant::now()).is_empty();
        if !seems_lost && doubtful.is_empty() && !are_questions_doubtful {
            return self.dispatch_lost(watched).await;
        }
        let asked_at = self.is_all_recorded(&watched.sweep.id, &mut watched.echo, watched.term).await?;
        let Some(asked_at) = asked_at else { return Ok(()) };
        // Looked at again: what seemed lost may have been told of in reports that waited for a scorer.
        let lost = seems_lost && self.look_for_lost(sweep, progress, all_dispatched).await?;
        if !lost {
            watched.is_heard();
            self.have_doubtful_asked_again(watched, asked_at).await?;
        }
        if !lost && doubtful.is_empty() {
            watched.quiet.looked_at = Some((Instant::now(), false));
            watched.echo.forget();
            return Ok(());
        }
        // Before anything is planned again: what looks failed may have been done, and would be done once more.
        self.move_on(watched).await?;
        watched.is_heard();
        watched.may_have_run = true;
        let sessions = if lost {
            // All that is held back is planned again too.
            watched.held = HeldBack::default();
            watched.lost_jobs = LostJobs::default();
            // Should scorers not hear of what is released, they are told once more.
            watched.rejudging = Rejudging::Due(Instant::now());
            // A scorer that was slow may have asked questions since the look: they are in a queue, and not lost.
            self.forget_dispatch(&watched.sweep, self.config.lost_after, watched.term).await?
        } else {
            self.plan_again(watched, &shards, &doubtful).await?
        };
        let sweep = &watched.sweep;
        tracing::warn!(sweep = %sweep.id, sessions, quiet_s = quiet.as_secs(), "dispatching sessions again that have no result");
        self.metrics.reconciled.inc();
        Ok(())
    }

    /// Time in which a process hears of what is alive, whatever the ledger's clock says.
    fn hears_within(&self) -> Duration {
        (self.config.rebroadcast * 3).max(TOLD_WITHIN).min(self.config.doubtful_after)
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
        if outstanding == 0 {
            return Ok(());
        }
        if running(&self.ledger, sweep, self.config.running_within).await? == 0 {
            tracing::warn!(
                sweep = %sweep.id,
                sessions = outstanding,
                quiet_s = quiet.as_secs(),
                "sessions are outstanding, but no job waits and no worker tells of one; they are dispatched again after {} s of quiet, \
                 unless reports of them wait for a scorer",
                self.config.lost_after.max(self.config.doubtful_after).as_secs()
            );
            self.metrics.missing.inc();
        }
        Ok(())
    }

    /// The last look's answer to [`Self::look_for_lost`], or that of another if it is time for one.
    async fn seems_lost(
        &self,
        sweep: &Sweep,
        quiet: &mut Quiet,
        progress: &[CellProgress],
        all_dispatched: bool,
    ) -> Result<bool, CoordinatorError> {
        if let Some((at, is_lost)) = quiet.looked_at
            && at.elapsed() < looks_apart(quiet.time())
        {
            return Ok(is_lost);
        }
        let is_lost = self.look_for_lost(sweep, progress, all_dispatched).await?;
        quiet.looked_at = Some((Instant::now(), is_lost));
        Ok(is_lost)
    }

    /// True if jobs of `sweep` are lost: sessions are outstanding of which no worker tells, or recorded ones wait for answers of judges that
    /// no worker asks. `all_dispatched` says that nothing is left to dispatch.
    async fn look_for_lost(
        &self,
        sweep: &Sweep,
        progress: &[CellProgress],
        all_dispatched: bool,
    ) -> Result<bool, CoordinatorError> {
        let within = self.config.running_within;
        // All questions are asked again together with what is dispatched again, so those that a worker has asked are waited for.
        if self.ledger.is_judging(&sweep.id, within).await? {
            return Ok(false);
        }
        let mut is_lost = progress.iter().any(|cell| cell.recorded > cell.settled);
        let mut told_of = 0;
        for cell in progress {
            // What is counted as dispatched may be too little after a resume, whose sweep still had sessions under way; when nothing is left
            // to dispatch, all that is missing is outstanding.
            let begun = if all_dispatched { cell.items } else { cell.dispatched };
            let outstanding = begun.min(cell.items).saturating_sub(cell.recorded);
            if outstanding > 0 {
                let told = told(&self.ledger, sweep, cell.index, within).await?;
                (is_lost, told_of) = (is_lost || told < outstanding, told_of + told);
            }
        }
        if !is_lost || told_of == 0 {
            return Ok(is_lost);
        }
        // What is dispatched first keeps its queue from being empty, so that the rest would count as lost much later.
        Ok(running(&self.ledger, sweep, within.saturating_sub(WAITED_FOR)).await? >= told_of)
    }

    /// Plans again everything of `sweep` without a result, and has the questions asked again that its sessions wait for and about which there
    /// was silence for `silent_for`.
    pub(crate) async fn forget_dispatch(
        &self,
        sweep: &Sweep,
        silent_for: Duration,
        term: Term,
    ) -> Result<u64, CoordinatorError> {
        self.lead_on(term).await?;
        let sessions = self.ledger.reset_dispatch(&sweep.id, silent_for, term).await?;
        let sessions = sessions.ok_or(CoordinatorError::NotLeading)?;
        let waiting = self.ledger.cell_progress(&sweep.id).await?.iter().any(|cell| cell.recorded > cell.settled);
        if waiting {
            let rejudge = Report::Rejudge { sweep: sweep.id.clone(), lock: sweep.digest };
            self.report(vec![rejudge], term).await?;
        }
        Ok(sessions)
    }

    /// Plans the shards again of which it is not known whether their jobs were published, and returns the number of their sessions without a
    /// result. `shards` are all of the sweep: what is dispatched of the others is with workers that need not have told of it yet.
    async fn plan_again(
        &self,
        watched: &mut Watched,
        shards: &[ShardRow],
        doubtful: &[&ShardRow],
    ) -> Result<u64, CoordinatorError> {
        self.lead_on(watched.term).await?;
        let (sweep, term) = (&watched.sweep.clone(), watched.term);
        let mut by_cell: BTreeMap<CellIndex, Vec<ShardIndex>> = BTreeMap::new();
        for shard in doubtful {
            by_cell.entry(shard.cell).or_default().push(shard.index);
            watched.held.forget(shard.cell, shards::items(sweep, shard));
        }
        let mut planned = 0;
        for (cell, indices) in by_cell {
            let everything = (ItemIndex(0), ItemIndex(u32::MAX));
            let recorded = self.ledger.recorded_items(&sweep.id, cell, everything.0, everything.1).await?;
            let recorded: BTreeSet<ItemIndex> = recorded.into_iter().collect();
            let mut dispatched = 0;
            for shard in shards.iter().filter(|shard| shard.cell == cell) {
                let items = shards::items(sweep, shard);
                let ended = items.iter().filter(|item| recorded.contains(item)).count();
                dispatched += if shard.state == ShardState::Dispatched { items.len() } else { ended } as u64;
                planned += if indices.contains(&shard.index) { items.len() - ended } else { 0 } as u64;
            }
            watched.lost_jobs.planned_again(&indices);
            self.ledger.plan_shards_again(&sweep.id, cell, &indices, dispatched, term).await?;
        }
        Ok(planned)
    }
}

/// Sessions of `sweep` without a result of which a worker has told within the last `within`.
pub(crate) async fn running(ledger: &Ledger, sweep: &Sweep, within: Duration) -> Result<u64, CoordinatorError> {
    let mut running = 0;
    for cell in sweep.cells() {
        running += told(ledger, sweep, cell.index, within).await?;
    }
    Ok(running)
}

/// The same of one cell.
async fn told(ledger: &Ledger, sweep: &Sweep, cell: CellIndex, within: Duration) -> Result<u64, CoordinatorError> {
    let Some(cell) = sweep.cell(cell) else { return Ok(0) };
    let under_way = ledger.under_way(&sweep.id, cell.index, sweep.selected(cell), within).await?;
    // Who has a session that was handed over, or told of until its sweep was cancelled, has the same time to tell of it.
    Ok(under_way.values().filter(|evidence| **evidence != UnderWay::Silent).count() as u64)
}
