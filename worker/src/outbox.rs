//! Publishes what sessions produced, in batches, and acknowledges their jobs only after the broker has confirmed it.

use std::collections::BTreeMap;

use regatta_backends::{Queue, QueueError, Receipt};
use regatta_proto::{Job, Report};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::WorkerMetrics;

/// Most entries published at once.
const BATCH: usize = 512;
/// Entries that may wait; sessions stop ending when the broker does not keep up.
const WAITING: usize = 4096;

/// A delivery's receipt, counted among those that its consumer must outlive.
pub(crate) struct Held {
    receipt: Receipt,
    counted: TaskTrackerToken,
}

impl Held {
    /// Counts `receipt` among `unsettled` until it is settled.
    pub(crate) fn new(receipt: Receipt, unsettled: &TaskTracker) -> Self {
        Self { receipt, counted: unsettled.token() }
    }

    pub(crate) async fn ack(self) {
        self.receipt.ack().await;
        drop(self.counted);
    }

    pub(crate) async fn ack_all(held: Vec<Self>) {
        let (receipts, counted): (Vec<Receipt>, Vec<TaskTrackerToken>) =
            held.into_iter().map(|held| (held.receipt, held.counted)).unzip();
        Receipt::ack_all(receipts).await;
        drop(counted);
    }

    pub(crate) async fn hand_back(self) {
        self.receipt.hand_back().await;
        drop(self.counted);
    }
}

/// What one job has led to.
pub(crate) struct Parcel {
    /// For the scorers.
    pub(crate) reports: Vec<Report>,
    /// For whichever worker: continuations, each with its queue.
    pub(crate) jobs: Vec<(String, Job)>,
    /// The job's delivery, acknowledged once all the above is confirmed.
    pub(crate) receipt: Option<Held>,
}

/// Where sessions leave their parcels.
#[derive(Clone)]
pub(crate) struct Outbox(mpsc::Sender<Parcel>);

impl Outbox {
    /// Starts the publisher. It ends when the last clone of the outbox is gone and everything is published.
    pub(crate) fn start(queue: Queue, metrics: WorkerMetrics) -> (Self, tokio::task::JoinHandle<()>) {
        let (sender, mut receiver) = mpsc::channel(WAITING);
        let publisher = tokio::spawn(async move {
            let mut batch = Vec::with_capacity(BATCH);
            while receiver.recv_many(&mut batch, BATCH).await > 0 {
                publish(&queue, &metrics, batch.drain(..)).await;
            }
        });
        (Self(sender), publisher)
    }

    /// Leaves a parcel. Waits while too many are waiting.
    pub(crate) async fn leave(&self, parcel: Parcel) {
        // The publisher only ends after every sender is gone, so this fails only if it panicked; the job is then delivered again.
        if self.0.send(parcel).await.is_err() {
            tracing::error!("the publisher of reports is gone; the job will be delivered again");
        }
    }
}

async fn publish(queue: &Queue, metrics: &WorkerMetrics, parcels: impl Iterator<Item = Parcel>) {
    let mut reports = Vec::new();
    let mut receipts: Vec<Held> = Vec::new();
    let mut jobs: BTreeMap<String, Vec<Job>> = BTreeMap::new();
    for parcel in parcels {
        reports.extend(parcel.reports);
        receipts.extend(parcel.receipt);
        for (queue, job) in parcel.jobs {
            jobs.entry(queue).or_default().push(job);
        }
    }
    match confirm(queue, jobs, reports).await {
        Ok(()) => Held::ack_all(receipts).await,
        Err(error) => {
            metrics.reports_lost.inc();
            tracing::error!(%error, jobs = receipts.len(), "failed to publish reports; their jobs will be delivered again");
            for receipt in receipts {
                receipt.hand_back().await;
            }
        }
    }
}

async fn confirm(queue: &Queue, jobs: BTreeMap<String, Vec<Job>>, reports: Vec<Report>) -> Result<(), QueueError> {
    for (name, jobs) in jobs {
        queue.publish_jobs(&name, jobs).await?;
    }
    if !reports.is_empty() {
        queue.publish_reports(reports).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use prometheus::Registry;
    use regatta_proto::{CellIndex, Digest, ItemIndex, SessionJob, SessionKey, Transcript};

    use super::*;

    const JOBS: &str = "jobs.test";

    fn job() -> Job {
        let key = SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(0) };
        Job::Session(Box::new(SessionJob { key, lock: Digest::of(b""), attempt: 1, transcript: Transcript::default() }))
    }

    fn report() -> Report {
        Report::Tabulate { sweep: "s".parse().unwrap(), lock: Digest::of(b"") }
    }

    /// Takes the one job of `jobs`, leaves a report about it to be published in `reports`, and waits until all is settled.
    async fn report_by_way_of(reports: &Queue, jobs: &Queue) -> WorkerMetrics {
        let mut consumer = jobs.consume_jobs(JOBS, 1).await.unwrap();
        let unsettled = TaskTracker::new();
        let held = Held::new(consumer.next().await.unwrap().receipt, &unsettled);
        consumer.stop();
        let metrics = WorkerMetrics::register(&Registry::new()).unwrap();
        let (outbox, publisher) = Outbox::start(reports.clone(), metrics.clone());
        outbox.leave(Parcel { reports: vec![report()], jobs: Vec::new(), receipt: Some(held) }).await;
        drop(outbox);
        publisher.await.unwrap();
        unsettled.close();
        unsettled.wait().await;
        metrics
    }

    #[tokio::test]
    async fn a_job_is_acknowledged_when_its_report_is_published() {
        let queue = Queue::memory();
        queue.declare_jobs(JOBS).await.unwrap();
        queue.publish_jobs(JOBS, vec![job()]).await.unwrap();
        let metrics = report_by_way_of(&queue, &queue).await;
        assert_eq!((queue.depth(JOBS).await.unwrap(), metrics.reports_lost.get()), (0, 0));
        assert_eq!(queue.consume_reports(1).await.unwrap().next().await.unwrap().message, report());
    }

    #[tokio::test]
    async fn a_job_whose_report_cannot_be_published_is_handed_back() {
        let (jobs, closed) = (Queue::memory(), Queue::memory());
        closed.close();
        jobs.declare_jobs(JOBS).await.unwrap();
        jobs.publish_jobs(JOBS, vec![job()]).await.unwrap();
        let metrics = report_by_way_of(&closed, &jobs).await;
        assert_eq!(metrics.reports_lost.get(), 1);
        let again = jobs.consume_jobs(JOBS, 1).await.unwrap().next().await.unwrap();
        assert_eq!((again.message, again.redeliveries), (job(), 1));
    }
}
