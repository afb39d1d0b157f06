//! Queues in memory with injected faults, as one of several simulated processes sees them.

use std::sync::Arc;
use std::time::Duration;

use regatta_proto::{Control, Job, Report};
use tokio::time::Instant;

use super::memory::MemoryConsumer;
use super::{Controls, Delivery, MemoryQueue, QueueError};
use crate::faults::{Connection, Trouble, Troubles, Way};

/// A process's view of queues in memory.
#[derive(Debug, Clone)]
pub struct TroubledQueue {
    inner: MemoryQueue,
    troubles: Troubles,
}

impl TroubledQueue {
    pub(super) const fn new(inner: MemoryQueue, troubles: Troubles) -> Self {
        Self { inner, troubles }
    }

    pub(super) async fn declare_jobs(&self, queue: &str) -> Result<(), QueueError> {
        self.troubles.on(Way::Queue(queue)).await;
        self.call(queue, 0, || self.inner.declare_jobs(queue)).await
    }

    pub(super) async fn publish_jobs(&self, queue: &str, jobs: Vec<Job>) -> Result<(), QueueError> {
        self.troubles.on(Way::Jobs(queue)).await;
        self.call(queue, jobs.len(), || self.inner.publish_jobs(queue, self.troubles.jobs(jobs))).await
    }

    pub(super) async fn publish_jobs_once(
        &self,
        queue: &str,
        jobs: Vec<Job>,
        until: Instant,
    ) -> Result<(), QueueError> {
        self.troubles.on(Way::Jobs(queue)).await;
        let messages = jobs.len();
        let carried = || self.inner.publish_jobs_once(queue, self.troubles.jobs(jobs), until);
        self.call(queue, messages, carried).await
    }

    pub(super) async fn publish_reports(&self, reports: Vec<Report>) -> Result<(), QueueError> {
        self.troubles.on(Way::Reports).await;
        self.carry_reports(reports).await
    }

    pub(super) async fn publish_progress(&self, reports: Vec<Report>) -> Result<(), QueueError> {
        self.troubles.on(Way::Progress).await;
        self.carry_reports(reports).await
    }

    async fn carry_reports(&self, reports: Vec<Report>) -> Result<(), QueueError> {
        let carried = || self.inner.publish_reports(self.troubles.reports(reports.clone()));
        self.call("reports", reports.len(), carried).await?;
        self.troubles.reported(&reports);
        Ok(())
    }

    pub(super) async fn set_aside_reports(&self, reports: Vec<Report>) -> Result<(), QueueError> {
        self.call("reports.aside", reports.len(), || self.inner.set_aside_reports(reports)).await
    }

    pub(super) async fn reports_set_aside(&self) -> Result<u64, QueueError> {
        self.call("reports.aside", 0, || self.inner.reports_set_aside()).await
    }

    pub(super) async fn broadcast(&self, control: Control) -> Result<(), QueueError> {
        self.call("control", 1, || self.inner.broadcast(control)).await
    }

    pub(super) async fn consume_jobs(&self, queue: &str, prefetch: u32) -> Result<TroubledConsumer<Job>, QueueError> {
        self.troubles.on(Way::Queue(queue)).await;
        let connect = |consumer| TroubledConsumer::connect(consumer, &self.troubles);
        self.call(queue, 0, || self.inner.consume_jobs(queue, prefetch).map(connect)).await
    }

    pub(super) async fn consume_reports(&self, prefetch: u32) -> Result<TroubledConsumer<Report>, QueueError> {
        let connect = |consumer| TroubledConsumer::connect(consumer, &self.troubles);
        self.call("reports", 0, || self.inner.consume_reports(prefetch).map(connect)).await
    }

    pub(super) async fn listen(&self) -> Result<Controls, QueueError> {
        self.call("control", 0, || self.inner.listen()).await
    }

    pub(super) async fn reach(&self) -> Result<(), QueueError> {
        self.call("broker", 0, || self.inner.open()).await
    }

    pub(super) async fn depth(&self, queue: &str) -> Result<u64, QueueError> {
        self.troubles.on(Way::Queue(queue)).await;
        self.call(queue, 0, || self.inner.depth(queue)).await
    }

    pub(super) async fn consumers(&self, queue: &str) -> Result<u64, QueueError> {
        self.troubles.on(Way::Queue(queue)).await;
        self.call(queue, 0, || self.inner.consumers(queue)).await
    }

    pub(super) async fn is_drained(&self, queue: &str) -> Result<bool, QueueError> {
        self.troubles.on(Way::Queue(queue)).await;
        self.call(queue, 0, || self.inner.is_drained(queue)).await
    }

    pub(super) async fn waiting_reports(&self) -> Result<u64, QueueError> {
        self.call("reports", 0, || self.inner.waiting_reports()).await
    }

    pub(super) fn report_partitions(&self) -> u8 {
        self.inner.report_partitions()
    }

    pub(super) async fn report_consumers(&self) -> Result<u64, QueueError> {
        self.call("reports", 0, || self.inner.report_consumers()).await
    }

    pub(super) async fn dead_letters(&self) -> Result<u64, QueueError> {
        self.call("dead", 0, || Ok(self.inner.dead_letters())).await
    }

    async fn call<T>(
        &self,
        queue: &str,
        messages: usize,
        body: impl FnOnce() -> Result<T, QueueError> + Send,
    ) -> Result<T, QueueError> {
        let away =
            |_: Trouble| QueueError::Unconfirmed { queue: queue.to_owned(), messages, timeout: Duration::from_secs(1) };
        self.troubles.before().await.map_err(away)?;
        let value = body()?;
        self.troubles.after().await.map_err(away)?;
        Ok(value)
    }
}

/// A consumer whose process may lose its connection.
#[derive(Debug)]
pub(in crate::queue) struct TroubledConsumer<T> {
    inner: MemoryConsumer<T>,
    troubles: Troubles,
}

impl<T: Clone + Send + Sync + 'static> TroubledConsumer<T> {
    fn connect(inner: MemoryConsumer<T>, troubles: &Troubles) -> Self {
        let connection: Arc<dyn Connection> = Arc::new(inner.connection());
        troubles.connected(connection);
        Self { inner, troubles: troubles.clone() }
    }

    /// Like that of every consumer, but a dead process receives nothing, not even the end.
    pub(in crate::queue) async fn next(&mut self) -> Option<Delivery<T>> {
        match self.inner.next().await {
            Some(delivery) => Some(delivery),
            // The queue was closed, or the process is dead, whose calls never return.
            None => self.troubles.before().await.map_or(None, |()| None),
        }
    }

    pub(in crate::queue) fn stop(&mut self) {
        self.inner.stop();
    }
}
