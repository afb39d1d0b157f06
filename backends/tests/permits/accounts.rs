use std::time::Duration;

use futures::future::join_all;
use regatta_backends::{AccountState, Permits};
use regatta_proto::{AccountId, AccountReply, AccountRequest, Claimed, Money};

use crate::world::{World, account, spending};

async fn open(world: &World, cap: u64) {
    world.permits.open_account(&account("s"), Money(cap), Money::ZERO).await.unwrap();
}

async fn settle(world: &World, worker: &str, spent: u64, wanted: u64) -> AccountReply {
    world.permits.settle(&spending(worker, spent, wanted)).await.unwrap()
}

async fn state(world: &World) -> AccountState {
    world.permits.account(&account("s")).await.unwrap().unwrap()
}

pub(crate) async fn an_account_that_nobody_opened_is_unknown(world: World) {
    assert_eq!(world.permits.account(&account("s")).await.unwrap(), None);
    let error = world.permits.settle(&spending("w-1", 0, 1)).await.unwrap_err();
    assert_eq!(error.to_string(), "failed to find the account of the sweep s; was it opened in another store?");
}

pub(crate) async fn money_is_reserved_once_over_all_workers(world: World) {
    open(&world, 1000).await;
    let other = world.open().await;
    let reply = settle(&world, "w-1", 0, 700).await;
    let expected = AccountReply {
        reserved: Money(700),
        may_send: Money(700),
        left: Money(300),
        may_come: Money(1000),
        valid_ms: 10_000,
        idle_ms: 200,
        claimed: None,
        was_overtaken: false,
    };
    assert_eq!(reply, expected);
    assert_eq!(other.settle(&spending("w-2", 0, 700)).await.unwrap().reserved, Money(300));
    assert_eq!(settle(&world, "w-1", 400, 0).await.left, Money(300));
    assert_eq!(other.settle(&spending("w-2", 0, 700)).await.unwrap().reserved, Money(600));
    let expected = AccountState {
        cap: Money(1000),
        spent: Money(400),
        reserved: Money(600),
        may_send: Money(600),
        ..AccountState::default()
    };
    assert_eq!(state(&world).await, expected);
}

pub(crate) async fn money_that_is_of_no_use_is_left_to_others(world: World) {
    open(&world, 1000).await;
    settle(&world, "w-1", 0, 700).await;
    let needing = |least: u64| AccountRequest { least: Money(least), ..spending("w-2", 0, 500) };
    assert_eq!(world.permits.settle(&needing(301)).await.unwrap().reserved, Money::ZERO);
    assert_eq!(world.permits.settle(&needing(300)).await.unwrap().reserved, Money(300));
}

pub(crate) async fn a_repeated_request_changes_nothing(world: World) {
    open(&world, 1000).await;
    let first = settle(&world, "w-1", 100, 500).await;
    let before = state(&world).await;
    assert_eq!(settle(&world, "w-1", 100, 500).await, first);
    assert_eq!(state(&world).await, before);
}

pub(crate) async fn another_cap_leaves_everything_else(world: World) {
    open(&world, 1000).await;
    settle(&world, "w-1", 600, 300).await;
    world.permits.open_account(&account("s"), Money(5000), Money(777)).await.unwrap();
    let expected = AccountState {
        cap: Money(5000),
        spent: Money(600),
        reserved: Money(300),
        may_send: Money(300),
        left: Money(4100),
        ..AccountState::default()
    };
    assert_eq!(state(&world).await, expected);
    open(&world, 700).await;
    assert_eq!(state(&world).await.left, Money::ZERO);
    let busy = AccountRequest { in_flight: Money(300), ..spending("w-1", 600, 300) };
    assert_eq!(
        world.permits.settle(&busy).await.unwrap().reserved,
        Money(300),
        "what is in flight cannot be taken back"
    );
    assert_eq!(settle(&world, "w-2", 0, 1).await.reserved, Money::ZERO);
}

pub(crate) async fn what_an_earlier_process_spent_counts_once(world: World) {
    for _ in 0..2 {
        world.permits.open_account(&account("s"), Money(1000), Money(900)).await.unwrap();
    }
    let reply = settle(&world, "w-1", 0, 500).await;
    assert_eq!((reply.reserved, reply.may_come), (Money(100), Money(100)));
}

