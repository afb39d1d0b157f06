//! Documents of a finished sweep, for people and for programs.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use regatta_backends::{AgentEnd, AttemptRow, AttemptState, SavedCost};
use regatta_proto::{Cause, Cell, CostSum, Flag, Money, Outcome, SweepLock, SweepState, Usage};
use serde_json::{Value, json};

use super::harness::{all_measured, attempt, circumstances, documents, lock, rows, some_trouble, summary, sweep, text};
use crate::report::numbers::at_most;
use crate::tabulation::spending;
use crate::tabulation::{Circumstances, Tabulation};
use crate::{USUAL_WIDTH, render_decision, render_tables};

const MODELS: [&str; 2] = ["sim/first", "sim/second"];

#[test]
fn the_report_in_markdown() {
    let sweep = sweep(lock(&MODELS));
    assert_snapshot!(text(&documents(&sweep, &some_trouble), "report.md"));
}

#[test]
fn all_tables_in_a_terminal() {
    let sweep = sweep(lock(&MODELS));
    assert_snapshot!(render_tables(&summary(&documents(&sweep, &some_trouble)), USUAL_WIDTH));
}

#[test]
fn the_first_card_in_a_terminal() {
    let sweep = sweep(lock(&MODELS));
    assert_snapshot!(render_decision(&summary(&documents(&sweep, &some_trouble)), USUAL_WIDTH));
}

#[test]
fn a_leaderboard_with_expensive_models_fits_a_usual_terminal() {
    let sweep = sweep(lock(&["sim/oracle", "sim/noisy-0.2", "sim/noisy-0.5"]));
    let mut summary = summary(&documents(&sweep, &all_measured));
    for row in &mut summary.rows {
        row.spending.cost = CostSum { known: Money(12_345_670_000_000), unknown_calls: 0 };
        row.spending.usage.input = 123_456_789;
        row.spending.usage.output = 123_456_789;
    }
    for standing in &mut summary.standings {
        standing.cost = CostSum { known: Money(12_345_670_000_000), unknown_calls: 0 };
    }
    for text in [render_tables(&summary, USUAL_WIDTH), render_decision(&summary, USUAL_WIDTH)] {
        // Sentences are wrapped where they do not fit; tables are not.
        let table = text.lines().skip(1).take(10).filter(|line| !line.contains(", against "));
        assert!(table.clone().any(|line| line.contains("noisy-0.5")), "{text}");
        assert_eq!(table.clone().filter(|line| line.contains("sim/oracle *")).count(), 1, "not wrapped: {text}");
        for line in table {
            assert!(line.chars().count() <= usize::from(USUAL_WIDTH), "{line}");
        }
    }
}

#[test]
fn results_say_what_came_out_of_every_session() {
    let sweep = sweep(lock(&MODELS));
    let results = text(&documents(&sweep, &some_trouble), "results.jsonl");
    let lines: Vec<&str> = results.lines().collect();
    assert_eq!(lines.len(), 2 * 2 * 4);
    // Measured, failed by the model, not measured, not run.
    assert_snapshot!([lines[0], lines[8], lines[9], lines[15]].join("\n"));
}

#[test]
fn metrics_as_csv() {
    let sweep = sweep(lock(&MODELS));
    let csv = text(&documents(&sweep, &some_trouble), "metrics.csv");
    let f1_chain: Vec<&str> =
        csv.lines().filter(|line| line.contains("metric,") || line.contains(",f1_chain,")).collect();
    assert_snapshot!(f1_chain.join("\n"));
}

#[test]
fn comparisons_as_csv() {
    let sweep = sweep(lock(&["sim/first", "sim/second", "sim/third"]));
    assert_snapshot!(text(&documents(&sweep, &some_trouble), "comparisons.csv"));
}

