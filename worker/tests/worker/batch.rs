use std::collections::BTreeMap;
use std::sync::Mutex;

use jiff::{SignedDuration, Timestamp};
use regatta_proto::{
    BatchJob, BatchSettings, Cause, EndpointKind, Event, Job, Lane, Money, Outcome, Report, SessionOutcome,
};

use crate::batch_server::{BatchServer, Ending, Line, Place};
use crate::stage::{Stage, within};

const MEASURED: Outcome = Outcome::Measured;
/// Longer than any test.
const FOR_EVER_MS: u64 = 86_400_000;
/// What a session may cost at most, and what the server's usual answer does cost, at batch rates.
const AT_MOST: Money = Money(500_000_000);
const COST: Money = Money(5_000_000);

/// A stage whose endpoint is of the batch lane; a batch is closed when it has `requests_max` sessions, and not before.
async fn lane_of(kind: EndpointKind, requests_max: u32) -> (Stage, BatchServer) {
    let (mut stage, server) = (Stage::set().await, BatchServer::start().await);
    let endpoint = &mut stage.route.endpoint;
    endpoint.kind = kind;
    endpoint.base_url = Some(server.url());
    endpoint.api_key_env = Some("none".to_owned());
    endpoint.identify_sessions = kind == EndpointKind::Simulated;
    endpoint.lane = Lane::Batch;
    endpoint.batch = Some(BatchSettings { requests_max, gather_ms: FOR_EVER_MS, poll_ms: 5 });
    endpoint.retries.base_delay_ms = 1;
    endpoint.retries.max_delay_ms = 5;
    endpoint.retries.attempts = 3;
    (stage, server)
}

async fn lane(requests_max: u32) -> (Stage, BatchServer) {
    lane_of(EndpointKind::Openai, requests_max).await
}

/// Fails each line of the first batch that it sees as `line` says; all others are answered.
fn at_first(line: Line) -> impl Fn(&str, &serde_json::Value) -> Line {
    let first = Mutex::new(None);
    move |custom_id, _| {
        let batch = custom_id.split('-').next().unwrap_or_default().to_owned();
        let mut first = first.lock().unwrap();
        if *first.get_or_insert_with(|| batch.clone()) == batch { line.clone() } else { Line::Says("an answer") }
    }
}

fn not_measured(cause: Cause) -> Outcome {
    Outcome::NotMeasured { cause }
}

