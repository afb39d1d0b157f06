//! Dispatch: who leads, which shards are released, claimed and confirmed, and which sessions are under way.

use std::collections::BTreeMap;
use std::time::Duration;

use regatta_proto::{CellIndex, ItemIndex, ShardIndex, SweepId, WorkerId};

use super::{LedgerFuture, each};
use crate::ledger::{CellProgress, Ledger, ShardRow, Term, TranscriptRef, UnderWay};

/// Dispatch: calls of the leading coordinator.
impl Ledger {
    /// Makes or keeps `holder`, a name that is unique to its process, the leader; `None` while another process leads. The lease lasts for
    /// `lease` from this call, by the store's clock.
    ///
    /// # Errors
    /// When the store fails.
    pub fn lead<'a>(&'a self, holder: &'a WorkerId, lease: Duration) -> LedgerFuture<'a, Option<Term>> {
        each!(self.lead(holder, lease))
    }

    /// Ends the lease of `holder`, so that whoever asks next leads, under a higher term. Changes nothing while another leads.
    ///
    /// # Errors
    /// When the store fails.
    pub fn resign<'a>(&'a self, holder: &'a WorkerId) -> LedgerFuture<'a, ()> {
        each!(self.resign(holder))
    }

    /// At most `limit` shards of cells with this queue that are released and not dispatched, in order. In the state `dispatching`, a shard
    /// was interrupted, and some of its jobs may be in the queue.
    ///
    /// # Errors
    /// When the store fails.
    pub fn next_shards<'a>(
        &'a self,
        sweep: &'a SweepId,
        queue: &'a str,
        limit: u32,
    ) -> LedgerFuture<'a, Vec<ShardRow>> {
        each!(self.next_shards(sweep, queue, limit))
    }

    /// All shards of a sweep, in order.
    ///
    /// # Errors
    /// When the store fails.
    pub fn shards<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, Vec<ShardRow>> {
        each!(self.shards(sweep))
    }

    /// Moves a shard from `planned` to `dispatching`. Returns `false`, and changes nothing, if it is in another state, its sweep does not run
    /// (any more) or was resumed since `generation`, or `term` is over. The caller that gets `true` publishes the jobs.
    ///
    /// # Errors
    /// When the store fails.
    pub fn claim_shard<'a>(
        &'a self,
        sweep: &'a SweepId,
        shard: ShardIndex,
        generation: u32,
        term: Term,
    ) -> LedgerFuture<'a, bool> {
        each!(self.claim_shard(sweep, shard, generation, term))
    }

    /// Moves a shard from `dispatching` to `dispatched`, and adds `dispatched` to the number of dispatched sessions of its cell. Returns
    /// `false`, and changes nothing, if it is in another state, or `term` is over.
    ///
    /// # Errors
    /// When the store fails.
    pub fn confirm_shard<'a>(
        &'a self,
        sweep: &'a SweepId,
        shard: ShardIndex,
        dispatched: u32,
        term: Term,
    ) -> LedgerFuture<'a, bool> {
        each!(self.confirm_shard(sweep, shard, dispatched, term))
    }

    /// Moves those of `shards`, all of `cell`, that are in `dispatching` back to `planned`, because it is not known whether their jobs were
    /// published, and sets the number of dispatched sessions of the cell to `dispatched`: those of its dispatched shards, and those of
    /// others that have a result. Dispatched shards stay as they are. Returns `false`, and changes nothing, if none is in `dispatching`, or
    /// `term` is over.
    ///
    /// # Errors
    /// When the store fails.
    pub fn plan_shards_again<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        shards: &'a [ShardIndex],
        dispatched: u64,
        term: Term,
    ) -> LedgerFuture<'a, bool> {
        each!(self.plan_shards_again(sweep, cell, shards, dispatched, term))
    }

    /// Raises the number of sessions that cells may have to the given ones, never lowering it. Returns `false`, and changes nothing, if the
    /// sweep does not run, was resumed since `generation`, or `term` is over. Shards that begin after a cell's sessions are not dispatched.
    ///
    /// # Errors
    /// When the store fails.
    pub fn release<'a>(
        &'a self,
        sweep: &'a SweepId,
        cells: &'a [(CellIndex, u32)],
        generation: u32,
        term: Term,
    ) -> LedgerFuture<'a, bool> {
        each!(self.release(sweep, cells, generation, term))
    }

    /// Progress of every cell, in the order of the grid. Reads only counters, so its cost does not grow with the number of sessions.
    ///
    /// # Errors
    /// When the store fails.
    pub fn cell_progress<'a>(&'a self, sweep: &'a SweepId) -> LedgerFuture<'a, Vec<CellProgress>> {
        each!(self.cell_progress(sweep))
    }

    /// Returns those of `items` that have no result and may be under way, each with the strongest evidence; reports within the last
    /// `within` are recent ones. Sessions that end between this call and a later one have a result there.
    ///
    /// # Errors
    /// When the store fails.
    pub fn under_way<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        items: &'a [ItemIndex],
        within: Duration,
    ) -> LedgerFuture<'a, BTreeMap<ItemIndex, UnderWay>> {
        each!(self.under_way(sweep, cell, items, within))
    }

    /// Items from `from` to `to`, inclusive, of a cell that have a recorded session, settled or not, in order.
    ///
    /// # Errors
    /// When the store fails.
    pub fn recorded_items<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        from: ItemIndex,
        to: ItemIndex,
    ) -> LedgerFuture<'a, Vec<ItemIndex>> {
        each!(self.recorded_items(sweep, cell, from, to))
    }

    /// All of `items` that have a result, in no particular order.
    ///
    /// # Errors
    /// When the store fails.
    pub fn recorded_among<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        items: &'a [ItemIndex],
    ) -> LedgerFuture<'a, Vec<ItemIndex>> {
        each!(self.recorded_among(sweep, cell, items))
    }

    /// The highest attempt number of each of `items`; items without attempts are left out.
    ///
    /// # Errors
    /// When the store fails.
    pub fn highest_attempt<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        items: &'a [ItemIndex],
    ) -> LedgerFuture<'a, BTreeMap<ItemIndex, u32>> {
        each!(self.highest_attempt(sweep, cell, items))
    }

    /// The transcripts that can be continued, for sessions of `items` that a budget ended and [`Ledger::reopen_unmeasured`] has reopened:
    /// each is that of the session's newest attempt that reported a result. Items with a recorded session, or without such a transcript,
    /// are left out. The job that continues needs a number above [`Ledger::highest_attempt`].
    ///
    /// # Errors
    /// When the store fails.
    pub fn continuations<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        items: &'a [ItemIndex],
    ) -> LedgerFuture<'a, BTreeMap<ItemIndex, TranscriptRef>> {
        each!(self.continuations(sweep, cell, items))
    }

    /// The time for which the state of `sweep`, as the caller describes it in `life`, has been the same, by the store's clock, whichever
    /// process asked. Zero if the state has changed since the last call, or if `anew` is set.
    ///
    /// # Errors
    /// When the store fails.
    pub fn quiet<'a>(&'a self, sweep: &'a SweepId, life: &'a str, anew: bool) -> LedgerFuture<'a, Duration> {
        each!(self.quiet(sweep, life, anew))
    }
}
