//! The ledger in one file, for the embedded run.

mod attempts;
mod audit;
mod call_sums;
mod calls;
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
mod steering;
mod storage;
mod thread;
mod views;

use std::path::Path;

use jiff::Timestamp;
use regatta_proto::SweepId;
use rusqlite::Transaction;

use self::presence::Presence;
pub use self::repair::{PutBack, Salvaged};
use self::thread::{Fault, Thread};
use super::{LedgerError, Term};

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

    /// Runs `body` as [`Thread::write`] does if `term` is that of the leader; returns `false`, and changes nothing, if it is over.
    async fn write_as_leader(
        &self,
        term: Term,
        action: &'static str,
        body: impl FnOnce(&Transaction<'_>) -> Result<bool, Fault> + Send + 'static,
    ) -> Result<bool, LedgerError> {
        let presence = self.1.clone();
        self.0.write(action, move |tx| Ok(presence.is_leading(term) && body(tx)?)).await
    }
}
