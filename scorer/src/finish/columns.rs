//! The paper's table, and what it says about which metrics matter.

use std::collections::BTreeSet;

use regatta_proto::Evaluator;

use super::group::{CellResult, MetricKey};

/// Labels and values in 0..=1, in the order of the paper.
pub(crate) type Columns = Vec<(String, Option<f64>)>;

/// The columns of the paper's table: means over the trials that fill them.
pub(crate) fn paper_columns(cells: &[CellResult]) -> Vec<(Evaluator, Columns)> {
    let Some(first) = cells.first() else { return Vec::new() };
    let mut all = Vec::new();
    for (at, (evaluator, table)) in first.tables.iter().enumerate() {
        let mut columns = Vec::new();
        for (label, _) in &table.columns {
            let values: Vec<f64> = cells
                .iter()
                .filter_map(|cell| cell.tables.get(at)?.1.columns.iter().find(|(other, _)| other == label)?.1)
                .collect();
            let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
            columns.push((label.clone(), mean));
        }
        all.push((*evaluator, columns));
    }
    all
}

/// Leaderboards show the metrics that the paper's main table shows: its columns end with their names. All, when there is no table.
pub(crate) fn headline(keys: &[MetricKey], paper: &[(Evaluator, Columns)]) -> BTreeSet<usize> {
    let shown = |(evaluator, name): &MetricKey| {
        let columns = paper.iter().filter(|(of, _)| of == evaluator).flat_map(|(_, columns)| columns);
        columns.into_iter().any(|(label, _)| label.rsplit(' ').next() == Some(name))
    };
    let chosen: BTreeSet<usize> = (0..keys.len()).filter(|at| shown(&keys[*at])).collect();
    if chosen.is_empty() { (0..keys.len()).collect() } else { chosen }
}
