//! The leaderboard as plain text, as wide as a terminal.

use std::ops::Range;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, Table, TableComponent};
use regatta_benchmarks::{Measured, PaperTable};
use regatta_proto::{CostSum, Evaluator, Money};

use crate::decision::run;
use crate::fitting::fit;
use crate::report::numbers::{
    NOTHING as NO_VALUE, WITHHELD, behind, compact, heading, measured, percent, score_with, shown,
};
use crate::report::pairs;
use crate::summary::{BenchmarkTable, LeaderboardRow, Summary, SummaryMetric};

/// Metrics that fit into a line with what stands behind them; of more, each has a line of its own.
const METRICS: usize = 1;

/// All tables of `summary` for terminals: a leaderboard a benchmark and setting under its default evaluator, the comparisons in pairs, and the
/// tables of the benchmarks' papers. Tables are `width` columns wide at most, as far as their words allow.
#[must_use]
pub fn render_tables(summary: &Summary, width: u16) -> String {
    let mut text = String::new();
    for rows in summary.rows.chunk_by(|one, other| one.benchmark == other.benchmark && one.setting == other.setting) {
        if let Some(first) = rows.first() {
            text.push_str(&block(summary, first, rows, width));
            text.push('\n');
        }
    }
    let pairs = pairs::lines(summary);
    if !pairs.is_empty() {
        text.push_str(&format!("{}\n\n", pairs.join("\n")));
    }
    for table in summary.tables.iter().filter(|table| is_shown(summary, table)) {
        text.push_str(&paper_table(table, summary.coverage_min, width));
        text.push('\n');
    }
    text.trim_end().to_owned()
}

/// Terminals have room for the default evaluator's tables; what papers draw is in the report.
fn is_shown(summary: &Summary, table: &BenchmarkTable) -> bool {
    let of_benchmark = summary.rows.iter().find(|row| row.benchmark == table.benchmark);
    let evaluator = of_benchmark.and_then(|row| row.metrics.first()).map(|metric| metric.evaluator);
    evaluator == Some(table.evaluator) && !table.table.is_figure && !table.table.rows.is_empty()
}

/// Columns of a paper's table that fit beside each other.
const COLUMNS: usize = 4;

/// Values with their deviations over trials; intervals are in the report. Wide tables are shown in parts of about as many columns.
fn paper_table(of: &BenchmarkTable, coverage_min: f64, width: u16) -> String {
    let paper = &of.table;
    let mut text = format!("{} · {} · {} · mean ± deviation over trials\n", of.benchmark, paper.title, of.evaluator);
    let count = paper.columns.len();
    let each = count.div_ceil(count.div_ceil(COLUMNS).max(1)).max(1);
    for from in (0..count).step_by(each) {
        text += &part_of_table(paper, from..count.min(from + each), coverage_min, width);
    }
    paper.notes.iter().for_each(|note| text += &format!("{note}\n"));
    text
}

fn part_of_table(paper: &PaperTable, columns: Range<usize>, coverage_min: f64, width: u16) -> String {
    let of = &paper.columns[columns.clone()];
    let mut table = empty_table();
    let mut header = paper.keys.clone();
    header.extend(of.iter().map(|column| heading(&column.label, column.unit)));
    let all = header.len();
    table.set_header(header);
    for row in &paper.rows {
        let entries = row.entries.iter().skip(columns.start).zip(of);
        let mut line = row.keys.clone();
        if let Some(model) = line.first_mut().filter(|_| row.simulated) {
            model.push_str(" *");
        }
        line.extend(entries.clone().map(|(entry, column)| {
            let ours = Measured { low: None, high: None, ..entry.ours };
            match ours.value {
                Some(_) if row.coverage < coverage_min => WITHHELD.to_owned(),
                _ => unbroken(&measured(&ours, column.unit, column.decimals)),
            }
        }));
        table.add_row(line);
        if row.entries.iter().any(|entry| entry.published.is_some()) {
            let mut line = vec!["  published".to_owned()];
            line.extend(row.keys.iter().skip(1).cloned());
            line.extend(entries.map(|(entry, column)| score_with(entry.published, column.unit, column.decimals)));
            table.add_row(line);
        }
    }
    align(&mut table, paper.keys.len()..all);
    written(table, width)
}

/// The lines of `table`, fitted to `width`, none with spaces at its end.
pub(crate) fn written(mut table: Table, width: u16) -> String {
    fit(&mut table, width);
    table.lines().map(|line| format!("{}\n", line.trim_end().replace(UNBROKEN, " "))).collect()
}

/// A space between which a table breaks no line, until it is written.
const UNBROKEN: char = '\u{a0}';

