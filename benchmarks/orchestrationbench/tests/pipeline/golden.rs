//! Golden cases, scored through the entry point of the command line.

use std::path::Path;

use regatta_benchmark_testing::{differ, examples, score_cases, score_every_case};

use crate::harness::orchestrationbench;

#[test]
fn every_golden_case_is_scored_as_expected() {
    let Some(files) = score_every_case(orchestrationbench()) else { return };
    assert_eq!(files, 9);
}

/// Answers on which a differential fuzz (`tests/differential`) found differences between the released code and this
/// crate.
#[test]
fn odd_answers_are_scored_as_the_released_code_scores_them() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    assert_eq!(score_cases(orchestrationbench(), &examples().join("data/orchestrationbench"), &golden), 2);
}

#[test]
fn answers_of_any_kind_are_scored_as_the_released_code_scores_them() {
    differ(orchestrationbench(), &examples().join("data/orchestrationbench"));
}
