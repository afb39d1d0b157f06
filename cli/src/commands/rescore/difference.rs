//! Changes from one scoring of the same sessions to another.

use std::collections::BTreeMap;
use std::path::Path;

use comfy_table::{Table, TableComponent, presets};
use regatta_proto::{BenchmarkName, Evaluator, ItemId, ModelRef, Setting};
use regatta_scorer::{LeaderboardRow, Summary, SummaryMetric};
use serde::Serialize;

use super::documents;
use crate::results::ResultLine;

/// Changes of single sessions that are shown; the file has all.
const SHOWN: usize = 20;
/// Scores that differ by less are equal.
const TOLERANCE: f64 = 1e-9;

/// Old and new values, and the sessions behind what changed.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Difference {
    rows: Vec<Row>,
    /// Sessions whose score, or whose ending, is another one.
    changes: Vec<Change>,
}

/// One metric of one benchmark, setting and model.
#[derive(Debug, PartialEq, Serialize)]
struct Row {
    benchmark: BenchmarkName,
    setting: Setting,
    model: ModelRef,
    metric: String,
    old_evaluator: Option<Evaluator>,
    old: Option<f64>,
    new_evaluator: Evaluator,
    new: Option<f64>,
    /// Sessions whose value of this name changed; absent where the metric is no mean of such values.
    changed: Option<u64>,
    /// Sessions that have both.
    compared: u64,
}

/// One session.
#[derive(Debug, PartialEq, Serialize)]
struct Change {
    benchmark: BenchmarkName,
    setting: Setting,
    model: ModelRef,
    trial: u16,
    item: ItemId,
    metric: String,
    old: Option<f64>,
    new: Option<f64>,
    old_ending: String,
    new_ending: String,
}

impl Difference {
    /// The difference of two runs of the same sessions, each in its directory.
    pub(super) fn between(old: &Path, new: &Path) -> anyhow::Result<Self> {
        let ((old, old_lines), (new, new_lines)) = (documents(old)?, documents(new)?);
        Ok(Self::of(&old, &old_lines, &new, &new_lines))
    }

    fn of(old: &Summary, old_lines: &[ResultLine], new: &Summary, new_lines: &[ResultLine]) -> Self {
        let before: BTreeMap<(u32, &ItemId), &ResultLine> =
            old_lines.iter().map(|line| ((line.cell, &line.item), line)).collect();
        let mut difference = Self { rows: Vec::new(), changes: Vec::new() };
        for row in &new.rows {
            let is_same = |other: &&LeaderboardRow| {
                other.benchmark == row.benchmark && other.setting == row.setting && other.model == row.model
            };
            let old_row = old.rows.iter().find(is_same);
            for metric in row.headline() {
                let was = old_row.and_then(|row| counterpart(row, metric));
                let lines = new_lines.iter().filter(|line| {
                    line.benchmark == row.benchmark && line.setting == row.setting && line.model == row.model
                });
                let pairs = lines.filter_map(|line| Some((*before.get(&(line.cell, &line.item))?, line)));
                difference.add(row, metric, was, pairs);
            }
        }
        difference
    }

    fn add<'l>(
        &mut self,
        row: &LeaderboardRow,
        metric: &SummaryMetric,
        was: Option<&SummaryMetric>,
        pairs: impl Iterator<Item = (&'l ResultLine, &'l ResultLine)>,
    ) {
        let value =
            |line: &ResultLine, of: &SummaryMetric| line.scores.as_ref()?.get(&of.evaluator)?.get(&of.metric).copied();
        let (mut changed, mut compared, mut has_values) = (0, 0, false);
        for (old, new) in pairs {
            let values = (was.and_then(|was| value(old, was)), value(new, metric));
            has_values |= values.1.is_some();
            compared += u64::from(values.0.is_some() && values.1.is_some());
            let is_equal = match values {
                (Some(one), Some(other)) => (one - other).abs() <= TOLERANCE,
                (None, None) => old.ending() == new.ending(),
                (None, Some(_)) | (Some(_), None) => false,
            };
            if !is_equal {
                changed += 1;
                self.changes.push(Change {
                    benchmark: row.benchmark.clone(),
                    setting: row.setting.clone(),
                    model: row.model.clone(),
                    trial: new.trial,
                    item: new.item.clone(),
                    metric: metric.metric.clone(),
                    old: values.0,
                    new: values.1,
                    old_ending: old.ending(),
                    new_ending: new.ending(),
                });
            }
        }
        self.rows.push(Row {
            benchmark: row.benchmark.clone(),
            setting: row.setting.clone(),
            model: row.model.clone(),
            metric: metric.metric.clone(),
            old_evaluator: was.map(|was| was.evaluator),
            old: was.and_then(|was| was.estimate.value),
            new_evaluator: metric.evaluator,
            new: metric.estimate.value,
            changed: has_values.then_some(changed),
            compared,
        });
    }

    /// For people: old and new beside each other, then the first sessions that changed.
    pub(super) fn render(&self) -> String {
        let mut table = plain_table();
        table.set_header(["benchmark", "model", "metric", "old", "new", "change", "sessions changed"]);
        for row in &self.rows {
            let change = row.old.zip(row.new).map_or_else(|| "–".to_owned(), |(old, new)| format!("{:+.4}", new - old));
            table.add_row([
                format!("{} {}", row.benchmark, row.setting),
                row.model.to_string(),
                row.metric.clone(),
                with_evaluator(row.old, row.old_evaluator),
                with_evaluator(row.new, Some(row.new_evaluator)),
                change,
                row.changed.map_or_else(|| "–".to_owned(), |changed| format!("{changed} of {}", row.compared)),
            ]);
        }
        if self.changes.is_empty() {
            return format!("{table}\nno session's score changed");
        }
        let mut list = plain_table();
        list.set_header(["session", "metric", "old", "new"]);
        for change in self.changes.iter().take(SHOWN) {
            let side = |value: Option<f64>, ending: &str| {
                value.map_or_else(|| ending.to_owned(), |value| format!("{value:.4}"))
            };
            list.add_row([
                format!("{} {} {} t{} {}", change.benchmark, change.setting, change.model, change.trial, change.item),
                change.metric.clone(),
                side(change.old, &change.old_ending),
                side(change.new, &change.new_ending),
            ]);
        }
        let more = match self.changes.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!("\nand {more} more"),
        };
        format!("{table}\n\n{list}{more}")
    }
}

/// Counterpart of `metric`: the same of the same evaluator, else the same of another.
fn counterpart<'r>(row: &'r LeaderboardRow, metric: &SummaryMetric) -> Option<&'r SummaryMetric> {
    let of_name = || row.metrics.iter().filter(|other| other.metric == metric.metric);
    of_name().find(|other| other.evaluator == metric.evaluator).or_else(|| of_name().next())
}

fn with_evaluator(value: Option<f64>, evaluator: Option<Evaluator>) -> String {
    let value = value.map_or_else(|| "–".to_owned(), |value| format!("{value:.4}"));
    evaluator.map_or_else(|| value.clone(), |evaluator| format!("{value} ({evaluator})"))
}

fn plain_table() -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .remove_style(TableComponent::HorizontalLines)
        .remove_style(TableComponent::MiddleIntersections);
    table
}
