//! The headline both ways.

use insta::assert_snapshot;
use regatta_proto::{Cause, Cell, Filtered, Outcome, SweepLock};

use super::harness::{all_measured, documents, lock, summary, sweep, text};
use crate::summary::{LeaderboardRow, Summary};
use crate::{USUAL_WIDTH, render_decision};

const MODELS: [&str; 2] = ["sim/first", "sim/second"];

/// The first model's session of the second item is filtered in its first trial, and counts as `filtered` says.
fn finished(filtered: Filtered) -> (Summary, String) {
    let sweep = sweep(SweepLock { filtered, ..lock(&MODELS) });
    let outcome = move |cell: &Cell, at: usize| {
        let cause = Cause::ContentFilter;
        Some(match (cell.index.0, at, filtered) {
            (0, 1, Filtered::Wrong) => Outcome::ModelFailure { cause },
            (0, 1, Filtered::Missing) => Outcome::NotMeasured { cause },
            _ => Outcome::Measured,
        })
    };
    let documents = documents(&sweep, &outcome);
    (summary(&documents), text(&documents, "report.md"))
}

fn first(summary: &Summary) -> &LeaderboardRow {
    summary.rows.iter().find(|row| row.model.model == "first").unwrap()
}

#[test]
fn whatever_the_spec_chooses_the_report_shows_the_same_two_headlines() {
    let (wrong, missing) = (finished(Filtered::Wrong).0, finished(Filtered::Missing).0);
    let both = |summary| first(summary).filtered.clone().unwrap();
    assert_eq!(both(&wrong), both(&missing));
    assert_eq!(both(&wrong).sessions, 1);
    let headline = |summary, at: usize| first(summary).headline().nth(at).unwrap().estimate;
    for (at, metric) in both(&wrong).metrics.iter().enumerate() {
        assert_eq!(metric.wrong, headline(&wrong, at), "the chosen one is the headline itself");
        assert_eq!(metric.missing, headline(&missing, at));
        assert!(metric.wrong.value < metric.missing.value, "a wrong answer is worse than none");
        assert_eq!((metric.wrong.scored, metric.missing.scored), (8, 7));
    }
}

#[test]
fn a_headline_without_what_was_filtered_is_withheld_where_too_little_is_left() {
    let sweep = sweep(lock(&MODELS));
    let filtered = Outcome::ModelFailure { cause: Cause::ContentFilter };
    let outcome =
        move |cell: &Cell, _: usize| Some(if cell.index.0 == 0 { filtered.clone() } else { Outcome::Measured });
    let both = first(&summary(&documents(&sweep, &outcome))).filtered.clone().unwrap();
    for metric in &both.metrics {
        assert_eq!((metric.wrong.scored, metric.missing.scored, metric.missing.total), (8, 4, 8));
        assert!(!metric.wrong.withheld && metric.missing.withheld, "half of the sessions are too few");
    }
}

#[test]
fn both_headlines_stand_below_the_leaderboard() {
    let (summary, report) = finished(Filtered::Wrong);
    let table: Vec<&str> = report.lines().skip_while(|line| !line.contains("a filter or a refusal")).take(6).collect();
    let shown = render_decision(&summary, USUAL_WIDTH);
    let lines: Vec<&str> = shown.lines().filter(|line| line.starts_with("filtered:")).collect();
    assert_snapshot!(format!("{}\n{}", table.join("\n"), lines.join("\n")));
}

#[test]
fn where_nothing_was_filtered_nothing_is_said_of_it() {
    let documents = documents(&sweep(lock(&MODELS)), &all_measured);
    for name in ["summary.json", "report.md", "report.html"] {
        assert!(!text(&documents, name).contains("filtered"), "{name}");
    }
    assert!(!render_decision(&summary(&documents), USUAL_WIDTH).contains("filtered"));
}
