//! Claims on the reservation of a batch, by which one worker at a time hands it in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::SignedDuration;
use regatta_llm::{PermitStore, StoreError};
use regatta_proto::{
    AccountId, AccountReply, AccountRequest, AttemptId, BatchSettings, Digest, Failing, Job, ManualClock, Money,
    PoolReply, PoolRequest, Report,
};
use regatta_worker::SharedPermits;
use tokio::time::{Instant, timeout};

use super::killed::waiting_batch;
use super::paid::{state, with_budget};
use super::server::{BatchServer, Place};
use super::{AT_MOST, COST, MEASURED, lane, until};
use crate::stage::Stage;

const ID: &str = "0a1b";
/// Pause between looks.
const POLL_MS: u64 = 10_000;

/// A stage with the intent of a batch that may cost [`AT_MOST`], and its account.
async fn intended() -> (Stage, BatchServer, AccountId) {
    let (mut stage, server, account) = with_budget(1, Money(4 * AT_MOST.0)).await;
    stage.route.endpoint.batch = Some(BatchSettings { poll_ms: POLL_MS, ..stage.route.endpoint.batch.unwrap() });
    stage.publish_any(vec![waiting_batch(&stage, ID, None, SignedDuration::ZERO)]).await;
    (stage, server, account)
}

/// Asks under the name `claim` for `money` to hand the batch in with; with none it gives the claim up.
async fn ask(stage: &Stage, account: &AccountId, claim: &AttemptId, money: Money) -> AccountReply {
    let request = AccountRequest { claim: Some(claim.clone()), ..request(account, money) };
    stage.permits.settle(&request).await.unwrap()
}

/// A request for `money` to hand the batch in with, under no name.
fn request(account: &AccountId, money: Money) -> AccountRequest {
    AccountRequest {
        account: account.clone(),
        holder: format!("batch-{ID}").parse().unwrap(),
        spent: Money::ZERO,
        maybe_spent: Money::ZERO,
        in_flight: Money::ZERO,
        sent: Money::ZERO,
        to_send: money,
        wanted: money,
        least: Money::ZERO,
        claim: None,
        claims_for_good: false,
    }
}

/// Name under which the batch is claimed.
async fn claimed_by(stage: &Stage, account: &AccountId) -> Option<AttemptId> {
    let reply = ask(stage, account, &"nobody-0".parse().unwrap(), Money::ZERO).await;
    reply.claimed.map(|claimed| claimed.by)
}

/// Whoever is cut off from the store and not from the provider may be sending all the while.
#[tokio::test(start_paused = true)]
async fn a_claim_that_is_not_heard_of_stands_for_as_long_as_a_request_that_makes_a_batch_may_take() {
    let (stage, server, account) = intended().await;
    ask(&stage, &account, &"silent-0".parse().unwrap(), AT_MOST).await;
    let start = Instant::now();
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |config| config.progress_every = Duration::from_secs(1)).await;
    assert_eq!(reports.outcome().await.outcome, MEASURED);
    assert!(start.elapsed() > Duration::from_millis(stage.route.endpoint.timeouts.total_ms), "{:?}", start.elapsed());
    assert_eq!(server.batches().len(), 1);
    worker.leave().await;
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_another_has_claimed_while_its_lines_were_uploaded_is_not_made() {
    let (stage, server, account) = intended().await;
    server.hold_at(Place::Upload);
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    until(async || server.seen(Place::Upload) == 1).await;
    let first = claimed_by(&stage, &account).await.unwrap();
    ask(&stage, &account, &first, Money::ZERO).await;
    let other = "other-0".parse().unwrap();
    ask(&stage, &account, &other, AT_MOST).await;
    server.go_on();
    // It waits behind the other.
    server.reached(Place::List, 2).await;
    assert!(server.batches().is_empty());
    assert_eq!(claimed_by(&stage, &account).await, Some(other.clone()));
    ask(&stage, &account, &other, Money::ZERO).await;
    assert_eq!(reports.outcome().await.outcome, MEASURED);
    assert_eq!(server.batches().len(), 1);
    worker.leave().await;
}

/// Nobody would find it: a list is searched for batches of the time after the intent.
#[tokio::test]
async fn a_batch_whose_lines_were_uploaded_for_too_long_is_made_of_a_new_intent() {
    let (mut stage, server) = lane(1).await;
    let intent = waiting_batch(&stage, ID, None, SignedDuration::ZERO);
    let Job::Batch(batch) = &intent else { unreachable!() };
    let clock = Arc::new(ManualClock::at(batch.intended_at));
    stage.clock = clock.clone();
    stage.publish_any(vec![intent]).await;
    server.hold_at(Place::Upload);
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    server.reached(Place::Upload, 1).await;
    clock.advance(SignedDuration::from_hours(11));
    server.go_on();
    assert_eq!(reports.outcome().await.outcome, MEASURED);
    assert_eq!((server.seen(Place::Upload), server.batches().len()), (2, 1));
    worker.leave().await;
}