#[test]
fn models_that_are_tied_are_in_the_order_of_the_spec_whatever_their_values() {
    for models in [["sim/first", "sim/second"], ["sim/second", "sim/first"]] {
        let found = summary(&documents(&sweep(lock(&models)), &all_measured));
        let order: Vec<String> = found.rows.iter().map(|row| row.model.to_string()).collect();
        assert_eq!(order, models);
        assert!(found.rows.iter().all(|row| found.rank(row).unwrap().to_string() == "1–2"));
    }
}

#[test]
fn a_model_of_which_nothing_was_measured_counts_among_the_places_of_the_other() {
    let outcome = |cell: &Cell, _: usize| {
        let is_away = cell.model.model.as_str() == "second";
        Some(if is_away { Outcome::NotMeasured { cause: Cause::Timeout } } else { Outcome::Measured })
    };
    let found = summary(&documents(&sweep(lock(&MODELS)), &outcome));
    let ranks: Vec<String> = found.ranks.iter().map(|of| format!("{} {}", of.model, of.rank)).collect();
    assert_eq!(ranks, ["sim/first 1–2"], "nothing was compared");
    let standings = found.standings.iter().map(|of| (of.model.to_string(), of.rank.map(|rank| rank.to_string())));
    assert_eq!(
        standings.collect::<Vec<_>>(),
        [("sim/first".to_owned(), Some("1–2".to_owned())), ("sim/second".to_owned(), None)]
    );
}

#[test]
fn attempts_as_lines() {
    let sweep = sweep(lock(&MODELS));
    let attempts = text(&documents(&sweep, &some_trouble), "attempts.jsonl");
    let lines: Vec<&str> = attempts.lines().collect();
    assert_eq!(lines.len(), 15 + 1);
    assert_snapshot!([lines[0], lines[4]].join("\n"));
}

#[test]
fn an_attempt_with_a_call_of_unknown_price_has_no_cost() {
    let sweep = sweep(lock(&MODELS));
    let cell = &sweep.cells()[0];
    let row = rows(&sweep, cell, &all_measured).remove(0);
    let mut attempt = attempt(&sweep, cell, &row, AttemptState::Recorded);
    attempt.cost.unknown_calls = 1;
    let lines = spending::lines(&sweep, &[attempt], |_| None).unwrap();
    let line: serde_json::Value = serde_json::from_slice(&lines).unwrap();
    assert_eq!((&line["cost_nanodollars"], &line["known_cost_nanodollars"]), (&json!(null), &json!(900_000)));
    assert_eq!(line["unpriced_calls"], 1);
}

#[test]
fn an_attempt_with_a_call_of_unknown_tokens_has_no_usage_and_no_sum_takes_it_for_a_whole_one() {
    let sweep = sweep(lock(&MODELS));
    let cell = &sweep.cells()[0];
    let row = rows(&sweep, cell, &all_measured).remove(0);
    let whole = attempt(&sweep, cell, &row, AttemptState::Recorded);
    let partial = AttemptRow { usage: Usage { unmetered_calls: 1, ..whole.usage }, ..whole.clone() };
    let line = |attempt: &AttemptRow| -> serde_json::Value {
        serde_json::from_slice(&spending::lines(&sweep, std::slice::from_ref(attempt), |_| None).unwrap()).unwrap()
    };
    let (known, told) = (line(&whole), line(&partial));
    assert_eq!((&known["usage"]["input"], known.get("known_usage")), (&json!(1000), None));
    assert_eq!((&told["usage"], &told["known_usage"]["input"]), (&json!(null), &json!(1000)));
    assert_eq!(told["known_usage"]["unmetered_calls"], 1);

    let mut summary = summary(&documents(&sweep, &all_measured));
    summary.rows[0].spending.usage = partial.usage;
    summary.rows[0].spending.usage.output = 0;
    let shown = render_tables(&summary, USUAL_WIDTH);
    assert!(shown.contains("≥ 1.00k/unknown"), "{shown}");
}

