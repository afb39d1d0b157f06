use std::collections::{BTreeMap, BTreeSet};

use regatta_proto::{Job, Latency, Money, Outcome, Report, Simulation, Verdict};

use crate::stage::Stage;

fn slow() -> Simulation {
    Simulation { latency: Latency { median_ms: 200.0, ..Latency::default() }, ..Simulation::default() }
}

#[tokio::test]
async fn a_job_becomes_exactly_one_outcome() {
    let (stage, server) = Stage::with(Simulation::default()).await;
    stage.publish([stage.job(0, 0), stage.job(0, 1), stage.job(1, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let mut keys = BTreeSet::new();
    for _ in 0..3 {
        let outcome = reports.outcome().await;
        assert_eq!((outcome.outcome, outcome.attempt.number), (Outcome::Measured, 1));
        assert_eq!(outcome.transcript.calls().count(), 1);
        keys.insert(outcome.key);
    }
    assert_eq!(keys.len(), 3);
    worker.leave().await;
    assert!(reports.rest(&stage.queue).await.is_empty());
    assert_eq!((stage.waiting().await, server.counters().total_requests()), (0, 3));
}

#[tokio::test]
async fn a_job_that_was_delivered_before_is_a_higher_attempt() {
    let (stage, _server) = Stage::with(Simulation::default()).await;
    stage.publish([stage.job(0, 0)]).await;
    let mut dying = stage.queue.consume_jobs(&stage.route.queue, 1).await.unwrap();
    let held = dying.next().await.unwrap();
    drop((dying, held));
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let outcome = reports.outcome().await;
    assert_eq!(outcome.attempt.number, 2);
    assert!(outcome.transcript.calls().all(|call| call.attempt == 2), "its calls are paid by this attempt");
    assert_eq!(worker.metrics.redeliveries.get(), 1);
    worker.leave().await;
}

#[tokio::test]
async fn what_a_running_attempt_may_cost_is_reported_before_its_call_is_over() {
    let (stage, _server) = Stage::with(slow()).await;
    let mut reports = stage.reports().await;
    stage.publish([stage.job(0, 0)]).await;
    let worker = stage.start("w", |_| {}).await;
    let open = reports.progress(|open| open.in_flight_at_most > Some(Money::ZERO)).await;
    assert_eq!((open.in_flight_at_most, open.totals.cost.known), (Some(Money(1_000_000_000)), Money::ZERO));
    let outcome = reports.outcome().await;
    assert_eq!((outcome.attempt.id, outcome.key), (open.id, open.key));
    worker.leave().await;
}

#[tokio::test]
async fn only_calls_that_are_sent_may_cost_something() {
    let (stage, _server) = Stage::with(slow()).await;
    let mut reports = stage.reports().await;
    // One call at a time: the others wait for their permits.
    stage.publish([stage.job(0, 0), stage.job(0, 1), stage.job(0, 2)]).await;
    let worker = stage.start("w", |_| {}).await;
    let (mut told, mut outcomes) = (BTreeMap::new(), 0);
    while outcomes < 3 {
        match reports.next().await {
            Report::Progress(progress) => {
                told.extend(progress.open.into_iter().map(|open| (open.id, open.in_flight_at_most)));
                let in_flight: Money = told.values().copied().flatten().sum();
                assert!(in_flight <= Money(1_000_000_000), "{told:?}");
            }
            Report::Session(outcome) => {
                told.remove(&outcome.attempt.id);
                outcomes += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    worker.leave().await;
}

#[tokio::test]
async fn without_a_price_the_worst_case_is_unknown_and_not_zero() {
    let (stage, _server) = Stage::with(slow()).await;
    let mut reports = stage.reports().await;
    stage.publish([stage.job(1, 0)]).await;
    let worker = stage.start("w", |_| {}).await;
    reports.progress(|open| open.in_flight_at_most.is_none()).await;
    let outcome = reports.outcome().await;
    let cost = outcome.transcript.totals_of(1).cost;
    assert_eq!((cost.known, cost.unknown_calls), (Money::ZERO, 1));
    worker.leave().await;
}

#[tokio::test]
async fn a_sweep_whose_judge_is_asked_is_told_of_until_it_has_answered() {
    let (stage, _server) = Stage::with(slow()).await;
    let mut reports = stage.reports().await;
    stage.publish_any(vec![Job::Judge(stage.judge_job(&[("open the door", "boil an egg")]))]).await;
    let worker = stage.start("w", |_| {}).await;
    let Report::Progress(progress) = reports.next().await else { panic!("nobody knows who asks") };
    assert_eq!(progress.judging, std::slice::from_ref(&stage.sweep.id));
    assert!(reports.verdicts().await.unanswered.is_empty());
    worker.leave().await;
}

#[tokio::test]
async fn questions_are_answered_in_one_report() {
    let (stage, _server) = Stage::with(Simulation::default()).await;
    let job = stage.judge_job(&[("open the door", "open the door"), ("open the door", "boil an egg")]);
    let mut reports = stage.reports().await;
    stage.publish_any(vec![Job::Judge(job.clone())]).await;
    let worker = stage.start("w", |_| {}).await;
    let outcome = reports.verdicts().await;
    assert!(outcome.unanswered.is_empty());
    let digests: Vec<_> = outcome.verdicts.iter().map(|(digest, _)| *digest).collect();
    assert_eq!(digests, job.questions.iter().map(|asked| asked.digest).collect::<Vec<_>>());
    let Verdict::Similarity { micro } = &outcome.verdicts[0].1 else { panic!("not similarities") };
    assert_eq!(micro, &[[1_000_000]]);
    worker.leave().await;
    assert_eq!(stage.waiting().await, 0);
}
