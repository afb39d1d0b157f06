//! Tests in paused time, with a store that records every use of money that was not leased.

use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use prometheus::Registry;
use proptest::prelude::*;
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::permits::fake::FakeStore;

fn account(model: Option<&str>) -> AccountId {
    AccountId { sweep: "s".parse().unwrap(), model: model.map(|model| model.parse().unwrap()) }
}

fn budget_leases(store: &FakeStore, holder: &str) -> Arc<BudgetLeases> {
    store.context(&Registry::new(), holder).budget_leases
}

/// Reserves, sends, and settles after a while.
async fn call(budget_leases: &BudgetLeases, accounts: &[AccountId], at_most: u64, cost: u64) -> Result<(), UsedUp> {
    let mut reservation = loop {
        let mut reservation = budget_leases.reserve(accounts, Money(at_most)).await?;
        match reservation.clear().await {
            Ok(()) => break reservation,
            Err(used_up) if used_up.may_come_back() => {}
            Err(used_up) => return Err(used_up),
        }
    };
    reservation.sent();
    sleep(Duration::from_millis(100)).await;
    reservation.settle(Paid::Known(Money(cost)));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn without_an_account_nothing_is_asked_of_the_store() {
    let store = FakeStore::default();
    call(&budget_leases(&store, "w"), &[], 1_000, 10).await.unwrap();
    assert_eq!(store.settlements(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_lacks_money_is_asked_for_at_once() {
    let (store, account) = (FakeStore::default(), account(None));
    store.budget(&account, Money(1_000));
    let begun = Instant::now();
    let reservation = budget_leases(&store, "w").reserve(&[account], Money(1_000)).await.unwrap();
    assert_eq!((begun.elapsed(), reservation.at_most), (Duration::ZERO, Money(1_000)));
}

#[tokio::test(start_paused = true)]
async fn a_steady_stream_of_calls_hardly_asks_the_store() {
    let (store, account) = (FakeStore::default(), account(None));
    store.budget(&account, Money(u64::MAX / 4));
    let budget_leases = budget_leases(&store, "w");
    let begun = Instant::now();
    let workers = (0..50).map(|_| async {
        for _ in 0..200 {
            call(&budget_leases, std::slice::from_ref(&account), 1_000, 400).await.unwrap();
        }
    });
    join_all(workers).await;
    assert!(begun.elapsed() < Duration::from_millis(21_000), "{:?}; 20 s at best", begun.elapsed());
    assert!(store.settlements() < 60, "{}", store.settlements());
    budget_leases.close().await;
    assert_eq!(store.account(&account), (Money(50 * 200 * 400), Money::ZERO, Money::ZERO));
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn the_last_money_is_used_by_whoever_needs_it_and_never_overrun() {
    let (store, account) = (FakeStore::default(), account(None));
    store.budget(&account, Money(100_000));
    store.answers_after(Duration::from_millis(5));
    let workers: Vec<_> = (0..4).map(|number| budget_leases(&store, &format!("w{number}"))).collect();
    let sessions = (0..200).map(|number| {
        let (budget_leases, accounts) = (&workers[number % 4], std::slice::from_ref(&account));
        async move {
            let mut calls = 0;
            while call(budget_leases, accounts, 1_000, 100).await.is_ok() {
                calls += 1;
            }
            calls
        }
    });
    let calls: u64 = timeout(Duration::from_secs(600), join_all(sessions)).await.unwrap().into_iter().sum();
    join_all(workers.iter().map(|budget_leases| budget_leases.close())).await;
    let (spent, maybe_spent, reserved) = store.account(&account);
    assert_eq!((spent, maybe_spent, reserved), (Money(calls * 100), Money::ZERO, Money::ZERO));
    assert!(spent > Money(99_000), "all but less than one call's worst case: {spent:?}");
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_can_never_be_paid_is_refused_and_those_behind_it_go_on() {
    let (store, account) = (FakeStore::default(), account(None));
    store.budget(&account, Money(1_000));
    let budget_leases = budget_leases(&store, "w");
    let accounts = std::slice::from_ref(&account);
    let (large, small) =
        tokio::join!(call(&budget_leases, accounts, 1_001, 0), call(&budget_leases, accounts, 1_000, 10));
    let refused = large.unwrap_err().into_try();
    assert_eq!(refused.class, ErrorClass::Budget);
    insta::assert_snapshot!(refused.detail, @"the budget of sweep s is used up: the call may cost $0.000001001, and $0.000001000 is left at most");
    small.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_money_that_others_may_give_back() {
    let (store, account) = (FakeStore::default(), account(None));
    store.budget(&account, Money(1_000));
    let [one, two] = ["w1", "w2"].map(|holder| budget_leases(&store, holder));
    let accounts = std::slice::from_ref(&account);
    let held = one.reserve(accounts, Money(900)).await.unwrap();
    let mut waiting = Box::pin(two.reserve(accounts, Money(900)));
    assert!(timeout(Duration::from_secs(60), &mut waiting).await.is_err());
    drop(held);
    let _held = timeout(Duration::from_secs(3), waiting).await.unwrap().unwrap();
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn of_several_accounts_all_have_to_allow_it() {
    let (store, whole, of_model) = (FakeStore::default(), account(None), account(Some("sim/m")));
    store.budget(&whole, Money(10_000));
    store.budget(&of_model, Money(500));
    let budget_leases = budget_leases(&store, "w");
    let both = [whole.clone(), of_model.clone()];
    call(&budget_leases, &both, 400, 200).await.unwrap();
    let refused = call(&budget_leases, &both, 400, 200).await.unwrap_err().into_try();
    insta::assert_snapshot!(refused.detail, @"the budget of sim/m in sweep s is used up: the call may cost $0.000000400, and $0.000000300 is left at most");
    call(&budget_leases, &both[..1], 400, 200).await.unwrap();
    budget_leases.close().await;
    assert_eq!(store.account(&whole).0, Money(400));
    assert_eq!(store.account(&of_model).0, Money(200));
}

#[tokio::test(start_paused = true)]
async fn a_try_that_nobody_settled_may_have_been_paid_and_one_that_was_not_sent_was_not() {
    let (store, account) = (FakeStore::default(), account(None));
    store.budget(&account, Money(10_000));
    let budget_leases = budget_leases(&store, "w");
    let accounts = std::slice::from_ref(&account);
    drop(budget_leases.reserve(accounts, Money(1_000)).await.unwrap());
    let mut lost = budget_leases.reserve(accounts, Money(300)).await.unwrap();
    lost.clear().await.unwrap();
    lost.sent();
    drop(lost);
    budget_leases.close().await;
    assert_eq!(store.account(&account), (Money::ZERO, Money(300), Money::ZERO));
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_permit_is_reserved_and_not_counted_as_possibly_spent() {
    let (store, account) = (FakeStore::default(), account(None));
    store.budget(&account, Money(1_000_000));
    let budget_leases = budget_leases(&store, "w");
    let accounts = std::slice::from_ref(&account);
    let waiting = join_all((0..100).map(|_| budget_leases.reserve(accounts, Money(1_000)))).await;
    let mut sent: Vec<_> = waiting.into_iter().map(Result::unwrap).collect();
    let _waiting = sent.split_off(3);
    for reservation in &mut sent {
        reservation.clear().await.unwrap();
        reservation.sent();
    }
    sleep(Duration::from_secs(3)).await;
    assert_eq!((store.account(&account).2, store.may_send(&account)), (Money(100_000), Money(3_000)));
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_before_the_store_counts_it() {
    let (store, account) = (FakeStore::default(), account(None));
    store.budget(&account, Money(1_000_000));
    let budget_leases = budget_leases(&store, "w");
    let mut first = budget_leases.reserve(std::slice::from_ref(&account), Money(1_000)).await.unwrap();
    store.is_away(true);
    assert!(timeout(Duration::from_secs(60), first.clear()).await.is_err());
    drop(first);
    store.is_away(false);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(store.account(&account), (Money::ZERO, Money::ZERO, Money::ZERO), "it was not sent, and costs nothing");
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn calls_whose_money_went_to_others_stand_in_line_again_and_all_of_them_end() {
    let (store, account) = (FakeStore::default(), account(None));
    store.budget(&account, Money(10_000));
    let [silent, other] = ["silent", "other"].map(|holder| budget_leases(&store, holder));
    let accounts = std::slice::from_ref(&account);
    let mut held = join_all((0..2).map(|_| silent.reserve(accounts, Money(4_000)))).await;
    store.take_for_dead(&account, "silent");
    call(&other, accounts, 6_000, 5_000).await.unwrap();
    other.close().await;
    // One of the two can be paid; the other one's money goes to it.
    let [mut first, mut second] = [held.remove(0).unwrap(), held.remove(0).unwrap()];
    let gone = timeout(Duration::from_secs(60), first.clear()).await.unwrap().unwrap_err();
    assert!(gone.may_come_back(), "{gone:?}");
    drop(first);
    timeout(Duration::from_secs(60), second.clear()).await.unwrap().unwrap();
    second.sent();
    second.settle(Paid::Known(Money(3_000)));
    let used_up = timeout(Duration::from_secs(60), call(&silent, accounts, 4_000, 3_000)).await.unwrap().unwrap_err();
    assert!(!used_up.may_come_back(), "{used_up:?}");
    silent.close().await;
    assert_eq!(store.account(&account), (Money(8_000), Money::ZERO, Money::ZERO));
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn a_worker_without_calls_gives_everything_back_at_once() {
    let (store, account) = (FakeStore::default(), account(None));
    store.budget(&account, Money(1_000_000));
    let budget_leases = budget_leases(&store, "w");
    join_all((0..50).map(|_| call(&budget_leases, std::slice::from_ref(&account), 1_000, 400))).await;
    sleep(Duration::from_millis(200)).await;
    assert_eq!(store.account(&account), (Money(20_000), Money::ZERO, Money::ZERO));
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_free_ask_the_store_for_nothing() {
    let (store, account) = (FakeStore::default(), account(None));
    store.budget(&account, Money(1_000));
    call(&budget_leases(&store, "w"), std::slice::from_ref(&account), 0, 0).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(store.settlements(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_needed_goes_back_and_then_the_store_is_left_alone() {
    let (store, account) = (FakeStore::default(), account(None));
    store.budget(&account, Money(1_000_000));
    let budget_leases = budget_leases(&store, "w");
    for _ in 0..100 {
        call(&budget_leases, std::slice::from_ref(&account), 1_000, 500).await.unwrap();
    }
    sleep(Duration::from_secs(5)).await;
    assert_eq!(store.account(&account), (Money(50_000), Money::ZERO, Money::ZERO));
    let asked = store.settlements();
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(store.settlements(), asked);
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_store_stops_new_calls_and_loses_no_total() {
    let (store, account) = (FakeStore::default(), account(None));
    store.budget(&account, Money(1_000_000));
    let budget_leases = budget_leases(&store, "w");
    let accounts = std::slice::from_ref(&account);
    let mut held = budget_leases.reserve(accounts, Money(1_000)).await.unwrap();
    held.clear().await.unwrap();
    held.sent();
    store.is_away(true);
    sleep(Duration::from_secs(60)).await;
    assert!(budget_leases.reserve(accounts, Money(1_000)).now_or_never().is_none());
    held.settle(Paid::Known(Money(700)));
    sleep(Duration::from_secs(60)).await;
    store.is_away(false);
    timeout(Duration::from_secs(6), call(&budget_leases, accounts, 1_000, 1)).await.unwrap().unwrap();
    budget_leases.close().await;
    assert_eq!(store.account(&account), (Money(701), Money::ZERO, Money::ZERO));
    store.assert_obeyed();
}

/// One call of a random test: time of arrival, longest wait, worst case, billed part in per cent, and whether the bill is reported.
type Plan = (usize, u64, u64, u64, u64, bool);

fn plan() -> impl Strategy<Value = Plan> {
    let patience = prop_oneof![3 => Just(u64::MAX), 1 => 0u64..3_000];
    (0usize..3, 0u64..20_000, patience, 1u64..2_000, 0u64..=100, prop::bool::weighted(0.9))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_no_budget_is_overrun_and_totals_are_exact(
        plans in prop::collection::vec(plan(), 1..120),
        budget in 100u64..100_000,
        delay_ms in 0u64..40,
        outage in prop::option::of((0u64..20_000, 0u64..5_000)),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (store, account) = (FakeStore::default(), account(None));
            store.budget(&account, Money(budget));
            store.answers_after(Duration::from_millis(delay_ms));
            let workers: Vec<_> = (0..3).map(|number| budget_leases(&store, &format!("w{number}"))).collect();
            let calls = plans.iter().map(|(worker, comes_ms, patience_ms, at_most, per_cent, is_told)| {
                let (budget_leases, accounts) = (&workers[*worker], std::slice::from_ref(&account));
                async move {
                    sleep(Duration::from_millis(*comes_ms)).await;
                    let patience = Duration::from_millis((*patience_ms).min(3_600_000));
                    let reserved = timeout(patience, budget_leases.reserve(accounts, Money(*at_most))).await;
                    let Ok(Ok(mut reservation)) = reserved else { return (0, 0) };
                    if reservation.clear().await.is_err() {
                        return (0, 0);
                    }
                    reservation.sent();
                    sleep(Duration::from_millis(at_most % 700)).await;
                    let cost = at_most * per_cent / 100;
                    if *is_told {
                        reservation.settle(Paid::Known(Money(cost)));
                        (cost, 0)
                    } else {
                        reservation.settle(Paid::Unknown);
                        (0, *at_most)
                    }
                }
            });
            let weather = async {
                let Some((from_ms, for_ms)) = outage else { return };
                sleep(Duration::from_millis(from_ms)).await;
                store.is_away(true);
                sleep(Duration::from_millis(for_ms)).await;
                store.is_away(false);
            };
            let (paid, ()) = timeout(Duration::from_secs(1800), async { tokio::join!(join_all(calls), weather) }).await.unwrap();
            join_all(workers.iter().map(|budget_leases| budget_leases.close())).await;
            let sum = paid.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            assert!(sum.0 + sum.1 <= budget);
            let touched = plans.iter().any(|plan| plan.2 > 0) && store.settlements() > 0;
            if touched {
                assert_eq!(store.account(&account), (Money(sum.0), Money(sum.1), Money::ZERO));
            }
            store.assert_obeyed();
        });
    }
}
