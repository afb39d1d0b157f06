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

    pub(crate) async fn hand_back(self) {
        self.receipt.hand_back().await;
        drop(self.counted);
    }
}

/// What one job has led to.
pub(crate) struct Parcel {
    /// For the scorers.
    pub(crate) reports: Vec<Report>,
    /// For another worker: the queue and the continuation.
    pub(crate) job: Option<(String, Job)>,
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
        if let Some((queue, job)) = parcel.job {
            jobs.entry(queue).or_default().push(job);
        }
    }
    match confirm(queue, jobs, reports).await {
        Ok(()) => {
            let (receipts, counted): (Vec<Receipt>, Vec<TaskTrackerToken>) =
                receipts.into_iter().map(|held| (held.receipt, held.counted)).unzip();
            Receipt::ack_all(receipts).await;
            drop(counted);
        }
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
