//! One sweep's trouble is set aside, and the reports of all others are recorded meanwhile.

use std::time::Duration;

use jiff::Timestamp;
use regatta_catalog::{Catalog, Sweep};
use regatta_proto::{
    AttemptId, AttemptTotals, Money, OpenAttempt, Progress, Report, SessionKey, SessionOutcome, SweepId, SweepState,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::stage::{BENCHMARKS, ITEMS, Stage, report, until};

/// Reports of the healthy sweep.
const REPORTS: usize = 1000;
/// Reports of the sweep without a lock.
const LOCKLESS: usize = 2 * ITEMS;

/// More attempts at the sessions of the stage's sweep than it has sessions.
fn reports_of(stage: &Stage) -> Vec<SessionOutcome> {
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

async fn recorded(stage: &Stage, sweep: &SweepId) -> u64 {
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
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { scorer.run(stop).await }
    });
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
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(stage.queue.dead_letters().await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_only_when_what_was_set_aside_before_it_is_recorded() {
    let stage = Stage::set().await.in_memory().await;
    let twin = stage.twin().await;
    let lock = stage.blob_folder().join(format!("locks/{}.json", twin.digest));
    let away = stage.blob_folder().join("away");
    std::fs::rename(&lock, &away).unwrap();
    let (scorer, _) = stage.scorer(100);
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { scorer.run(stop).await }
    });
    stage.queue.publish_reports(vec![report(&stage.session_of(&twin, 0, 0))]).await.unwrap();
    until(async || stage.queue.reports_set_aside().await.unwrap() == 1).await;
    // The lock comes back after the report has returned in vain, and before the question returns.
    tokio::time::sleep(Duration::from_secs(30)).await;
    let ask = |sweep: &SweepId| Report::Echo { sweep: sweep.clone(), number: 7, waited: false };
    stage.queue.publish_reports(vec![ask(&twin.id), ask(&stage.sweep.id)]).await.unwrap();
    until(async || stage.queue.reports_set_aside().await.unwrap() == 3).await;
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
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// A report that an attempt at the session of `key` runs.
fn running(key: SessionKey, id: &str) -> OpenAttempt {
    OpenAttempt {
        key,
        id: id.parse().unwrap(),
        number: 1,
        started_at: Timestamp::UNIX_EPOCH,
        totals: AttemptTotals::default(),
        in_flight_at_most: Some(Money(5)),
    }
}

/// A sweep that can be read, and that the ledger does not have.
async fn unknown(stage: &Stage) -> std::sync::Arc<Sweep> {
    let mut lock = stage.sweep.lock.clone();
    lock.seed += 1;
    Catalog::new(stage.blobs(), BENCHMARKS).store(&lock).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_workers_tell_of_a_sweep_that_is_gone_holds_up_nothing_of_others() {
    let stage = Stage::set().await.in_memory().await;
    let gone = SessionKey { sweep: "nobody".parse().unwrap(), ..stage.key(0, 0) };
    let open = vec![running(gone.clone(), "w-gone"), running(stage.key(1, 0), "w-here")];
    let mut reports = vec![Report::Progress(Progress::of_attempts("w".parse().unwrap(), open))];
    let (attempt, totals) = (stage.session(0, 0).attempt, AttemptTotals::default());
    reports.push(Report::HandedOver { key: gone, attempt, totals, taken_over: false });
    reports.extend(reports_of(&stage).iter().take(100).map(report));
    let begun = Instant::now();
    stage.queue.publish_reports(reports).await.unwrap();
    let (scorer, metrics) = stage.scorer(100);
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { scorer.run(stop).await }
    });
    until(async || stage.ledger.attempts(&stage.sweep.id).await.unwrap().len() == 101).await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!((metrics.failed_batches.get(), stage.queue.dead_letters().await.unwrap()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_session_of_a_sweep_that_the_ledger_does_not_have_is_refused_within_seconds() {
    let stage = Stage::set().await.in_memory().await;
    let unknown = unknown(&stage).await;
    let mut reports = vec![report(&stage.session_of(&unknown, 0, 0))];
    reports.extend(reports_of(&stage).iter().take(100).map(report));
    let begun = Instant::now();
    stage.queue.publish_reports(reports).await.unwrap();
    let (scorer, _) = stage.scorer(100);
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { scorer.run(stop).await }
    });
    until(async || stage.ledger.attempts(&stage.sweep.id).await.unwrap().len() == 100).await;
    until(async || stage.queue.dead_letters().await.unwrap() == 1).await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn reports_of_a_sweep_that_was_removed_are_dropped() {
    let stage = Stage::set().await.in_memory().await;
    let (twin, at) = (stage.twin().await, Timestamp::UNIX_EPOCH);
    stage.ledger.transition(&twin.id, &[SweepState::Running], SweepState::Cancelled, at).await.unwrap();
    assert!(stage.ledger.drop_sweep(&twin.id).await.unwrap());
    std::fs::remove_file(stage.blob_folder().join(format!("locks/{}.json", twin.digest))).unwrap();
    let ask = Report::Echo { sweep: twin.id.clone(), number: 1, waited: false };
    let tabulate = Report::Tabulate { sweep: twin.id.clone(), lock: twin.digest };
    let reports = vec![report(&stage.session_of(&twin, 0, 0)), ask, report(&stage.session(0, 0)), tabulate];
    let metrics = stage.score(reports).await;
    assert_eq!(recorded(&stage, &stage.sweep.id).await, 1);
    assert_eq!((metrics.failed_batches.get(), metrics.set_aside.get()), (0, 0));
    assert_eq!((stage.queue.reports_set_aside().await.unwrap(), stage.queue.dead_letters().await.unwrap()), (0, 0));
    let left = stage.blobs().list(&format!("sweeps/{}/", twin.id)).await.unwrap();
    assert_eq!(left, [""; 0], "nothing of it comes back");
}
