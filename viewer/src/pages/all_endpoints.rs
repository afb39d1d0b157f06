//! Endpoints of all runs that go on: whether they answer, how fast, and the part of their limits that is in use.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use regatta_backends::{CallSums, PermitsError, PoolChange, PoolHolder, Sketch};
use regatta_proto::EndpointKind;

use crate::page::{self, Page, scrolled};
use crate::problem::Problem;
use crate::source::{Run, Runs};
use crate::{Viewer, address, numbers};

/// Runs that are named beside an endpoint; of more, the number is told.
const RUNS_NAMED: usize = 5;
/// Failed tries are told as the health of an endpoint if they are at least one in so many.
const MANY: u64 = 10;

/// An endpoint: all that share a provider and credentials, whatever the runs call it.
struct Shared {
    names: BTreeSet<String>,
    kind: EndpointKind,
    runs: Vec<String>,
    /// Of the models under test.
    calls: CallSums,
    /// The last change of the part of its limits that is in use; `None` where nothing has changed, and of runs on disk.
    change: Option<PoolChange>,
    /// Calls in flight, and calls that wait; `None` of runs on disk.
    now: Option<(u64, u64)>,
}

pub(crate) async fn show(State(viewer): State<Viewer>) -> Result<Response, Problem> {
    let Runs { runs, problems, next: _ } = viewer.source.newest().await?;
    let mut all: BTreeMap<String, Shared> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.goes_on()) {
        add(&mut all, run).await?;
    }
    let body = html! {
        h1 { "Endpoints" }
        @for problem in &problems { p.notice role="note" { (problem) } }
        section #endpoints data-part {
            @if all.is_empty() {
                p { "No run goes on. The page of each run has its endpoints." }
            } @else {
                p.hint { "Of runs that go on. Calls, times and failed tries are those of the models under test." }
                (scrolled("Endpoints", table(&all)))
            }
        }
    };
    let page = Page {
        title: "Endpoints",
        events: Some("/ui/events".to_owned()),
        has_token: viewer.is_asked_for_token,
        ..Page::bare(body)
    };
    Ok(page::respond(page))
}

async fn add(all: &mut BTreeMap<String, Shared>, run: &Run) -> Result<(), Problem> {
    let sweep = run.sweep().await?;
    for (name, endpoint) in &sweep.lock.endpoints {
        let pool = endpoint.pool();
        let shared = match all.remove(&pool) {
            Some(known) => known,
            None => Shared::of(endpoint.kind, run, &pool).await?,
        };
        let shared = all.entry(pool).or_insert(shared);
        shared.names.insert(name.to_string());
        // A run may call one endpoint by two names.
        if shared.runs.last() != Some(&run.name) {
            shared.runs.push(run.name.clone());
        }
    }
    for (index, sums) in run.store.ledger.call_sums(&run.row.id).await? {
        let Some(endpoint) = sweep.cell(index).and_then(|cell| sweep.lock.endpoints.get(&cell.model.endpoint)) else {
            continue;
        };
        if let Some(shared) = all.get_mut(&endpoint.pool()) {
            shared.calls.merge(&sums);
        }
    }
    Ok(())
}

impl Shared {
    async fn of(kind: EndpointKind, run: &Run, pool: &str) -> Result<Self, Problem> {
        let (mut change, mut now) = (None, None);
        if let Some(permits) = &run.store.permits {
            let failed = |error: PermitsError| Problem::wrong(regatta_proto::causes(&error));
            change = permits.changes(pool).await.map_err(failed)?.pop();
            now = Some(in_use(&permits.holders(pool).await.map_err(failed)?));
        }
        let (names, calls) = (BTreeSet::new(), CallSums::default());
        Ok(Self { names, kind, runs: Vec::new(), calls, change, now })
    }

    /// Part of the limits that is in use, if it is not all of them.
    fn slowed_to(&self) -> Option<f64> {
        self.change.as_ref().map(|change| change.to).filter(|part| *part < 1.0)
    }
}

/// Calls in flight, and calls that wait.
fn in_use(holders: &[PoolHolder]) -> (u64, u64) {
    holders.iter().fold((0, 0), |(in_flight, waiting), holder| {
        (in_flight + u64::from(holder.in_flight), waiting + u64::from(holder.waiting))
    })
}

/// Class of the tag, and what it says.
fn health(calls: &CallSums, slowed_to: Option<f64>) -> (&'static str, String) {
    let failed = calls.errors.values().copied().fold(0, u64::saturating_add);
    let answered = calls.calls.saturating_sub(calls.from_cache);
    match (answered, failed, slowed_to) {
        (0, 0, None) => ("tag", "not asked yet".to_owned()),
        (0, 1.., _) => ("tag flag", "does not answer".to_owned()),
        (_, _, Some(part)) => ("tag flag", format!("slowed to {:.0} % of its limits", part * 100.0)),
        (_, _, None) if failed.saturating_mul(MANY) >= answered.saturating_add(failed) => {
            ("tag flag", format!("{} of tries fail", numbers::percent(failed, answered.saturating_add(failed))))
        }
        (_, _, None) => ("tag good", "answers".to_owned()),
    }
}

