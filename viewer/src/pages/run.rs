//! A run: its numbers, its cells as a heat map, the causes of failed sessions, and why it is slow.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::response::Response;
use maud::{Markup, html};
use regatta_backends::{CellProgress, EndingCount, FlagCount};
use regatta_catalog::Sweep;
use regatta_coordinator::Foretold;
use regatta_proto::{CellIndex, CostSum, Flag, Outcome, Trial};
use regatta_report::Summary;

use super::group::{self, Group};
use super::leaderboard;
use super::rounds;
use super::runs::{bar, state};
use super::slow;
use super::steering;
use crate::page::{self, Page, Tab, scrolled};
use crate::problem::Problem;
use crate::progress::{self, Progress, Totals};
use crate::source::Run;
use crate::steering::Asker;
use crate::{Viewer, address, forecasts, numbers};

/// Most rows of causes shown.
const CAUSES_MAX: usize = 50;

pub(crate) async fn show(
    State(viewer): State<Viewer>,
    asker: Asker,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let run = viewer.source.run(&name).await?;
    let sweep = run.sweep().await?;
    let ledger = &run.store.ledger;
    let progress = progress::of(&run).await?;
    let totals = &progress.totals;
    let endings = match totals.model_failures + totals.not_measured {
        0 => Vec::new(),
        _ => ledger.endings(&run.row.id).await?,
    };
    let summary = leaderboard::summary(&run).await?;
    let flags = ledger.flag_counts(&run.row.id).await?;
    let calls = ledger.call_sums(&run.row.id).await?;
    let rounds = rounds::section(&viewer, &run, &sweep, &progress, summary.as_ref()).await?;
    let foretold = forecasts::of(&viewer, &run, &progress).await?;
    let slow = slow::section(&viewer, &run, &sweep, &progress, &calls).await?;
    let steering = steering::section(&viewer, &asker, &run, &sweep).await;
    let body = html! {
        section #numbers data-part { (facts(&viewer, &run, &progress, foretold)) }
        (steering)
        (rounds)
        section #cells data-part {
            h2 { "Cells" }
            p.hint { "Each cell: sessions that have a result, of all that it has. Marked: sessions without a score." }
            @for group in group::all(&sweep) { (heat_map(&run, &group, &progress.cells)) }
        }
        section #causes data-part {
            h2 { "Why sessions have no score, or the worst" }
            (causes(&run, &sweep, &endings, Unscored::of(&run, totals, summary.as_ref())))
            (flagged(&run, &sweep, &flags))
        }
        section #waits data-part {
            h2 { "Why it is slow" }
            (slow)
        }
    };
    let page = Page {
        title: &run.name,
        run: Some((&run, Tab::Overview)),
        events: Some(format!("{}/events", address::run(&run.name))),
        has_token: viewer.is_asked_for_token,
        body,
    };
    Ok(page::respond(page))
}

fn facts(viewer: &Viewer, run: &Run, progress: &Progress, foretold: Option<Foretold>) -> Markup {
    let totals = &progress.totals;
    let rate = run.goes_on().then(|| viewer.rates.of(run, totals.recorded, viewer.clock.now())).flatten();
    let left = rate.and_then(|rate| rate.left(totals.items.saturating_sub(totals.recorded)));
    html! {
        p.big { (state(run)) " " (bar(totals.settled, totals.items)) }
        @if let Some(directory) = &run.interrupted { (interruption(directory)) }
        dl.facts {
            dt { "Sessions" } dd { (numbers::count(totals.settled)) " of " (numbers::count(totals.items)) }
            dt { "Measured" } dd { (numbers::count(totals.measured)) }
            dt { "Model failures" } dd { (numbers::count(totals.model_failures)) }
            dt { "Not measured" } dd { (numbers::count(totals.not_measured)) }
            @if let Some(rate) = rate {
                dt { "Rate" }
                dd { (format!("{:.2} sessions a second", rate.per_second)) (if rate.is_recent { ", in the last minute" } else { ", since it was submitted" }) }
            }
            @if let Some(left) = left { dt { "Time left" } dd { "about " (numbers::seconds(left)) } }
            dt { "Money" }
            dd {
                (numbers::cost(progress.cost()))
                @if let Some(budget) = run.row.budget { " of a budget of " (budget) }
                @if progress.judges != CostSum::default() { ": sessions " (numbers::cost(totals.cost)) ", judges " (numbers::cost(progress.judges)) }
                @if totals.wasted != CostSum::default() { "; of attempts that were repeated or lost " (numbers::cost(totals.wasted)) }
            }
            @if let Some(foretold) = foretold { dt { "Money at the end" } dd { (forecasts::words(foretold)) } }
            dt { "Tokens" } dd { (numbers::tokens(totals.usage)) }
            dt { "Submitted" } dd { (numbers::moment(run.row.created_at)) }
            @if let Some(ended) = run.row.ended_at {
                dt { "Ended" }
                dd {
                    (numbers::moment(ended)) ", after "
                    (numbers::seconds(ended.duration_since(run.row.created_at).as_secs_f64()))
                }
            }
            @if run.row.generation > 0 { dt { "Resumed" } dd { (run.row.generation) " times" } }
        }
    }
}

