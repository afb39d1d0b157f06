//! `regatta compare`: two runs, item by item.

use std::process::ExitCode;

use comfy_table::{CellAlignment, Table, TableComponent, presets};
use regatta_benchmarks::Unit;
use regatta_proto::Level;
use regatta_scorer::{rendered, rendered_missing};
use serde::Serialize;

use crate::args::CompareArgs;
use crate::ended_run::EndedRun;
use crate::exit::bad_configuration;
use crate::output;
use crate::paired_runs::{Change, Chosen, ComparedCell, ItemFlips, Scored, Times, changes, compared, level, matched};

/// Items that are named on a terminal; JSON has all.
const NAMED: usize = 8;

/// The document of `--json`.
#[derive(Serialize)]
struct Compared<'a> {
    a: &'a str,
    b: &'a str,
    /// Probability with which each interval covers.
    level: Level,
    changes: Vec<Change>,
    cells: Vec<ComparedCell>,
}

pub(crate) async fn run(args: CompareArgs) -> anyhow::Result<ExitCode> {
    let a = EndedRun::open(&args.a, &args.client).await.map_err(bad_configuration)?;
    let b = EndedRun::open(&args.b, &args.client).await.map_err(bad_configuration)?;
    let cells = matched(&a, &b, &Chosen { a: args.model_a, b: args.model_b })?;
    let changes = changes(&a, &b, &cells)?;
    let document = Compared { a: &a.name, b: &b.name, level: level(&a, &b), changes, cells: compared(&a, &b, cells) };
    if args.json {
        output::line(&serde_json::to_string_pretty(&document)?);
    } else {
        output::line(&render(&document));
    }
    Ok(ExitCode::SUCCESS)
}

fn render(of: &Compared<'_>) -> String {
    let mut text = format!("A: {}\nB: {}\nDifferences are B − A, paired by item and trial.\n\n", of.a, of.b);
    if of.changes.is_empty() {
        text += "Nothing that a result can depend on has changed between them.\n";
    } else {
        let mut table = table(["changed", "A", "B"]);
        for change in &of.changes {
            table.add_row([&change.what, &change.a, &change.b]);
        }
        text += &lines(&table);
    }
    for cell in &of.cells {
        text += &format!("\n{}", rendered_cell(cell, of.level));
    }
    text.truncate(text.trim_end().len());
    text
}

fn rendered_cell(of: &ComparedCell, level: Level) -> String {
    let mut text = format!("{} · {} items of both", of.cell, of.items);
    for (only, side) in [(of.items_only_in_a, "A"), (of.items_only_in_b, "B")] {
        if only > 0 {
            text += &format!(", {only} only in {side}");
        }
    }
    text += &format!(" · coverage {} and {}\n", percent(of.coverage_a), percent(of.coverage_b));
    let difference = format!("difference [{level} interval]");
    let mut table = table(["", "A", "B", &difference, "p", "p, corrected"]);
    for column in 1..6 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for metric in &of.metrics {
        let value = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| number(value, metric.unit));
        let name = format!("{} ({})", metric.metric, metric.evaluator);
        let (difference, p, corrected) = match &metric.difference {
            None => ("no session has a score in both".to_owned(), "–".to_owned(), "–".to_owned()),
            Some(difference) if difference.withheld => ("withheld".to_owned(), "–".to_owned(), "–".to_owned()),
            Some(difference) => (
                rendered(difference, metric.unit),
                difference.p.map_or_else(|| "–".to_owned(), p_value),
                p_value(metric.p_holm),
            ),
        };
        table.add_row([name, value(metric.a), value(metric.b), difference, p, corrected]);
    }
    add_numbers(&mut table, of);
    text += &lines(&table);
    text += &sessions_note(&of.scored);
    text += &of.seconds.as_ref().map_or_else(String::new, times_note);
    for metric in &of.metrics {
        if let Some(missing) = metric.difference.and_then(|of| rendered_missing(&of, metric.unit)) {
            text += &format!("{}: {missing}\n", metric.metric);
        }
    }
    if let Some(flips) = &of.flips {
        text += &changed_items(flips);
    }
    text
}

fn add_numbers(table: &mut Table, of: &ComparedCell) {
    let cost = "cost of 1,000 sessions, $";
    table.add_row(match &of.cost {
        Some(numbers) => {
            let numbers = numbers.times(1000.0);
            let p = numbers.difference.p.map(|p| [p_value(p), p_value(numbers.p_holm)]);
            let [p, corrected] = p.unwrap_or(["–", "–"].map(str::to_owned));
            let [a, b] = [numbers.a, numbers.b].map(|of| number(of.mean, Unit::Money));
            [cost.to_owned(), a, b, rendered(&numbers.difference, Unit::Money), p, corrected]
        }
        None => {
            let [a, b] = [of.cost_a, of.cost_b]
                .map(|of| of.map_or_else(|| "unknown".to_owned(), |of| number(1000.0 * of.mean, Unit::Money)));
            let none = || "–".to_owned();
            [cost.to_owned(), a, b, none(), none(), none()]
        }
    });
    let Some(Times { a, b }) = of.seconds else { return };
    for (name, a, b) in
        [("latency a session, s", a.mean, b.mean), ("latency p50, s", a.p50, b.p50), ("latency p95, s", a.p95, b.p95)]
    {
        let difference = format!("{:+.*}", decimals(Unit::Plain), b - a);
        let [a, b] = [a, b].map(|value| number(value, Unit::Plain));
        table.add_row([name.to_owned(), a, b, difference, String::new(), String::new()]);
    }
}

/// Where both runs have a score of other sessions, the values beside a difference do not differ by it.
fn sessions_note(Scored { a, b, both }: &Scored) -> String {
    if a == both && b == both {
        return String::new();
    }
    format!(
        "A is over the {a} and B over the {b} sessions that it has a score of, each run by itself; differences of metrics and cost are over the \
         {both} that have a score in both\n"
    )
}

/// A reader takes a difference of times for one of the models, or of the providers.
fn times_note(Times { a, b }: &Times) -> String {
    format!(
        "latency: of {} and {} sessions as they ran; sessions of a run share their endpoint's load, so that nothing is inferred from one run each\n",
        a.sessions, b.sessions
    )
}

/// Items that changed either way: counts and names.
fn changed_items(flips: &ItemFlips) -> String {
    let ItemFlips { metric, better, worse, same } = flips;
    let mut text = format!("items by {metric}: {} better in B, {} worse, {same} the same\n", better.len(), worse.len());
    for (what, items) in [("better", better), ("worse", worse)] {
        if items.is_empty() {
            continue;
        }
        let named: Vec<&str> = items.iter().take(NAMED).map(regatta_proto::ItemId::as_str).collect();
        let more = if items.len() > NAMED { format!(" and {} more", items.len() - NAMED) } else { String::new() };
        text += &format!("  {what}: {}{more}\n", named.join(", "));
    }
    text
}

pub(crate) fn number(value: f64, unit: Unit) -> String {
    format!("{:.*}", decimals(unit), value * unit.factor() + 0.0)
}

const fn decimals(unit: Unit) -> usize {
    match unit {
        Unit::Plain => 3,
        Unit::Percent | Unit::Turns => 1,
        Unit::OutOfTen => 2,
        Unit::Money => 4,
    }
}

pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

/// With a decimal that is rounded as in reports.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", (share * 1000.0).round() / 10.0)
}

fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .remove_style(TableComponent::HorizontalLines)
        .remove_style(TableComponent::MiddleIntersections);
    table.set_header(header);
    table
}

fn lines(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests;