fn table(all: &BTreeMap<String, Shared>) -> Markup {
    let at = |sketch: &Sketch, q: f64| sketch.quantile(q).map_or_else(|| numbers::NOTHING.to_owned(), numbers::seconds);
    let now = |count: Option<u64>| count.map_or_else(|| numbers::NOTHING.to_owned(), numbers::count);
    html! {
        table {
            thead { tr {
                th scope="col" { "Endpoint" } th scope="col" { "Health" } th.number scope="col" { "Calls" }
                th.number scope="col" { "p50" } th.number scope="col" { "p95" } th scope="col" { "Failed tries" }
                th.number scope="col" { "In flight" } th.number scope="col" { "Waiting" } th scope="col" { "Runs" }
            } }
            tbody {
                @for shared in all.values() {
                    @let (class, words) = health(&shared.calls, shared.slowed_to());
                    tr {
                        th scope="row" {
                            @for name in &shared.names { (name) " " }
                            span.tag { (format!("{:?}", shared.kind).to_lowercase()) }
                        }
                        td {
                            span class=(class) { (words) }
                            @if let (Some(_), Some(change)) = (shared.slowed_to(), &shared.change) {
                                " since " (numbers::moment(change.at)) ": " (change.reason)
                            }
                        }
                        td.number { (numbers::count(shared.calls.calls)) }
                        td.number { (at(&shared.calls.latency, 0.5)) }
                        td.number { (at(&shared.calls.latency, 0.95)) }
                        td {
                            @if shared.calls.errors.is_empty() { "none" }
                            @for (error, count) in &shared.calls.errors {
                                span.tag.flag { (error.as_str().replace('_', " ")) " " (numbers::count(*count)) } " "
                            }
                        }
                        td.number { (now(shared.now.map(|(in_flight, _)| in_flight))) }
                        td.number { (now(shared.now.map(|(_, waiting)| waiting))) }
                        td {
                            @for run in shared.runs.iter().take(RUNS_NAMED) { a href={ (address::run(run)) "/endpoints" } { (run) } " " }
                            @if shared.runs.len() > RUNS_NAMED { "and " (shared.runs.len() - RUNS_NAMED) " more" }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use regatta_proto::ErrorClass;

    use super::*;

    fn calls(calls: u64, from_cache: u64, failed: u64) -> CallSums {
        let errors = (failed > 0).then_some((ErrorClass::Server, failed)).into_iter().collect();
        CallSums { calls, from_cache, errors, ..CallSums::default() }
    }

    #[test]
    fn an_endpoint_is_as_healthy_as_its_answers_and_its_limits() {
        let words = |calls: CallSums, slowed_to| health(&calls, slowed_to).1;
        assert_eq!(words(calls(0, 0, 0), None), "not asked yet");
        assert_eq!(words(calls(7, 7, 0), None), "not asked yet", "the cache has answered");
        assert_eq!(words(calls(0, 0, 3), Some(0.5)), "does not answer");
        assert_eq!(words(calls(90, 0, 1), Some(0.4)), "slowed to 40 % of its limits");
        assert_eq!(words(calls(90, 0, 10), None), "10\u{202f}% of tries fail");
        assert_eq!(words(calls(91, 0, 9), None), "answers");
        assert_eq!(words(calls(0, 0, 0), Some(0.5)), "slowed to 50 % of its limits");
    }

    #[test]
    fn counts_of_a_ledger_that_no_sum_holds_make_no_endpoint_healthy() {
        let errors = BTreeMap::from([(ErrorClass::Server, u64::MAX), (ErrorClass::Timeout, u64::MAX)]);
        let shown = health(&CallSums { calls: 2, errors, ..CallSums::default() }, None);
        assert_eq!(shown.1, "100\u{202f}% of tries fail");
    }

    #[test]
    fn an_endpoint_is_shown_with_its_runs_and_why_it_is_slowed() {
        let change = PoolChange { at: Timestamp::UNIX_EPOCH, from: 1.0, to: 0.25, reason: "429: <slow>".to_owned() };
        let shared = Shared {
            names: BTreeSet::from(["main".to_owned()]),
            kind: EndpointKind::Openai,
            runs: (0..7).map(|run| format!("s{run}")).collect(),
            calls: calls(20, 0, 1),
            change: Some(change),
            now: Some((16, 240)),
        };
        let shown = table(&BTreeMap::from([("pool".to_owned(), shared)])).into_string();
        for piece in [
            "slowed to 25 % of its limits",
            "429: &lt;slow&gt;",
            ">16<",
            ">240<",
            "/ui/runs/s4/endpoints",
            "and 2 more",
        ] {
            assert!(shown.contains(piece), "{piece} is missing in {shown}");
        }
        assert!(!shown.contains("/ui/runs/s5/"), "{shown}");
    }

    #[test]
    fn calls_of_all_processes_are_those_of_the_endpoint() {
        let holder = |name: &str, in_flight, waiting| PoolHolder {
            holder: name.parse().unwrap(),
            seen_at: Timestamp::UNIX_EPOCH,
            slots: 8,
            in_flight,
            waiting,
        };
        assert_eq!(in_use(&[holder("w1", 3, 10), holder("w2", 5, 0)]), (8, 10));
        assert_eq!(in_use(&[]), (0, 0));
    }
}
