//! `regatta compare`: two runs, item by item.

use std::process::ExitCode;

use comfy_table::{CellAlignment, Table};
use regatta_benchmarks::Unit;
use regatta_proto::{Level, counted};
use regatta_report::{rendered, rendered_missing};
use serde::Serialize;

use crate::args::CompareArgs;
use crate::ended_run::EndedRun;
use crate::exit::bad_configuration;
use crate::output;
use crate::paired_runs::{
    Answered, Change, Chosen, ComparedCell, ComparedMetric, Distribution, ItemFlips, Scored, Times, changes, compared,
    level, matched,
};
use crate::plain_table::{fitted, plain_table};

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
    /// Runs with a question, whose sessions were bought by their scores: p-values and intervals are of samples whose size was fixed beforehand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stopped_by_scores: Vec<&'static str>,
    cells: Vec<ComparedCell>,
}

pub(crate) async fn run(args: CompareArgs) -> anyhow::Result<ExitCode> {
    let a = EndedRun::open(&args.a, &args.client).await.map_err(bad_configuration)?;
    let b = EndedRun::open(&args.b, &args.client).await.map_err(bad_configuration)?;
    let cells = matched(&a, &b, &Chosen { a: args.model_a, b: args.model_b })?;
    let changes = changes(&a, &b, &cells)?;
    let document = Compared {
        a: &a.name,
        b: &b.name,
        level: level(&a, &b),
        changes,
        stopped_by_scores: stopped_by_scores(&a, &b),
        cells: compared(&a, &b, cells),
    };
    if args.json {
        output::line(&serde_json::to_string_pretty(&document)?);
    } else {
        output::line(&render(&document));
    }
    Ok(ExitCode::SUCCESS)
}

fn stopped_by_scores(a: &EndedRun, b: &EndedRun) -> Vec<&'static str> {
    [(a, "A"), (b, "B")].into_iter().filter(|(run, _)| run.lock.decide.is_some()).map(|(_, side)| side).collect()
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
        text += &lines(table);
    }
    if !of.stopped_by_scores.is_empty() {
        text += &format!(
            "The sessions of {} hang on scores, because a question (decide) was asked: p-values and intervals are more certain here than they \
             should be.\n",
            of.stopped_by_scores.join(" and of ")
        );
    }
    for cell in &of.cells {
        text += &format!("\n{}", rendered_cell(cell, of.level));
    }
    text.truncate(text.trim_end().len());
    text
}

fn rendered_cell(of: &ComparedCell, level: Level) -> String {
    let mut text = format!("{} · {} of both", of.cell, counted(of.items.into(), "item", "items"));
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
            Some(difference) => {
                let p = |p: f64| difference.p.map_or_else(|| "–".to_owned(), |_| p_value(p));
                (rendered(difference, metric.unit), p(difference.p.unwrap_or(1.0)), p(metric.p_holm))
            }
        };
        table.add_row([name, value(metric.a), value(metric.b), difference, p, corrected]);
    }
    add_numbers(&mut table, of);
    text += &lines(table);
    text += &sessions_note(&of.scored);
    text += &grades_note(of);
    text += &cost_note(of);
    text += &times_note(&of.seconds, of.answered);
    text += &left_out_notes(&of.seconds);
    text += &alone_note(of);
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
            let Times { a, b } = of.seconds;
            let [a, b] = [(of.cost_a, a), (of.cost_b, b)].map(|(of, sessions)| match of {
                Some(of) => number(1000.0 * of.mean, Unit::Money),
                None if sessions.cached > 0 && sessions.asked() == 0.0 => "cached".to_owned(),
                None if sessions.has_no_answers() => "–".to_owned(),
                None => "unknown".to_owned(),
            });
            let none = || "–".to_owned();
            [cost.to_owned(), a, b, none(), none(), none()]
        }
    });
    let Times { a, b } = of.seconds;
    type Part = (&'static str, fn(&Distribution) -> f64);
    let rows: [Part; 3] =
        [("latency a session, s", |of| of.mean), ("latency p50, s", |of| of.p50), ("latency p95, s", |of| of.p95)];
    for (name, value) in rows {
        // Two runs without a session of both say nothing of each other.
        let both = a.of.zip(b.of).filter(|_| of.answered.both > 0).map(|(a, b)| value(&b) - value(&a));
        let difference = both.map_or_else(|| "–".to_owned(), |by| format!("{by:+.*}", decimals(Unit::Plain)));
        let [a, b] = [a, b].map(|run| match run.of {
            Some(of) => number(value(&of), Unit::Plain),
            None if run.cached > 0 => "cached".to_owned(),
            None => "–".to_owned(),
        });
        table.add_row([name.to_owned(), a, b, difference, String::new(), String::new()]);
    }
}

/// A note under values that do not differ by the difference beside them, because the two runs have scores of different sessions.
fn sessions_note(Scored { a, b, both }: &Scored) -> String {
    if a == both && b == both {
        return String::new();
    }
    format!(
        "A is over the {a} and B over the {b} sessions that it has a score of, each run by itself; differences of metrics are over the {both} that \
         have a score in both\n"
    )
}