/// The second model has no price, and so no account.
#[tokio::test]
async fn without_an_account_a_batch_that_came_to_be_while_its_lines_were_uploaded_is_not_made_again() {
    let (stage, server) = lane(1).await;
    server.hold_at(Place::Upload);
    let Job::Batch(mut intent) = waiting_batch(&stage, ID, None, SignedDuration::ZERO) else { unreachable!() };
    intent.model = stage.sweep.cells()[1].model.clone();
    intent.sessions = vec![stage.job(1, 0)];
    stage.publish_any(vec![Job::Batch(intent)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    server.reached(Place::Upload, 1).await;
    server.take_by_name(ID);
    server.go_on();
    let outcome = reports.outcome().await;
    assert_eq!((outcome.outcome, outcome.attempt.id.as_str()), (MEASURED, "0a1b-0"));
    assert_eq!(server.batches().len(), 1);
    worker.leave().await;
}

/// The worker did not know whether the batch was taken, told the account so, and died before it published the sessions that go on.
#[tokio::test(start_paused = true)]
async fn a_batch_whose_account_knows_already_what_it_may_have_cost_goes_on_after_that() {
    let (stage, server, account) = intended().await;
    let told = AccountRequest { maybe_spent: AT_MOST, claim: None, ..request(&account, Money::ZERO) };
    stage.permits.settle(&told).await.unwrap();
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let Report::HandedOver { totals, .. } = reports.result().await else { panic!("the session goes on") };
    assert_eq!(totals.maybe_spent, AT_MOST);
    assert_eq!(reports.outcome().await.outcome, MEASURED);
    assert_eq!(server.batches().len(), 1);
    worker.leave().await;
    assert_eq!(state(&stage, &account).await, (COST, AT_MOST));
}

/// Money that is left says nothing of a batch that is over; its possible cost is in the account.
#[tokio::test(start_paused = true)]
async fn a_batch_that_is_over_goes_on_although_there_is_no_money_for_it() {
    let (stage, server, account) = intended().await;
    let told = AccountRequest { maybe_spent: AT_MOST, claim: None, ..request(&account, Money::ZERO) };
    stage.permits.settle(&told).await.unwrap();
    let other = |money| AccountRequest { holder: "other".parse().unwrap(), ..request(&account, money) };
    stage.permits.settle(&other(Money(3 * AT_MOST.0))).await.unwrap();
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let report = timeout(Duration::from_secs(600), reports.result()).await.expect("it waits for no money");
    assert!(matches!(report, Report::HandedOver { .. }), "{report:?}");
    stage.permits.settle(&other(Money::ZERO)).await.unwrap();
    assert_eq!(reports.outcome().await.outcome, MEASURED);
    assert_eq!(server.batches().len(), 1);
    worker.leave().await;
}

/// A store that does what the first request asks of which `of` holds, and never says so.
pub(super) struct Mute {
    pub(super) store: SharedPermits,
    pub(super) of: fn(&AccountRequest) -> bool,
    pub(super) was_asked: Arc<AtomicBool>,
}

impl PermitStore for Mute {
    fn lease<'a>(&'a self, request: &'a PoolRequest) -> BoxFuture<'a, Result<PoolReply, StoreError>> {
        self.store.lease(request)
    }

    fn settle<'a>(&'a self, request: &'a AccountRequest) -> BoxFuture<'a, Result<AccountReply, StoreError>> {
        async move {
            let reply = self.store.settle(request).await;
            if (self.of)(request) && !self.was_asked.swap(true, Ordering::SeqCst) {
                return std::future::pending().await;
            }
            reply
        }
        .boxed()
    }

    fn failing<'a>(&'a self, failing: &'a Failing) -> BoxFuture<'a, Result<u32, StoreError>> {
        self.store.failing(failing)
    }

    fn failures<'a>(&'a self, fingerprint: &'a Digest) -> BoxFuture<'a, Result<u32, StoreError>> {
        self.store.failures(fingerprint)
    }
}

#[tokio::test]
async fn a_worker_that_leaves_before_it_hears_that_its_claim_was_granted_gives_it_up() {
    let (mut stage, server, account) = intended().await;
    let was_asked = Arc::new(AtomicBool::new(false));
    stage.store = Some(Arc::new(Mute {
        store: SharedPermits(stage.permits.clone()),
        of: |request| request.claim.is_some(),
        was_asked: was_asked.clone(),
    }));
    let worker = stage.start("w", |_| {}).await;
    until(async || was_asked.load(Ordering::SeqCst)).await;
    assert!(claimed_by(&stage, &account).await.is_some());
    worker.leave().await;
    assert_eq!(claimed_by(&stage, &account).await, None, "whoever goes on need not wait for it");
    assert_eq!((stage.waiting().await, server.batches().len()), (1, 0));
}
