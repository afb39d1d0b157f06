use jiff::SignedDuration;
use regatta_proto::{AttemptTotals, Cause, EndpointKind, Event, Money, Report};
use regatta_tests::Logged;

use super::killed::waiting_batch;
use super::server::{Ending, Line, Place};
use super::{AT_MOST, MEASURED, at_first, lane, lane_of, not_measured};

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
        let mut outcomes = [reports.outcome().await, reports.outcome().await];
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
        let Report::HandedOver { totals: AttemptTotals { cost, maybe_spent, .. }, .. } = reports.result().await else {
            panic!("not handed over")
        };
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
    assert_eq!(outcome.transcript.totals_of(1).maybe_spent, AT_MOST);
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
async fn a_batch_that_the_provider_does_not_know_ends_its_sessions_and_may_have_cost_something() {
    let (stage, server) = lane(1).await;
    let gone = waiting_batch(&stage, "0a1b", Some("batch_gone".to_owned()), SignedDuration::ZERO);
    stage.publish_any(vec![gone]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let outcome = reports.outcome().await;
    assert_eq!(outcome.outcome, not_measured(Cause::ModelNotFound));
    assert_eq!(outcome.transcript.totals_of(1).maybe_spent, AT_MOST);
    assert!(server.batches().is_empty());
    worker.leave().await;
}

#[tokio::test]
async fn a_batch_is_not_given_up_because_its_key_is_refused_for_a_while() {
    let (stage, server) = lane(1).await;
    server.refuse_looks(Some(401));
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let (log, _listening) = Logged::listen();
    let worker = stage.start("w", |_| {}).await;
    server.reached(Place::Look, 20).await;
    server.refuse_looks(None);
    let outcome = reports.outcome().await;
    assert_eq!((outcome.outcome, outcome.attempt.number), (MEASURED, 1));
    let told = |line: &&String| line.contains("failed to look at a batch");
    assert_eq!(log.lines().iter().filter(told).count(), 1, "{:#?}", log.lines());
    assert_eq!(server.batches().len(), 1);
    worker.leave().await;
}
