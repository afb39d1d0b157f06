use regatta_proto::{AccountId, AttemptTotals, CacheMode, Cause, Money, Report};
use regatta_tests::Logged;

use super::killed::is_finished_by_another;
use super::server::{BatchServer, Ending, Place};
use super::{AT_MOST, COST, MEASURED, into_lane, lane, not_measured, until};
use crate::stage::Stage;

/// A stage whose sweep may spend this much.
pub(super) async fn with_budget(requests_max: u32, budget: Money) -> (Stage, BatchServer, AccountId) {
    let mut stage = Stage::set_with(|lock| lock.budget_usd = Some(budget.dollars())).await;
    let server = into_lane(&mut stage, requests_max).await;
    let account = AccountId { sweep: stage.sweep.id.clone(), model: None };
    stage.permits.open_account(&account, budget, Money::ZERO).await.unwrap();
    (stage, server, account)
}

/// Money spent from an account, and money counted against it besides (maybe spent, reserved or lost).
pub(super) async fn state(stage: &Stage, account: &AccountId) -> (Money, Money) {
    let state = stage.permits.account(account).await.unwrap().unwrap();
    (state.spent, state.maybe_spent + state.reserved + state.lost)
}

#[tokio::test]
async fn a_batchs_worst_case_is_reserved_while_it_is_away_and_its_real_cost_settled_when_it_is_back() {
    let (stage, server, account) = with_budget(2, Money(2 * AT_MOST.0)).await;
    server.end(Ending::Running);
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    server.reached(Place::Look, 1).await;
    assert_eq!(state(&stage, &account).await, (Money::ZERO, Money(2 * AT_MOST.0)));
    server.end(Ending::Completed);
    for _ in 0..2 {
        assert_eq!(reports.outcome().await.outcome, MEASURED);
    }
    worker.leave().await;
    assert_eq!(state(&stage, &account).await, (Money(2 * COST.0), Money::ZERO));
}

#[tokio::test]
async fn with_money_for_a_part_of_a_batch_the_rest_waits_until_that_part_is_settled() {
    let (stage, server, account) = with_budget(2, Money(AT_MOST.0 + COST.0)).await;
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let (mut measured, mut cut) = (0, 0);
    while measured < 2 {
        match reports.result().await {
            Report::Session(session) => {
                assert_eq!(session.outcome, MEASURED);
                measured += 1;
            }
            Report::HandedOver { totals, .. } => {
                assert_eq!(totals, AttemptTotals::default());
                cut += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(cut, 2, "nothing was sent of the batch that was cut in two");
    let sizes: Vec<_> = server.batches().iter().map(|batch| batch.lines.len()).collect();
    assert_eq!(sizes, [1, 1]);
    worker.leave().await;
    assert_eq!(state(&stage, &account).await, (Money(2 * COST.0), Money::ZERO));
}

#[tokio::test]
async fn while_no_account_can_be_told_of_batches_a_line_says_so_and_not_one_a_look() {
    let budget = Money(4 * AT_MOST.0);
    let (stage, server, account) = with_budget(1, budget).await;
    server.end(Ending::Running);
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    server.reached(Place::Look, 4).await;
    let (log, _listening) = Logged::listen();
    stage.permits.close_accounts(&stage.sweep.id).await.unwrap();
    server.reached(Place::Look, 40).await;
    stage.permits.open_account(&account, budget, Money::ZERO).await.unwrap();
    server.end(Ending::Completed);
    for _ in 0..2 {
        assert_eq!(reports.outcome().await.outcome, MEASURED);
    }
    let renewals = |line: &&String| line.contains("failed to renew the money of batches");
    assert_eq!(log.lines().iter().filter(renewals).count(), 1, "{:#?}", log.lines());
    worker.leave().await;
}

#[tokio::test]
async fn without_money_for_a_single_session_nothing_is_handed_in() {
    let (stage, server, account) = with_budget(2, Money(AT_MOST.0 - 1)).await;
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    for _ in 0..2 {
        assert_eq!(reports.outcome().await.outcome, not_measured(Cause::Budget));
    }
    worker.leave().await;
    assert!(server.batches().is_empty());
    assert_eq!(state(&stage, &account).await, (Money::ZERO, Money::ZERO));
}

#[tokio::test]
async fn under_a_budget_no_batch_of_unknown_price_is_handed_in() {
    let (stage, server, _) = with_budget(1, AT_MOST).await;
    stage.publish([stage.job(1, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    assert_eq!(reports.outcome().await.outcome, not_measured(Cause::Budget));
    assert!(server.batches().is_empty());
    worker.leave().await;
}

#[tokio::test]
async fn the_money_of_a_batch_whose_worker_died_is_settled_by_whoever_collects_it() {
    let (stage, server, account) = with_budget(2, Money(2 * AT_MOST.0)).await;
    server.end(Ending::Running);
    stage.publish([stage.job(0, 0), stage.job(0, 1)]).await;
    let killed = stage.start_mortal("killed").await;
    server.reached(Place::Look, 1).await;
    killed.kill();
    until(async || stage.waiting().await == 1).await;
    assert_eq!(state(&stage, &account).await, (Money::ZERO, Money(2 * AT_MOST.0)), "nobody else may spend it");
    server.end(Ending::Completed);
    is_finished_by_another(&stage, &server).await;
    assert_eq!(state(&stage, &account).await, (Money(2 * COST.0), Money::ZERO));
}

#[tokio::test]
async fn what_was_answered_before_is_not_part_of_a_batch_and_replaying_asks_nobody() {
    let mut first = Stage::set_with(|lock| lock.cache = CacheMode::ReadWrite).await;
    let server = into_lane(&mut first, 1).await;
    first.publish([first.job(0, 0)]).await;
    let mut reports = first.reports().await;
    let worker = first.start("w", |_| {}).await;
    let asked = reports.outcome().await;
    first.publish([first.job(0, 0)]).await;
    let kept = reports.outcome().await;
    let texts = [&asked, &kept].map(|outcome| outcome.transcript.calls().next().unwrap().reply.clone());
    assert_eq!(texts[0], texts[1]);
    assert_eq!(kept.transcript.calls().map(|call| call.from_cache).collect::<Vec<_>>(), [true]);
    assert_eq!(server.batches().len(), 1);
    worker.leave().await;
}

#[tokio::test]
async fn a_session_that_is_only_replayed_never_becomes_part_of_a_batch() {
    let mut stage = Stage::set_with(|lock| lock.cache = CacheMode::Replay).await;
    let server = into_lane(&mut stage, 1).await;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    assert_eq!(reports.outcome().await.outcome, not_measured(Cause::CacheMiss));
    assert!(server.batches().is_empty());
    worker.leave().await;
}

#[tokio::test]
async fn without_a_price_the_cost_of_a_batch_is_unknown_and_not_zero() {
    let (stage, _server) = lane(1).await;
    stage.publish([stage.job(1, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let outcome = reports.outcome().await;
    assert_eq!(outcome.outcome, MEASURED);
    let cost = outcome.transcript.totals_of(1).cost;
    assert_eq!((cost.known, cost.unknown_calls), (Money::ZERO, 1), "an unknown price is an unknown cost");
    worker.leave().await;
}
