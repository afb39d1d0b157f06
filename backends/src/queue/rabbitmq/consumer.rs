//! A consumer of a queue on the broker, or of all partitions of one: a task for each fetches and decodes, so that it reconnects even while no message
//! is asked for.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use futures::future::try_join_all;
use futures::{FutureExt, StreamExt};
use lapin::message::Delivery as RawDelivery;
use lapin::options::{BasicCancelOptions, BasicConsumeOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use regatta_memory::{ByteBudget, ByteHolder};
use regatta_proto::wire;
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Shared;
use super::backoff::Backoff;
use super::balance::{Place, keep_balance};
use super::link::in_time;
use super::patience::Patience;
use super::queue_channel::{QueueChannel, RabbitMqReceipt};
use super::topology::PREFETCH_OF_A_CONSUMER;
use crate::queue::{Delivery, QueueError, Receipt, message_bytes};
use crate::{Outage, Subscriptions};

/// Decoded messages that wait to be taken at most, so that decoding goes on beside what is done with them. Others wait as they came.
const DECODED_MAX: usize = 64;
/// The same where decoded messages count against nothing: one is decoded while another is taken.
const UNCOUNTED_MAX: usize = 1;
/// The receiving end of a consumer.
pub(in crate::queue) struct RabbitMqConsumer<T> {
    /// Makes the task close the channel, which returns all unsettled messages. The first field, so that it is dropped first.
    _dropped: DropGuard,
    arrivals: mpsc::Receiver<Arrival<T>>,
    /// Passes the messages back that arrived and were not taken; `None` once stopped, and where partitions are consumed.
    stop: Option<oneshot::Sender<mpsc::Receiver<Arrival<T>>>>,
    closed: CancellationToken,
    subscriptions: Subscriptions,
}

struct Arrival<T> {
    message: T,
    redeliveries: u32,
    receipt: RabbitMqReceipt,
    holder: Option<ByteHolder>,
}

/// A message as it came.
struct Fetched {
    raw: RawDelivery,
    receipt: RabbitMqReceipt,
}

impl<T> fmt::Debug for RabbitMqConsumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RabbitMqConsumer").finish_non_exhaustive()
    }
}

impl<T> RabbitMqConsumer<T> {
    pub(in crate::queue) async fn next(&mut self) -> Option<Delivery<T>> {
        loop {
            let arrival = self.closed.run_until_cancelled(self.arrivals.recv()).await??;
            // Messages of a lost connection are delivered again; taking both would do the work twice.
            if !arrival.receipt.is_void() {
                let Arrival { message, redeliveries, receipt, holder } = arrival;
                return Some(Delivery { message, redeliveries, receipt: Receipt::rabbitmq(receipt, holder) });
            }
        }
    }

    pub(in crate::queue) fn subscriptions(&self) -> Subscriptions {
        self.subscriptions.clone()
    }

    pub(in crate::queue) fn stop(&mut self) {
        if self.stop.is_none() {
            // What arrived goes back with the channels.
            self.closed.cancel();
            return;
        }
        let (_, nothing) = mpsc::channel(1);
        let untaken = std::mem::replace(&mut self.arrivals, nothing);
        if let Some(stop) = self.stop.take() {
            // The task hands them back after it has unsubscribed, because otherwise they might be delivered here again. Without a task, the
            // channel is closed.
            let _ = stop.send(untaken);
        }
    }
}

