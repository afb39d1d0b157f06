//! Table 5: a team with and without members that other models play.

use regatta_benchmarks::{Measured, PaperColumn, PaperEntry, PaperTable};
use regatta_proto::Evaluator;

use super::cells::{Cell, keys, ours};
use super::metrics::name;
use super::published::{CASTS, Llama};
use crate::setting::Mode;

/// Each cast under its team without one.
pub(super) fn table_5(cells: &[Cell<'_>], evaluator: Evaluator) -> PaperTable {
    let is_of_team = |cell: &Cell<'_>, other: &Cell<'_>| {
        other.result.model == cell.result.model
            && Mode { cast: None, ..other.mode.clone() } == Mode { cast: None, ..cell.mode.clone() }
    };
    let has_casts = |cell: &&Cell<'_>| cells.iter().any(|other| other.mode.cast.is_some() && is_of_team(cell, other));
    let is_structured = evaluator == Evaluator::Structured;
    let mut shown: Vec<&Cell<'_>> = cells.iter().filter(has_casts).collect();
    // Teams stay in the order of the grid; in each, the cast that is none comes first.
    let team = |cell: &Cell<'_>| shown.iter().position(|other| is_of_team(cell, other));
    let order: Vec<_> = shown.iter().map(|cell| (team(cell), cell.mode.cast.is_some())).collect();
    let mut ordered: Vec<_> = order.into_iter().zip(shown.drain(..)).collect();
    ordered.sort_by_key(|(order, _)| *order);
    let rows = ordered.iter().map(|(_, cell)| {
        let success = cell.result.metric(name::SUCCESS);
        let alone = cells.iter().find(|other| other.mode.cast.is_none() && is_of_team(cell, other));
        let gain = alone.filter(|_| cell.mode.cast.is_some()).and_then(|alone| {
            let alone = alone.result.metric(name::SUCCESS).value.filter(|value| *value > 0.0)?;
            Some(success.value? / alone - 1.0)
        });
        let mut entries = vec![
            PaperEntry { ours: success, published: Llama::of(cell).map(Llama::success) },
            ours(Measured { value: gain, ..Measured::default() }),
        ];
        if is_structured {
            entries.push(ours(cell.result.metric(name::INTENT)));
        }
        cell.row_under(vec![cell.result.model.to_string(), cell.team(), cell.data(), cell.cast()], entries)
    });
    let mut columns = vec![PaperColumn::percent("success"), PaperColumn::percent("gain over no cast, relative")];
    if is_structured {
        columns.push(PaperColumn::percent("intent accuracy"));
    }
    PaperTable {
        name: "table-5-casts".to_owned(),
        title: "Table 5: other models in some places".to_owned(),
        keys: keys(&["model", "team", "data", "cast"]),
        columns,
        rows: rows.collect(),
        notes: vec![format!(
            "Published is AutoGen with LLaMA-3-8B as its intent agent, as it was released and fine-tuned (+55 %, relative): it stands beside the \
             casts that are called so, {CASTS}."
        )],
        is_figure: false,
    }
}
