//! The ledger on a PostgreSQL server, for a fleet.

mod attempts;
mod audit;
mod call_sums;
mod cells;
mod database;
mod held;
mod identity;
mod judging;
mod leading;
mod metrics;
mod migrate;
mod partitions;
mod planning;
pub(crate) mod pool;
mod removing;
mod resume;
mod rights;
mod schedules;
mod sessions;
mod settling;
mod silence;
mod storage;
mod views;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use jiff::Timestamp;
use regatta_proto::{
    Answerer, Attempt, AttemptTotals, CellIndex, CostSum, Digest, ItemIndex, ModelRef, Money, OpenAttempt, Partition,
    SessionKey, ShardIndex, SweepId, SweepState, Usage, Verdict, WorkerId,
};

pub(crate) use self::migrate::{Migrations, Schema};
pub use self::pool::PostgresConfig;
use self::pool::{Connections, Fault, read, write};
use super::{
    AttemptRow, AwaitingSession, CallSums, CellMean, CellProgress, Claimed, CostMoments, Created, DaySpending,
    EndingCount, FlagCount, Held, ItemPage, ItemQuery, JudgeCosts, Judged, LedgerError, ListedSession, MetricRow,
    NewSweep, OpenQuestion, PageMark, Quota, Recorded, Reopened, ScoreValue, SessionRecord, SessionRow, SessionView,
    Settlement, ShardRow, Silence, StaleQuestions, SweepRow, Term, ToldBy, TranscriptRef, UnderWay,
};

/// The ledger in a PostgreSQL database: a pool of connections, and a few statements for each call, independent of its number of rows.
/// [`Ledger`](super::Ledger) describes the calls.
#[derive(Debug, Clone)]
pub struct PostgresLedger(Connections);

