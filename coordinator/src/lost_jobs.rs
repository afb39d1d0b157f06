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

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use regatta_backends::{ASKED_WITHIN, CellProgress, OpenQuestion, Queue, ShardRow, ShardState, UnderWay};
use regatta_catalog::Sweep;
use regatta_proto::{CellIndex, ItemIndex, ShardIndex};
use tokio::time::Instant;

use crate::overtaken::Overtaken;
use crate::queues::{queue_of, queues_of};
use crate::rounds::Watched;
use crate::window::is_outstanding;
use crate::{Coordinator, CoordinatorConfig, CoordinatorError, shards};

/// Pause between two looks.
const LOOKS_APART: Duration = Duration::from_secs(5);
/// Pause after which nobody knows whether a job has waited since the last look.
const UNSEEN_AFTER: Duration = Duration::from_secs(20);
/// Shortest time for which a session must be silent in every look, by this process's clock. All workers tell of all that they have within it.
const SUSPECTED_FOR: Duration = Duration::from_secs(15);
/// Time for which those that may be dispatched again wait for others that are suspected.
const GATHERED_FOR: Duration = Duration::from_secs(20);
/// Sessions of each queue that are asked after in one look, but for those of a last shard.
const SESSIONS_A_LOOK: u32 = 8_192;
/// Shards of a queue that are remembered. Where more are dispatched while sessions count as told of, the oldest ones are left to the end of the
/// sweep.
const SHARDS_KEPT: usize = 16_384;
/// Sessions that are dispatched again at once, between two looks at who leads.
const SESSIONS_A_PART: usize = 128;

/// A shard whose jobs were published.
#[derive(Debug, Clone, Copy)]
struct PublishedShard {
    row: ShardRow,
    /// Before its first job was published; `None` if it is not known that no session of it had been dispatched before, so that whoever tells of
    /// one may have had it from then.
    begun: Option<Instant>,
    /// By then all its jobs were published.
    done: Instant,
}

/// A session that may be lost.
#[derive(Debug, Clone, Copy)]
struct Suspect {
    /// Since when it was found so at every look.
    since: Instant,
    /// By then its job was published. One that a worker has told of may come back to its queue, or be put there again, until it is silent.
    published: Instant,
    /// A worker has told of it.
    was_told_of: bool,
}

/// A session that a worker has told of once.
#[derive(Debug, Clone, Copy)]
struct Silent {
    /// Since when it was found so at every look.
    since: Instant,
    looked_at: Instant,
}

/// A session without a result, or with one, as it was found at a look.
#[derive(Debug, Clone, Copy)]
struct Looked {
    item: ItemIndex,
    /// By then its job was published for the last time, by a coordinator.
    published: Instant,
    /// It has no result, and no worker tells of it.
    is_silent: bool,
    /// A worker has told of it.
    was_told_of: bool,
}

/// Knowledge of one coordinator about jobs of a sweep that may be lost.
#[derive(Debug, Default)]
pub(crate) struct LostJobs {
    /// Shards of each queue that may have sessions without a result; the next to be looked at first.
    shards: BTreeMap<String, VecDeque<PublishedShard>>,
    /// Since when each queue has been drained at every look.
    drained: BTreeMap<String, Instant>,
    /// The jobs that have been given out of each queue.
    overtaken: BTreeMap<String, Overtaken>,
    /// When the queues were last looked at.
    looked_at: Option<Instant>,
    /// When suspects were last looked for.
    searched_at: Option<Instant>,
    /// Sessions of which no worker tells.
    suspects: BTreeMap<CellIndex, BTreeMap<ItemIndex, Suspect>>,
    /// Sessions that a worker has told of, and nobody tells of any more.
    silent: BTreeMap<CellIndex, BTreeMap<ItemIndex, Silent>>,
    /// The same of questions.
    pub(crate) questions: BTreeMap<OpenQuestion, Instant>,
    /// Questions whose jobs the broker may not have, and since when no worker tells of them.
    pub(crate) in_doubt: BTreeMap<OpenQuestion, Instant>,
    /// Number of times that each question was asked again.
    pub(crate) asked_again: BTreeMap<OpenQuestion, u32>,
}

