//! Dispatch: who leads, which shards are released, claimed and confirmed, and which sessions are under way.

use std::collections::BTreeMap;
use std::time::Duration;

use regatta_proto::{CellIndex, ItemIndex, ShardIndex, SweepId, WorkerId};

use crate::ledger::postgres::pool::{Fault, read, write};
use crate::ledger::postgres::{PostgresLedger, attempts, leading, planning, sessions};
use crate::ledger::{CellProgress, LedgerError, ShardRow, Term, TranscriptRef, UnderWay};

impl PostgresLedger {
    pub(crate) async fn lead(&self, holder: &WorkerId, lease: Duration) -> Result<Option<Term>, LedgerError> {
        write!(self.0, "take the lead", tx => leading::lead(tx, holder, lease))
    }

    pub(crate) async fn resign(&self, holder: &WorkerId) -> Result<(), LedgerError> {
        write!(self.0, "give up the lead", tx => leading::resign(tx, holder))
    }

    pub(crate) async fn next_shards(
        &self,
        sweep: &SweepId,
        queue: &str,
        limit: u32,
    ) -> Result<Vec<ShardRow>, LedgerError> {
        read!(self.0, "read the next shards", client => planning::shards(client, sweep, Some((queue, limit))))
    }

    pub(crate) async fn shards(&self, sweep: &SweepId) -> Result<Vec<ShardRow>, LedgerError> {
        read!(self.0, "read the shards", client => planning::shards(client, sweep, None))
    }

    pub(crate) async fn claim_shard(
        &self,
        sweep: &SweepId,
        shard: ShardIndex,
        generation: u32,
        term: Term,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "claim a shard", tx => planning::claim_shard(tx, sweep, shard, generation, term))
    }

    pub(crate) async fn confirm_shard(
        &self,
        sweep: &SweepId,
        shard: ShardIndex,
        dispatched: u32,
        term: Term,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "confirm a shard", tx => planning::confirm_shard(tx, sweep, shard, dispatched, term))
    }

    pub(crate) async fn plan_shards_again(
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

    pub(crate) async fn release(
        &self,
        sweep: &SweepId,
        cells: &[(CellIndex, u32)],
        generation: u32,
        term: Term,
    ) -> Result<bool, LedgerError> {
        write!(self.0, "release sessions", tx => planning::release(tx, sweep, cells, generation, term))
    }

    pub(crate) async fn cell_progress(&self, sweep: &SweepId) -> Result<Vec<CellProgress>, LedgerError> {
        read!(self.0, "read progress", client => planning::progress(client, sweep))
    }

    pub(crate) async fn under_way(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
        within: Duration,
    ) -> Result<BTreeMap<ItemIndex, UnderWay>, LedgerError> {
        read!(self.0, "read running attempts", client => attempts::under_way(client, sweep, cell, items, within))
    }

    pub(crate) async fn recorded_items(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        from: ItemIndex,
        to: ItemIndex,
    ) -> Result<Vec<ItemIndex>, LedgerError> {
        read!(self.0, "read recorded items", client => sessions::recorded_items(client, sweep, cell, from, to))
    }

    pub(crate) async fn recorded_among(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
    ) -> Result<Vec<ItemIndex>, LedgerError> {
        read!(self.0, "read which items are recorded", client => sessions::recorded_among(client, sweep, cell, items))
    }

    pub(crate) async fn highest_attempt(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
    ) -> Result<BTreeMap<ItemIndex, u32>, LedgerError> {
        read!(self.0, "read attempt numbers", client => attempts::highest(client, sweep, cell, items))
    }

    pub(crate) async fn continuations(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
    ) -> Result<BTreeMap<ItemIndex, TranscriptRef>, LedgerError> {
        read!(self.0, "read what to continue from", client => attempts::continuations(client, sweep, cell, items))
    }

    pub(crate) async fn quiet(&self, sweep: &SweepId, life: &str, anew: bool) -> Result<Duration, LedgerError> {
        write!(self.0, "note that a sweep moves", tx => planning::quiet(tx, sweep, life, anew))
    }
}
