//! Every golden case through the same door as the command line.

use std::path::Path;

use regatta_benchmark_testing::{differ, examples, score_cases, score_every_case};

use crate::harness::autoslurp;

#[test]
fn every_golden_case_is_scored_as_expected() {
    let Some(files) = score_every_case(autoslurp()) else { return };
    assert_eq!(files, 15);
}

/// Logs on which a differential fuzz (`tests/differential`) found the released scripts and this crate of different opinions.
#[test]
fn odd_logs_are_scored_as_the_released_scripts_score_them() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    assert_eq!(score_cases(autoslurp(), &examples().join("data/autoslurp"), &golden), 1);
}

#[test]
fn logs_of_any_kind_are_scored_as_the_released_scripts_score_them() {
    differ(autoslurp(), &examples().join("data/autoslurp"));
}
