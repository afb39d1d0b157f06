//! The leaderboard as plain text, at most 110 columns wide for models with ordinary names.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent};
use regatta_proto::{CostSum, Evaluator, Money};

use crate::report::numbers::{compact, duration, grouped, percent, shown, waste};
use crate::summary::{LeaderboardRow, Summary};

/// Widest table, in columns.
const WIDTH: u16 = 110;

/// The leaderboard of `summary` for terminals: a table a benchmark and setting under its default evaluator, then what it took.
#[must_use]
pub fn render_leaderboard(summary: &Summary) -> String {
    let mut text = String::new();
    for rows in summary.rows.chunk_by(|one, other| one.benchmark == other.benchmark && one.setting == other.setting) {
        if let Some(first) = rows.first() {
            text.push_str(&block(summary, first, rows));
            text.push('\n');
        }
    }
    text.push_str(&totals(summary));
    text
}

fn block(summary: &Summary, first: &LeaderboardRow, rows: &[LeaderboardRow]) -> String {
    let evaluator = first.metrics.first().map(|metric| metric.evaluator);
    let shown_metrics = |row: &LeaderboardRow| -> Vec<(String, String)> {
        let of_default = row.headline().filter(|metric| Some(metric.evaluator) == evaluator);
        of_default.map(|metric| (metric.metric.clone(), shown(&metric.estimate))).collect()
    };
    let mut table = empty_table();
    let mut header = vec!["model".to_owned()];
    header.extend(shown_metrics(first).into_iter().map(|(name, _)| name));
    header.extend(["coverage", "tokens in / out", "cost"].map(str::to_owned));
    let columns = header.len();
    table.set_header(header);
    for row in rows {
        let mut line = vec![format!("{}{}", row.model, if row.simulated { " *" } else { "" })];
        line.extend(shown_metrics(row).into_iter().map(|(_, value)| value));
        line.push(percent(row.coverage));
        line.push(format!("{} / {}", compact(row.spending.usage.input), compact(row.spending.usage.output)));
        line.push(in_short(&row.spending.cost));
        table.add_row(line);
    }
    for column in 1..columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let evaluator = evaluator.map_or("", Evaluator::as_str);
    let trials = if summary.trials == 1 { String::new() } else { format!(" × {} trials", summary.trials) };
    let title = format!(
        "{} · {} · {evaluator} · {} items{trials} · mean over items [95 % interval]",
        first.benchmark, first.setting, first.items
    );
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    format!("{title}\n{}\n", lines.join("\n"))
}

/// A line above, a line below the header, a line at the end; intervals need the space that verticals would take.
fn empty_table() -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_width(WIDTH).set_content_arrangement(ContentArrangement::Dynamic);
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

fn totals(summary: &Summary) -> String {
    let sessions = &summary.sessions;
    let spent = &summary.spending;
    let mut lines = vec![format!(
        "{} of {} sessions scored · cost {} · judges {} · wall time {}",
        grouped(sessions.scored()),
        grouped(sessions.total),
        spent.cost,
        summary.judging.cost,
        duration(summary.wall_seconds)
    )];
    lines.push(format!("paid for nothing: {}", waste(spent)));
    if spent.unmeasured != CostSum::default() {
        lines.push(format!("spent on sessions without a score: {}", spent.unmeasured));
    }
    lines.extend(summary.notes.iter().map(|note| format!("note: {note}")));
    if summary.rows.iter().any(|row| row.simulated) {
        lines.push("* simulated".to_owned());
    }
    lines.join("\n")
}
/// A cost in one narrow cell: what is known, as a lower bound when something is not.
fn in_short(cost: &CostSum) -> String {
    match (cost.known, cost.unknown_calls) {
        (known, 0) => known.to_string(),
        (Money::ZERO, _) => "unknown".to_owned(),
        (known, _) => format!("≥ {known}"),
    }
}
