//! Messages between coordinator, workers and scorers: jobs to workers, reports to scorers, broadcasts to all.
//!
//! The rules, the same in memory and with RabbitMQ:
//! - A publish returns once every message is stored. Delivery is at least once: after a failure a message may arrive twice, but for what is
//!   published once, which may be lost then, and whose caller is told so. That has an end, too, after which it is not sent any more.
//! - A consumer holds at most `prefetch` unsettled messages. Messages of one queue arrive in the order of publishing, except redelivered
//!   ones, and are distributed evenly over its consumers.
//! - Reports are divided into partitions by their session. One consumer has a partition at a time, with all its messages.
//! - A message that is handed back, or whose consumer is dropped or dies, is delivered again at once, with a count.
//! - A message that was delivered too often, or cannot be decoded, becomes a dead letter: counted and never lost, but not delivered again.
//! - A report that is set aside returns by itself after a fixed time, any number of times; that is no redelivery.

mod delivery;
mod error;
mod memory;
#[cfg(feature = "cluster")]
mod message_bytes;
mod name;
mod partition;
#[cfg(feature = "cluster")]
mod rabbitmq;
#[cfg(feature = "faults")]
mod troubled;

use std::time::Duration;

pub use delivery::{Consumer, Controls, Delivery, Receipt};
pub use error::QueueError;
use futures::future::BoxFuture;
pub use memory::MemoryQueue;
#[cfg(feature = "cluster")]
pub use message_bytes::message_bytes;
#[cfg(feature = "cluster")]
use rabbitmq::Times;
#[cfg(feature = "cluster")]
pub use rabbitmq::{RabbitMqConfig, RabbitMqQueue};
use regatta_proto::{Control, Job, Progress, Report};
use tokio::time::Instant;
#[cfg(feature = "faults")]
pub use troubled::TroubledQueue;

/// Default number of redeliveries after which a message becomes a dead letter. RabbitMQ 4 has the same default.
pub const DELIVERY_LIMIT: u32 = 20;

/// Default time after which a report that was set aside returns.
pub const SET_ASIDE_FOR: Duration = Duration::from_secs(60);

/// A set of queues; clones share it.
#[derive(Debug, Clone)]
pub enum Queue {
    /// Within this process.
    Memory(MemoryQueue),
    #[cfg(feature = "cluster")]
    /// On a broker.
    RabbitMq(RabbitMqQueue),
    #[cfg(feature = "faults")]
    /// Queues within this process with injected faults, as one of several simulated processes sees them.
    Troubled(TroubledQueue),
}

/// Queues for simulations.
#[cfg(feature = "faults")]
impl Queue {
    /// The view of a process that suffers `troubles`. Only queues in memory have such views; others are returned unchanged.
    #[must_use]
    pub fn troubled(&self, troubles: crate::faults::Troubles) -> Self {
        match self {
            Self::Memory(memory) => Self::Troubled(TroubledQueue::new(memory.clone(), troubles)),
            other => other.clone(),
        }
    }
}

impl Queue {
    /// Queues within this process, for its lifetime. Nothing is serialised. The number of waiting messages is not limited here, but by the
    /// coordinator's window.
    #[must_use]
    pub fn memory() -> Self {
        Self::memory_divided(1)
    }

    /// The same with reports in so many partitions, as brokers have them, so that several scorers have some each.
    #[must_use]
    pub fn memory_divided(partitions: u8) -> Self {
        Self::Memory(MemoryQueue::new(DELIVERY_LIMIT, SET_ASIDE_FOR, partitions))
    }

