//! A channel for each queue that is published to, on one connection.
//!
//! RabbitMQ lets a channel wait as a whole for a quorum queue that has no leader, so that on a common one nothing would be confirmed, whatever
//! queue it is for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lapin::types::ShortString;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::link::Link;
use super::publisher::Publisher;
use super::unconfirmed::Unconfirmed;

/// Time after which the channel of a queue that nothing is published to may be closed, when another is opened.
const IDLE_AFTER: Duration = Duration::from_secs(600);
/// Queues with a channel; a connection has room for 2,047.
const QUEUES_MAX: usize = 1_000;

/// Publishers over one connection, each made when it is first used.
pub(super) struct Publishers {
    shared: Arc<Shared>,
    link: Arc<Link>,
    /// Time-out of a confirmation.
    timeout: Duration,
    /// Fires once the connection is closed. The client closes a channel that is dropped, and logs an error where its connection is being closed at
    /// that moment.
    link_closed: CancellationToken,
    by_queue: Mutex<BTreeMap<ShortString, (Publisher, Instant)>>,
}

impl Publishers {
    /// Publishers on a connection named after its `purpose`, which is closed with `shared`.
    pub(super) fn new(shared: &Arc<Shared>, purpose: &str, timeout: Duration) -> Self {
        let link = Arc::new(Link::new(shared.dial.clone(), format!("regatta {} {purpose}", shared.prefix)));
        let link_closed = CancellationToken::new();
        let (closed, closing, fires) = (shared.closed.clone(), Arc::clone(&link), link_closed.clone());
        tokio::spawn(async move {
            closed.cancelled().await;
            closing.close().await;
            fires.cancel();
        });
        Self { shared: Arc::clone(shared), link, timeout, link_closed, by_queue: Mutex::default() }
    }

    /// Begins to publish what goes to no queue by its name.
    pub(super) fn to_all(&self) -> Publisher {
        self.begin(ShortString::default())
    }

    /// The publisher to `queue`.
    pub(super) fn to(&self, queue: &ShortString) -> Publisher {
        let (now, mut by_queue) = (Instant::now(), self.by_queue.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some((publisher, used_at)) = by_queue.get_mut(queue) {
            *used_at = now;
            return publisher.clone();
        }
        // What is still on its way on one of these goes on.
        by_queue.retain(|_, (_, used_at)| now.duration_since(*used_at) < IDLE_AFTER);
        while by_queue.len() >= QUEUES_MAX {
            let oldest = by_queue.iter().min_by_key(|(_, (_, used_at))| *used_at).map(|(queue, _)| queue.clone());
            oldest.and_then(|queue| by_queue.remove(&queue));
        }
        let publisher = self.begin(queue.clone());
        by_queue.insert(queue.clone(), (publisher.clone(), now));
        publisher
    }

    fn begin(&self, queue: ShortString) -> Publisher {
        let (publisher, unconfirmed) = Publisher::new(self.timeout);
        let (shared, link) = (Arc::clone(&self.shared), Arc::clone(&self.link));
        tokio::spawn(publish(shared, link, queue, unconfirmed, self.link_closed.clone()));
        publisher
    }
}

async fn publish(
    shared: Arc<Shared>,
    link: Arc<Link>,
    queue: ShortString,
    unconfirmed: Unconfirmed,
    link_closed: CancellationToken,
) {
    let mut channel = None;
    let publishing = shared.keep_publishing(&link, &queue, unconfirmed, &mut channel);
    let _ = shared.closed.run_until_cancelled(publishing).await;
    if shared.closed.is_cancelled() {
        link_closed.cancelled().await;
    }
}
