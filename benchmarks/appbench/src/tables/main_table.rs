//! Tables 3, 5 and 11: each model on each split.

use regatta_benchmarks::{PaperColumn, PaperEntry, PaperTable, Unit};
use regatta_proto::Evaluator;

use super::cells::{Cell, EXACT, MAIN, Number, keys};
use super::perfect;
use super::published::{self, Published};
use crate::data::{Data, Split};
use crate::setting::Route;

const MM_DIFFERS: &str =
    "mm is not comparable: the published numbers were computed on other items than those that were released.";
const NOT_AN_F1: &str = "The published F1 come from the official evaluator, which counts one hit an item at most; they are no F1 in this \
     sense and stand beside its numbers alone.";
const ORACLE: &str = "Demonstrations are chosen by the apps of the gold plan (an oracle). Those of other test items (leave-one-out) are not \
     comparable with the published ones, which came from training items that were not released.";

/// Table 3: F1 of apps and APIs, and success. Published are the hierarchical numbers.
pub(super) fn table_3(data: &Data, cells: &[Cell<'_>], evaluator: Evaluator) -> PaperTable {
    let rows = cells.iter().filter(|cell| cell.mode.shots == 0 && cell.mode.route != Route::Tools).map(|cell| {
        let published = published::TABLE_3.of(cell.result.family).filter(|_| cell.mode.route == Route::Hierarchical);
        cell.row(&[cell.result.setting.as_str()], entries(*cell, evaluator, &MAIN, published))
    });
    PaperTable {
        name: "table-3-main".to_owned(),
        title: "Table 3: apps, APIs and success".to_owned(),
        keys: keys(&["model", "setting"]),
        columns: columns(&MAIN),
        rows: rows.collect(),
        notes: notes(evaluator, perfect::hits(data).into_iter().collect(), &[]),
        is_figure: false,
    }
}

/// Table 5: the same with demonstrations, each number of them under the setting without.
pub(super) fn table_5(data: &Data, cells: &[Cell<'_>], evaluator: Evaluator) -> PaperTable {
    let has_shots = |cell: &Cell<'_>| cell.mode.shots > 0;
    let is_compared = |cell: &&Cell<'_>| {
        let same = |other: &Cell<'_>| other.result.model == cell.result.model && other.mode.route == cell.mode.route;
        cell.mode.route != Route::Tools && cells.iter().any(|other| has_shots(other) && same(other))
    };
    let rows = cells.iter().filter(is_compared).map(|cell| {
        let published = published::table_5(cell.mode.shots).and_then(|table| table.of(cell.result.family));
        let published = published.filter(|_| cell.mode.route == Route::Hierarchical);
        cell.row(&[cell.result.setting.as_str()], entries(*cell, evaluator, &MAIN, published))
    });
    PaperTable {
        name: "table-5-demonstrations".to_owned(),
        title: "Table 5: demonstrations".to_owned(),
        keys: keys(&["model", "setting"]),
        columns: columns(&MAIN),
        rows: rows.collect(),
        notes: notes(evaluator, perfect::hits(data).into_iter().collect(), &[ORACLE]),
        is_figure: false,
    }
}

/// Table 11: exact matches of the lists of apps and of APIs.
pub(super) fn table_11(cells: &[Cell<'_>], evaluator: Evaluator) -> PaperTable {
    let rows = cells.iter().filter(|cell| cell.mode.shots == 0 && cell.mode.route != Route::Tools).map(|cell| {
        let published = published::TABLE_11.of(cell.result.family).filter(|_| cell.mode.route == Route::Hierarchical);
        cell.row(&[cell.result.setting.as_str()], entries(*cell, evaluator, &EXACT, published))
    });
    PaperTable {
        name: "table-11-exact-match".to_owned(),
        title: "Table 11: exact match of apps and APIs".to_owned(),
        keys: keys(&["model", "setting"]),
        columns: columns(&EXACT),
        rows: rows.collect(),
        notes: notes(evaluator, Vec::new(), &[]),
        is_figure: false,
    }
}

/// Columns of all splits.
pub(super) fn columns(numbers: &[Number]) -> Vec<PaperColumn> {
    let of = |split: Split| {
        numbers.iter().map(move |number| PaperColumn {
            label: format!("{} {}", split.as_str(), number.label),
            unit: Unit::Percent,
            decimals: 2,
        })
    };
    Split::ALL.into_iter().flat_map(of).collect()
}

fn entries<const N: usize>(
    cell: Cell<'_>,
    evaluator: Evaluator,
    numbers: &[Number; N],
    published: Option<&Published<N>>,
) -> Vec<PaperEntry> {
    let published = published.filter(|_| evaluator != Evaluator::Paper);
    let mut entries = Vec::new();
    for (at, split) in Split::ALL.into_iter().enumerate() {
        for (of, number) in numbers.iter().enumerate() {
            let published = published.and_then(|all| all.get(at)?.get(of)).map(|percent| published::share(*percent));
            entries.push(PaperEntry { ours: cell.number(evaluator, split, number), published });
        }
    }
    entries
}

/// Notes on the numbers of an evaluator, those `of_official` ones only beside these, and `of_both`.
fn notes(evaluator: Evaluator, of_official: Vec<String>, of_both: &[&str]) -> Vec<String> {
    let mut notes = match evaluator {
        Evaluator::Paper => vec![NOT_AN_F1.to_owned()],
        _ => std::iter::once(MM_DIFFERS.to_owned()).chain(of_official).collect(),
    };
    notes.extend(of_both.iter().map(|note| (*note).to_owned()));
    notes
}
