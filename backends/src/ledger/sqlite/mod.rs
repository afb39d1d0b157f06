//! The ledger in one file, for the embedded run.

mod attempts;
mod audit;
mod call_sums;
mod identity;
mod judging;
mod metrics;
mod migrate;
mod planning;
mod presence;
mod removing;
mod repair;
mod resume;
mod schedules;
mod sessions;
mod settling;
mod storage;
mod thread;
mod views;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use regatta_proto::{
    Answerer, Attempt, AttemptTotals, CellIndex, CostSum, Digest, ItemIndex, ModelRef, Money, OpenAttempt, Partition,
    SessionKey, ShardIndex, SweepId, SweepState, Usage, Verdict, WorkerId,
};

use self::presence::Presence;
pub use self::repair::{PutBack, Salvaged};
use self::thread::Thread;
use super::{
    AttemptRow, AwaitingSession, CallSums, CellMean, CellProgress, Claimed, CostMoments, Created, DaySpending,
    EndingCount, FlagCount, Held, ItemPage, ItemQuery, JudgeCosts, Judged, LedgerError, ListedSession, MetricRow,
    NewSweep, OpenQuestion, PageMark, Quota, Recorded, Reopened, ScoreValue, SessionRecord, SessionRow, SessionView,
    Settlement, ShardRow, Silence, StaleQuestions, SweepRow, Term, ToldBy, TranscriptRef, UnderWay,
};

/// The ledger in an SQLite file: one thread owns it, and every call is a transaction there. [`Ledger`](super::Ledger) describes the calls.
#[derive(Debug, Clone)]
pub struct SqliteLedger(Thread, Presence);

impl SqliteLedger {
    pub(super) async fn open(path: &Path) -> Result<Self, LedgerError> {
        Ok(Self(Thread::start(path.to_owned()).await?, Presence::default()))
    }

    /// A ledger in memory, whose calls run on their callers' threads.
    #[cfg(feature = "faults")]
    pub(super) fn in_memory() -> Result<Self, LedgerError> {
        Ok(Self(Thread::of_callers()?, Presence::default()))
    }

    pub(super) async fn checkpoint(&self) -> Result<(), LedgerError> {
        self.0.checkpoint().await
    }

    /// Copies from the damaged ledger `damaged` the data of `sweep` that no transcript has: verdicts and costs of judges, costs of attempts
    /// without a transcript, and the budget. Only undamaged tables are read. Idempotent.
    ///
    /// # Errors
    /// When this ledger cannot be written. Unreadable parts of the other one are left out.
    pub async fn salvage(&self, sweep: &SweepId, damaged: &Path) -> Result<Salvaged, LedgerError> {
        let (sweep, damaged) = (sweep.clone(), damaged.to_owned());
        self.0.write("take over what is left of a ledger", move |tx| repair::salvage(tx, &sweep, &damaged)).await
    }

