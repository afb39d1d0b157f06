//! One sweep's trouble is set aside, and the reports of all others are recorded meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use regatta_backends::faults::{Fate, Trouble};
use regatta_proto::{AttemptId, Partition, Report, SessionOutcome, SweepId};
use tokio::time::Instant;

use crate::stage::{ITEMS, Running, Stage, report, until};

/// Reports of the healthy sweep.
const REPORTS: usize = 1000;
/// Reports of the sweep without a lock.
const LOCKLESS: usize = 2 * ITEMS;

/// More attempts at the sessions of the stage's sweep than it has sessions.
pub(crate) fn reports_of(stage: &Stage) -> Vec<SessionOutcome> {
    let sessions: Vec<_> = (0..2).flat_map(|cell| (0..ITEMS).map(move |item| (cell, item))).collect();
    let turns = sessions.iter().cycle().zip(0..REPORTS);
    turns
        .map(|(&(cell, item), number)| {
            let mut session = stage.again(&stage.session(cell, item), 1 + number as u32);
            session.attempt.id = format!("w-{number}").parse::<AttemptId>().unwrap();
            session
        })
        .collect()
}

pub(crate) async fn recorded(stage: &Stage, sweep: &SweepId) -> u64 {
    stage.ledger.cell_progress(sweep).await.unwrap().iter().map(|cell| cell.recorded).sum()
}

