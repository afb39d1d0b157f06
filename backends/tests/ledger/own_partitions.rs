//! Sweeps of many sessions have partitions of their own on a server, which go whole.

use regatta_backends::Ledger;
use regatta_backends::ledger::{Created, NewShard};
use regatta_proto::{CellIndex, ShardIndex, SweepId, SweepState};

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
