//! The tables of a small sweep.

use std::collections::BTreeMap;

use regatta_benchmark_testing::{assert_complete, text_of_tables};
use regatta_proto::{Evaluator, ModelRef, Setting};

use super::*;
use crate::setting::Mode;

/// Every setting of two models; values count up in hundredths, and the second model has no cross-scenario cells at turn level.
fn settings() -> Vec<(Setting, ModelRef)> {
    let models: [ModelRef; 2] = ["openai/gpt-4-turbo".parse().unwrap(), "sim/noisy-0.2".parse().unwrap()];
    let mut all = Vec::new();
    for mode in Mode::all() {
        for (at, model) in models.iter().enumerate() {
            if at == 0 || !mode.name().starts_with("turn/cross") {
                all.push((mode.name().parse().unwrap(), model.clone()));
            }
        }
    }
    all
}

fn measured(at: usize, of: usize) -> Measured {
    let value = ((at * 7 + of * 13) % 100) as f64 / 100.0;
    Measured { value: Some(value), low: Some(value * 0.9), high: Some((value * 1.1).min(1.0)), sd: Some(0.015) }
}

static NO_TABLE: regatta_benchmarks::Table =
    regatta_benchmarks::Table { aggregate: serde_json::Value::Null, columns: Vec::new() };

fn cells<'a>(of: &'a [(Setting, ModelRef)], metrics: &'a [Vec<regatta_benchmarks::Metric>]) -> Vec<CellResult<'a>> {
    let cell = |(at, (setting, model)): (usize, &'a (Setting, ModelRef))| {
        let values: BTreeMap<&str, Measured> =
            metrics[at].iter().enumerate().map(|(of, metric)| (metric.name.as_str(), measured(at, of))).collect();
        CellResult {
            setting,
            model,
            family: &model.model,
            simulated: model.endpoint.as_str() == "sim",
            scored: 9,
            sessions: 10,
            tasks: BTreeMap::new(),
            parts: ["Logistics Solutions", "Customer Service"].map(|domain| (domain, values.clone())).into(),
            metrics: values,
            tables: Vec::new(),
            all_trials: &NO_TABLE,
            spending: regatta_benchmarks::Spending::default(),
        }
    };
    of.iter().enumerate().map(cell).collect()
}

fn tables(evaluator: Evaluator, synthetic: bool, keep: impl Fn(&Setting) -> bool) -> Vec<PaperTable> {
    let of: Vec<_> = settings().into_iter().filter(|(setting, _)| keep(setting)).collect();
    let metrics: Vec<_> = of.iter().map(|(setting, _)| metrics(Mode::of(setting).unwrap(), evaluator)).collect();
    paper_tables(evaluator, synthetic, &cells(&of, &metrics))
}

#[test]
fn the_papers_tables_from_a_sweep_of_everything() {
    let all = tables(Evaluator::Paper, false, |_| true);
    insta::assert_snapshot!(text_of_tables(&all));
}

#[test]
fn every_row_has_an_entry_for_every_column_and_every_table_a_name_of_its_own() {
    assert_complete(&tables(Evaluator::Paper, true, |_| true));
}

#[test]
fn only_what_was_run_is_shown() {
    let all = tables(Evaluator::Paper, false, |setting| setting.as_str() == "turn/single/text");
    let shown: Vec<(&str, usize)> = all.iter().map(|table| (table.name.as_str(), table.columns.len())).collect();
    assert_eq!(shown, [("table-3-turn-level", 5), ("figure-3-turn-tool-f1", 1)]);
    assert!(paper_tables(Evaluator::Paper, true, &[]).is_empty());
}

#[test]
fn what_an_evaluator_does_not_measure_has_neither_column_nor_table() {
    let all = tables(Evaluator::OfficialFixed, false, |_| true);
    let shown: Vec<(&str, usize)> = all.iter().map(|table| (table.name.as_str(), table.columns.len())).collect();
    assert_eq!(
        shown[..4],
        [
            ("table-3-turn-level", 8),
            ("table-4-session-level", 10),
            ("table-5-least-and-most-knowledge", 6),
            ("figure-3-session-tool-f1", 4)
        ]
    );
}

#[test]
fn synthetic_data_is_said_next_to_every_table() {
    for table in tables(Evaluator::Paper, true, |_| true) {
        assert!(table.notes.iter().any(|note| note.starts_with("Synthetic data")), "{}", table.title);
    }
    let real = tables(Evaluator::Paper, false, |_| true);
    assert!(real.iter().all(|table| table.notes.is_empty()));
}

#[test]
fn the_literal_evaluator_is_explained_where_it_makes_the_numbers_small() {
    let literal = tables(Evaluator::Official, false, |_| true);
    let with_note: Vec<&str> =
        literal.iter().filter(|table| !table.notes.is_empty()).map(|table| table.name.as_str()).collect();
    assert_eq!(with_note, ["table-3-turn-level", "table-4-session-level"]);
}

#[test]
fn simulated_models_are_marked_and_have_no_published_numbers() {
    for table in tables(Evaluator::Paper, true, |_| true) {
        for row in &table.rows {
            assert_eq!(row.simulated, row.keys[0].starts_with("sim/"));
            assert!(!row.simulated || row.entries.iter().all(|entry| entry.published.is_none()));
        }
    }
}
