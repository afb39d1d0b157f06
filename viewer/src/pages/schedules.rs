//! Schedules of a deployment and their last nights.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use regatta_backends::{ScheduleRow, TickRow, TickState};

use crate::page::{self, Page, said, scrolled};
use crate::problem::Problem;
use crate::{Viewer, address, numbers};

/// Most ticks shown for each schedule.
const TICKS: u32 = 30;
/// Most schedules shown.
const SCHEDULES_MAX: u32 = 50;

pub(crate) async fn show(State(viewer): State<Viewer>) -> Result<Response, Problem> {
    let body = match viewer.source.deployment() {
        None => html! {
            h1 { "Schedules" }
            section { p { "Schedules are a deployment's: a coordinator keeps them, and shows them here. " code { "regatta schedule" } " makes one." } }
        },
        Some(store) => {
            let schedules = store.ledger.schedules_after(None, SCHEDULES_MAX + 1).await?;
            let mut parts = Vec::new();
            for schedule in schedules.iter().take(SCHEDULES_MAX as usize) {
                let ticks = store.ledger.ticks(&schedule.name, TICKS).await?;
                parts.push(of_schedule(schedule, &ticks, viewer.drifts.is_some()));
            }
            html! {
                h1 { "Schedules" }
                @if parts.is_empty() { section { p { "There is none. " code { "regatta schedule create" } " makes one." } } }
                @for part in parts { (part) }
                @if schedules.len() > SCHEDULES_MAX as usize { p.hint { "There are more: " code { "regatta schedule list" } " has them all." } }
            }
        }
    };
    let page = Page { title: "Schedules", has_token: viewer.is_asked_for_token, ..Page::bare(body) };
    Ok(page::respond(page))
}

fn of_schedule(schedule: &ScheduleRow, ticks: &[TickRow], has_drift: bool) -> Markup {
    let drift = format!("/ui/schedules/{}/drift", address::part(schedule.name.as_str()));
    html! {
        section {
            h2 { (schedule.name) @if schedule.is_paused { " " span.tag.flag { "paused" } } }
            p.hint {
                (schedule.judged) " nights judged by a gate. "
                @if has_drift { a href=(drift) { "What changed between nights" } ", drawn; " code { "regatta drift " (schedule.name) } " says the same in words." }
                @else { "For what changed between nights: " code { "regatta drift " (schedule.name) } }
            }
            (scrolled("Nights", html! {
                table {
                    thead { tr { th scope="col" { "Tick" } th scope="col" { "State" } th scope="col" { "Sweep" } th.number scope="col" { "Spent" } th scope="col" { "Outcome" } } }
                    tbody { @for tick in ticks { (of_tick(tick)) } }
                }
            }))
            details { summary { "What was asked for" } (said(&schedule.document)) }
        }
    }
}

fn of_tick(tick: &TickRow) -> Markup {
    let class = match tick.state {
        TickState::Due | TickState::Running => "tag going",
        TickState::Ended => "tag good",
        TickState::Missed | TickState::Refused => "tag flag",
    };
    let outcome: serde_json::Value =
        tick.outcome.as_deref().and_then(|outcome| serde_json::from_str(outcome).ok()).unwrap_or_default();
    let verdict = outcome.get("verdict").and_then(serde_json::Value::as_str);
    html! {
        tr {
            th scope="row" { (numbers::moment(tick.at)) @if tick.by_hand { " by hand" } }
            td { span class=(class) { (tick.state) } @if tick.stands_for > 1 { " × " (tick.stands_for) } }
            td { @if let Some(sweep) = &tick.sweep { a href=(address::run(sweep.as_str())) { (sweep) } } }
            td.number { @if let Some(spent) = tick.spent { (spent) } }
            td {
                @if let Some(verdict) = verdict { span.tag { (verdict) } " " }
                @if let Some(reason) = &tick.reason { (reason) }
            }
        }
    }
}
