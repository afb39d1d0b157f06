//! Endpoints of a run: latencies, failures, and the part of the limits that the fleet uses.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::response::Response;
use maud::{Markup, html};
use regatta_backends::{CallSums, PoolChange, Sketch};
use regatta_proto::{EndpointName, EndpointSpec};

use crate::page::{self, Page, Tab, scrolled};
use crate::problem::Problem;
use crate::{Viewer, address, numbers};

/// Most limit changes shown for each endpoint, the latest ones.
const CHANGES_MAX: usize = 20;

pub(crate) async fn show(State(viewer): State<Viewer>, Path(name): Path<String>) -> Result<Response, Problem> {
    let run = viewer.source.run(&name).await?;
    let sweep = run.sweep().await?;
    let mut sums: BTreeMap<EndpointName, BTreeMap<String, CallSums>> = BTreeMap::new();
    for (index, of_cell) in run.store.ledger.call_sums(&run.row.id).await? {
        let Some(cell) = sweep.cell(index) else { continue };
        let models = sums.entry(cell.model.endpoint.clone()).or_default();
        models.entry(cell.model.to_string()).or_default().merge(&of_cell);
    }
    let mut limits = BTreeMap::new();
    if let Some(permits) = &run.store.permits {
        for (name, endpoint) in &sweep.lock.endpoints {
            let changes = permits
                .changes(&endpoint.pool())
                .await
                .map_err(|error| Problem::wrong(regatta_proto::causes(&error)))?;
            limits.insert(name.clone(), changes);
        }
    }
    let body = html! {
        section #endpoints data-part {
            h2 { "Endpoints" }
            @for (name, endpoint) in &sweep.lock.endpoints {
                (of_endpoint(name, endpoint, sums.get(name), limits.get(name).map(Vec::as_slice)))
            }
            @if run.store.permits.is_none() { p.hint { "How much of its limits a run of one process uses is in its memory alone." } }
        }
    };
    let page = Page {
        title: "Endpoints",
        run: Some((&run, Tab::Endpoints)),
        events: Some(format!("{}/events", address::run(&run.name))).filter(|_| !run.row.state.is_end()),
        has_token: viewer.is_asked_for_token,
        body,
    };
    Ok(page::respond(page))
}

#[expect(clippy::expect_used, reason = "no limits would be shown as if there were none")]
fn of_endpoint(
    name: &EndpointName,
    endpoint: &EndpointSpec,
    models: Option<&BTreeMap<String, CallSums>>,
    changes: Option<&[PoolChange]>,
) -> Markup {
    let limits = serde_json::to_value(endpoint.limits).expect("limits are a struct of numbers");
    let limits = limits.as_object().expect("a struct is an object").iter();
    let limits: Vec<String> =
        limits.filter(|(_, value)| !value.is_null()).map(|(name, value)| format!("{name} {value}")).collect();
    html! {
        h3 { (name) " " span.tag { (format!("{:?}", endpoint.kind).to_lowercase()) } }
        @if !limits.is_empty() { p.hint { "Limits: " (limits.join(", ")) } }
        @match models {
            None => { p { "No model under test is there, or it has answered nothing yet." } }
            Some(models) => { (scrolled("Calls", calls(models))) }
        }
        @if let Some(changes) = changes {
            @match changes.last() {
                None => { p { "It uses all of its limits." } }
                Some(last) => {
                    p { "It uses " (format!("{:.0} %", last.to * 100.0)) " of its limits since " (numbers::moment(last.at)) ": " (last.reason) }
                    details {
                        summary { "How that came" }
                        ol { @for change in changes.iter().rev().take(CHANGES_MAX) {
                            li { (numbers::moment(change.at)) ": " (format!("{:.0} % → {:.0} %", change.from * 100.0, change.to * 100.0)) ", " (change.reason) }
                        } }
                    }
                }
            }
        }
    }
}

fn calls(models: &BTreeMap<String, CallSums>) -> Markup {
    let at = |sketch: &Sketch, q: f64| sketch.quantile(q).map_or_else(|| numbers::NOTHING.to_owned(), numbers::seconds);
    html! {
        table {
            thead { tr {
                th scope="col" { "Model" } th.number scope="col" { "Calls" } th.number scope="col" { "From cache" }
                th.number scope="col" { "p50" } th.number scope="col" { "p95" } th.number scope="col" { "p99" }
                th.number scope="col" { "First token, p50" } th.number scope="col" { "Tokens/s, p50" }
                th scope="col" { "Failed tries" } th scope="col" { "Answered by" }
            } }
            tbody {
                @for (model, sums) in models {
                    tr {
                        th scope="row" { (model) }
                        td.number { (numbers::count(sums.calls)) }
                        td.number { (numbers::count(sums.from_cache)) }
                        td.number { (at(&sums.latency, 0.5)) }
                        td.number { (at(&sums.latency, 0.95)) }
                        td.number { (at(&sums.latency, 0.99)) }
                        td.number { (at(&sums.first_token, 0.5)) }
                        td.number { (sums.tokens_per_second.quantile(0.5).map_or_else(|| numbers::NOTHING.to_owned(), |speed| format!("{speed:.0}"))) }
                        td {
                            @if sums.errors.is_empty() { "none" }
                            @for (class, count) in &sums.errors { span.tag.flag { (class.as_str().replace('_', " ")) " " (numbers::count(*count)) } " " }
                        }
                        td { @for (served, count) in &sums.served { (served) " × " (numbers::count(*count)) " " } }
                    }
                }
            }
        }
    }
}
