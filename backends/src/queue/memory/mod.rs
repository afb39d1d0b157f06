//! Queues within one process.

mod consumer;
mod queue_channel;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub(super) use consumer::{MemoryConsumer, MemoryReceipt};
use queue_channel::{Consumption, QueueChannel};
use regatta_proto::{Control, Job, Report};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::name::check_name;
use super::partition::partition_of;
use super::{Controls, QueueError};
use crate::Subscriptions;

/// Queues within this process; clones share them.
#[derive(Clone)]
pub struct MemoryQueue {
    shared: Arc<Shared>,
    /// Consumers have `shared`, but not this, so that they see the end when the last handle is dropped.
    _closes: Arc<DropGuard>,
}

struct Shared {
    jobs: Mutex<HashMap<String, Arc<QueueChannel<Job>>>>,
    /// By the number of the partition.
    reports: Vec<Arc<QueueChannel<Report>>>,
    control: Mutex<Broadcasts>,
    dead: Arc<AtomicU64>,
    set_aside: AtomicU64,
    set_aside_for: Duration,
    delivery_limit: u32,
    closed: CancellationToken,
}

impl Shared {
    fn publish_reports(&self, reports: Vec<Report>) {
        if let [undivided] = self.reports.as_slice() {
            return undivided.publish(reports);
        }
        let mut divided: BTreeMap<u8, Vec<Report>> = BTreeMap::new();
        for report in reports {
            divided.entry(partition_of(&report, self.reports.len() as u8)).or_default().push(report);
        }
        for (number, reports) in divided {
            self.reports[usize::from(number)].publish(reports);
        }
    }
}

#[derive(Default)]
struct Broadcasts {
    last: Option<Arc<Control>>,
    /// Senders to the listeners, in the order in which they subscribed.
    listeners: Vec<watch::Sender<Option<Arc<Control>>>>,
}

impl fmt::Debug for MemoryQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryQueue").finish_non_exhaustive()
    }
}

impl MemoryQueue {
    /// Queues in which a message that is handed back after `delivery_limit` redeliveries becomes a dead letter, and a report that is set
    /// aside returns after `set_aside_for`. Reports are divided into so many `partitions`, one at least.
    #[must_use]
    pub fn new(delivery_limit: u32, set_aside_for: Duration, partitions: u8) -> Self {
        let closed = CancellationToken::new();
        let dead = Arc::new(AtomicU64::new(0));
        let partition =
            |_| Arc::new(QueueChannel::new("reports", Consumption::OneAtATime, delivery_limit, Arc::clone(&dead)));
        let shared = Shared {
            jobs: Mutex::default(),
            reports: (0..partitions.max(1)).map(partition).collect(),
            control: Mutex::default(),
            dead,
            set_aside: AtomicU64::new(0),
            set_aside_for,
            delivery_limit,
            closed: closed.clone(),
        };
        Self { shared: Arc::new(shared), _closes: Arc::new(closed.drop_guard()) }
    }

    pub(super) fn declare_jobs(&self, queue: &str) -> Result<(), QueueError> {
        self.open()?;
        self.declared(queue).map(drop)
    }

    pub(super) fn publish_jobs(&self, queue: &str, jobs: Vec<Job>) -> Result<(), QueueError> {
        self.open()?;
        self.existing(queue)?.publish(jobs);
        Ok(())
    }

    pub(super) fn publish_jobs_once(&self, queue: &str, jobs: Vec<Job>, until: Instant) -> Result<(), QueueError> {
        if Instant::now() >= until {
            return Err(QueueError::TooLate { queue: queue.to_owned(), messages: jobs.len() });
        }
        self.publish_jobs(queue, jobs)
    }

    pub(super) fn publish_reports(&self, reports: Vec<Report>) -> Result<(), QueueError> {
        self.open()?;
        self.shared.publish_reports(reports);
        Ok(())
    }

    pub(super) fn set_aside_reports(&self, reports: Vec<Report>) -> Result<(), QueueError> {
        self.open()?;
        let count = reports.iter().filter(|report| !report.is_question()).count() as u64;
        let shared = Arc::clone(&self.shared);
        shared.set_aside.fetch_add(count, Ordering::SeqCst);
        tokio::spawn(async move {
            let waited = tokio::time::sleep(shared.set_aside_for);
            if shared.closed.run_until_cancelled(waited).await.is_some() {
                shared.publish_reports(reports);
                shared.set_aside.fetch_sub(count, Ordering::SeqCst);
            }
        });
        Ok(())
    }

