//! A consumer of a queue in memory, and its receipts.

use std::fmt;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::queue_channel::{QueueChannel, Settle, Taken};
use crate::queue::{Delivery, Receipt};

/// A consumer of one queue.
pub(in crate::queue) struct MemoryConsumer<T> {
    queue_channel: Arc<QueueChannel<T>>,
    subscriber: u64,
    arrived: Arc<Notify>,
    closed: CancellationToken,
}

impl<T> fmt::Debug for MemoryConsumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryConsumer").field("subscriber", &self.subscriber).finish_non_exhaustive()
    }
}

impl<T> MemoryConsumer<T> {
    pub(super) fn new(queue_channel: Arc<QueueChannel<T>>, prefetch: u32, closed: CancellationToken) -> Self {
        let (subscriber, arrived) = queue_channel.subscribe(prefetch);
        Self { queue_channel, subscriber, arrived, closed }
    }

    pub(in crate::queue) fn stop(&mut self) {
        self.queue_channel.stop(self.subscriber);
    }

    #[cfg(feature = "faults")]
    pub(in crate::queue) fn connection(&self) -> MemoryConnection<T> {
        MemoryConnection { queue_channel: Arc::clone(&self.queue_channel), subscriber: self.subscriber }
    }
}

/// A handle to a consumer, with which a simulation cuts its connection.
#[cfg(feature = "faults")]
pub(in crate::queue) struct MemoryConnection<T> {
    queue_channel: Arc<QueueChannel<T>>,
    subscriber: u64,
}

#[cfg(feature = "faults")]
impl<T: Send + Sync> crate::faults::Connection for MemoryConnection<T> {
    fn reset(&self) {
        self.queue_channel.reset(self.subscriber);
    }

    fn end(&self) {
        self.queue_channel.stand_up(self.subscriber);
    }
}

impl<T: Clone + Send + Sync + 'static> MemoryConsumer<T> {
    pub(in crate::queue) async fn next(&mut self) -> Option<Delivery<T>> {
        loop {
            if self.closed.is_cancelled() {
                return None;
            }
            match self.queue_channel.take(self.subscriber) {
                Taken::Message { message, redeliveries, tag, voided } => {
                    let queue_channel: Arc<dyn Settle> = Arc::clone(&self.queue_channel) as _;
                    let receipt =
                        MemoryReceipt { queue_channel, subscriber: self.subscriber, tag, voided, settled: false };
                    let receipt = Receipt::memory(receipt);
                    return Some(Delivery { message: T::clone(&message), redeliveries, receipt });
                }
                Taken::Nothing => self.closed.run_until_cancelled(self.arrived.notified()).await?,
                Taken::Stopped => return None,
            }
        }
    }
}

impl<T> Drop for MemoryConsumer<T> {
    fn drop(&mut self) {
        self.queue_channel.stand_up(self.subscriber);
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

    pub(in crate::queue) fn hand_back(self) {
        drop(self);
    }
}

impl Drop for MemoryReceipt {
    fn drop(&mut self) {
        if !self.settled {
            self.queue_channel.hand_back(self.subscriber, self.tag);
        }
    }
}
