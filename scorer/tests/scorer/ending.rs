use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::SignedDuration;
use regatta_backends::faults::{Fate, Trouble, Troubles};
use regatta_backends::{AttemptState, Blobs, Ledger, Quota};
use regatta_catalog::{Catalog, checkpoint_key};
use regatta_proto::{
    AttemptTotals, Cause, CostSum, OpenAttempt, Outcome, Progress, Report, SessionOutcome, SweepId, SweepState,
};
use regatta_report::DOCUMENTS;

use crate::stage::{BENCHMARKS, CALL, ITEMS, Stage, attempt, report};

/// The outcomes of all sessions, and every answer that scoring them takes.
fn everything(stage: &Stage, outcome: impl Fn(&SessionOutcome) -> Outcome) -> Vec<Report> {
    let mut reports = Vec::new();
    for (cell, item) in (0..2).flat_map(|cell| (0..ITEMS).map(move |item| (cell, item))) {
        let mut session = stage.session(cell, item);
        session.outcome = outcome(&session);
        let questions = stage.questions(&session);
        reports.push(report(&session));
        if !questions.is_empty() {
            reports.push(Report::Judge(stage.judged(&format!("j-{cell}-{item}"), &questions, true)));
        }
    }
    reports
}

async fn documents(stage: &Stage) -> BTreeMap<String, Bytes> {
    let prefix = format!("sweeps/{}/", stage.sweep.id);
    let mut documents = BTreeMap::new();
    for key in stage.blobs().list(&prefix).await.unwrap() {
        let name = key.strip_prefix(&prefix).unwrap().to_owned();
        if !name.starts_with("transcripts/") {
            documents.insert(name, stage.blobs().get(&key).await.unwrap().unwrap());
        }
    }
    documents
}

#[tokio::test]
async fn a_finished_sweep_leaves_its_documents_and_its_metrics_behind_and_is_complete() {
    let mut stage = Stage::set().await;
    stage.score(everything(&stage, |_| Outcome::Measured)).await;
    stage.transition(SweepState::Running, SweepState::Tabulating).await;
    stage.score(vec![stage.tabulate()]).await;
    assert_eq!(stage.state().await, SweepState::Complete);
    let found = documents(&stage).await;
    let (tables, others): (Vec<&str>, Vec<&str>) =
        found.keys().map(String::as_str).partition(|name| name.starts_with("table-"));
    assert_eq!((others.as_slice(), tables.is_empty()), (&DOCUMENTS[..], false));
    assert!(found.values().all(|content| !content.is_empty()), "{found:?}");
    assert_eq!(found["results.jsonl"].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count(), 2 * ITEMS);
    assert!(!stage.ledger.metrics(&stage.sweep.id).await.unwrap().is_empty());
    assert!(stage.ledger.sweep(&stage.sweep.id).await.unwrap().unwrap().ended_at.is_some());

    stage.now += SignedDuration::from_secs(90);
    stage.score(vec![stage.tabulate()]).await;
    assert_eq!(documents(&stage).await, found, "said again, even later, it is written as it was");
}

/// Lets a cancelled sweep be resumed as soon as something is read or written.
struct IsResumed {
    ledger: Ledger,
    sweep: SweepId,
    waits: AtomicBool,
}

impl Fate for IsResumed {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async {
            if self.waits.swap(false, Ordering::Relaxed) {
                let cancelled = SweepState::Cancelled;
                self.ledger.resume(&self.sweep, cancelled, None, Quota::default()).await.unwrap().unwrap();
            }
            Ok(())
        }
        .boxed()
    }
}

#[tokio::test]
async fn checkpoints_of_a_sweep_go_with_its_end_unless_it_was_resumed_meanwhile() {
    for is_resumed in [false, true] {
        let mut stage = Stage::set().await;
        let (checkpoint, blobs) = (checkpoint_key(&stage.key(0, 0)), Blobs::memory());
        for key in stage.blobs().list("").await.unwrap() {
            blobs.put(&key, stage.blobs().get(&key).await.unwrap().unwrap()).await.unwrap();
        }
        blobs.put(&checkpoint, Bytes::from_static(b"calls")).await.unwrap();
        stage.transition(SweepState::Running, SweepState::Cancelled).await;
        let (ledger, sweep) = (stage.ledger.clone(), stage.sweep.id.clone());
        let fate = Arc::new(IsResumed { ledger, sweep, waits: AtomicBool::new(false) });
        let catalog = Catalog::new(blobs.troubled(Troubles::new(fate.clone())), BENCHMARKS);
        catalog.sweep(&stage.sweep.digest).await.unwrap();
        stage.catalog = Some(catalog);
        fate.waits.store(is_resumed, Ordering::Relaxed);
        stage.score(vec![stage.tabulate()]).await;
        assert!(!fate.waits.load(Ordering::Relaxed));
        assert_eq!(blobs.get(&checkpoint).await.unwrap().is_some(), is_resumed);
    }
}

