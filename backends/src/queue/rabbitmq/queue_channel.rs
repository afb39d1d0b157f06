//! Deliveries on one channel, and their settlement.
//!
//! An acknowledgement of several deliveries ("all up to this one") must not cover one that is still being worked on, nor one whose own
//! frame is on its way, because the broker closes the channel if a delivery is settled twice. So the set of unsettled tags and the order of
//! frames change together, under one lock.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use lapin::Channel;
use lapin::options::{BasicAckOptions, BasicNackOptions, BasicRejectOptions};
use tokio_util::sync::CancellationToken;

use super::balance::Place;

/// A channel with a consumer and its unsettled deliveries.
pub(super) struct QueueChannel {
    channel: Channel,
    unsettled: Mutex<BTreeSet<u64>>,
    /// Nothing may overtake a delivery: one that nobody settles goes back with the channel, and with all that came after it.
    keeps_order: bool,
    /// The place at a partition of the reports.
    place: Option<Arc<Place>>,
    /// Fires when the consumer was dropped: the channel is about to be closed, which returns everything. Handing a message back meanwhile
    /// would only deliver it once more to the dropped consumer.
    dropped: CancellationToken,
    /// Fires when the channel was lost, or its consumer dropped.
    lost: CancellationToken,
}

impl QueueChannel {
    pub(super) fn new(
        channel: Channel,
        dropped: CancellationToken,
        keeps_order: bool,
        place: Option<Arc<Place>>,
    ) -> Arc<Self> {
        let lost = dropped.child_token();
        Arc::new(Self { channel, unsettled: Mutex::default(), keeps_order, place, dropped, lost })
    }

    fn is_void(&self) -> bool {
        self.dropped.is_cancelled() || !self.channel.status().connected()
    }

    /// Marks the channel as lost, after which nothing can be settled.
    pub(super) fn lose(&self) {
        self.lost.cancel();
    }

    pub(super) fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Registers a delivery and returns its receipt; to be called in the order of the tags. After the last delivery that its queue allows,
    /// `is_last`, what is handed back becomes a dead letter.
    pub(super) fn receipt(self: &Arc<Self>, tag: u64, is_last: bool) -> RabbitMqReceipt {
        self.lock().insert(tag);
        RabbitMqReceipt { queue_channel: Arc::clone(self), tag, is_last, settled: false }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues the frames of `send` in the same step in which `tags` are removed from the unsettled ones; then waits until they are written.
    /// A lost channel has returned all its deliveries, so its errors are ignored.
    async fn settle(&self, tags: &[u64], send: impl Future<Output = lapin::Result<()>> + Send) {
        if self.is_void() {
            return;
        }
        let mut send = std::pin::pin!(send);
        let sent = {
            let mut unsettled = self.lock();
            for tag in tags {
                unsettled.remove(tag);
            }
            // The client queues a frame when its future is first polled; later polls only wait.
            send.as_mut().now_or_never()
        };
        if sent.is_none() {
            let _ = send.await;
        }
    }

    fn leave(&self, tag: u64, is_last: bool) {
        if self.keeps_order || self.is_void() {
            return;
        }
        let mut unsettled = self.lock();
        unsettled.remove(&tag);
        let _ = self.channel.basic_nack(tag, back(is_last)).now_or_never();
    }

    /// Something was acknowledged.
    fn gets_on(&self) {
        if let Some(place) = &self.place
            && !self.is_void()
        {
            place.gets_on();
        }
    }

    async fn ack_all(&self, mut tags: Vec<u64>) {
        self.gets_on();
        tags.sort_unstable();
        let together = {
            let unsettled = self.lock();
            leading(&tags, &unsettled)
        };
        // Deliveries that arrive meanwhile have higher tags, and settled ones do no harm.
        let (together, apart) = tags.split_at(together);
        if let [.., last] = together {
            self.settle(together, self.channel.basic_ack(*last, BasicAckOptions { multiple: true })).await;
        }
        for tag in apart {
            self.settle(&[*tag], self.channel.basic_ack(*tag, BasicAckOptions::default())).await;
        }
    }
}

/// Hands a message back. RabbitMQ counts that itself up to version 4.2; from 4.3 on it counts only deliveries that were lost with their
/// consumer, and one that is handed back each time would come for ever.
fn back(is_last: bool) -> BasicNackOptions {
    BasicNackOptions { multiple: false, requeue: !is_last }
}

/// Number of `tags` (sorted) that precede every other unsettled tag.
fn leading(tags: &[u64], unsettled: &BTreeSet<u64>) -> usize {
    tags.iter().zip(unsettled).take_while(|(tag, unsettled)| tag == unsettled).count()
}

/// The right to settle one delivery.
pub(in crate::queue) struct RabbitMqReceipt {
    queue_channel: Arc<QueueChannel>,
    tag: u64,
    is_last: bool,
    settled: bool,
}

impl fmt::Debug for RabbitMqReceipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RabbitMqReceipt").field("tag", &self.tag).finish_non_exhaustive()
    }
}

