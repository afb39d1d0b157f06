//! Queues on a RabbitMQ broker, version 3.10 or later: quorum queues, confirmed publishes, manual acknowledgements.

mod backoff;
mod balance;
mod config;
mod consumer;
mod dial;
mod link;
mod listener;
mod patience;
mod publication;
mod publisher;
mod publishers;
mod queue_channel;
mod topology;
mod unconfirmed;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use backoff::Backoff;
use bytes::Bytes;
pub use config::RabbitMqConfig;
pub(super) use consumer::RabbitMqConsumer;
use dial::Dial;
use futures::StreamExt;
use futures::future::join_all;
use lapin::options::{ConfirmSelectOptions, QueueDeclareOptions};
use lapin::types::{FieldTable, ShortString};
pub(super) use link::is_passing;
use link::{Link, in_time, is_missing};
use patience::Patience;
use publication::Route;
pub(super) use publication::Times;
use publisher::Publisher;
use publishers::Publishers;
pub(super) use queue_channel::RabbitMqReceipt;
use regatta_memory::ByteBudget;
use regatta_proto::wire::{self, WireError};
use regatta_proto::{Control, Job, Report};
use serde::Serialize;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
pub(in crate::queue) use topology::ASKED_PARTITIONS;
use topology::Topology;
use unconfirmed::{Unconfirmed, is_overdue};

use super::{Controls, QueueError};
use crate::Outage;

/// Time in which the broker is to confirm progress: well within that in which a silent worker counts as gone.
const PROGRESS_CONFIRMED_WITHIN: Duration = Duration::from_secs(15);

/// Queues that are declared again side by side.
const DECLARED_SIDE_BY_SIDE: usize = 16;

/// A connected set of queues; clones share the connections.
#[derive(Clone)]
pub struct RabbitMqQueue {
    /// Consumers have `shared`, but not this, so that they see the end when the last handle is dropped. It goes first, so that connections are closed
    /// before channels.
    _closes: Arc<DropGuard>,
    shared: Arc<Shared>,
    /// Publishes messages to an exchange rather than to a queue by name.
    to_all: Publisher,
    publishers: Arc<Publishers>,
    /// Publishers of progress reports, opened for the first of them.
    progress: Arc<OnceLock<Publishers>>,
}

struct Shared {
    /// A separate connection, because a broker that runs short of memory blocks publishing connections, while consuming must go on.
    consuming: Link,
    /// For further connections.
    dial: Dial,
    prefix: String,
    /// `true` while there is a channel to publish on, so that others can be opened.
    publishes: watch::Sender<bool>,
    topology: Topology,
    message_bytes_max: usize,
    compact_transcripts: bool,
    bytes: Option<ByteBudget>,
    seed: u64,
    connect_timeout: Duration,
    confirm_timeout: Duration,
    answer_timeout: Duration,
    balanced_every: Duration,
    closed: CancellationToken,
}

impl fmt::Debug for RabbitMqQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RabbitMqQueue").field("topology", &self.shared.topology).finish_non_exhaustive()
    }
}

impl RabbitMqQueue {
    pub(super) async fn connect(config: RabbitMqConfig) -> Result<Self, QueueError> {
        let topology = Topology::new(&config)?;
        let dial = Dial::new(&config.url)?;
        let closed = CancellationToken::new();
        let shared = Arc::new(Shared {
            consuming: Link::new(dial.clone(), format!("regatta {} consuming", config.prefix)),
            dial,
            prefix: config.prefix,
            publishes: watch::Sender::new(false),
            topology,
            message_bytes_max: config.message_bytes_max,
            compact_transcripts: config.compact_transcripts,
            bytes: config.bytes,
            seed: config.seed,
            connect_timeout: config.connect_timeout,
            confirm_timeout: config.confirm_timeout,
            answer_timeout: config.answer_timeout,
            balanced_every: config.balanced_every,
            closed: closed.clone(),
        });
        // Closes everything that was opened if this call fails or is cancelled.
        let closes = Arc::new(closed.drop_guard());
        shared.first_contact().await?;

        let publishers = Publishers::new(&shared, "publishing", shared.confirm_timeout);
        let to_all = publishers.to_all();
        let of_task = Arc::clone(&shared);
        tokio::spawn(async move {
            of_task.closed.cancelled().await;
            of_task.consuming.close().await;
        });
        Ok(Self { _closes: closes, shared, to_all, publishers: Arc::new(publishers), progress: Arc::default() })
    }