#[tokio::test(start_paused = true)]
async fn a_sweep_without_its_lock_holds_up_no_other_and_is_recorded_when_the_lock_is_back() {
    let stage = Stage::set().await.in_memory().await;
    let twin = stage.twin().await;
    let lockless: Vec<_> = (0..2)
        .flat_map(|cell| (0..ITEMS).map(move |item| (cell, item)))
        .map(|(cell, item)| report(&stage.session_of(&twin, cell, item)))
        .collect();
    let lock = stage.blob_folder().join(format!("locks/{}.json", twin.digest));
    let away = stage.blob_folder().join("away");
    std::fs::rename(&lock, &away).unwrap();
    // Both mixed, so that each batch meets the sweep that cannot be read.
    let mut mixed = Vec::new();
    let mut others = lockless.into_iter();
    for (number, session) in reports_of(&stage).iter().enumerate() {
        mixed.push(report(session));
        if number % (REPORTS / LOCKLESS) == 0 {
            mixed.extend(others.next());
        }
    }
    let begun = Instant::now();
    stage.queue.publish_reports(mixed).await.unwrap();
    let (scorer, metrics) = stage.scorer(100);
    let running = Running::of(scorer);
    until(async || stage.ledger.attempts(&stage.sweep.id).await.unwrap().len() == REPORTS).await;
    // Without a pause: whoever tried the other sweep again would need minutes.
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(metrics.failed_batches.get(), 0);
    assert_eq!(stage.queue.reports_set_aside().await.unwrap(), LOCKLESS as u64);
    // For as long as it takes, far beyond what a redelivered report would live.
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!((recorded(&stage, &twin.id).await, stage.queue.dead_letters().await.unwrap()), (0, 0));
    assert!(metrics.set_aside.get() > 50 * LOCKLESS as u64, "{}", metrics.set_aside.get());
    std::fs::rename(&away, &lock).unwrap();
    until(async || recorded(&stage, &twin.id).await == LOCKLESS as u64).await;
    assert_eq!(stage.queue.reports_set_aside().await.unwrap(), 0);
    running.end().await;
    assert_eq!(stage.queue.dead_letters().await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_only_when_what_was_set_aside_before_it_is_recorded() {
    let stage = Stage::set().await.in_memory().await;
    let twin = stage.twin().await;
    let lock = stage.blob_folder().join(format!("locks/{}.json", twin.digest));
    let away = stage.blob_folder().join("away");
    std::fs::rename(&lock, &away).unwrap();
    let (scorer, metrics) = stage.scorer(100);
    let running = Running::of(scorer);
    stage.queue.publish_reports(vec![report(&stage.session_of(&twin, 0, 0))]).await.unwrap();
    until(async || stage.queue.reports_set_aside().await.unwrap() == 1).await;
    // The lock comes back after the report has returned in vain, and before the question returns.
    tokio::time::sleep(Duration::from_secs(30)).await;
    let ask =
        |sweep: &SweepId| Report::Echo { sweep: sweep.clone(), number: 7, waited: false, partition: Partition::WHOLE };
    stage.queue.publish_reports(vec![ask(&twin.id), ask(&stage.sweep.id)]).await.unwrap();
    until(async || metrics.set_aside.get() == 3).await;
    tokio::time::sleep(Duration::from_secs(45)).await;
    std::fs::rename(&away, &lock).unwrap();
    let heard = async |sweep: &SweepId| stage.ledger.sweep(sweep).await.unwrap().unwrap().echo;
    until(async || {
        let (echo, recorded) = (heard(&twin.id).await, recorded(&stage, &twin.id).await);
        assert!(echo == 0 || recorded == 1, "answered before what was reported earlier is recorded");
        echo == 7
    })
    .await;
    // The other sweep's question has waited for a minute: what was set aside might have been of its sweep.
    until(async || heard(&stage.sweep.id).await == 7).await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_question_that_waits_has_no_other_wait_for_it() {
    let stage = Stage::set().await.in_memory().await;
    let twin = stage.twin().await;
    let lock = stage.blob_folder().join(format!("locks/{}.json", twin.digest));
    let away = stage.blob_folder().join("away");
    std::fs::rename(&lock, &away).unwrap();
    let (scorer, metrics) = stage.scorer(100);
    let running = Running::of(scorer);
    let ask =
        |number| Report::Echo { sweep: stage.sweep.id.clone(), number, waited: false, partition: Partition::WHOLE };
    // Its data are read once.
    stage.queue.publish_reports(vec![report(&stage.session(0, 0))]).await.unwrap();
    until(async || recorded(&stage, &stage.sweep.id).await == 1).await;
    stage.queue.publish_reports(vec![report(&stage.session_of(&twin, 0, 0))]).await.unwrap();
    until(async || metrics.set_aside.get() == 1).await;
    std::fs::rename(&away, &lock).unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    stage.queue.publish_reports(vec![ask(1)]).await.unwrap();
    until(async || metrics.set_aside.get() == 2).await;
    until(async || recorded(&stage, &twin.id).await == 1).await;
    let asked_at = Instant::now();
    stage.queue.publish_reports(vec![ask(2)]).await.unwrap();
    until(async || stage.ledger.sweep(&stage.sweep.id).await.unwrap().unwrap().echo == 2).await;
    assert!(asked_at.elapsed() < Duration::from_secs(1), "{:?}", asked_at.elapsed());
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_question_that_the_ledger_refuses_is_a_dead_letter_and_holds_up_no_other() {
    let stage = Stage::set().await.in_memory().await;
    let ask = |partition| Report::Echo { sweep: stage.sweep.id.clone(), number: 1, waited: false, partition };
    stage.queue.publish_reports(vec![ask(Partition { number: 7, of: 3 }), ask(Partition::WHOLE)]).await.unwrap();
    let (scorer, _) = stage.scorer(100);
    let running = Running::of(scorer);
    until(async || stage.ledger.sweep(&stage.sweep.id).await.unwrap().unwrap().echo == 1).await;
    until(async || stage.queue.dead_letters().await.unwrap() == 1).await;
    running.end().await;
}

/// A store, or a broker, that answers nothing for a while.
#[derive(Default)]
pub(crate) struct IsAway(pub(crate) AtomicBool);

impl Fate for IsAway {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async { if self.0.load(Ordering::Relaxed) { Err(Trouble) } else { Ok(()) } }.boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_as_soon_as_the_broker_is_back_that_knows_of_nothing_set_aside() {
    let stage = Stage::set().await.in_memory().await;
    let fate = Arc::<IsAway>::default();
    let (running, metrics) = stage.scorer_of_a_broker(fate.clone()).await;
    fate.0.store(true, Ordering::Relaxed);
    stage
        .queue
        .publish_reports(vec![Report::Echo {
            sweep: stage.sweep.id.clone(),
            number: 1,
            waited: false,
            partition: Partition::WHOLE,
        }])
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    fate.0.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(stage.ledger.sweep(&stage.sweep.id).await.unwrap().unwrap().echo, 1);
    assert_eq!(metrics.set_aside.get(), 0);
    running.end().await;
}
