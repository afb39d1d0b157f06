//! Tells of the sessions, batches and questions that this process holds. Whatever is not heard of for some two minutes is dispatched again and
//! paid twice, so this task waits for nothing but the broker, and its reports do not stand behind those of sessions that have ended.

use std::time::Duration;

use regatta_backends::{Queue, QueueError};
use regatta_proto::Progress;
use tokio::time::MissedTickBehavior;

use crate::attempts::Attempts;
use crate::holdings::Holdings;
use crate::publisher::insist_on_progress;

/// Tells what is due, at most once in the time of `every`, until the queue is closed.
pub(crate) async fn tell(queue: Queue, attempts: Attempts, holdings: Holdings, every: Duration) {
    let mut times = tokio::time::interval(every);
    times.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        times.tick().await;
        let of_attempts = attempts.progress();
        let told: Vec<Progress> = of_attempts.into_iter().chain(holdings.progress(attempts.worker())).collect();
        if told.is_empty() {
            continue;
        }
        match insist_on_progress(&queue, told).await {
            Ok(()) => {}
            Err(QueueError::Closed) => return,
            Err(error) => {
                tracing::error!(%error, "failed to tell of what is under way; it is told of again in ten seconds")
            }
        }
    }
}