impl LostJobs {
    /// Nothing is known but that those of `shards` were dispatched before now whose cells have outstanding sessions by `progress`.
    pub(crate) fn among(sweep: &Sweep, shards: Vec<ShardRow>, progress: &[CellProgress]) -> Self {
        let outstanding: BTreeSet<CellIndex> =
            progress.iter().filter(|cell| is_outstanding(cell)).map(|cell| cell.index).collect();
        let mut all = Self::default();
        let is_open = |shard: &ShardRow| shard.state == ShardState::Dispatched && outstanding.contains(&shard.cell);
        shards.into_iter().filter(is_open).for_each(|shard| all.dispatched(sweep, shard, None));
        all
    }

    /// All jobs of `shard` are published, from `begun` on if no session of it had been dispatched before.
    pub(crate) fn dispatched(&mut self, sweep: &Sweep, shard: ShardRow, begun: Option<Instant>) {
        let Some(queue) = queue_of(sweep, shard.cell) else { return };
        let shards = self.shards.entry(queue).or_default();
        if shards.len() == SHARDS_KEPT {
            shards.pop_front();
        }
        shards.push_back(PublishedShard { row: shard, begun, done: Instant::now() });
    }

    /// Jobs of `items` of a cell are published again, or are about to be.
    pub(crate) fn published(&mut self, sweep: &Sweep, cell: CellIndex, items: &[ItemIndex]) {
        let items: BTreeSet<ItemIndex> = items.iter().copied().collect();
        let queue = queue_of(sweep, cell);
        let of_queue = queue.as_ref().and_then(|queue| self.shards.get_mut(queue));
        for shard in of_queue.into_iter().flatten() {
            if shard.row.cell == cell && shards::items(sweep, &shard.row).iter().any(|item| items.contains(item)) {
                (shard.begun, shard.done) = (None, Instant::now());
            }
        }
        if let Some(suspects) = self.suspects.get_mut(&cell) {
            suspects.retain(|item, _| !items.contains(item));
        }
        if let Some(silent) = self.silent.get_mut(&cell) {
            silent.retain(|item, _| !items.contains(item));
        }
        if let Some(queue) = queue {
            self.filled(&queue);
        }
    }

    /// The shards of these indices are not dispatched any more.
    pub(crate) fn planned_again(&mut self, shards: &[ShardIndex]) {
        for of_queue in self.shards.values_mut() {
            of_queue.retain(|shard| !shards.contains(&shard.row.index));
        }
        self.suspects.clear();
        self.silent.clear();
    }

    /// A queue was looked at.
    fn seen(&mut self, queue: String, is_drained: bool) {
        if is_drained {
            self.drained.entry(queue).or_insert_with(Instant::now);
        } else {
            self.drained.remove(&queue);
        }
    }

    /// True if no job has waited in `queue` for `long_enough`.
    pub(crate) fn is_drained(&self, queue: &str, long_enough: Duration) -> bool {
        self.drained.get(queue).is_some_and(|since| since.elapsed() >= long_enough)
    }

    /// Jobs were published to `queue`, or are about to be.
    pub(crate) fn filled(&mut self, queue: &str) {
        self.drained.remove(queue);
    }

    /// Suspects no session whose job may have waited in its queue within `drained_for`, unless others were given out that came later.
    fn forget_waiting(&mut self, sweep: &Sweep, drained_for: Duration) {
        let mut all = std::mem::take(&mut self.suspects);
        for (cell, suspects) in &mut all {
            let Some(queue) = queue_of(sweep, *cell) else { continue };
            suspects.retain(|_, suspect| self.is_taken(&queue, suspect.published, drained_for));
        }
        self.suspects = all;
    }

    /// True if a job of `queue` that was published then waits there no more: none has for `drained_for`, or later ones do not.
    fn is_taken(&self, queue: &str, published: Instant, drained_for: Duration) -> bool {
        self.is_drained(queue, drained_for)
            || self.overtaken.get(queue).is_some_and(|overtaken| overtaken.is_given(published))
    }

    /// True if the job of a suspected session waits neither in `queue` nor with a worker that could still tell of it: none has waited there for
    /// `long_enough`, or it was overtaken for as long. One that was told of was silent for as long before others overtook it.
    fn is_with_nobody(&self, queue: &str, suspect: &Suspect, long_enough: Duration) -> bool {
        let is_overtaken = |overtaken: &Overtaken| {
            if suspect.was_told_of {
                overtaken.is_given(suspect.published)
            } else {
                overtaken.is_overtaken(suspect.published, long_enough)
            }
        };
        self.is_drained(queue, long_enough) || self.overtaken.get(queue).is_some_and(is_overtaken)
    }

