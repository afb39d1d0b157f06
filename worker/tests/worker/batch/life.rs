use std::collections::BTreeMap;
use std::time::Duration;

use regatta_proto::{BatchSettings, EndpointKind, Event, Job, Lane, Money, SessionJob};

use super::server::{Ending, Place};
use super::{AT_MOST, COST, MEASURED, lane, lane_of, until};

#[tokio::test]
async fn sessions_become_one_batch_and_each_of_them_an_outcome_at_the_rates_of_batches() {
    for kind in [EndpointKind::Openai, EndpointKind::Anthropic] {
        let (stage, server) = lane_of(kind, 3).await;
        let jobs: Vec<_> = (0..3).map(|item| stage.job(0, item)).collect();
        stage.publish(jobs.clone()).await;
        let mut reports = stage.reports().await;
        let worker = stage.start("w", |_| {}).await;
        let mut outcomes = BTreeMap::new();
        for _ in 0..3 {
            let outcome = reports.outcome().await;
            assert_eq!((&outcome.outcome, outcome.attempt.number), (&MEASURED, 1), "{kind:?}");
            outcomes.insert(outcome.key.clone(), outcome);
        }
        assert_eq!(outcomes.len(), 3);
        let [batch] = &server.batches()[..] else { panic!("{kind:?}: {:?}", server.batches()) };
        for (custom_id, _) in &batch.lines {
            assert!(outcomes.values().any(|outcome| outcome.attempt.id.as_str() == custom_id), "{custom_id}");
        }
        for outcome in outcomes.values() {
            let [Event::Call(call)] = &outcome.transcript.events[..] else { panic!("{:?}", outcome.transcript) };
            assert_eq!((call.lane, call.cost, call.latency_us), (Lane::Batch, Some(COST), 60_000_000));
            assert!(call.at.is_some() && call.raw_usage.is_some());
            assert_eq!((call.usage.input, call.usage.output), (100, 10));
        }
        worker.leave().await;
        assert_eq!(stage.waiting().await, 0);
        assert!(reports.rest(&stage.queue).await.is_empty());
    }
}

