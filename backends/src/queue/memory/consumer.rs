//! A consumer of a queue in memory, and its receipts.

use std::fmt;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::lane::{Lane, Settle, Taken};
use crate::queue::{Delivery, Receipt};

/// A consumer of one queue.
pub(in crate::queue) struct MemoryConsumer<T> {
    lane: Arc<Lane<T>>,
    seat: u64,
    arrived: Arc<Notify>,
    closed: CancellationToken,
}

impl<T> fmt::Debug for MemoryConsumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryConsumer").field("seat", &self.seat).finish_non_exhaustive()
    }
}

impl<T> MemoryConsumer<T> {
    pub(super) fn new(lane: Arc<Lane<T>>, prefetch: u32, closed: CancellationToken) -> Self {
        let (seat, arrived) = lane.sit_down(prefetch);
        Self { lane, seat, arrived, closed }
    }

    pub(in crate::queue) fn stop(&mut self) {
        self.lane.stop(self.seat);
    }

    #[cfg(feature = "faults")]
    pub(in crate::queue) fn connection(&self) -> MemoryConnection<T> {
        MemoryConnection { lane: Arc::clone(&self.lane), seat: self.seat }
    }
}

/// A handle to a consumer, with which a simulation cuts its connection.
#[cfg(feature = "faults")]
pub(in crate::queue) struct MemoryConnection<T> {
    lane: Arc<Lane<T>>,
    seat: u64,
}

#[cfg(feature = "faults")]
impl<T: Send + Sync> crate::faults::Connection for MemoryConnection<T> {
    fn reset(&self) {
        self.lane.reset(self.seat);
    }

    fn end(&self) {
        self.lane.stand_up(self.seat);
    }
}

impl<T: Clone + Send + Sync + 'static> MemoryConsumer<T> {
    pub(in crate::queue) async fn next(&mut self) -> Option<Delivery<T>> {
        loop {
            if self.closed.is_cancelled() {
                return None;
            }
            match self.lane.take(self.seat) {
                Taken::Message { message, redeliveries, tag, voided } => {
                    let lane: Arc<dyn Settle> = Arc::clone(&self.lane) as _;
                    let receipt = MemoryReceipt { lane, seat: self.seat, tag, voided, settled: false };
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
        self.lane.stand_up(self.seat);
    }
}

/// The right to settle one message.
pub(in crate::queue) struct MemoryReceipt {
    lane: Arc<dyn Settle>,
    seat: u64,
    tag: u64,
    voided: CancellationToken,
    settled: bool,
}

impl fmt::Debug for MemoryReceipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryReceipt").field("seat", &self.seat).field("tag", &self.tag).finish_non_exhaustive()
    }
}

impl MemoryReceipt {
    pub(in crate::queue) fn voided(&self) -> CancellationToken {
        self.voided.clone()
    }

    pub(in crate::queue) fn ack(mut self) {
        self.settled = true;
        self.lane.ack(self.seat, self.tag);
    }

    pub(in crate::queue) fn hand_back(self) {
        drop(self);
    }
}

impl Drop for MemoryReceipt {
    fn drop(&mut self) {
        if !self.settled {
            self.lane.hand_back(self.seat, self.tag);
        }
    }
}
