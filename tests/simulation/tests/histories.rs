//! Histories of many seeds: each must end with the results of an undisturbed run, and nothing paid that nobody had lost.
#![expect(clippy::panic, reason = "a test that cannot go on has failed")]

use std::fmt::Write as _;

use regatta_simulation::{Plan, shrunk, simulate};

/// Seeds of one run of the tests, unless `REGATTA_SEEDS` says another number.
const SEEDS: u64 = 300;

fn seeds() -> std::ops::Range<u64> {
    let first = std::env::var("REGATTA_FIRST_SEED").ok().and_then(|first| first.parse().ok()).unwrap_or(0);
    let count = std::env::var("REGATTA_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or(SEEDS);
    first..first + count
}

#[test]
fn an_undisturbed_sweep_calls_once_for_each_session() {
    let history = simulate(&Plan::calm(1));
    assert_eq!(history.findings, []);
    assert_eq!(history.calls, 5 * 2 * 2 * 2);
}

#[test]
fn one_seed_gives_one_history() {
    for seed in 0..5 {
        let plan = Plan::of_seed(seed);
        assert_eq!(simulate(&plan), simulate(&plan), "{plan}");
    }
}

#[test]
fn whatever_goes_wrong_the_sweep_ends_with_the_same_results_and_nothing_is_paid_twice() {
    let failed: Vec<_> = seeds().map(Plan::of_seed).filter(|plan| !simulate(plan).findings.is_empty()).collect();
    if failed.is_empty() {
        return;
    }
    let mut report = format!("{} of {} seeds fail\n", failed.len(), seeds().count());
    for plan in failed.iter().take(5) {
        let simplest = shrunk(plan);
        let _ = write!(report, "seed {} fails; the simplest plan that does: {simplest}", plan.seed);
        for finding in simulate(&simplest).findings.iter().take(5) {
            let _ = writeln!(report, "  {finding}");
        }
    }
    panic!("{report}");
}
