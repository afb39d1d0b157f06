//! Failures that only a server has.

use std::time::Duration;

use futures::future::join_all;
use regatta_backends::{LedgerError, Permits, PermitsError, PostgresConfig};
use regatta_proto::{ErrorClass, Limits, Money, PoolRequest};
use regatta_tests::Postgres;

use crate::failures::failing;
use crate::world::{World, account, spending, wanting};

#[tokio::test]
async fn many_processes_may_open_at_once() {
    let world = World::postgres().await;
    world.sql("DROP TABLE permits_version, permit_pools, permit_pool_states, permit_accounts, permit_failures").await;
    world.sql("DROP SEQUENCE permit_failure_numbers").await;
    let handles = join_all((0..6).map(|_| world.open())).await;
    assert_eq!(handles[5].failing(&failing("a", ErrorClass::Timeout)).await.unwrap(), 1);
}

#[tokio::test]
async fn permits_and_the_ledger_live_in_one_database() {
    let world = World::postgres().await;
    let config = PostgresConfig { url: world.url().to_owned(), pool_size: 1 };
    let ledger = regatta_backends::Ledger::postgres(config).await.unwrap();
    assert!(ledger.sweeps().await.unwrap().is_empty());
    assert_eq!(world.open().await.failing(&failing("a", ErrorClass::Timeout)).await.unwrap(), 1);
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let world = World::postgres().await;
    world.sql("INSERT INTO permits_version VALUES (99)").await;
    let config = PostgresConfig { url: world.url().to_owned(), pool_size: 1 };
    let error = Permits::postgres(config).await.unwrap_err();
    assert!(matches!(error, PermitsError::Store(LedgerError::NewerSchema { found: 99, known: 2 })), "{error}");
}

/// The effect of a crash on a table that is not logged.
const CRASH: &str = "TRUNCATE permit_pool_states";
/// Another server goes on with the same tables.
const FAIL_OVER: &str = "TRUNCATE permit_pool_states; UPDATE permit_pools SET timeline = 'FFFFFFFF'";

/// Wants `waiting` calls, of as many as fifty times that a minute at most.
fn of_limited(worker: &str, waiting: u32) -> PoolRequest {
    let mut request = wanting(worker, waiting);
    request.limits.requests_per_minute = Some(500);
    request
}

#[tokio::test]
async fn a_crash_of_the_server_forgets_no_more_than_a_fiftieth_of_what_was_granted_and_counts_that() {
    let world = World::postgres().await;
    let granted = async |waiting| world.lease(&of_limited("w-1", waiting)).await.grants[0].requests;
    // Another one, which has no calls for as long as this test needs none.
    let other = of_limited("w-2", 0);
    world.lease(&other).await;
    // What is granted once the slots have been registered again, of more than there can be.
    let left = async || {
        assert_eq!(granted(500).await, 0, "the other one has not told of its slots yet");
        world.lease(&other).await;
        let request = PoolRequest {
            limits: Limits { concurrency: 500, ..of_limited("w-1", 0).limits },
            ..of_limited("w-1", 500)
        };
        world.lease(&request).await.grants[0].requests
    };
    assert_eq!(granted(300).await, 100);
    // Not much, which need not be durable.
    for _ in 0..3 {
        assert_eq!(granted(3).await, 3);
    }
    world.sql(CRASH).await;
    assert_eq!(left().await, 500 - 100 - 10, "a fiftieth, for the nine that are forgotten");
    world.sql(CRASH).await;
    assert_eq!(left().await, 0, "what was granted since is not forgotten either");
    world.pass(Duration::from_secs(62)).await;
    assert_eq!(granted(500).await, 100);
}

#[tokio::test]
async fn what_was_granted_before_a_server_is_killed_counts_when_it_is_back() {
    let server = Postgres::start().await.unwrap();
    let world = World::on(&server).await;
    world.permits.open_account(&account("s"), Money(1000), Money::ZERO).await.unwrap();
    let settle = async |spent, wanted| world.permits.settle(&spending("w-1", spent, wanted)).await.unwrap();
    assert_eq!(settle(0, 400).await.reserved, Money(400));
    assert_eq!(settle(400, 300).await.reserved, Money(300));
    assert_eq!(world.lease(&of_limited("w-1", 100)).await.grants[0].requests, 100);
    server.kill().await.unwrap();
    server.restart().await.unwrap();

    let after = world.open().await;
    assert_eq!(after.granted(&account("s")).await.unwrap(), Some(Money(700)));
    assert_eq!(after.account(&account("s")).await.unwrap().unwrap().spent, Money(400));
    // Another process cannot have what was granted, of the money and of the minute's requests.
    let reply = after.settle(&spending("w-2", 0, 1000)).await.unwrap();
    assert_eq!(reply.reserved, Money(300));
    let mut granted = 0;
    for _ in 0..6 {
        let mut request = of_limited("w-2", 500);
        request.limits.concurrency = 500;
        let grant = after.lease(&request).await.unwrap().grants[0];
        granted = granted.max(grant.requests);
        world.pass(Duration::from_secs(3)).await;
    }
    assert!(granted > 0, "once who fills slots has been heard");
    assert!(granted <= 500 - 100, "{granted}");
}

