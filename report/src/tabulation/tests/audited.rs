//! Sweeps whose judge is audited.

use regatta_backends::SessionRow;
use regatta_catalog::Sweep;
use regatta_proto::{Audit, Cause, Cell, Outcome, SweepLock, SweepState};
use serde_json::{Value, json};

use super::harness::{Outcomes, all_measured, circumstances, lock, rows, sweep_of_locked, text, with_dialogues};
use crate::tabulation::{Documents, Tabulation};

const MODELS: [&str; 2] = ["sim/first", "sim/second"];

/// The lock of both benchmarks, each audited by `sim/auditor`, which judges all of so few items.
fn audited() -> SweepLock {
    let mut lock = with_dialogues(lock(&MODELS));
    let audit: Audit = serde_json::from_value(json!({ "judge": "sim/auditor", "share": 0.5 })).unwrap();
    lock.benchmarks.values_mut().for_each(|benchmark| benchmark.audit = Some(audit.clone()));
    lock
}

/// `row` as an audit's judge that gives a tenth less to everything leaves it.
fn with_audit(mut row: SessionRow) -> SessionRow {
    for score in row.scores.as_object_mut().into_iter().flat_map(|scores| scores.values_mut()) {
        let values = score["values"].as_object().unwrap();
        let less = |value: &Value| json!(value.as_f64().unwrap() - 0.1);
        score["audited"] = values.iter().map(|(name, value)| (name.clone(), less(value))).collect();
    }
    row
}

/// The documents of a sweep whose sessions end as `outcome` says and were audited where `is_audited`.
fn documents(outcome: &Outcomes, is_audited: &dyn Fn(&Cell, usize) -> bool) -> Documents {
    let sweep: Sweep = sweep_of_locked(audited());
    let mut tabulation = Tabulation::new(&sweep, &[]).unwrap();
    for cell in sweep.cells() {
        let of = |(at, row): (usize, SessionRow)| {
            if row.outcome == Outcome::Measured && is_audited(cell, at) { with_audit(row) } else { row }
        };
        let rows: Vec<SessionRow> = rows(&sweep, cell, outcome).into_iter().enumerate().map(of).collect();
        tabulation.add(cell, &rows).unwrap();
    }
    tabulation.finish(&circumstances(SweepState::Complete, Vec::new())).unwrap()
}

fn summary(documents: &Documents) -> Value {
    serde_json::from_str(&text(documents, "summary.json")).unwrap()
}

/// The first headline of `model` in `benchmark`.
fn headline<'d>(summary: &'d Value, benchmark: &str, model: &str) -> &'d Value {
    let mut rows = summary["rows"].as_array().unwrap().iter();
    let row = rows.find(|row| row["model"] == model && row["benchmark"] == benchmark).unwrap();
    row["metrics"].as_array().unwrap().iter().find(|metric| metric["headline"] == true).unwrap()
}

fn everywhere(_: &Cell, _: usize) -> bool {
    true
}

/// All but the first item of the first trial of the first model in WorFBench.
fn all_but_one(cell: &Cell, at: usize) -> bool {
    at > 0 || cell.trial.0 > 0 || cell.model.model != "first" || cell.benchmark.as_str() != "worfbench"
}

#[test]
fn a_session_counts_as_audited_only_if_its_scores_say_so() {
    let all = summary(&documents(&all_measured, &everywhere));
    let lacking = summary(&documents(&all_measured, &all_but_one));
    let (before, after) = (&all["audits"][0], &lacking["audits"][0]);
    assert_eq!(before["audited"].as_u64().unwrap(), after["audited"].as_u64().unwrap() + 1);
    let of = |summary: &Value, model| headline(summary, "worfbench", model)["audited"].clone();
    let (whole, part) = (of(&all, "sim/first"), of(&lacking, "sim/first"));
    assert_eq!(
        (&whole["items"], &part["items"]),
        (&json!(4), &json!(3)),
        "an item whose trials are not all audited is not"
    );
    assert_eq!(of(&all, "sim/second"), of(&lacking, "sim/second"));
    let bias = part["bias"]["value"].as_f64().unwrap();
    assert!((bias - 0.1).abs() < 1e-9, "the session that was not audited is no agreement: {part}");
}

#[test]
fn sampled_sessions_that_were_not_audited_are_counted_in_summary_and_report() {
    let documents = documents(&all_measured, &all_but_one);
    let summary = summary(&documents);
    let missing = &summary["audits"][0]["missing"];
    assert_eq!((&missing["sessions"], &missing["sampled"]), (&json!(1), &json!(40)), "{}", summary["audits"]);
    let words = "1 of 40 sampled sessions was not audited";
    let notes = summary["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().unwrap().contains(words)), "{notes:?}");
    assert!(text(&documents, "report.md").contains(words));
}

#[test]
fn where_all_was_audited_nothing_is_missing() {
    let documents = documents(&all_measured, &everywhere);
    assert!(summary(&documents)["audits"][0].get("missing").is_none());
    assert!(!text(&documents, "report.md").contains("not audited"));
}

#[test]
fn a_failure_of_the_model_is_the_same_by_every_judge_and_lacks_no_audit() {
    let outcome = |cell: &Cell, at: usize| {
        let has_failed = cell.index.0 == 0 && at == 0;
        Some(if has_failed { Outcome::ModelFailure { cause: Cause::ContextLength } } else { Outcome::Measured })
    };
    let summary = summary(&documents(&outcome, &everywhere));
    assert!(summary["audits"][0].get("missing").is_none());
    assert_eq!(headline(&summary, "worfbench", "sim/first")["audited"]["items"], json!(4));
}

#[test]
fn an_audit_that_never_came_is_said_and_corrects_nothing() {
    let documents = documents(&all_measured, &|_, _| false);
    let summary = summary(&documents);
    let audit = &summary["audits"][0];
    assert_eq!((&audit["audited"], &audit["missing"]["sessions"]), (&json!(0), &json!(40)));
    assert!(headline(&summary, "worfbench", "sim/first").get("audited").is_none());
    assert!(text(&documents, "report.md").contains("40 of 40 sampled sessions were not audited"));
}

/// Turns of dialogues are counted, not judged.
#[test]
fn a_metric_that_no_judge_touches_is_not_audited() {
    let metrics: Value = serde_json::from_str(&text(&documents(&all_measured, &everywhere), "metrics.json")).unwrap();
    let is_audited = |name: &str| {
        let mut rows = metrics["metrics"].as_array().unwrap().iter().filter(|row| row["metric"] == name);
        rows.any(|row| row.get("audited").is_some())
    };
    assert!(is_audited("f1_chain"));
    assert!(!is_audited("turns"));
}