    pub(super) async fn declare_jobs(&self, queue: &str) -> Result<(), QueueError> {
        let channel = self.shared.channel("declare a queue").await?;
        in_time(self.shared.answer_timeout, "declare a queue", self.shared.topology.declare_jobs(&channel, queue)).await
    }

    pub(super) async fn publish_jobs(&self, queue: &str, jobs: &[Job], times: Times) -> Result<(), QueueError> {
        let key = self.shared.topology.jobs(queue)?;
        let encode = |job: &Job| match (job, times) {
            // Its gatherer halves one that is too large: rather two that every version reads than one that older ones refuse.
            (Job::Batch(batch), Times::Once { .. }) if batch.sessions.len() > 1 && !self.shared.compact_transcripts => {
                self.shared.fit(key.as_str(), wire::encode(job))
            }
            _ => self.shared.encode_transcripts(key.as_str(), job, Job::encode_compact),
        };
        let bodies = jobs.iter().map(encode).collect::<Result<Vec<_>, _>>()?;
        let publisher = self.publishers.to(&key);
        publisher.publish(Route { exchange: ShortString::default(), key, mandatory: true }, bodies, times).await
    }

    pub(super) async fn publish_reports(&self, reports: &[Report]) -> Result<(), QueueError> {
        let messages = self.shared.divide(reports)?;
        publish_divided(&self.publishers, messages).await
    }

    /// On a connection of its own: the megabytes of transcripts that wait for a slow line are all on the other one. Where it confirms nothing in time, as
    /// where a broker grants no further connection, on that one: who takes jobs must be able to tell of them. A copy does no harm.
    pub(super) async fn publish_progress(&self, reports: &[Report]) -> Result<(), QueueError> {
        self.shared.open()?;
        let messages = self.shared.divide(reports)?;
        let timeout = self.shared.confirm_timeout.min(PROGRESS_CONFIRMED_WITHIN);
        let own = self.progress.get_or_init(|| Publishers::new(&self.shared, "progress", timeout));
        match publish_divided(own, messages.clone()).await {
            Err(error) if !error.is_of_a_message() && !matches!(error, QueueError::Closed) => {
                tracing::warn!(%error, "progress goes the way of results: its own connection is away");
                publish_divided(&self.publishers, messages).await
            }
            other => other,
        }
    }

