//! Sessions with a score whose judge gave no grade.

use regatta_backends::SessionRow;
use regatta_proto::SweepState;
use serde_json::json;

use super::harness::{all_measured, circumstances, lock, rows, summary, sweep_of_both};
use crate::decision::render_decision;
use crate::finish::tabulation::Tabulation;
use crate::summary::{LeaderboardRow, Summary, SummaryMetric};

/// A sweep of one model in two trials; each second session of its dialogues has no value of `turns`.
fn half_graded() -> Summary {
    let sweep = sweep_of_both(lock(&["sim/first"]));
    let mut tabulation = Tabulation::new(&sweep, &[]).unwrap();
    for cell in sweep.cells() {
        let mut rows: Vec<SessionRow> = rows(&sweep, cell, &all_measured);
        for row in rows.iter_mut().filter(|row| cell.benchmark.as_str() == "dialogues" && row.item.0 % 2 == 1) {
            let values = row.scores["official_fixed"]["values"].as_object_mut().unwrap();
            values.remove("turns");
            values.insert("turns_ungraded".to_owned(), json!(1.0));
        }
        tabulation.add(cell, &rows).unwrap();
    }
    summary(&tabulation.finish(&circumstances(SweepState::Complete, Vec::new())).unwrap())
}

fn dialogues(summary: &Summary) -> &LeaderboardRow {
    summary.rows.iter().find(|row| row.benchmark.as_str() == "dialogues").unwrap()
}

fn metric<'s>(row: &'s LeaderboardRow, name: &str) -> &'s SummaryMetric {
    row.metrics.iter().find(|metric| metric.metric == name).unwrap()
}

#[test]
fn a_session_without_a_grade_is_missing_in_what_is_made_of_it_and_in_nothing_else() {
    let summary = half_graded();
    let row = dialogues(&summary);
    let turns = metric(row, "turns").estimate;
    assert_eq!((turns.scored * 2, turns.coverage, turns.withheld), (turns.total, 0.5, true));
    let (low, high) = (turns.bound_low.unwrap(), turns.bound_high.unwrap());
    assert!(high - low >= 10.0, "half of the sessions may be anywhere in 0 to 20: {low} to {high}");
    let recall = metric(row, "recall").estimate;
    assert_eq!((recall.coverage, recall.withheld), (1.0, false));
    assert_eq!(row.sessions.scored(), row.sessions.total);
}

#[test]
fn the_coverage_of_a_model_is_that_of_the_metric_that_fewest_sessions_have() {
    let summary = half_graded();
    assert_eq!(dialogues(&summary).coverage, 0.5);
    let of_others = summary.rows.iter().find(|row| row.benchmark.as_str() == "worfbench").unwrap();
    assert_eq!(of_others.coverage, 1.0);
    let (some, all) = (dialogues(&summary).sessions.total as f64, of_others.sessions.total as f64);
    let both = crate::decision::coverage(&summary, &of_others.model);
    assert!((both - (some / 2.0 + all) / (some + all)).abs() < 1e-12, "{both}");
}

#[test]
fn a_note_says_how_many_sessions_have_no_grade() {
    let summary = half_graded();
    let row = dialogues(&summary);
    let lacking = row.sessions.total / 2;
    let note = format!(
        "sim/first in dialogues turn/text: {lacking} of {} sessions have a score without turns (turns_ungraded), and are missing in it:",
        row.sessions.total
    );
    assert_eq!(summary.notes.iter().filter(|found| found.starts_with(&note)).count(), 1, "{:?}", summary.notes);
}

#[test]
fn a_session_without_a_grade_is_not_among_those_that_are_said_to_be_scored() {
    let summary = half_graded();
    let (lacking, total) = (dialogues(&summary).sessions.total / 2, summary.sessions.total);
    assert_eq!((summary.covered(), summary.sessions.scored()), (total - lacking, total));
    let said = format!("{} of {total} sessions scored", total - lacking);
    assert!(render_decision(&summary).contains(&said), "{said}");
}
