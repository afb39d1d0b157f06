//! Faults for simulations: a process's view of stores that it shares with others, in which calls come late, fail before or after they
//! took effect, or never return.
//!
//! A process that dies is one whose every call stays unanswered from then on, and whose consumers are gone: whatever its tasks still
//! compute, nobody hears of it. So no task has to be killed, and a simulation may let a process die at any call.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use regatta_proto::{Job, Report};

/// A call that a store did not answer; whether it took effect depends on when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the simulation let this call fail")]
pub struct Trouble;

/// Kind of a call to the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way<'a> {
    /// Declares this queue of jobs, asks what is in it, or begins to consume it.
    Queue(&'a str),
    /// Publishes jobs to this queue.
    Jobs(&'a str),
    /// Publishes reports.
    Reports,
    /// Publishes reports of progress.
    Progress,
}

/// Fate of the calls of one process. [`Fate::before`] and [`Fate::after`] return late, or never, as they please. Without methods of its own it
/// lets everything happen.
pub trait Fate: Send + Sync {
    /// Asked before a call takes effect.
    ///
    /// # Errors
    /// When it fails without an effect.
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Asked after a call took effect, before its reply is told.
    ///
    /// # Errors
    /// When the reply is lost.
    fn after(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Asked besides [`Fate::before`], with the way that the call takes: one may be held up while others go on.
    fn on<'a>(&'a self, _way: Way<'a>) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// `true` if the broker loses the next job after it has confirmed it.
    fn loses(&self) -> bool {
        false
    }

    /// `true` if the next report or batch arrives twice, as from a publisher that did not receive its confirmation.
    fn doubles(&self) -> bool {
        false
    }

    /// `true` if the blob store refuses to delete the object `key`, and that one alone.
    fn keeps(&self, _key: &str) -> bool {
        false
    }

    /// Called with reports whose confirmation the process has received, so that it acknowledges their jobs. Before, it may lose the
    /// reports, even if they are in the queue.
    fn reported(&self, _reports: &[Report]) {}

    /// Takes the connection of a new consumer, to cut it when it pleases.
    fn connected(&self, _connection: Arc<dyn Connection>) {}
}

/// A consumer's connection to its queue.
pub trait Connection: Send + Sync {
    /// Hands back all that the consumer has not settled, and takes new messages; the receipts of the old ones are void.
    fn reset(&self);

    /// Hands back all that the consumer has not settled, for good.
    fn end(&self);
}

/// The fate of one process; clones share it.
#[derive(Clone)]
pub struct Troubles(Arc<dyn Fate>);

impl Troubles {
    /// Calls that go as `fate` says.
    pub fn new(fate: Arc<dyn Fate>) -> Self {
        Self(fate)
    }

    pub(crate) async fn before(&self) -> Result<(), Trouble> {
        self.0.before().await
    }

    pub(crate) async fn on(&self, way: Way<'_>) {
        self.0.on(way).await;
    }

    pub(crate) async fn after(&self) -> Result<(), Trouble> {
        self.0.after().await
    }

    pub(crate) fn keeps(&self, key: &str) -> bool {
        self.0.keeps(key)
    }

    pub(crate) fn connected(&self, connection: Arc<dyn Connection>) {
        self.0.connected(connection);
    }

    /// Returns the jobs as they reach their queue, some batches twice: these are sent until they are confirmed.
    pub(crate) fn jobs(&self, jobs: Vec<Job>) -> Vec<Job> {
        let copies = |job: Job| {
            let copies = if matches!(job, Job::Batch(_)) && self.0.doubles() { 2 } else { 1 };
            std::iter::repeat_n(job, copies)
        };
        jobs.into_iter().filter(|_| !self.0.loses()).flat_map(copies).collect()
    }

    /// Returns the reports as they reach their queue, some of them twice.
    pub(crate) fn reports(&self, reports: Vec<Report>) -> Vec<Report> {
        let copies = |report| std::iter::repeat_n(report, if self.0.doubles() { 2 } else { 1 });
        reports.into_iter().flat_map(copies).collect()
    }

    /// Tells the fate that `reports` are confirmed.
    pub(crate) fn reported(&self, reports: &[Report]) {
        self.0.reported(reports);
    }
}

impl fmt::Debug for Troubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Troubles").finish_non_exhaustive()
    }
}