    pub(super) async fn set_aside_reports(&self, reports: Vec<Report>) -> Result<(), QueueError> {
        let topology = &self.shared.topology;
        let (questions, others): (Vec<Report>, Vec<Report>) = reports.into_iter().partition(Report::is_question);
        for (exchange, reports) in [(topology.set_aside()?, others), (topology.questions_set_aside()?, questions)] {
            for (key, bodies) in self.shared.divide(&reports)? {
                let route = Route { exchange: exchange.clone(), key, mandatory: true };
                self.publishers.to(&exchange).publish(route, bodies, Times::UntilConfirmed).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn broadcast(&self, control: &Control) -> Result<(), QueueError> {
        let exchange = self.shared.topology.control()?;
        let bodies = vec![self.shared.fit(exchange.as_str(), wire::encode(control))?];
        // It may have no listeners.
        let route = Route { exchange, key: ShortString::default(), mandatory: false };
        self.to_all.publish(route, bodies, Times::UntilConfirmed).await
    }

    pub(super) async fn consume_jobs(&self, queue: &str, prefetch: u32) -> Result<RabbitMqConsumer<Job>, QueueError> {
        self.shared.open()?;
        // What a job brings with it is counted by the session that goes on with it.
        RabbitMqConsumer::start(Arc::clone(&self.shared), self.shared.topology.jobs(queue)?, prefetch, None).await
    }

    pub(super) async fn consume_reports(&self, prefetch: u32) -> Result<RabbitMqConsumer<Report>, QueueError> {
        self.shared.open()?;
        let (shared, bytes) = (Arc::clone(&self.shared), self.shared.bytes.clone());
        let (partitions, others) = (self.shared.topology.reports()?, self.shared.topology.undivided_reports()?);
        RabbitMqConsumer::start_divided(shared, partitions, others, prefetch, bytes).await
    }

    pub(super) async fn listen(&self) -> Result<Controls, QueueError> {
        self.shared.open()?;
        listener::listen(Arc::clone(&self.shared)).await
    }

    /// The broker opens a channel on the one connection, and on the other confirms a message that goes nowhere.
    pub(super) async fn reach(&self) -> Result<(), QueueError> {
        self.shared.channel("open a channel").await?;
        let key = self.shared.topology.nobody()?;
        let route = Route { exchange: ShortString::default(), key, mandatory: false };
        self.to_all.publish(route, vec![Bytes::new()], Times::UntilConfirmed).await
    }

    pub(super) async fn depth(&self, queue: &str) -> Result<u64, QueueError> {
        self.shared.ready_messages(self.shared.topology.jobs(queue)?).await
    }

    pub(super) async fn consumers(&self, queue: &str) -> Result<u64, QueueError> {
        Ok(self.shared.look_at(self.shared.topology.jobs(queue)?).await?.consumers)
    }

    pub(super) async fn is_drained(&self, queue: &str) -> Result<bool, QueueError> {
        let Look { ready, consumers } = self.shared.look_at(self.shared.topology.jobs(queue)?).await?;
        Ok(ready == 0 && consumers > 0)
    }

    pub(super) async fn waiting_reports(&self) -> Result<u64, QueueError> {
        Ok(self.shared.look_at_reports().await?.iter().map(|look| look.ready).sum())
    }

    pub(super) async fn report_consumers(&self) -> Result<u64, QueueError> {
        self.shared.report_consumers().await
    }

    pub(super) async fn reports_set_aside(&self) -> Result<u64, QueueError> {
        self.shared.ready_messages(self.shared.topology.set_aside()?).await
    }

    pub(super) async fn dead_letters(&self) -> Result<u64, QueueError> {
        self.shared.ready_messages(self.shared.topology.dead()?).await
    }

    pub(super) fn close(&self) {
        self.shared.closed.cancel();
    }
}

/// State of a queue, as the broker reports it.
struct Look {
    /// Messages that no consumer holds.
    ready: u64,
    consumers: u64,
}

async fn look(channel: &lapin::Channel, queue: &ShortString, action: &str) -> Result<Look, QueueError> {
    let options = QueueDeclareOptions::durable().passive();
    match channel.queue_declare(queue.clone(), options, FieldTable::default()).await {
        Ok(found) => Ok(Look { ready: u64::from(found.message_count()), consumers: u64::from(found.consumer_count()) }),
        Err(error) if is_missing(&error) => Err(QueueError::NoSuchQueue { queue: queue.to_string() }),
        Err(error) => Err(QueueError::broker(action)(error)),
    }
}

/// Encoded messages by the queue that they go to.
type Divided = BTreeMap<ShortString, Vec<Bytes>>;

/// Publishes to all queues at once, and returns when all is confirmed. After an error some may have been published.
async fn publish_divided(publishers: &Publishers, messages: Divided) -> Result<(), QueueError> {
    let publishing = messages.into_iter().map(|(key, bodies)| {
        let publisher = publishers.to(&key);
        let route = Route { exchange: ShortString::default(), key, mandatory: true };
        async move { publisher.publish(route, bodies, Times::UntilConfirmed).await }
    });
    join_all(publishing).await.into_iter().collect()
}

impl Shared {
    fn open(&self) -> Result<(), QueueError> {
        if self.closed.is_cancelled() { Err(QueueError::Closed) } else { Ok(()) }
    }

    /// Declares the shared queues and exchanges.
    async fn first_contact(&self) -> Result<(), QueueError> {
        const PURPOSE: &str = "declare what all share";
        let mut patience = Patience::new(self, PURPOSE);
        loop {
            match in_time(self.answer_timeout, PURPOSE, self.greet()).await {
                Ok(()) => return Ok(()),
                Err(error) => patience.after(error).await?,
            }
        }
    }

    async fn greet(&self) -> Result<(), QueueError> {
        let channel = self
            .consuming
            .channel()
            .await
            .map_err(|error| QueueError::Connect { address: self.consuming.address(), source: Box::new(error) })?;
        self.topology.declare_all(&channel).await
    }

    /// Publishes on a channel of its own, of which `queue` is the purpose, opening another whenever it breaks. `current` is the channel.
    async fn keep_publishing(
        self: &Arc<Self>,
        link: &Link,
        queue: &ShortString,
        mut unconfirmed: Unconfirmed,
        current: &mut Option<lapin::Channel>,
    ) {
        // Those of the queues break with this one when their connection does, and one of them is told of.
        let is_first = queue.as_str().is_empty();
        let tell = |publishes| is_first.then(|| self.publishes.send_replace(publishes));
        let (mut backoff, mut outage) =
            (Backoff::new(self.seed, &format!("publish {queue}")), Outage::with_own_pauses());
        while !unconfirmed.is_finished() {
            let opening = self.publishing_channel(link, queue);
            match in_time(self.answer_timeout, "open a publishing channel", opening).await {
                Ok(channel) => {
                    backoff.reset();
                    if let Some(lasted) = outage.ends().filter(|_| is_first) {
                        tracing::info!(lasted_s = lasted.as_secs(), "opened a publishing channel again");
                    }
                    tell(true);
                    let published = unconfirmed.publish_on(current.insert(channel)).await;
                    tell(false);
                    match published {
                        Ok(()) => return,
                        Err(error) if is_first => {
                            tracing::warn!(%error, "lost the publishing channel; what is unconfirmed is published again")
                        }
                        Err(error) if is_overdue(&error) => {
                            tracing::warn!(%error, queue = queue.as_str(), "a queue confirms nothing; does it have a leader?");
                        }
                        Err(error) => tracing::debug!(%error, queue = queue.as_str(), "lost a publishing channel"),
                    }
                }
                Err(error) => {
                    let failed = outage.fails();
                    let (error, tries) = (&error as &dyn std::error::Error, failed.tries);
                    if !is_first {
                        tracing::debug!(error, tries, queue = queue.as_str(), "failed to open a publishing channel");
                    } else if failed.is_told {
                        tracing::warn!(error, tries, "failed to open a publishing channel; trying again");
                    }
                }
            }
            tokio::time::sleep(backoff.next()).await;
        }
    }

    async fn publishing_channel(
        self: &Arc<Self>,
        link: &Link,
        queue: &ShortString,
    ) -> Result<lapin::Channel, QueueError> {
        let failed = || QueueError::broker("open a publishing channel");
        let channel = link.channel().await.map_err(failed())?;
        if self.topology.declares(queue)? {
            // The broker may have come back without its disk.
            self.topology.declare_queue(&channel, queue).await?;
        } else if queue.as_str().is_empty() {
            self.topology.declare_control(&channel).await?;
            let shared = Arc::clone(self);
            // The others, beside: one that has no leader may answer nobody.
            tokio::spawn(async move { shared.closed.run_until_cancelled(shared.declare_again()).await });
        }
        channel.confirm_select(ConfirmSelectOptions::default()).await.map_err(failed())?;
        Ok(channel)
    }

    /// Declares all queues, because the broker may have come back without its disk, each on a channel of its own.
    async fn declare_again(&self) {
        let queues = match self.topology.queues() {
            Ok(queues) => queues,
            Err(error) => return tracing::error!(%error, "failed to name the queues"),
        };
        let declaring = futures::stream::iter(queues).for_each_concurrent(DECLARED_SIDE_BY_SIDE, async |queue| {
            let declared = async {
                let channel = self.channel("declare a queue").await?;
                in_time(self.answer_timeout, "declare a queue", self.topology.declare_queue(&channel, &queue)).await
            };
            if let Err(error) = declared.await {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(
                    error,
                    queue = queue.as_str(),
                    "failed to declare a queue after the connection was lost"
                );
            }
        });
        declaring.await;
    }

    /// Opens a channel for one request, because a refused request closes its channel.
    async fn channel(&self, action: &str) -> Result<lapin::Channel, QueueError> {
        self.open()?;
        let opened = async { self.consuming.channel().await.map_err(QueueError::broker(action)) };
        in_time(self.answer_timeout, action, opened).await
    }

    async fn ready_messages(&self, queue: ShortString) -> Result<u64, QueueError> {
        Ok(self.look_at(queue).await?.ready)
    }

    async fn look_at(&self, queue: ShortString) -> Result<Look, QueueError> {
        let action = format!("ask for the length of {:?}", queue.as_str());
        let channel = self.channel(&action).await?;
        in_time(self.answer_timeout, &action, look(&channel, &queue, &action)).await
    }

    /// Counted where all have messages: of a partition the broker counts the active one alone.
    async fn report_consumers(&self) -> Result<u64, QueueError> {
        Ok(self.look_at(self.topology.undivided_reports()?).await?.consumers)
    }

    /// Looks at all queues of reports.
    async fn look_at_reports(&self) -> Result<Vec<Look>, QueueError> {
        const ACTION: &str = "ask for the lengths of the queues of reports";
        let channel = self.channel(ACTION).await?;
        let asked = async {
            let mut looks = Vec::new();
            for queue in self.topology.reports()?.into_iter().chain([self.topology.undivided_reports()?]) {
                looks.push(look(&channel, &queue, ACTION).await?);
            }
            Ok(looks)
        };
        in_time(self.answer_timeout, ACTION, asked).await
    }

    /// Encodes reports, each for the queue of its partition.
    fn divide(&self, reports: &[Report]) -> Result<Divided, QueueError> {
        let mut divided = Divided::new();
        for report in reports {
            let key = self.topology.reports_with(report)?;
            let body = self.encode_transcripts(key.as_str(), report, Report::encode_compact)?;
            divided.entry(key).or_default().push(body);
        }
        Ok(divided)
    }

    /// Encodes `message` as every version reads it, unless its transcripts are compact in this deployment, or it is too large otherwise: better
    /// read by this version alone than by none.
    fn encode_transcripts<T: Serialize>(
        &self,
        queue: &str,
        message: &T,
        compact: impl Fn(&T) -> Result<Bytes, WireError>,
    ) -> Result<Bytes, QueueError> {
        if !self.compact_transcripts {
            match self.fit(queue, wire::encode(message)) {
                Err(QueueError::TooLarge { .. }) => {}
                done => return done,
            }
        }
        self.fit(queue, compact(message))
    }

    /// The message that was encoded for `queue`, if it is not too large.
    fn fit(&self, queue: &str, encoded: Result<Bytes, WireError>) -> Result<Bytes, QueueError> {
        let body = encoded.map_err(|source| match source {
            WireError::TooLarge { bytes, limit } => QueueError::TooLarge { queue: queue.to_owned(), bytes, limit },
            source => QueueError::Encode { queue: queue.to_owned(), source },
        })?;
        let (bytes, limit) = (body.len(), self.message_bytes_max);
        if bytes > limit {
            return Err(QueueError::TooLarge { queue: queue.to_owned(), bytes, limit });
        }
        Ok(body)
    }
}
