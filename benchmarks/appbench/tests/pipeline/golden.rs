//! Every golden case through the same door as the command line.

use regatta_benchmark_testing::{differ, examples, score_every_case};

use crate::harness::appbench;

#[test]
fn every_golden_case_is_scored_as_expected() {
    let Some(files) = score_every_case(appbench()) else { return };
    assert_eq!(files, 11);
}

#[test]
fn plans_of_any_kind_are_scored_as_the_released_code_scores_them() {
    differ(appbench(), &examples().join("data/appbench"));
}
