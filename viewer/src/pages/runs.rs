//! All runs with progress, speed, cost and estimated end.

use axum::extract::{Query, State};
use axum::response::Response;
use maud::{Markup, html};
use regatta_backends::PageMark;
use regatta_coordinator::Foretold;
use regatta_proto::SweepState;

use crate::page::{self, Page, scrolled};
use crate::problem::Problem;
use crate::progress::{self, Progress};
use crate::source::{Run, Runs, WantedRuns};
use crate::{Viewer, address, forecasts, numbers};

/// Runs of the list that have a forecast, the newest of those that go on: making one reads every attempt of its run.
const FORETOLD_RUNS: usize = 10;

pub(crate) async fn show(State(viewer): State<Viewer>, Query(wanted): Query<WantedRuns>) -> Result<Response, Problem> {
    let after = wanted.after()?;
    let Runs { runs, problems, next } = viewer.source.runs(after.as_ref()).await?;
    let mut rows = Vec::with_capacity(runs.len());
    let mut going = 0;
    for (run, progress) in runs.iter().zip(progress::of_all(&runs).await?) {
        going += usize::from(run.goes_on());
        let foretold = match run.goes_on() && going <= FORETOLD_RUNS {
            true => forecasts::of(&viewer, run, &progress).await?,
            false => None,
        };
        rows.push((run, progress, foretold));
    }
    let is_foretold = rows.iter().any(|(.., foretold)| foretold.is_some());
    let body = html! {
        h1 { "Runs" }
        @for problem in &problems { p.notice role="note" { (problem) } }
        section #runs data-part {
            @if rows.is_empty() {
                p { "There is no run yet. " code { "regatta run SPEC" } " makes one, and it is here while it goes on." }
            } @else {
                (scrolled("Runs", html! {
                    table.board {
                        thead { tr {
                            th scope="col" { "Run" }
                            th scope="col" { "State" }
                            th scope="col" { "Progress" }
                            th.number scope="col" { "Sessions" }
                            th.number scope="col" { "Rate" }
                            th.number scope="col" { "Time left" }
                            th.number scope="col" { "Money" }
                            @if is_foretold { th.number scope="col" { "At the end" } }
                            th scope="col" { "Submitted" }
                        } }
                        tbody { @for (run, progress, foretold) in &rows { (row(&viewer, run, progress, is_foretold.then_some(*foretold))) } }
                    }
                }))
            }
            (pager("/ui/", after.as_ref(), next.as_ref()))
        }
    };
    let page = Page {
        title: "Runs",
        // Events tell of the newest runs.
        events: Some("/ui/events".to_owned()).filter(|_| after.is_none()),
        has_token: viewer.is_asked_for_token,
        ..Page::bare(body)
    };
    Ok(page::respond(page))
}

/// Links to the newest and to older runs at `address`, on the page that comes after `after` and ends with `next`.
pub(crate) fn pager(address: &str, after: Option<&PageMark>, next: Option<&PageMark>) -> Markup {
    let older = next.map(|next| format!("{address}{}", address::query(&[("after", &next.to_string())])));
    html! {
        @if after.is_some() || older.is_some() {
            nav.pager aria-label="Pages of runs" {
                @if after.is_some() { a href=(address) { "← newest" } }
                @if let Some(older) = older { a rel="next" href=(older) { "older →" } }
            }
        }
    }
}

/// A run's line. `foretold` is what its column has, if there is one.
fn row(viewer: &Viewer, run: &Run, progress: &Progress, foretold: Option<Option<Foretold>>) -> Markup {
    let totals = &progress.totals;
    let rate = run.goes_on().then(|| viewer.rates.of(run, totals.recorded, viewer.clock.now())).flatten();
    let left = rate.and_then(|rate| rate.left(totals.items.saturating_sub(totals.recorded)));
    html! {
        tr {
            th scope="row" { a href=(address::run(&run.name)) { (run.name) } }
            td data-label="State" { (state(run)) }
            td data-label="Progress" { (bar(totals.settled, totals.items)) }
            td.number data-label="Sessions" { (numbers::count(totals.settled)) " of " (numbers::count(totals.items)) }
            td.number data-label="Rate" { @if let Some(rate) = rate { (format!("{:.2}/s", rate.per_second)) } @else { (numbers::NOTHING) } }
            td.number data-label="Time left" { (left.map_or_else(|| numbers::NOTHING.to_owned(), numbers::seconds)) }
            td.number data-label="Money" {
                (numbers::cost(progress.cost()))
                @if let Some(budget) = run.row.budget { " of " (budget) }
            }
            @if let Some(foretold) = foretold {
                td.number data-label="At the end" { (foretold.map_or_else(|| numbers::NOTHING.to_owned(), forecasts::in_short)) }
            }
            td data-label="Submitted" { (numbers::moment(run.row.created_at)) }
        }
    }
}

/// The state in a word, as a tag.
pub(crate) fn state(run: &Run) -> Markup {
    let class = match run.row.state {
        SweepState::Running | SweepState::Tabulating if run.interrupted.is_some() => "tag flag",
        SweepState::Running if run.row.is_paused => "tag flag",
        SweepState::Running | SweepState::Tabulating => "tag going",
        SweepState::Complete => "tag good",
        SweepState::StoppedByBudget | SweepState::Cancelled | SweepState::Incomplete => "tag flag",
    };
    html! { span class=(class) { (run.state().replace('_', " ")) } }
}

/// A progress bar for a part of a whole.
pub(crate) fn bar(part: u64, whole: u64) -> Markup {
    html! {
        progress max=(whole.max(1)) value=(part.min(whole)) { }
        " " span.of { (numbers::percent(part, whole)) }
    }
}
