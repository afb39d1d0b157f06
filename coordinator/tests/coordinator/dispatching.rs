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
    stage.finish(&sweep, &jobs[..2], Money::ZERO).await;
    stage.round().await;
    assert_eq!(stage.waiting(&sweep).await, 0, "a queue is topped up when it is half empty");
    stage.finish(&sweep, &jobs[2..5], Money::ZERO).await;
    stage.until_waiting(&sweep, 5).await;
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
async fn sweeps_that_share_a_queue_share_its_window() {
    let mut stage = Stage::set().await;
    stage.config.window = 8;
    let mut process = stage.process();
    let one = stage.submit(&process, &spec("one", 6, "trials: 3")).await;
    let two = stage.submit(&process, &spec("two", 6, "trials: 3")).await;
    process.work();
    stage.until_waiting(&one, 8).await;
    stage.round().await;
    let jobs = stage.take(&one, 8).await;
    let of_one = jobs.iter().filter(|job| job.key.sweep == one.id).count();
    assert_eq!((of_one, jobs.len() - of_one), (4, 4));
    assert_eq!(stage.waiting(&two).await, 0);
    process.end().await;
}

#[tokio::test]
async fn a_later_sweep_gets_its_share_as_the_earlier_one_goes_on() {
    let mut stage = Stage::set().await;
    stage.config.window = 8;
    let process = stage.start();
    let one = stage.submit(&process, &spec("one", 6, "trials: 5")).await;
    stage.until_waiting(&one, 8).await;
    let two = stage.submit(&process, &spec("two", 6, "")).await;
    stage.round().await;
    assert_eq!(stage.waiting(&two).await, 8, "the window is full");
    let jobs = stage.take(&one, 8).await;
    stage.finish(&one, &jobs, Money::ZERO).await;
    stage.until_waiting(&one, 8).await;
    let next = stage.take(&one, 8).await;
    assert_eq!(next.iter().filter(|job| job.key.sweep == two.id).count(), 4);
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