#[tokio::test]
async fn a_sweep_with_unmeasured_sessions_is_incomplete() {
    let stage = Stage::set().await;
    let unmeasured = stage.key(1, 0);
    let outcome = |session: &SessionOutcome| match session.key == unmeasured {
        true => Outcome::NotMeasured { cause: Cause::EndpointUnavailable },
        false => Outcome::Measured,
    };
    stage.score(everything(&stage, outcome)).await;
    stage.transition(SweepState::Running, SweepState::Tabulating).await;
    stage.score(vec![stage.tabulate()]).await;
    assert_eq!(stage.state().await, SweepState::Incomplete);
    assert!(documents(&stage).await.contains_key("report.md"));
}

#[tokio::test]
async fn a_cancelled_sweep_gets_its_documents_and_stays_cancelled() {
    let stage = Stage::set().await;
    stage.transition(SweepState::Running, SweepState::Cancelled).await;
    stage.score(vec![report(&stage.session(0, 0)), stage.tabulate()]).await;
    assert_eq!(stage.state().await, SweepState::Cancelled);
    let row = stage.ledger.sweep(&stage.sweep.id).await.unwrap().unwrap();
    assert_eq!(row.tabulated, Some(row.generation), "the leader need not say it again");
    assert!(documents(&stage).await.contains_key("results.jsonl"));
}

#[tokio::test]
async fn tables_that_were_asked_for_before_a_resume_are_not_written() {
    let stage = Stage::set().await;
    stage.transition(SweepState::Running, SweepState::Cancelled).await;
    stage.ledger.resume(&stage.sweep.id, SweepState::Cancelled, None, Quota::default()).await.unwrap().unwrap();
    stage.transition(SweepState::Running, SweepState::Cancelled).await;
    let asked_in = |generation| Report::Tabulate {
        sweep: stage.sweep.id.clone(),
        lock: stage.sweep.digest,
        generation: Some(generation),
    };
    stage.score(vec![report(&stage.session(0, 0)), asked_in(0)]).await;
    assert!(documents(&stage).await.is_empty());
    stage.score(vec![asked_in(1)]).await;
    assert!(documents(&stage).await.contains_key("results.jsonl"));
}

#[tokio::test]
async fn a_running_sweep_is_not_tabulated() {
    let stage = Stage::set().await;
    stage.score(vec![report(&stage.session(0, 0)), stage.tabulate()]).await;
    assert_eq!(stage.state().await, SweepState::Running);
    assert!(documents(&stage).await.is_empty());
}

#[tokio::test]
async fn attempts_that_never_ended_are_lost_with_what_they_may_have_cost() {
    let stage = Stage::set().await;
    let key = stage.key(0, 0);
    let dead = attempt(&key, 1);
    let open = OpenAttempt {
        key,
        id: dead.id,
        number: 1,
        started_at: dead.started_at,
        totals: AttemptTotals { cost: CostSum { known: CALL, unknown_calls: 0 }, ..AttemptTotals::default() },
        in_flight_at_most: Some(CALL),
    };
    stage.score(vec![Report::Progress(Progress::of_attempts(dead.worker, vec![open]))]).await;
    assert_eq!(stage.books().await.attempts[0].state, AttemptState::Open);
    stage.transition(SweepState::Running, SweepState::Cancelled).await;
    stage.score(vec![stage.tabulate()]).await;
    let books = stage.books().await;
    assert_eq!((books.attempts[0].state, books.attempts[0].at_most), (AttemptState::Lost, Some(CALL)));
    assert_eq!(books.progress[0].wasted.known, CALL);
}
