//! Sessions that go on after a batch, with a further call or with one that failed. The broker may have the job of the batch twice, and whoever
//! collects it may be killed at any step: each later call is made once all the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use jiff::SignedDuration;
use regatta_backends::faults::{Connection, Fate, Trouble};
use regatta_benchmarks::{Dataset, Item, SelectError, Sessions, Simulated, Step, Suite};
use regatta_catalog::Sweep;
use regatta_proto::{
    AccountId, ChatMessage, ChatRole, EndpointKind, ItemIndex, Job, ManualClock, Money, Report, Setting, Transcript,
};
use regatta_worker::SharedPermits;

use super::claimed::Mute;
use super::killed::waiting_batch;
use super::paid::{state, with_budget};
use super::server::{BatchServer, Line};
use super::{AT_MOST, COST, MEASURED, at_first, into_lane, until};
use crate::stage::{Cable, Reports, Stage, unscored};

const ID: &str = "0a1b";

/// Sessions of another suite whose agent is asked a second time.
struct Twice(Arc<dyn Suite>);

impl Dataset for Twice {
    fn items(&self) -> &[Item] {
        self.0.items()
    }

    fn select(&self, setting: &Setting, tasks: &[String], limit: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        self.0.select(setting, tasks, limit)
    }
}

impl Sessions for Twice {
    fn next(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Step {
        match (transcript.calls().count(), self.0.next(item, setting, &Transcript::default())) {
            (0, first) => first,
            (1, Step::Ask(role, mut request)) => {
                request.messages.push(ChatMessage::new(ChatRole::User, "again?"));
                Step::Ask(role, request)
            }
            _ => Step::Done,
        }
    }
}

impl Simulated for Twice {}

unscored!(Twice);

/// A stage for sessions of two calls, whose provider is of this kind, and the account of its sweep.
async fn of_two_calls(kind: EndpointKind, requests_max: u32) -> (Stage, BatchServer, AccountId) {
    let budget = Money(8 * AT_MOST.0);
    let single = Stage::set_with(|lock| lock.budget_usd = Some(budget.dollars())).await.sweep;
    let cell = &single.cells()[0];
    let suite: Arc<dyn Suite> = Arc::new(Twice(single.suite(cell).unwrap().clone()));
    let sweep = Sweep::new(single.lock.clone(), BTreeMap::from([(cell.benchmark.clone(), suite)])).unwrap();
    let mut stage = Stage::of(sweep);
    let server = into_lane(&mut stage, requests_max).await;
    stage.route.endpoint.kind = kind;
    stage.route.endpoint.identify_sessions = false;
    let account = AccountId { sweep: stage.sweep.id.clone(), model: None };
    stage.permits.open_account(&account, budget, Money::ZERO).await.unwrap();
    (stage, server, account)
}

/// The job of a batch of one session that the provider has and has answered.
fn answered(stage: &Stage, server: &BatchServer) -> Job {
    server.take_by_name(ID);
    waiting_batch(stage, ID, Some("batch_0".to_owned()), SignedDuration::ZERO)
}

/// Attempts that end the next `times` sessions, each measured by so many calls.
async fn ends(reports: &mut Reports, times: usize, calls: usize) -> BTreeSet<String> {
    let (mut attempts, mut seen) = (BTreeSet::new(), 0);
    while seen < times {
        match reports.result().await {
            Report::HandedOver { .. } => {}
            Report::Session(ended) => {
                assert_eq!((&ended.outcome, ended.transcript.calls().count()), (&MEASURED, calls));
                attempts.insert(ended.attempt.id.to_string());
                seen += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    attempts
}

/// Lines of each batch that the provider has.
fn sizes(server: &BatchServer) -> Vec<usize> {
    server.batches().iter().map(|batch| batch.lines.len()).collect()
}

#[tokio::test]
async fn two_workers_that_collect_copies_of_a_batch_have_the_next_call_of_its_session_made_once() {
    for kind in [EndpointKind::Openai, EndpointKind::Anthropic] {
        let (stage, server, account) = of_two_calls(kind, 1).await;
        let copy = answered(&stage, &server);
        stage.publish_any(vec![copy.clone(), copy]).await;
        let mut reports = stage.reports().await;
        let (first, second) = (stage.start("first", |_| {}).await, stage.start("second", |_| {}).await);
        let attempts = ends(&mut reports, 2, 2).await;
        first.leave().await;
        second.leave().await;
        assert_eq!((sizes(&server), attempts.len()), (vec![1, 1], 1), "{kind:?}: {attempts:?}");
        assert_eq!(state(&stage, &account).await, (Money(2 * COST.0), Money::ZERO));
        assert_eq!(stage.waiting().await, 0);
    }
}

#[tokio::test]
async fn copies_of_an_intent_lead_to_one_batch_for_each_call_of_its_sessions() {
    let (stage, server, account) = of_two_calls(EndpointKind::Openai, 2).await;
    let Job::Batch(mut copy) = waiting_batch(&stage, ID, None, SignedDuration::ZERO) else { unreachable!() };
    copy.sessions.push(stage.job(0, 1));
    stage.publish_any(vec![Job::Batch(copy.clone()), Job::Batch(copy)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let attempts = ends(&mut reports, 4, 2).await;
    worker.leave().await;
    assert_eq!((sizes(&server), attempts.len()), (vec![2, 2], 2), "{attempts:?}");
    assert_eq!(state(&stage, &account).await, (Money(4 * COST.0), Money::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_comes_hours_after_all_calls_were_made_has_none_made_again() {
    for kind in [EndpointKind::Openai, EndpointKind::Anthropic] {
        let (mut stage, server, account) = of_two_calls(kind, 1).await;
        let copy = answered(&stage, &server);
        let Job::Batch(batch) = &copy else { unreachable!() };
        let clock = Arc::new(ManualClock::at(batch.intended_at));
        stage.clock = clock.clone();
        let mut reports = stage.reports().await;
        let worker = stage.start("w", |_| {}).await;
        stage.publish_any(vec![copy.clone()]).await;
        let attempts = ends(&mut reports, 1, 2).await;
        clock.advance(SignedDuration::from_hours(5));
        stage.publish_any(vec![copy]).await;
        assert_eq!(ends(&mut reports, 1, 2).await, attempts, "{kind:?}");
        worker.leave().await;
        assert_eq!(sizes(&server), [1, 1], "{kind:?}");
        assert_eq!(state(&stage, &account).await, (Money(2 * COST.0), Money::ZERO));
    }
}

#[tokio::test]
async fn a_worker_that_is_killed_once_the_account_knows_the_cost_of_a_batch_leaves_its_session_to_another() {
    let (mut stage, server, account) = of_two_calls(EndpointKind::Openai, 1).await;
    let is_told = Arc::new(AtomicBool::new(false));
    stage.store = Some(Arc::new(Mute {
        store: SharedPermits(stage.permits.clone()),
        of: |request| request.spent > Money::ZERO,
        was_asked: is_told.clone(),
    }));
    stage.publish_any(vec![answered(&stage, &server)]).await;
    let killed = stage.start_mortal("killed").await;
    until(async || is_told.load(Ordering::SeqCst)).await;
    killed.kill();
    until(async || stage.waiting().await == 1).await;
    let mut reports = stage.reports().await;
    let another = stage.start("another", |_| {}).await;
    assert_eq!(ends(&mut reports, 1, 2).await.len(), 1);
    another.leave().await;
    assert_eq!(sizes(&server), [1, 1]);
    assert_eq!(state(&stage, &account).await, (Money(2 * COST.0), Money::ZERO));
}

/// The way of a worker to the broker that hears nothing any more once the broker has a job of it.
#[derive(Default)]
struct Deaf {
    cable: Cable,
    has_published: AtomicBool,
}

impl Fate for Deaf {
    fn loses(&self) -> bool {
        self.has_published.store(true, Ordering::SeqCst);
        false
    }

    fn after(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        match self.has_published.load(Ordering::SeqCst) {
            true => Box::pin(std::future::pending()),
            false => Box::pin(std::future::ready(Ok(()))),
        }
    }

    fn connected(&self, connection: Arc<dyn Connection>) {
        self.cable.connected(connection);
    }
}

/// Has a worker take the only job that waits, and lose the broker once that has the `count` jobs by which the worker replaces it.
async fn lost_after_publishing(stage: &Stage, count: u64) {
    let broker = Arc::new(Deaf::default());
    stage.tell(vec![stage.route.clone()], Vec::new()).await;
    let _worker = stage.start_behind("lost", broker.clone());
    until(async || broker.has_published.load(Ordering::SeqCst)).await;
    broker.cable.cut_for_good();
    until(async || stage.waiting().await > count).await;
}

#[tokio::test]
async fn a_batch_whose_end_is_lost_after_its_session_went_on_is_collected_again_and_the_next_call_made_once() {
    for kind in [EndpointKind::Openai, EndpointKind::Anthropic] {
        let (stage, server, account) = of_two_calls(kind, 1).await;
        stage.publish_any(vec![answered(&stage, &server)]).await;
        lost_after_publishing(&stage, 1).await;
        let mut reports = stage.reports().await;
        let another = stage.start("another", |_| {}).await;
        let attempts = ends(&mut reports, 2, 2).await;
        another.leave().await;
        assert_eq!((sizes(&server), attempts.len()), (vec![1, 1], 1), "{kind:?}: {attempts:?}");
        assert_eq!(state(&stage, &account).await, (Money(2 * COST.0), Money::ZERO));
    }
}

#[tokio::test]
async fn a_line_that_failed_is_asked_again_once_however_often_its_batch_is_collected() {
    for kind in [EndpointKind::Openai, EndpointKind::Anthropic] {
        let (mut stage, server, account) = with_budget(1, Money(8 * AT_MOST.0)).await;
        stage.route.endpoint.kind = kind;
        stage.route.endpoint.identify_sessions = false;
        server.answer(at_first(Line::Fails(529, "overloaded")));
        let copy = answered(&stage, &server);
        stage.publish_any(vec![copy.clone(), copy]).await;
        let mut reports = stage.reports().await;
        let worker = stage.start("w", |_| {}).await;
        let attempts = ends(&mut reports, 2, 1).await;
        worker.leave().await;
        assert_eq!((sizes(&server), attempts.len()), (vec![1, 1], 1), "{kind:?}: {attempts:?}");
        assert_eq!(state(&stage, &account).await.0, COST);
    }
}

/// Whoever had the first copy has gone on from the refusal.
#[tokio::test]
async fn a_copy_of_an_intent_whose_batch_was_refused_as_a_whole_is_not_handed_in_besides_what_goes_on() {
    let (stage, server, account) = with_budget(1, Money(8 * AT_MOST.0)).await;
    let copy = answered(&stage, &server);
    server.refuse_all_so_far("token_limit_exceeded");
    stage.publish_any(vec![copy]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let attempts = ends(&mut reports, 1, 1).await;
    // So old that it is looked for before anything is handed in.
    let Job::Batch(intent) = waiting_batch(&stage, ID, None, SignedDuration::from_hours(5)) else { unreachable!() };
    stage.publish_any(vec![Job::Batch(intent)]).await;
    assert_eq!(ends(&mut reports, 1, 1).await, attempts);
    worker.leave().await;
    assert_eq!(sizes(&server), [1, 1], "the refused one, and one more");
    assert_eq!(state(&stage, &account).await, (COST, Money::ZERO));
}

/// The worker that finds the intent again has money for all of it, which the first had not.
#[tokio::test]
async fn an_intent_that_was_cut_for_want_of_money_is_cut_at_the_same_line_by_whoever_has_it_again() {
    let (stage, server, account) = with_budget(2, Money(AT_MOST.0 + COST.0)).await;
    let Job::Batch(mut intent) = waiting_batch(&stage, ID, None, SignedDuration::ZERO) else { unreachable!() };
    intent.sessions.push(stage.job(0, 1));
    stage.publish_any(vec![Job::Batch(intent)]).await;
    lost_after_publishing(&stage, 2).await;
    stage.permits.open_account(&account, Money(8 * AT_MOST.0), Money::ZERO).await.unwrap();
    let mut reports = stage.reports().await;
    let another = stage.start("another", |_| {}).await;
    let attempts = ends(&mut reports, 4, 1).await;
    another.leave().await;
    assert_eq!((sizes(&server), attempts.len()), (vec![1, 1], 2), "{attempts:?}");
    assert_eq!(state(&stage, &account).await, (Money(2 * COST.0), Money::ZERO));
}
