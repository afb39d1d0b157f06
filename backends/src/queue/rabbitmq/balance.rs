//! Balance of the partitions of reports over their consumers. The broker gives a partition to the consumer that has waited longest for it, so
//! the first one has all, and keeps them when others come. Who has more than its share lets go of the rest, and waits for them again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lapin::types::ShortString;
use tokio::sync::Notify;

use super::Shared;

/// A consumer's place at one partition.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// Something was acknowledged since the last look. A partition without messages needs no balance, and what nobody can record is not handed from
    /// one to the next until it was delivered too often.
    is_busy: AtomicBool,
    lets_go: Notify,
}

impl Place {
    pub(super) fn gets_on(&self) {
        self.is_busy.store(true, Ordering::Relaxed);
    }

    /// Returns when the partition is to be left to others.
    pub(super) async fn is_let_go(&self) {
        self.lets_go.notified().await;
    }
}

/// Lets go of what is more than this consumer's share of `partitions`, each with its place, again and again.
pub(super) async fn keep_balance(shared: &Shared, partitions: &[(ShortString, Arc<Place>)]) {
    loop {
        tokio::time::sleep(shared.balanced_every).await;
        let busy: Vec<_> =
            partitions.iter().filter(|(_, place)| place.is_busy.swap(false, Ordering::Relaxed)).collect();
        // Each consumer has a place at every partition. Who cannot ask keeps what it has.
        let Ok(consumers) = shared.report_consumers().await else { continue };
        for (queue, place) in busy.into_iter().skip(share(partitions.len(), consumers)) {
            tracing::info!(queue = queue.as_str(), consumers, "lets go of a partition of the reports");
            place.lets_go.notify_one();
        }
    }
}

/// The most partitions that one of so many consumers keeps.
fn share(partitions: usize, consumers: u64) -> usize {
    partitions.div_ceil(usize::try_from(consumers.max(1)).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_partitions_together_are_shared_out_whoever_lets_go_of_how_many() {
        assert_eq!([0, 1, 2, 3, 5, 8, 9, 40].map(|consumers| share(8, consumers)), [8, 8, 4, 3, 2, 1, 1, 1]);
    }
}
