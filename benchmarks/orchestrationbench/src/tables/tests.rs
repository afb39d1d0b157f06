//! The tables of a small sweep of made-up numbers.

use std::collections::BTreeMap;

use regatta_benchmark_testing::{assert_complete, text_of_tables};
use regatta_benchmarks::Table;
use regatta_proto::Setting;
use serde_json::{Value, json};

use super::*;

/// Models in both settings, two trials each; the last model in English only.
struct Sweep {
    settings: Vec<Setting>,
    models: Vec<ModelRef>,
    tables: Vec<Vec<Table>>,
    all_trials: Vec<Table>,
}

fn aggregate(evaluator: Evaluator, [plan, call_rejection, function_call]: [f64; 3]) -> Value {
    let average = (plan + call_rejection + function_call) / 3.0;
    match evaluator {
        Evaluator::Official => json!({ "overall_statistics": { "key_metrics": {
            "Average": average, "Call Rejection Classification Accuracy": call_rejection, "FC": function_call, "Plan": plan,
        } } }),
        _ => json!({ "Plan": plan, "C/R": call_rejection, "FC": function_call, "Score": average }),
    }
}

impl Sweep {
    fn new(evaluator: Evaluator) -> Self {
        let models = [("google/gemini-3-pro-preview", 0.8), ("openai/gpt-4.1", 0.7), ("sim/noisy-0.2", 0.5)];
        Self::of(evaluator, &models)
    }

    /// Makes a sweep of models with their share of right plans.
    fn of(evaluator: Evaluator, shares: &[(&str, f64)]) -> Self {
        let settings: Vec<Setting> = ["stepwise", "end-to-end"].map(|name| name.parse().unwrap()).to_vec();
        let models: Vec<ModelRef> = shares.iter().map(|(name, _)| name.parse().unwrap()).collect();
        let (mut tables, mut all_trials) = (Vec::new(), Vec::new());
        for lost in [0.0, 0.2] {
            for (at, (_, model)) in shares.iter().enumerate() {
                let trial = |noise: f64| {
                    let english = [model - lost + noise, 0.9 - model / 2.0 - lost, model + 0.1 - lost];
                    let korean = english.map(|value| value - 0.05);
                    let mut aggregates = json!({ "EN": aggregate(evaluator, english) });
                    if at + 1 < shares.len() {
                        aggregates["KO"] = aggregate(evaluator, korean);
                    }
                    Table { aggregate: aggregates, columns: Vec::new() }
                };
                tables.push(vec![trial(0.0), trial(0.01)]);
                all_trials.push(trial(0.005));
            }
        }
        Self { settings, models, tables, all_trials }
    }

    fn cells(&self) -> Vec<CellResult<'_>> {
        let mut cells = Vec::new();
        for (at, tables) in self.tables.iter().enumerate() {
            let model = &self.models[at % self.models.len()];
            let of = |value: f64| Measured { value: Some(value), ..Measured::default() };
            let parts = [("orchestrator", "plan", 0.75), ("travel_agent", "cr", 0.5), ("place_agent", "fc", 0.25)];
            cells.push(CellResult {
                setting: &self.settings[at / self.models.len()],
                model,
                family: &model.model,
                simulated: model.endpoint.as_str() == "sim",
                scored: 9,
                sessions: 10,
                metrics: BTreeMap::new(),
                tasks: BTreeMap::new(),
                parts: parts.map(|(part, metric, value)| (part, BTreeMap::from([(metric, of(value))]))).into(),
                tables: tables.iter().collect(),
                all_trials: &self.all_trials[at],
                spending: regatta_benchmarks::Spending::default(),
            });
        }
        cells
    }
}

#[test]
fn the_tables_of_the_official_evaluator() {
    let sweep = Sweep::new(Evaluator::Official);
    let all = paper_tables(Evaluator::Official, &sweep.cells());
    insta::assert_snapshot!(text_of_tables(&all));
}

#[test]
fn the_tables_of_the_papers_evaluator() {
    let sweep = Sweep::new(Evaluator::Paper);
    let all = paper_tables(Evaluator::Paper, &sweep.cells());
    insta::assert_snapshot!(text_of_tables(&all));
}

#[test]
fn every_row_has_an_entry_for_every_column_and_every_table_a_name_of_its_own() {
    let sweep = Sweep::new(Evaluator::Official);
    let all = paper_tables(Evaluator::Official, &sweep.cells());
    assert_complete(&all);
    for row in all.iter().flat_map(|table| &table.rows) {
        assert!(!row.simulated || row.entries.iter().all(|entry| entry.published.is_none()) || row.keys.len() == 3);
    }
}

#[test]
fn without_the_other_setting_there_is_no_gap() {
    let sweep = Sweep::new(Evaluator::Official);
    let cells: Vec<_> = sweep.cells().into_iter().filter(|cell| cell.setting.as_str() == "stepwise").collect();
    let names: Vec<String> = paper_tables(Evaluator::Official, &cells).into_iter().map(|table| table.name).collect();
    assert_eq!(names, ["results-stepwise", "domains", "published"]);
    assert!(paper_tables(Evaluator::Official, &[]).is_empty());
}

#[test]
fn correlations_are_shown_over_five_models_and_more_with_their_number() {
    let shares = [("a/a", 0.8), ("a/b", 0.7), ("a/c", 0.5), ("a/d", 0.6), ("a/e", 0.1)];
    let correlations = |models: usize| {
        let sweep = Sweep::of(Evaluator::Paper, &shares[..models]);
        paper_tables(Evaluator::Paper, &sweep.cells()).into_iter().find(|table| table.name == "correlations")
    };
    assert!(correlations(4).is_none());
    insta::assert_snapshot!(text_of_tables(&[correlations(5).unwrap()]));
}