/// One column of rows, for statements that take arrays.
fn column<'r, R, T>(rows: &'r [R], value: impl Fn(&'r R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}

/// Fails unless a statement changed exactly the expected number of rows.
fn all_changed(action: &'static str, expected: usize, found: u64) -> Result<(), Fault> {
    if found == expected as u64 {
        return Ok(());
    }
    Err(LedgerError::RowsAffected { action, expected: expected as u64, found }.into())
}

impl PostgresLedger {
    pub(super) async fn connect(config: PostgresConfig, schema: Schema) -> Result<Self, LedgerError> {
        let (connections, location) = Connections::prepare(&config)?;
        let mut client = connections.one("connect to the ledger").await?;
        migrate::LEDGER.bring(&mut client, &location, schema).await?;
        Ok(Self(connections))
    }

    pub(super) async fn create_sweep(&self, sweep: NewSweep) -> Result<Created, LedgerError> {
        write!(self.0, "create a sweep", tx => planning::create(tx, &sweep))
    }

    pub(super) async fn sweep(&self, sweep: &SweepId) -> Result<Option<SweepRow>, LedgerError> {
        read!(self.0, "read a sweep", client => planning::sweeps(client, Some(sweep))).map(|mut found| found.pop())
    }

    pub(super) async fn sweeps(&self) -> Result<Vec<SweepRow>, LedgerError> {
        read!(self.0, "read the sweeps", client => planning::sweeps(client, None))
    }

    pub(super) async fn sweeps_after(
        &self,
        after: Option<&PageMark>,
        limit: u32,
    ) -> Result<Vec<SweepRow>, LedgerError> {
        read!(self.0, "read the sweeps", client => planning::sweeps_after(client, after, limit))
    }

    pub(super) async fn transition(
        &self,
        sweep: &SweepId,
        from: &[SweepState],
        to: SweepState,
        at: Timestamp,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "change a sweep's state", tx => planning::transition(tx, sweep, from, to, at))
    }

    pub(super) async fn begin_removal(&self, sweep: &SweepId, generation: u32) -> Result<bool, LedgerError> {
        write!(self.0, "begin to remove a sweep", tx => removing::begin(tx, sweep, Some(generation)))
    }

    pub(super) async fn removed(&self, sweeps: &BTreeSet<SweepId>) -> Result<BTreeSet<SweepId>, LedgerError> {
        read!(self.0, "read removed sweeps", client => removing::removed(client, sweeps))
    }

    pub(super) async fn is_alive(&self, sweep: &SweepId, within: Duration) -> Result<bool, LedgerError> {
        read!(self.0, "read what runs of a sweep", client => removing::is_alive(client, sweep, within))
    }

    pub(super) async fn drop_sweep(&self, sweep: &SweepId) -> Result<bool, LedgerError> {
        write!(self.0, "remove a sweep", tx => removing::drop_sweep(tx, sweep))
    }

    pub(super) async fn next_shards(
        &self,
        sweep: &SweepId,
        queue: &str,
        limit: u32,
    ) -> Result<Vec<ShardRow>, LedgerError> {
        read!(self.0, "read the next shards", client => planning::shards(client, sweep, Some((queue, limit))))
    }

    pub(super) async fn database_name(&self) -> Result<Option<String>, LedgerError> {
        read!(self.0, "read which database this is", client => database::name(client)).map(Some)
    }

    pub(super) async fn check_rights(&self) -> Result<(), LedgerError> {
        read!(self.0, "look at the login's rights", client => rights::check(client))
    }

    pub(super) async fn lead(&self, holder: &WorkerId, lease: Duration) -> Result<Option<Term>, LedgerError> {
        write!(self.0, "take the lead", tx => leading::lead(tx, holder, lease))
    }

    pub(super) async fn resign(&self, holder: &WorkerId) -> Result<(), LedgerError> {
        write!(self.0, "give up the lead", tx => leading::resign(tx, holder))
    }

    pub(super) async fn claim_shard(
        &self,
        sweep: &SweepId,
        shard: ShardIndex,
        generation: u32,
        term: Term,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "claim a shard", tx => planning::claim_shard(tx, sweep, shard, generation, term))
    }

    pub(super) async fn confirm_shard(
        &self,
        sweep: &SweepId,
        shard: ShardIndex,
        dispatched: u32,
        term: Term,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "confirm a shard", tx => planning::confirm_shard(tx, sweep, shard, dispatched, term))
    }

    pub(super) async fn under_way(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
        within: Duration,
    ) -> Result<BTreeMap<ItemIndex, UnderWay>, LedgerError> {
        read!(self.0, "read running attempts", client => attempts::under_way(client, sweep, cell, items, within))
    }

    pub(super) async fn record_held(&self, held: BTreeSet<Held>) -> Result<(), LedgerError> {
        write!(self.0, "record what workers hold", tx => held::record(tx, &held))
    }

    pub(super) async fn is_judging(&self, sweep: &SweepId, within: Duration) -> Result<bool, LedgerError> {
        read!(self.0, "read who waits for judges", client => held::is_judging(client, sweep, within))
    }

    pub(super) async fn echo(&self, sweep: &SweepId, number: u64, partition: Partition) -> Result<(), LedgerError> {
        write!(self.0, "note an echo", tx => planning::echo(tx, sweep, number, partition))
    }

    pub(super) async fn quiet(&self, sweep: &SweepId, life: &str, anew: bool) -> Result<Duration, LedgerError> {
        write!(self.0, "note that a sweep moves", tx => planning::quiet(tx, sweep, life, anew))
    }

    pub(super) async fn begin_tabulating(
        &self,
        sweep: &SweepId,
        generation: u32,
        granted: Option<Money>,
        term: Term,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "end a sweep's run", tx => planning::begin_tabulating(tx, sweep, generation, granted, term))
    }

    pub(super) async fn set_granted(&self, sweep: &SweepId, granted: Option<Money>) -> Result<(), LedgerError> {
        write!(self.0, "note what was granted", tx => planning::set_granted(tx, sweep, granted))
    }

    pub(super) async fn note_tabulated(&self, sweep: &SweepId, generation: u32) -> Result<(), LedgerError> {
        write!(self.0, "note that a sweep's documents are written", tx => planning::note_tabulated(tx, sweep, generation))
    }

    pub(super) async fn release(
        &self,
        sweep: &SweepId,
        cells: &[(CellIndex, u32)],
        generation: u32,
        term: Term,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "release sessions", tx => planning::release(tx, sweep, cells, generation, term))
    }

    pub(super) async fn recorded_items(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        from: ItemIndex,
        to: ItemIndex,
    ) -> Result<Vec<ItemIndex>, LedgerError> {
        read!(self.0, "read recorded items", client => sessions::recorded_items(client, sweep, cell, from, to))
    }

    pub(super) async fn recorded_among(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
    ) -> Result<Vec<ItemIndex>, LedgerError> {
        read!(self.0, "read which items are recorded", client => sessions::recorded_among(client, sweep, cell, items))
    }

    pub(super) async fn shards(&self, sweep: &SweepId) -> Result<Vec<ShardRow>, LedgerError> {
        read!(self.0, "read the shards", client => planning::shards(client, sweep, None))
    }

    pub(super) async fn highest_attempt(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
    ) -> Result<BTreeMap<ItemIndex, u32>, LedgerError> {
        read!(self.0, "read attempt numbers", client => attempts::highest(client, sweep, cell, items))
    }

    pub(super) async fn continuations(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
    ) -> Result<BTreeMap<ItemIndex, TranscriptRef>, LedgerError> {
        read!(self.0, "read what to continue from", client => attempts::continuations(client, sweep, cell, items))
    }

    pub(super) async fn cell_progress(&self, sweep: &SweepId) -> Result<Vec<CellProgress>, LedgerError> {
        read!(self.0, "read progress", client => planning::progress(client, sweep))
    }

    pub(super) async fn record(&self, records: Vec<SessionRecord>) -> Result<Vec<Recorded>, LedgerError> {
        write!(self.0, "record sessions", tx => sessions::record(tx, &records))
    }

    pub(super) async fn record_progress(
        &self,
        reports: Vec<(OpenAttempt, WorkerId)>,
    ) -> Result<BTreeSet<SweepId>, LedgerError> {
        write!(self.0, "record running attempts", tx => attempts::record_progress(tx, &reports))
    }

    pub(super) async fn record_handover(
        &self,
        key: &SessionKey,
        attempt: Attempt,
        totals: AttemptTotals,
        told_by: ToldBy,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "record a hand-over", tx => {
            attempts::record_handover(tx, key, &attempt, totals, told_by)
        })
    }

    pub(super) async fn verdicts(
        &self,
        answerer: Answerer,
        questions: &[Digest],
    ) -> Result<HashMap<Digest, Verdict>, LedgerError> {
        read!(self.0, "read verdicts", client => judging::verdicts(client, answerer, questions))
    }

    pub(super) async fn save_judged(&self, judged: Vec<Judged>) -> Result<usize, LedgerError> {
        write!(self.0, "save verdicts", tx => judging::save(tx, &judged))
    }

    pub(super) async fn claim_questions(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        answerer: Answerer,
        questions: &[Digest],
    ) -> Result<Claimed, LedgerError> {
        write!(self.0, "claim questions", tx => judging::claim(tx, sweep, judge, answerer, questions))
    }

    pub(super) async fn release_questions(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        claimed: &Claimed,
    ) -> Result<(), LedgerError> {
        write!(self.0, "release questions", tx => judging::release(tx, sweep, judge, claimed))
    }

    pub(super) async fn stale_questions(
        &self,
        sweep: &SweepId,
        within: Duration,
    ) -> Result<StaleQuestions, LedgerError> {
        read!(self.0, "look for questions of before a resume", client => judging::stale(client, sweep, within))
    }

    pub(super) async fn doubt_questions(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        claimed: &Claimed,
    ) -> Result<(), LedgerError> {
        write!(self.0, "note that questions are in doubt", tx => silence::doubt(tx, sweep, judge, claimed))
    }

    pub(super) async fn silent_questions(
        &self,
        sweep: &SweepId,
        judges: &[ModelRef],
        silence: Silence,
        at_most: u32,
    ) -> Result<Vec<OpenQuestion>, LedgerError> {
        read!(self.0, "look for questions that nobody tells of", client => silence::silent(client, sweep, judges, silence, at_most))
    }

    pub(super) async fn release_silent_questions(
        &self,
        sweep: &SweepId,
        questions: &[OpenQuestion],
        silence: Silence,
        term: Term,
    ) -> Result<Option<u64>, LedgerError> {
        write!(self.0, "release questions that nobody tells of", tx => silence::release(tx, sweep, questions, silence, term))
    }

    pub(super) async fn release_stale_questions(&self, sweep: &SweepId, term: Term) -> Result<bool, LedgerError> {
        write!(self.0, "release questions of before a resume", tx => judging::release_stale(tx, sweep, term))
    }

    pub(super) async fn awaiting(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        questions: &[Digest],
    ) -> Result<Vec<AwaitingSession>, LedgerError> {
        read!(self.0, "read waiting sessions", client => judging::awaiting(client, sweep, judge, questions))
    }

    pub(super) async fn awaiting_after(
        &self,
        sweep: &SweepId,
        after: Option<(CellIndex, ItemIndex)>,
        at_most: u32,
    ) -> Result<Vec<AwaitingSession>, LedgerError> {
        read!(self.0, "read waiting sessions", client => judging::awaiting_after(client, sweep, after, at_most))
    }

    pub(super) async fn settle(&self, settlements: Vec<Settlement>) -> Result<u64, LedgerError> {
        write!(self.0, "settle sessions", tx => settling::settle(tx, &settlements))
    }

    pub(super) async fn sessions(&self, sweep: &SweepId, cell: CellIndex) -> Result<Vec<SessionRow>, LedgerError> {
        read!(self.0, "read sessions", client => sessions::of_cell(client, sweep, cell))
    }

    pub(super) async fn attempts(&self, sweep: &SweepId) -> Result<Vec<AttemptRow>, LedgerError> {
        read!(self.0, "read attempts", client => attempts::all(client, sweep))
    }

    pub(super) async fn oldest_open(&self, sweep: &SweepId) -> Result<Option<AttemptRow>, LedgerError> {
        read!(self.0, "read the oldest running attempt", client => attempts::oldest_open(client, sweep))
    }

    pub(super) async fn cost_moments(&self, sweep: &SweepId) -> Result<Vec<(CellIndex, CostMoments)>, LedgerError> {
        read!(self.0, "read what sessions cost", client => sessions::cost_moments(client, sweep))
    }

    pub(super) async fn call_sums(&self, sweep: &SweepId) -> Result<Vec<(CellIndex, CallSums)>, LedgerError> {
        read!(self.0, "read what calls were like", client => call_sums::all(client, sweep))
    }

    pub(super) async fn costs_by_judge(&self, sweep: &SweepId) -> Result<Vec<JudgeCosts>, LedgerError> {
        read!(self.0, "read the costs of each judge", client => judging::costs_by_judge(client, sweep))
    }

    pub(super) async fn judge_costs(&self, sweep: &SweepId) -> Result<(Usage, CostSum), LedgerError> {
        read!(self.0, "read the judges' costs", client => judging::costs(client, sweep))
    }

    pub(super) async fn close_open_attempts(&self, sweep: &SweepId, at: Timestamp) -> Result<u64, LedgerError> {
        write!(self.0, "close open attempts", tx => attempts::close_open(tx, sweep, at))
    }

    pub(super) async fn save_metrics(&self, sweep: &SweepId, rows: Vec<MetricRow>) -> Result<(), LedgerError> {
        write!(self.0, "save metrics", tx => metrics::save(tx, sweep, &rows))
    }

    pub(super) async fn metrics(&self, sweep: &SweepId) -> Result<Vec<MetricRow>, LedgerError> {
        read!(self.0, "read metrics", client => metrics::all(client, sweep))
    }

    pub(super) async fn reopen_unmeasured(&self, sweep: &SweepId, quota: Quota) -> Result<Reopened, LedgerError> {
        write!(self.0, "reopen a sweep", tx => resume::reopen(tx, sweep, quota))
    }

    pub(super) async fn resume(
        &self,
        sweep: &SweepId,
        from: SweepState,
        budget: Option<Money>,
        quota: Quota,
    ) -> Result<Option<Reopened>, LedgerError> {
        write!(self.0, "resume a sweep", tx => resume::resume(tx, sweep, from, budget, quota))
    }

    pub(super) async fn check_reopening(&self, sweep: &SweepId, quota: Quota) -> Result<(), LedgerError> {
        read!(self.0, "check the quota of a resume", client => resume::check(client, sweep, quota))
    }

    pub(super) async fn plan_shards_again(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        shards: &[ShardIndex],
        dispatched: u64,
        term: Term,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "plan shards again", tx =>
            planning::plan_shards_again(tx, sweep, cell, shards, dispatched, term))
    }

    pub(super) async fn reset_dispatch(&self, sweep: &SweepId, term: Term) -> Result<Option<u64>, LedgerError> {
        write!(self.0, "reset what was dispatched of a sweep", tx => resume::reset(tx, sweep, term))
    }

    pub(super) async fn forget_workers(&self, sweep: &SweepId) -> Result<(), LedgerError> {
        write!(self.0, "forget who works on a sweep", tx => resume::forget_workers(tx, sweep))
    }
}

