//! Caveats beside the paper's tables: what was left out or could not be read, and how it went on sound items
//! (docs/benchmarks/appbench.md §9); and what came of plans that were executed, for which nothing is published (§7).

use regatta_benchmarks::{PaperColumn, PaperTable, Unit};
use serde_json::Value;

use super::cells::{Cell, keys, ours};
use super::metrics::name;
use super::perfect;
use crate::data::{Data, Split};
use crate::setting::Route;

/// A column of each split: its heading, unit, metric, and how it comes from the aggregate of the split.
struct Check {
    label: &'static str,
    unit: Unit,
    metric: &'static str,
    read: fn(&Value) -> Option<f64>,
}

const OFFICIAL: [Check; 4] = [
    Check { label: "scored", unit: Unit::Plain, metric: "", read: |group| group.get("n")?.as_f64() },
    Check { label: "dropped", unit: Unit::Plain, metric: "", read: |group| group.get("dropped")?.as_f64() },
    Check {
        label: "unparseable",
        unit: Unit::Percent,
        metric: name::UNPARSEABLE,
        read: |group| group.get("unparseable_calls")?.as_f64(),
    },
    Check {
        label: "Succ unflagged",
        unit: Unit::Percent,
        metric: name::SUCCESS_UNFLAGGED,
        read: |group| group.get("unflagged_match")?.as_f64(),
    },
];

const EXECUTED: [Check; 3] = [
    Check {
        label: "success",
        unit: Unit::Percent,
        metric: name::EXEC_SUCCESS,
        read: |group| group.get("exec_success")?.as_f64(),
    },
    Check {
        label: "call F1",
        unit: Unit::Percent,
        metric: name::CALL_F1,
        read: |group| group.get("call_f1")?.as_f64(),
    },
    Check {
        label: "with errors",
        unit: Unit::Percent,
        metric: name::EXEC_ERROR,
        read: |group| Some(group.get("items_with_error")?.as_f64()? / group.get("n")?.as_f64().filter(|n| *n > 0.0)?),
    },
];

/// Table of the items and calls that the official numbers leave out.
pub(super) fn official(cells: &[Cell<'_>]) -> PaperTable {
    PaperTable {
        name: "checks".to_owned(),
        title: "Beside the official numbers: left out, unreadable, and on items about which nothing is odd".to_owned(),
        notes: vec![
            "Items for which no apps were selected are dropped from every official denominator, as the official code does: a model that \
             fails there looks better."
                .to_owned(),
            "The share of calls that the official evaluator A cannot read is of all predicted calls.".to_owned(),
        ],
        ..table(cells.iter().filter(|cell| cell.mode.route != Route::Tools), &OFFICIAL)
    }
}

/// Table of the results of executed plans.
pub(super) fn executed(data: &Data, cells: &[Cell<'_>]) -> PaperTable {
    PaperTable {
        name: "execution".to_owned(),
        title: "Plans that are executed".to_owned(),
        notes: vec![perfect::executed(data)],
        ..table(cells.iter(), &EXECUTED)
    }
}

fn table<'c>(cells: impl Iterator<Item = &'c Cell<'c>>, checks: &[Check]) -> PaperTable {
    let column = |split: Split, check: &Check| PaperColumn {
        label: format!("{} {}", split.as_str(), check.label),
        unit: check.unit,
        decimals: if check.unit == Unit::Plain { 0 } else { 2 },
    };
    let of_splits = || Split::ALL.into_iter().flat_map(|split| checks.iter().map(move |check| (split, check)));
    let row = |cell: &'c Cell<'c>| {
        let entries = of_splits().map(|(split, check)| ours(cell.value(split, check.metric, check.read))).collect();
        cell.row(&[cell.result.setting.as_str()], entries)
    };
    PaperTable {
        keys: keys(&["model", "setting"]),
        columns: of_splits().map(|(split, check)| column(split, check)).collect(),
        rows: cells.map(row).collect(),
        ..PaperTable::default()
    }
}
