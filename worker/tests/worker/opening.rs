//! Endpoints are opened beside everything else, each until it is open or not told of any more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use regatta_backends::Blobs;
use regatta_backends::faults::{Fate, Trouble};
use regatta_proto::{Digest, EndpointRoute, Job};
use regatta_tests::Logged;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::stage::{Stage, within};

const SECOND: Duration = Duration::from_secs(1);

/// Verdicts on the pair of texts that all judge jobs of these tests ask about.
const VERDICTS: &str = r#"{"pred_texts": ["a"], "gold_texts": ["b"], "sim": [[0.5]]}"#;

/// A bucket that does not answer the first request until it is released, and answers all others at once.
#[derive(Default)]
struct Stalling {
    has_stalled: AtomicBool,
    released: Notify,
}

impl Fate for Stalling {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        Box::pin(async {
            if !self.has_stalled.swap(true, Ordering::Relaxed) {
                self.released.notified().await;
            }
            Ok(())
        })
    }
}

/// A bucket that notes when it is asked.
struct Noting {
    begun: Instant,
    requests: Mutex<Vec<u64>>,
}

impl Noting {
    fn new() -> Arc<Self> {
        Arc::new(Self { begun: Instant::now(), requests: Mutex::default() })
    }

    /// Seconds at which something was asked for, each once.
    fn seconds(&self) -> Vec<u64> {
        let mut seconds = self.requests.lock().unwrap().clone();
        seconds.dedup();
        seconds
    }

    fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

impl Fate for Noting {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        self.requests.lock().unwrap().push(self.begun.elapsed().as_secs());
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A broker that fails each call while it is away.
#[derive(Default)]
struct Away(AtomicBool);

impl Fate for Away {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        let is_away = self.0.load(Ordering::Relaxed);
        Box::pin(std::future::ready(if is_away { Err(Trouble) } else { Ok(()) }))
    }
}

async fn store(blobs: &Blobs, lines: &str) -> Digest {
    blobs.put_content(lines.to_owned().into()).await.unwrap()
}

/// Publishes a question that the endpoint of `route` can answer.
async fn ask(stage: &Stage, route: &EndpointRoute) {
    stage.queue.declare_jobs(&route.queue).await.unwrap();
    let job = Job::Judge(stage.judge_job(&[("a", "b")]));
    stage.queue.publish_jobs(&route.queue, vec![job]).await.unwrap();
}

/// Waits until nobody has anything to do any more at this time.
async fn idle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_opens_slowly_holds_up_nobody_else() {
    let mut stage = Stage::set().await;
    let bucket = Arc::new(Stalling::default());
    let blobs = stage.read_behind(bucket.clone()).await;
    let slow = stage.recorded("slow", store(&blobs, &format!("\n{VERDICTS}")).await);
    let good = stage.recorded("good", store(&blobs, VERDICTS).await);
    let mut reports = stage.reports().await;
    ask(&stage, &slow).await;
    ask(&stage, &good).await;
    stage.tell(vec![slow.clone(), good.clone()], Vec::new()).await;
    let worker = stage.start_untold("w", |_| {});
    assert_eq!(reports.verdicts().await.verdicts.len(), 1, "of the other endpoint");

    // Cancels are heard.
    stage.tell(vec![slow.clone(), good.clone()], vec![stage.sweep.id.clone()]).await;
    idle().await;
    ask(&stage, &good).await;
    within(async {
        while worker.ended("dropped") == 0 {
            idle().await;
        }
    })
    .await;
    stage.tell(vec![slow, good], Vec::new()).await;
    idle().await;

    bucket.released.notify_one();
    assert_eq!(reports.verdicts().await.verdicts.len(), 1, "of the slow one, when it is open");
    assert_eq!(worker.metrics.endpoints_unserved.get(), 0, "slow is not broken");
    worker.leave().await;
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_is_consumed_once_all_that_its_sessions_need_beside_it_is_open() {
    let mut stage = Stage::set().await;
    let bucket = Arc::new(Stalling::default());
    let blobs = stage.read_behind(bucket.clone()).await;
    let slow = stage.recorded("slow", store(&blobs, &format!("\n{VERDICTS}")).await);
    let mut needing = stage.recorded("needing", store(&blobs, VERDICTS).await);
    needing.needs.push(slow.name.clone());
    let mut reports = stage.reports().await;
    ask(&stage, &needing).await;
    let (log, _listening) = Logged::listen();
    stage.tell(vec![slow, needing.clone()], Vec::new()).await;
    let worker = stage.start_untold("w", |config| config.endpoints = Some([needing.name.clone()].into()));
    tokio::time::sleep(SECOND * 60).await;
    assert_eq!(stage.queue.depth(&needing.queue).await.unwrap(), 1, "it is not taken");
    bucket.released.notify_one();
    assert_eq!(reports.verdicts().await.verdicts.len(), 1);
    worker.leave().await;
    assert!(!log.lines().iter().any(|line| line.contains("cannot serve")), "{:?}", log.lines());
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_cannot_be_opened_is_tried_again_with_growing_pauses() {
    let mut stage = Stage::set().await;
    let bucket = Noting::new();
    let blobs = stage.read_behind(bucket.clone()).await;
    let away = stage.recorded("away", Digest::of(VERDICTS.as_bytes()));
    let mut reports = stage.reports().await;
    ask(&stage, &away).await;
    let (log, _listening) = Logged::listen();
    let worker = stage.start_untold("w", |_| {});
    // As coordinators do.
    for _ in 0..125 {
        stage.tell(vec![away.clone()], Vec::new()).await;
        tokio::time::sleep(SECOND * 2).await;
    }
    assert_eq!(bucket.seconds(), [0, 2, 6, 14, 30, 62, 122, 182, 242]);
    assert_eq!(worker.metrics.endpoints_unserved.get(), 1);
    assert_eq!(worker.consuming.missing(), None, "a spec whose endpoint cannot be opened says nothing of the worker");
    let told = log.lines().into_iter().filter(|line| line.contains("cannot serve this endpoint")).collect::<Vec<_>>();
    assert!(told[0].contains("away") && told[0].contains("is not stored"), "{told:?}");
    assert!(told.len() < 6, "less and less often: {told:?}");

    store(&blobs, VERDICTS).await;
    assert_eq!(reports.verdicts().await.verdicts.len(), 1);
    assert_eq!(worker.metrics.endpoints_unserved.get(), 0);
    worker.leave().await;
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_is_not_told_of_any_more_is_not_tried_again() {
    let mut stage = Stage::set().await;
    let bucket = Noting::new();
    stage.read_behind(bucket.clone()).await;
    let away = stage.recorded("away", Digest::of(VERDICTS.as_bytes()));
    let worker = stage.start_untold("w", |_| {});
    stage.tell(vec![away], Vec::new()).await;
    tokio::time::sleep(SECOND * 10).await;
    assert_eq!((bucket.seconds(), worker.metrics.endpoints_unserved.get()), (vec![0, 2, 6], 1));
    stage.tell(Vec::new(), Vec::new()).await;
    tokio::time::sleep(SECOND * 600).await;
    assert_eq!((bucket.seconds(), worker.metrics.endpoints_unserved.get()), (vec![0, 2, 6], 0));
    worker.leave().await;
}

#[tokio::test(start_paused = true)]
async fn verdicts_that_many_endpoints_name_are_read_once() {
    let mut stage = Stage::set().await;
    let bucket = Noting::new();
    let blobs = stage.read_behind(bucket.clone()).await;
    let stored = store(&blobs, VERDICTS).await;
    let routes: Vec<_> = (0..5).map(|number| stage.recorded(&format!("judge-{number}"), stored)).collect();
    let mut reports = stage.reports().await;
    stage.tell(routes.clone(), Vec::new()).await;
    let worker = stage.start_untold("w", |_| {});
    idle().await;
    let before = bucket.count();
    assert_eq!(before, 2, "its size, and then its bytes");
    for route in &routes {
        ask(&stage, route).await;
        assert_eq!(reports.verdicts().await.verdicts.len(), 1);
    }
    worker.leave().await;
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_cannot_be_consumed_is_told_of_less_and_less_often_and_its_worker_lacks_it() {
    let mut stage = Stage::set().await;
    let blobs = stage.read_behind(Noting::new()).await;
    let good = stage.recorded("good", store(&blobs, VERDICTS).await);
    let mut reports = stage.reports().await;
    ask(&stage, &good).await;
    let (log, _listening) = Logged::listen();
    let broker = Arc::new(Away::default());
    let worker = stage.start_behind("w", broker.clone());
    assert_eq!(worker.consuming.missing().unwrap(), "the coordinator's broadcasts: not consumed: it has not begun");
    idle().await;
    assert_eq!(worker.consuming.missing(), None);
    broker.0.store(true, Ordering::Relaxed);
    let tell_for = async |times: u32| {
        for _ in 0..times {
            stage.tell(vec![good.clone()], Vec::new()).await;
            tokio::time::sleep(SECOND * 2).await;
        }
    };
    tell_for(60).await;
    assert_eq!(worker.metrics.endpoints_unserved.get(), 1);
    let told = log.lines().into_iter().filter(|line| line.contains("cannot serve this endpoint")).collect::<Vec<_>>();
    assert!((1..6).contains(&told.len()), "{told:?}");
    let missing = worker.consuming.missing().unwrap();
    assert!(missing.starts_with("good: not consumed: "), "{missing}");

    broker.0.store(false, Ordering::Relaxed);
    tell_for(31).await;
    assert_eq!(reports.verdicts().await.verdicts.len(), 1);
    assert_eq!((worker.metrics.endpoints_unserved.get(), worker.consuming.missing()), (0, None));
    worker.leave().await;
}
