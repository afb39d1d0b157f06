//! Jobs, as whoever plays the workers takes them.

use regatta_backends::Queue;
use regatta_catalog::Sweep;
use regatta_proto::{Job, SessionJob};

use crate::within;

/// The queue of the sweep's first endpoint, which is the only one of most tests.
#[must_use]
pub fn queue_of(sweep: &Sweep) -> String {
    let (name, endpoint) = sweep.lock.endpoints.first_key_value().unwrap();
    endpoint.queue(name, &sweep.id)
}

/// Takes the next `count` jobs of the queue `name`, each with the number of its deliveries before.
pub async fn take_jobs(queue: &Queue, name: &str, count: usize) -> Vec<(Job, u32)> {
    let mut consumer = queue.consume_jobs(name, count as u32).await.unwrap();
    let mut jobs = Vec::new();
    while jobs.len() < count {
        let delivery = within(consumer.next()).await.expect("the queue is open");
        delivery.receipt.ack().await;
        jobs.push((delivery.message, delivery.redeliveries));
    }
    jobs
}

/// The session that is asked for.
#[must_use]
pub fn session_of(job: Job) -> SessionJob {
    match job {
        Job::Session(job) => *job,
        other => panic!("nobody has asked for {other:?}"),
    }
}