/// A cost over other sessions than those with a score, or of each run over its own.
fn cost_note(of: &ComparedCell) -> String {
    let sessions = |count: usize| counted(count as u64, "session", "sessions");
    let Scored { a: of_a, b: of_b, .. } = of.scored;
    match (&of.cost, of.cost_a, of.cost_b) {
        (Some(cost), _, _) if of_a.max(of_b) == cost.a.sessions => String::new(),
        (Some(cost), _, _) => {
            format!("cost: of both over the {} that both have answers of their own of\n", sessions(cost.a.sessions))
        }
        (None, Some(a), Some(b)) => format!(
            "cost: A over the {} and B over the {} that it has answers of its own of; none is in both, so that they are not compared\n",
            a.sessions,
            sessions(b.sessions)
        ),
        (None, Some(a), None) => alone_cost_note("A", a, of_a),
        (None, None, Some(b)) => alone_cost_note("B", b, of_b),
        (None, None, None) => String::new(),
    }
}

/// A cost that only the run called `name` knows, over fewer sessions than the `scored` ones.
fn alone_cost_note(name: &str, of: Distribution, scored: usize) -> String {
    if of.sessions == scored {
        return String::new();
    }
    let sessions = counted(of.sessions as u64, "session", "sessions");
    format!("cost: {name} over the {sessions} that it has answers of its own of\n")
}

/// Metrics that miss sessions with a score, because their judge gave no grade: each run's value is over other sessions than the difference.
fn grades_note(of: &ComparedCell) -> String {
    let mut by_sessions: Vec<((Scored, bool), Vec<&str>)> = Vec::new();
    for metric in of.metrics.iter().filter(|metric| metric.scored != of.scored) {
        let key = (metric.scored, metric.graded_in_part);
        match by_sessions.iter_mut().find(|(known, _)| *known == key) {
            Some((_, names)) => names.push(&metric.metric),
            None => by_sessions.push((key, vec![&metric.metric])),
        }
    }
    let note = |((Scored { a, b, both }, is_graded_in_part), names): &(_, Vec<&str>)| {
        // Parts of an average that need no grade have that of every session.
        let rest = match is_graded_in_part {
            true => format!(", and where no grade is needed over the {} with a score in both", of.scored.both),
            false => String::new(),
        };
        format!(
            "{}: of sessions with a score, and as far as a grade is needed, A is over the {a} and B over the {b} that have one, each run by \
             itself; the difference is over the {both} that have one in both{rest}\n",
            names.join(", ")
        )
    };
    by_sessions.iter().map(note).collect()
}

/// A reader takes a difference of times for one of the models, or of the providers.
fn times_note(Times { a, b }: &Times, Answered { both, .. }: Answered) -> String {
    let [a, b] = [a, b].map(|run| run.of.map_or(0, |of| of.sessions));
    if a + b == 0 {
        return String::new();
    }
    let shared = match both {
        _ if a.min(b) == 0 || (a == both && b == both) => String::new(),
        0 => ", none of them in both".to_owned(),
        both => format!(", {both} of them in both"),
    };
    format!(
        "latency: of {a} and {b} sessions as they ran{shared}; sessions of a run share their endpoint's load, so that nothing is inferred from one \
         run each\n"
    )
}

/// Sessions that are in no time, and in part in no cost: nothing else in the table says so.
fn left_out_notes(Times { a, b }: &Times) -> String {
    let mut text = String::new();
    for (name, run) in [("A", a), ("B", b)] {
        if let Some(cached) = run.cached_note() {
            text += &format!("{name}: {cached}, and no latency or cost of their own: they are in neither\n");
        }
        if let Some(unanswered) = run.unanswered_note() {
            text += &format!("{name}: {unanswered}, and have no latency\n");
        }
        if let Some(cut_off) = run.cut_off_note() {
            text += &format!("{name}: {cut_off}: they are in neither latency nor cost\n");
        }
    }
    text
}

/// Metrics without a p-value because all items are of one cluster.
fn alone_note(of: &ComparedCell) -> String {
    let is_alone = |metric: &&ComparedMetric| metric.difference.is_some_and(|of| of.clusters == 1);
    let alone: Vec<&str> = of.metrics.iter().filter(is_alone).map(|metric| metric.metric.as_str()).collect();
    match alone.is_empty() {
        true => String::new(),
        false => format!(
            "{}: one group of items alone, which says nothing of how groups differ: no p-value\n",
            alone.join(", ")
        ),
    }
}

/// Items that changed either way: counts and names.
fn changed_items(flips: &ItemFlips) -> String {
    let ItemFlips { metric, better, worse, same, without } = flips;
    let (up, down) = (better.len(), worse.len());
    if up + down == 0 && *same == 0 && *without > 0 {
        return format!("items by {metric}: no single item has a value of it in both\n");
    }
    let without = if *without > 0 { format!(", {without} without a value in both") } else { String::new() };
    let mut text = format!("items by {metric}: {up} better in B, {down} worse, {same} the same{without}\n");
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
    let mut table = plain_table();
    table.set_header(header);
    table
}

fn lines(table: Table) -> String {
    fitted(table).lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests;
