//! `metrics.json`, `metrics.csv` and the ledger's metric rows: the same numbers in three shapes.

use regatta_backends::MetricRow;
use regatta_catalog::Sweep;
use regatta_proto::{BenchmarkName, Evaluator, Flag, Level, ModelRef, Setting};
use serde::Serialize;
use serde_json::Value;

use super::TabulationError;
use super::aggregates::{AggregateNumber, numbers};
use super::csv_text::harmless;
use super::group::GroupResult;
use super::lines::document;
use crate::statistics::{Estimate, Pass};
use crate::summary::BenchmarkTable;

/// A number and what it is of. `trial` is missing over all trials, `task` over all tasks.
#[derive(Serialize)]
struct Row<'a> {
    benchmark: &'a BenchmarkName,
    setting: &'a Setting,
    model: &'a ModelRef,
    trial: Option<u16>,
    task: Option<&'a str>,
    /// Another part of the data set.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<&'a str>,
    evaluator: Evaluator,
    metric: &'a str,
    #[serde(flatten)]
    estimate: Estimate,
}

/// pass@k and pass^k of a metric.
#[derive(Serialize)]
struct PassRow<'a> {
    benchmark: &'a BenchmarkName,
    setting: &'a Setting,
    model: &'a ModelRef,
    evaluator: Evaluator,
    metric: &'a str,
    #[serde(flatten)]
    pass: Pass,
}

#[derive(Serialize)]
struct TableRow<'a> {
    benchmark: &'a BenchmarkName,
    setting: &'a Setting,
    model: &'a ModelRef,
    /// `null` over all trials.
    trial: Option<u16>,
    evaluator: Evaluator,
    aggregate: &'a Value,
    /// Numbers of the aggregate that are averages over sessions, with their intervals.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    numbers: Vec<AggregateNumber>,
}

/// Rate of a flag among the sessions with a score.
#[derive(Serialize)]
struct FlagRow<'a> {
    benchmark: &'a BenchmarkName,
    setting: &'a Setting,
    model: &'a ModelRef,
    /// `null` over all trials.
    trial: Option<u16>,
    flag: Flag,
    sessions: u64,
    scored: u64,
    /// `sessions` / `scored`.
    rate: f64,
}

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    /// Probability with which each interval covers.
    level: Level,
    metrics: Vec<Row<'a>>,
    /// pass@k and pass^k of successes that are 0 or 1, over several trials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passes: Vec<PassRow<'a>>,
    /// The benchmark's own aggregates: over all trials, and of each.
    aggregates: Vec<TableRow<'a>>,
    /// Flags of the models' answers: over all trials, and of each. What no session has is left out.
    flags: Vec<FlagRow<'a>>,
    /// The papers' tables.
    tables: &'a [BenchmarkTable],
}

const VERSION: u32 = 1;
const CSV_HEADER: [&str; 31] = [
    "benchmark",
    "setting",
    "model",
    "trial",
    "task",
    "evaluator",
    "metric",
    "value",
    "low",
    "high",
    "n",
    "scored",
    "total",
    "coverage",
    "bound_low",
    "bound_high",
    "sd",
    "clusters",
    "part",
    "rerun_low",
    "rerun_high",
    "item_variance",
    "trial_variance",
    "withheld",
    "judge_variance",
    "audited",
    "audited_low",
    "audited_high",
    "judge_bias",
    "judge_bias_low",
    "judge_bias_high",
];