/// Looks again and again, letting others work, until `done` holds.
async fn until(mut done: impl AsyncFnMut() -> bool) {
    within(async {
        while !done().await {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

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
    let open = reports.progress(|_| true).await;
    assert_eq!((open.in_flight_at_most, open.number), (Some(AT_MOST), 1));
    server.end(Ending::Completed);
    let outcome = reports.outcome().await;
    assert_eq!((outcome.key, outcome.attempt.id), (open.key, open.id));
    worker.leave().await;
}

#[tokio::test]
async fn a_line_that_failed_for_a_passing_reason_becomes_part_of_a_later_batch() {
    for kind in [EndpointKind::Openai, EndpointKind::Anthropic] {
        let (stage, server) = lane_of(kind, 1).await;
        server.answer(at_first(Line::Fails(529, "overloaded")));
        stage.publish([stage.job(0, 0)]).await;
        let mut reports = stage.reports().await;
        let worker = stage.start("w", |_| {}).await;
        let Report::HandedOver { attempt, .. } = reports.result().await else { panic!("not handed over") };
        let outcome = reports.outcome().await;
        assert_eq!((attempt.number, outcome.attempt.number, outcome.outcome), (1, 2, MEASURED), "{kind:?}");
        let [Event::Failed(failed), Event::Call(call)] = &outcome.transcript.events[..] else {
            panic!("{:?}", outcome.transcript)
        };
        assert_eq!((failed.attempt, call.attempt), (1, 2));
        assert_eq!(server.batches().len(), 2);
        worker.leave().await;
    }
}

#[tokio::test]
async fn a_line_that_keeps_failing_is_given_up_after_as_many_batches_as_a_call_has_tries() {
    let (stage, server) = lane(1).await;
    server.answer(|_, _| Line::Fails(500, "out of order"));
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    for _ in 0..2 {
        let Report::HandedOver { .. } = reports.result().await else { panic!("not handed over") };
    }
    let outcome = reports.outcome().await;
    assert_eq!((outcome.outcome, outcome.attempt.number), (not_measured(Cause::EndpointUnavailable), 3));
    assert_eq!(server.batches().len(), 3);
    worker.leave().await;
    assert_eq!(stage.waiting().await, 0);
}

#[tokio::test]
async fn a_line_that_is_refused_ends_its_own_session_alone() {
    for kind in [EndpointKind::Openai, EndpointKind::Anthropic] {
        let (stage, server) = lane_of(kind, 2).await;
        server.answer(|id, _| if id.ends_with("-0") { Line::Fails(400, "no") } else { Line::Says("an answer") });
        stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
        let mut reports = stage.reports().await;
        let worker = stage.start("w", |_| {}).await;
        let mut outcomes = vec![reports.outcome().await, reports.outcome().await];
        outcomes.sort_by_key(|outcome| outcome.attempt.id.clone());
        assert_eq!(outcomes[0].outcome, not_measured(Cause::RequestRefused), "{kind:?}");
        assert_eq!(outcomes[1].outcome, MEASURED);
        assert_eq!(server.batches().len(), 1);
        worker.leave().await;
    }
}

#[tokio::test]
async fn lines_that_a_batch_did_not_get_to_in_time_go_into_the_next_one() {
    for kind in [EndpointKind::Openai, EndpointKind::Anthropic] {
        let (stage, server) = lane_of(kind, 1).await;
        server.end(Ending::Expired);
        server.answer(at_first(Line::Expires));
        stage.publish([stage.job(0, 0)]).await;
        let mut reports = stage.reports().await;
        let worker = stage.start("w", |_| {}).await;
        let Report::HandedOver { cost, maybe_spent, .. } = reports.result().await else { panic!("not handed over") };
        assert_eq!((cost.known, maybe_spent), (Money::ZERO, Money::ZERO), "what was not worked on is not billed");
        assert_eq!(reports.outcome().await.outcome, MEASURED, "{kind:?}");
        worker.leave().await;
    }
}

#[tokio::test]
async fn a_line_whose_result_is_lost_may_have_been_billed() {
    let (mut stage, server) = lane(1).await;
    stage.route.endpoint.retries.attempts = 1;
    server.answer(|_, _| Line::IsLost);
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let outcome = reports.outcome().await;
    assert_eq!(outcome.outcome, not_measured(Cause::BadResponse));
    assert_eq!(outcome.transcript.at_most_by(1), AT_MOST);
    worker.leave().await;
}

#[tokio::test]
async fn a_batch_that_is_refused_as_a_whole_ends_its_sessions_with_the_providers_reason() {
    let (stage, server) = lane(2).await;
    server.end(Ending::Refused("invalid_json_line"));
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    for _ in 0..2 {
        let outcome = reports.outcome().await;
        assert_eq!(outcome.outcome, not_measured(Cause::RequestRefused));
        let (_, failed) = outcome.transcript.failed_tries().next().unwrap();
        assert!(failed.detail.contains("It is no good."), "{}", failed.detail);
    }
    assert_eq!(server.batches().len(), 1);
    worker.leave().await;
}

#[tokio::test]
async fn a_batch_of_a_cancelled_sweep_is_cancelled_at_its_provider_and_forgotten() {
    let (stage, server) = lane(2).await;
    server.end(Ending::Running);
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    server.reached(Place::Look, 1).await;
    stage.tell(vec![stage.route.clone()], vec![stage.sweep.id.clone()]).await;
    until(async || worker.ended("dropped") == 2).await;
    assert!(server.batches()[0].cancelled);
    worker.leave().await;
    assert_eq!(stage.waiting().await, 0);
    assert!(reports.rest(&stage.queue).await.is_empty());
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
    let worker = stage.start("w", |config| config.hand_over_after = std::time::Duration::from_millis(20)).await;
    server.reached(Place::Look, 50).await;
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

#[tokio::test]
async fn a_worker_that_is_killed_before_it_hands_a_batch_in_leaves_the_intent_to_another() {
    let (stage, server) = lane(2).await;
    server.hold_at(Place::Upload);
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let killed = stage.start_mortal("killed").await;
    server.reached(Place::Upload, 1).await;
    killed.kill();
    until(async || stage.waiting().await == 1).await;
    server.go_on();
    is_finished_by_another(&stage, &server).await;
}

#[tokio::test]
async fn a_batch_whose_worker_is_killed_before_it_knows_its_id_is_found_and_not_handed_in_again() {
    for kind in [EndpointKind::Openai, EndpointKind::Anthropic] {
        let (stage, server) = lane_of(kind, 2).await;
        server.hold_at(Place::Creation);
        stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
        let killed = stage.start_mortal("killed").await;
        server.reached(Place::Creation, 1).await;
        killed.kill();
        until(async || stage.waiting().await == 1).await;
        server.go_on();
        is_finished_by_another(&stage, &server).await;
    }
}

#[tokio::test]
async fn a_batch_whose_worker_is_killed_while_following_it_is_followed_by_another() {
    let (stage, server) = lane(2).await;
    server.end(Ending::Running);
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let killed = stage.start_mortal("killed").await;
    server.reached(Place::Look, 3).await;
    killed.kill();
    until(async || stage.waiting().await == 1).await;
    server.end(Ending::Completed);
    is_finished_by_another(&stage, &server).await;
}

#[tokio::test]
async fn a_batch_whose_worker_is_killed_while_collecting_it_is_collected_by_another() {
    let (stage, server) = lane(2).await;
    server.hold_at(Place::Results);
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let killed = stage.start_mortal("killed").await;
    server.reached(Place::Results, 1).await;
    killed.kill();
    until(async || stage.waiting().await == 1).await;
    server.go_on();
    is_finished_by_another(&stage, &server).await;
}

/// Two sessions are measured by another worker, each once, as their first attempts, and the provider has seen one batch in all.
async fn is_finished_by_another(stage: &Stage, server: &BatchServer) {
    let mut reports = stage.reports().await;
    let another = stage.start("another", |_| {}).await;
    let mut outcomes: Vec<SessionOutcome> = vec![reports.outcome().await, reports.outcome().await];
    outcomes.sort_by_key(|outcome| outcome.attempt.id.clone());
    let [batch] = &server.batches()[..] else { panic!("{:?}", server.batches()) };
    for (outcome, (custom_id, _)) in outcomes.iter().zip(&batch.lines) {
        assert_eq!((&outcome.outcome, outcome.attempt.number), (&MEASURED, 1));
        assert_eq!(outcome.attempt.id.as_str(), custom_id);
    }
    assert_ne!(outcomes[0].key, outcomes[1].key);
    another.leave().await;
    assert_eq!(stage.waiting().await, 0);
    assert!(reports.rest(&stage.queue).await.is_empty());
}

#[tokio::test]
async fn after_an_unclear_answer_the_batch_is_looked_for_and_not_handed_in_again() {
    for kind in [EndpointKind::Openai, EndpointKind::Anthropic] {
        let (stage, server) = lane_of(kind, 1).await;
        server.lie_about_the_next_creation(502);
        stage.publish([stage.job(0, 0)]).await;
        let mut reports = stage.reports().await;
        let worker = stage.start("w", |_| {}).await;
        let outcome = reports.outcome().await;
        assert_eq!((outcome.outcome, outcome.attempt.number), (MEASURED, 1), "{kind:?}");
        assert_eq!(server.batches().len(), 1);
        assert_eq!(worker.metrics.batches.with_label_values(&["found"]).get(), 1);
        worker.leave().await;
    }
}

#[tokio::test]
async fn a_clear_refusal_to_take_a_batch_ends_its_sessions() {
    let (stage, server) = lane(1).await;
    server.refuse_the_next_creation(400);
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    assert_eq!(reports.outcome().await.outcome, not_measured(Cause::RequestRefused));
    assert!(server.batches().is_empty());
    worker.leave().await;
}

#[tokio::test]
async fn among_batches_that_look_alike_ours_is_told_by_its_results() {
    let (stage, server) = lane_of(EndpointKind::Anthropic, 1).await;
    server.take_from_a_stranger(1);
    server.lie_about_the_next_creation(502);
    server.take_from_a_stranger(1);
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let outcome = reports.outcome().await;
    assert_eq!(outcome.outcome, MEASURED);
    let ours: Vec<_> =
        server.batches().into_iter().filter(|batch| batch.lines[0].0 == outcome.attempt.id.as_str()).collect();
    assert_eq!((ours.len(), server.batches().len()), (1, 3));
    worker.leave().await;
}

/// A batch of one session as it waits in the queue.
#[expect(clippy::disallowed_methods, reason = "workers have the machine's clock here")]
fn waiting_batch(stage: &Stage, id: &str, provider_id: Option<String>, age: SignedDuration) -> Job {
    let session = stage.job(0, 0);
    Job::Batch(Box::new(BatchJob {
        sweep: session.key.sweep.clone(),
        lock: session.lock,
        model: stage.sweep.cells()[0].model.clone(),
        id: id.to_owned(),
        provider_id,
        intended_at: Timestamp::now() - age,
        sessions: vec![session],
    }))
}

#[tokio::test]
async fn results_that_are_collected_twice_are_reported_as_the_same_attempt() {
    let (stage, server) = lane(1).await;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let first = reports.outcome().await;
    let batch = server.batches().remove(0);
    let again = waiting_batch(&stage, batch.name.as_deref().unwrap(), Some(batch.id), SignedDuration::ZERO);
    stage.publish_any(vec![again]).await;
    let second = reports.outcome().await;
    assert_eq!((first.attempt.id, first.key, first.outcome), (second.attempt.id, second.key, second.outcome));
    worker.leave().await;
}

#[tokio::test]
async fn an_intent_that_nobody_took_up_for_hours_is_handed_in_once() {
    for kind in [EndpointKind::Openai, EndpointKind::Anthropic] {
        let (stage, server) = lane_of(kind, 1).await;
        stage.publish_any(vec![waiting_batch(&stage, "0a1b", None, SignedDuration::from_hours(5))]).await;
        let mut reports = stage.reports().await;
        let worker = stage.start("w", |_| {}).await;
        let outcome = reports.outcome().await;
        assert_eq!((outcome.outcome, outcome.attempt.id.as_str()), (MEASURED, "0a1b-0"));
        assert_eq!(server.batches().len(), 1);
        worker.leave().await;
    }
}

#[tokio::test]
async fn a_batch_that_the_provider_does_not_know_ends_its_sessions_and_may_have_cost_something() {
    let (stage, server) = lane(1).await;
    let gone = waiting_batch(&stage, "0a1b", Some("batch_gone".to_owned()), SignedDuration::ZERO);
    stage.publish_any(vec![gone]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let outcome = reports.outcome().await;
    assert_eq!(outcome.outcome, not_measured(Cause::ModelNotFound));
    assert_eq!(outcome.transcript.at_most_by(1), AT_MOST);
    assert!(server.batches().is_empty());
    worker.leave().await;
}