pub(crate) async fn a_sweep_and_its_models_have_accounts_of_their_own(world: World) {
    open(&world, 1000).await;
    let model = AccountId { model: Some("lab/model".parse().unwrap()), ..account("s") };
    assert_eq!(world.permits.account(&model).await.unwrap(), None);
    world.permits.open_account(&model, Money(10), Money::ZERO).await.unwrap();
    let mut request = spending("w-1", 0, 500);
    request.account = model;
    assert_eq!(world.permits.settle(&request).await.unwrap().reserved, Money(10));
    assert_eq!(settle(&world, "w-1", 0, 500).await.reserved, Money(500));
}

pub(crate) async fn what_a_silent_worker_had_reserved_is_lost_until_it_comes_back(world: World) {
    open(&world, 1000).await;
    settle(&world, "w-1", 100, 400).await;
    world.pass(Duration::from_secs(31)).await;
    let lost = state(&world).await;
    assert_eq!((lost.reserved, lost.lost, lost.left), (Money::ZERO, Money(400), Money(500)));
    let reply = settle(&world, "w-2", 0, 1000).await;
    assert_eq!((reply.reserved, reply.may_come), (Money(500), Money(500)));
    settle(&world, "w-1", 150, 0).await;
    let reply = settle(&world, "w-2", 0, 1000).await;
    assert_eq!((reply.reserved, reply.may_come), (Money(850), Money(850)));
}

pub(crate) async fn what_a_silent_worker_could_not_send_is_free_again(world: World) {
    open(&world, 1000).await;
    let waits = AccountRequest { to_send: Money(30), ..spending("w-1", 100, 400) };
    let reply = world.permits.settle(&waits).await.unwrap();
    assert_eq!((reply.reserved, reply.may_send), (Money(400), Money(30)));
    assert_eq!(state(&world).await.at_most(), Money(130));
    world.pass(Duration::from_secs(31)).await;
    let lost = state(&world).await;
    assert_eq!((lost.reserved, lost.lost, lost.left, lost.at_most()), (Money::ZERO, Money(30), Money(870), Money(130)));
    assert_eq!(settle(&world, "w-2", 0, 1000).await.reserved, Money(870));
    // Back again, it holds what it had sent, and waits for the rest.
    let back = AccountRequest { in_flight: Money(400), sent: Money(30), to_send: Money(60), ..waits };
    let reply = world.permits.settle(&back).await.unwrap();
    assert_eq!((reply.reserved, reply.may_send), (Money(30), Money(30)));
}

pub(crate) async fn of_several_that_act_for_a_holder_one_name_may_send(world: World) {
    open(&world, 1000).await;
    let named = |name: &str| AccountRequest { claim: Some(name.parse().unwrap()), ..spending("batch", 0, 700) };
    for _ in 0..2 {
        assert_eq!(world.permits.settle(&named("first")).await.unwrap().claimed, None);
    }
    let before = state(&world).await;
    world.pass(Duration::from_secs(5)).await;
    let refused = world.permits.settle(&AccountRequest { to_send: Money::ZERO, ..named("second") }).await.unwrap();
    let Claimed { by, silent_ms } = refused.claimed.unwrap();
    assert_eq!((by.as_str(), refused.may_send), ("first", Money(700)));
    assert!((5_000..10_000).contains(&silent_ms), "{silent_ms}");
    assert_eq!(state(&world).await, before);
    // Those who only renew the reservation have no name, and heed none.
    let renews = AccountRequest { in_flight: Money(700), sent: Money(700), ..spending("batch", 0, 700) };
    assert_eq!(world.permits.settle(&renews).await.unwrap().claimed, None);
    assert!(world.permits.settle(&named("second")).await.unwrap().claimed.is_some());
    // Given up, with the money kept.
    let given_up = AccountRequest { in_flight: Money(700), to_send: Money::ZERO, ..named("first") };
    let reply = world.permits.settle(&given_up).await.unwrap();
    assert_eq!((reply.reserved, reply.may_send), (Money(700), Money::ZERO));
    let reply = world.permits.settle(&named("second")).await.unwrap();
    assert_eq!((reply.reserved, reply.may_send, reply.claimed), (Money(700), Money(700), None));
    assert!(world.permits.settle(&named("first")).await.unwrap().claimed.is_some());
}