#[tokio::test]
async fn a_batch_is_closed_when_nothing_more_comes_and_holds_one_model_only() {
    let (mut stage, server) = lane(100).await;
    stage.route.endpoint.batch = Some(BatchSettings { requests_max: 100, gather_ms: 20, poll_ms: 5 });
    stage.publish([stage.job(0, 0), stage.job(1, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let (one, other) = (reports.outcome().await, reports.outcome().await);
    assert_ne!(one.key.cell, other.key.cell);
    let models: Vec<_> = server.batches().iter().map(|batch| batch.lines[0].1["model"].clone()).collect();
    assert_eq!(models.len(), 2);
    assert_ne!(models[0], models[1]);
    worker.leave().await;
}

#[tokio::test]
async fn a_full_batch_waits_for_nothing() {
    let (stage, server) = lane(2).await;
    stage.publish((0..4).map(|item| stage.job(0, item))).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    for _ in 0..4 {
        assert_eq!(reports.outcome().await.outcome, MEASURED);
    }
    let sizes: Vec<_> = server.batches().iter().map(|batch| batch.lines.len()).collect();
    assert_eq!(sizes, [2, 2]);
    worker.leave().await;
}

#[tokio::test]
async fn a_simulated_endpoint_is_told_the_session_in_the_body() {
    let (stage, server) = lane_of(EndpointKind::Simulated, 1).await;
    stage.publish([stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let key = reports.outcome().await.key;
    let item = stage.sweep.item(&stage.sweep.cells()[0], key.item).unwrap();
    let body = &server.batches()[0].lines[0].1;
    assert_eq!(body["metadata"]["regatta_item"], item.id.as_str());
    assert_eq!(body["metadata"]["regatta_benchmark"], "worfbench");
    worker.leave().await;
}

#[tokio::test]
async fn what_a_batch_may_cost_is_reported_as_soon_as_it_is_handed_in() {
    let (stage, server) = lane(1).await;
    server.end(Ending::Running);
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let open = reports.progress(|open| open.in_flight_at_most != Some(Money::ZERO)).await;
    assert_eq!((open.in_flight_at_most, open.number), (Some(AT_MOST), 1));
    server.end(Ending::Completed);
    let outcome = reports.outcome().await;
    assert_eq!((outcome.key, outcome.attempt.id), (open.key, open.id));
    worker.leave().await;
}

#[tokio::test]
async fn a_batch_of_a_cancelled_sweep_is_cancelled_at_its_provider_and_forgotten() {
    // Also when the queue, which is empty, is no longer named.
    for is_named in [true, false] {
        let (stage, server) = lane(2).await;
        server.end(Ending::Running);
        stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
        let reports = stage.reports().await;
        let worker = stage.start("w", |_| {}).await;
        server.reached(Place::Look, 1).await;
        let routes = if is_named { vec![stage.route.clone()] } else { Vec::new() };
        stage.tell(routes, vec![stage.sweep.id.clone()]).await;
        until(async || worker.ended("dropped") == 2).await;
        assert!(server.batches()[0].cancelled);
        worker.leave().await;
        assert_eq!(stage.waiting().await, 0);
        assert!(reports.rest(&stage.queue).await.is_empty());
    }
}

#[tokio::test]
async fn a_batch_of_before_a_resume_is_cancelled_and_its_sessions_are_paid_for_in_a_later_one_alone() {
    // Whoever follows it hears of the resume, or whoever finds it afterwards has heard of it.
    for is_followed in [true, false] {
        let (stage, server) = lane(2).await;
        server.end(Ending::Running);
        stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
        let mut reports = stage.reports().await;
        let mut worker = stage.start("first", |_| {}).await;
        server.reached(Place::Look, 1).await;
        let generations = BTreeMap::from([(stage.sweep.id.clone(), 1)]);
        if is_followed {
            stage.tell_of_generations(generations).await;
        } else {
            worker.leave().await;
            assert_eq!(stage.waiting().await, 1);
            stage.tell_of_generations(generations).await;
            worker = stage.start_untold("second", |_| {});
        }
        until(async || worker.ended("dropped") == 2).await;
        server.end(Ending::Completed);
        stage.publish([0, 1].map(|item| SessionJob { generation: 1, ..stage.job(0, item) })).await;
        for _ in 0..2 {
            let outcome = reports.outcome().await;
            assert_eq!((outcome.outcome, outcome.transcript.calls().count()), (MEASURED, 1));
        }
        let cancelled: Vec<bool> = server.batches().iter().map(|batch| batch.cancelled).collect();
        assert_eq!(cancelled, [true, false]);
        worker.leave().await;
        assert_eq!(stage.waiting().await, 0);
        assert!(reports.rest(&stage.queue).await.is_empty());
    }
}

#[tokio::test]
async fn sessions_of_before_a_resume_that_wait_for_their_batch_are_in_none() {
    let (stage, server) = lane(3).await;
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    until(async || stage.waiting().await == 0).await;
    stage.tell_of_generations(BTreeMap::from([(stage.sweep.id.clone(), 1)])).await;
    stage.publish([0, 1, 2].map(|item| SessionJob { generation: 1, ..stage.job(0, item) })).await;
    let mut keys = Vec::new();
    for _ in 0..3 {
        keys.push(reports.outcome().await.key);
    }
    worker.leave().await;
    keys.sort();
    assert_eq!(keys, [0, 1, 2].map(|item| stage.job(0, item).key));
    assert_eq!(server.batches().len(), 1);
    assert_eq!(stage.waiting().await, 0);
}

#[tokio::test]
async fn sessions_of_a_cancelled_sweep_that_wait_for_their_batch_are_dropped() {
    let (stage, server) = lane(100).await;
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let worker = stage.start("w", |_| {}).await;
    until(async || stage.waiting().await == 0).await;
    stage.tell(Vec::new(), vec![stage.sweep.id.clone()]).await;
    // Those that the worker had fetched and not yet taken go back as they were; the next one to hear of the sweep drops them.
    until(async || worker.ended("dropped") + stage.waiting().await == 2).await;
    worker.leave().await;
    assert!(server.batches().is_empty());
}

#[tokio::test]
async fn a_worker_that_leaves_hands_its_batches_to_another() {
    let (stage, server) = lane(2).await;
    server.end(Ending::Running);
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    let first = stage.start("first", |_| {}).await;
    server.reached(Place::Look, 1).await;
    first.leave().await;
    assert_eq!(stage.waiting().await, 1);
    server.end(Ending::Completed);
    let second = stage.start("second", |_| {}).await;
    for _ in 0..2 {
        let outcome = reports.outcome().await;
        assert_eq!((outcome.outcome, outcome.attempt.number, outcome.attempt.worker.as_str()), (MEASURED, 1, "second"));
    }
    assert_eq!(server.batches().len(), 1);
    second.leave().await;
}

#[tokio::test]
async fn a_batch_that_was_held_for_long_is_handed_over_by_a_worker_that_stays() {
    let (stage, server) = lane(1).await;
    server.end(Ending::Running);
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |config| config.hand_over_after = Duration::from_millis(250)).await;
    server.reached(Place::Look, 60).await;
    server.end(Ending::Completed);
    assert_eq!(reports.outcome().await.attempt.number, 1);
    assert_eq!(server.batches().len(), 1);
    worker.leave().await;
}

#[tokio::test]
async fn sessions_that_wait_for_their_batch_are_not_lost_when_the_worker_leaves() {
    let (stage, server) = lane(100).await;
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let worker = stage.start("w", |_| {}).await;
    until(async || stage.waiting().await == 0).await;
    worker.leave().await;
    let waiting = stage.take_any().await;
    let sessions = waiting.iter().map(|(job, _)| match job {
        Job::Session(_) => 1,
        Job::Batch(batch) => batch.sessions.len(),
        Job::Judge(_) => 0,
    });
    assert_eq!(sessions.sum::<usize>(), 2, "{waiting:?}");
    assert!(server.batches().is_empty());
}
