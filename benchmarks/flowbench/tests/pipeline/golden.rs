//! Golden cases, scored through the entry point of the command line.

use std::path::Path;

use regatta_benchmark_testing::{differ, examples, score_cases, score_every_case};

use crate::harness::flowbench;

#[test]
fn every_golden_case_is_scored_as_expected() {
    let Some(files) = score_every_case(flowbench()) else { return };
    assert_eq!(files, 24);
}

/// Folders on which a differential fuzz (`tests/differential`) found differences between the released code and this
/// crate.
#[test]
fn odd_folders_are_scored_as_the_released_code_scores_them() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    assert_eq!(score_cases(flowbench(), &examples().join("data/flowbench"), &golden), 1);
}

#[test]
fn folders_and_sessions_of_any_kind_are_scored_as_the_released_code_scores_them() {
    differ(flowbench(), &examples().join("data/flowbench"));
}