    /// The suspects whose jobs are with nobody, and when each has been suspected for long enough.
    fn ripening<'a>(
        &'a self,
        sweep: &'a Sweep,
        long_enough: LongEnough,
    ) -> impl Iterator<Item = (CellIndex, ItemIndex, Instant)> + Clone + 'a {
        let of_queues =
            self.suspects.iter().filter_map(move |(cell, suspects)| Some((cell, queue_of(sweep, *cell)?, suspects)));
        of_queues.flat_map(move |(cell, queue, suspects)| {
            let of_nobody = move |suspect: &Suspect| self.is_with_nobody(&queue, suspect, long_enough.drained);
            suspects
                .iter()
                .filter(move |(_, suspect)| of_nobody(suspect))
                .map(move |(item, suspect)| (*cell, *item, suspect.since + long_enough.suspected))
        })
    }

    /// Takes note of sessions of a cell that were looked at: of those that are silent, the ones are suspected whose jobs do not wait.
    fn suspect(
        &mut self,
        sweep: &Sweep,
        cell: CellIndex,
        looked: impl Iterator<Item = Looked>,
        now: Instant,
        drained_for: Duration,
    ) {
        let Some(queue) = queue_of(sweep, cell) else { return };
        let mut suspects = self.suspects.remove(&cell).unwrap_or_default();
        let mut silent = self.silent.remove(&cell).unwrap_or_default();
        for Looked { item, published, is_silent, was_told_of } in looked {
            if !(is_silent && was_told_of) {
                silent.remove(&item);
            }
            let published = if is_silent && was_told_of {
                // Who told of it after the last look is seen at this one, unless that was too long ago.
                let before = silent.get(&item).filter(|before| now - before.looked_at < drained_for);
                let since = before.map_or(now, |before| before.since);
                silent.insert(item, Silent { since, looked_at: now });
                since
            } else {
                published
            };
            if is_silent && self.is_taken(&queue, published, drained_for) {
                let since = suspects.get(&item).map_or(now, |suspect| suspect.since);
                suspects.insert(item, Suspect { since, published, was_told_of });
            } else {
                suspects.remove(&item);
            }
        }
        self.suspects.insert(cell, suspects);
        self.silent.insert(cell, silent);
    }

    /// The next shards of `queue`, in the order in which they were published, whose workers may tell how far it has been given out.
    fn next_given(&self, queue: &str) -> Vec<(Instant, ShardRow)> {
        let until = self.overtaken.get(queue).and_then(Overtaken::until);
        let mut shards: Vec<(Instant, ShardRow)> = self
            .shards
            .get(queue)
            .into_iter()
            .flatten()
            .filter_map(|shard| Some((shard.begun?, shard.row)))
            .filter(|(begun, _)| until.is_none_or(|until| *begun > until))
            .collect();
        shards.sort_by_key(|(begun, _)| *begun);
        let mut sessions = 0;
        shards.retain(|(_, shard)| {
            sessions += shard.count;
            sessions <= SESSIONS_A_LOOK
        });
        shards
    }

    /// The next shards to ask after, of those whose jobs have been published for `published_for`, and wait in their queue no more by
    /// [`Self::is_taken`]. They are remembered no more.
    fn take_due(&mut self, published_for: Duration, drained_for: Duration) -> Vec<PublishedShard> {
        let mut due = Vec::new();
        let mut all = std::mem::take(&mut self.shards);
        for (queue, shards) in &mut all {
            let mut sessions = 0;
            let mut kept = VecDeque::with_capacity(shards.len());
            for shard in std::mem::take(shards) {
                let is_due = shard.done.elapsed() >= published_for && self.is_taken(queue, shard.done, drained_for);
                if sessions < SESSIONS_A_LOOK && is_due {
                    sessions += shard.row.count;
                    due.push(shard);
                } else {
                    kept.push_back(shard);
                }
            }
            *shards = kept;
        }
        self.shards = all;
        due
    }

    /// Sessions and questions that had been suspected for long enough by then, and whose jobs are with nobody.
    fn ripe_by(&self, sweep: &Sweep, then: Instant, long_enough: LongEnough) -> Ripe {
        let mut sessions: BTreeMap<CellIndex, Vec<ItemIndex>> = BTreeMap::new();
        for (cell, item, _) in self.ripening(sweep, long_enough).filter(|(_, _, at)| *at <= then) {
            sessions.entry(cell).or_default().push(item);
        }
        let questions = self.ripening_questions(sweep, long_enough).filter(|(_, at)| *at <= then);
        Ripe { sessions, questions: questions.map(|(open, _)| open.clone()).collect() }
    }

    /// Looks for what is ripe, and what else that is suspected will be soon. What is still with somebody, as far as is known, makes nobody wait.
    fn gathering(&self, sweep: &Sweep, now: Instant, long_enough: LongEnough) -> Gathering {
        let sessions = self.ripening(sweep, long_enough).map(|(_, _, at)| at);
        let ripe_at = || sessions.clone().chain(self.ripening_questions(sweep, long_enough).map(|(_, at)| at));
        match ripe_at().min().filter(|first| *first <= now) {
            None => Gathering::NothingIsRipe,
            Some(first) if first + GATHERED_FOR > now && ripe_at().any(|at| at > now) => Gathering::OthersWillBe,
            Some(_) => Gathering::Done,
        }
    }
}

