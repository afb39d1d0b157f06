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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::future::BoxFuture;
    use prometheus::Registry;
    use regatta_backends::faults::{Fate, Troubles, Way};
    use regatta_proto::{Digest, HeldBatch, Job, JudgeJob, Report};
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::WorkerMetrics;
    use crate::publisher::{ConfirmingPublisher, Held, Origin, Publication};

    /// Confirms no report that is not of progress before this fires.
    #[derive(Default)]
    struct Slow(CancellationToken);

    impl Fate for Slow {
        fn on<'a>(&'a self, way: Way<'a>) -> BoxFuture<'a, ()> {
            Box::pin(async move {
                if way == Way::Reports {
                    self.0.cancelled().await;
                }
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_is_told_of_until_what_it_led_to_is_confirmed() {
        let (queue, slow) = (Queue::memory(), Arc::new(Slow::default()));
        let mut consumer = queue.consume_reports(1).await.unwrap();
        let mut next = async || {
            let delivery = consumer.next().await.unwrap();
            delivery.receipt.ack().await;
            delivery.message
        };
        let end = Report::Tabulate { sweep: "s".parse().unwrap(), lock: Digest::of(b""), generation: None };
        let job = Job::Judge(JudgeJob {
            sweep: "s".parse().unwrap(),
            lock: Digest::of(b""),
            judge: "a/judge".parse().unwrap(),
            questions: Vec::new(),
            generation: None,
        });
        queue.declare_jobs("q").await.unwrap();
        queue.publish_jobs("q", vec![job]).await.unwrap();
        let held =
            Held::new(queue.consume_jobs("q", 1).await.unwrap().next().await.unwrap().receipt, &TaskTracker::new());
        let (attempts, holdings) = (Attempts::of("w".parse().unwrap()), Holdings::default());
        let batch = HeldBatch { sweep: "s".parse().unwrap(), id: "0a1b".to_owned(), generation: 0 };
        let origin = Origin::Batch(held, holdings.hold(batch.clone()));
        let troubled = queue.troubled(Troubles::new(slow.clone()));
        let (publisher, _publishing) =
            ConfirmingPublisher::start(troubled.clone(), WorkerMetrics::register(&Registry::new()).unwrap());
        publisher.leave(Publication { reports: vec![end.clone()], jobs: Vec::new(), origin }).await;
        let telling = tokio::spawn(tell(troubled, attempts, holdings.clone(), Duration::from_millis(250)));
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(120) {
            let Report::Progress(told) = next().await else { panic!("it is not confirmed") };
            assert_eq!(told.batches, std::slice::from_ref(&batch));
        }
        slow.0.cancel();
        assert_eq!(next().await, end);
        telling.abort();
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(holdings.progress(&"w".parse().unwrap()).is_empty());
    }
}
