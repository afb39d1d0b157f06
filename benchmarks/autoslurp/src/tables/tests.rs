//! The tables of a made-up sweep.

use std::collections::{BTreeMap, BTreeSet};

use regatta_benchmark_testing::{assert_complete, text_as_shown as text};
use regatta_benchmarks::{Measure, Measured, Metric, PaperEntry, Spending, Table};
use regatta_proto::{Evaluator, ModelRef, Script, Setting};
use serde_json::json;

use super::*;

const SETTINGS: [&str; 9] = [
    "camelai",
    "langgraph",
    "autogen",
    "autogen/cast=llama-3-8b",
    "autogen/cast=tuned",
    "agentlite",
    "external/langgraph-pypi",
    "external/mine/today=2025-06-01",
    "camelai/test_1k",
];
const DOMAINS: [(&str, u64); 4] = [("alarm", 2), ("calendar", 17), ("news", 3), ("stock", 1)];

struct Sweep {
    cells: Vec<(Setting, ModelRef)>,
    metrics: Vec<Vec<Metric>>,
    trials: Vec<[Table; 2]>,
    all_trials: Vec<Table>,
}

/// A number that says where it comes from, in 0..=1.
fn measured(cell: usize, metric: usize, place: usize) -> Measured {
    let value = ((cell * 7 + metric * 13 + place * 3 + 5) % 100) as f64 / 100.0;
    Measured { value: Some(value), low: Some(value * 0.9), high: Some((value * 1.1).min(1.0)), sd: Some(0.015) }
}

impl Sweep {
    /// GPT-4 in all `settings`, and a simulated model in the first of them.
    fn new(evaluator: Evaluator, settings: &[&str]) -> Self {
        let (gpt_4, simulated): (ModelRef, ModelRef) =
            ("openai/gpt-4-0613".parse().unwrap(), "sim/noisy-0.2".parse().unwrap());
        let mut cells: Vec<(Setting, ModelRef)> =
            settings.iter().map(|of| (of.parse().unwrap(), gpt_4.clone())).collect();
        cells.extend(settings.iter().take(1).map(|of| (of.parse().unwrap(), simulated.clone())));
        let table = |times: u64, value: f64| {
            let domains: BTreeMap<&str, _> = DOMAINS.map(|(domain, n)| (domain, json!({ "n": n * times }))).into();
            let items = DOMAINS.map(|(_, n)| n).iter().sum::<u64>() * times;
            Table {
                aggregate: json!({ "items": items, "passes": items / 3, "intent_by_domain": domains }),
                columns: vec![("success rate".to_owned(), Some(value))],
            }
        };
        Self {
            metrics: cells.iter().map(|(setting, _)| metrics(setting, evaluator)).collect(),
            trials: (0..cells.len())
                .map(|at| [-0.005, 0.005].map(|d| table(1, measured(at, 0, 0).value.unwrap() + d)))
                .collect(),
            all_trials: (0..cells.len()).map(|_| table(2, 0.5)).collect(),
            cells,
        }
    }

    fn tables(&self, evaluator: Evaluator) -> Vec<PaperTable> {
        let cells: Vec<CellResult<'_>> = self.cells.iter().enumerate().map(|(at, cell)| self.cell(at, cell)).collect();
        paper_tables(evaluator, &cells)
    }

    fn cell<'a>(&'a self, at: usize, (setting, model): &'a (Setting, ModelRef)) -> CellResult<'a> {
        let values = |place: usize| -> BTreeMap<&str, Measured> {
            let metrics = self.metrics[at].iter().enumerate();
            metrics.map(|(of, metric)| (metric.name.as_str(), measured(at, of, place))).collect()
        };
        CellResult {
            setting,
            model,
            family: &model.model,
            simulated: model.endpoint.as_str() == "sim",
            scored: 46,
            sessions: 46,
            metrics: values(0),
            tasks: DOMAINS.iter().enumerate().map(|(place, (domain, _))| (*domain, values(place + 1))).collect(),
            parts: ["external", "local"]
                .into_iter()
                .enumerate()
                .map(|(place, part)| (part, values(place + 7)))
                .collect(),
            tables: self.trials[at].iter().collect(),
            all_trials: &self.all_trials[at],
            spending: Spending {
                cost_usd: Measured { value: (at != 1).then_some(0.25 + at as f64 / 100.0), ..Measured::default() },
                calls: Some(7.5 + at as f64),
                tokens: Some(12_345.0),
                seconds: Some(1.25),
            },
        }
    }
}

