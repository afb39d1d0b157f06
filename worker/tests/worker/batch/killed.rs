use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use regatta_backends::faults::{Fate, Trouble};
use regatta_proto::{BatchJob, BatchSettings, EndpointKind, Job, SessionJob, SessionOutcome};

use tokio::sync::watch;

use super::server::{BatchServer, Ending, Place};
use super::{MEASURED, lane, lane_of, until};
use crate::redelivered::{OFTEN, lose_workers};
use crate::stage::Stage;

#[tokio::test]
async fn a_worker_that_is_killed_before_it_hands_a_batch_in_leaves_the_intent_to_another() {
    let (mut stage, server) = lane(2).await;
    stage.route.endpoint.batch = Some(BatchSettings { poll_ms: 10_000, ..stage.route.endpoint.batch.unwrap() });
    server.hold_at(Place::Upload);
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let killed = stage.start_mortal("killed").await;
    server.reached(Place::Upload, 1).await;
    killed.kill();
    until(async || stage.waiting().await == 1).await;
    server.go_on();
    // The claim of whoever was killed stands for minutes.
    tokio::time::pause();
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
async fn a_batch_that_its_providers_list_does_not_show_yet_is_looked_for_again_and_not_handed_in_twice() {
    for kind in [EndpointKind::Openai, EndpointKind::Anthropic] {
        let (stage, server) = lane_of(kind, 2).await;
        server.hold_at(Place::Creation);
        stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
        let killed = stage.start_mortal("killed").await;
        server.reached(Place::Creation, 1).await;
        killed.kill();
        until(async || stage.waiting().await == 1).await;
        server.hide_from_lists(2);
        server.go_on();
        is_finished_by_another(&stage, &server).await;
    }
}

/// A worker that dies after its intent was confirmed, and before the broker had the acknowledgements of its sessions, leaves both. That they
/// are paid twice cannot be known by whoever finds them; that it is no more than this batch can.
#[tokio::test]
async fn a_worker_that_dies_between_an_intent_and_its_acknowledgements_costs_that_batch_once_more_and_nothing_else() {
    let (stage, server) = lane(2).await;
    let both = [stage.job(0, 0), stage.job(0, 1)];
    let Job::Batch(mut intent) = waiting_batch(&stage, "0a1b", None, SignedDuration::ZERO) else { unreachable!() };
    intent.sessions = both.to_vec();
    let again = both.iter().map(|job| SessionJob { attempt: 2, ..job.clone() });
    stage
        .publish_any(std::iter::once(Job::Batch(intent)).chain(again.map(|job| Job::Session(Box::new(job)))).collect())
        .await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let mut outcomes = Vec::new();
    for _ in 0..4 {
        outcomes.push(reports.outcome().await);
    }
    worker.leave().await;
    let lines: usize = server.batches().iter().map(|batch| batch.lines.len()).sum();
    assert_eq!((server.batches().len(), lines), (2, 4), "the intent, and the sessions of it that were delivered again");
    // Each call is in an attempt of its own: the ledger takes one for the session's, and counts the other as waste.
    for job in &both {
        let mut of_job: Vec<_> = outcomes.iter().filter(|outcome| outcome.key == job.key).collect();
        of_job.sort_by_key(|outcome| outcome.attempt.number);
        assert_eq!(of_job.iter().map(|outcome| outcome.attempt.number).collect::<Vec<_>>(), [1, 2]);
        assert_ne!(of_job[0].attempt.id, of_job[1].attempt.id);
        assert!(
            of_job.iter().all(|outcome| outcome.transcript.totals_of(outcome.attempt.number).cost.known == super::COST)
        );
    }
    assert_eq!(stage.waiting().await, 0);
}

/// A broker that confirms jobs when it is told to, and lets them go nowhere, so that nobody takes them a step further.
struct Unconfirming {
    published: AtomicUsize,
    confirmed: watch::Sender<usize>,
}

impl Fate for Unconfirming {
    fn loses(&self) -> bool {
        self.published.fetch_add(1, Ordering::SeqCst);
        true
    }

    fn after(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        let published = self.published.load(Ordering::SeqCst);
        Box::pin(async move {
            self.confirmed.subscribe().wait_for(|confirmed| *confirmed >= published).await.map_err(|_| Trouble)?;
            Ok(())
        })
    }
}

/// With the test before: what a death can cost is no more than one batch, however many sessions the worker holds.
#[tokio::test(start_paused = true)]
async fn no_intent_is_published_before_the_last_one_is_confirmed() {
    let (stage, _server) = lane(2).await;
    stage.publish((0..6).map(|item| stage.job(0, item))).await;
    let broker = Arc::new(Unconfirming { published: AtomicUsize::new(0), confirmed: watch::Sender::new(0) });
    stage.tell(vec![stage.route.clone()], Vec::new()).await;
    let _worker = stage.start_behind("w", broker.clone());
    for intents in 1..=3 {
        // Time passes when nothing else is left to do.
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!((broker.published.load(Ordering::SeqCst), stage.waiting().await), (intents, 0));
        broker.confirmed.send_replace(intents);
    }
}

/// A batch of two sessions that runs at its provider, and whose worker was killed.
async fn left_while_running() -> (Stage, BatchServer) {
    let (stage, server) = lane(2).await;
    server.end(Ending::Running);
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let killed = stage.start_mortal("killed").await;
    server.reached(Place::Look, 3).await;
    killed.kill();
    until(async || stage.waiting().await == 1).await;
    (stage, server)
}

#[tokio::test]
async fn a_batch_whose_worker_is_killed_while_following_it_is_followed_by_another() {
    let (stage, server) = left_while_running().await;
    server.end(Ending::Completed);
    is_finished_by_another(&stage, &server).await;
}

#[tokio::test]
async fn a_batch_that_is_paid_for_is_followed_however_many_workers_it_loses() {
    let (stage, server) = left_while_running().await;
    lose_workers(&stage, OFTEN).await;
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
pub(super) async fn is_finished_by_another(stage: &Stage, server: &BatchServer) {
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
pub(super) fn waiting_batch(stage: &Stage, id: &str, provider_id: Option<String>, age: SignedDuration) -> Job {
    let session = stage.job(0, 0);
    Job::Batch(Box::new(BatchJob {
        sweep: session.key.sweep.clone(),
        lock: session.lock,
        model: stage.sweep.cells()[0].model.clone(),
        id: id.to_owned(),
        provider_id,
        intended_at: Timestamp::now() - age,
        since: None,
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
