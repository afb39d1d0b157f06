//! The tables of the benchmarks' papers, across settings and models.

use std::collections::BTreeMap;

use regatta_benchmarks::{CellResult, Measured, PaperEntry, Table, Tables};
use regatta_catalog::Sweep;
use regatta_proto::{Evaluator, ModelSpec};

use super::TabulationError;
use super::csv_text::harmless;
use super::group::{GroupResult, MetricKey};
use super::jackknife::{Without, add_intervals};
use super::per_session::Usages;
use crate::statistics::Estimate;
use crate::summary::BenchmarkTable;

/// All tables of a sweep: by benchmark, then by evaluator, in the benchmark's order.
pub(crate) fn tables(sweep: &Sweep, groups: &[GroupResult], usages: &Usages) -> Vec<BenchmarkTable> {
    let mut all = Vec::new();
    for of in groups.chunk_by(|one, other| one.first.benchmark == other.first.benchmark) {
        let Some(first) = of.first().map(|group| &group.first) else { continue };
        let (Some(suite), Some(lock)) = (sweep.suite(first), sweep.benchmark(first)) else { continue };
        for evaluator in &lock.evaluators {
            let cells: Vec<CellResult<'_>> =
                of.iter().filter_map(|group| cell(sweep, group, usages, *evaluator)).collect();
            let mut tables = suite.paper_tables(*evaluator, &cells);
            add_intervals(&mut tables, &without(&**suite, of, &cells, *evaluator), sweep.lock.level);
            all.extend(tables.into_iter().map(|table| BenchmarkTable {
                benchmark: first.benchmark.clone(),
                evaluator: *evaluator,
                table,
            }));
        }
    }
    all
}

/// The tables of a benchmark with some clusters of a setting left out, of all its models at once: these have the same items.
fn without<'g>(
    suite: &dyn Tables,
    groups: &'g [GroupResult],
    cells: &[CellResult<'g>],
    evaluator: Evaluator,
) -> Vec<Without<'g>> {
    let mut found = Vec::new();
    for of_setting in groups.chunk_by(|one, other| one.first.setting == other.first.setting) {
        let Some(first) = of_setting.first() else { continue };
        for (at, left_out) in first.left_out.iter().enumerate() {
            let of_cell = |cell: &CellResult<'g>| {
                let same =
                    |group: &&GroupResult| group.first.model == *cell.model && *cell.setting == group.first.setting;
                let tables =
                    of_setting.iter().find(same).and_then(|group| group.left_out.get(at)).map(|left| &left.tables);
                let of_evaluator = tables.and_then(|tables| tables.iter().find(|(of, _, _)| *of == evaluator));
                match of_evaluator {
                    Some((_, trials, all)) => {
                        CellResult { tables: trials.iter().collect(), all_trials: all, ..cell.clone() }
                    }
                    None => cell.clone(),
                }
            };
            let cells: Vec<CellResult<'g>> = cells.iter().map(of_cell).collect();
            found.push(Without {
                setting: &first.first.setting,
                part: f64::from(left_out.items) / f64::from(first.items),
                items: first.items,
                tables: suite.paper_tables(evaluator, &cells),
            });
        }
    }
    found
}

/// `None` for a group without the evaluator.
fn cell<'g>(sweep: &'g Sweep, group: &'g GroupResult, usages: &Usages, evaluator: Evaluator) -> Option<CellResult<'g>> {
    let measured = |estimates: &[Estimate]| -> BTreeMap<&'g str, Measured> {
        let estimated = group.keys.iter().zip(estimates).filter(|((of, _), _)| *of == evaluator);
        let named =
            |((_, metric), estimate): (&'g MetricKey, &Estimate)| (metric.name.as_str(), Measured::from(estimate));
        estimated.map(named).collect()
    };
    let of_evaluator =
        |tables: &'g [(Evaluator, Table)]| tables.iter().find_map(|(of, table)| (*of == evaluator).then_some(table));
    let model = &group.first.model;
    Some(CellResult {
        setting: &group.first.setting,
        model,
        family: sweep.lock.model(model).map_or(model.model.as_str(), ModelSpec::family),
        simulated: group.simulated,
        scored: group.sessions.scored(),
        sessions: group.sessions.total,
        metrics: measured(&group.estimates),
        tasks: group.tasks.iter().map(|task| (task.name.as_str(), measured(&task.estimates))).collect(),
        parts: group.parts.iter().map(|part| (part.name.as_str(), measured(&part.estimates))).collect(),
        tables: group.cells.iter().filter_map(|trial| of_evaluator(&trial.tables)).collect(),
        all_trials: of_evaluator(&group.tables)?,
        spending: usages.per_session(group),
    })
}

/// The file of a table, as `table-worfbench-main-two-shot-official.csv`.
pub(crate) fn file_name(table: &BenchmarkTable) -> String {
    let BenchmarkTable { benchmark, evaluator, table } = table;
    let name = format!("table-{benchmark}-{}-{evaluator}", table.name);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    format!("{}.csv", name.chars().map(plain).collect::<String>())
}

/// A table as CSV: a line a row; of every column our value with its interval and deviation, and the published value. Shares are in 0..=1.
pub(crate) fn csv(table: &BenchmarkTable) -> Result<Vec<u8>, TabulationError> {
    let table = &table.table;
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header = table.keys.clone();
    header.extend(["simulated", "coverage"].map(str::to_owned));
    for column in &table.columns {
        header.push(harmless(&column.label));
        header.extend(["low", "high", "sd", "published"].map(|what| format!("{} {what}", harmless(&column.label))));
    }
    writer.write_record(&header)?;
    for row in &table.rows {
        let mut line: Vec<String> = row.keys.iter().map(|key| harmless(key)).collect();
        line.extend([row.simulated.to_string(), row.coverage.to_string()]);
        for PaperEntry { ours, published } in &row.entries {
            let numbers = [ours.value, ours.low, ours.high, ours.sd, *published];
            line.extend(numbers.map(|number| number.map_or_else(String::new, |number| number.to_string())));
        }
        // Whatever a benchmark does, a file has as many fields in every line.
        line.resize(header.len(), String::new());
        writer.write_record(&line)?;
    }
    writer.into_inner().map_err(|error| TabulationError::Csv(error.into_error().into()))
}
