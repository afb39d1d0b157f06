//! The tables of the paper across settings and models, with the published numbers beside ours (docs/benchmarks/autoslurp.md §9), and the
//! breakdowns that it asks for.

mod averages;
mod breakdowns;
mod casts;
mod cells;
mod domains;
mod metrics;
mod published;
mod teams;

#[cfg(test)]
mod tests;

pub(crate) use self::averages::aggregate_range;
pub(crate) use self::metrics::metrics;

use regatta_proto::Evaluator;

use self::cells::Cell;
use regatta_benchmarks::{CellResult, PaperTable};

/// Tables of the paper that `cells` fill. Causes of failures and intents are told by the structured evaluator alone. Tasks of cells are
/// domains, and their parts [`super::structured::PART_LOCAL`] and [`super::structured::PART_EXTERNAL`].
pub(crate) fn paper_tables(evaluator: Evaluator, cells: &[CellResult<'_>]) -> Vec<PaperTable> {
    let cells: Vec<Cell<'_>> = cells.iter().filter_map(Cell::of).collect();
    let is_structured = evaluator == Evaluator::Structured;
    let mut tables = vec![teams::table_2(&cells, evaluator)];
    if is_structured {
        tables.push(teams::table_3(&cells));
    }
    // What sessions cost is the same whoever scores them: the copies of the official evaluator need not repeat it.
    if !matches!(evaluator, Evaluator::OfficialOf(_)) {
        tables.push(teams::table_4(&cells));
    }
    tables.push(casts::table_5(&cells, evaluator));
    if is_structured {
        tables.extend(domains::tables_6_and_7(&cells));
    }
    tables.extend(domains::success(&cells, evaluator));
    tables.push(breakdowns::parts(&cells, evaluator));
    tables.into_iter().filter(|table| !table.rows.is_empty() && !table.columns.is_empty()).collect()
}
