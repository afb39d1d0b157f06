//! Endpoints that serve the same model.

use regatta_backends::{AttemptState, SessionRow};
use regatta_proto::{Cause, Outcome, SweepState};

use super::harness::{Outcomes, all_measured, attempt, circumstances, lock, rows, summary, sweep};
use crate::finish::tabulation::Tabulation;
use crate::summary::{Provider, Summary};

/// A sweep of a model that two endpoints serve, whose rows are as `change` makes them.
fn served_twice(outcome: &Outcomes, change: &dyn Fn(&mut SessionRow)) -> Summary {
    let sweep = sweep(lock(&["x/m", "y/m"]));
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

fn set(row: &mut SessionRow, value: Option<f64>) {
    let values = row.scores["official"]["values"].as_object_mut().unwrap();
    match value {
        Some(value) => values.insert("f1_chain".to_owned(), value.into()),
        None => values.remove("f1_chain"),
    };
}

fn first(summary: &Summary) -> &Provider {
    &summary.comparisons[0].providers[0]
}

#[test]
fn a_success_costs_the_money_over_the_scores_that_there_are() {
    // Of four items in two trials, half have a value: 1 each.
    let found = served_twice(&all_measured, &|row| set(row, (row.item.0 % 2 == 0).then_some(1.0)));
    let provider = first(&found);
    assert_eq!(provider.quality[0].estimate.value, Some(1.0));
    assert_eq!(provider.cost_per_session.unwrap().0, 900_000);
    assert_eq!(provider.cost_per_success.unwrap().0, 1_800_000, "eight sessions, four successes");
}

#[test]
fn a_success_has_no_price_while_the_quality_is_withheld() {
    let half = |_: &regatta_proto::Cell, at: usize| match at % 2 {
        0 => Some(Outcome::Measured),
        _ => Some(Outcome::NotMeasured { cause: Cause::Timeout }),
    };
    let found = served_twice(&half, &|row| {
        if row.outcome == Outcome::Measured {
            set(row, Some(1.0));
        }
    });
    let provider = first(&found);
    assert!(provider.quality[0].estimate.withheld);
    assert_eq!((provider.cost_per_session.unwrap().0, provider.cost_per_success), (900_000, None));
}
