//! Statements about parts of a data set, which hold of some specs and not of others.

use super::harness::{all_measured, documents, lock, summary, sweep, text};

const PARTIAL: &str = "Only a part of the data set was run: averages are not comparable with published ones.";

/// Notes and report of a sweep of `tasks`, or all, and a limit of so many items, of which `items` are run.
fn told(tasks: &[&str], sample: Option<u32>, items: u32) -> (bool, String) {
    let mut lock = lock(&["sim/first"]);
    let of = lock.benchmarks.values_mut().next().unwrap();
    (of.tasks, of.limit, of.sample) = (tasks.iter().map(|task| (*task).to_owned()).collect(), None, sample);
    of.items.values_mut().for_each(|count| *count = items);
    let documents = documents(&sweep(lock), &all_measured);
    let has_note = summary(&documents).notes.iter().any(|note| note == PARTIAL);
    (has_note, text(&documents, "report.md"))
}

#[test]
fn a_part_is_called_a_part_and_what_a_limit_lets_through_whole_is_not() {
    let (all, whole) = (35, &[][..]);
    assert!(told(whole, Some(20), 20).0, "a sample");
    assert!(told(&["wikihow"], None, 6).0, "a task");
    assert!(!told(whole, None, all).0, "everything");
    let (is_part, report) = told(whole, Some(1_000), all);
    assert!(!is_part, "a limit that is never reached");
    assert!(
        report.contains("- Limit of worfbench: at most 1000 items, or groups of items that belong together"),
        "{report}"
    );
}