    /// Recomputes the counters of `sweep` from its rows, and returns the number of cells whose counters were wrong.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn recount(&self, sweep: &SweepId) -> Result<u64, LedgerError> {
        let sweep = sweep.clone();
        self.0.write("count a sweep again", move |tx| repair::recount(tx, &sweep)).await
    }

    /// Records that the transcripts in `segments` are gone. Sessions that were to continue from one start again. Those with a result keep
    /// it, unless `with_results` is set: then they are planned again, and their attempts are waste.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn put_back(
        &self,
        sweep: &SweepId,
        segments: &[String],
        with_results: bool,
    ) -> Result<PutBack, LedgerError> {
        let (sweep, segments) = (sweep.clone(), segments.to_vec());
        self.0.write("plan sessions again", move |tx| repair::put_back(tx, &sweep, &segments, with_results)).await
    }

    /// Corrects the time at which `sweep` was planned.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn correct_beginning(&self, sweep: &SweepId, at: Timestamp) -> Result<(), LedgerError> {
        let sweep = sweep.clone();
        self.0.write("correct when a sweep was planned", move |tx| repair::correct_beginning(tx, &sweep, at)).await
    }

    /// The damage of the file `path`, all pages of which are read; `None` if there is none.
    pub async fn damage(path: &Path) -> Option<String> {
        let path = path.to_owned();
        match tokio::task::spawn_blocking(move || repair::damage(&path)).await {
            Ok(damage) => damage,
            Err(error) => Some(error.to_string()),
        }
    }

    pub(super) async fn create_sweep(&self, sweep: NewSweep) -> Result<Created, LedgerError> {
        self.0.write("create a sweep", move |tx| planning::create(tx, &sweep)).await
    }

    pub(super) async fn sweep(&self, sweep: &SweepId) -> Result<Option<SweepRow>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read a sweep", move |tx| Ok(planning::sweeps(tx, Some(&sweep))?.pop())).await
    }

    pub(super) async fn sweeps(&self) -> Result<Vec<SweepRow>, LedgerError> {
        self.0.read("read the sweeps", |tx| planning::sweeps(tx, None)).await
    }

    pub(super) async fn sweeps_after(
        &self,
        after: Option<&PageMark>,
        limit: u32,
    ) -> Result<Vec<SweepRow>, LedgerError> {
        let after = after.cloned();
        self.0.read("read the sweeps", move |tx| planning::sweeps_after(tx, after.as_ref(), limit)).await
    }

    pub(super) async fn transition(
        &self,
        sweep: &SweepId,
        from: &[SweepState],
        to: SweepState,
        at: Timestamp,
    ) -> Result<bool, LedgerError> {
        let (sweep, from) = (sweep.clone(), from.to_vec());
        self.0.write("change a sweep's state", move |tx| planning::transition(tx, &sweep, &from, to, at)).await
    }

    pub(super) async fn begin_removal(&self, sweep: &SweepId, generation: u32) -> Result<bool, LedgerError> {
        let sweep = sweep.clone();
        self.0.write("begin to remove a sweep", move |tx| removing::begin(tx, &sweep, Some(generation))).await
    }

    /// A file has none: it lies beside the blobs that it refers to.
    pub(super) async fn database_name(&self) -> Result<Option<String>, LedgerError> {
        Ok(None)
    }

    /// Nothing is missing: all rights to the tables of a file are those to open it.
    pub(super) async fn check_rights(&self) -> Result<(), LedgerError> {
        Ok(())
    }

    pub(super) async fn removed(&self, sweeps: &BTreeSet<SweepId>) -> Result<BTreeSet<SweepId>, LedgerError> {
        let sweeps = sweeps.clone();
        self.0.read("read removed sweeps", move |tx| removing::removed(tx, &sweeps)).await
    }

    pub(super) async fn is_alive(&self, sweep: &SweepId, within: Duration) -> Result<bool, LedgerError> {
        if self.1.is_held(sweep, within) {
            return Ok(true);
        }
        let (sweep, presence) = (sweep.clone(), self.1.clone());
        self.0
            .read("read what runs of a sweep", move |tx| {
                Ok(presence.is_any_seen(&removing::unended(tx, &sweep)?, within))
            })
            .await
    }

    pub(super) async fn drop_sweep(&self, sweep: &SweepId) -> Result<bool, LedgerError> {
        let sweep = sweep.clone();
        self.0.write("remove a sweep", move |tx| removing::drop_sweep(tx, &sweep)).await
    }

    pub(super) async fn next_shards(
        &self,
        sweep: &SweepId,
        queue: &str,
        limit: u32,
    ) -> Result<Vec<ShardRow>, LedgerError> {
        let (sweep, queue) = (sweep.clone(), queue.to_owned());
        self.0.read("read the next shards", move |tx| planning::shards(tx, &sweep, Some((&queue, limit)))).await
    }

    pub(super) async fn lead(&self, holder: &WorkerId, lease: Duration) -> Result<Option<Term>, LedgerError> {
        Ok(self.1.lead(holder, lease))
    }

    pub(super) async fn resign(&self, holder: &WorkerId) -> Result<(), LedgerError> {
        self.1.resign(holder);
        Ok(())
    }

    pub(super) async fn claim_shard(
        &self,
        sweep: &SweepId,
        shard: ShardIndex,
        generation: u32,
        term: Term,
    ) -> Result<bool, LedgerError> {
        let (sweep, presence) = (sweep.clone(), self.1.clone());
        self.0
            .write("claim a shard", move |tx| {
                Ok(presence.is_leading(term) && planning::claim_shard(tx, &sweep, shard, generation)?)
            })
            .await
    }

    pub(super) async fn confirm_shard(
        &self,
        sweep: &SweepId,
        shard: ShardIndex,
        dispatched: u32,
        term: Term,
    ) -> Result<bool, LedgerError> {
        let (sweep, presence) = (sweep.clone(), self.1.clone());
        self.0
            .write("confirm a shard", move |tx| {
                Ok(presence.is_leading(term) && planning::confirm_shard(tx, &sweep, shard, dispatched)?)
            })
            .await
    }

    pub(super) async fn under_way(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
        within: Duration,
    ) -> Result<BTreeMap<ItemIndex, UnderWay>, LedgerError> {
        let (sweep, items, presence) = (sweep.clone(), items.to_vec(), self.1.clone());
        self.0
            .read("read running attempts", move |tx| {
                let generation = planning::generation(tx, &sweep)?;
                let mut found = BTreeMap::new();
                for (item, id, state) in attempts::unended(tx, &sweep, cell, &items)? {
                    let is_told = presence.is_told((&sweep, generation), &id, within);
                    UnderWay::add_to(&mut found, item, UnderWay::of(state, is_told));
                }
                Ok(found)
            })
            .await
    }

    pub(super) async fn record_held(&self, held: BTreeSet<Held>) -> Result<(), LedgerError> {
        self.1.hold(held);
        Ok(())
    }

    pub(super) async fn is_judging(&self, sweep: &SweepId, within: Duration) -> Result<bool, LedgerError> {
        Ok(self.1.is_judging(sweep, within))
    }

    pub(super) async fn echo(&self, sweep: &SweepId, number: u64, partition: Partition) -> Result<(), LedgerError> {
        let sweep = sweep.clone();
        self.0.write("note an echo", move |tx| planning::echo(tx, &sweep, number, partition)).await
    }

    pub(super) async fn quiet(&self, sweep: &SweepId, life: &str, anew: bool) -> Result<Duration, LedgerError> {
        Ok(self.1.quiet(sweep, life, anew))
    }

    pub(super) async fn begin_tabulating(
        &self,
        sweep: &SweepId,
        generation: u32,
        granted: Option<Money>,
        term: Term,
    ) -> Result<bool, LedgerError> {
        let (sweep, presence) = (sweep.clone(), self.1.clone());
        self.0
            .write("end a sweep's run", move |tx| {
                Ok(presence.is_leading(term) && planning::begin_tabulating(tx, &sweep, generation, granted)?)
            })
            .await
    }

    pub(super) async fn set_granted(&self, sweep: &SweepId, granted: Option<Money>) -> Result<(), LedgerError> {
        let sweep = sweep.clone();
        self.0.write("note what was granted", move |tx| planning::set_granted(tx, &sweep, granted)).await
    }

    pub(super) async fn note_tabulated(&self, sweep: &SweepId, generation: u32) -> Result<(), LedgerError> {
        let sweep = sweep.clone();
        self.0
            .write("note that a sweep's documents are written", move |tx| {
                planning::note_tabulated(tx, &sweep, generation)
            })
            .await
    }

    pub(super) async fn release(
        &self,
        sweep: &SweepId,
        cells: &[(CellIndex, u32)],
        generation: u32,
        term: Term,
    ) -> Result<bool, LedgerError> {
        let (sweep, cells, presence) = (sweep.clone(), cells.to_vec(), self.1.clone());
        self.0
            .write("release sessions", move |tx| {
                Ok(presence.is_leading(term) && planning::release(tx, &sweep, &cells, generation)?)
            })
            .await
    }

    pub(super) async fn recorded_items(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        from: ItemIndex,
        to: ItemIndex,
    ) -> Result<Vec<ItemIndex>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read recorded items", move |tx| sessions::recorded_items(tx, &sweep, cell, from, to)).await
    }

    pub(super) async fn recorded_among(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
    ) -> Result<Vec<ItemIndex>, LedgerError> {
        let (sweep, items) = (sweep.clone(), items.to_vec());
        let reading = move |tx: &rusqlite::Transaction<'_>| sessions::recorded_among(tx, &sweep, cell, &items);
        self.0.read("read which items are recorded", reading).await
    }

    pub(super) async fn shards(&self, sweep: &SweepId) -> Result<Vec<ShardRow>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read the shards", move |tx| planning::shards(tx, &sweep, None)).await
    }

    pub(super) async fn highest_attempt(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
    ) -> Result<BTreeMap<ItemIndex, u32>, LedgerError> {
        let (sweep, items) = (sweep.clone(), items.to_vec());
        self.0.read("read attempt numbers", move |tx| attempts::highest(tx, &sweep, cell, &items)).await
    }

    pub(super) async fn continuations(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
    ) -> Result<BTreeMap<ItemIndex, TranscriptRef>, LedgerError> {
        let (sweep, items) = (sweep.clone(), items.to_vec());
        self.0.read("read what to continue from", move |tx| attempts::continuations(tx, &sweep, cell, &items)).await
    }

    pub(super) async fn cell_progress(&self, sweep: &SweepId) -> Result<Vec<CellProgress>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read progress", move |tx| planning::progress(tx, &sweep)).await
    }

    pub(super) async fn record(&self, records: Vec<SessionRecord>) -> Result<Vec<Recorded>, LedgerError> {
        self.0.write("record sessions", move |tx| sessions::record(tx, &records)).await
    }

    pub(super) async fn record_progress(
        &self,
        reports: Vec<(OpenAttempt, WorkerId)>,
    ) -> Result<BTreeSet<SweepId>, LedgerError> {
        self.1.see(reports.iter().map(|(open, _)| open.id.clone()));
        self.0.write("record running attempts", move |tx| attempts::record_progress(tx, &reports)).await
    }

    pub(super) async fn record_handover(
        &self,
        key: &SessionKey,
        attempt: Attempt,
        totals: AttemptTotals,
        told_by: ToldBy,
    ) -> Result<bool, LedgerError> {
        let key = key.clone();
        self.1.see([attempt.id.clone()]);
        self.0
            .write("record a hand-over", move |tx| attempts::record_handover(tx, &key, &attempt, totals, told_by))
            .await
    }

    pub(super) async fn verdicts(
        &self,
        answerer: Answerer,
        questions: &[Digest],
    ) -> Result<HashMap<Digest, Verdict>, LedgerError> {
        let questions = questions.to_vec();
        self.0.read("read verdicts", move |tx| judging::verdicts(tx, answerer, &questions)).await
    }

    pub(super) async fn save_judged(&self, judged: Vec<Judged>) -> Result<usize, LedgerError> {
        let presence = self.1.clone();
        self.0.write("save verdicts", move |tx| judging::save(tx, &judged, &presence)).await
    }

    pub(super) async fn claim_questions(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        answerer: Answerer,
        questions: &[Digest],
    ) -> Result<Claimed, LedgerError> {
        let (sweep, judge, questions, presence) = (sweep.clone(), judge.clone(), questions.to_vec(), self.1.clone());
        let claiming =
            move |tx: &rusqlite::Transaction<'_>| judging::claim(tx, &sweep, &judge, answerer, &questions, &presence);
        self.0.write("claim questions", claiming).await
    }

    pub(super) async fn release_questions(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        claimed: &Claimed,
    ) -> Result<(), LedgerError> {
        let (sweep, judge, claimed, presence) = (sweep.clone(), judge.clone(), claimed.clone(), self.1.clone());
        self.0.write("release questions", move |tx| judging::release(tx, &sweep, &judge, &claimed, &presence)).await
    }

    pub(super) async fn doubt_questions(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        claimed: &Claimed,
    ) -> Result<(), LedgerError> {
        self.1.doubt(sweep, judge, claimed);
        Ok(())
    }

    pub(super) async fn silent_questions(
        &self,
        sweep: &SweepId,
        judges: &[ModelRef],
        silence: Silence,
        at_most: u32,
    ) -> Result<Vec<OpenQuestion>, LedgerError> {
        let (sweep, judges, presence) = (sweep.clone(), judges.to_vec(), self.1.clone());
        self.0
            .read("look for questions that nobody tells of", move |tx| {
                let mut silent = judging::silent(tx, &sweep, &presence, silence)?;
                silent.retain(|open| judges.contains(&open.judge));
                silent.truncate(at_most as usize);
                Ok(silent)
            })
            .await
    }

    pub(super) async fn release_silent_questions(
        &self,
        sweep: &SweepId,
        questions: &[OpenQuestion],
        silence: Silence,
        term: Term,
    ) -> Result<Option<u64>, LedgerError> {
        let (sweep, questions, presence) = (sweep.clone(), questions.to_vec(), self.1.clone());
        self.0
            .write("release questions that nobody tells of", move |tx| {
                if !presence.is_leading(term) {
                    return Ok(None);
                }
                judging::release_silent(tx, &sweep, &questions, &presence, silence).map(Some)
            })
            .await
    }

    pub(super) async fn stale_questions(
        &self,
        sweep: &SweepId,
        within: Duration,
    ) -> Result<StaleQuestions, LedgerError> {
        let (sweep, presence) = (sweep.clone(), self.1.clone());
        self.0
            .read("look for questions of before a resume", move |tx| {
                if !judging::has_stale(tx, &sweep)? {
                    return Ok(StaleQuestions::None);
                }
                let generation = planning::generation(tx, &sweep)?;
                let is_judging = presence.is_judging_before(&sweep, generation, within);
                Ok(if is_judging { StaleQuestions::UnderWay } else { StaleQuestions::Lost })
            })
            .await
    }

    pub(super) async fn release_stale_questions(&self, sweep: &SweepId, term: Term) -> Result<bool, LedgerError> {
        let (sweep, presence) = (sweep.clone(), self.1.clone());
        self.0
            .write("release questions of before a resume", move |tx| {
                if !presence.is_leading(term) {
                    return Ok(false);
                }
                judging::release_stale(tx, &sweep)?;
                Ok(true)
            })
            .await
    }

    pub(super) async fn awaiting(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        questions: &[Digest],
    ) -> Result<Vec<AwaitingSession>, LedgerError> {
        let (sweep, judge, questions) = (sweep.clone(), judge.clone(), questions.to_vec());
        self.0.read("read waiting sessions", move |tx| judging::awaiting(tx, &sweep, &judge, &questions)).await
    }

    pub(super) async fn awaiting_after(
        &self,
        sweep: &SweepId,
        after: Option<(CellIndex, ItemIndex)>,
        at_most: u32,
    ) -> Result<Vec<AwaitingSession>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read waiting sessions", move |tx| judging::awaiting_after(tx, &sweep, after, at_most)).await
    }

    pub(super) async fn settle(&self, settlements: Vec<Settlement>) -> Result<u64, LedgerError> {
        self.0.write("settle sessions", move |tx| settling::settle(tx, &settlements)).await
    }

    pub(super) async fn sessions(&self, sweep: &SweepId, cell: CellIndex) -> Result<Vec<SessionRow>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read sessions", move |tx| sessions::of_cell(tx, &sweep, cell)).await
    }

    pub(super) async fn attempts(&self, sweep: &SweepId) -> Result<Vec<AttemptRow>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read attempts", move |tx| attempts::all(tx, &sweep)).await
    }

    pub(super) async fn oldest_open(&self, sweep: &SweepId) -> Result<Option<AttemptRow>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read the oldest running attempt", move |tx| attempts::oldest_open(tx, &sweep)).await
    }

    pub(super) async fn cost_moments(&self, sweep: &SweepId) -> Result<Vec<(CellIndex, CostMoments)>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read what sessions cost", move |tx| sessions::cost_moments(tx, &sweep)).await
    }

    pub(super) async fn call_sums(&self, sweep: &SweepId) -> Result<Vec<(CellIndex, CallSums)>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read what calls were like", move |tx| call_sums::all(tx, &sweep)).await
    }

    pub(super) async fn costs_by_judge(&self, sweep: &SweepId) -> Result<Vec<JudgeCosts>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read the costs of each judge", move |tx| judging::costs_by_judge(tx, &sweep)).await
    }

    pub(super) async fn judge_costs(&self, sweep: &SweepId) -> Result<(Usage, CostSum), LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read the judges' costs", move |tx| judging::costs(tx, &sweep)).await
    }

    pub(super) async fn close_open_attempts(&self, sweep: &SweepId, at: Timestamp) -> Result<u64, LedgerError> {
        let sweep = sweep.clone();
        self.0.write("close open attempts", move |tx| attempts::close_open(tx, &sweep, at)).await
    }

    pub(super) async fn save_metrics(&self, sweep: &SweepId, rows: Vec<MetricRow>) -> Result<(), LedgerError> {
        let sweep = sweep.clone();
        self.0.write("save metrics", move |tx| metrics::save(tx, &sweep, &rows)).await
    }

    pub(super) async fn metrics(&self, sweep: &SweepId) -> Result<Vec<MetricRow>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read metrics", move |tx| metrics::all(tx, &sweep)).await
    }

    pub(super) async fn reopen_unmeasured(&self, sweep: &SweepId, quota: Quota) -> Result<Reopened, LedgerError> {
        let sweep = sweep.clone();
        self.0.write("reopen a sweep", move |tx| resume::reopen(tx, &sweep, quota)).await
    }

    pub(super) async fn resume(
        &self,
        sweep: &SweepId,
        from: SweepState,
        budget: Option<Money>,
        quota: Quota,
    ) -> Result<Option<Reopened>, LedgerError> {
        let sweep = sweep.clone();
        self.0.write("resume a sweep", move |tx| resume::resume(tx, &sweep, from, budget, quota)).await
    }

    pub(super) async fn check_reopening(&self, sweep: &SweepId, quota: Quota) -> Result<(), LedgerError> {
        let sweep = sweep.clone();
        self.0.read("check the quota of a resume", move |tx| resume::check(tx, &sweep, quota)).await
    }

    pub(super) async fn plan_shards_again(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        shards: &[ShardIndex],
        dispatched: u64,
        term: Term,
    ) -> Result<bool, LedgerError> {
        let (sweep, shards, presence) = (sweep.clone(), shards.to_vec(), self.1.clone());
        self.0
            .write("plan shards again", move |tx| {
                Ok(presence.is_leading(term) && planning::plan_shards_again(tx, &sweep, cell, &shards, dispatched)?)
            })
            .await
    }

    pub(super) async fn reset_dispatch(&self, sweep: &SweepId, term: Term) -> Result<Option<u64>, LedgerError> {
        let (sweep, presence) = (sweep.clone(), self.1.clone());
        self.0
            .write("reset what was dispatched of a sweep", move |tx| {
                if presence.is_leading(term) { resume::reset(tx, &sweep).map(Some) } else { Ok(None) }
            })
            .await
    }

    pub(super) async fn forget_workers(&self, sweep: &SweepId) -> Result<(), LedgerError> {
        let (sweep, presence) = (sweep.clone(), self.1.clone());
        self.0
            .read("read attempts without an end", move |tx| {
                presence.forget(&sweep, &attempts::all_unended(tx, &sweep)?);
                Ok(())
            })
            .await
    }
}

