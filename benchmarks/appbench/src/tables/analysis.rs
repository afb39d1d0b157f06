//! Table 4: what is wrong in the plans that are wrong, as evaluator B sees it.

use regatta_benchmarks::{PaperColumn, PaperEntry, PaperTable};
use serde_json::Value;

use super::cells::{Cell, keys};
use super::metrics::name;
use super::published;
use crate::data::Split;
use crate::setting::Route;

/// A column: its heading, its metric, and how it comes from the counters of a split.
struct Share {
    label: &'static str,
    metric: &'static str,
    read: fn(&Value) -> Option<f64>,
}

/// In the paper's order: keys and values, first of independent arguments, then of dependent ones; errors of time and of space.
const SHARES: [Share; 6] = [
    Share {
        label: "key I",
        metric: name::KEY_INDEPENDENT,
        read: |group| of_items(group, "key_missing_error", Some("depend_key_missing_error")),
    },
    Share {
        label: "key D",
        metric: name::KEY_DEPENDENT,
        read: |group| of_items(group, "depend_key_missing_error", None),
    },
    Share {
        label: "value I",
        metric: name::VALUE_INDEPENDENT,
        read: |group| of_items(group, "key_value_mismatch_error", Some("depend_key_value_mismatch_error")),
    },
    Share {
        label: "value D",
        metric: name::VALUE_DEPENDENT,
        read: |group| of_items(group, "depend_key_value_mismatch_error", None),
    },
    Share { label: "time", metric: name::TIME_ERRORS, read: |group| of_mismatches(group, "date_related_value_error") },
    Share {
        label: "space",
        metric: name::PLACE_ERRORS,
        read: |group| of_mismatches(group, "location_related_value_error"),
    },
];

fn counter(group: &Value, name: &str) -> Option<f64> {
    group.get("analysis_counters")?.get(name)?.as_f64()
}

/// From the counters, since evaluator B itself raises where no value is wrong.
fn of_items(group: &Value, name: &str, without: Option<&str>) -> Option<f64> {
    let n = group.get("n")?.as_f64().filter(|n| *n > 0.0)?;
    let without = without.map_or(Some(0.0), |name| counter(group, name))?;
    Some((counter(group, name)? - without) / n)
}

fn of_mismatches(group: &Value, name: &str) -> Option<f64> {
    let mismatches = counter(group, "key_value_mismatch").filter(|count| *count > 0.0)?;
    Some(counter(group, name)? / mismatches)
}

pub(super) fn table_4(cells: &[Cell<'_>]) -> PaperTable {
    let mut rows = Vec::new();
    for cell in cells.iter().filter(|cell| cell.mode.shots == 0 && cell.mode.route != Route::Tools) {
        let published = published::TABLE_4.of(cell.result.family).filter(|_| cell.mode.route == Route::Hierarchical);
        for (at, split) in Split::ALL.into_iter().enumerate() {
            let entry = |(of, share): (usize, &Share)| PaperEntry {
                ours: cell.value(split, share.metric, share.read),
                // A published dash is no number.
                published: published
                    .and_then(|all| all.get(at)?.get(of))
                    .filter(|percent| !percent.is_nan())
                    .map(|percent| published::share(*percent)),
            };
            let entries = SHARES.iter().enumerate().map(entry).collect();
            rows.push(cell.row(&[cell.result.setting.as_str(), split.as_str()], entries));
        }
    }
    PaperTable {
        name: "table-4-errors".to_owned(),
        title: "Table 4: errors in arguments".to_owned(),
        keys: keys(&["model", "setting", "split"]),
        columns: SHARES.iter().map(|share| PaperColumn::percent(share.label)).collect(),
        rows,
        notes: vec![
            "Shares of items with a missing key or a wrong value of independent (I) or dependent (D) arguments, and shares of wrong values \
             that are of time or of space."
                .to_owned(),
            "A value that the user gave counts as a wrong dependent value wherever the gold has a variable: a flawless plan that writes such \
             values out has 42.5 (sm), 30.8 (ms) and 55.5 (mm) percent of value D."
                .to_owned(),
        ],
        is_figure: false,
    }
}