    /// Connects to RabbitMQ and declares the shared queues and exchanges (reports, dead letters, control). Must be called within a tokio
    /// runtime.
    ///
    /// # Errors
    /// When the URL is invalid, the broker refuses, or it stays unreachable for `config.connect_timeout`.
    #[cfg(feature = "cluster")]
    pub fn connect(config: RabbitMqConfig) -> BoxFuture<'static, Result<Self, QueueError>> {
        Box::pin(async move { RabbitMqQueue::connect(config).await.map(Self::RabbitMq) })
    }

    /// Declares the job queue. Idempotent.
    ///
    /// # Errors
    /// When the name is not allowed, or the broker refuses.
    pub fn declare_jobs<'a>(&'a self, queue: &'a str) -> BoxFuture<'a, Result<(), QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.declare_jobs(queue),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.declare_jobs(queue).await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.declare_jobs(queue).await,
            }
        })
    }

    /// Publishes jobs, each once, and returns when all are confirmed. One that came twice would be run by two workers at a time.
    /// None is sent after `until`, when somebody else may publish them.
    ///
    /// # Errors
    /// [`QueueError::TooLate`] when none was sent before `until`. When the queue does not exist, a job is too large, or confirmation does not
    /// arrive in time, or before a connection is lost; the last two say nothing of what the queue has.
    pub fn publish_jobs_once<'a>(
        &'a self,
        queue: &'a str,
        jobs: Vec<Job>,
        until: Instant,
    ) -> BoxFuture<'a, Result<(), QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.publish_jobs_once(queue, jobs, until),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.publish_jobs(queue, &jobs, Times::Once { until }).await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.publish_jobs_once(queue, jobs, until).await,
            }
        })
    }

    /// Publishes jobs, again where a connection is lost before they are confirmed, and returns when all are.
    ///
    /// # Errors
    /// When the queue does not exist, a job is too large, or confirmation does not arrive in time.
    pub fn publish_jobs<'a>(&'a self, queue: &'a str, jobs: Vec<Job>) -> BoxFuture<'a, Result<(), QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.publish_jobs(queue, jobs),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.publish_jobs(queue, &jobs, Times::UntilConfirmed).await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.publish_jobs(queue, jobs).await,
            }
        })
    }

    /// Publishes reports, and returns when all are confirmed.
    ///
    /// # Errors
    /// When a report is too large, or confirmation does not arrive in time.
    pub fn publish_reports<'a>(&'a self, reports: Vec<Report>) -> BoxFuture<'a, Result<(), QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.publish_reports(reports),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.publish_reports(&reports).await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.publish_reports(reports).await,
            }
        })
    }

    /// Publishes `reports` and takes them, and returns when all are confirmed. Where that fails, the caller has them still, to publish them
    /// again: transcripts are not copied for the sake of what hardly ever happens.
    ///
    /// # Errors
    /// When a report is too large, or confirmation does not arrive in time.
    pub fn take_reports<'a>(&'a self, reports: &'a mut Vec<Report>) -> BoxFuture<'a, Result<(), QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => {
                    memory.open()?;
                    memory.publish_reports(std::mem::take(reports))
                }
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => {
                    broker.publish_reports(reports).await?;
                    reports.clear();
                    Ok(())
                }
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => {
                    queues.publish_reports(reports.clone()).await?;
                    reports.clear();
                    Ok(())
                }
            }
        })
    }

    /// Publishes reports of progress, on a way of their own: they do not wait for other messages that this process publishes. Returns when all
    /// are confirmed.
    ///
    /// # Errors
    /// When a report is too large, or confirmation does not arrive in time.
    pub fn publish_progress<'a>(&'a self, progress: Vec<Progress>) -> BoxFuture<'a, Result<(), QueueError>> {
        let reports: Vec<Report> = progress.into_iter().map(Report::Progress).collect();
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.publish_reports(reports),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.publish_progress(&reports).await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.publish_progress(reports).await,
            }
        })
    }

    /// Sets reports aside that cannot be recorded now because of their sweep alone. They are not delivered for a fixed time, and then
    /// return to the queue of reports. Returns once all are confirmed, after which their original messages may be acknowledged.
    ///
    /// # Errors
    /// When a report is too large, or confirmation does not arrive in time.
    pub fn set_aside_reports<'a>(&'a self, reports: Vec<Report>) -> BoxFuture<'a, Result<(), QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.set_aside_reports(reports),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.set_aside_reports(reports).await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.set_aside_reports(reports).await,
            }
        })
    }

    /// Number of reports that are set aside and have not returned yet. Questions whether everything is recorded are not among them: each would
    /// have the next one wait for it.
    ///
    /// # Errors
    /// When the broker does not answer.
    pub fn reports_set_aside<'a>(&'a self) -> BoxFuture<'a, Result<u64, QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.reports_set_aside(),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.reports_set_aside().await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.reports_set_aside().await,
            }
        })
    }

    /// Sends a broadcast to all listeners. Not durable: repeat it for listeners that subscribe later.
    ///
    /// # Errors
    /// When the broker does not accept it in time.
    pub fn broadcast<'a>(&'a self, control: Control) -> BoxFuture<'a, Result<(), QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.broadcast(control),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.broadcast(&control).await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.broadcast(control).await,
            }
        })
    }

    /// Starts to consume a job queue, which is declared if necessary. `prefetch` is raised to at least 1 and, by RabbitMQ, limited to
    /// 65,535.
    ///
    /// # Errors
    /// When the name is not allowed, or the broker refuses.
    pub fn consume_jobs<'a>(
        &'a self,
        queue: &'a str,
        prefetch: u32,
    ) -> BoxFuture<'a, Result<Consumer<Job>, QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.consume_jobs(queue, prefetch).map(Consumer::memory),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.consume_jobs(queue, prefetch).await.map(Consumer::rabbitmq),
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.consume_jobs(queue, prefetch).await.map(Consumer::troubled),
            }
        })
    }

    /// Number of partitions in which a question has to be asked that is about all reports.
    #[must_use]
    pub fn report_partitions(&self) -> u8 {
        match self {
            Self::Memory(memory) => memory.report_partitions(),
            #[cfg(feature = "cluster")]
            Self::RabbitMq(_) => rabbitmq::ASKED_PARTITIONS,
            #[cfg(feature = "faults")]
            Self::Troubled(queues) => queues.report_partitions(),
        }
    }

    /// Number of consumers of reports, whether they have a partition at the moment or not.
    ///
    /// # Errors
    /// When the broker does not answer.
    pub fn report_consumers<'a>(&'a self) -> BoxFuture<'a, Result<u64, QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.report_consumers(),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.report_consumers().await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.report_consumers().await,
            }
        })
    }

    /// Starts to consume reports: the partitions that no other consumer has, and each other one when all that came before are gone. So in a partition
    /// nothing overtakes a report, whoever has it. `prefetch` is divided over the partitions, one message each at least. To hand back what it
    /// has, the consumer is dropped rather than stopped: a broker gives others of a partition to the next consumer as soon as this one stops.
    ///
    /// # Errors
    /// When the broker refuses.
    pub fn consume_reports<'a>(&'a self, prefetch: u32) -> BoxFuture<'a, Result<Consumer<Report>, QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.consume_reports(prefetch).map(Consumer::memory),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.consume_reports(prefetch).await.map(Consumer::rabbitmq),
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.consume_reports(prefetch).await.map(Consumer::troubled),
            }
        })
    }

    /// Subscribes to broadcasts. In memory, the last one is received at once; RabbitMQ delivers only later ones.
    ///
    /// # Errors
    /// When the broker refuses.
    pub fn listen<'a>(&'a self) -> BoxFuture<'a, Result<Controls, QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.listen(),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.listen().await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.listen().await,
            }
        })
    }

    /// Asks the broker whether it answers, and takes messages, whatever its queues do: one of them may answer nobody for a while.
    ///
    /// # Errors
    /// When it does not within the time-outs of an answer and of a confirmation.
    pub fn reach(&self) -> BoxFuture<'_, Result<(), QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.open(),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.reach().await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.reach().await,
            }
        })
    }

    /// Number of messages of a job queue that wait for a consumer, without those within a consumer's prefetch.
    ///
    /// # Errors
    /// When the queue does not exist, or the broker does not answer.
    pub fn depth<'a>(&'a self, queue: &'a str) -> BoxFuture<'a, Result<u64, QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.depth(queue),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.depth(queue).await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.depth(queue).await,
            }
        })
    }

    /// Number of consumers of a job queue, without those that have stopped.
    ///
    /// # Errors
    /// When the queue does not exist, or the broker does not answer.
    pub fn consumers<'a>(&'a self, queue: &'a str) -> BoxFuture<'a, Result<u64, QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.consumers(queue),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.consumers(queue).await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.consumers(queue).await,
            }
        })
    }

    /// True if no message of a job queue waits for a consumer, and there is one. A broker whose queue has no leader at the moment answers that
    /// there is neither.
    ///
    /// # Errors
    /// When the queue does not exist, or the broker does not answer.
    pub fn is_drained<'a>(&'a self, queue: &'a str) -> BoxFuture<'a, Result<bool, QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.is_drained(queue),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.is_drained(queue).await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.is_drained(queue).await,
            }
        })
    }

    /// Number of reports that wait for a scorer, without those within a consumer's prefetch.
    ///
    /// # Errors
    /// When the broker does not answer.
    pub fn waiting_reports<'a>(&'a self) -> BoxFuture<'a, Result<u64, QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.waiting_reports(),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.waiting_reports().await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.waiting_reports().await,
            }
        })
    }

    /// Number of messages that were delivered too often, or cannot be decoded. An operator should examine them if it is not 0.
    ///
    /// # Errors
    /// When the broker does not answer.
    pub fn dead_letters<'a>(&'a self) -> BoxFuture<'a, Result<u64, QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => Ok(memory.dead_letters()),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.dead_letters().await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.dead_letters().await,
            }
        })
    }

    /// Closes the queues for all clones: consumers and listeners see the end, and publishing fails. Dropping the last clone does the same.
    pub fn close(&self) {
        match self {
            Self::Memory(memory) => memory.close(),
            #[cfg(feature = "cluster")]
            Self::RabbitMq(broker) => broker.close(),
            #[cfg(feature = "faults")]
            // A single process does not close the queues that all share.
            Self::Troubled(_) => {}
        }
    }
}
