//! `results.jsonl`: what came out, and nothing that depends on when, where, how often or for how much.

use std::collections::BTreeMap;

use regatta_backends::SessionRow;
use regatta_benchmarks::{Item, Scores};
use regatta_proto::{BenchmarkName, Cause, Cell, Evaluator, Flags, ItemId, ModelRef, Outcome, Setting};
use serde::Serialize;

use super::TabulationError;
use super::lines::push_line;

const FILE: &str = "results.jsonl";

#[derive(Serialize)]
struct Line<'a> {
    cell: u32,
    benchmark: &'a BenchmarkName,
    setting: &'a Setting,
    model: &'a ModelRef,
    trial: u16,
    item: &'a ItemId,
    task: &'a str,
    outcome: &'static str,
    cause: Option<Cause>,
    flags: Flags,
    scores: Option<BTreeMap<Evaluator, &'a BTreeMap<String, f64>>>,
}

/// Appends the line of one session; `row` is missing when it was not run, `scores` when it was not measured.
pub(crate) fn push_session(
    out: &mut Vec<u8>,
    cell: &Cell,
    item: &Item,
    row: Option<&SessionRow>,
    scores: Option<&Scores>,
) -> Result<(), TabulationError> {
    let line = Line {
        cell: cell.index.0,
        benchmark: &cell.benchmark,
        setting: &cell.setting,
        model: &cell.model,
        trial: cell.trial.0,
        item: &item.id,
        task: &item.task,
        outcome: row.map_or("not_run", |row| row.outcome.as_str()),
        cause: row.and_then(|row| Outcome::cause(&row.outcome)),
        flags: row.map_or(Flags::NONE, |row| row.flags),
        scores: scores.map(|scores| scores.iter().map(|(evaluator, score)| (*evaluator, &score.values)).collect()),
    };
    push_line(out, FILE, &line)
}