impl<T: DeserializeOwned + Send + 'static> RabbitMqConsumer<T> {
    /// Subscribes, and stays subscribed. Messages are decoded within `bytes`, which they take until they are settled.
    pub(super) async fn start(
        shared: Arc<Shared>,
        queue: ShortString,
        prefetch: u32,
        bytes: Option<ByteBudget>,
    ) -> Result<Self, QueueError> {
        let prefetch = u16::try_from(prefetch.max(1)).unwrap_or(u16::MAX);
        let dropped = CancellationToken::new();
        let (closed, guard) = (shared.closed.child_token(), dropped.clone().drop_guard());
        let decoded_max = if bytes.is_some() { DECODED_MAX } else { UNCOUNTED_MAX };
        let subscriptions = Subscriptions::default();
        let subscriber = Subscriber {
            shared,
            queue,
            prefetch,
            bytes,
            dropped,
            keeps_order: false,
            partition: None,
            subscriptions: subscriptions.clone(),
        };
        let first = subscriber.first_subscription().await?;
        let (sender, arrivals) = mpsc::channel(decoded_max);
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(async move { subscriber.feed(first, sender, stopped.map(Result::ok)).await });
        Ok(Self { _dropped: guard, arrivals, stop: Some(stop), closed, subscriptions })
    }

    /// Subscribes to all `partitions` of a queue, and to the queue of `others` that is not divided, and stays subscribed. The `prefetch` is divided
    /// over all.
    pub(super) async fn start_divided(
        shared: Arc<Shared>,
        partitions: Vec<ShortString>,
        others: ShortString,
        prefetch: u32,
        bytes: Option<ByteBudget>,
    ) -> Result<Self, QueueError> {
        let prefetch = u16::try_from(prefetch.div_ceil(partitions.len() as u32).max(1)).unwrap_or(u16::MAX);
        let dropped = CancellationToken::new();
        let (closed, guard) = (shared.closed.child_token(), dropped.clone().drop_guard());
        let decoded_max = if bytes.is_some() { DECODED_MAX } else { UNCOUNTED_MAX };
        let (sender, arrivals) = mpsc::channel(decoded_max);
        let subscriptions = Subscriptions::default();
        let places: Vec<(ShortString, Arc<Place>)> =
            partitions.into_iter().map(|queue| (queue, Arc::default())).collect();
        let of_partitions = places.iter().map(|(queue, place)| (queue.clone(), Some(Arc::clone(place))));
        let subscribers = of_partitions.chain([(others, None)]).map(|(queue, partition)| {
            let (shared, bytes, dropped) = (Arc::clone(&shared), bytes.clone(), dropped.clone());
            let subscriptions = subscriptions.clone();
            async move {
                let keeps_order = true;
                let subscriber =
                    Subscriber { shared, queue, prefetch, bytes, dropped, keeps_order, partition, subscriptions };
                let first = subscriber.first_subscription().await?;
                Ok::<_, QueueError>((subscriber, first))
            }
        });
        for (subscriber, first) in try_join_all(subscribers).await? {
            let (sender, dropped) = (sender.clone(), dropped.clone());
            tokio::spawn(async move {
                let ended = async { dropped.cancelled().await };
                subscriber.feed(first, sender, ended.map(|()| None)).await;
            });
        }
        tokio::spawn(async move {
            let balanced = shared.closed.run_until_cancelled(keep_balance(&shared, &places));
            dropped.run_until_cancelled(balanced).await;
        });
        Ok(Self { _dropped: guard, arrivals, stop: None, closed, subscriptions })
    }
}

struct Subscriber {
    shared: Arc<Shared>,
    queue: ShortString,
    prefetch: u16,
    bytes: Option<ByteBudget>,
    dropped: CancellationToken,
    /// It consumes reports: what it has goes back in its order, when it is dropped.
    keeps_order: bool,
    /// The place at a partition; `None` where the queue is not one of several.
    partition: Option<Arc<Place>>,
    /// Subscriptions of the whole consumer, of which this is one.
    subscriptions: Subscriptions,
}

/// A consumer on a channel of its own.
struct Subscription {
    /// The first field, so that the channel closes before the client unsubscribes.
    _open: OpenChannel,
    queue_channel: Arc<QueueChannel>,
    consumer: lapin::Consumer,
}

/// A channel that closes when this is dropped, also while somebody subscribes on it. The client would leave a consumer there of which nobody knows, and
/// which keeps what the broker gives it; or it would unsubscribe before it closes, so that the next consumer overtakes what this one was given.
struct OpenChannel(lapin::Channel);

impl Drop for OpenChannel {
    fn drop(&mut self) {
        if self.0.status().connected() {
            // The client queues the frame when its future is first polled.
            let _ = self.0.close(200, "OK".into()).now_or_never();
        }
    }
}

impl Subscriber {
    async fn first_subscription(&self) -> Result<Subscription, QueueError> {
        let purpose = format!("consume {:?}", self.queue.as_str());
        let mut patience = Patience::new(&self.shared, &purpose);
        loop {
            match self.subscribe().await {
                Ok(subscription) => return Ok(subscription),
                Err(error) => patience.after(error).await?,
            }
        }
    }