impl RabbitMqReceipt {
    /// `true` if the channel is gone, and the broker delivers the message again.
    pub(super) fn is_void(&self) -> bool {
        self.queue_channel.is_void()
    }

    pub(in crate::queue) fn voided(&self) -> CancellationToken {
        self.queue_channel.lost.clone()
    }

    pub(in crate::queue) async fn ack(mut self) {
        self.settled = true;
        self.queue_channel.gets_on();
        let options = BasicAckOptions::default();
        self.queue_channel.settle(&[self.tag], self.queue_channel.channel.basic_ack(self.tag, options)).await;
    }

    pub(in crate::queue) async fn hand_back(mut self) {
        self.settled = true;
        let options = back(self.is_last);
        self.queue_channel.settle(&[self.tag], self.queue_channel.channel.basic_nack(self.tag, options)).await;
    }

    /// Makes the message a dead letter.
    pub(super) async fn reject(mut self) {
        self.settled = true;
        let options = BasicRejectOptions { requeue: false };
        self.queue_channel.settle(&[self.tag], self.queue_channel.channel.basic_reject(self.tag, options)).await;
    }

    pub(in crate::queue) async fn ack_all(receipts: Vec<Self>) {
        let mut by_channel: HashMap<usize, (Arc<QueueChannel>, Vec<u64>)> = HashMap::new();
        for mut receipt in receipts {
            receipt.settled = true;
            let queue_channel = Arc::clone(&receipt.queue_channel);
            by_channel
                .entry(Arc::as_ptr(&queue_channel).addr())
                .or_insert_with(|| (queue_channel, Vec::new()))
                .1
                .push(receipt.tag);
        }
        let by_channel: Vec<(Arc<QueueChannel>, Vec<u64>)> = by_channel.into_values().collect();
        for (queue_channel, tags) in by_channel {
            queue_channel.ack_all(tags).await;
        }
    }
}

impl Drop for RabbitMqReceipt {
    fn drop(&mut self) {
        if !self.settled {
            self.queue_channel.leave(self.tag, self.is_last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn acknowledging_many_at_once_never_covers_another_unsettled_delivery(
            tags in proptest::collection::btree_map(1_u64..60, any::<bool>(), 0..40),
        ) {
            let unsettled: BTreeSet<u64> = tags.keys().copied().collect();
            let ours: Vec<u64> = tags.iter().filter(|(_, ours)| **ours).map(|(tag, _)| *tag).collect();
            let together = leading(&ours, &unsettled);
            let covered: Vec<u64> = match ours[..together] {
                [.., last] => unsettled.range(..=last).copied().collect(),
                [] => Vec::new(),
            };
            prop_assert_eq!(&covered, &ours[..together]);
            let first_of_others = tags.iter().find(|(_, ours)| !**ours).map_or(u64::MAX, |(tag, _)| *tag);
            prop_assert!(ours[together..].iter().all(|tag| *tag > first_of_others), "some were acknowledged singly without need");
        }
    }
}
