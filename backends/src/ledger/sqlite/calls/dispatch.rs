//! Dispatch: who leads, which shards are released, claimed and confirmed, and which sessions are under way.

use std::collections::BTreeMap;
use std::time::Duration;

use regatta_proto::{CellIndex, ItemIndex, ShardIndex, SweepId, WorkerId};
use rusqlite::Transaction;

use crate::ledger::sqlite::{SqliteLedger, attempts, planning, sessions};
use crate::ledger::{CellProgress, LedgerError, ShardRow, Term, TranscriptRef, UnderWay};

impl SqliteLedger {
    pub(crate) async fn lead(&self, holder: &WorkerId, lease: Duration) -> Result<Option<Term>, LedgerError> {
        Ok(self.1.lead(holder, lease))
    }

    pub(crate) async fn resign(&self, holder: &WorkerId) -> Result<(), LedgerError> {
        self.1.resign(holder);
        Ok(())
    }

    pub(crate) async fn next_shards(
        &self,
        sweep: &SweepId,
        queue: &str,
        limit: u32,
    ) -> Result<Vec<ShardRow>, LedgerError> {
        let (sweep, queue) = (sweep.clone(), queue.to_owned());
        self.0.read("read the next shards", move |tx| planning::shards(tx, &sweep, Some((&queue, limit)))).await
    }

    pub(crate) async fn shards(&self, sweep: &SweepId) -> Result<Vec<ShardRow>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read the shards", move |tx| planning::shards(tx, &sweep, None)).await
    }

    pub(crate) async fn claim_shard(
        &self,
        sweep: &SweepId,
        shard: ShardIndex,
        generation: u32,
        term: Term,
    ) -> Result<bool, LedgerError> {
        let sweep = sweep.clone();
        self.write_as_leader(term, "claim a shard", move |tx| planning::claim_shard(tx, &sweep, shard, generation))
            .await
    }

    pub(crate) async fn confirm_shard(
        &self,
        sweep: &SweepId,
        shard: ShardIndex,
        dispatched: u32,
        term: Term,
    ) -> Result<bool, LedgerError> {
        let sweep = sweep.clone();
        self.write_as_leader(term, "confirm a shard", move |tx| planning::confirm_shard(tx, &sweep, shard, dispatched))
            .await
    }

    pub(crate) async fn plan_shards_again(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        shards: &[ShardIndex],
        dispatched: u64,
        term: Term,
    ) -> Result<bool, LedgerError> {
        let (sweep, shards) = (sweep.clone(), shards.to_vec());
        self.write_as_leader(term, "plan shards again", move |tx| {
            planning::plan_shards_again(tx, &sweep, cell, &shards, dispatched)
        })
        .await
    }

    pub(crate) async fn release(
        &self,
        sweep: &SweepId,
        cells: &[(CellIndex, u32)],
        generation: u32,
        term: Term,
    ) -> Result<bool, LedgerError> {
        let (sweep, cells) = (sweep.clone(), cells.to_vec());
        self.write_as_leader(term, "release sessions", move |tx| planning::release(tx, &sweep, &cells, generation))
            .await
    }

    pub(crate) async fn cell_progress(&self, sweep: &SweepId) -> Result<Vec<CellProgress>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read progress", move |tx| planning::progress(tx, &sweep)).await
    }

    pub(crate) async fn under_way(
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

    pub(crate) async fn recorded_items(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        from: ItemIndex,
        to: ItemIndex,
    ) -> Result<Vec<ItemIndex>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read recorded items", move |tx| sessions::recorded_items(tx, &sweep, cell, from, to)).await
    }

    pub(crate) async fn recorded_among(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
    ) -> Result<Vec<ItemIndex>, LedgerError> {
        let (sweep, items) = (sweep.clone(), items.to_vec());
        let reading = move |tx: &Transaction<'_>| sessions::recorded_among(tx, &sweep, cell, &items);
        self.0.read("read which items are recorded", reading).await
    }

    pub(crate) async fn highest_attempt(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
    ) -> Result<BTreeMap<ItemIndex, u32>, LedgerError> {
        let (sweep, items) = (sweep.clone(), items.to_vec());
        self.0.read("read attempt numbers", move |tx| attempts::highest(tx, &sweep, cell, &items)).await
    }

    pub(crate) async fn continuations(
        &self,
        sweep: &SweepId,
        cell: CellIndex,
        items: &[ItemIndex],
    ) -> Result<BTreeMap<ItemIndex, TranscriptRef>, LedgerError> {
        let (sweep, items) = (sweep.clone(), items.to_vec());
        self.0.read("read what to continue from", move |tx| attempts::continuations(tx, &sweep, cell, &items)).await
    }

    pub(crate) async fn quiet(&self, sweep: &SweepId, life: &str, anew: bool) -> Result<Duration, LedgerError> {
        Ok(self.1.quiet(sweep, life, anew))
    }
}
