//! Messages about sweeps that were removed, or that nobody knows, are dropped, and hold up no others.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use regatta_catalog::{Catalog, Sweep};
use regatta_proto::{AttemptTotals, Money, OpenAttempt, Partition, Progress, Report, SessionKey, SweepState};
use tokio::time::Instant;

use crate::aside::{recorded, reports_of};
use crate::stage::{BENCHMARKS, Running, Stage, report, until};

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
async fn unknown(stage: &Stage) -> Arc<Sweep> {
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
    let running = Running::of(scorer);
    until(async || stage.ledger.attempts(&stage.sweep.id).await.unwrap().len() == 101).await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    running.end().await;
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
    let running = Running::of(scorer);
    until(async || stage.ledger.attempts(&stage.sweep.id).await.unwrap().len() == 100).await;
    until(async || stage.queue.dead_letters().await.unwrap() == 1).await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn reports_of_a_sweep_that_was_removed_are_dropped() {
    let stage = Stage::set().await.in_memory().await;
    let (twin, at) = (stage.twin().await, Timestamp::UNIX_EPOCH);
    stage.ledger.transition(&twin.id, &[SweepState::Running], SweepState::Cancelled, at).await.unwrap();
    assert!(stage.ledger.drop_sweep(&twin.id).await.unwrap());
    std::fs::remove_file(stage.blob_folder().join(format!("locks/{}.json", twin.digest))).unwrap();
    let ask = Report::Echo { sweep: twin.id.clone(), number: 1, waited: false, partition: Partition::WHOLE };
    let tabulate = Report::Tabulate { sweep: twin.id.clone(), lock: twin.digest, generation: None };
    let reports = vec![report(&stage.session_of(&twin, 0, 0)), ask, report(&stage.session(0, 0)), tabulate];
    let metrics = stage.score(reports).await;
    assert_eq!(recorded(&stage, &stage.sweep.id).await, 1);
    assert_eq!((metrics.failed_batches.get(), metrics.set_aside.get()), (0, 0));
    assert_eq!((stage.queue.reports_set_aside().await.unwrap(), stage.queue.dead_letters().await.unwrap()), (0, 0));
    let left = stage.blobs().list(&format!("sweeps/{}/", twin.id)).await.unwrap();
    assert_eq!(left, [""; 0], "nothing of it comes back");
}
