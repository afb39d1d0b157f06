//! Queues and exchanges on the broker, and their settings:
//!
//! | name | kind |
//! |---|---|
//! | `<prefix>.jobs.<queue>` | durable quorum queue, one per sweep and endpoint; it goes when nobody has used it for a week |
//! | `<prefix>.reports.<number>` | durable quorum queues, one per partition of the reports, each with one active consumer |
//! | `<prefix>.reports` | durable quorum queue of the reports of workers that know of no partitions |
//! | `<prefix>.aside` | durable fanout exchange, and behind it a durable quorum queue that nobody consumes: after a minute its messages go back to the queue that is their routing key |
//! | `<prefix>.aside.questions` | the same for questions whether everything is recorded, which are not counted |
//! | `<prefix>.dead` | durable quorum queue of what was delivered too often or could not be read |
//! | `<prefix>.control` | durable fanout exchange; each listener binds an exclusive queue of its own |

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lapin::options::{BasicQosOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{Channel, ExchangeKind};
use regatta_proto::Report;

use super::RabbitMqConfig;
use super::link::is_conflict;
use crate::queue::QueueError;
use crate::queue::name::check_name;
use crate::queue::partition::partition_of;

/// Time, in milliseconds, after which an unused job queue is deleted: a week.
const UNUSED_MS_MAX: i64 = 7 * 24 * 3600 * 1000;

/// Most broadcasts that wait for a slow listener; each supersedes the ones before.
const KEPT_BROADCASTS: i32 = 16;

/// Each consumer has a prefetch of its own: RabbitMQ 4 deprecates that of a whole channel, and its quorum queues refuse it.
pub(super) const PREFETCH_OF_A_CONSUMER: BasicQosOptions = BasicQosOptions { global: false };

/// Partitions that reports are published to; as many scorers can record at once.
const PARTITIONS: u8 = 8;
/// The same with the queue of older workers' reports, which comes last: of it, too, somebody has to say that all is recorded.
pub(in crate::queue) const ASKED_PARTITIONS: u8 = PARTITIONS + 1;

/// A queue as it is declared. Whoever declares it again must say the same, or the broker refuses.
#[derive(Debug, PartialEq)]
pub(super) struct QueueSettings {
    pub(super) options: QueueDeclareOptions,
    pub(super) arguments: FieldTable,
}

impl QueueSettings {
    fn durable(arguments: FieldTable) -> Self {
        Self { options: QueueDeclareOptions::durable(), arguments }
    }

    /// Queue of a listener's broadcasts, which is gone with its connection. It is exclusive, because RabbitMQ 4 deprecates queues that are
    /// neither durable nor exclusive, and says that it is a classic one, because a virtual host may make others of queues that do not.
    pub(super) fn of_listener() -> Self {
        let mut arguments = FieldTable::default();
        arguments.insert("x-queue-type".into(), AMQPValue::LongString("classic".into()));
        arguments.insert("x-max-length".into(), AMQPValue::LongInt(KEPT_BROADCASTS));
        Self { options: QueueDeclareOptions::exclusive().auto_delete(), arguments }
    }
}

/// Names and settings, and the job queues that this process has declared.
#[derive(Debug)]
pub(super) struct Topology {
    prefix: String,
    delivery_limit: u32,
    set_aside_for: Duration,
    ack_timeout: Option<Duration>,
    /// Declared again after every reconnect, because a broker may return without its disk.
    declared: Mutex<BTreeSet<String>>,
}

impl Topology {
    pub(super) fn new(config: &RabbitMqConfig) -> Result<Self, QueueError> {
        check_name(&config.prefix)?;
        Ok(Self {
            prefix: config.prefix.clone(),
            delivery_limit: config.delivery_limit,
            set_aside_for: config.set_aside_for,
            ack_timeout: config.ack_timeout,
            declared: Mutex::default(),
        })
    }

    /// Redeliveries after which a message becomes a dead letter.
    pub(super) fn delivery_limit(&self) -> u32 {
        self.delivery_limit
    }

    /// The broker's name of a job queue.
    pub(super) fn jobs(&self, queue: &str) -> Result<ShortString, QueueError> {
        check_name(queue)?;
        self.named(&format!("jobs.{queue}"))
    }

    /// The queues of reports, by the numbers of their partitions.
    pub(super) fn reports(&self) -> Result<Vec<ShortString>, QueueError> {
        (0..PARTITIONS).map(|number| self.partition(number)).collect()
    }

    /// The queue of a report.
    pub(super) fn reports_with(&self, report: &Report) -> Result<ShortString, QueueError> {
        match report {
            Report::Echo { partition, .. } if partition.number >= PARTITIONS => self.undivided_reports(),
            _ => self.partition(partition_of(report, PARTITIONS)),
        }
    }

    fn partition(&self, number: u8) -> Result<ShortString, QueueError> {
        self.named(&format!("reports.{number}"))
    }

    /// The queue of reports of workers that know of no partitions.
    pub(super) fn undivided_reports(&self) -> Result<ShortString, QueueError> {
        self.named("reports")
    }

    /// Exchange and queue of what is set aside.
    pub(super) fn set_aside(&self) -> Result<ShortString, QueueError> {
        self.named("aside")
    }

    /// Exchange and queue of the questions that are set aside.
    pub(super) fn questions_set_aside(&self) -> Result<ShortString, QueueError> {
        self.named("aside.questions")
    }

    pub(super) fn dead(&self) -> Result<ShortString, QueueError> {
        self.named("dead")
    }

    pub(super) fn control(&self) -> Result<ShortString, QueueError> {
        self.named("control")
    }

    /// Name that no queue has.
    pub(super) fn nobody(&self) -> Result<ShortString, QueueError> {
        self.named("nobody")
    }

    fn named(&self, what: &str) -> Result<ShortString, QueueError> {
        let name = format!("{}.{what}", self.prefix);
        ShortString::try_new(name.as_str())
            .map_err(|_| QueueError::BadName { name, reason: "with its prefix it is longer than 255 bytes" })
    }

    /// Declares what all share, and the job queues of this process.
    pub(super) async fn declare_all(&self, channel: &Channel) -> Result<(), QueueError> {
        self.declare_control(channel).await?;
        for queue in self.queues()? {
            self.declare_queue(channel, &queue).await?;
        }
        Ok(())
    }

    /// Names of the queues that all share, and of the job queues of this process.
    pub(super) fn queues(&self) -> Result<Vec<ShortString>, QueueError> {
        let mut queues = vec![self.dead()?];
        queues.extend(self.reports()?);
        queues.extend([self.undivided_reports()?, self.set_aside()?, self.questions_set_aside()?]);
        let declared = self.declared.lock().unwrap_or_else(PoisonError::into_inner);
        for queue in declared.iter() {
            queues.push(self.jobs(queue)?);
        }
        Ok(queues)
    }

    /// `true` if a queue of this name is one of these.
    pub(super) fn declares(&self, name: &ShortString) -> Result<bool, QueueError> {
        match name.as_str().strip_prefix(self.prefix.as_str()).and_then(|rest| rest.strip_prefix(".jobs.")) {
            Some(queue) => Ok(self.declared.lock().unwrap_or_else(PoisonError::into_inner).contains(queue)),
            None => Ok(self.queues()?.contains(name)),
        }
    }

    /// Declares the queue of this name, with its exchange if it has one.
    pub(super) async fn declare_queue(&self, channel: &Channel, name: &ShortString) -> Result<(), QueueError> {
        if !self.is_of_set_aside(name)? {
            return self.declare_alone(channel, name).await;
        }
        declare_exchange(channel, name).await?;
        self.declare_alone(channel, name).await?;
        let bound = channel.queue_bind(
            name.clone(),
            name.clone(),
            ShortString::default(),
            QueueBindOptions::default(),
            FieldTable::default(),
        );
        bound.await.map_err(refused(name.as_str()))
    }

    /// Declares a job queue, now and after every reconnect.
    pub(super) async fn declare_jobs(&self, channel: &Channel, queue: &str) -> Result<(), QueueError> {
        self.declare_alone(channel, &self.jobs(queue)?).await?;
        self.declared.lock().unwrap_or_else(PoisonError::into_inner).insert(queue.to_owned());
        Ok(())
    }

    /// Declares the queue of this name without its exchange, which no consumer needs.
    pub(super) async fn declare_alone(&self, channel: &Channel, name: &ShortString) -> Result<(), QueueError> {
        let QueueSettings { options, arguments } = self.settings(name)?;
        let done = channel.queue_declare(name.clone(), options, arguments).await;
        done.map(drop).map_err(refused(name.as_str()))
    }

    /// Declares the exchange of the broadcasts.
    pub(super) async fn declare_control(&self, channel: &Channel) -> Result<(), QueueError> {
        declare_exchange(channel, &self.control()?).await
    }

    /// Settings of the queue of this name; one that no other rule names is a sweep's.
    fn settings(&self, name: &ShortString) -> Result<QueueSettings, QueueError> {
        let arguments = if *name == self.dead()? {
            quorum()
        } else if self.is_of_set_aside(name)? {
            self.of_set_aside()
        } else if *name == self.undivided_reports()? {
            self.of_work_queue()?
        } else if self.reports()?.contains(name) {
            self.of_partition()?
        } else {
            self.of_job_queue()?
        };
        Ok(QueueSettings::durable(arguments))
    }

    fn is_of_set_aside(&self, name: &ShortString) -> Result<bool, QueueError> {
        Ok([self.set_aside()?, self.questions_set_aside()?].contains(name))
    }

    /// Settings of a sweep's queue, which is not needed after the sweep. If a deployment is stopped for longer, the coordinator notices
    /// that the jobs are lost, and dispatches them again.
    fn of_job_queue(&self) -> Result<FieldTable, QueueError> {
        let mut arguments = self.of_work_queue()?;
        arguments.insert("x-expires".into(), AMQPValue::LongLongInt(UNUSED_MS_MAX));
        Ok(arguments)
    }

    /// Settings of a queue whose messages all go to one consumer, and to the next one when that one is gone.
    fn of_partition(&self) -> Result<FieldTable, QueueError> {
        let mut arguments = self.of_work_queue()?;
        arguments.insert("x-single-active-consumer".into(), AMQPValue::Boolean(true));
        Ok(arguments)
    }

    fn of_work_queue(&self) -> Result<FieldTable, QueueError> {
        let mut arguments = quorum_before(&self.dead()?);
        arguments.insert("x-delivery-limit".into(), AMQPValue::LongLongInt(i64::from(self.delivery_limit)));
        if let Some(timeout) = self.ack_timeout {
            let timeout_ms = i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX);
            arguments.insert("x-consumer-timeout".into(), AMQPValue::LongLongInt(timeout_ms));
        }
        Ok(arguments)
    }

    /// Settings of the queues without consumers, whose messages return to where they belong after a fixed time.
    fn of_set_aside(&self) -> FieldTable {
        let mut arguments = with_dead_letters();
        let time_ms = i64::try_from(self.set_aside_for.as_millis()).unwrap_or(i64::MAX);
        arguments.insert("x-message-ttl".into(), AMQPValue::LongLongInt(time_ms));
        arguments
    }
}

