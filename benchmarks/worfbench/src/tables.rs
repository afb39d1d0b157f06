//! The aggregate of trials, and the paper's main table.

use std::collections::BTreeSet;

use regatta_benchmarks::{
    CellResult, Measured, Metric, PaperColumn, PaperEntry, PaperRow, PaperTable, Score, Table, Unit,
};
use regatta_proto::Evaluator;

use super::averages::{Averages, Means, OfficialMeans, PaperMeans, averages};
use super::scoring::{VALUE_NAMES, means_of};
use super::task::{Group, Task};

/// Groups of the main table in its order; the average stands between them and the held-out tasks.
const TABLE_GROUPS: [(Group, &str); 4] = [
    (Group::FunctionCall, "Function Call"),
    (Group::ProblemSolving, "Problem-Solving"),
    (Group::Embodied, "Embodied"),
    (Group::OpenGrounded, "Open-Grounded"),
];

/// Positions of f1 of the chain and of the graph in [`Means::to_numbers`].
const F1: [(&str, usize); 2] = [("f1_chain", 2), ("f1_graph", 5)];

/// Means of all flat values, by name; leaderboards show what the main table shows.
pub(crate) fn metrics() -> Vec<Metric> {
    let names = BTreeSet::from(VALUE_NAMES);
    let is_shown = |name: &str| F1.iter().any(|(shown, _)| *shown == name);
    names.into_iter().map(|name| Metric { headline: is_shown(name), ..Metric::mean(name) }).collect()
}

/// The main table, one for each setting: a row a model, and the columns that [`tabulate`] fills, averaged over trials.
pub(crate) fn paper_tables(cells: &[CellResult<'_>]) -> Vec<PaperTable> {
    let of_setting = cells.chunk_by(|one, other| one.setting == other.setting);
    of_setting.filter_map(main_table).collect()
}

fn main_table(cells: &[CellResult<'_>]) -> Option<PaperTable> {
    let first = cells.first()?;
    let labels: Vec<&String> = first.tables.first()?.columns.iter().map(|(label, _)| label).collect();
    let column = |label: &String| PaperColumn { label: label.clone(), unit: Unit::Percent, decimals: 2 };
    Some(PaperTable {
        name: format!("main-{}", first.setting),
        title: format!("Main table: {}", first.setting),
        keys: vec!["model".to_owned()],
        columns: labels.iter().map(|label| column(label)).collect(),
        rows: cells.iter().map(|cell| row(cell, &labels)).collect(),
        notes: vec!["Means of means over groups; sessions without a score are left out.".to_owned()],
        is_figure: false,
    })
}

fn row(cell: &CellResult<'_>, labels: &[&String]) -> PaperRow {
    let value = |table: &Table, label: &String| table.columns.iter().find(|(other, _)| other == label)?.1;
    let entry = |label: &&String| {
        let by_trial = Measured::over_trials(cell.tables.iter().map(|table| value(table, label)));
        PaperEntry { ours: Measured { value: value(cell.all_trials, label), ..by_trial }, published: None }
    };
    PaperRow {
        keys: vec![cell.model.to_string()],
        simulated: cell.simulated,
        coverage: cell.coverage(),
        entries: labels.iter().map(entry).collect(),
    }
}

/// Least and largest value of the number at `pointer` in an aggregate, where that is a mean.
pub(crate) fn aggregate_range(pointer: &str) -> Option<(f64, f64)> {
    let is_mean = matches!(pointer.rsplit('/').next(), Some("precision" | "recall" | "f1" | "f1_score"));
    is_mean.then_some((0.0, 1.0))
}

/// Aggregates scores with their tasks.
pub(crate) fn tabulate<'s>(evaluator: Evaluator, scores: impl Iterator<Item = (Task, &'s Score)>) -> Table {
    match evaluator {
        Evaluator::Official | Evaluator::OfficialFixed => table::<OfficialMeans>(scores),
        _ => table::<PaperMeans>(scores),
    }
}

#[expect(clippy::expect_used, reason = "a table without its aggregate would be a lost one")]
fn table<'s, M: Means + serde::Serialize>(scores: impl Iterator<Item = (Task, &'s Score)>) -> Table {
    let averages: Averages<M> = averages(scores.map(|(task, score)| (task, means_of(score))));
    let mut columns = Vec::new();
    let mut add = |label: &str, means: Option<M>| {
        for (metric, at) in F1 {
            columns.push((format!("{label} {metric}"), means.map(|means| means.to_numbers()[at])));
        }
    };
    for (group, label) in TABLE_GROUPS {
        add(label, averages.groups.get(&group).copied());
    }
    add("Average", averages.average);
    add("Held-out", averages.groups.get(&Group::HeldOut).copied());
    Table { aggregate: serde_json::to_value(&averages).expect("numbers under names are JSON"), columns }
}
