use std::collections::BTreeSet;

use regatta_proto::{Money, SweepState};

use crate::stage::{Stage, spec, tabulate};

#[tokio::test]
async fn never_more_than_a_window_of_sessions_is_outstanding() {
    let mut stage = Stage::set().await;
    stage.config.window = 8;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "trials: 5")).await;
    stage.until_waiting(&sweep, 8).await;
    let jobs = stage.take(&sweep, 8).await;
    stage.round().await;
    assert_eq!(stage.waiting(&sweep).await, 0, "taken is not finished");
    stage.finish(&sweep, &jobs[..1], Money::ZERO).await;
    stage.round().await;
    assert_eq!(stage.waiting(&sweep).await, 0, "a queue is topped up when a quarter of it is empty");
    stage.finish(&sweep, &jobs[1..4], Money::ZERO).await;
    stage.until_waiting(&sweep, 4).await;
    process.end().await;
}

#[tokio::test]
async fn the_window_is_never_smaller_than_what_the_endpoint_can_have_in_hand() {
    let mut stage = Stage::set().await;
    stage.config.window = 8;
    let process = stage.start();
    let text = spec("s", 6, "trials: 20").replace("concurrency: 2", "concurrency: 10");
    let sweep = stage.submit(&process, &text).await;
    stage.until_waiting(&sweep, 30).await;
    let jobs = stage.take(&sweep, 30).await;
    stage.finish(&sweep, &jobs[..8], Money::ZERO).await;
    stage.until_waiting(&sweep, 8).await;
    process.end().await;
}

#[tokio::test]
async fn every_session_is_dispatched_once_and_then_the_sweep_is_tabulated() {
    let mut stage = Stage::set().await;
    stage.config.window = 16;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 6, "trials: 5")).await;
    let sessions: usize = sweep.cells().iter().map(|cell| sweep.selected(cell).len()).sum();
    let mut seen = BTreeSet::new();
    while seen.len() < sessions {
        for job in stage.take(&sweep, 1).await {
            assert_eq!(job.attempt, 1);
            assert!(seen.insert(job.key.clone()), "{} came twice", job.key);
            assert_eq!(stage.state(&sweep.id).await, SweepState::Running);
            stage.finish(&sweep, &[job], Money::ZERO).await;
        }
    }
    assert_eq!(stage.report().await, tabulate(&sweep));
    assert_eq!(stage.state(&sweep.id).await, SweepState::Tabulating);
    stage.round().await;
    assert_eq!(stage.waiting(&sweep).await, 0);
    process.end().await;
}

#[tokio::test]
async fn no_sweep_waits_behind_the_jobs_of_another_at_the_same_endpoint() {
    let mut stage = Stage::set().await;
    stage.config.window = 8;
    let process = stage.start();
    let one = stage.submit(&process, &spec("one", 6, "trials: 5")).await;
    stage.until_waiting(&one, 8).await;
    let two = stage.submit(&process, &spec("two", 6, "trials: 5")).await;
    stage.until_waiting(&two, 8).await;
    let jobs = stage.take(&two, 8).await;
    assert!(jobs.iter().all(|job| job.key.sweep == two.id));
    process.end().await;
}

#[tokio::test]
async fn sweeps_at_one_provider_draw_on_one_pool_each_with_its_share() {
    let stage = Stage::set().await;
    let mut process = stage.process();
    stage.submit(&process, &spec("one", 2, "")).await;
    stage.submit(&process, &spec("two", 2, "share: { weight: 3 }")).await;
    process.work();
    let told = stage.told().await;
    let weights: Vec<u32> = told.routes.iter().map(|route| route.share.weight).collect();
    assert_eq!((told.routes.len(), weights), (2, vec![1, 3]));
    assert_eq!(told.routes[0].pool, told.routes[1].pool);
    process.end().await;
}

#[tokio::test]
async fn workers_are_told_of_the_queues_of_running_sweeps_only() {
    let stage = Stage::set().await;
    let process = stage.start();
    assert!(stage.told().await.routes.is_empty());
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    let told = stage.told().await;
    assert_eq!(told.routes.len(), 1);
    assert_eq!(told.routes[0].queue, crate::stage::queue_of(&sweep));
    let count = stage.waiting(&sweep).await as usize;
    let jobs = stage.take(&sweep, count).await;
    stage.finish(&sweep, &jobs, Money::ZERO).await;
    assert_eq!(stage.report().await, tabulate(&sweep));
    let ended = [SweepState::Tabulating];
    assert!(
        stage.ledger.transition(&sweep.id, &ended, SweepState::Complete, jiff::Timestamp::UNIX_EPOCH).await.unwrap()
    );
    assert!(stage.told().await.routes.is_empty());
    process.end().await;
}