#[test]
fn a_bound_of_the_bill_says_what_is_reserved_beyond_what_is_known() {
    let sweep = sweep(lock(&MODELS));
    let mut summary = summary(&documents(&sweep, &all_measured));
    summary.judging.cost = CostSum::default();
    let most = summary.cost().known + Money(1_000_000_000);
    summary.at_most = Some(most);
    summary.spending.maybe_spent = Money(1_000_000_000);
    summary.spending.lost_calls_at_most = Money::ZERO;
    assert_eq!(
        at_most(&summary, most),
        format!("at most {most}, judges included: $1.00 more than is known, reserved for failed tries")
    );
    summary.spending.maybe_spent = Money(400_000_000);
    summary.spending.lost_calls_at_most = Money(600_000_000);
    let shown = at_most(&summary, most);
    assert!(shown.ends_with(", reserved for failed tries or calls in flight when a process died"), "{shown}");
    summary.spending.cost.unknown_calls = 2;
    summary.judging.cost.unknown_calls = 1;
    summary.spending.lost_unpriced = 1;
    let shown = at_most(&summary, most);
    let bound = format!(
        "at most {most} if 4 calls of unknown cost took no more than is reserved for them (nothing without a price), judges included"
    );
    assert!(shown.starts_with(&bound), "{shown}");
}

#[test]
fn a_bound_of_answers_that_tell_no_cost_does_not_say_that_tries_failed() {
    let sweep = sweep(lock(&MODELS));
    let mut summary = summary(&documents(&sweep, &all_measured));
    summary.judging.cost = CostSum::default();
    summary.spending.cost.unknown_calls = 12;
    summary.spending.lost_calls_at_most = Money::ZERO;
    let most = summary.cost().known + Money(6_326_000);
    summary.at_most = Some(most);
    let shown = at_most(&summary, most);
    let reserved = "$0.006326 more than is known, reserved for calls of unknown cost, failed tries or calls in flight when a process died";
    assert!(shown.ends_with(reserved), "{shown}");
}

#[test]
fn money_that_the_response_cache_saved_is_told_with_the_costs_and_after_the_first_card() {
    let sweep = sweep(lock(&MODELS));
    let mut summary = summary(&documents(&sweep, &all_measured));
    assert!(!render_decision(&summary, USUAL_WIDTH).contains("saved by the response cache"));
    summary.saved = SavedCost { calls: 12, cost: Money(1_500_000_000) };
    let shown = render_decision(&summary, USUAL_WIDTH);
    assert!(shown.contains("saved by the response cache: $1.50 for 12 calls, by the prices of then\n"), "{shown}");
}

#[test]
fn results_and_metrics_depend_neither_on_time_nor_attempts_nor_cost() {
    let sweep = sweep(lock(&MODELS));
    let usual = documents(&sweep, &some_trouble);
    let mut tabulation = Tabulation::new(&sweep, &[]).unwrap();
    for cell in sweep.cells() {
        let mut rows = rows(&sweep, cell, &some_trouble);
        for row in &mut rows {
            (row.attempt, row.retries, row.latency_us) = (9, 4, 1);
            row.cost = CostSum { known: Money(1), unknown_calls: 3 };
            row.transcript.segment = "elsewhere".to_owned();
        }
        rows.reverse();
        tabulation.add(cell, &rows).unwrap();
    }
    let other = tabulation.finish(&circumstances(SweepState::Cancelled, Vec::new())).unwrap();
    for name in ["results.jsonl", "metrics.json", "metrics.csv", "sweep.lock.yaml"] {
        assert_eq!(text(&usual, name), text(&other, name), "{name}");
    }
}

