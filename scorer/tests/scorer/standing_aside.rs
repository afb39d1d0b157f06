//! A scorer whose stores are away keeps its partitions from nobody, and nothing of what it has been given is overtaken.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use regatta_backends::Queue;
use regatta_proto::{Partition, Report};

use crate::aside::{IsAway, reports_of};
use crate::stage::{Running, Stage, report, until};

/// Reports that are published: fewer than a scorer holds at once.
const REPORTS: usize = 100;
/// Partitions of the reports.
const PARTITIONS: u8 = 8;

async fn stage() -> Stage {
    let mut stage = Stage::set().await.in_memory().await;
    stage.queue = Queue::memory_divided(PARTITIONS);
    stage.queue.declare_jobs(&stage.judge_queue()).await.unwrap();
    stage
}

/// Fates of ledger and blobs, each of which is away where it says so.
fn fates(ledger: bool, blobs: bool) -> (Arc<IsAway>, Arc<IsAway>) {
    (Arc::new(IsAway(AtomicBool::new(ledger))), Arc::new(IsAway(AtomicBool::new(blobs))))
}

fn come_back(stores: [&IsAway; 2]) {
    for store in stores {
        store.0.store(false, Ordering::Relaxed);
    }
}

async fn begin(stage: &Stage, (ledger, blobs): (Arc<IsAway>, Arc<IsAway>)) -> Running {
    stage.scorer_of_stores(ledger, blobs).await
}

async fn publish(stage: &Stage) {
    stage.queue.publish_reports(reports_of(stage).iter().take(REPORTS).map(report).collect()).await.unwrap();
}

async fn ask(stage: &Stage, number: u64) {
    let ask = |partition| Report::Echo { sweep: stage.sweep.id.clone(), number, waited: false, partition };
    stage.queue.publish_reports(Partition::all(PARTITIONS).map(ask).collect()).await.unwrap();
}

async fn heard(stage: &Stage) -> u64 {
    stage.ledger.sweep(&stage.sweep.id).await.unwrap().unwrap().echo
}

async fn attempts(stage: &Stage) -> usize {
    stage.ledger.attempts(&stage.sweep.id).await.unwrap().len()
}

#[tokio::test(start_paused = true)]
async fn what_a_scorer_cannot_record_is_recorded_by_another_and_no_question_is_answered_before() {
    for (ledger, blobs) in [(true, false), (false, true)] {
        let stage = stage().await;
        let away = begin(&stage, fates(ledger, blobs)).await;
        let well = begin(&stage, fates(false, false)).await;
        publish(&stage).await;
        ask(&stage, 1).await;
        until(async || {
            let (heard, attempts) = (heard(&stage).await, attempts(&stage).await);
            assert!(heard == 0 || attempts == REPORTS, "answered with {attempts} recorded");
            heard == 1
        })
        .await;
        assert_eq!((stage.queue.waiting_reports().await.unwrap(), stage.queue.dead_letters().await.unwrap()), (0, 0));
        away.end().await;
        well.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_scorer_takes_reports_again_when_its_stores_are_back() {
    let stage = stage().await;
    let (ledger, blobs) = fates(true, true);
    let back = begin(&stage, (ledger.clone(), blobs.clone())).await;
    let ends = begin(&stage, fates(false, false)).await;
    publish(&stage).await;
    until(async || attempts(&stage).await == REPORTS).await;
    assert_eq!(stage.queue.report_consumers().await.unwrap(), 1, "it stands aside");
    assert!(back.consuming.missing().unwrap().starts_with("reports: not consumed: its stores do not answer"));
    assert_eq!(ends.consuming.missing(), None);
    come_back([&ledger, &blobs]);
    until(async || stage.queue.report_consumers().await.unwrap() == 2).await;
    until(async || back.consuming.missing().is_none()).await;
    assert!(back.health.stalled().is_none(), "it is ready, although it has recorded nothing since");
    ends.end().await;
    ask(&stage, 1).await;
    until(async || heard(&stage).await == 1).await;
    back.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_scorer_without_reports_takes_none_while_its_stores_are_away() {
    let stage = stage().await;
    let well = begin(&stage, fates(false, false)).await;
    let away = begin(&stage, fates(true, false)).await;
    until(async || stage.queue.report_consumers().await.unwrap() == 1).await;
    well.end().await;
    away.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_scorer_that_is_alone_keeps_its_reports_until_its_stores_are_back() {
    let stage = stage().await;
    let (ledger, blobs) = fates(true, true);
    let alone = begin(&stage, (ledger.clone(), blobs.clone())).await;
    publish(&stage).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((stage.queue.report_consumers().await.unwrap(), attempts(&stage).await), (1, 0));
    come_back([&ledger, &blobs]);
    until(async || attempts(&stage).await == REPORTS).await;
    alone.end().await;
}

#[tokio::test(start_paused = true)]
async fn no_report_becomes_a_dead_letter_while_the_stores_of_many_scorers_are_away() {
    let stage = stage().await;
    let (ledger, blobs) = fates(true, true);
    let mut scorers = Vec::new();
    for _ in 0..30 {
        scorers.push(begin(&stage, (ledger.clone(), blobs.clone())).await);
    }
    publish(&stage).await;
    tokio::time::sleep(Duration::from_secs(2 * 3600)).await;
    assert_eq!((attempts(&stage).await, stage.queue.dead_letters().await.unwrap()), (0, 0));
    come_back([&ledger, &blobs]);
    until(async || attempts(&stage).await == REPORTS).await;
    for scorer in scorers {
        scorer.end().await;
    }
}