/// A notice that nothing is at work on the run in `directory`, which has not ended, and how it goes on.
fn interruption(directory: &std::path::Path) -> Markup {
    html! {
        p.notice role="note" {
            "It has not ended, and nothing is at work on it. "
            code { "regatta resume " (directory.display()) }
            " continues it, as does the command that began it; what was recorded is not paid for again."
        }
    }
}

/// Step of a shade, 0 to 10; 10 only for the whole.
fn shade(part: u64, whole: u64) -> u64 {
    (part.min(whole) * 10).checked_div(whole).unwrap_or(0)
}

fn heat_map(run: &Run, group: &Group<'_>, progress: &[CellProgress]) -> Markup {
    let of = |index: CellIndex| progress.iter().find(|cell| cell.index == index);
    let mut trials: Vec<Trial> = group.cells.iter().map(|cell| cell.trial).collect();
    trials.sort_unstable();
    trials.dedup();
    let items = |model: &str| {
        let address = address::query(&[
            ("benchmark", group.benchmark.as_str()),
            ("setting", group.setting.as_str()),
            ("model", model),
        ]);
        format!("{}/items{address}", address::run(&run.name))
    };
    scrolled(
        "Cells",
        html! {
            table.heat {
                caption { (group.benchmark) " · " (group.setting) }
                thead { tr {
                    th scope="col" { "Model" }
                    @for trial in &trials { th scope="col" { "trial " (trial.0) } }
                } }
                tbody {
                    @for model in group.models() {
                        tr {
                            th scope="row" { a href=(items(&model.to_string())) { (model) } }
                            @for trial in &trials {
                                @let cell = group.cells.iter().find(|cell| cell.model == *model && cell.trial == *trial);
                                @match cell.and_then(|cell| of(cell.index)) {
                                    Some(cell) => {
                                        td class={ "h" (shade(cell.settled, cell.items)) } {
                                            (numbers::count(cell.settled)) "/" (numbers::count(cell.items))
                                            @if cell.not_measured > 0 { " " span.tag.flag title="not measured" { (numbers::count(cell.not_measured)) " n/m" } }
                                            @if cell.model_failures > 0 { " " span.tag title="model failures" { (numbers::count(cell.model_failures)) " failed" } }
                                        }
                                    }
                                    None => { td { (numbers::NOTHING) } }
                                }
                            }
                        }
                    }
                }
            }
        },
    )
}

/// Sessions of a run that has ended which no outcome explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Unscored {
    not_run: u64,
    /// Sessions with a score that have none of the metrics on leaderboards, as where a judge gave no grade.
    without_value: u64,
}

impl Unscored {
    fn of(run: &Run, totals: &Totals, summary: Option<&Summary>) -> Self {
        let not_run = if run.row.state.is_end() { totals.items.saturating_sub(totals.recorded) } else { 0 };
        let rows = summary.map_or(&[][..], |summary| &summary.rows);
        let without_value = rows.iter().map(|row| row.sessions.scored().saturating_sub(row.covered())).sum();
        Self { not_run, without_value }
    }
}

/// Counts by benchmark, setting, model and outcome, the most frequent first, and what no outcome explains.
fn causes(run: &Run, sweep: &Sweep, endings: &[EndingCount], unscored: Unscored) -> Markup {
    html! {
        @if endings.is_empty() && unscored == Unscored::default() { p { "None so far." } }
        @if !endings.is_empty() { (outcomes(run, sweep, endings)) }
        (unexplained(unscored))
    }
}