#[test]
fn scores_are_the_same_in_whatever_order_a_database_keeps_their_fields() {
    let sweep = sweep(lock(&MODELS));
    let mut tabulation = Tabulation::new(&sweep, &[]).unwrap();
    for cell in sweep.cells() {
        let mut rows = rows(&sweep, cell, &all_measured);
        for row in &mut rows {
            for score in row.scores.as_object_mut().unwrap().values_mut() {
                let score = score.as_object_mut().unwrap();
                let values = score["values"].as_object().unwrap().clone();
                score["values"] = values.into_iter().rev().collect();
            }
        }
        tabulation.add(cell, &rows).unwrap();
    }
    let other = tabulation.finish(&circumstances(SweepState::Complete, Vec::new())).unwrap();
    assert_eq!(text(&documents(&sweep, &all_measured), "results.jsonl"), text(&other, "results.jsonl"));
}

#[test]
fn a_model_without_any_measured_session_has_no_value_and_comes_last() {
    let sweep = sweep(lock(&MODELS));
    let found = summary(&documents(&sweep, &|cell, _| (cell.index.0 >= 2).then_some(regatta_proto::Outcome::Measured)));
    let (best, last) = (&found.rows[0], &found.rows[1]);
    assert_eq!((best.model.model.as_str(), last.model.model.as_str()), ("second", "first"));
    assert_eq!(last.coverage, 0.0);
    let whole =
        |of: &crate::summary::Estimate| of.value.is_none() && (of.bound_low, of.bound_high) == (Some(0.0), Some(1.0));
    assert!(last.metrics.iter().all(|metric| whole(&metric.estimate)));
    for text in [render_tables(&found, USUAL_WIDTH), render_decision(&found, USUAL_WIDTH)] {
        let line = text.lines().find(|line| line.contains("sim/first")).unwrap().to_owned();
        assert!(line.contains(" withheld: 0 of 8") && !line.contains("0.000"), "{line}");
    }
}

#[test]
fn where_nothing_was_measured_no_value_is_called_a_mean() {
    let sweep = sweep(lock(&MODELS));
    let found = summary(&documents(&sweep, &|_, _| None));
    let note = "16 of 16 sessions have no score (0 not measured, 16 not run): there are no values.";
    assert!(found.notes.iter().any(|said| said == note), "{:?}", found.notes);
}

#[test]
fn what_is_withheld_from_readers_is_kept_for_programs() {
    let sweep = sweep(lock(&MODELS));
    let documents = documents(&sweep, &some_trouble);
    let metrics: serde_json::Value = serde_json::from_str(&text(&documents, "metrics.json")).unwrap();
    let of_second = |row: &&serde_json::Value| row["model"] == "sim/second" && row["trial"].is_null();
    let row = metrics["metrics"].as_array().unwrap().iter().find(of_second).unwrap();
    assert_eq!((&row["withheld"], &row["coverage"]), (&json!(true), &json!(0.75)));
    let told = format!("{:.3}", row["value"].as_f64().unwrap());
    for name in ["report.md", "report.html"] {
        let report = text(&documents, name);
        let telling = report.find(&told).map(|at| &report[at.saturating_sub(300)..at]);
        assert!(report.contains("withheld:") && telling.is_none(), "{name} tells {told} after {telling:?}");
    }
    let summary = summary(&documents);
    for shown in [render_tables(&summary, USUAL_WIDTH), render_decision(&summary, USUAL_WIDTH)] {
        assert!(!shown.contains(&told), "{shown}");
    }
}

#[test]
fn a_spec_may_have_every_value_shown() {
    let sweep = sweep(SweepLock { coverage_min: 0.0, ..lock(&MODELS) });
    let found = documents(&sweep, &some_trouble);
    assert!(!text(&found, "report.md").contains("withheld:"), "no value is");
    assert!(summary(&found).rows.iter().flat_map(|row| &row.metrics).all(|metric| !metric.estimate.withheld));
}

#[test]
fn a_headline_is_what_the_papers_table_shows() {
    let sweep = sweep(lock(&MODELS));
    let found = summary(&documents(&sweep, &all_measured));
    let names: Vec<&str> = found.rows[0].headline().map(|metric| metric.metric.as_str()).collect();
    assert_eq!(names, ["f1_chain", "f1_graph"]);
    assert_eq!(found.rows[0].metrics.len(), 6);
}

