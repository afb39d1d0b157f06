//! A consumer of a queue in memory, and its receipts.

use std::fmt;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::queue_channel::{QueueChannel, Settle, Taken};
use crate::queue::{Delivery, Receipt};

/// A consumer of a queue, or of all partitions of one.
pub(in crate::queue) struct MemoryConsumer<T> {
    places: Vec<Place<T>>,
    /// The place that is looked at first for the next message, so that each has its turn.
    next: usize,
    arrived: Arc<Notify>,
    closed: CancellationToken,
}

/// A consumer's place at one queue.
struct Place<T> {
    queue_channel: Arc<QueueChannel<T>>,
    subscriber: u64,
}

impl<T> Clone for Place<T> {
    fn clone(&self) -> Self {
        Self { queue_channel: Arc::clone(&self.queue_channel), subscriber: self.subscriber }
    }
}

impl<T> fmt::Debug for MemoryConsumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryConsumer").finish_non_exhaustive()
    }
}

impl<T> MemoryConsumer<T> {
    pub(super) fn new(queue_channels: Vec<Arc<QueueChannel<T>>>, prefetch: u32, closed: CancellationToken) -> Self {
        let arrived = Arc::new(Notify::new());
        let places = queue_channels.into_iter().map(|queue_channel| {
            let subscriber = queue_channel.subscribe(prefetch, &arrived);
            Place { queue_channel, subscriber }
        });
        Self { places: places.collect(), next: 0, arrived, closed }
    }

    pub(in crate::queue) fn stop(&mut self) {
        for place in &self.places {
            place.queue_channel.stop(place.subscriber);
        }
    }

    #[cfg(feature = "faults")]
    pub(in crate::queue) fn connection(&self) -> MemoryConnection<T> {
        MemoryConnection(self.places.clone())
    }
}

/// A handle to a consumer, with which a simulation cuts its connection.
#[cfg(feature = "faults")]
pub(in crate::queue) struct MemoryConnection<T>(Vec<Place<T>>);

#[cfg(feature = "faults")]
impl<T: Send + Sync> crate::faults::Connection for MemoryConnection<T> {
    fn reset(&self) {
        for place in &self.0 {
            place.queue_channel.reset(place.subscriber);
        }
    }

    fn end(&self) {
        for place in &self.0 {
            place.queue_channel.stand_up(place.subscriber);
        }
    }
}

impl<T: Clone + Send + Sync + 'static> MemoryConsumer<T> {
    pub(in crate::queue) async fn next(&mut self) -> Option<Delivery<T>> {
        loop {
            if self.closed.is_cancelled() {
                return None;
            }
            let mut is_stopped = true;
            for _ in 0..self.places.len() {
                let Place { queue_channel, subscriber } = &self.places[self.next];
                self.next = (self.next + 1) % self.places.len();
                match queue_channel.take(*subscriber) {
                    Taken::Message { message, redeliveries, tag, voided } => {
                        let queue_channel: Arc<dyn Settle> = Arc::clone(queue_channel) as _;
                        let receipt =
                            MemoryReceipt { queue_channel, subscriber: *subscriber, tag, voided, settled: false };
                        let receipt = Receipt::memory(receipt);
                        return Some(Delivery { message: T::clone(&message), redeliveries, receipt });
                    }
                    Taken::Nothing => is_stopped = false,
                    Taken::Stopped => {}
                }
            }
            if is_stopped {
                return None;
            }
            self.closed.run_until_cancelled(self.arrived.notified()).await?;
        }
    }
}

impl<T> Drop for MemoryConsumer<T> {
    fn drop(&mut self) {
        for place in &self.places {
            place.queue_channel.stand_up(place.subscriber);
        }
    }
}

/// The right to settle one message.
pub(in crate::queue) struct MemoryReceipt {
    queue_channel: Arc<dyn Settle>,
    subscriber: u64,
    tag: u64,
    voided: CancellationToken,
    settled: bool,
}

impl fmt::Debug for MemoryReceipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryReceipt")
            .field("subscriber", &self.subscriber)
            .field("tag", &self.tag)
            .finish_non_exhaustive()
    }
}

impl MemoryReceipt {
    pub(in crate::queue) fn voided(&self) -> CancellationToken {
        self.voided.clone()
    }

    pub(in crate::queue) fn ack(mut self) {
        self.settled = true;
        self.queue_channel.ack(self.subscriber, self.tag);
    }

    pub(in crate::queue) fn hand_back(mut self) {
        self.settled = true;
        self.queue_channel.hand_back(self.subscriber, self.tag);
    }
}

impl Drop for MemoryReceipt {
    fn drop(&mut self) {
        if !self.settled {
            self.queue_channel.leave(self.subscriber, self.tag);
        }
    }
}
