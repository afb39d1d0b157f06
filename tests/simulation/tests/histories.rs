//! Histories of many seeds: each must end with the results of an undisturbed run, and nothing paid that nobody had lost.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZero;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use regatta_simulation::{Plan, Workload, shrunk, simulate};
use regatta_tests::Logged;

/// Seeds of each workload in one run of the tests, unless `REGATTA_SEEDS` says another number; without optimisation a history takes a second.
const fn seeds_of(workload: Workload) -> u64 {
    match workload {
        Workload::Calls => 24,
        Workload::Rounds | Workload::Talks | Workload::Batches => 9,
    }
}

/// Plans whose histories are not right, in the order of their seeds. Each history has a thread to itself, so as many run as there are cores.
fn failing(seeds: Range<u64>, workload: Workload) -> Vec<Plan> {
    let (next, failed) = (AtomicU64::new(seeds.start), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let plan = Plan::of_seed(seed, workload);
                    if !simulate(&plan).findings.is_empty() {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).insert(seed, plan);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

fn seeds(workload: Workload) -> Range<u64> {
    let first = std::env::var("REGATTA_FIRST_SEED").ok().and_then(|first| first.parse().ok()).unwrap_or(0);
    let count =
        std::env::var("REGATTA_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or_else(|| seeds_of(workload));
    first..first + count
}

#[test]
fn an_undisturbed_sweep_calls_once_for_each_session() {
    let history = simulate(&Plan::calm(1, Workload::Calls));
    assert_eq!(history.findings, []);
    assert_eq!(history.calls, 5 * 2 * 2 * 2);
}

#[test]
fn one_seed_gives_one_history() {
    for workload in [Workload::Calls, Workload::Rounds, Workload::Talks, Workload::Batches] {
        for seed in 0..3 {
            let plan = Plan::of_seed(seed, workload);
            assert_eq!(simulate(&plan), simulate(&plan), "{plan}");
        }
    }
}

#[test]
fn an_undisturbed_conversation_calls_three_models_and_is_judged() {
    let history = simulate(&Plan::calm(1, Workload::Talks));
    assert_eq!(history.findings, []);
    assert!(history.calls > 3 * 8, "{} calls", history.calls);
}

#[test]
fn an_undisturbed_sweep_in_batches_hands_each_session_in_once_and_those_whose_lines_failed_again() {
    let history = simulate(&Plan::calm(1, Workload::Batches));
    assert_eq!(history.findings, []);
    let sessions = 5 * 2 * 2 * 2;
    assert!((sessions + 1..2 * sessions).contains(&history.calls), "{} calls", history.calls);
}

#[test]
fn an_undisturbed_sweep_with_a_question_stops_before_everything_is_bought() {
    let history = simulate(&Plan::calm(1, Workload::Rounds));
    assert_eq!(history.findings, []);
    assert!((8..2 * 24).contains(&history.calls), "{} calls", history.calls);
}

#[test]
fn whatever_goes_wrong_the_sweep_ends_with_the_same_results_and_nothing_is_paid_twice() {
    check(Workload::Calls);
}

#[test]
fn whatever_goes_wrong_in_its_rounds_a_sweep_with_a_question_buys_the_same_sessions() {
    check(Workload::Rounds);
}

#[test]
fn whatever_goes_wrong_conversations_go_on_where_they_were() {
    check(Workload::Talks);
}

#[test]
fn whatever_goes_wrong_batches_are_paid_once() {
    check(Workload::Batches);
}

#[test]
fn an_endpoint_that_is_silent_is_warned_of_after_twenty_seconds_and_is_waited_for() {
    let (log, _listening) = Logged::listen();
    let history = simulate(&Plan { silent_ms: 300_000, ..Plan::calm(1, Workload::Calls) });
    assert_eq!(history.findings, []);
    let warnings: Vec<String> = log.lines().into_iter().filter(|line| line.contains("answered nothing")).collect();
    // By each of two workers, and again once its calls have timed out.
    assert!(warnings.len() >= 2, "{warnings:#?}");
    assert!(warnings.iter().all(|line| line.contains("has answered nothing for 20 s; 3 calls wait")), "{warnings:#?}");
}

#[test]
fn refusals_by_chance_do_not_make_a_sweep_crawl() {
    let lasts = |refused| -> Duration {
        (0..6).map(|seed| simulate(&Plan { refused, ..Plan::calm(seed, Workload::Calls) }).lasted).sum()
    };
    let (undisturbed, refused) = (lasts(0.0), lasts(0.1));
    assert!(refused < undisturbed * 2, "{refused:?} where nothing is refused {undisturbed:?}");
}

/// Seeds beyond those that are always drawn which have found a defect.
const FINDERS: [(Workload, u64, &str); 11] = [
    (Workload::Calls, 2514, "reports that workers published ten seconds after an outage of the queue came too late"),
    (Workload::Calls, 3200, "the same"),
    (Workload::Talks, 1402, "the same"),
    (Workload::Calls, 2617, "slots that others were given during an outage of the permits were filled twice"),
    (Workload::Calls, 2553, "slots that were taken back were filled again while the permits were asked for others"),
    (
        Workload::Calls,
        2887,
        "after an outage of the permits the first worker was granted slots that others still filled",
    ),
    (Workload::Calls, 3375, "the same"),
    (
        Workload::Calls,
        1727,
        "a failed renewal of slots was tried again three seconds later, and three of them lost the slots",
    ),
    (Workload::Talks, 3198, "what the ledger had planned again and not confirmed was planned again once more"),
    (Workload::Rounds, 3621, "a data set of many files was read from the beginning whenever the store failed one"),
    (Workload::Batches, 36, "two copies of an intent that looked for its batch put each other off for ever"),
];

#[test]
fn what_seeds_have_found_is_mended() {
    for (workload, seed, defect) in FINDERS {
        let failed = failing(seed..seed + 1, workload);
        assert!(failed.is_empty(), "{defect}: {failed:?}");
    }
}

#[test]
fn every_defect_can_be_brought_back() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for patch in root.join("tests/simulation/defects").read_dir().unwrap() {
        let patch = patch.unwrap().path();
        let applied = Command::new("git").args(["apply", "--check"]).arg(&patch).current_dir(&root).output().unwrap();
        assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    }
}

fn check(workload: Workload) {
    let failed = failing(seeds(workload), workload);
    let mut report = format!("{} of {} seeds fail\n", failed.len(), seeds(workload).count());
    // To shrink one takes as long as dozens of seeds.
    for plan in failed.iter().skip(1) {
        let _ = writeln!(report, "seed {} fails", plan.seed);
    }
    for plan in failed.iter().take(1) {
        let simplest = shrunk(plan);
        let _ = write!(report, "seed {} fails; the simplest plan that does: {simplest}", plan.seed);
        for finding in simulate(&simplest).findings.iter().take(5) {
            let _ = writeln!(report, "  {finding}");
        }
    }
    assert!(failed.is_empty(), "{report}");
}
