//! Tables 6 and 7, intents by domain, and successes by domain: a table for each data set, since domains differ in size.

use std::collections::{BTreeMap, BTreeSet};

use regatta_benchmarks::{PaperColumn, PaperEntry, PaperRow, PaperTable};
use regatta_proto::Evaluator;
use serde_json::Value;

use super::cells::{Cell, keys};
use super::metrics::name;
use super::published::{Llama, share};
use crate::items::NO_DOMAIN;
use crate::setting::Dataset;

/// Domains with fewer items are left out, as in the paper.
const ITEMS_MIN: u64 = 3;
/// The row of all domains together, those that are left out among them.
const ALL: &str = "all";

/// Table 6, which demands the right names of slots, and Table 7, which does not.
pub(super) fn tables_6_and_7(cells: &[Cell<'_>]) -> Vec<PaperTable> {
    let table = |number: usize, metric: &str, title: &str| {
        of_data_sets(cells, |dataset, cells| {
            let items = items(cells);
            let domains = items.iter().filter(|(_, n)| **n >= ITEMS_MIN);
            let mut rows: Vec<PaperRow> =
                domains.map(|(domain, n)| row(cells, domain, &[&n.to_string()], metric, number)).collect();
            rows.push(row(cells, ALL, &[&items.values().sum::<u64>().to_string()], metric, number));
            PaperTable {
                name: named(&format!("table-{number}-intents"), dataset),
                title: format!("Table {number}: {title}, {}", dataset.as_str()),
                keys: keys(&["domain", "n"]),
                columns: columns(cells),
                rows,
                notes: vec![format!(
                    "Domains with at least {ITEMS_MIN} items; the last row is of all. How the paper compares an intent with the gold it does not say."
                )],
                is_figure: false,
            }
        })
    };
    let mut tables = table(6, name::INTENT, "intents and slots");
    tables.extend(table(7, name::INTENT_VALUES, "intents and values of slots, whatever the slots are called"));
    tables
}

/// Successes by domain.
pub(super) fn success(cells: &[Cell<'_>], evaluator: Evaluator) -> Vec<PaperTable> {
    of_data_sets(cells, |dataset, cells| {
        let domains: BTreeSet<&str> = cells.iter().flat_map(|cell| cell.result.tasks.keys().copied()).collect();
        let rows = domains.into_iter().map(|domain| row(cells, domain, &[], name::SUCCESS, 0));
        let is_official =
            matches!(evaluator, Evaluator::Official | Evaluator::OfficialFixed | Evaluator::OfficialOf(_));
        let note =
            is_official.then(|| "Shares of right sessions; a domain has no hundred items to divide by.".to_owned());
        PaperTable {
            name: named("success-by-domain", dataset),
            title: format!("Success rate by domain, {}", dataset.as_str()),
            keys: keys(&["domain"]),
            columns: columns(cells),
            rows: rows.collect(),
            notes: note.into_iter().collect(),
            is_figure: false,
        }
    })
}

/// The `table` of each data set that has cells.
fn of_data_sets<'a>(cells: &[Cell<'a>], table: impl Fn(Dataset, &[&Cell<'a>]) -> PaperTable) -> Vec<PaperTable> {
    let of = |dataset: Dataset| {
        let cells: Vec<&Cell<'a>> = cells.iter().filter(|cell| cell.mode.dataset == dataset).collect();
        (!cells.is_empty()).then(|| table(dataset, &cells))
    };
    Dataset::ALL.into_iter().filter_map(of).collect()
}

/// The name of a table of `dataset`, for files.
fn named(table: &str, dataset: Dataset) -> String {
    match dataset {
        Dataset::Test => table.to_owned(),
        other => format!("{table}-{}", other.as_str().replace('_', "-")),
    }
}

/// Number of items of each domain, the largest of any trial of a cell: the selected items need not be the whole data set.
fn items(cells: &[&Cell<'_>]) -> BTreeMap<String, u64> {
    let mut items: BTreeMap<String, u64> = BTreeMap::new();
    let trials = cells.iter().flat_map(|cell| &cell.result.tables);
    for domains in trials.filter_map(|table| table.aggregate.get("intent_by_domain").and_then(Value::as_object)) {
        for (domain, found) in domains {
            let n = found.get("n").and_then(Value::as_u64).unwrap_or_default();
            let task = if domain.is_empty() { NO_DOMAIN } else { domain.as_str() };
            let most = items.entry(task.to_owned()).or_default();
            *most = n.max(*most);
        }
    }
    items
}

/// A column for each cell.
fn columns(cells: &[&Cell<'_>]) -> Vec<PaperColumn> {
    let label = |cell: &&Cell<'_>| {
        let cast = cell.mode.cast.as_ref().map_or_else(String::new, |cast| format!(" cast={cast}"));
        let simulated = if cell.result.simulated { " (simulated)" } else { "" };
        PaperColumn::percent(format!("{}{cast} {} {}{simulated}", cell.team(), cell.result.model, cell.data()))
    };
    cells.iter().map(label).collect()
}

/// A domain: what `metric` is of it in each cell. Published numbers are those of the table with this `number`.
fn row(cells: &[&Cell<'_>], domain: &str, further: &[&str], metric: &str, number: usize) -> PaperRow {
    let entry = |cell: &&Cell<'_>| {
        let numbers = Llama::of(cell).and_then(|llama| llama.intents(domain));
        let published = numbers.and_then(|[names, values]| match number {
            6 => Some(names),
            7 => Some(values),
            _ => None,
        });
        let result = cell.result;
        let ours = if domain == ALL { result.metric(metric) } else { result.metric_of_task(domain, metric) };
        PaperEntry { ours, published: published.map(share) }
    };
    let (scored, sessions) = cells
        .iter()
        .fold((0, 0), |(scored, sessions), cell| (scored + cell.result.scored, sessions + cell.result.sessions));
    PaperRow {
        keys: keys(&[&[domain], further].concat()),
        // Columns say it where only some are.
        simulated: cells.iter().all(|cell| cell.result.simulated),
        coverage: if sessions == 0 { 0.0 } else { scored as f64 / sessions as f64 },
        entries: cells.iter().map(entry).collect(),
    }
}
