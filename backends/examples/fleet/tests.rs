//! Laws of a fleet of five hundred workers.

use super::*;

/// Measured from a time when all have started, for where no minute matters.
const EARLY_MS: (u64, u64) = (20_000, 50_000);

fn assert_limits_hold(outcome: &Outcome) {
    assert!(outcome.at_once <= 1.0 && outcome.in_a_minute <= 1.0, "{outcome}");
}

#[test]
fn workers_of_ten_endpoints_fill_all_slots_and_no_more() {
    let outcome = run(&Scenario { measured_ms: EARLY_MS, ..Scenario::of(500, 10, 1, Bound::Slots) });
    assert_limits_hold(&outcome);
    assert!(outcome.calls.0 * 4 >= outcome.calls.1, "{outcome}");
    assert!(outcome.used >= 0.9 && outcome.all_at_work_ms.is_some_and(|at| at < 20_000), "{outcome}");
}

#[test]
fn workers_of_an_endpoint_in_ten_pools_use_its_requests_and_no_more() {
    let outcome = run(&Scenario::of(500, 1, 10, Bound::Requests));
    assert_limits_hold(&outcome);
    // Each has six on average. Whoever asks when a minute is over finds most of the next.
    assert!(outcome.used >= 0.9 && outcome.idle == 0 && outcome.calls.0 > 0, "{outcome}");
}

/// The first that breaks: requests to one pool grow with its workers, and so does the time of each.
#[test]
fn a_pool_of_more_workers_than_its_row_has_time_for_leaves_some_without_an_answer() {
    let measured_ms = EARLY_MS;
    let few = run(&Scenario { measured_ms, ..Scenario::of(50, 1, 1, Bound::Slots) });
    let costs = Costs { lease_us: 50_000, ..Costs::default() };
    let many = run(&Scenario { measured_ms, costs, ..Scenario::of(500, 1, 1, Bound::Slots) });
    assert!(few.locked < 0.5 && many.locked > 0.99, "{few}\n{many}");
    assert!(few.used > 0.9 && many.used < few.used && many.answered_per_s < many.asked_per_s, "{few}\n{many}");
}

#[test]
fn one_seed_gives_one_history() {
    let scenario = Scenario { measured_ms: (5_000, 20_000), ..Scenario::of(60, 2, 3, Bound::Requests) };
    assert_eq!(run(&scenario), run(&scenario));
}
