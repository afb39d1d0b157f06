//! The tables of a small sweep over a data set of one item a split, whose plans are the gold, or its first call alone.

use std::collections::BTreeMap;

use regatta_benchmark_testing::assert_complete;
use regatta_benchmarks::{Measured, PaperEntry, Table};
use regatta_proto::{ModelRef, Setting};
use serde_json::{Map, Value, json};

use super::*;
use crate::data::{Entry, Split};
use crate::parse::lines;
use crate::vectors::miniature;
use crate::{exec, official, paper};

fn gold(entry: &Entry, calls: usize) -> String {
    let pairs = entry.gold.used_app.iter().zip(&entry.gold.api_results).take(calls);
    pairs.map(|(app, call)| format!("{app}: [{call}]\n")).collect()
}

/// The aggregate of a trial in which only the first `calls` calls of each plan were written.
fn trial(evaluator: Evaluator, calls: usize) -> Table {
    let data = miniature();
    let mut groups = Map::new();
    for split in Split::ALL {
        let entries: Vec<&Entry> = data.of_split(split).collect();
        let plan = |entry: &&&Entry| gold(entry, calls);
        let mut aggregate = match evaluator {
            Evaluator::Paper => {
                let of = |entry: &&Entry| paper::score(entry, &data.phone, &lines(&plan(&entry)));
                paper::aggregate(&entries.iter().map(of).collect::<Vec<_>>())
            }
            Evaluator::Exec | Evaluator::Structured | Evaluator::Declared | Evaluator::OfficialOf(_) => {
                exec::aggregate(entries.iter().map(|entry| exec::score(&data, entry, &plan(&entry)).outcome()))
            }
            Evaluator::Official | Evaluator::OfficialFixed => {
                let of = |entry: &&Entry| official::score(entry, &lines(&plan(&entry)), None);
                official::aggregate(&entries.iter().map(of).collect::<Vec<_>>())
            }
        };
        aggregate["dropped"] = json!(1);
        groups.insert(split.as_str().to_owned(), aggregate);
    }
    Table { aggregate: Value::Object(groups), columns: Vec::new() }
}

/// Cells of GPT-4o: perfect plans after choosing the apps, first calls alone in the flat setting.
fn tables(evaluator: Evaluator, settings: &[&str]) -> Vec<PaperTable> {
    let model: ModelRef = "openai/gpt-4o-2024-05-13".parse().unwrap();
    let (perfect, first) = (trial(evaluator, usize::MAX), trial(evaluator, 1));
    let settings: Vec<Setting> = settings.iter().map(|setting| setting.parse().unwrap()).collect();
    let cell = |setting| CellResult {
        setting,
        model: &model,
        family: "gpt-4o-2024-05-13",
        simulated: false,
        scored: 9,
        sessions: 10,
        metrics: BTreeMap::new(),
        parts: BTreeMap::new(),
        tasks: BTreeMap::from([(
            "ss",
            BTreeMap::from([("succ", Measured { low: Some(0.5), high: Some(1.0), ..Measured::default() })]),
        )]),
        tables: vec![if setting.as_str().starts_with("flat") { &first } else { &perfect }],
        all_trials: &perfect,
        spending: regatta_benchmarks::Spending::default(),
    };
    let cells: Vec<CellResult<'_>> = settings.iter().map(cell).collect();
    paper_tables(evaluator, &miniature(), &cells)
}

fn find<'t>(tables: &'t [PaperTable], name: &str) -> &'t PaperTable {
    tables.iter().find(|table| table.name == name).unwrap()
}

fn entry<'t>(table: &'t PaperTable, row: usize, label: &str) -> &'t PaperEntry {
    let column = table.columns.iter().position(|column| column.label == label).unwrap();
    &table.rows[row].entries[column]
}

const SETTINGS: [&str; 4] = ["hierarchical", "flat", "hierarchical/3-shot", "tools"];

#[test]
fn every_table_has_as_many_entries_as_columns_and_a_name_of_its_own() {
    for evaluator in [Evaluator::Official, Evaluator::Paper, Evaluator::Exec] {
        assert_complete(&tables(evaluator, &SETTINGS));
    }
}

#[test]
fn published_numbers_stand_beside_the_official_ones_of_the_hierarchical_setting() {
    let tables = tables(Evaluator::Official, &SETTINGS);
    let main = find(&tables, "table-3-main");
    assert_eq!(main.rows.len(), 2, "demonstrations have a table of their own, and tools make no plan");
    let success = entry(main, 0, "ss Succ");
    assert_eq!((success.ours.value, success.published), (Some(1.0), Some(0.7092)));
    assert_eq!((success.ours.low, success.ours.high), (Some(0.5), Some(1.0)), "the interval is that of the part");
    assert_eq!(entry(main, 0, "mm F1 app").published, Some(0.3262));
    assert_eq!(entry(main, 1, "ss Succ").published, None);
    assert!(main.notes.iter().any(|note| note.starts_with("mm is not comparable")));
    assert_eq!(entry(find(&tables, "table-11-exact-match"), 0, "sm EM API").published, Some(0.515));
}

#[test]
fn published_f1_are_not_compared_with_what_the_paper_means() {
    let tables = tables(Evaluator::Paper, &SETTINGS);
    let published = tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.entries);
    assert!(published.clone().count() > 0 && published.clone().all(|entry| entry.published.is_none()));
    assert_eq!(entry(find(&tables, "table-3-main"), 0, "ms F1 app").ours.value, Some(1.0));
}

