use std::collections::BTreeSet;
use std::time::Duration;

use regatta_proto::{Event, Faults, Latency, Outcome, Report, Simulation};

use crate::stage::Stage;

/// Every call fails and is tried again an hour later.
fn broken() -> Simulation {
    Simulation { faults: Faults { server_error: 1.0, ..Faults::default() }, ..Simulation::default() }
}

#[tokio::test]
async fn a_draining_worker_finishes_what_runs_and_takes_nothing_new() {
    let latency = Latency { median_ms: 200.0, ..Latency::default() };
    let (stage, _server) = Stage::with(Simulation { latency, ..Simulation::default() }).await;
    let jobs: Vec<_> = (0..6).map(|item| stage.job(0, item)).collect();
    stage.publish(jobs.clone()).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    reports.progress(|_| true).await;
    worker.leave().await;
    let mut seen = BTreeSet::new();
    for report in reports.rest(&stage.queue).await {
        let Report::Session(outcome) = report else { panic!("{report:?}") };
        assert_eq!(outcome.outcome, Outcome::Measured);
        assert!(seen.insert(outcome.key));
    }
    let left = stage.take_all().await;
    assert!(!seen.is_empty() && !left.is_empty(), "{} ran, {} left", seen.len(), left.len());
    for (job, _) in left {
        assert!(seen.insert(job.key.clone()), "{} ran and was given back", job.key);
    }
    assert_eq!(seen.len(), jobs.len());
}

#[tokio::test]
async fn after_the_drain_time_a_session_is_handed_over_and_another_worker_finishes_it() {
    let (stage, server) = Stage::with(broken()).await;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let first = stage.start("first", |config| config.drain = Duration::from_millis(300)).await;
    reports.progress(|_| true).await;
    first.leave().await;
    let Report::HandedOver { key, attempt, totals, .. } = reports.result().await else { panic!("not handed over") };
    assert_eq!((key, attempt.number, attempt.worker.as_str()), (stage.job(0, 0).key, 1, "first"));
    assert_eq!((totals.cost.known.0, totals.calls), (0, 0));
    let address = server.address().to_string();
    server.shutdown().await;
    let _server = stage.serve(Simulation::default(), Some(&address)).await;
    let second = stage.start("second", |_| {}).await;
    let outcome = reports.outcome().await;
    assert_eq!((outcome.outcome, outcome.attempt.number), (Outcome::Measured, 2));
    assert_eq!(outcome.attempt.worker.as_str(), "second");
    let Event::Failed(failed) = &outcome.transcript.events[0] else { panic!("{:?}", outcome.transcript) };
    assert_eq!((failed.attempt, failed.tries.len()), (1, 1), "what the first worker saw is kept");
    second.leave().await;
    assert_eq!(stage.waiting().await, 0);
    assert!(reports.rest(&stage.queue).await.is_empty());
}

#[tokio::test]
async fn a_second_signal_hands_over_at_once() {
    let (stage, _server) = Stage::with(broken()).await;
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |config| config.drain = Duration::from_secs(86_400)).await;
    reports.progress(|_| true).await;
    worker.lifecycle.stop.cancel();
    worker.leave().await;
    let left = stage.take_all().await;
    let handed_over: BTreeSet<_> = reports
        .rest(&stage.queue)
        .await
        .into_iter()
        .map(|report| match report {
            Report::HandedOver { key, .. } => key,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(left.len(), 2, "each waits once: as a continuation, or as it was");
    for (job, _) in left {
        assert_eq!(job.attempt, if handed_over.contains(&job.key) { 2 } else { 1 });
    }
}

#[tokio::test]
async fn a_session_that_becomes_too_old_is_handed_over_by_a_worker_that_stays() {
    let (stage, server) = Stage::with(broken()).await;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let young = stage.start("young", |config| config.hand_over_after = Duration::from_millis(300)).await;
    let Report::HandedOver { attempt, .. } = reports.result().await else { panic!("not handed over") };
    assert_eq!(attempt.number, 1);
    young.lifecycle.stop.cancel();
    young.leave().await;
    let address = server.address().to_string();
    server.shutdown().await;
    let _server = stage.serve(Simulation::default(), Some(&address)).await;
    let old = stage.start("old", |_| {}).await;
    let outcome = loop {
        match reports.result().await {
            Report::HandedOver { .. } => {}
            Report::Session(outcome) => break outcome,
            other => panic!("{other:?}"),
        }
    };
    assert!(outcome.attempt.number > 1);
    assert_eq!(outcome.outcome, Outcome::Measured);
    assert!(outcome.transcript.failed_tries().any(|(attempt, _)| attempt == 1));
    old.leave().await;
    assert_eq!(stage.waiting().await, 0);
}
