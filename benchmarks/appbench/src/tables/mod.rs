//! The paper's tables and figures across settings and models, with the published numbers beside ours (docs/benchmarks/appbench.md §9).
//!
//! Values come from the aggregates of whole trials, so that they are exactly what the evaluators print, and absent where these raise.
//! Where a cell knows a split as one of its parts, the interval is that of the part's metric.

mod analysis;
mod averages;
mod cells;
mod checks;
mod figures;
mod main_table;
mod metrics;
mod perfect;
mod published;

#[cfg(test)]
mod tests;

pub(crate) use self::averages::aggregate_range;
pub(crate) use self::metrics::metrics;

use regatta_proto::Evaluator;

use self::cells::Cell;
use super::data::Data;
use regatta_benchmarks::{CellResult, PaperTable};

/// Tables and figures of the paper that `cells` fill, on a data set.
pub(crate) fn paper_tables(evaluator: Evaluator, data: &Data, cells: &[CellResult<'_>]) -> Vec<PaperTable> {
    let cells: Vec<Cell<'_>> = cells.iter().filter_map(Cell::of).collect();
    let tables = match evaluator {
        Evaluator::Official | Evaluator::OfficialFixed => vec![
            main_table::table_3(data, &cells, evaluator),
            analysis::table_4(&cells),
            main_table::table_5(data, &cells, evaluator),
            main_table::table_11(&cells, evaluator),
            figures::figure_4(&cells),
            figures::figure_5(&cells, evaluator),
            checks::official(&cells),
        ],
        Evaluator::Paper => vec![
            main_table::table_3(data, &cells, evaluator),
            main_table::table_5(data, &cells, evaluator),
            main_table::table_11(&cells, evaluator),
            figures::figure_5(&cells, evaluator),
        ],
        _ => vec![checks::executed(data, &cells)],
    };
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}