#[test]
fn demonstrations_stand_under_the_setting_without_them() {
    let tables = tables(Evaluator::Official, &SETTINGS);
    let table = find(&tables, "table-5-demonstrations");
    let settings: Vec<&str> = table.rows.iter().map(|row| row.keys[1].as_str()).collect();
    assert_eq!(settings, ["hierarchical", "hierarchical/3-shot"]);
    assert_eq!(entry(table, 0, "mm F1 app").published, Some(0.3236), "not the number of Table 3");
    assert_eq!(entry(table, 1, "ss Succ").published, Some(0.8163));
    assert!(table.notes.iter().any(|note| note.contains("oracle")));
}

#[test]
fn a_table_that_no_cell_fills_is_left_out() {
    let tables = tables(Evaluator::Official, &["flat"]);
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    assert!(!names.contains(&"table-5-demonstrations") && !names.contains(&"figure-5-hierarchical-against-flat"));
}

#[test]
fn errors_are_counted_even_where_the_official_analysis_raises() {
    let tables = tables(Evaluator::Official, &SETTINGS);
    let table = find(&tables, "table-4-errors");
    assert_eq!(table.rows.len(), 8, "two settings of four splits");
    assert_eq!(entry(table, 0, "key I").ours.value, Some(0.0));
    assert_eq!(entry(table, 0, "time").ours.value, None, "there is no wrong value to be of time");
    assert_eq!(entry(table, 0, "key D").published, None);
    assert_eq!(entry(table, 1, "value D").published, Some(0.755));
}

#[test]
fn figure_5_is_the_difference_of_two_settings() {
    let tables = tables(Evaluator::Official, &SETTINGS);
    let figure = find(&tables, "figure-5-hierarchical-against-flat");
    assert!(figure.is_figure);
    assert_eq!(entry(figure, 0, "ss Succ").ours.value, Some(0.0), "one call is the whole plan");
    assert_eq!(entry(figure, 0, "mm Succ").ours.value, Some(1.0));
}

#[test]
fn small_buckets_of_figure_4_are_not_shown() {
    let buckets = |n: u64| {
        let aggregate = json!({ "ss": { "argument_em_by_topology": { "1x1.00": { "n": n, "em": 0.5 } } },
                                "sm": { "argument_em_by_topology": { "1x1.00": { "n": 6, "em": 1.0 } } } });
        Table { aggregate, columns: Vec::new() }
    };
    let model: ModelRef = "a/b".parse().unwrap();
    let setting: Setting = "flat".parse().unwrap();
    let figure = |table: &Table| {
        let cell = CellResult {
            setting: &setting,
            model: &model,
            family: "b",
            simulated: true,
            scored: 1,
            sessions: 1,
            metrics: BTreeMap::new(),
            parts: BTreeMap::new(),
            tasks: BTreeMap::new(),
            tables: vec![table],
            all_trials: table,
            spending: regatta_benchmarks::Spending::default(),
        };
        let tables = paper_tables(Evaluator::Official, &miniature(), &[cell]);
        tables.into_iter().find(|table| table.name == "figure-4-scale")
    };
    assert!(figure(&buckets(3)).is_none());
    let shown = figure(&buckets(4)).unwrap();
    assert_eq!(shown.rows[0].keys, ["a/b", "flat", "1", "1.00"]);
    assert_eq!(shown.rows[0].entries[0].ours.value, Some(0.8), "the splits together: 8 of 10");
}

#[test]
fn what_was_left_out_is_said() {
    let tables = tables(Evaluator::Official, &SETTINGS);
    assert_eq!(entry(find(&tables, "checks"), 0, "ss dropped").ours.value, Some(1.0));
    let executed = super::tests::tables(Evaluator::Exec, &SETTINGS);
    assert_eq!(find(&executed, "execution").rows.len(), 4, "tools, too");
}

#[test]
fn every_metric_has_a_name_of_its_own_and_is_made_of_values_that_sessions_have() {
    let data = miniature();
    let found = data.entries.first().unwrap();
    for evaluator in [Evaluator::Official, Evaluator::Paper, Evaluator::Exec] {
        let mut values = match evaluator {
            Evaluator::Paper => paper::score(found, &data.phone, &[]).to_values(),
            Evaluator::Exec | Evaluator::Structured | Evaluator::Declared | Evaluator::OfficialOf(_) => {
                exec::score(&data, found, "").outcome().to_values()
            }
            Evaluator::Official | Evaluator::OfficialFixed => official::score(found, &[], None).to_values(),
        };
        // Items with flags lack it.
        values.entry(official::value::UNFLAGGED_MATCH.to_owned()).or_default();
        let all = metrics(&"hierarchical".parse().unwrap(), evaluator);
        let names: std::collections::BTreeSet<&str> = all.iter().map(|metric| metric.name.as_str()).collect();
        assert!(names.len() == all.len() && all.iter().all(|metric| metric.range.0 < metric.range.1));
        for metric in &all {
            let used = match &metric.measure {
                regatta_benchmarks::Measure::Mean { value } => vec![value],
                regatta_benchmarks::Measure::Ratio { numerator, denominator, .. } => vec![numerator, denominator],
                regatta_benchmarks::Measure::F1 { right, predicted, gold } => vec![right, predicted, gold],
                other => panic!("{}: {other:?}", metric.name),
            };
            assert!(used.iter().all(|value| values.contains_key(*value)), "{}: {used:?}", metric.name);
        }
    }
}

#[test]
fn sessions_with_tools_are_measured_by_what_they_execute_alone() {
    let of = |evaluator| metrics(&"tools".parse().unwrap(), evaluator).len();
    assert_eq!((of(Evaluator::Official), of(Evaluator::Paper)), (0, 0));
    assert!(of(Evaluator::Exec) > 0);
}