/// `value` with its interval, and its deviation, each in one line.
pub(crate) fn unbroken(value: &str) -> String {
    value.replace(", ", &format!(",{UNBROKEN}")).replace(" ± ", &format!("{UNBROKEN}±{UNBROKEN}"))
}

/// Numbers stand to the right, and a model's name stays in one line.
pub(crate) fn align(table: &mut Table, columns: Range<usize>) {
    if let Some(model) = table.column_mut(0) {
        model.set_constraint(ColumnConstraint::ContentWidth);
    }
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// A metric of a leaderboard as it is read.
#[derive(Clone)]
struct Headline {
    name: String,
    value: String,
    behind: String,
}

impl Headline {
    fn of(metric: &SummaryMetric) -> Self {
        Self {
            name: heading(&metric.metric, metric.unit),
            // The bounds of what is withheld have a line of their own.
            value: unbroken(&shown(&metric.estimate, metric.unit).replace(" measured, ", " measured,\n")),
            behind: behind(&metric.estimate),
        }
    }
}

fn block(summary: &Summary, first: &LeaderboardRow, rows: &[LeaderboardRow], width: u16) -> String {
    let evaluator = first.metrics.first().map(|metric| metric.evaluator);
    let shown_metrics = |row: &LeaderboardRow| -> Vec<Headline> {
        let of_default = row.headline().filter(|metric| Some(metric.evaluator) == evaluator);
        of_default.map(Headline::of).collect()
    };
    let (mut table, metrics) = (empty_table(), shown_metrics(first));
    let is_stacked = metrics.len() > METRICS;
    let is_ranked = rows.iter().any(|row| summary.rank(row).is_some());
    let mut header = vec!["model".to_owned()];
    header.extend(is_ranked.then(|| "#".to_owned()));
    match is_stacked {
        true => header.extend(["metric", "value"].map(str::to_owned)),
        false => header.extend(metrics.into_iter().map(|metric| metric.name)),
    }
    header.extend(["n/clusters", "coverage", "tokens in/out", "cost"].map(str::to_owned));
    let columns = header.len();
    table.set_header(header);
    for row in rows {
        let model = format!("{}{}", row.model, if row.simulated { " *" } else { "" });
        let rank = || summary.rank(row).map_or_else(|| NO_VALUE.to_owned(), |rank| rank.to_string());
        let ranked = || is_ranked.then(rank);
        let usage = &row.spending.usage;
        let tokens = format!("{}/{}", usage.shown(usage.input, compact), usage.shown(usage.output, compact));
        let took = [percent(row.coverage), tokens, in_short(&row.spending.cost)];
        let mut metrics = shown_metrics(row).into_iter();
        if !is_stacked {
            let behind = metrics.clone().next().map(|metric| metric.behind);
            let values = metrics.map(|metric| metric.value);
            table.add_row(std::iter::once(model).chain(ranked()).chain(values).chain(behind).chain(took));
            continue;
        }
        if let Some(Headline { name, value, behind }) = metrics.next() {
            table.add_row(std::iter::once(model).chain(ranked()).chain([name, value, behind]).chain(took));
        }
        for Headline { name, value, behind } in metrics {
            let unranked = is_ranked.then(String::new);
            table.add_row(std::iter::once(String::new()).chain(unranked).chain([name, value, behind]));
        }
    }
    if let Some(rank) = table.column_mut(1).filter(|_| is_ranked) {
        rank.set_padding((0, 1));
    }
    align(&mut table, if is_stacked { 2 + usize::from(is_ranked) } else { 1 }..columns);
    let value = if first.headline().any(|metric| metric.of_sums) { "value" } else { "mean over items" };
    let evaluator = evaluator.map_or("", Evaluator::as_str);
    let title = format!(
        "{} · {} · {evaluator} · {} · {value} [{} interval]",
        first.benchmark,
        first.setting,
        run(summary, rows),
        summary.level
    );
    format!("{title}\n{}", written(table, width))
}

/// A line above, a line below the header, a line at the end; intervals need the space that verticals would take.
pub(crate) fn empty_table() -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    let lines = [
        TableComponent::TopBorder,
        TableComponent::TopBorderIntersections,
        TableComponent::HeaderLines,
        TableComponent::MiddleHeaderIntersections,
        TableComponent::BottomBorder,
        TableComponent::BottomBorderIntersections,
    ];
    for line in lines {
        table.set_style(line, '─');
    }
    table
}

/// A cost in one narrow cell: what is known, as a lower bound when something is not.
pub(crate) fn in_short(cost: &CostSum) -> String {
    match (cost.known, cost.unknown_calls) {
        (known, 0) => known.to_string(),
        (Money::ZERO, _) => "unknown".to_owned(),
        (known, _) => format!("≥ {known}"),
    }
}