pub(crate) async fn a_name_that_stands_for_good_needs_no_money_and_nobody_ends_it(world: World) {
    open(&world, 1000).await;
    let named = |name: &str| AccountRequest { claim: Some(name.parse().unwrap()), ..spending("batch", 0, 700) };
    let without_money = |name: &str| AccountRequest { to_send: Money::ZERO, wanted: Money::ZERO, ..named(name) };
    let for_good = |name: &str| AccountRequest { claims_for_good: true, ..without_money(name) };
    world.permits.settle(&named("first")).await.unwrap();
    let refused = world.permits.settle(&for_good("cut-1")).await.unwrap().claimed.unwrap();
    assert_eq!(refused.by.as_str(), "first", "who may be sending is not interrupted");
    world.permits.settle(&without_money("first")).await.unwrap();
    for _ in 0..2 {
        let reply = world.permits.settle(&for_good("cut-1")).await.unwrap();
        assert_eq!((reply.claimed, reply.reserved), (None, Money::ZERO));
    }
    world.pass(Duration::from_secs(40)).await;
    // Told without a name, and given up by somebody who knows the name.
    world.permits.settle(&spending("batch", 0, 0)).await.unwrap();
    world.permits.settle(&without_money("cut-1")).await.unwrap();
    for request in [named("second"), for_good("cut-2")] {
        let claimed = world.permits.settle(&request).await.unwrap().claimed.unwrap();
        assert_eq!(claimed.by.as_str(), "cut-1");
    }
    assert_eq!(state(&world).await, AccountState { cap: Money(1000), left: Money(1000), ..AccountState::default() });
}

pub(crate) async fn an_account_without_a_budget_only_counts(world: World) {
    world.permits.open_uncapped_account(&account("s"), Money(50)).await.unwrap();
    assert_eq!(settle(&world, "w-1", 70, 10_000_000).await.reserved, Money(10_000_000));
    settle(&world, "w-1", 70, 5).await;
    let counted = state(&world).await;
    assert_eq!((counted.is_capped(), counted.spent, counted.at_most()), (false, Money(120), Money(125)));
    assert_eq!(world.permits.granted(&account("s")).await.unwrap(), Some(Money(125)));
    assert_eq!(world.permits.granted(&account("t")).await.unwrap(), None);
    open(&world, 1000).await;
    assert_eq!(state(&world).await.left, Money(875));
}

pub(crate) async fn of_many_at_once_nobody_gets_money_twice(world: World) {
    open(&world, 1000).await;
    let handles = join_all((0..4).map(|_| world.open())).await;
    let tasks = (0..16).map(|number: usize| {
        let permits = handles[number % handles.len()].clone();
        tokio::spawn(async move {
            let (worker, mut spent, mut reserved) = (format!("w-{number}"), 0, 0);
            for _ in 0..5 {
                // Half of what is reserved is spent; the rest and more is wanted.
                spent += reserved / 2;
                let mut request = spending(&worker, spent, 100);
                request.in_flight = Money(reserved - reserved / 2);
                request.sent = request.in_flight;
                reserved = permits.settle(&request).await.unwrap().reserved.0;
            }
            (spent, reserved)
        })
    });
    let totals: Vec<(u64, u64)> = join_all(tasks).await.into_iter().map(Result::unwrap).collect();
    let state = state(&world).await;
    assert_eq!(state.spent.0, totals.iter().map(|(spent, _)| spent).sum::<u64>());
    assert_eq!(state.reserved.0, totals.iter().map(|(_, reserved)| reserved).sum::<u64>());
    assert_eq!(state.spent + state.reserved + state.left, Money(1000));
}

/// Only of the permits in memory that are kept in files; a database keeps everything.
#[tokio::test(start_paused = true)]
async fn what_a_process_that_died_had_reserved_is_lost_to_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let id = account("s");
    let first = Permits::kept(path).unwrap();
    first.open_account(&id, Money(1000), Money::ZERO).await.unwrap();
    first.settle(&spending("w-1", 0, 400)).await.unwrap();
    first.settle(&spending("w-1", 150, 250)).await.unwrap();
    drop(first);
    let second = Permits::kept(path).unwrap();
    // The ledger has learnt of 120 of the 150 that were spent.
    second.open_account(&id, Money(1000), Money(120)).await.unwrap();
    let expected =
        AccountState { cap: Money(1000), spent: Money(120), lost: Money(280), left: Money(600), ..Default::default() };
    assert_eq!(second.account(&id).await.unwrap(), Some(expected));
    second.settle(&spending("w-2", 600, 0)).await.unwrap();
    drop(second);
    let third = Permits::kept(path).unwrap();
    third.open_account(&id, Money(2000), Money(720)).await.unwrap();
    let left = third.account(&id).await.unwrap().unwrap().left;
    assert_eq!(left, Money(1000), "lost money stays lost, and a higher cap adds to what is left");
}