    async fn subscribe(&self) -> Result<Subscription, QueueError> {
        let action = format!("consume {:?}", self.queue.as_str());
        in_time(self.shared.answer_timeout, &action, self.try_subscribe(&action)).await
    }

    async fn try_subscribe(&self, action: &str) -> Result<Subscription, QueueError> {
        let failed = || QueueError::broker(action);
        // Whoever takes a job must be able to tell what came of it. After an outage one connection is there before the other, and should the
        // broker fall again in between, all that was done with the jobs would be done once more by others.
        let mut publishes = self.shared.publishes.subscribe();
        self.shared.closed.run_until_cancelled(publishes.wait_for(|publishes| *publishes)).await;
        let channel = self.shared.consuming.channel().await.map_err(failed())?;
        let open = OpenChannel(channel.clone());
        self.shared.topology.declare_alone(&channel, &self.queue).await?;
        channel.basic_qos(self.prefetch, PREFETCH_OF_A_CONSUMER).await.map_err(failed())?;
        let (tag, options) = (ShortString::default(), BasicConsumeOptions::default());
        let consumer = channel.basic_consume(self.queue.clone(), tag, options, FieldTable::default()).await;
        let consumer = consumer.map_err(failed())?;
        let queue_channel = QueueChannel::new(channel, self.dropped.clone(), self.keeps_order, self.partition.clone());
        Ok(Subscription { _open: open, queue_channel, consumer })
    }

    async fn feed<T: DeserializeOwned>(
        &self,
        first: Subscription,
        sender: mpsc::Sender<Arrival<T>>,
        ended: impl Future<Output = Option<mpsc::Receiver<Arrival<T>>>>,
    ) {
        let mut backoff = Backoff::new(self.shared.seed, self.queue.as_str());
        let (mut subscription, mut outage, mut lost) = (Some(first), Outage::with_own_pauses(), None);
        // With the messages that were not taken if the consumer was stopped; without, if it was dropped or the queue closed.
        let ended = async { self.shared.closed.run_until_cancelled(ended).await.flatten() };
        let mut ended = std::pin::pin!(ended);
        loop {
            if let Some(mut subscription) = subscription.take() {
                let Subscription { queue_channel, consumer, .. } = &mut subscription;
                // The broker sends no more than the prefetch. Here, and not with the client, so that the end of the channel is seen behind
                // messages that wait.
                let (fetched, mut waiting) = mpsc::unbounded_channel();
                let mut is_let_go = false;
                tokio::select! {
                    biased;
                    untaken = &mut ended => return self.finish(subscription, (untaken, waiting)).await,
                    () = self.fetch(queue_channel, consumer, &fetched, &mut backoff) => {}
                    () = self.pass_all_on(&mut waiting, &sender) => {}
                    () = self.is_let_go() => is_let_go = true,
                }
                queue_channel.lose();
                if is_let_go {
                    let _ = queue_channel.channel().close(200, "OK".into()).await;
                } else {
                    lost.get_or_insert_with(|| self.subscriptions.lose());
                    tracing::warn!(queue = %self.queue.as_str(), "lost a consumer's channel; subscribing again");
                }
            }
            let again = async {
                tokio::time::sleep(backoff.next()).await;
                self.subscribe().await
            };
            tokio::select! {
                _ = &mut ended => return,
                result = again => match result {
                    Ok(again) => {
                        if let Some(lasted) = outage.ends() {
                            let (queue, lasted_s) = (self.queue.as_str(), lasted.as_secs());
                            tracing::info!(queue, lasted_s, "subscribed again");
                        }
                        subscription = Some(again);
                        drop(lost.take());
                    }
                    Err(error) => {
                        lost.get_or_insert_with(|| self.subscriptions.lose());
                        let failed = outage.fails();
                        if failed.is_told {
                            let (queue, tries) = (self.queue.as_str(), failed.tries);
                            let error = &error as &dyn std::error::Error;
                            tracing::warn!(queue, error, tries, "failed to subscribe; trying again");
                        }
                    }
                },
            }
        }
    }