/// Reads for viewers.
impl PostgresLedger {
    pub(super) async fn endings(&self, sweep: &SweepId) -> Result<Vec<EndingCount>, LedgerError> {
        read!(self.0, "count how sessions ended", client => views::endings(client, sweep))
    }

    pub(super) async fn flag_counts(&self, sweep: &SweepId) -> Result<Vec<FlagCount>, LedgerError> {
        read!(self.0, "count flags", client => views::flag_counts(client, sweep))
    }

    pub(super) async fn find_items(&self, sweep: &SweepId, query: &ItemQuery) -> Result<ItemPage, LedgerError> {
        read!(self.0, "find items", client => views::find_items(client, sweep, query))
    }

    pub(super) async fn listed_sessions(
        &self,
        sweep: &SweepId,
        cells: &[CellIndex],
        items: Option<&[ItemIndex]>,
        value: Option<&ScoreValue>,
    ) -> Result<Vec<ListedSession>, LedgerError> {
        read!(self.0, "list sessions", client => views::listed_sessions(client, sweep, cells, items, value))
    }

    pub(super) async fn session(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        item: ItemIndex,
    ) -> Result<Option<SessionView>, LedgerError> {
        read!(self.0, "read a session", client => views::session(client, sweep, cell, item))
    }

    pub(super) async fn session_attempts(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        item: ItemIndex,
    ) -> Result<Vec<AttemptRow>, LedgerError> {
        read!(self.0, "read a session's attempts", client => views::session_attempts(client, sweep, cell, item))
    }

    pub(super) async fn spending_by_day(&self, sweep: &SweepId) -> Result<Vec<DaySpending>, LedgerError> {
        read!(self.0, "read what was spent by day", client => views::spending_by_day(client, sweep))
    }

    pub(super) async fn cell_means(
        &self,
        sweep: &SweepId,
        cells: &[CellIndex],
        value: &ScoreValue,
    ) -> Result<Vec<CellMean>, LedgerError> {
        read!(self.0, "read mean scores", client => views::cell_means(client, sweep, cells, value))
    }
}