#[tokio::test]
async fn a_hold_outlives_a_crash_of_the_server() {
    let world = World::postgres().await;
    let mut told = of_limited("w-1", 5);
    told.signals.hold_ms = Some(30_000);
    assert_eq!(world.lease(&told).await.grants[0].requests, 0);
    world.sql(CRASH).await;
    for _ in 0..6 {
        assert_eq!(world.lease(&of_limited("w-1", 5)).await.grants[0].requests, 0);
        world.pass(Duration::from_millis(4_900)).await;
    }
    // A hold that outlives a crash is a second longer: it may have been told a little later than it was kept.
    world.pass(Duration::from_secs(2)).await;
    assert_eq!(world.lease(&of_limited("w-1", 5)).await.grants[0].requests, 5);
}

#[tokio::test]
async fn after_a_lease_by_the_version_before_a_crash_leaves_nothing_that_is_known() {
    let world = World::postgres().await;
    assert_eq!(world.lease(&wanting("w-1", 5)).await.grants[0].requests, 5);
    // It makes nothing durable, and does not count its leases.
    world.sql("UPDATE permit_pool_states SET leased_at = clock_timestamp()").await;
    world.sql(CRASH).await;
    world.lease(&wanting("w-1", 5)).await;
    world.pass(Duration::from_secs(60)).await;
    assert_eq!(world.lease(&wanting("w-1", 5)).await.grants[0].requests, 0);
}

#[tokio::test]
async fn where_another_server_goes_on_nothing_is_granted_for_a_minute() {
    let world = World::postgres().await;
    assert_eq!(world.lease(&wanting("w-1", 5)).await.grants[0].requests, 5);
    world.sql(FAIL_OVER).await;
    let reply = world.lease(&wanting("w-1", 5)).await;
    assert_eq!((reply.grants[0].slots, reply.grants[0].requests), (0, 0));
    let changes = world.permits.changes("endpoint").await.unwrap();
    assert_eq!(changes[0].reason, "held for 61.5 s: the store has lost what was granted before");
    // The server's clock goes on while the test does.
    for _ in 0..20 {
        assert_eq!(world.lease(&wanting("w-1", 5)).await.grants[0].requests, 0);
        world.pass(Duration::from_millis(2_800)).await;
    }
    world.pass(Duration::from_secs(7)).await;
    assert_eq!(world.lease(&wanting("w-1", 5)).await.grants[0].requests, 5);
}

#[tokio::test]
async fn after_a_crash_of_the_server_slots_that_are_filled_are_registered_before_others_are_granted() {
    let world = World::postgres().await;
    assert_eq!(world.lease(&wanting("w-1", 500)).await.grants[0].slots, 100);
    world.sql(CRASH).await;
    let mut busy = wanting("w-1", 0);
    busy.parties[0].in_flight = 80;
    let other = async || world.lease(&wanting("w-2", 500)).await.grants[0].slots;
    assert_eq!(other().await, 0, "it asks first");
    assert!(world.lease(&busy).await.grants[0].slots <= 80, "what it fills, and no more");
    assert_eq!(other().await, 20, "all have told");
}

#[tokio::test]
async fn after_a_crash_of_the_server_nobody_is_waited_for_longer_than_ten_seconds() {
    let world = World::postgres().await;
    assert_eq!(world.lease(&wanting("w-1", 500)).await.grants[0].slots, 100);
    world.sql(CRASH).await;
    let mut other = 0;
    for _ in 0..4 {
        assert_eq!(other, 0);
        other = world.lease(&wanting("w-2", 500)).await.grants[0].slots;
        world.pass(Duration::from_millis(3_400)).await;
    }
    assert_eq!(other, 0, "what it may fill is not granted either while it may come back");
    for _ in 0..5 {
        other = world.lease(&wanting("w-2", 500)).await.grants[0].slots;
        world.pass(Duration::from_millis(3_400)).await;
    }
    assert_eq!(other, 100);
}

