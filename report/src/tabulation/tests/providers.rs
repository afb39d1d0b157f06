//! Endpoints that serve the same model.

use regatta_backends::{AttemptState, SessionRow};
use regatta_proto::{Cause, Outcome, SweepState};

use super::harness::{Outcomes, all_measured, attempt, circumstances, lock, rows, summary, sweep_of_both};
use crate::summary::{Provider, Summary};
use crate::tabulation::Tabulation;

/// A sweep of two benchmarks and a model that two endpoints serve, whose rows are as `change` makes them.
fn served_twice(outcome: &Outcomes, change: &dyn Fn(&mut SessionRow)) -> Summary {
    let sweep = sweep_of_both(lock(&["x/m", "y/m"]));
    let mut tabulation = Tabulation::new(&sweep, &[]).unwrap();
    let mut attempts = Vec::new();
    for cell in sweep.cells() {
        let mut rows = rows(&sweep, cell, outcome);
        rows.iter_mut().for_each(change);
        attempts.extend(rows.iter().map(|row| attempt(&sweep, cell, row, AttemptState::Recorded)));
        tabulation.add(cell, &rows).unwrap();
    }
    summary(&tabulation.finish(&circumstances(SweepState::Complete, attempts)).unwrap())
}

/// Sets `value` in sessions that have it.
fn set(row: &mut SessionRow, value: &str, to: f64) {
    for score in row.scores.as_object_mut().into_iter().flat_map(|scores| scores.values_mut()) {
        if let Some(found) = score["values"].get_mut(value) {
            *found = to.into();
        }
    }
}

fn first<'s>(summary: &'s Summary, benchmark: &str) -> &'s Provider {
    &summary.comparisons.iter().find(|of| of.benchmark.as_str() == benchmark).unwrap().providers[0]
}

#[test]
fn a_success_costs_the_money_over_the_scores_that_there_are() {
    // Half of the sessions predict one call, which is right, and the others none: the precision is that of the former.
    let found = served_twice(&all_measured, &|row| {
        set(row, "f1_chain", 0.25);
        let calls = f64::from(1 - row.item.0 % 2);
        set(row, "right", calls);
        set(row, "predicted", calls);
    });
    let of_ratio = first(&found, "dialogues");
    assert_eq!((of_ratio.quality[0].metric.as_str(), of_ratio.quality[0].estimate.value), ("precision", Some(1.0)));
    assert_eq!(of_ratio.cost_per_session.unwrap().0, 900_000);
    assert_eq!(of_ratio.cost_per_success.unwrap().0, 1_800_000, "twelve sessions, six successes");
    let of_mean = first(&found, "worfbench");
    assert_eq!(of_mean.cost_per_success.unwrap().0, 3_600_000, "four quarters of a success");
}

#[test]
fn a_success_has_no_price_while_the_quality_is_withheld() {
    let half = |_: &regatta_proto::Cell, at: usize| match at % 2 {
        0 => Some(Outcome::Measured),
        _ => Some(Outcome::NotMeasured { cause: Cause::Timeout }),
    };
    let found = served_twice(&half, &|row| set(row, "f1_chain", 1.0));
    let provider = first(&found, "worfbench");
    assert!(provider.quality[0].estimate.withheld);
    assert_eq!((provider.cost_per_session.unwrap().0, provider.cost_per_success), (900_000, None));
}
