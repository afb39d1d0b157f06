//! The first card of the report in a terminal.

use regatta_proto::CostSum;

use super::{Contest, basis, contests, coverage, failures, flags, score_columns, sentences};
use crate::decided::{headline, sentences as answers};
use crate::leaderboard::{align, empty_table, in_short, unbroken, written};
use crate::report::costs::saved;
use crate::report::filtered;
use crate::report::numbers::{
    NOTHING, at_most, brief, counted, duration, grouped, median, percent, session_median, shown, waste,
};
use crate::report::running;
use crate::summary::{Standing, Summary};

/// One ranking of the models, a sentence on every alternative, what failed, and what it took. Tables are `width` columns wide at most, as far as
/// their words allow.
#[must_use]
pub fn render_decision(summary: &Summary, width: u16) -> String {
    let contests = contests(summary);
    let mut text = String::new();
    if let Some(decided) = &summary.decided {
        text += &format!("{}\n", headline(decided));
        answers(decided).iter().for_each(|line| text += &format!("  {line}\n"));
        text.push('\n');
    }
    text += &format!("{}\n{}", basis(summary, &contests).join("\n"), ranking(summary, &contests, width));
    let parts = [(sentences(summary), ""), (failures(summary), "failed: ")];
    for (lines, before) in parts {
        if !lines.is_empty() {
            text.push('\n');
            lines.iter().for_each(|line| text += &format!("{before}{line}\n"));
        }
    }
    let filtered = filtered::text(summary);
    if !filtered.is_empty() {
        text += &format!("\n{filtered}");
    }
    text += &format!("\n{}", totals(summary));
    text
}

fn ranking(summary: &Summary, contests: &[Contest<'_>], width: u16) -> String {
    let scores = score_columns(contests);
    let is_ranked = summary.standings.iter().any(|standing| standing.rank.is_some());
    let has_flags = summary.standings.iter().any(|standing| !flags(&standing.flags).is_empty());
    let mut header = vec!["model".to_owned()];
    if is_ranked {
        header.extend(["#", "group"].map(str::to_owned));
    }
    let names = header.len();
    header.extend(scores.iter().map(|(name, _)| name.clone()));
    header.extend(scores.is_empty().then(|| "better / worse / tied".to_owned()));
    header.extend(has_flags.then(|| "flags".to_owned()));
    header.extend(["coverage", "cost", "session p50", "call p50"].map(str::to_owned));
    let (mut table, columns) = (empty_table(), header.len());
    table.set_header(header);
    for standing in &summary.standings {
        let mut line = vec![format!("{}{}", standing.model, if standing.simulated { " *" } else { "" })];
        if is_ranked {
            line.push(standing.rank.map_or_else(|| NOTHING.to_owned(), |rank| rank.to_string()));
            line.push(standing.groups.clone());
        }
        line.extend(scores.iter().map(|(_, contest)| value(summary, contest, standing, scores.len() == 1)));
        let counted = || format!("{}/{}/{}", standing.better, standing.worse, standing.tied);
        line.extend(scores.is_empty().then(counted));
        line.extend(has_flags.then(|| flags(&standing.flags).join("\n")));
        line.push(percent(coverage(summary, &standing.model)));
        line.push(in_short(&standing.cost));
        line.push(session_median(standing));
        // Sentences compare models by the time of their calls.
        line.push(median(standing.call_seconds));
        table.add_row(line);
    }
    align(&mut table, names..columns);
    written(table, width)
}

/// A score; its interval too, if it is the only one. The bounds of what is withheld have a line of their own.
fn value(summary: &Summary, contest: &Contest<'_>, standing: &Standing, is_only: bool) -> String {
    match contest.value(summary, &standing.model) {
        None => NOTHING.to_owned(),
        Some((estimate, unit)) if is_only => unbroken(&shown(&estimate, unit).replace(" measured, ", " measured,\n")),
        Some((estimate, unit)) => brief(&estimate, unit),
    }
}

fn totals(summary: &Summary) -> String {
    let spent = &summary.spending;
    let mut lines = vec![format!(
        "{} of {} scored · cost {} · judges {} · wall time {}{}",
        grouped(summary.covered()),
        counted(summary.sessions.total, "session", "sessions"),
        spent.cost,
        summary.judging.cost,
        duration(summary.wall_seconds),
        running(summary)
    )];
    if let Some(most) = summary.at_most {
        lines.push(format!("billed {}", at_most(summary, most)));
    }
    lines.push(format!("paid for nothing: {}", waste(spent, summary.failed_tries)));
    lines.extend(saved(summary).map(|saved| format!("saved by the response cache: {saved}")));
    if spent.unmeasured != CostSum::default() {
        lines.push(format!("spent on sessions without a score: {}", spent.unmeasured));
    }
    lines.extend(summary.notes.iter().map(|note| format!("note: {note}")));
    if summary.rows.iter().any(|row| row.simulated) {
        lines.push("* simulated".to_owned());
    }
    lines.join("\n")
}