/// A queue whose dead letters go to the queue `next`.
fn quorum_before(next: &ShortString) -> FieldTable {
    let mut arguments = with_dead_letters();
    arguments.insert("x-dead-letter-routing-key".into(), AMQPValue::LongString(next.as_str().into()));
    arguments
}

/// A queue whose dead letters go to the queues that are their routing keys.
fn with_dead_letters() -> FieldTable {
    let mut arguments = quorum();
    arguments.insert("x-dead-letter-exchange".into(), AMQPValue::LongString("".into()));
    // A message is moved only after the next queue has confirmed it; RabbitMQ supports that only for queues that reject overflow.
    arguments.insert("x-dead-letter-strategy".into(), AMQPValue::LongString("at-least-once".into()));
    arguments.insert("x-overflow".into(), AMQPValue::LongString("reject-publish".into()));
    arguments
}

fn quorum() -> FieldTable {
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
    arguments
}

async fn declare_exchange(channel: &Channel, name: &ShortString) -> Result<(), QueueError> {
    let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    let done = channel.exchange_declare(name.clone(), ExchangeKind::Fanout, options, FieldTable::default()).await;
    done.map_err(refused(name.as_str()))
}

fn refused(name: &str) -> impl FnOnce(lapin::Error) -> QueueError {
    let name = name.to_owned();
    move |error| {
        if is_conflict(&error) {
            return QueueError::Conflict { name, source: Box::new(error) };
        }
        QueueError::broker(format!("declare {name:?}"))(error)
    }
}

#[cfg(test)]
mod tests;
