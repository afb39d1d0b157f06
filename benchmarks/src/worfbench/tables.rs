//! The aggregate of a cell, and the columns of the paper's main table.

use regatta_proto::Evaluator;
use serde_json::Value;

use super::averages::{Averages, Means, OfficialMeans, PaperMeans, averages};
use super::scoring::means_of;
use super::task::{Group, Task};
use crate::{Score, Table};

/// Groups of the main table in its order; the average stands between them and the held-out tasks.
const TABLE_GROUPS: [(Group, &str); 4] = [
    (Group::FunctionCall, "Function Call"),
    (Group::ProblemSolving, "Problem-Solving"),
    (Group::Embodied, "Embodied"),
    (Group::OpenGrounded, "Open-Grounded"),
];

/// Positions of f1 of the chain and of the graph in [`Means::to_numbers`].
const F1: [(&str, usize); 2] = [("f1_chain", 2), ("f1_graph", 5)];

/// Aggregates scores with their tasks.
pub(crate) fn tabulate<'s>(evaluator: Evaluator, scores: impl Iterator<Item = (Task, &'s Score)>) -> Table {
    match evaluator {
        Evaluator::Official | Evaluator::OfficialFixed => table::<OfficialMeans>(scores),
        Evaluator::Paper => table::<PaperMeans>(scores),
    }
}

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
    Table { aggregate: serde_json::to_value(&averages).unwrap_or(Value::Null), columns }
}