/// Times after which a suspect is lost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LongEnough {
    /// For so long no job has waited in its queue, or others have overtaken it.
    pub(crate) drained: Duration,
    /// For so long it was suspected at every look.
    pub(crate) suspected: Duration,
}

/// State of what may be dispatched again.
enum Gathering {
    NothingIsRipe,
    /// Something is ripe, and waits for others that will be soon.
    OthersWillBe,
    Done,
}

/// Sessions and questions that may be lost, and are looked at once more.
struct Ripe {
    sessions: BTreeMap<CellIndex, Vec<ItemIndex>>,
    questions: Vec<OpenQuestion>,
}

/// Sessions without a result.
struct Unrecorded {
    all: BTreeSet<ItemIndex>,
    /// Of these the ones of which no worker tells, and which are not held back.
    silent: BTreeSet<ItemIndex>,
}

impl Coordinator {
    /// Looks for lost jobs of a sweep that is not quiet, and dispatches their sessions again.
    pub(crate) async fn dispatch_lost(&self, watched: &mut Watched) -> Result<(), CoordinatorError> {
        let is_due = watched.lost_jobs.searched_at.is_none_or(|searched_at| searched_at.elapsed() >= LOOKS_APART);
        if self.config.queue_survives && is_due {
            self.look_for_suspects(watched).await?;
            self.look_for_lost_questions(watched).await?;
            watched.lost_jobs.searched_at = Some(Instant::now());
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
            if let Some(of_cell) = watched.lost_jobs.suspects.get_mut(&cell) {
                // Those that are not lost are suspected from the beginning, if at all.
                of_cell.retain(|item, _| !suspects.contains(item));
            }
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
        let lost_jobs = &mut watched.lost_jobs;
        if lost_jobs.looked_at.is_none_or(|looked_at| looked_at.elapsed() > UNSEEN_AFTER) {
            lost_jobs.drained.clear();
            lost_jobs.overtaken.clear();
            lost_jobs.suspects.clear();
            lost_jobs.silent.clear();
            lost_jobs.questions.clear();
        }
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
        watched.lost_jobs.looked_at = Some(Instant::now());
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
        for (cell, shards) in &due {
            let of_queue = queue_of(&sweep, *cell).map(|queue| lost_jobs.shards.entry(queue).or_default());
            of_queue.into_iter().for_each(|of_queue| of_queue.extend(shards));
        }
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
            let lost_jobs = &mut watched.lost_jobs;
            let items = with_times.into_iter();
            lost_jobs.suspect(
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
        let lost_jobs = &mut watched.lost_jobs;
        for of_queue in lost_jobs.shards.values_mut() {
            of_queue.retain(|shard| !complete.contains(&shard.row.index));
        }
        lost_jobs.suspects.retain(|_, suspects| !suspects.is_empty());
        lost_jobs.silent.retain(|_, silent| !silent.is_empty());
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
            watched.lost_jobs.overtaken.entry(queue).or_default().looked(Instant::now(), given);
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
