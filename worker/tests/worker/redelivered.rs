use regatta_proto::{Cause, Event, Outcome, Report, SessionJob, SessionOutcome, Simulation};

use crate::stage::{Reports, Stage};

/// Deliveries after which a job goes on as a new message.
pub(crate) const OFTEN: usize = 15;

/// Lets `count` workers die that have taken the only job there is and have not begun it.
pub(crate) async fn lose_workers(stage: &Stage, count: usize) {
    for _ in 0..count {
        let mut dying = stage.queue.consume_jobs(&stage.route.queue, 1).await.unwrap();
        let held = dying.next().await.unwrap();
        drop((dying, held));
    }
}

/// The end of a session that was given on once.
async fn end(reports: &mut Reports) -> SessionOutcome {
    let report = reports.result().await;
    assert!(matches!(report, Report::HandedOver { taken_over: false, .. }), "{report:?}");
    reports.outcome().await
}

#[tokio::test]
async fn a_session_that_has_lost_many_workers_runs_all_the_same() {
    let (stage, server) = Stage::with(Simulation::default()).await;
    stage.publish([stage.job(0, 0)]).await;
    lose_workers(&stage, OFTEN).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let outcome = end(&mut reports).await;
    assert_eq!((outcome.outcome, outcome.attempt.number), (Outcome::Measured, 17));
    worker.leave().await;
    assert_eq!((stage.waiting().await, server.counters().total_requests()), (0, 1));
}

#[tokio::test]
async fn a_session_that_has_come_to_no_call_in_forty_five_attempts_is_given_up() {
    let (stage, server) = Stage::with(Simulation::default()).await;
    stage.publish([SessionJob { attempt: 45 - OFTEN as u32, ..stage.job(0, 0) }]).await;
    lose_workers(&stage, OFTEN).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let outcome = reports.outcome().await;
    assert_eq!(outcome.outcome, Outcome::NotMeasured { cause: Cause::Undeliverable });
    worker.leave().await;
    assert_eq!((stage.waiting().await, server.counters().total_requests()), (0, 0));
}

#[tokio::test]
async fn a_session_that_comes_on_with_each_worker_it_loses_is_never_given_up() {
    let (stage, server) = Stage::with(Simulation::default()).await;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("first", |_| {}).await;
    let mut transcript = reports.outcome().await.transcript;
    worker.leave().await;
    for event in &mut transcript.events {
        if let Event::Call(call) = event {
            call.attempt = 70;
        }
    }
    stage.publish([SessionJob { attempt: 71, transcript, ..stage.job(0, 0) }]).await;
    lose_workers(&stage, OFTEN).await;
    let worker = stage.start("second", |_| {}).await;
    let outcome = end(&mut reports).await;
    assert_eq!((outcome.outcome, outcome.attempt.number), (Outcome::Measured, 87));
    worker.leave().await;
    assert_eq!((stage.waiting().await, server.counters().total_requests()), (0, 1), "it had its answer");
}