    /// Stops fetching, hands back the messages that were not taken, and closes the channel when the consumer is dropped.
    async fn finish<T>(
        &self,
        subscription: Subscription,
        untaken: (Option<mpsc::Receiver<Arrival<T>>>, mpsc::UnboundedReceiver<Fetched>),
    ) {
        let Subscription { _open, queue_channel, mut consumer } = subscription;
        if self.keeps_order {
            // Who unsubscribes first leaves the partition to another one, which overtakes what has not gone back yet.
            let _ = queue_channel.channel().close(200, "OK".into()).await;
            return;
        }
        // A broken channel has returned everything already, so errors are ignored.
        let _ = queue_channel.channel().basic_cancel(consumer.tag(), BasicCancelOptions::default()).await;
        drop(untaken);
        while let Some(Ok(unseen)) = consumer.next().await {
            drop(self.receipt(&queue_channel, &unseen));
        }
        self.shared.closed.run_until_cancelled(self.dropped.cancelled()).await;
        let _ = queue_channel.channel().close(200, "OK".into()).await;
    }

    /// Takes deliveries from the client until the channel breaks.
    async fn fetch(
        &self,
        queue_channel: &Arc<QueueChannel>,
        consumer: &mut lapin::Consumer,
        fetched: &mpsc::UnboundedSender<Fetched>,
        backoff: &mut Backoff,
    ) {
        while let Some(Ok(raw)) = consumer.next().await {
            backoff.reset();
            let receipt = self.receipt(queue_channel, &raw);
            // If nobody waits for it, it is handed back.
            let _ = fetched.send(Fetched { raw, receipt });
        }
    }

    fn receipt(&self, queue_channel: &Arc<QueueChannel>, raw: &RawDelivery) -> RabbitMqReceipt {
        let is_last = redeliveries(raw) >= self.shared.topology.delivery_limit();
        queue_channel.receipt(raw.delivery_tag, is_last)
    }

    /// Returns when this partition is to be left to others.
    async fn is_let_go(&self) {
        match &self.partition {
            Some(place) => place.is_let_go().await,
            None => std::future::pending().await,
        }
    }

    /// Decodes messages one after another, and passes them on until nobody takes them.
    async fn pass_all_on<T: DeserializeOwned>(
        &self,
        waiting: &mut mpsc::UnboundedReceiver<Fetched>,
        sender: &mpsc::Sender<Arrival<T>>,
    ) {
        while let Some(fetched) = waiting.recv().await {
            if self.pass_on(fetched, sender).await.is_break() {
                return;
            }
        }
    }

    async fn pass_on<T: DeserializeOwned>(
        &self,
        Fetched { raw, receipt }: Fetched,
        sender: &mpsc::Sender<Arrival<T>>,
    ) -> ControlFlow<()> {
        // If the receiver is gone, the receipt is dropped, which hands the message back.
        let Ok(place) = sender.reserve().await else { return ControlFlow::Break(()) };
        let holder = match &self.bytes {
            Some(bytes) => Some(bytes.enter(message_bytes(&raw.data), CancellationToken::new()).await),
            None => None,
        };
        let redeliveries = redeliveries(&raw);
        match wire::decode(&raw.data) {
            Ok(message) => place.send(Arrival { message, redeliveries, receipt, holder }),
            Err(error) => {
                let queue = raw.routing_key.as_str();
                tracing::error!(
                    queue,
                    bytes = raw.data.len(),
                    error = &error as &dyn std::error::Error,
                    "made a message that cannot be read a dead letter"
                );
                receipt.reject().await;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Number of earlier deliveries of a message.
///
/// Up to RabbitMQ 4.2 one header counts all returns; from 4.3 on it counts failures, and another header counts all.
fn redeliveries(raw: &RawDelivery) -> u32 {
    let headers = raw.properties.headers().as_ref();
    let count = |name: &str| headers.and_then(|headers| headers.inner().get(name)).and_then(as_count).unwrap_or(0);
    count("x-delivery-count").max(count("x-acquired-count")).max(u32::from(raw.redelivered))
}

fn as_count(value: &AMQPValue) -> Option<u32> {
    let count = match value {
        AMQPValue::ShortShortInt(count) => i64::from(*count),
        AMQPValue::ShortShortUInt(count) => i64::from(*count),
        AMQPValue::ShortInt(count) => i64::from(*count),
        AMQPValue::ShortUInt(count) => i64::from(*count),
        AMQPValue::LongInt(count) => i64::from(*count),
        AMQPValue::LongUInt(count) => i64::from(*count),
        AMQPValue::LongLongInt(count) => *count,
        _ => return None,
    };
    Some(u32::try_from(count.max(0)).unwrap_or(u32::MAX))
}