/// Reads for viewers.
impl SqliteLedger {
    pub(super) async fn endings(&self, sweep: &SweepId) -> Result<Vec<EndingCount>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("count how sessions ended", move |tx| views::endings(tx, &sweep)).await
    }

    pub(super) async fn flag_counts(&self, sweep: &SweepId) -> Result<Vec<FlagCount>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("count flags", move |tx| views::flag_counts(tx, &sweep)).await
    }

    pub(super) async fn find_items(&self, sweep: &SweepId, query: &ItemQuery) -> Result<ItemPage, LedgerError> {
        let (sweep, query) = (sweep.clone(), query.clone());
        self.0.read("find items", move |tx| views::find_items(tx, &sweep, &query)).await
    }

    pub(super) async fn listed_sessions(
        &self,
        sweep: &SweepId,
        cells: &[CellIndex],
        items: Option<&[ItemIndex]>,
        value: Option<&ScoreValue>,
    ) -> Result<Vec<ListedSession>, LedgerError> {
        let (sweep, cells, items, value) = (sweep.clone(), cells.to_vec(), items.map(<[_]>::to_vec), value.cloned());
        self.0
            .read("list sessions", move |tx| {
                views::listed_sessions(tx, &sweep, &cells, items.as_deref(), value.as_ref())
            })
            .await
    }

    pub(super) async fn session(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        item: ItemIndex,
    ) -> Result<Option<SessionView>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read a session", move |tx| views::session(tx, &sweep, cell, item)).await
    }

    pub(super) async fn session_attempts(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        item: ItemIndex,
    ) -> Result<Vec<AttemptRow>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read a session's attempts", move |tx| views::session_attempts(tx, &sweep, cell, item)).await
    }

    pub(super) async fn spending_by_day(&self, sweep: &SweepId) -> Result<Vec<DaySpending>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read what was spent by day", move |tx| views::spending_by_day(tx, &sweep)).await
    }

    pub(super) async fn cell_means(
        &self,
        sweep: &SweepId,
        cells: &[CellIndex],
        value: &ScoreValue,
    ) -> Result<Vec<CellMean>, LedgerError> {
        let (sweep, cells, value) = (sweep.clone(), cells.to_vec(), value.clone());
        self.0.read("read mean scores", move |tx| views::cell_means(tx, &sweep, &cells, &value)).await
    }
}
