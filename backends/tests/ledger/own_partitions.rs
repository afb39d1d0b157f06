//! Sweeps of many sessions have partitions of their own on a server, which go whole.

use regatta_backends::Ledger;
use regatta_backends::ledger::{Created, NewShard};
use regatta_proto::{CellIndex, ShardIndex, SweepId, SweepState};
use tokio_postgres::NoTls;

use crate::world::{World, at, key, new_sweep, record, run};

/// Number of the first sweep that has partitions of its own.
const FIRST: i64 = 1 << 40;

/// Creates the sweep `name` of 100,000 sessions in one shard.
async fn create_large(ledger: &Ledger, name: &str) -> Created {
    let mut sweep = new_sweep(name, 1, 1);
    sweep.cells[0].items = 100_000;
    sweep.shards = vec![NewShard { index: ShardIndex(0), cell: CellIndex(0), first: 0, count: 100_000 }];
    ledger.create_sweep(sweep).await.unwrap()
}

/// Fails unless `condition` holds in the database.
async fn assert_sql(world: &World, condition: &str) {
    run(world.url(), &format!("DO $$ BEGIN ASSERT {condition}; END $$")).await;
}

#[tokio::test]
async fn a_large_sweep_is_recorded_in_partitions_of_its_own_which_go_with_it() {
    let world = World::postgres().await;
    let small = world.sweep("small", 1, 2).await;
    assert_eq!(create_large(&world.ledger, "large").await, Created::New);
    let large: SweepId = "large".parse().unwrap();
    let ledger = &world.ledger;
    ledger.record(vec![record(key(&small, 0, 0), "w-1"), record(key(&large, 0, 99_999), "w-2")]).await.unwrap();
    for table in ["attempts", "sessions"] {
        assert_sql(&world, &format!("(SELECT count(*) FROM {table}_{FIRST}) = 1")).await;
        assert_sql(&world, &format!("(SELECT count(*) FROM {table}_shared) = 1")).await;
    }
    assert_eq!(world.cell(&large, 0).await.recorded, 1);
    let indexes = format!(
        "(SELECT array_agg(indexrelid::regclass::text) FROM pg_index WHERE indrelid = 'sessions_{FIRST}'::regclass)"
    );
    assert_sql(&world, &format!("array_length({indexes}, 1) = 3")).await;
    // What no machine of states draws is refused in a partition, too.
    let refused = world.sql(&format!("UPDATE attempts_{FIRST} SET state = 'open', ended_at_ns = NULL")).await;
    assert!(refused.unwrap_err().contains("no such transition in attempts"), "by the table's own trigger");
    assert!(!ledger.drop_sweep(&large).await.unwrap(), "it runs");
    ledger.transition(&large, &[SweepState::Running], SweepState::Cancelled, at(1)).await.unwrap();
    assert!(ledger.drop_sweep(&large).await.unwrap());
    for table in ["attempts", "sessions", "counted_calls"] {
        assert_sql(&world, &format!("to_regclass('{table}_{FIRST}') IS NULL")).await;
    }
    assert_eq!(ledger.sweep(&large).await.unwrap(), None);
    assert_eq!(ledger.sessions(&small, CellIndex(0)).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_who_create_a_large_sweep_one_does_and_the_others_leave_no_partitions() {
    let world = World::postgres().await;
    let ledgers = [world.open().await, world.open().await, world.open().await];
    let created = futures::future::join_all(ledgers.iter().map(|ledger| create_large(ledger, "s"))).await;
    assert_eq!(created.iter().filter(|created| **created == Created::New).count(), 1);
    assert_eq!(create_large(&world.ledger, "s").await, Created::AlreadyThere);
    assert_sql(&world, "(SELECT count(*) FROM pg_inherits WHERE inhparent = 'sessions'::regclass) = 2").await;
}

#[tokio::test]
async fn partitions_of_a_sweep_that_is_not_being_removed_are_not_dropped() {
    let world = World::postgres().await;
    create_large(&world.ledger, "s").await;
    let refused = world.sql(&format!("SELECT drop_own_partitions({FIRST})")).await.unwrap_err();
    assert!(refused.contains(&format!("sweep {FIRST} is not being removed")), "{refused}");
}

#[tokio::test]
async fn while_rows_of_a_large_sweep_are_removed_other_sweeps_are_recorded() {
    let world = World::postgres().await;
    let small = world.sweep("small", 1, 1).await;
    create_large(&world.ledger, "large").await;
    let large: SweepId = "large".parse().unwrap();
    world.ledger.transition(&large, &[SweepState::Running], SweepState::Cancelled, at(1)).await.unwrap();
    // Somebody has a row that the removal must wait for.
    let (client, connection) = tokio_postgres::connect(world.url(), NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    client.batch_execute(&format!("BEGIN; SELECT FROM cells WHERE sweep = {FIRST} FOR UPDATE")).await.unwrap();
    let remover = world.open().await;
    let removing = tokio::spawn(async move { remover.drop_sweep(&large).await });
    let waits = "SELECT pid FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))";
    while client.query(waits, &[]).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    world.ledger.record(vec![record(key(&small, 0, 0), "w-1")]).await.unwrap();
    client.batch_execute("COMMIT").await.unwrap();
    assert!(removing.await.unwrap().unwrap());
    assert_sql(&world, &format!("to_regclass('sessions_{FIRST}') IS NULL")).await;
    drop(client);
    connection.await.unwrap().unwrap();
}

#[tokio::test]
async fn sixteen_large_sweeps_have_partitions_of_their_own_at_a_time_and_further_ones_share() {
    const OWN: i64 = 16;
    let world = World::postgres().await;
    for number in 0..=OWN {
        assert_eq!(create_large(&world.ledger, &format!("s{number}")).await, Created::New);
    }
    let own = "(SELECT count(*) FROM pg_inherits WHERE inhparent = 'sessions'::regclass) - 1";
    assert_sql(&world, &format!("{own} = {OWN}")).await;
    for gone in ["s0", "s16"] {
        let gone: SweepId = gone.parse().unwrap();
        world.ledger.transition(&gone, &[SweepState::Running], SweepState::Cancelled, at(1)).await.unwrap();
        assert!(world.ledger.drop_sweep(&gone).await.unwrap());
    }
    assert_sql(&world, &format!("{own} = {}", OWN - 1)).await;
    create_large(&world.ledger, "next").await;
    assert_sql(&world, &format!("to_regclass('sessions_{}') IS NOT NULL", FIRST + OWN)).await;
}

#[tokio::test]
async fn what_other_logins_have_defined_is_not_called_with_the_rights_of_the_owner() {
    let world = World::postgres().await;
    let theirs = "CREATE FUNCTION nextval(TEXT) RETURNS BIGINT LANGUAGE sql AS 'SELECT 7::bigint'";
    run(world.url(), theirs).await;
    assert_eq!(create_large(&world.ledger, "s").await, Created::New);
    assert_sql(&world, &format!("to_regclass('sessions_{FIRST}') IS NOT NULL")).await;
}
