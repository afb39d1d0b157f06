//! How coordinator, workers and scorers talk to one another: jobs to workers, reports to scorers, control to everyone.
//!
//! The rules, the same in memory and with RabbitMQ:
//! - A publish returns when every message is safe. Delivery is at least once: after trouble a message may come twice.
//! - A consumer holds at most `prefetch` unsettled messages. Messages of one queue come in the order of their publishing, except
//!   redelivered ones, and are spread evenly over its consumers.
//! - A message that is handed back, or whose consumer is dropped or dies, is delivered again at once, with a count.
//! - A message that was delivered too often, or cannot be read, becomes a dead letter: counted, never lost, never looping.
//! - A report that is set aside comes back by itself after a fixed time, as often as need be; that is no redelivery.

mod delivery;
mod error;
mod memory;
mod name;
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
pub use rabbitmq::{RabbitMqConfig, RabbitMqQueue};
use regatta_proto::{Control, Job, Report};
#[cfg(feature = "faults")]
pub use troubled::TroubledQueue;

/// Redeliveries a message may have before it becomes a dead letter, unless configured otherwise. RabbitMQ 4 has the same default.
pub const DELIVERY_LIMIT: u32 = 20;

/// Time after which a report that was set aside comes back, unless configured otherwise.
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
    /// Within this process, for one of the simulated processes that share it.
    Troubled(TroubledQueue),
}

/// Simulated.
#[cfg(feature = "faults")]
impl Queue {
    /// These queues as a process has them whom `troubles` befall. Only those in memory have such views; others stay as they are.
    #[must_use]
    pub fn troubled(&self, troubles: crate::faults::Troubles) -> Self {
        match self {
            Self::Memory(memory) => Self::Troubled(TroubledQueue::new(memory.clone(), troubles)),
            other => other.clone(),
        }
    }
}

impl Queue {
    /// Queues within this process, for as long as it lives. Nothing is serialised. How many messages wait is not limited here:
    /// the coordinator's window does that.
    #[must_use]
    pub fn memory() -> Self {
        Self::Memory(MemoryQueue::new(DELIVERY_LIMIT, SET_ASIDE_FOR))
    }

    /// Connects to RabbitMQ and declares what all share (reports, dead letters, control). Must be called within a tokio runtime.
    ///
    /// # Errors
    /// When the URL is bad, the broker refuses, or it stays unreachable for `config.connect_timeout`.
    #[cfg(feature = "cluster")]
    pub fn connect(config: RabbitMqConfig) -> BoxFuture<'static, Result<Self, QueueError>> {
        Box::pin(async move { RabbitMqQueue::connect(config).await.map(Self::RabbitMq) })
    }

    /// Makes sure that the job queue exists. Repeating it is harmless.
    ///
    /// # Errors
    /// When the name cannot be one, or the broker refuses.
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

    /// Publishes jobs, and returns when all are confirmed.
    ///
    /// # Errors
    /// When the queue does not exist, a job is too large, or confirmation does not come in time.
    pub fn publish_jobs<'a>(&'a self, queue: &'a str, jobs: Vec<Job>) -> BoxFuture<'a, Result<(), QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.publish_jobs(queue, jobs),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.publish_jobs(queue, &jobs).await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.publish_jobs(queue, jobs).await,
            }
        })
    }

    /// Publishes reports, and returns when all are confirmed.
    ///
    /// # Errors
    /// When a report is too large, or confirmation does not come in time.
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

    /// Publishes reports that cannot be recorded now, for reasons of their sweep alone, to where they wait without being delivered; after a
    /// fixed time they are in the queue of reports again. Returns when all are confirmed: then what they came from may be acknowledged.
    ///
    /// # Errors
    /// When a report is too large, or confirmation does not come in time.
    pub fn set_aside_reports<'a>(&'a self, reports: Vec<Report>) -> BoxFuture<'a, Result<(), QueueError>> {
        Box::pin(async move {
            match self {
                Self::Memory(memory) => memory.set_aside_reports(reports),
                #[cfg(feature = "cluster")]
                Self::RabbitMq(broker) => broker.set_aside_reports(&reports).await,
                #[cfg(feature = "faults")]
                Self::Troubled(queues) => queues.set_aside_reports(reports).await,
            }
        })
    }

    /// Reports that are set aside and have not come back yet.
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

    /// Tells every listener. Not durable: repeat it for those that come later.
    ///
    /// # Errors
    /// When the broker does not take it in time.
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

    /// Starts to consume a job queue, which is declared if need be. `prefetch` is taken as at least 1 and, by RabbitMQ, at most
    /// 65,535.
    ///
    /// # Errors
    /// When the name cannot be one, or the broker refuses.
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

    /// Starts to consume reports.
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

    /// Starts to hear broadcasts. In memory, the last one is heard at once; RabbitMQ gives only those to come.
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

    /// Messages of a job queue that wait for a consumer. Those within a consumer's prefetch do not count.
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

    /// Consumers of a job queue, those that have stopped left out.
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

    /// Reports that wait for a scorer. Those within a consumer's prefetch do not count.
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

    /// Messages that were delivered too often, or are unreadable. An operator should look at them when this is not 0.
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

    /// Ends everything, for all clones: consumers and listeners see the end, publishes fail. Dropping the last clone does so too.
    pub fn close(&self) {
        match self {
            Self::Memory(memory) => memory.close(),
            #[cfg(feature = "cluster")]
            Self::RabbitMq(broker) => broker.close(),
            #[cfg(feature = "faults")]
            // What all share, no single process ends.
            Self::Troubled(_) => {}
        }
    }
}
