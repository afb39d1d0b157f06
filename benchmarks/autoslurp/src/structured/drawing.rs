//! Requests of a session over what the gold asks for, for people who look at it: a node for each, in their order.

use jiff::civil::Date;
use regatta_benchmarks::Drawing;
use regatta_proto::Exchange;

use super::external::{Service, is_talk};
use super::slots::{Slot, gold};
use super::{external, local};
use crate::data::Utterance;
use crate::run::Run;

/// Requests that are drawn, the last ones: they decide.
const DRAWN: usize = 50;
/// Characters of a request.
const REQUEST_CHARS: usize = 160;

/// Requests of `run`. The one that decides is matched if the session passes and changed if it does not; all others are extra.
/// `None` where nothing was requested, and nothing had to be.
pub(crate) fn drawing(utterance: &Utterance, today: Date, run: &Run) -> Option<Drawing> {
    let (passes, decisive, wanted) = if utterance.is_external() {
        let service = Service::of(&utterance.intent).unwrap_or(Service::Search);
        let decisive = run.requests.iter().rposition(|request| service.is_asked_at(&request.url));
        let wanted = (!is_talk(&utterance.intent)).then(|| format!("a request for {}", utterance.intent));
        (external::judge(&utterance.intent, run).passes(), decisive, wanted)
    } else {
        let slots = gold(&utterance.slots);
        let decisive = run.requests.iter().rposition(|request| local::success(request).is_some());
        let passes = local::judge(&utterance.intent, &slots, today, run).passes();
        (passes, decisive, Some(call(&utterance.intent, &slots)))
    };
    if run.requests.is_empty() && wanted.is_none() {
        return None;
    }
    let skipped = run.requests.len().saturating_sub(DRAWN);
    let drawn = run.requests.iter().enumerate().skip(skipped);
    let (requests, partner): (Vec<String>, Vec<Option<usize>>) = drawn
        .map(|(at, request)| (label(at + 1, request), wanted.as_ref().filter(|_| decisive == Some(at)).map(|_| 0)))
        .unzip();
    let wanted: Vec<String> = wanted.into_iter().collect();
    Some(Drawing::over("Requests", (&requests, &[]), (&wanted, &[]), &partner, |_, _| passes))
}

fn label(number: usize, request: &Exchange) -> String {
    let said = match local::success(request) {
        Some(done) => call(done.intent.as_str().unwrap_or("no intent"), &done.slots),
        None => {
            let answered = if request.status == 0 { "no answer".to_owned() } else { request.status.to_string() };
            // The scheme is always the same.
            let url = request.url.split_once("://").map_or(&*request.url, |(_, rest)| rest);
            format!("{answered}: {} {url}", request.method)
        }
    };
    let kept: String = said.chars().take(REQUEST_CHARS).collect();
    let more = if kept.len() < said.len() { "…" } else { "" };
    format!("{number}. {kept}{more}")
}

fn call(intent: &str, slots: &[Slot]) -> String {
    let slots: Vec<String> = slots.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    format!("{intent}({})", slots.join(", "))
}
