//! Sweeps that are paused, given more money, or held to fewer calls while they run.

use std::collections::BTreeMap;

use regatta_backends::{LedgerError, NewSweep, Quota};
use regatta_proto::{EndpointName, Money, ShardIndex, SweepId, SweepState};

use crate::world::{BUDGET, World, at, new_sweep};

/// More than the budget of the sweeps of these tests.
const MORE: Money = Money(7_000_000_000);

fn endpoint(name: &str) -> EndpointName {
    name.parse().unwrap()
}

async fn is_paused(world: &World, sweep: &SweepId) -> bool {
    world.ledger.sweep(sweep).await.unwrap().unwrap().is_paused
}

pub(crate) async fn no_shard_of_a_paused_sweep_is_claimed_until_it_goes_on(world: World) {
    let sweep = world.sweep("s", 1, 4).await;
    let (ledger, term) = (&world.ledger, world.term().await);
    assert!(ledger.claim_shard(&sweep, ShardIndex(0), 0, term).await.unwrap());
    for _ in 0..2 {
        assert!(ledger.pause_sweep(&sweep).await.unwrap());
        assert!(is_paused(&world, &sweep).await);
    }
    assert!(!ledger.claim_shard(&sweep, ShardIndex(1), 0, term).await.unwrap());
    assert!(ledger.confirm_shard(&sweep, ShardIndex(0), 2, term).await.unwrap(), "it was claimed before");
    for _ in 0..2 {
        assert!(ledger.go_on(&sweep, None).await.unwrap());
        assert!(!is_paused(&world, &sweep).await);
    }
    assert!(ledger.claim_shard(&sweep, ShardIndex(1), 0, term).await.unwrap());
}

pub(crate) async fn only_a_sweep_that_runs_is_steered(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let ledger = &world.ledger;
    ledger.transition(&sweep, &[SweepState::Running], SweepState::Cancelled, at(1)).await.unwrap();
    let before = ledger.sweep(&sweep).await.unwrap();
    assert!(!ledger.pause_sweep(&sweep).await.unwrap());
    assert!(!ledger.go_on(&sweep, Some(MORE)).await.unwrap());
    assert!(!ledger.limit_concurrency(&sweep, &endpoint("sim"), Some(1)).await.unwrap());
    assert_eq!(ledger.sweep(&sweep).await.unwrap(), before);
    let unknown = SweepId::new("none").unwrap();
    let errors = [
        ledger.pause_sweep(&unknown).await.unwrap_err(),
        ledger.go_on(&unknown, None).await.unwrap_err(),
        ledger.limit_concurrency(&unknown, &endpoint("sim"), None).await.unwrap_err(),
    ];
    assert!(errors.iter().all(|error| matches!(error, LedgerError::UnknownSweep { .. })), "{errors:?}");
}

pub(crate) async fn a_pause_ends_with_the_run_that_was_paused(world: World) {
    let (ledger, term) = (&world.ledger, world.term().await);
    let cancelled = world.sweep("cancelled", 1, 2).await;
    assert!(ledger.pause_sweep(&cancelled).await.unwrap());
    assert!(ledger.transition(&cancelled, &[SweepState::Running], SweepState::Cancelled, at(1)).await.unwrap());
    assert!(ledger.resume(&cancelled, SweepState::Cancelled, None, Quota::default()).await.unwrap().is_some());
    assert!(!is_paused(&world, &cancelled).await, "who resumes it wants it to run");
    let ended = world.sweep("ended", 1, 2).await;
    assert!(ledger.pause_sweep(&ended).await.unwrap());
    assert!(ledger.begin_tabulating(&ended, 0, Some(BUDGET), None, term).await.unwrap());
    assert!(!is_paused(&world, &ended).await);
}

pub(crate) async fn a_budget_is_raised_while_the_sweep_runs(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let ledger = &world.ledger;
    for _ in 0..2 {
        assert!(ledger.go_on(&sweep, Some(MORE)).await.unwrap());
    }
    let row = ledger.sweep(&sweep).await.unwrap().unwrap();
    assert_eq!((row.state, row.budget, row.generation), (SweepState::Running, Some(MORE), 0));
}

pub(crate) async fn a_sweep_whose_budget_was_raised_does_not_end_by_the_one_of_before(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let (ledger, term) = (&world.ledger, world.term().await);
    let end = async |budget| ledger.begin_tabulating(&sweep, 0, budget, None, term).await.unwrap();
    assert!(ledger.go_on(&sweep, Some(MORE)).await.unwrap());
    assert!(!end(Some(BUDGET)).await, "whoever looked before then looks again");
    assert!(!end(None).await);
    assert_eq!(ledger.sweep(&sweep).await.unwrap().unwrap().state, SweepState::Running);
    assert!(end(Some(MORE)).await);
    let free = new_sweep("free", 1, 1);
    ledger.create_sweep(NewSweep { budget: None, ..free.clone() }).await.unwrap();
    assert!(ledger.begin_tabulating(&free.id, 0, None, None, term).await.unwrap());
}

pub(crate) async fn a_budget_that_cannot_be_raised_leaves_a_pause_as_it_is(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let free = new_sweep("free", 1, 1);
    world.ledger.create_sweep(NewSweep { budget: None, ..free.clone() }).await.unwrap();
    for (sweep, wanted) in [(&sweep, Money(1)), (&free.id, MORE)] {
        assert!(world.ledger.pause_sweep(sweep).await.unwrap());
        let error = world.ledger.go_on(sweep, Some(wanted)).await.unwrap_err();
        assert!(matches!(error, LedgerError::BudgetNotRaised { .. }), "{error}");
        assert!(is_paused(&world, sweep).await);
    }
}

pub(crate) async fn limits_of_endpoints_are_kept_apart_and_outlive_a_resume(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let ledger = &world.ledger;
    let limits = async || ledger.sweep(&sweep).await.unwrap().unwrap().concurrency;
    for (name, calls) in [("a", Some(4)), ("b", Some(1)), ("a", Some(2)), ("c", None)] {
        assert!(ledger.limit_concurrency(&sweep, &endpoint(name), calls).await.unwrap());
    }
    assert_eq!(limits().await, BTreeMap::from([(endpoint("a"), 2), (endpoint("b"), 1)]));
    ledger.transition(&sweep, &[SweepState::Running], SweepState::Cancelled, at(1)).await.unwrap();
    ledger.resume(&sweep, SweepState::Cancelled, None, Quota::default()).await.unwrap();
    assert_eq!(limits().await.len(), 2);
    for name in ["a", "b"] {
        assert!(ledger.limit_concurrency(&sweep, &endpoint(name), None).await.unwrap());
    }
    assert_eq!(limits().await, BTreeMap::new());
}
