//! The table of a sweep's cells, and the lines of its sums, as wide as the terminal and no higher.

use std::collections::BTreeMap;

use regatta_coordinator::{CellSoFar, CellStatus, ScoreSoFar, SweepStatus};
use regatta_proto::{CostSum, Money, SweepState};

use super::money;
use super::pace::Pace;
use super::rounds::rounds;
use crate::figures::{grouped, rate, thousands, time};
use crate::output::printable;

/// Space between two columns.
const GAP: &str = "  ";
/// Width of a terminal from which on each cell has its causes beside it; below it a line sums them up.
const WITH_CAUSES: usize = 100;
/// Width that names of cells keep, however narrow the terminal is.
const NAME_LEAST: usize = 12;
/// Lines that are kept free: of the header, of the causes, and of the cursor.
const OTHER_LINES: usize = 3;
/// Sign in place of a value that there is not.
const NOTHING: &str = "–";

/// Size of a terminal in characters, and the use of colours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) has_colours: bool,
}

/// The columns of a line.
struct Row {
    name: String,
    done: String,
    score: String,
    cost: String,
    causes: String,
}

/// Lines to draw, each ended.
pub(super) fn table(status: &SweepStatus, so_far: &[CellSoFar], pace: &Pace, place: Place) -> String {
    let mut below = wrapped(&totals(status, pace), place.width);
    below.extend(rounds(status, place));
    below.extend(values(status, so_far).map(|line| fit(&line, place.width)));
    let room = place.height.saturating_sub(below.len() + OTHER_LINES).max(2);
    let is_whole = status.cells.len() <= room;
    let shown = chosen(&status.cells, if is_whole { room } else { room - 1 });
    let has_causes = place.width >= WITH_CAUSES;
    let mut lines = rows(status, so_far, &shown, has_causes, place);
    if !is_whole {
        let others = status.cells.iter().enumerate().filter(|(position, _)| !shown.contains(position));
        let others: Vec<&CellStatus> = others.map(|(_, cell)| cell).collect();
        let sum = |count: fn(&CellStatus) -> u64| grouped(others.iter().map(|cell| count(cell)).sum());
        let (settled, items) = (sum(|cell| cell.settled), sum(|cell| cell.items));
        lines.push(fit(&format!("… {} more cells: {settled}/{items}", others.len()), place.width));
    }
    lines.append(&mut below);
    if !(has_causes && is_whole) {
        let mut all: BTreeMap<String, u64> = BTreeMap::new();
        let counts = so_far.iter().flat_map(|cell| &cell.not_measured);
        counts.for_each(|(cause, count)| *all.entry(cause.clone()).or_insert(0) += count);
        let line = (!all.is_empty()).then(|| fit(&format!("not measured: {}", causes(&all)), place.width));
        lines.extend(line.map(|line| coloured(line, "33", place)));
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The header, and a line for each of the cells at these positions.
fn rows(status: &SweepStatus, so_far: &[CellSoFar], shown: &[usize], has_causes: bool, place: Place) -> Vec<String> {
    let header = ["cell", "done", "score", "cost", if has_causes { "not measured" } else { "" }].map(str::to_owned);
    let [name, done, score, cost, causes] = header;
    let mut rows = vec![Row { name, done, score, cost, causes }];
    let names = names(&status.cells);
    for position in shown {
        let (Some(cell), Some(name)) = (status.cells.get(*position), names.get(*position)) else { continue };
        let of_cell = so_far.iter().find(|of| of.cell == cell.cell.index);
        rows.push(Row {
            name: printable(name).into_owned(),
            done: format!("{}/{}", grouped(cell.settled), grouped(cell.items)),
            score: of_cell.and_then(|of| of.score.as_ref()).map_or_else(|| NOTHING.to_owned(), score_so_far),
            cost: in_short(cell),
            causes: if has_causes { not_measured(cell, of_cell) } else { String::new() },
        });
    }
    let widest = |column: fn(&Row) -> &str| rows.iter().map(|row| column(row).chars().count()).max().unwrap_or(0);
    let (done, score, cost) =
        (widest(|row| row.done.as_str()), widest(|row| row.score.as_str()), widest(|row| row.cost.as_str()));
    let others = done + score + cost + 3 * GAP.len();
    let least_causes = if has_causes { GAP.len() + "not measured".len() } else { 0 };
    let name = widest(|row| row.name.as_str()).min(place.width.saturating_sub(others + least_causes).max(NAME_LEAST));
    let causes = place.width.saturating_sub(name + others + GAP.len());
    let written = rows.iter().enumerate().map(|(number, row)| {
        let line = format!(
            "{:<name$}{GAP}{:>done$}{GAP}{:<score$}{GAP}{:>cost$}",
            fit_middle(&row.name, name),
            row.done,
            row.score,
            row.cost,
        );
        let line = fit(&line, place.width);
        match (number, row.causes.is_empty()) {
            (0, true) => coloured(line, "2", place),
            (0, false) => coloured(format!("{line}{GAP}{}", row.causes), "2", place),
            (_, true) => line,
            (_, false) => format!("{line}{GAP}{}", coloured(fit(&row.causes, causes), "33", place)),
        }
    });
    written.collect()
}

/// Positions of at most `most` cells in the order of the grid: those with sessions under way before others.
fn chosen(cells: &[CellStatus], most: usize) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..cells.len()).collect();
    positions.sort_by_key(|position| cells.get(*position).is_none_or(|cell| cell.dispatched <= cell.settled));
    positions.truncate(most);
    positions.sort_unstable();
    positions
}

