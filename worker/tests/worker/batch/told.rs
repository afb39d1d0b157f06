//! Batches are told of from the first session that is gathered until their answers are reported.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;
use regatta_proto::{BatchSettings, HeldBatch, Job, Money, OpenAttempt, Report};
use tokio::time::Instant;

use super::killed::waiting_batch;
use super::paid::with_budget;
use super::server::{Ending, Place};
use super::{AT_MOST, COST, MEASURED, lane};
use crate::stage::Reports;

/// The batches that the next report names which names some; attempts that are told of until then go to `begun`.
async fn named(reports: &mut Reports, begun: &mut Vec<OpenAttempt>) -> Vec<HeldBatch> {
    loop {
        match reports.next().await {
            Report::Progress(progress) => {
                begun.extend(progress.open);
                if !progress.batches.is_empty() {
                    return progress.batches;
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn sessions_that_are_gathered_are_told_of_once_and_their_batch_every_ten_seconds() {
    let (stage, _server) = lane(100).await;
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let mut begun = Vec::new();
    let first = named(&mut reports, &mut begun).await;
    let mut at = Instant::now();
    for _ in 0..3 {
        assert_eq!(named(&mut reports, &mut begun).await, first);
        assert!(
            at.elapsed() >= Duration::from_secs(10) && at.elapsed() < Duration::from_secs(11),
            "{:?}",
            at.elapsed()
        );
        at = Instant::now();
    }
    let [batch] = &first[..] else { panic!("{first:?}") };
    assert_eq!(batch.sweep, stage.sweep.id);
    let sessions: BTreeMap<_, _> = begun.iter().map(|open| (open.key.clone(), open)).collect();
    assert_eq!((begun.len(), sessions.len()), (2, 2), "each once");
    for open in sessions.into_values() {
        assert_eq!((open.id.batch(), open.number), (Some(batch.id.as_str()), 1));
        assert_eq!(open.in_flight_at_most, Some(Money::ZERO), "nothing was sent");
    }
    worker.leave().await;
}

#[tokio::test]
async fn an_intent_that_waits_for_money_is_told_of() {
    let (stage, server, _) = with_budget(1, Money(AT_MOST.0 + COST.0)).await;
    server.end(Ending::Running);
    stage.publish([stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    server.reached(Place::Look, 1).await;
    // It has reserved more than what is left for another.
    stage.publish_any(vec![waiting_batch(&stage, "0a1b", None, SignedDuration::ZERO)]).await;
    let mut begun = Vec::new();
    while !named(&mut reports, &mut begun).await.iter().any(|batch| batch.id == "0a1b") {}
    let line = loop {
        match begun.iter().find(|open| open.id.as_str() == "0a1b-0") {
            Some(line) => break line.clone(),
            None => begun.push(reports.progress(|_| true).await),
        }
    };
    assert_eq!((line.key, line.in_flight_at_most), (stage.job(0, 0).key, Some(Money::ZERO)));
    server.end(Ending::Completed);
    for _ in 0..2 {
        assert_eq!(reports.outcome().await.outcome, MEASURED);
    }
    worker.leave().await;
}

#[tokio::test]
async fn whoever_a_batch_is_handed_to_tells_of_it() {
    let (stage, server) = lane(2).await;
    server.end(Ending::Running);
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let first = stage.start("first", |_| {}).await;
    server.reached(Place::Look, 1).await;
    first.leave().await;
    let waiting = stage.take_any().await;
    let [(Job::Batch(batch), _)] = &waiting[..] else { panic!("{waiting:?}") };
    stage.publish_any(vec![Job::Batch(batch.clone())]).await;
    let mut reports = stage.reports().await;
    let second = stage.start("second", |_| {}).await;
    loop {
        let Report::Progress(progress) = reports.next().await else { panic!("nothing has ended") };
        if progress.worker.as_str() == "second" && progress.batches.iter().any(|held| held.id == batch.id) {
            break;
        }
    }
    server.end(Ending::Completed);
    for _ in 0..2 {
        assert_eq!(reports.outcome().await.outcome, MEASURED);
    }
    second.leave().await;
    assert!(reports.rest(&stage.queue).await.is_empty());
}

/// Reports of before may be lost: a replica that takes over from the ledger may lack its last seconds.
#[tokio::test(start_paused = true)]
async fn attempts_of_a_batch_at_its_provider_are_told_of_when_it_is_taken_up_after_a_minute_and_every_twenty_minutes() {
    let (mut stage, _server) = lane(1).await;
    // Nobody is at home, so that the batch is followed without an end.
    stage.route.endpoint.base_url = Some("http://127.0.0.1:9/v1".to_owned());
    stage.route.endpoint.batch = Some(BatchSettings { poll_ms: 10_000, ..stage.route.endpoint.batch.unwrap() });
    let batch = waiting_batch(&stage, "0a1b", Some("batch_0".to_owned()), SignedDuration::ZERO);
    stage.publish_any(vec![batch]).await;
    let mut reports = stage.reports().await;
    let start = Instant::now();
    let worker = stage
        .start("w", |config| {
            config.progress_every = Duration::from_secs(1);
            // Then it is taken up again.
            config.hand_over_after = Duration::from_secs(45 * 60);
        })
        .await;
    let mut minutes = Vec::new();
    while start.elapsed() < Duration::from_secs(45 * 60 + 30) {
        let Report::Progress(progress) = reports.next().await else { panic!("nothing has ended") };
        for line in progress.open {
            assert_eq!((line.id.as_str(), line.in_flight_at_most), ("0a1b-0", Some(AT_MOST)));
            minutes.push(start.elapsed().as_secs() / 60);
        }
    }
    assert_eq!(minutes, [0, 1, 21, 41, 45]);
    worker.leave().await;
}
