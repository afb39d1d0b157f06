//! Intents that the broker has twice: its connection was lost after it had stored one, and before it had confirmed it.

use jiff::SignedDuration;
use regatta_proto::{BatchSettings, Job, Money};

use super::killed::waiting_batch;
use super::paid::{state, with_budget};
use super::server::Place;
use super::{AT_MOST, COST, MEASURED, lane, until};
use crate::stage::{Reports, Stage};

const ID: &str = "0a1b";

fn intent(stage: &Stage) -> Job {
    waiting_batch(stage, ID, None, SignedDuration::ZERO)
}

/// The line of the batch is reported by all who have it, as one attempt.
async fn is_reported_as_one_attempt(reports: &mut Reports, times: usize) {
    for _ in 0..times {
        let outcome = reports.outcome().await;
        assert_eq!((outcome.outcome, outcome.attempt.id.as_str()), (MEASURED, "0a1b-0"));
    }
}

#[tokio::test]
async fn copies_of_an_intent_that_one_worker_has_are_handed_in_once() {
    let (stage, server, account) = with_budget(1, Money(4 * AT_MOST.0)).await;
    let copy = intent(&stage);
    stage.publish_any(vec![copy.clone(), copy]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    is_reported_as_one_attempt(&mut reports, 2).await;
    worker.leave().await;
    assert_eq!(server.batches().len(), 1);
    assert_eq!(state(&stage, &account).await, (COST, Money::ZERO));
}

#[tokio::test]
async fn a_copy_of_an_intent_that_another_worker_is_handing_in_waits_for_that_one() {
    let (mut stage, server, account) = with_budget(1, Money(4 * AT_MOST.0)).await;
    stage.route.endpoint.batch = Some(BatchSettings { poll_ms: 100, ..stage.route.endpoint.batch.unwrap() });
    server.hold_at(Place::Creation);
    // More looks than any list is behind by.
    server.hide_from_lists(6);
    let copy = intent(&stage);
    stage.publish_any(vec![copy.clone()]).await;
    let mut reports = stage.reports().await;
    let first = stage.start("first", |_| {}).await;
    server.reached(Place::Creation, 1).await;
    // It takes no further job, and does not give up what it has begun to send.
    first.lifecycle.drain.cancel();
    until(async || stage.queue.consumers(&stage.route.queue).await.unwrap() == 0).await;
    stage.publish_any(vec![copy]).await;
    let second = stage.start("second", |_| {}).await;
    until(async || server.seen(Place::List) >= 6 || server.batches().len() > 1).await;
    assert_eq!(server.batches().len(), 1);
    server.go_on();
    is_reported_as_one_attempt(&mut reports, 2).await;
    first.leave().await;
    second.leave().await;
    assert_eq!(server.batches().len(), 1);
    assert_eq!(state(&stage, &account).await, (COST, Money::ZERO));
}

/// With an account that counts its money, and without: the second model has no price.
#[tokio::test]
async fn a_copy_of_an_intent_that_was_handed_in_is_found_and_collected_again() {
    for cell in [1, 0] {
        let (stage, server) = lane(1).await;
        let Job::Batch(mut copy) = intent(&stage) else { unreachable!() };
        copy.model = stage.sweep.cells()[cell].model.clone();
        copy.sessions = vec![stage.job(cell, 0)];
        let mut reports = stage.reports().await;
        let worker = stage.start("w", |_| {}).await;
        for _ in 0..2 {
            stage.publish_any(vec![Job::Batch(copy.clone())]).await;
            is_reported_as_one_attempt(&mut reports, 1).await;
        }
        worker.leave().await;
        assert_eq!(server.batches().len(), 1, "{cell}");
    }
}