#[test]
fn waste_is_what_was_lost_with_what_may_have_been_in_flight() {
    let sweep = sweep(lock(&MODELS));
    let found = summary(&documents(&sweep, &all_measured)).spending;
    assert_eq!((found.attempts, found.wasted_attempts), (17, 1));
    assert_eq!((found.cost.known, found.wasted.known), (Money(17 * 900_000), Money(900_000)));
    assert_eq!(found.lost_calls_at_most, Money(5_000_000));
}

#[test]
fn the_lock_as_yaml_is_the_lock() {
    let sweep = sweep(lock(&MODELS));
    let yaml = text(&documents(&sweep, &all_measured), "sweep.lock.yaml");
    assert_eq!(serde_yaml_ng::from_str::<SweepLock>(&yaml).unwrap(), sweep.lock);
}

#[test]
fn the_html_report_needs_nothing_from_elsewhere_and_runs_nothing() {
    let sweep = sweep(lock(&MODELS));
    let html = text(&documents(&sweep, &some_trouble), "report.html");
    for forbidden in ["http:", "https:", "//cdn", "src=", "url(", "@import", "<script", "<link", "<iframe"] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    assert_eq!(html.matches("href=").count(), html.matches("href=\"#").count(), "links stay in the document");
    assert!(html.contains("prefers-color-scheme: dark"));
    assert_eq!(html.matches("<tr>").count(), html.matches("</tr>").count());
    assert!(html.matches("<svg").count() >= 4);
}

#[test]
fn names_mean_nothing_in_a_report() {
    let sweep = sweep(lock(&["sim/<script>alert('1')</script>", "sim/a|b\"*c*"]));
    let documents = documents(&sweep, &all_measured);
    let html = text(&documents, "report.html");
    assert!(!html.contains("<script") && html.contains("sim/&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"));
    assert!(html.contains("sim/a|b&quot;*c*"));
    let markdown = text(&documents, "report.md");
    assert!(!markdown.contains("<script") && markdown.contains("sim/a\\|b\"\\*c\\*"));
}

#[test]
fn a_reader_is_told_how_broken_agents_ended_and_which_answers_are_less_than_answers() {
    let sweep = sweep(lock(&["sim/first"]));
    let mut tabulation = Tabulation::new(&sweep, &[]).unwrap();
    for cell in sweep.cells() {
        let mut rows = rows(&sweep, cell, &all_measured);
        for row in rows.iter_mut().take(3) {
            let errors = "Traceback:\nNo module named 'x'\n".to_owned();
            row.agent_end = Some(AgentEnd { how: "exited 1 and asked nothing".to_owned(), errors });
        }
        rows[0].flags = [Flag::Truncated, Flag::ReasoningOnly].into_iter().collect();
        tabulation.add(cell, &rows).unwrap();
    }
    let documents = tabulation.finish(&circumstances(SweepState::Complete, Vec::new())).unwrap();
    let found = summary(&documents);
    assert_snapshot!(found.notes.join("\n"));
    assert_eq!(found.rows[0].flags, [(Flag::Truncated, 2), (Flag::ReasoningOnly, 2)].into());
}

