//! Every golden case through the same door as the command line.

use regatta_benchmark_testing::score_every_case;

use crate::harness::{appbench, shared};

#[test]
fn every_golden_case_is_scored_as_expected() {
    let Some(shared) = shared() else { return };
    assert_eq!(score_every_case(appbench(), &shared), 11);
}
