//! Rules that every store of permits obeys, checked in memory and with PostgreSQL.
//!
//! `REGATTA_TEST_POSTGRES_URL` names a running server; otherwise a private one is started. The rules themselves are tested where they are,
//! in the state machines; here it is that both stores keep them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test tells what went wrong by failing")]

#[cfg(not(feature = "cluster"))]
compile_error!("the conformance suites need every implementation: scripts/test -p regatta-backends");

mod accounts;
mod failures;
mod pools;
mod roles;
mod server;
mod world;

use world::World;

macro_rules! conformance {
    ($($module:ident::$rule:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test(start_paused = true)]
            async fn $rule() {
                super::$module::$rule(super::World::memory()).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                super::$module::$rule(super::World::postgres().await).await;
            })*
        }
    };
}

conformance![
    pools::requests_are_counted_over_all_workers,
    pools::a_grant_counts_for_a_minute_and_not_for_longer,
    pools::pools_are_apart,
    pools::slots_of_a_silent_worker_come_back,
    pools::where_all_were_silent_each_has_time_to_tell_of_its_slots,
    pools::refusals_are_heard_by_the_whole_fleet_and_remembered,
    pools::a_hold_holds_the_whole_fleet,
    pools::nobody_has_changed_a_pool_that_nobody_uses,
    pools::who_holds_what_is_told_until_it_falls_silent,
    pools::of_many_at_once_nobody_gets_what_another_one_has,
    accounts::an_account_that_nobody_opened_is_unknown,
    accounts::money_is_reserved_once_over_all_workers,
    accounts::money_that_is_of_no_use_is_left_to_others,
    accounts::a_repeated_request_changes_nothing,
    accounts::another_cap_leaves_everything_else,
    accounts::what_an_earlier_process_spent_counts_once,
    accounts::a_sweep_and_its_models_have_accounts_of_their_own,
    accounts::what_a_silent_worker_had_reserved_is_lost_until_it_comes_back,
    accounts::what_a_silent_worker_could_not_send_is_free_again,
    accounts::of_several_that_act_for_a_holder_one_name_may_send,
    accounts::a_name_that_stands_for_good_needs_no_money_and_nobody_ends_it,
    accounts::an_account_without_a_budget_only_counts,
    accounts::of_many_at_once_nobody_gets_money_twice,
    failures::failures_are_counted_by_request_and_class,
    failures::of_many_at_once_every_failure_counts,
];

#[test]
fn calls_may_be_spawned() {
    use regatta_backends::Permits;
    use regatta_proto::{AccountId, AccountRequest, Digest, Failing, Money, PoolRequest};

    fn sendable(_: impl Send) {}
    fn all(
        permits: &Permits,
        pool: &PoolRequest,
        account: &AccountRequest,
        id: &AccountId,
        failing: &Failing,
        digest: &Digest,
    ) {
        sendable(permits.lease(pool));
        sendable(permits.changes(""));
        sendable(permits.holders(""));
        sendable(permits.open_account(id, Money::ZERO, Money::ZERO));
        sendable(permits.settle(account));
        sendable(permits.account(id));
        sendable(permits.failing(failing));
        sendable(permits.failures(digest));
    }
    let _ = all;
}