#[test]
fn agents_that_cannot_run_are_told_of_once_for_all_models_and_quoted_once() {
    let sweep = sweep(lock(&["sim/first", "sim/second"]));
    let lost = |_: &Cell, _: usize| Some(Outcome::NotMeasured { cause: Cause::AgentLost });
    let errors = "Traceback:\n  No module named 'x'\n".to_owned();
    let end = AgentEnd { how: "exited 1 and asked nothing".to_owned(), errors };
    let told = |of_failure: &str| {
        let mut tabulation = Tabulation::new(&sweep, &[]).unwrap();
        let mut said = BTreeMap::new();
        for cell in sweep.cells() {
            let mut rows = rows(&sweep, cell, &lost);
            for row in &mut rows {
                row.agent_end = Some(end.clone());
                said.insert((cell.index, row.item), of_failure.to_owned());
            }
            tabulation.add(cell, &rows).unwrap();
        }
        let circumstances = Circumstances { said, ..circumstances(SweepState::Incomplete, Vec::new()) };
        let notes = summary(&tabulation.finish(&circumstances).unwrap()).notes;
        notes.into_iter().filter(|note| note.contains("agents")).collect::<Vec<_>>()
    };
    let note = "sim/first, sim/second in worfbench two-shot: 16 of 16 agents exited 1 and asked nothing.";
    assert_eq!(told("exited 1 and asked nothing: Traceback: No module named 'x'"), [note]);
    assert_eq!(told("no judge"), [format!("{note} One wrote at its end: Traceback: /   No module named 'x'")]);
}

/// The number at `pointer` of the aggregate of the first model, over all trials or in the first.
fn aggregate_number(metrics: &Value, trial: &Value, pointer: &str) -> Value {
    let of_first = |row: &&Value| row["model"] == MODELS[0] && row["trial"] == *trial;
    let row = metrics["aggregates"].as_array().unwrap().iter().find(of_first).unwrap();
    let numbers = row["numbers"].as_array().unwrap();
    let found = numbers.iter().find(|number| number["pointer"] == pointer).unwrap().clone();
    assert_eq!(row["aggregate"].pointer(pointer), Some(&found["value"]));
    assert!(
        numbers.iter().all(|number| !number["pointer"].as_str().unwrap().ends_with("/n")),
        "counts are no estimates"
    );
    found
}

#[test]
fn a_mean_in_an_official_aggregate_has_the_interval_that_it_has_as_a_metric() {
    let found = documents(&sweep(lock(&MODELS)), &all_measured);
    let metrics: Value = serde_json::from_str(&text(&found, "metrics.json")).unwrap();
    for trial in [Value::Null, json!(0)] {
        let is_same = |row: &&Value| {
            row["model"] == MODELS[0] && row["trial"] == trial && row["task"].is_null() && row["metric"] == "f1_graph"
        };
        let metric = metrics["metrics"].as_array().unwrap().iter().find(is_same).unwrap();
        let number = aggregate_number(&metrics, &trial, "/all_items/graph/f1_score");
        for end in ["value", "low", "high"] {
            let (as_metric, in_aggregate) = (metric[end].as_f64().unwrap(), number[end].as_f64().unwrap());
            assert!((as_metric - in_aggregate).abs() < 1e-9, "{trial} {end}: {as_metric} {in_aggregate}");
        }
        assert_eq!(metric["clusters"], number["clusters"]);
    }
    let number = aggregate_number(&metrics, &Value::Null, "/all_items/graph/f1_score");
    let csv = text(&found, "metrics.csv");
    let line = csv.lines().find(|line| line.contains(",aggregate/all_items/graph/f1_score,")).unwrap();
    assert!(line.starts_with("worfbench,two-shot,sim/first,,,official,"), "{line}");
    assert!(line.contains(&format!(",{},{},{},4,8,8,1,", number["value"], number["low"], number["high"])), "{line}");
}

#[test]
fn a_number_of_an_aggregate_has_no_interval_where_sessions_are_missing() {
    let found = documents(&sweep(lock(&MODELS)), &some_trouble);
    let metrics: Value = serde_json::from_str(&text(&found, "metrics.json")).unwrap();
    let of_second = |row: &&Value| row["model"] == MODELS[1] && row["trial"].is_null();
    let row = metrics["aggregates"].as_array().unwrap().iter().find(of_second).unwrap();
    let numbers = row["numbers"].as_array().unwrap();
    assert!(!numbers.is_empty() && numbers.iter().all(|number| number["low"].is_null() && number["value"].is_f64()));
}
