//! Workers tell of what they hold every ten seconds, whatever else of the process is held up: the work of the silent is dispatched again.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use regatta_backends::faults::{Fate, Way};
use regatta_proto::{CellIndex, Digest, Report};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::stage::{Reports, Stage};

/// Time after which the work of a worker counts as lost, and some.
const SILENCE: Duration = Duration::from_secs(120);

/// A broker that does not answer calls of one kind until they are let through.
struct HeldUp {
    is_held_up: fn(Way<'_>) -> bool,
    let_through: CancellationToken,
}

impl HeldUp {
    fn where_it(is_held_up: fn(Way<'_>) -> bool) -> Arc<Self> {
        Arc::new(Self { is_held_up, let_through: CancellationToken::new() })
    }
}

impl Fate for HeldUp {
    fn on<'a>(&'a self, way: Way<'a>) -> BoxFuture<'a, ()> {
        let is_held_up = (self.is_held_up)(way);
        Box::pin(async move {
            if is_held_up {
                self.let_through.cancelled().await;
            }
        })
    }
}

/// Reads reports of one attempt for `time`, with no more than ten seconds and a tick between two of them.
async fn told_for(reports: &mut Reports, time: Duration) {
    let (begun, mut last) = (Instant::now(), Instant::now());
    while begun.elapsed() < time {
        reports.progress(|_| true).await;
        assert!(last.elapsed() < Duration::from_secs(11), "nothing was told for {:?}", last.elapsed());
        last = Instant::now();
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_is_told_of_until_its_outcome_is_confirmed() {
    let stage = Stage::set().await;
    let mut job = stage.job(0, 0);
    job.key.cell = CellIndex(99);
    stage.publish([job.clone()]).await;
    let mut reports = stage.reports().await;
    stage.tell(vec![stage.route.clone()], Vec::new()).await;
    let broker = HeldUp::where_it(|way| way == Way::Reports);
    let worker = stage.start_behind("w", broker.clone());
    told_for(&mut reports, SILENCE).await;
    broker.let_through.cancel();
    assert_eq!(reports.outcome().await.key, job.key);
    worker.leave().await;
    assert!(reports.rest(&stage.queue).await.is_empty());
    assert_eq!(stage.waiting().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_leaves_tells_of_a_session_until_its_handing_over_is_confirmed() {
    let stage = Stage::set().await;
    let mut job = stage.job(0, 0);
    job.lock = Digest::of(b"nowhere");
    stage.publish([job]).await;
    let mut reports = stage.reports().await;
    stage.tell(vec![stage.route.clone()], Vec::new()).await;
    let broker = HeldUp::where_it(|way| way == Way::Reports);
    let worker = stage.start_behind("w", broker.clone());
    reports.progress(|_| true).await;
    worker.lifecycle.drain.cancel();
    worker.lifecycle.stop.cancel();
    told_for(&mut reports, Duration::from_secs(5)).await;
    broker.let_through.cancel();
    let handed_over = reports.result().await;
    assert!(matches!(handed_over, Report::HandedOver { .. }), "{handed_over:?}");
    worker.leave().await;
    assert!(reports.rest(&stage.queue).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn sessions_are_told_of_while_another_queue_does_not_answer() {
    let stage = Stage::set().await;
    // Waited for in vain, for two minutes and more.
    let mut job = stage.job(0, 0);
    job.lock = Digest::of(b"nowhere");
    stage.publish([job]).await;
    let mut reports = stage.reports().await;
    stage.tell(vec![stage.route.clone()], Vec::new()).await;
    let broker = HeldUp::where_it(|way| way == Way::Queue("leaderless"));
    let worker = stage.start_behind("w", broker.clone());
    reports.progress(|_| true).await;
    let mut leaderless = stage.route.clone();
    leaderless.queue = "leaderless".to_owned();
    stage.tell(vec![stage.route.clone(), leaderless], Vec::new()).await;
    told_for(&mut reports, Duration::from_secs(100)).await;
    broker.let_through.cancel();
    reports.outcome().await;
    worker.leave().await;
}