fn tables(evaluator: Evaluator, settings: &[&str]) -> Vec<PaperTable> {
    Sweep::new(evaluator, settings).tables(evaluator)
}

fn find<'t>(tables: &'t [PaperTable], name: &str) -> &'t PaperTable {
    tables.iter().find(|table| table.name == name).unwrap()
}

fn entry<'t>(table: &'t PaperTable, keys: &[&str], label: &str) -> &'t PaperEntry {
    let column = table.columns.iter().position(|column| column.label == label).unwrap();
    let row = table.rows.iter().find(|row| keys.iter().all(|key| row.keys.iter().any(|of| of == key))).unwrap();
    &row.entries[column]
}

#[test]
fn the_tables_of_the_structured_evaluator() {
    let all = tables(Evaluator::Structured, &SETTINGS);
    insta::assert_snapshot!(all.iter().map(text).collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn the_tables_of_the_official_evaluator() {
    let all = tables(Evaluator::Official, &SETTINGS);
    insta::assert_snapshot!(all.iter().map(text).collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn every_table_has_as_many_entries_as_columns_and_a_name_of_its_own() {
    let evaluators =
        [Evaluator::Official, Evaluator::Paper, Evaluator::Structured, Evaluator::OfficialOf(Script::Camelai)];
    for evaluator in evaluators {
        assert_complete(&tables(evaluator, &SETTINGS));
    }
}

#[test]
fn published_numbers_stand_beside_gpt_4_on_the_papers_test_set_alone() {
    let tables = tables(Evaluator::Paper, &SETTINGS);
    let success = |keys: &[&str]| entry(find(&tables, "table-2-success"), keys, "success").published;
    assert_eq!(success(&["openai/gpt-4-0613", "AutoGen"]), Some(0.44));
    assert_eq!(success(&["external/langgraph-pypi"]), Some(0.32), "the real framework is that of the paper, too");
    assert_eq!(success(&["external/mine"]), None);
    assert_eq!(success(&["CamelAI", "test_1k"]), None);
    assert_eq!(success(&["sim/noisy-0.2"]), None);
    assert_eq!(entry(find(&tables, "table-4-cost"), &["openai/gpt-4-0613", "AgentLite"], "cost").published, Some(0.55));
}

/// A name means one number: success is the metric of that name in every table, what a script prints has a name of its own.
#[test]
fn success_is_the_share_of_right_sessions_and_what_a_script_prints_stands_beside_it() {
    let mut sweep = Sweep::new(Evaluator::Official, &["camelai"]);
    for trial in &mut sweep.trials[0] {
        trial.columns[0].1 = Some(0.22);
    }
    let tables = sweep.tables(Evaluator::Official);
    let of = |label: &str| entry(find(&tables, "table-2-success"), &["openai/gpt-4-0613"], label);
    let metric = sweep.cell(0, &sweep.cells[0]).metric("success_rate").value;
    assert!(metric.is_some() && metric != Some(0.22));
    assert_eq!((of("success").ours.value, of("success").published), (metric, None));
    assert_eq!((of("printed accuracy").ours.value, of("printed accuracy").published), (Some(0.22), Some(0.21)));
}

#[test]
fn causes_are_shares_of_failed_sessions_and_the_dashes_of_the_paper_are_nothing() {
    let tables = tables(Evaluator::Structured, &SETTINGS);
    let causes = find(&tables, "table-3-causes");
    let failed = entry(causes, &["openai/gpt-4-0613", "AutoGen"], "failed sessions");
    assert_eq!((failed.ours.value, failed.published), (Some(31.0), Some(56.0)), "both trials together");
    assert_eq!(entry(causes, &["openai/gpt-4-0613", "AutoGen"], "url").published, Some(0.43));
    assert_eq!(entry(causes, &["openai/gpt-4-0613", "AutoGen"], "function call").published, None);
}

#[test]
fn an_unknown_price_is_no_cost() {
    let tables = tables(Evaluator::Paper, &SETTINGS);
    let table = find(&tables, "table-4-cost");
    assert_eq!(entry(table, &["LangGraph"], "cost").ours.value, None);
    assert_eq!(entry(table, &["LangGraph"], "calls").ours.value, Some(8.5));
}

#[test]
fn casts_stand_under_their_team_without_one() {
    let tables = tables(Evaluator::Structured, &["camelai", "autogen/cast=tuned", "autogen", "autogen/cast=original"]);
    let table = find(&tables, "table-5-casts");
    let casts: Vec<&str> = table.rows.iter().map(|row| row.keys[3].as_str()).collect();
    assert_eq!(casts, ["none", "tuned", "original"], "CamelAI has no cast to be compared with");
    assert_eq!(entry(table, &["tuned"], "success").published, Some(0.62));
    assert_eq!(entry(table, &["original"], "success").published, Some(0.40));
    assert_eq!(entry(table, &["none"], "gain over no cast, relative").ours.value, None);
    assert_eq!(find(&tables, "table-2-success").rows.len(), 3, "casts are not among the teams");
}

#[test]
fn domains_of_fewer_than_three_items_are_left_out_of_the_tables_of_intents() {
    let tables = tables(Evaluator::Structured, &SETTINGS);
    let table = find(&tables, "table-6-intents");
    let rows: Vec<(&str, &str)> = table.rows.iter().map(|row| (row.keys[0].as_str(), row.keys[1].as_str())).collect();
    assert_eq!(rows, [("calendar", "17"), ("news", "3"), ("all", "23")]);
    let tuned = "AutoGen cast=tuned openai/gpt-4-0613 test";
    assert_eq!(entry(table, &["calendar"], tuned).published, Some(0.765));
    assert_eq!(entry(find(&tables, "table-7-intents"), &["calendar"], tuned).published, Some(0.824));
    assert_eq!(entry(table, &["calendar"], "AutoGen openai/gpt-4-0613 test").published, None);
    assert!(tables.iter().any(|table| table.name == "table-6-intents-test-1k"), "data sets differ in their domains");
}

#[test]
fn a_table_that_no_cell_fills_is_left_out() {
    assert!(paper_tables(Evaluator::Structured, &[]).is_empty());
    let names: Vec<String> = tables(Evaluator::Paper, &["camelai"]).into_iter().map(|table| table.name).collect();
    assert_eq!(names, ["table-2-success", "table-4-cost", "success-by-domain", "success-by-service"]);
}

#[test]
fn every_metric_has_a_name_of_its_own_and_is_made_of_values_that_sessions_have() {
    let utterance = |intent: &str| crate::data::Utterance {
        iid: "1".to_owned(),
        text: "wake me".to_owned(),
        intent: intent.to_owned(),
        slots: "[]".to_owned(),
        domain: "alarm".to_owned(),
    };
    let failure = |intent: &str| crate::structured::failure(&utterance(intent)).values;
    let structured = failure("alarm_set").into_iter().chain(failure("qa_stock")).collect();
    let official = crate::official::failure().values;
    let paper = crate::official::paper::failure().values;
    let evaluators: [(Evaluator, BTreeMap<String, f64>, usize); 4] = [
        (Evaluator::Structured, structured, 13),
        (Evaluator::Official, official.clone(), 5),
        (Evaluator::OfficialOf(Script::LanggraphDeepseek), official, 5),
        (Evaluator::Paper, paper, 1),
    ];
    for (evaluator, values, count) in evaluators {
        let all = metrics(&"camelai".parse().unwrap(), evaluator);
        let names: BTreeSet<&str> = all.iter().map(|metric| metric.name.as_str()).collect();
        assert_eq!((names.len(), all.len()), (count, count));
        for metric in &all {
            let used = match &metric.measure {
                Measure::Mean { value } => vec![value],
                Measure::Ratio { numerator, denominator, .. } => vec![numerator, denominator],
                other => panic!("{}: {other:?}", metric.name),
            };
            assert!(used.iter().all(|value| values.contains_key(*value)), "{evaluator} {}: {used:?}", metric.name);
        }
    }
    assert!(metrics(&"tools".parse().unwrap(), Evaluator::Structured).is_empty());
}
