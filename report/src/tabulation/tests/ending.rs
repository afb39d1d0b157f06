//! The state in which a sweep ends.

use regatta_proto::{Cause, Cell, Outcome, SweepLock, SweepState};

use super::harness::{Outcomes, all_measured, documents, lock, some_trouble, summary, sweep};

const MODELS: [&str; 2] = ["sim/first", "sim/second"];

fn end(lock: SweepLock, outcome: &Outcomes) -> SweepState {
    summary(&documents(&sweep(lock), outcome)).state
}

#[test]
fn a_sweep_is_complete_where_all_sessions_have_scores_and_incomplete_otherwise() {
    assert_eq!(end(lock(&MODELS), &all_measured), SweepState::Complete);
    assert_eq!(end(lock(&MODELS), &some_trouble), SweepState::Incomplete);
}

#[test]
fn a_failure_of_the_model_is_a_result_and_one_of_the_endpoint_is_not() {
    let of_all = |outcome: Outcome| end(lock(&MODELS[..1]), &move |_, _| Some(outcome.clone()));
    assert_eq!(of_all(Outcome::ModelFailure { cause: Cause::ContextLength }), SweepState::Complete);
    assert_eq!(of_all(Outcome::NotMeasured { cause: Cause::Timeout }), SweepState::Incomplete);
}

#[test]
fn sessions_that_a_budget_left_out_end_a_sweep_as_stopped() {
    let lock_of = |budget_usd| SweepLock { budget_usd, ..lock(&MODELS) };
    assert_eq!(end(lock_of(Some(1.0)), &some_trouble), SweepState::StoppedByBudget, "one did not begin");
    let refused = |_: &Cell, at: usize| {
        Some(if at == 0 { Outcome::NotMeasured { cause: Cause::Budget } } else { Outcome::Measured })
    };
    assert_eq!(end(lock_of(None), &refused), SweepState::StoppedByBudget, "a budget of their owner, not of the spec");
}