fn unexplained(unscored: Unscored) -> Markup {
    html! {
        @if unscored.not_run > 0 { p { (numbers::counted(unscored.not_run, "session was", "sessions were")) " not run." } }
        @if unscored.without_value > 0 {
            p {
                (numbers::counted(unscored.without_value, "session has", "sessions have"))
                " no value of the metrics on leaderboards, as where a judge gave no grade."
            }
        }
    }
}

fn outcomes(run: &Run, sweep: &Sweep, endings: &[EndingCount]) -> Markup {
    let mut counts: BTreeMap<(String, String, String, &str, &str), u64> = BTreeMap::new();
    for ending in endings {
        let Some(cell) = sweep.cell(ending.cell) else { continue };
        let (outcome, cause) = (ending.outcome.as_str(), ending.outcome.cause().map_or("", |cause| cause.as_str()));
        let key = (cell.benchmark.to_string(), cell.setting.to_string(), cell.model.to_string(), outcome, cause);
        *counts.entry(key).or_default() += ending.sessions;
    }
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    html! {
        (scrolled("Causes", html! {
            table {
                thead { tr {
                    th scope="col" { "Cause" } th.number scope="col" { "Sessions" } th scope="col" { "Outcome" }
                    th scope="col" { "Model" } th scope="col" { "Benchmark" }
                } }
                tbody {
                    @for ((benchmark, setting, model, outcome, cause), count) in rows.iter().take(CAUSES_MAX) {
                        tr {
                            th scope="row" {
                                @let found = address::query(&[("benchmark", benchmark), ("setting", setting), ("model", model), ("outcome", outcome), ("cause", cause)]);
                                a href={ (address::run(&run.name)) "/items" (found) } { (cause) }
                            }
                            td.number { (numbers::count(*count)) }
                            td { (outcome.replace('_', " ")) }
                            td { (model) }
                            td { (benchmark) " · " (setting) }
                        }
                    }
                }
            }
        }))
        @if rows.len() > CAUSES_MAX { p.hint { (rows.len() - CAUSES_MAX) " more rows with fewer sessions" } }
    }
}

/// Number of sessions with each flag.
fn flagged(run: &Run, sweep: &Sweep, counts: &[FlagCount]) -> Markup {
    let mut flags: BTreeMap<(Flag, String, String), u64> = BTreeMap::new();
    for count in counts {
        let Some(cell) = sweep.cell(count.cell) else { continue };
        for flag in count.flags.iter() {
            *flags.entry((flag, cell.benchmark.to_string(), cell.setting.to_string())).or_default() += count.sessions;
        }
    }
    html! {
        @if !flags.is_empty() {
            p { "Flags of answers: "
                @for ((flag, benchmark, setting), count) in &flags {
                    @let found = address::query(&[("benchmark", benchmark), ("setting", setting), ("flag", flag.as_str())]);
                    a.tag.flag href={ (address::run(&run.name)) "/items" (found) } { (flag.as_str().replace('_', " ")) " " (numbers::count(*count)) }
                    " "
                }
            }
        }
    }
}

/// An outcome in words, as a tag.
pub(crate) fn outcome(of: &Outcome, is_awaiting: bool) -> Markup {
    let class = match of {
        Outcome::Measured => "tag good",
        Outcome::ModelFailure { .. } => "tag flag",
        Outcome::NotMeasured { .. } => "tag flag",
    };
    html! {
        @if is_awaiting { span.tag.going { "waits for verdicts" } }
        @else {
            span class=(class) {
                (of.as_str().replace('_', " "))
                @if let Some(cause) = of.cause() { ": " (cause.as_str().replace('_', " ")) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_interrupted_names_the_command_that_continues_it() {
        let shown = interruption(std::path::Path::new("runs/a<b")).into_string();
        assert!(
            shown.contains("nothing is at work on it. <code>regatta resume runs/a&lt;b</code> continues it"),
            "{shown}"
        );
    }

    #[test]
    fn sessions_that_were_not_run_or_not_graded_are_told_beside_the_outcomes() {
        let shown = |not_run, without_value| unexplained(Unscored { not_run, without_value }).into_string();
        assert_eq!(shown(0, 0), "");
        assert_eq!(shown(112, 0), "<p>112 sessions were not run.</p>");
        let ungraded = "<p>1 session has no value of the metrics on leaderboards, as where a judge gave no grade.</p>";
        assert_eq!(shown(0, 1), ungraded);
    }
}
