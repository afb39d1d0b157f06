//! Publishes what sessions produced, in batches, and acknowledges their jobs only after the broker has confirmed it.

mod publishing;

pub(crate) use publishing::insist_on_progress;

use std::iter::Peekable;

use regatta_backends::{Queue, Receipt};
use regatta_proto::{Job, Report};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::WorkerMetrics;
use crate::attempts::AttemptHere;
use crate::holdings::{HeldHere, JudgedHere};
use crate::running::RunningSession;

/// Most entries published at once.
const BATCH: usize = 512;
/// Bytes of transcripts published at once, beyond which the next entries wait for the next time: all are written before the first is sent.
const BATCH_BYTES: u64 = 16 << 20;
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

    /// Fires when the job is delivered again, to whomever.
    pub(crate) fn voided(&self) -> CancellationToken {
        self.receipt.voided()
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

/// Origin of a publication, which is settled once it is confirmed.
pub(crate) enum Origin {
    /// No job.
    Nobody,
    /// An attempt that has ended, which this process tells of until its publication is settled; with its job, unless others have that.
    Attempt(AttemptHere, Option<Held>),
    /// A batch, which this process tells of until its publication is settled.
    Batch(Held, HeldHere),
    /// Questions for a judge, which this process tells of until their publication is settled.
    Questions(Held, JudgedHere),
    /// A session, which runs until its publication is settled.
    Session(RunningSession),
}

impl Origin {
    /// True if its calls are in a checkpoint as well, so that a job that goes on with it may get lost without them.
    const fn is_kept(&self) -> bool {
        match self {
            Self::Session(_) => true,
            Self::Nobody | Self::Attempt(..) | Self::Batch(..) | Self::Questions(..) => false,
        }
    }

    /// The deliveries to be acknowledged, now that everything they led to is confirmed.
    pub(crate) fn confirmed(self) -> Vec<Held> {
        match self {
            Self::Session(running) => running.confirmed(),
            origin => origin.deliveries(),
        }
    }

    /// The deliveries to be settled.
    pub(crate) fn deliveries(self) -> Vec<Held> {
        match self {
            Self::Nobody => Vec::new(),
            Self::Attempt(attempt, held) => {
                drop(attempt);
                held.into_iter().collect()
            }
            Self::Batch(held, batch) => {
                drop(batch);
                vec![held]
            }
            Self::Questions(held, judged_here) => {
                drop(judged_here);
                vec![held]
            }
            Self::Session(running) => running.end(),
        }
    }
}

/// Reports and jobs that one job led to, published together.
pub(crate) struct Publication {
    /// Reports for the scorers.
    pub(crate) reports: Vec<Report>,
    /// Jobs for any worker: continuations and batches, each with the queue that it is published to.
    pub(crate) jobs: Vec<(String, Job)>,
    /// The job's delivery, acknowledged once all the above is confirmed.
    pub(crate) origin: Origin,
}

impl Publication {
    /// True if nothing that was paid for is in `job` alone. It is sent once then: should it be lost, its session goes on all the same, and a copy
    /// would be run beside the first.
    fn is_kept(&self, job: &Job) -> bool {
        match job {
            Job::Session(session) => self.origin.is_kept() || session.transcript.events.is_empty(),
            // Questions of which nobody tells are asked again.
            Job::Judge(_) => true,
            // Its copies lead to the same calls.
            Job::Batch(_) => false,
        }
    }

    /// Bytes of its transcripts.
    fn bytes(&self) -> u64 {
        let reports = self.reports.iter().map(|report| match report {
            Report::Session(ended) => ended.transcript.bytes(),
            Report::HandedOver { .. }
            | Report::Judge(_)
            | Report::Progress(_)
            | Report::Rejudge { .. }
            | Report::Echo { .. }
            | Report::Tabulate { .. } => 0,
        });
        let jobs = self.jobs.iter().map(|(_, job)| match job {
            Job::Session(session) => session.transcript.bytes(),
            Job::Batch(batch) => batch.sessions.iter().map(|session| session.transcript.bytes()).sum(),
            Job::Judge(_) => 0,
        });
        reports.chain(jobs).sum()
    }
}

/// Publishes what sessions have led to, in batches, and settles their deliveries once the broker has confirmed.
#[derive(Clone)]
pub(crate) struct ConfirmingPublisher(mpsc::Sender<Publication>);

impl ConfirmingPublisher {
    /// Starts the publisher. Its task ends when the last clone is gone and everything is published.
    pub(crate) fn start(queue: Queue, metrics: WorkerMetrics) -> (Self, tokio::task::JoinHandle<()>) {
        let (sender, mut receiver) = mpsc::channel(WAITING);
        let publishing = tokio::spawn(async move {
            let mut batch = Vec::new();
            while receiver.recv_many(&mut batch, BATCH).await > 0 {
                let mut waiting = std::mem::take(&mut batch).into_iter().peekable();
                while waiting.peek().is_some() {
                    publishing::publish(&queue, &metrics, light(&mut waiting)).await;
                }
            }
        });
        (Self(sender), publishing)
    }

    /// Leaves a publication. Waits while too many are waiting.
    pub(crate) async fn leave(&self, publication: Publication) {
        // The publisher only ends after every sender is gone, so this fails only if it panicked; the job is then delivered again.
        if self.0.send(publication).await.is_err() {
            tracing::error!("the publisher of reports is gone; the job will be delivered again");
        }
    }
}

/// The next entries that are published at once, at least one.
fn light(waiting: &mut Peekable<impl Iterator<Item = Publication>>) -> Vec<Publication> {
    let mut bytes = 0;
    let mut batch: Vec<Publication> = waiting.next().into_iter().collect();
    bytes += batch.iter().map(Publication::bytes).sum::<u64>();
    while let Some(next) = waiting.next_if(|next| bytes + next.bytes() <= BATCH_BYTES) {
        bytes += next.bytes();
        batch.push(next);
    }
    batch
}

#[cfg(test)]
mod tests;
