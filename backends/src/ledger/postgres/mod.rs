//! The ledger on a PostgreSQL server, for a fleet.

mod attempts;
mod cells;
mod judging;
mod metrics;
mod migrate;
mod planning;
mod pool;
mod resume;
mod sessions;

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use regatta_proto::{
    Attempt, CellIndex, CostSum, Digest, ItemIndex, JudgeOutcome, ModelRef, OpenAttempt, SessionKey, ShardIndex,
    SweepId, SweepState, Usage, Verdict, WorkerId,
};

pub use self::pool::PostgresConfig;
use self::pool::{Connections, Fault};
use super::{
    AttemptRow, AwaitingSession, CellProgress, Created, LedgerError, MetricRow, NewSweep, Recorded, Reopened,
    SessionRecord, SessionRow, Settlement, ShardRow, ShardState, SweepRow,
};

/// The ledger in a PostgreSQL database: a pool of connections, a few statements a call however many rows it has. See
/// [`Ledger`](super::Ledger) for what the calls do.
#[derive(Debug, Clone)]
pub struct PostgresLedger(Connections);

/// One column of rows that are sent as arrays.
fn column<'r, R, T>(rows: &'r [R], value: impl Fn(&'r R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}

/// Fails unless a statement changed exactly the rows it was meant to.
fn all_changed(action: &'static str, expected: usize, found: u64) -> Result<(), Fault> {
    if found == expected as u64 {
        return Ok(());
    }
    Err(LedgerError::RowsAffected { action, expected: expected as u64, found }.into())
}

impl PostgresLedger {
    pub(super) async fn connect(config: PostgresConfig) -> Result<Self, LedgerError> {
        let (connections, location) = Connections::prepare(&config)?;
        let mut client = connections.one("connect to the ledger").await?;
        migrate::migrate(&mut client, &location).await?;
        Ok(Self(connections))
    }

    pub(super) async fn create_sweep(&self, sweep: NewSweep) -> Result<Created, LedgerError> {
        self.0.write("create a sweep", async |tx| planning::create(tx, &sweep).await).await
    }

    pub(super) async fn sweep(&self, sweep: &SweepId) -> Result<Option<SweepRow>, LedgerError> {
        self.0.read("read a sweep", async |client| Ok(planning::sweeps(client, Some(sweep)).await?.pop())).await
    }

    pub(super) async fn sweeps(&self) -> Result<Vec<SweepRow>, LedgerError> {
        self.0.read("read the sweeps", async |client| planning::sweeps(client, None).await).await
    }

    pub(super) async fn transition(
        &self,
        sweep: &SweepId,
        from: &[SweepState],
        to: SweepState,
        at: Timestamp,
    ) -> Result<bool, LedgerError> {
        self.0.write("change a sweep's state", async |tx| planning::transition(tx, sweep, from, to, at).await).await
    }

    pub(super) async fn next_shards(
        &self,
        sweep: &SweepId,
        queue: &str,
        limit: u32,
    ) -> Result<Vec<ShardRow>, LedgerError> {
        self.0
            .read("read the next shards", async |client| planning::shards(client, sweep, Some((queue, limit))).await)
            .await
    }

    pub(super) async fn mark_shard(
        &self,
        sweep: &SweepId,
        shard: ShardIndex,
        state: ShardState,
        dispatched: u32,
    ) -> Result<(), LedgerError> {
        self.0.write("mark a shard", async |tx| planning::mark_shard(tx, sweep, shard, state, dispatched).await).await
    }

    pub(super) async fn recorded_items(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        from: ItemIndex,
        to: ItemIndex,
    ) -> Result<Vec<ItemIndex>, LedgerError> {
        self.0
            .read("read recorded items", async |client| sessions::recorded_items(client, sweep, cell, from, to).await)
            .await
    }

    pub(super) async fn shards(&self, sweep: &SweepId) -> Result<Vec<ShardRow>, LedgerError> {
        self.0.read("read the shards", async |client| planning::shards(client, sweep, None).await).await
    }

    pub(super) async fn highest_attempt(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
    ) -> Result<BTreeMap<ItemIndex, u32>, LedgerError> {
        self.0.read("read attempt numbers", async |client| attempts::highest(client, sweep, cell, items).await).await
    }

    pub(super) async fn cell_progress(&self, sweep: &SweepId) -> Result<Vec<CellProgress>, LedgerError> {
        self.0.read("read progress", async |client| planning::progress(client, sweep).await).await
    }

    pub(super) async fn record(&self, records: Vec<SessionRecord>) -> Result<Vec<Recorded>, LedgerError> {
        self.0.write("record sessions", async |tx| sessions::record(tx, &records).await).await
    }

    pub(super) async fn record_progress(&self, reports: Vec<(OpenAttempt, WorkerId)>) -> Result<(), LedgerError> {
        self.0.write("record running attempts", async |tx| attempts::record_progress(tx, &reports).await).await
    }

    pub(super) async fn record_handover(
        &self,
        key: &SessionKey,
        attempt: Attempt,
        usage: Usage,
        cost: CostSum,
    ) -> Result<(), LedgerError> {
        self.0
            .write("record a hand-over", async |tx| attempts::record_handover(tx, key, &attempt, usage, cost).await)
            .await
    }

    pub(super) async fn verdicts(
        &self,
        judge: &ModelRef,
        questions: &[Digest],
    ) -> Result<HashMap<Digest, Verdict>, LedgerError> {
        self.0.read("read verdicts", async |client| judging::verdicts(client, judge, questions).await).await
    }

    pub(super) async fn save_judged(&self, outcomes: Vec<JudgeOutcome>) -> Result<(), LedgerError> {
        self.0.write("save verdicts", async |tx| judging::save(tx, &outcomes).await).await
    }

    pub(super) async fn claim_questions(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        questions: &[Digest],
    ) -> Result<Vec<Digest>, LedgerError> {
        self.0.write("claim questions", async |tx| judging::claim(tx, sweep, judge, questions).await).await
    }

    pub(super) async fn awaiting(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        questions: &[Digest],
    ) -> Result<Vec<AwaitingSession>, LedgerError> {
        self.0
            .read("read waiting sessions", async |client| judging::awaiting(client, sweep, judge, questions).await)
            .await
    }

    pub(super) async fn awaiting_all(&self, sweep: &SweepId) -> Result<Vec<AwaitingSession>, LedgerError> {
        self.0.read("read waiting sessions", async |client| judging::awaiting_all(client, sweep).await).await
    }

    pub(super) async fn settle(&self, settlements: Vec<Settlement>) -> Result<u64, LedgerError> {
        self.0.write("settle sessions", async |tx| sessions::settle(tx, &settlements).await).await
    }

    pub(super) async fn sessions(&self, sweep: &SweepId, cell: CellIndex) -> Result<Vec<SessionRow>, LedgerError> {
        self.0.read("read sessions", async |client| sessions::of_cell(client, sweep, cell).await).await
    }

    pub(super) async fn attempts(&self, sweep: &SweepId) -> Result<Vec<AttemptRow>, LedgerError> {
        self.0.read("read attempts", async |client| attempts::all(client, sweep).await).await
    }

    pub(super) async fn judge_costs(&self, sweep: &SweepId) -> Result<(Usage, CostSum), LedgerError> {
        self.0.read("read the judges' costs", async |client| judging::costs(client, sweep).await).await
    }

    pub(super) async fn close_open_attempts(&self, sweep: &SweepId, at: Timestamp) -> Result<u64, LedgerError> {
        self.0.write("close open attempts", async |tx| attempts::close_open(tx, sweep, at).await).await
    }

    pub(super) async fn save_metrics(&self, sweep: &SweepId, rows: Vec<MetricRow>) -> Result<(), LedgerError> {
        self.0.write("save metrics", async |tx| metrics::save(tx, sweep, &rows).await).await
    }

    pub(super) async fn metrics(&self, sweep: &SweepId) -> Result<Vec<MetricRow>, LedgerError> {
        self.0.read("read metrics", async |client| metrics::all(client, sweep).await).await
    }

    pub(super) async fn reopen_unmeasured(&self, sweep: &SweepId) -> Result<Reopened, LedgerError> {
        self.0.write("reopen a sweep", async |tx| resume::reopen(tx, sweep).await).await
    }

    pub(super) async fn reset_dispatch(&self, sweep: &SweepId) -> Result<u64, LedgerError> {
        self.0.write("reset what was dispatched of a sweep", async |tx| resume::reset(tx, sweep).await).await
    }
}
