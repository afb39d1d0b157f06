//! Laws of the dispatcher at five hundred workers.

use super::*;

#[test]
fn every_worker_has_a_job_within_seconds_and_all_slots_are_filled() {
    for endpoints in [1, 10] {
        let outcome = run(&Fleet::of(500, endpoints), &Costs::default());
        assert!(outcome.all_at_work_ms.is_some_and(|at| at < 10_000), "{outcome}");
        assert!(outcome.used >= 0.99 && outcome.busy < 0.5, "{outcome}");
    }
}

/// The first that breaks at the dispatcher: each small shard costs as many operations as a large one.
#[test]
fn small_shards_of_a_budget_bound_the_messages_of_a_second() {
    let costs = Costs::default();
    let (free, budgeted) = (Fleet::of(5_000, 10), Fleet { has_budget: true, ..Fleet::of(5_000, 10) });
    let [free, budgeted] = [free, budgeted].map(|fleet| run(&fleet, &costs));
    assert!(free.shard > budgeted.shard && free.used > budgeted.used, "{free}\n{budgeted}");
    assert!(budgeted.busy > 0.9, "{budgeted}");
}

#[test]
fn one_fleet_has_one_history() {
    let fleet = Fleet { slots: 2, ..Fleet::of(500, 10) };
    assert_eq!(run(&fleet, &Costs::default()), run(&fleet, &Costs::default()));
}
