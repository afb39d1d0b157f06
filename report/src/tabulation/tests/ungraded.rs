//! Sessions with a score whose judge gave no grade.

use regatta_backends::SessionRow;
use regatta_benchmarks::Metric;
use regatta_proto::SweepState;
use serde_json::json;

use super::harness::{all_measured, circumstances, lock, rows, summary, sweep_of_both, text};
use crate::decision::render_decision;
use crate::summary::{LeaderboardRow, Summary, SummaryMetric};
use crate::tabulation::{Documents, Tabulation, ungraded_notes};

/// The summary of [`half_graded_documents`].
fn half_graded() -> Summary {
    summary(&half_graded_documents())
}

/// A sweep of one model in two trials; each second session of its dialogues has no value of `turns`.
fn half_graded_documents() -> Documents {
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
    tabulation.finish(&circumstances(SweepState::Complete, Vec::new())).unwrap()
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
fn metrics_that_lack_the_same_grade_have_one_note_and_one_without_any_value_promises_none() {
    let sweep = sweep_of_both(lock(&["sim/first"]));
    let mut tabulation = Tabulation::new(&sweep, &[]).unwrap();
    for cell in sweep.cells() {
        let mut rows: Vec<SessionRow> = rows(&sweep, cell, &all_measured);
        for row in rows.iter_mut().filter(|_| cell.benchmark.as_str() == "dialogues") {
            let values = row.scores["official_fixed"]["values"].as_object_mut().unwrap();
            values.remove("turns");
            values.insert("turns_ungraded".to_owned(), json!(1.0));
        }
        tabulation.add(cell, &rows).unwrap();
    }
    let mut groups = tabulation.into_groups();
    let group = groups.iter_mut().find(|group| group.first.benchmark.as_str() == "dialogues").unwrap();
    assert_eq!(
        ungraded_notes(group),
        [
            "sim/first in dialogues turn/text: 12 of 12 sessions have a score without turns (turns_ungraded), and are missing in it: it has \
          no value."
        ]
    );
    let at = group.keys.iter().position(|(_, metric)| metric.name == "turns").unwrap();
    let (evaluator, metric) = group.keys[at].clone();
    group.keys.push((evaluator, Metric { name: "patience".to_owned(), ..metric }));
    group.estimates.push(group.estimates[at]);
    group.headline.insert(group.keys.len() - 1);
    assert_eq!(
        ungraded_notes(group),
        [
            "sim/first in dialogues turn/text: 12 of 12 sessions have a score without turns, patience (turns_ungraded), and are missing in \
          them: they have no values."
        ]
    );
}

#[test]
fn a_metric_whose_grades_are_missing_has_its_bounds_in_the_report() {
    let documents = half_graded_documents();
    let report = text(&documents, "report.md");
    assert!(!report.contains("so there is nothing to bound"));
    let section = report.split("## Coverage and bounds").nth(1).unwrap().split("\n## ").next().unwrap();
    let bounds: Vec<&str> = section.lines().filter(|line| line.contains("(official_fixed)")).collect();
    assert_eq!(bounds.len(), 1, "{bounds:?}");
    let turns = metric(dialogues(&summary(&documents)), "turns").estimate;
    assert!(bounds[0].contains("turns (official_fixed)") && bounds[0].contains("50.0 %"), "{bounds:?}");
    assert!(bounds[0].contains(&format!("{:.1}", turns.bound_high.unwrap())), "{bounds:?}");
}

#[test]
fn a_session_without_a_grade_is_not_among_those_that_are_said_to_be_scored() {
    let summary = half_graded();
    let (lacking, total) = (dialogues(&summary).sessions.total / 2, summary.sessions.total);
    assert_eq!((summary.covered(), summary.sessions.scored()), (total - lacking, total));
    let said = format!("{} of {total} sessions scored", total - lacking);
    assert!(render_decision(&summary, crate::USUAL_WIDTH).contains(&said), "{said}");
}