fn rows<'g>(groups: &'g [GroupResult]) -> Vec<Row<'g>> {
    let mut rows = Vec::new();
    for group in groups {
        let mut add = |trial: Option<u16>, task: Option<&'g str>, part: Option<&'g str>, estimates: &[Estimate]| {
            for ((evaluator, metric), estimate) in group.keys.iter().zip(estimates) {
                rows.push(Row {
                    benchmark: &group.first.benchmark,
                    setting: &group.first.setting,
                    model: &group.first.model,
                    trial,
                    task,
                    part,
                    evaluator: *evaluator,
                    metric: &metric.name,
                    estimate: *estimate,
                });
            }
        };
        add(None, None, None, &group.estimates);
        for task in &group.tasks {
            add(None, Some(&task.name), None, &task.estimates);
        }
        for part in &group.parts {
            add(None, None, Some(&part.name), &part.estimates);
        }
        for cell in &group.cells {
            add(Some(cell.cell.trial.0), None, None, &cell.estimates);
        }
    }
    rows
}

fn passes(groups: &[GroupResult]) -> Vec<PassRow<'_>> {
    let mut rows = Vec::new();
    for group in groups {
        for ((evaluator, metric), passes) in group.keys.iter().zip(&group.passes) {
            rows.extend(passes.iter().map(|pass| PassRow {
                benchmark: &group.first.benchmark,
                setting: &group.first.setting,
                model: &group.first.model,
                evaluator: *evaluator,
                metric: &metric.name,
                pass: *pass,
            }));
        }
    }
    rows
}

/// `metrics.json`.
pub(crate) fn json(
    sweep: &Sweep,
    groups: &[GroupResult],
    tables: &[BenchmarkTable],
) -> Result<Vec<u8>, TabulationError> {
    let (metrics, passes, aggregates) = (rows(groups), passes(groups), aggregates(sweep, groups));
    let (level, flags) = (sweep.lock.level, flag_rows(groups));
    document("metrics.json", &Document { v: VERSION, level, metrics, passes, aggregates, flags, tables })
}

/// Aggregates over all trials, and of each.
fn aggregates<'g>(sweep: &Sweep, groups: &'g [GroupResult]) -> Vec<TableRow<'g>> {
    let mut rows = Vec::new();
    for group in groups {
        let suite = sweep.suite(&group.first);
        let trials = std::iter::once((None, &group.tables))
            .chain(group.cells.iter().map(|cell| &cell.tables).enumerate().map(|(at, tables)| (Some(at), tables)));
        for (at, tables) in trials {
            for (evaluator, table) in tables {
                rows.push(TableRow {
                    benchmark: &group.first.benchmark,
                    setting: &group.first.setting,
                    model: &group.first.model,
                    trial: at.and_then(|at| Some(group.cells.get(at)?.cell.trial.0)),
                    evaluator: *evaluator,
                    aggregate: &table.aggregate,
                    numbers: suite
                        .map_or_else(Vec::new, |suite| numbers(&**suite, group, *evaluator, at, sweep.lock.level)),
                });
            }
        }
    }
    rows
}

fn flag_rows(groups: &[GroupResult]) -> Vec<FlagRow<'_>> {
    let mut rows = Vec::new();
    for group in groups {
        let of_trials = group.cells.iter().map(|cell| (Some(cell.cell.trial.0), &cell.flags, cell.sessions.scored()));
        for (trial, flags, scored) in std::iter::once((None, &group.flags, group.sessions.scored())).chain(of_trials) {
            for (flag, sessions) in flags {
                rows.push(FlagRow {
                    benchmark: &group.first.benchmark,
                    setting: &group.first.setting,
                    model: &group.first.model,
                    trial,
                    flag: *flag,
                    sessions: *sessions,
                    scored,
                    rate: *sessions as f64 / scored as f64,
                });
            }
        }
    }
    rows
}

