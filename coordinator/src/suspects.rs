//! Knowledge of one coordinator about jobs that may be lost: the shards that were published, the queues in which no job waits, and the sessions of
//! which no worker tells. No ledger and no queue is asked here; [`lost_jobs`](crate::lost_jobs) has the rule, asks them, and acts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use regatta_backends::{CellProgress, OpenQuestion, ShardRow, ShardState};
use regatta_catalog::Sweep;
use regatta_proto::{CellIndex, ItemIndex, ShardIndex};
use tokio::time::Instant;

use crate::overtaken::Overtaken;
use crate::queues::queue_of;
use crate::shards;
use crate::window::is_outstanding;

/// Pause after which nobody knows whether a job has waited since the last look.
const UNSEEN_AFTER: Duration = Duration::from_secs(20);
/// Time for which those that may be dispatched again wait for others that are suspected.
const GATHERED_FOR: Duration = Duration::from_secs(20);
/// Sessions of each queue that are asked after in one look, but for those of a last shard.
const SESSIONS_A_LOOK: u32 = 8_192;
/// Shards of a queue that are remembered. Where more are dispatched while sessions count as told of, the oldest ones are left to the end of the
/// sweep.
const SHARDS_KEPT: usize = 16_384;

/// A shard whose jobs were published.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PublishedShard {
    pub(crate) row: ShardRow,
    /// Before its first job was published; `None` if it is not known that no session of it had been dispatched before, so that whoever tells of
    /// one may have had it from then.
    begun: Option<Instant>,
    /// By then all its jobs were published.
    pub(crate) done: Instant,
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
pub(crate) struct Looked {
    pub(crate) item: ItemIndex,
    /// By then its job was published for the last time, by a coordinator.
    pub(crate) published: Instant,
    /// It has no result, and no worker tells of it.
    pub(crate) is_silent: bool,
    /// A worker has told of it.
    pub(crate) was_told_of: bool,
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
    /// Questions of which no worker tells, and since when.
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

    /// True if suspects were looked for less than `pause` ago.
    pub(crate) fn was_searched_within(&self, pause: Duration) -> bool {
        self.searched_at.is_some_and(|searched_at| searched_at.elapsed() < pause)
    }

    /// Suspects were looked for.
    pub(crate) fn searched(&mut self) {
        self.searched_at = Some(Instant::now());
    }

    /// All queues were looked at.
    pub(crate) fn looked(&mut self) {
        self.looked_at = Some(Instant::now());
    }

    /// Forgets all that holds only if the queues have been looked at all the time, when they have not.
    pub(crate) fn forget_unseen(&mut self) {
        if self.looked_at.is_none_or(|looked_at| looked_at.elapsed() > UNSEEN_AFTER) {
            self.drained.clear();
            self.overtaken.clear();
            self.suspects.clear();
            self.silent.clear();
            self.questions.clear();
        }
    }

    /// A queue was looked at.
    pub(crate) fn seen(&mut self, queue: String, is_drained: bool) {
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

    /// Jobs of `queue` have been given out, up to those that were published at `given`.
    pub(crate) fn given_out(&mut self, queue: String, given: Option<Instant>) {
        self.overtaken.entry(queue).or_default().looked(Instant::now(), given);
    }

    /// Suspects no session whose job may have waited in its queue within `drained_for`, unless others were given out that came later.
    pub(crate) fn forget_waiting(&mut self, sweep: &Sweep, drained_for: Duration) {
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
    pub(crate) fn suspect(
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
    pub(crate) fn next_given(&self, queue: &str) -> Vec<(Instant, ShardRow)> {
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
    pub(crate) fn take_due(&mut self, published_for: Duration, drained_for: Duration) -> Vec<PublishedShard> {
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

    /// Remembers shards again that [`Self::take_due`] has returned.
    pub(crate) fn remember(&mut self, sweep: &Sweep, due: &BTreeMap<CellIndex, Vec<PublishedShard>>) {
        for (cell, shards) in due {
            if let Some(queue) = queue_of(sweep, *cell) {
                self.shards.entry(queue).or_default().extend(shards);
            }
        }
    }

    /// Forgets shards all of whose sessions have results.
    pub(crate) fn forget_complete(&mut self, complete: &BTreeSet<ShardIndex>) {
        for of_queue in self.shards.values_mut() {
            of_queue.retain(|shard| !complete.contains(&shard.row.index));
        }
        self.suspects.retain(|_, suspects| !suspects.is_empty());
        self.silent.retain(|_, silent| !silent.is_empty());
    }

    /// Suspects these sessions of a cell no more. Sessions that are not lost are suspected from the beginning, if at all.
    pub(crate) fn clear_of_suspicion(&mut self, cell: CellIndex, sessions: &[ItemIndex]) {
        if let Some(of_cell) = self.suspects.get_mut(&cell) {
            of_cell.retain(|item, _| !sessions.contains(item));
        }
    }

    /// Sessions and questions that had been suspected for long enough by then, and whose jobs are with nobody.
    pub(crate) fn ripe_by(&self, sweep: &Sweep, then: Instant, long_enough: LongEnough) -> Ripe {
        let mut sessions: BTreeMap<CellIndex, Vec<ItemIndex>> = BTreeMap::new();
        for (cell, item, _) in self.ripening(sweep, long_enough).filter(|(_, _, at)| *at <= then) {
            sessions.entry(cell).or_default().push(item);
        }
        let questions = self.ripening_questions(sweep, long_enough).filter(|(_, at)| *at <= then);
        Ripe { sessions, questions: questions.map(|(open, _)| open.clone()).collect() }
    }

    /// Looks for what is ripe, and what else that is suspected will be soon. What is still with somebody, as far as is known, makes nobody wait.
    pub(crate) fn gathering(&self, sweep: &Sweep, now: Instant, long_enough: LongEnough) -> Gathering {
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
pub(crate) enum Gathering {
    NothingIsRipe,
    /// Something is ripe, and waits for others that will be soon.
    OthersWillBe,
    Done,
}

/// Sessions and questions that may be lost, and are looked at once more.
pub(crate) struct Ripe {
    pub(crate) sessions: BTreeMap<CellIndex, Vec<ItemIndex>>,
    pub(crate) questions: Vec<OpenQuestion>,
}