    pub(super) fn reports_set_aside(&self) -> Result<u64, QueueError> {
        self.open()?;
        Ok(self.shared.set_aside.load(Ordering::SeqCst))
    }

    pub(super) fn broadcast(&self, control: Control) -> Result<(), QueueError> {
        self.open()?;
        let control = Some(Arc::new(control));
        let mut broadcasts = self.shared.control.lock().unwrap_or_else(PoisonError::into_inner);
        broadcasts.last.clone_from(&control);
        broadcasts.listeners.retain(|listener| listener.send(control.clone()).is_ok());
        Ok(())
    }

    pub(super) fn consume_jobs(&self, queue: &str, prefetch: u32) -> Result<MemoryConsumer<Job>, QueueError> {
        self.open()?;
        Ok(MemoryConsumer::new(vec![self.declared(queue)?], prefetch, self.shared.closed.clone()))
    }

    pub(super) fn consume_reports(&self, prefetch: u32) -> Result<MemoryConsumer<Report>, QueueError> {
        self.open()?;
        let partitions = self.shared.reports.clone();
        let of_each = prefetch.div_ceil(partitions.len() as u32);
        Ok(MemoryConsumer::new(partitions, of_each, self.shared.closed.clone()))
    }

    pub(super) fn listen(&self) -> Result<Controls, QueueError> {
        self.open()?;
        let mut broadcasts = self.shared.control.lock().unwrap_or_else(PoisonError::into_inner);
        let (listener, mut newest) = watch::channel(broadcasts.last.clone());
        newest.mark_changed();
        broadcasts.listeners.push(listener);
        Ok(Controls::new(newest, self.shared.closed.clone(), Subscriptions::default(), None))
    }

    pub(super) fn depth(&self, queue: &str) -> Result<u64, QueueError> {
        self.open()?;
        Ok(self.existing(queue)?.depth())
    }

    pub(super) fn consumers(&self, queue: &str) -> Result<u64, QueueError> {
        self.open()?;
        Ok(self.existing(queue)?.consumers())
    }

    pub(super) fn is_drained(&self, queue: &str) -> Result<bool, QueueError> {
        Ok(self.depth(queue)? == 0 && self.consumers(queue)? > 0)
    }

    pub(super) fn waiting_reports(&self) -> Result<u64, QueueError> {
        self.open()?;
        Ok(self.shared.reports.iter().map(|partition| partition.depth()).sum())
    }

    pub(super) fn report_partitions(&self) -> u8 {
        self.shared.reports.len() as u8
    }

    pub(super) fn report_consumers(&self) -> Result<u64, QueueError> {
        self.open()?;
        Ok(self.shared.reports.iter().map(|partition| partition.consumers()).max().unwrap_or(0))
    }

    pub(super) fn dead_letters(&self) -> u64 {
        self.shared.dead.load(Ordering::SeqCst)
    }

    pub(super) fn close(&self) {
        self.shared.closed.cancel();
    }

    pub(super) fn open(&self) -> Result<(), QueueError> {
        if self.shared.closed.is_cancelled() { Err(QueueError::Closed) } else { Ok(()) }
    }

    fn declared(&self, queue: &str) -> Result<Arc<QueueChannel<Job>>, QueueError> {
        check_name(queue)?;
        let mut jobs = self.shared.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let queue_channel = jobs.entry(queue.to_owned()).or_insert_with(|| {
            Arc::new(QueueChannel::new(
                queue,
                Consumption::Shared,
                self.shared.delivery_limit,
                Arc::clone(&self.shared.dead),
            ))
        });
        Ok(Arc::clone(queue_channel))
    }

    fn existing(&self, queue: &str) -> Result<Arc<QueueChannel<Job>>, QueueError> {
        let jobs = self.shared.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.get(queue).cloned().ok_or_else(|| QueueError::NoSuchQueue { queue: queue.to_owned() })
    }
}