/// Numbers of the benchmarks' aggregates in the shape of metrics, named `aggregate` and their place in it. They have no bounds.
fn rows_of_aggregates<'a>(groups: &'a [GroupResult], aggregates: &'a [TableRow<'a>]) -> Vec<(String, Row<'a>)> {
    let mut rows = Vec::new();
    for of in aggregates {
        let is_of = |group: &&GroupResult| {
            let first = &group.first;
            first.benchmark == *of.benchmark && first.setting == *of.setting && first.model == *of.model
        };
        let Some(group) = groups.iter().find(is_of) else { continue };
        let cell = group.cells.iter().find(|cell| Some(cell.cell.trial.0) == of.trial);
        let sessions = cell.map_or(&group.sessions, |cell| &cell.sessions);
        for number in &of.numbers {
            let estimate = Estimate {
                value: Some(number.value),
                low: number.low,
                high: number.high,
                n: group.items,
                scored: sessions.scored() as u32,
                total: sessions.total as u32,
                coverage: sessions.coverage(),
                clusters: number.clusters,
                ..Estimate::default()
            };
            let row = Row {
                benchmark: of.benchmark,
                setting: of.setting,
                model: of.model,
                trial: of.trial,
                task: None,
                part: None,
                evaluator: of.evaluator,
                metric: "",
                estimate,
            };
            rows.push((format!("aggregate{}", number.pointer), row));
        }
    }
    rows
}

/// `metrics.csv`.
pub(crate) fn csv(sweep: &Sweep, groups: &[GroupResult]) -> Result<Vec<u8>, TabulationError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(CSV_HEADER)?;
    let aggregates = aggregates(sweep, groups);
    let named = rows(groups).into_iter().map(|row| (row.metric.to_owned(), row));
    for (metric, row) in named.chain(rows_of_aggregates(groups, &aggregates)) {
        let Estimate {
            value,
            low,
            high,
            n,
            scored,
            total,
            coverage,
            bound_low,
            bound_high,
            sd,
            clusters,
            reruns,
            judge,
            audited,
            withheld,
        } = row.estimate;
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        writer.write_record([
            row.benchmark.to_string(),
            row.setting.to_string(),
            row.model.to_string(),
            row.trial.map_or_else(String::new, |trial| trial.to_string()),
            harmless(row.task.unwrap_or_default()),
            row.evaluator.to_string(),
            harmless(&metric),
            number(value),
            number(low),
            number(high),
            n.to_string(),
            scored.to_string(),
            total.to_string(),
            coverage.to_string(),
            number(bound_low),
            number(bound_high),
            number(sd),
            clusters.to_string(),
            harmless(row.part.unwrap_or_default()),
            number(reruns.map(|reruns| reruns.low)),
            number(reruns.map(|reruns| reruns.high)),
            number(reruns.and_then(|reruns| reruns.item_variance)),
            number(reruns.map(|reruns| reruns.trial_variance)),
            withheld.to_string(),
            number(judge.map(|judge| judge.variance)),
            number(audited.map(|audited| audited.estimate.value)),
            number(audited.map(|audited| audited.estimate.low)),
            number(audited.map(|audited| audited.estimate.high)),
            number(audited.map(|audited| audited.bias.value)),
            number(audited.map(|audited| audited.bias.low)),
            number(audited.map(|audited| audited.bias.high)),
        ])?;
    }
    writer.into_inner().map_err(|error| TabulationError::Csv(error.into_error().into()))
}

/// Rows that the ledger keeps of each cell: its metrics with intervals, and the columns of the paper's table without intervals.
pub(crate) fn ledger_rows(groups: &[GroupResult]) -> Vec<MetricRow> {
    let mut rows = Vec::new();
    for group in groups {
        for cell in &group.cells {
            for ((evaluator, metric), estimate) in group.keys.iter().zip(&cell.estimates) {
                rows.push(MetricRow {
                    cell: cell.cell.index,
                    evaluator: *evaluator,
                    metric: metric.name.clone(),
                    value: estimate.value,
                    low: estimate.low,
                    high: estimate.high,
                    n: estimate.scored,
                });
            }
            let n = cell.sessions.scored() as u32;
            for (evaluator, table) in &cell.tables {
                for (label, value) in &table.columns {
                    rows.push(MetricRow {
                        cell: cell.cell.index,
                        evaluator: *evaluator,
                        metric: label.clone(),
                        value: *value,
                        low: None,
                        high: None,
                        n,
                    });
                }
            }
        }
    }
    rows
}