/// Names of cells by what tells them apart; the model's, if nothing does.
fn names(cells: &[CellStatus]) -> Vec<String> {
    let parts = |cell: &CellStatus| {
        let of = &cell.cell;
        [of.benchmark.to_string(), of.setting.to_string(), of.model.to_string(), format!("t{}", of.trial)]
    };
    let all: Vec<[String; 4]> = cells.iter().map(parts).collect();
    let differs: Vec<bool> = (0..4).map(|part| all.iter().any(|of| of[part] != all[0][part])).collect();
    let is_one = !differs.contains(&true);
    let named = all.into_iter().map(|parts| {
        let kept = parts.into_iter().enumerate().filter(|(part, _)| differs[*part] || (is_one && *part == 2));
        kept.map(|(_, text)| text).collect::<Vec<_>>().join(" ")
    });
    named.collect()
}

fn score_so_far(score: &ScoreSoFar) -> String {
    match score.half {
        Some(half) => format!("{:.3} ±{half:.3}", score.mean),
        None => format!("{:.3}", score.mean),
    }
}

/// Money of all attempts, as far as it is known.
fn in_short(cell: &CellStatus) -> String {
    let mut all = cell.cost;
    all += cell.wasted;
    match all {
        CostSum { known, unknown_calls: 0 } => known.to_string(),
        CostSum { known: Money::ZERO, .. } => "unknown".to_owned(),
        CostSum { known, .. } => format!("≥ {known}"),
    }
}

/// Causes by number; the number alone before the causes are told.
fn not_measured(cell: &CellStatus, so_far: Option<&CellSoFar>) -> String {
    match so_far {
        Some(so_far) if !so_far.not_measured.is_empty() => causes(&so_far.not_measured),
        _ if cell.not_measured > 0 => grouped(cell.not_measured),
        _ => String::new(),
    }
}

/// `3 timeout, 1 auth`, the commonest first.
fn causes(counts: &BTreeMap<String, u64>) -> String {
    let mut counts: Vec<(&String, &u64)> = counts.iter().collect();
    counts.sort_by(|one, other| other.1.cmp(one.1).then(one.0.cmp(other.0)));
    let written: Vec<String> =
        counts.into_iter().map(|(cause, count)| format!("{} {}", grouped(*count), printable(cause))).collect();
    written.join(", ")
}

/// Sessions, speed, time left and money of the sweep.
fn totals(status: &SweepStatus, pace: &Pace) -> Vec<String> {
    let (settled, items) = (status.total(|cell| cell.settled), status.total(|cell| cell.items));
    let is_running = status.state == SweepState::Running;
    let mut parts = Vec::new();
    parts.extend((!is_running).then(|| status.state.to_string()));
    parts.push(format!("{}/{} sessions", grouped(settled), grouped(items)));
    if is_running {
        parts.extend(pace.sessions_per_second().map(rate));
        let left = pace.time_left(items.saturating_sub(settled));
        parts.extend(left.map(|left| format!("{} left", time(left))));
    }
    let hourly = pace.spent_per_hour().filter(|hourly| is_running && *hourly > Money::ZERO);
    let hourly = hourly.map(|hourly| format!(" ({hourly}/h)")).unwrap_or_default();
    parts.push(format!("{}{hourly}", status.cost.known));
    let usage = status.usage();
    parts.push(format!("{} tokens", usage.shown(usage.total(), thousands)));
    parts.extend(money(status));
    parts
}

/// The values that are the scores of each benchmark, and the kind of interval that they have.
fn values(status: &SweepStatus, so_far: &[CellSoFar]) -> Option<String> {
    let mut values: Vec<String> = Vec::new();
    for of in so_far {
        let cell = status.cells.iter().find(|cell| cell.cell.index == of.cell);
        let (Some(score), Some(cell)) = (&of.score, cell) else { continue };
        let named = format!("{} of {}", printable(&score.value), cell.cell.benchmark);
        if !values.contains(&named) {
            values.push(named);
        }
    }
    let has_intervals = so_far.iter().filter_map(|of| of.score.as_ref()).any(|score| score.half.is_some());
    let said = if has_intervals { "mean so far (± of independent sessions)" } else { "mean so far" };
    (!values.is_empty()).then(|| format!("score: {said} of {}", values.join(", ")))
}

/// `parts`, as many in a line as fit.
pub(super) fn wrapped(parts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 3 + part.chars().count() <= width => *line += &format!(" · {part}"),
            _ => lines.push(fit(part, width)),
        }
    }
    lines
}

/// `text` without its end where it is longer than `width`.
pub(super) fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// `text` without its middle where it is longer than `width`: names begin with a benchmark and end with a model.
fn fit_middle(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let head = width.saturating_sub(1) / 3;
    let tail = width.saturating_sub(1) - head;
    text.chars().take(head).chain(['…']).chain(text.chars().skip(length - tail)).collect()
}

/// `text` in the style `code`, where there are colours.
fn coloured(text: String, code: &str, place: Place) -> String {
    if place.has_colours { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text }
}
