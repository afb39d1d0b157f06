//! Figure 4 (shapes of plans) and Figure 5 (whether it helps to choose the apps first). Their published values are drawn, not printed.

use std::collections::BTreeMap;

use regatta_benchmarks::{Measured, PaperColumn, PaperTable, Table};
use regatta_proto::Evaluator;

use super::cells::{Cell, MAIN, keys, ours};
use super::main_table::columns;
use crate::data::Split;
use crate::setting::Route;

/// Buckets with fewer items are not drawn, as in the paper.
const ITEMS_MIN: f64 = 10.0;

/// Items of a bucket, and how many of them have all arguments right.
#[derive(Default, Clone, Copy)]
struct Bucket {
    n: f64,
    right: f64,
}

/// Figure 4: the exact match of arguments by the parallel and the sequential scale of the gold plan.
pub(super) fn figure_4(cells: &[Cell<'_>]) -> PaperTable {
    let mut rows = Vec::new();
    for cell in cells.iter().filter(|cell| cell.mode.shots == 0 && cell.mode.route != Route::Tools) {
        let trials: Vec<BTreeMap<(u64, String), Bucket>> =
            cell.result.tables.iter().map(|table| buckets(table)).collect();
        let mut names: Vec<&(u64, String)> = trials.iter().flat_map(BTreeMap::keys).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let of_trials = trials.iter().map(|trial| {
                let bucket = trial.get(name).filter(|bucket| bucket.n >= ITEMS_MIN)?;
                Some(bucket.right / bucket.n)
            });
            let measured = Measured::over_trials(of_trials);
            if measured.value.is_some() {
                let (parallel, sequential) = (name.0.to_string(), name.1.as_str());
                rows.push(cell.row(&[cell.result.setting.as_str(), &parallel, sequential], vec![ours(measured)]));
            }
        }
    }
    PaperTable {
        name: "figure-4-scale".to_owned(),
        title: "Figure 4: exact match of arguments by the scale of plans".to_owned(),
        keys: keys(&["model", "setting", "parallel", "sequential"]),
        columns: vec![PaperColumn::percent("argument EM")],
        rows,
        notes: vec![
            "Parallel is the number of components of the gold plan, sequential their mean size, as the official code counts them: two \
             producers of one consumer are two components. Buckets of fewer than 10 items are left out."
                .to_owned(),
        ],
        is_figure: true,
    }
}

/// The buckets of all splits together.
fn buckets(table: &Table) -> BTreeMap<(u64, String), Bucket> {
    let mut all: BTreeMap<(u64, String), Bucket> = BTreeMap::new();
    for split in Split::ALL {
        let group =
            table.aggregate.get(split.as_str()).and_then(|group| group.get("argument_em_by_topology")?.as_object());
        for (name, bucket) in group.into_iter().flatten() {
            let key = name.split_once('x').and_then(|(parallel, size)| Some((parallel.parse().ok()?, size.to_owned())));
            let number = |field: &str| bucket.get(field).and_then(serde_json::Value::as_f64);
            if let (Some(key), Some(n), Some(em)) = (key, number("n"), number("em")) {
                let sum = all.entry(key).or_default();
                *sum = Bucket { n: sum.n + n, right: sum.right + n * em };
            }
        }
    }
    all
}

/// Figure 5: hierarchical numbers less flat ones.
pub(super) fn figure_5(cells: &[Cell<'_>], evaluator: Evaluator) -> PaperTable {
    let mut rows = Vec::new();
    for cell in cells.iter().filter(|cell| cell.is(Route::Hierarchical, 0)) {
        let Some(flat) = cells.iter().find(|other| other.is(Route::Flat, 0) && other.result.model == cell.result.model)
        else {
            continue;
        };
        let mut entries = Vec::new();
        for split in Split::ALL {
            for number in &MAIN {
                let of = |cell: Cell<'_>| cell.number(evaluator, split, number).value;
                let value = of(*cell).zip(of(*flat)).map(|(hierarchical, flat)| hierarchical - flat);
                entries.push(ours(Measured { value, ..Measured::default() }));
            }
        }
        rows.push(cell.row(&[], entries));
    }
    PaperTable {
        name: "figure-5-hierarchical-against-flat".to_owned(),
        title: "Figure 5: what choosing the apps first changes".to_owned(),
        keys: keys(&["model"]),
        columns: columns(&MAIN),
        rows,
        notes: vec!["Differences in percentage points; above zero, it helps to choose the apps first.".to_owned()],
        is_figure: true,
    }
}