#[tokio::test]
async fn a_pool_that_nobody_uses_is_forgotten_after_a_day() {
    let world = World::postgres().await;
    world.lease(&wanting("w-1", 5)).await;
    world.sql("UPDATE permit_pool_states SET leased_at = leased_at - interval '25 hours'").await;
    let another = regatta_proto::PoolRequest { pool: "another".to_owned(), ..wanting("w-1", 5) };
    world.lease(&another).await;
    world
        .sql(
            "DO $$ BEGIN
             ASSERT (SELECT array_agg(pool) FROM permit_pools) = '{another}';
             ASSERT (SELECT array_agg(pool) FROM permit_pool_states) = '{another}';
         END $$",
        )
        .await;
    assert_eq!(world.lease(&wanting("w-1", 5)).await.grants[0].requests, 5, "its return is not taken for a loss");
}

#[tokio::test]
async fn a_pool_that_grants_what_no_minute_limits_is_not_taken_for_an_unused_one_after_a_crash() {
    let world = World::postgres().await;
    assert_eq!(world.lease(&wanting("w-1", 500)).await.grants[0].slots, 100);
    world.sql("UPDATE permit_pools SET saved_at = saved_at - interval '25 hours'").await;
    world.pass(Duration::from_secs(2 * 3_600)).await;
    let mut busy = wanting("w-1", 0);
    busy.parties[0].in_flight = 80;
    world.lease(&busy).await;
    world.sql(CRASH).await;
    assert_eq!(world.lease(&wanting("w-2", 500)).await.grants[0].slots, 0, "somebody fills slots");
}

#[tokio::test]
async fn a_pools_state_of_another_version_is_a_lost_one() {
    let world = World::postgres().await;
    world.lease(&wanting("w-1", 5)).await;
    world.sql("UPDATE permit_pool_states SET state = '{\"unheard\": 1}'").await;
    assert_eq!(world.permits.changes("endpoint").await.unwrap(), []);
    for _ in 0..20 {
        assert_eq!(world.lease(&wanting("w-1", 5)).await.grants[0].requests, 0);
        world.pass(Duration::from_millis(2_800)).await;
    }
    world.pass(Duration::from_secs(7)).await;
    assert_eq!(world.lease(&wanting("w-1", 5)).await.grants[0].requests, 5);
}

#[tokio::test]
async fn an_account_that_cannot_be_read_is_left_as_it_is() {
    let world = World::postgres().await;
    world.permits.open_account(&account("s"), Money(10), Money::ZERO).await.unwrap();
    world.sql("UPDATE permit_accounts SET state = '{}'").await;
    let expected = "failed to read the account of the sweep s: missing field `clock` at line 1 column 2; it is damaged or was written by \
                    another version";
    assert_eq!(world.permits.settle(&spending("w-1", 0, 1)).await.unwrap_err().to_string(), expected);
    assert_eq!(
        world.permits.open_account(&account("s"), Money(10), Money::ZERO).await.unwrap_err().to_string(),
        expected
    );
    assert_eq!(world.permits.account(&account("s")).await.unwrap_err().to_string(), expected);
    world.sql("DO $$ BEGIN ASSERT (SELECT state FROM permit_accounts) = '{}'; END $$").await;
}

#[tokio::test]
async fn requests_that_failed_long_ago_are_forgotten() {
    let world = World::postgres().await;
    let (old, new) = (failing("old", ErrorClass::Timeout), failing("new", ErrorClass::Timeout));
    for _ in 0..3 {
        world.permits.failing(&old).await.unwrap();
    }
    world.sql("UPDATE permit_failures SET last_at = last_at - interval '31 days'").await;
    assert_eq!(world.permits.failures(&old.fingerprint).await.unwrap(), 0);
    assert_eq!(world.permits.failing(&old).await.unwrap(), 1);
    // A hundred thousand other failures.
    world.sql("SELECT setval('permit_failure_numbers', 100004)").await;
    world.permits.failing(&new).await.unwrap();
    world.sql("DO $$ BEGIN ASSERT (SELECT count(*) FROM permit_failures) = 1; END $$").await;
    assert_eq!(world.permits.failures(&new.fingerprint).await.unwrap(), 1);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_without_the_password() {
    let url = "postgres://me:secret@127.0.0.1:1/permits".to_owned();
    let error = Permits::postgres(PostgresConfig { url, pool_size: 1 }).await.unwrap_err().to_string();
    assert!(error.starts_with("failed to connect to the store of permits"), "{error}");
    assert!(!error.contains("secret"), "{error}");
}
