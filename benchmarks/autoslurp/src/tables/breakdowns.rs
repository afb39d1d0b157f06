//! Breakdowns that the paper has not.

use regatta_benchmarks::{PaperColumn, PaperTable};
use regatta_proto::Evaluator;

use super::cells::{Cell, keys, ours};
use super::metrics::name;
use crate::structured::{PART_EXTERNAL, PART_LOCAL};

/// Successes at the simulated servers and at other people's services.
pub(super) fn parts(cells: &[Cell<'_>], evaluator: Evaluator) -> PaperTable {
    let of_kind = |part: &str| if part == PART_LOCAL { name::SUCCESS_LOCAL } else { name::SUCCESS_EXTERNAL };
    let rows = cells.iter().map(|cell| {
        let entries = [PART_LOCAL, PART_EXTERNAL].map(|part| {
            let of_part = cell.result.metric_of_part(part, name::SUCCESS);
            // The structured evaluator knows the kind of an item also where a sweep has no parts.
            ours(if of_part.value.is_none() { cell.result.metric(of_kind(part)) } else { of_part })
        });
        cell.row_under(vec![cell.result.model.to_string(), cell.team(), cell.data(), cell.cast()], entries.into())
    });
    let is_official = matches!(evaluator, Evaluator::Official | Evaluator::OfficialFixed | Evaluator::OfficialOf(_));
    PaperTable {
        name: "success-by-service".to_owned(),
        title: "Success rate at simulated servers and at other people's services".to_owned(),
        keys: keys(&["model", "team", "data", "cast"]),
        columns: [PART_LOCAL, PART_EXTERNAL].map(PaperColumn::percent).into(),
        rows: rows.collect(),
        notes: if is_official { vec!["Shares of right sessions.".to_owned()] } else { Vec::new() },
        is_figure: false,
    }
}
