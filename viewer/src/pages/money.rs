//! Costs: of all runs, and of one run by model and by day.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use jiff::civil::Date;
use jiff::{Span, Timestamp};
use maud::{Markup, html};
use regatta_backends::{CellProgress, DaySpending, SavedCost};
use regatta_proto::{CellIndex, CostSum, Money, OwnerName};
use regatta_report::Standing;

use super::leaderboard;
use super::runs::pager;
use crate::page::{self, Page, Tab, scrolled};
use crate::problem::Problem;
use crate::progress::{self, Progress, Totals};
use crate::source::{Run, Runs, WantedRuns};
use crate::{Viewer, address, numbers};

/// Most days shown, the latest ones.
const DAYS_MAX: usize = 60;

pub(crate) async fn of_all(
    State(viewer): State<Viewer>,
    Query(wanted): Query<WantedRuns>,
) -> Result<Response, Problem> {
    let after = wanted.after()?;
    let Runs { runs, problems, next } = viewer.source.runs(after.as_ref()).await?;
    let mut rows = Vec::new();
    let mut sum = CostSum::default();
    let mut owners: BTreeMap<Option<&OwnerName>, Owned> = BTreeMap::new();
    for (run, progress) in runs.iter().zip(progress::of_all(&runs).await?) {
        sum += progress.cost();
        owners.entry(run.row.owner.as_ref()).or_default().add(&progress);
        rows.push((run, progress));
    }
    let body = html! {
        h1 { "Money" }
        @for problem in &problems { p.notice role="note" { (problem) } }
        section #money data-part {
            p { "All " (rows.len()) " runs below: " b { (numbers::cost(sum)) } }
            (scrolled("Money by run", html! {
                table {
                    thead { tr {
                        th scope="col" { "Run" } th.number scope="col" { "Spent in all" } th.number scope="col" { "By judges" }
                        th.number scope="col" { "Repeated or lost" } th.number scope="col" { "Perhaps spent" } th.number scope="col" { "Budget" } th scope="col" { "Submitted" }
                    } }
                    tbody {
                        @for (run, progress) in &rows {
                            tr {
                                th scope="row" { a href={ (address::run(&run.name)) "/money" } { (run.name) } }
                                td.number { (numbers::cost(progress.cost())) }
                                td.number { (numbers::cost(progress.judges)) }
                                td.number { (numbers::cost(progress.totals.wasted)) }
                                td.number { (Money(progress.totals.maybe_spent)) }
                                td.number { @if let Some(budget) = run.row.budget { (budget) } @else { (numbers::NOTHING) } }
                                td { (numbers::moment(run.row.created_at)) }
                            }
                        }
                    }
                }
            }))
            (pager("/ui/money", after.as_ref(), next.as_ref()))
            (by_owner(&owners))
        }
    };
    let page = Page {
        title: "Money",
        events: Some("/ui/events".to_owned()).filter(|_| after.is_none()),
        has_token: viewer.is_asked_for_token,
        ..Page::bare(body)
    };
    Ok(page::respond(page))
}

/// Runs of one owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Owned {
    runs: u64,
    cost: CostSum,
    judges: CostSum,
    maybe_spent: u64,
}

impl Owned {
    fn add(&mut self, progress: &Progress) {
        self.runs += 1;
        self.cost += progress.cost();
        self.judges += progress.judges;
        self.maybe_spent += progress.totals.maybe_spent;
    }
}

/// Sums by owner of the runs of the page, who has spent most first; nothing of runs on disk, which have no owners.
fn by_owner(owners: &BTreeMap<Option<&OwnerName>, Owned>) -> Markup {
    let mut rows: Vec<_> = owners.iter().collect();
    rows.sort_by_key(|(owner, owned)| (Reverse(owned.cost.known), **owner));
    html! {
        @if owners.keys().any(Option::is_some) {
            h2 { "By owner" }
            p.hint { "Of the runs above." }
            (scrolled("Money by owner", html! {
                table {
                    thead { tr {
                        th scope="col" { "Owner" } th.number scope="col" { "Runs" } th.number scope="col" { "Spent in all" }
                        th.number scope="col" { "By judges" } th.number scope="col" { "Perhaps spent" }
                    } }
                    tbody {
                        @for (owner, owned) in rows {
                            tr {
                                th scope="row" { @match owner { Some(owner) => { (owner.as_str()) } None => { "nobody: of a version before owners" } } }
                                td.number { (numbers::count(owned.runs)) }
                                td.number { (numbers::cost(owned.cost)) }
                                td.number { (numbers::cost(owned.judges)) }
                                td.number { (Money(owned.maybe_spent)) }
                            }
                        }
                    }
                }
            }))
        }
    }
}

pub(crate) async fn of_run(State(viewer): State<Viewer>, Path(name): Path<String>) -> Result<Response, Problem> {
    let run = viewer.source.run(&name).await?;
    let sweep = run.sweep().await?;
    let progress = progress::of(&run).await?;
    let judges = run.store.ledger.costs_by_judge(&run.row.id).await?;
    let mut models: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for cell in &progress.cells {
        if let Some(of) = sweep.cell(cell.index) {
            models.entry(of.model.to_string()).or_default().push(cell);
        }
    }
    let spending = spending(&viewer, &run, &progress).await?;
    let mut failed: BTreeMap<String, CostSum> = BTreeMap::new();
    for (cell, cost) in &spending.failed {
        if let Some(of) = sweep.cell(*cell) {
            *failed.entry(of.model.to_string()).or_default() += *cost;
        }
    }
    let standings = leaderboard::summary(&run).await?.map_or_else(Vec::new, |summary| summary.standings);
    let mut days: BTreeMap<i64, (u64, CostSum)> = BTreeMap::new();
    for day in &spending.days {
        let entry = days.entry(day.day).or_default();
        entry.0 += day.attempts;
        entry.1 += day.cost;
    }
    let body = html! {
        section #by-model data-part {
            h2 { "By model" }
            p {
                "Sessions " (numbers::cost(progress.totals.cost)) ", judges " (numbers::cost(progress.judges)) ", in all " b { (numbers::cost(progress.cost())) }
                @if let Some(budget) = run.row.budget { " of a budget of " (budget) } "."
                @if progress.totals.maybe_spent > 0 { " On top, at most " (Money(progress.totals.maybe_spent)) " for tries of which the provider did not tell." }
                @if !spending.saved.is_none() {
                    " The response cache saved " (spending.saved.cost) " for " (numbers::counted(spending.saved.calls, "call", "calls")) ", by the prices of then."
                }
            }
            (scrolled("Money by model", by_model(&models, &failed, &standings)))
            @if !judges.is_empty() {
                h3 { "Judges" }
                (scrolled("Money by judge", html! {
                    table {
                        thead { tr { th scope="col" { "Judge" } th.number scope="col" { "Money" } th.number scope="col" { "Tokens" } th scope="col" { "Answered by" } } }
                        tbody { @for judge in &judges {
                            tr { th scope="row" { (judge.judge) } td.number { (numbers::cost(judge.cost)) } td.number { (numbers::tokens(judge.usage)) } td { (judge.served.join(", ")) } }
                        } }
                    }
                }))
            }
        }
        section #by-day data-part {
            h2 { "By day" }
            (by_day(&days, progress.judges))
        }
    };
    let page = Page {
        title: "Money",
        run: Some((&run, Tab::Money)),
        events: Some(format!("{}/events", address::run(&run.name))).filter(|_| !run.row.state.is_end()),
        has_token: viewer.is_asked_for_token,
        body,
    };
    Ok(page::respond(page))
}

/// Sums that the store makes by reading every attempt and call of a run.
pub(crate) struct Spending {
    /// Money of tries that failed, by cell.
    failed: Vec<(CellIndex, CostSum)>,
    saved: SavedCost,
    days: Vec<DaySpending>,
}

/// The sums of `run`, remembered while nothing is spent.
async fn spending(viewer: &Viewer, run: &Run, progress: &Progress) -> Result<Arc<Spending>, Problem> {
    let (ledger, id) = (&run.store.ledger, &run.row.id);
    let read = async {
        let calls = ledger.call_sums(id).await?;
        let mut saved = SavedCost::default();
        calls.iter().for_each(|(_, sums)| saved.merge(&sums.saved));
        let failed = calls.into_iter().map(|(cell, sums)| (cell, sums.failed)).collect();
        Ok::<_, Problem>(Arc::new(Spending { failed, saved, days: ledger.spending_by_day(id).await? }))
    };
    viewer.spending.get(format!("{} {id}", run.name), &progress.fingerprint(run.state()), read).await
}

/// `failed` is the money of tries that were billed and bought nothing, as of answers that could not be used. `standings` are those of a run that
/// has ended: what a session costs is known once all have.
fn by_model(
    models: &BTreeMap<String, Vec<&CellProgress>>,
    failed: &BTreeMap<String, CostSum>,
    standings: &[Standing],
) -> Markup {
    html! {
        table {
            thead { tr {
                th scope="col" { "Model" } th.number scope="col" { "Money" } th.number scope="col" { "A session" } th.number scope="col" { "Repeated or lost" } th.number scope="col" { "Failed tries" }
                th.number scope="col" { "Tokens" } th.number scope="col" { "Sessions" }
            } }
            tbody {
                @for (model, cells) in models {
                    @let totals = Totals::of(cells.iter().copied());
                    tr {
                        th scope="row" { (model) }
                        td.number { (numbers::cost(totals.cost)) }
                        td.number { (a_session(standings.iter().find(|standing| standing.model.to_string() == *model))) }
                        td.number { (numbers::cost(totals.wasted)) }
                        td.number { (numbers::cost(failed.get(model).copied().unwrap_or_default())) }
                        td.number { (numbers::tokens(totals.usage)) }
                        td.number { (numbers::count(totals.recorded)) " of " (numbers::count(totals.items)) }
                    }
                }
            }
        }
    }
}

/// Mean cost of a session, as reports have it.
fn a_session(standing: Option<&Standing>) -> String {
    match standing {
        // What was not paid now says nothing of the model.
        Some(standing) if standing.cached > 0 => "cached".to_owned(),
        Some(standing) => standing.rendered_per_session().unwrap_or_else(|| numbers::NOTHING.to_owned()),
        None => numbers::NOTHING.to_owned(),
    }
}

/// Money of the attempts at sessions: of what judges took nobody knows the day.
fn by_day(days: &BTreeMap<i64, (u64, CostSum)>, judges: CostSum) -> Markup {
    let most = days.values().map(|(_, cost)| cost.known.0).max().unwrap_or(0).max(1);
    html! {
        @if days.is_empty() { p { "Nothing has ended yet." } } @else {
            (scrolled("Money by day", html! {
                table {
                    thead { tr { th scope="col" { "Day (UTC)" } th.number scope="col" { "Sessions" } th scope="col" { "Of the most" } th.number scope="col" { "Attempts ended" } } }
                    tbody {
                        @for (day, (attempts, cost)) in days.iter().rev().take(DAYS_MAX) {
                            tr {
                                th scope="row" { (name_of(*day)) }
                                td.number { (numbers::cost(*cost)) }
                                // A bar would show what is unknown as nothing.
                                td { @if cost.unknown_calls == 0 { meter min="0" max=(most) value=(cost.known.0) { (numbers::percent(cost.known.0, most)) } } }
                                td.number { (numbers::count(*attempts)) }
                            }
                        }
                    }
                }
            }))
            @if judges != CostSum::default() {
                p.hint { "Money of the sessions' attempts alone: judges took " (numbers::cost(judges)) " more, whatever the day." }
            }
        }
    }
}

fn name_of(day: i64) -> String {
    let epoch = Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC).date();
    let date: Option<Date> = Span::new().try_days(day).ok().and_then(|days| epoch.checked_add(days).ok());
    date.map_or_else(|| format!("day {day}"), |date| date.to_string())
}

#[cfg(test)]
mod tests {
    use regatta_proto::Usage;

    use super::*;

    #[test]
    fn money_of_a_session_says_how_many_it_is_over_where_some_were_cut_off() {
        let standing = |cut_off: u64| {
            let sessions = serde_json::json!({ "total": 80, "measured": 80 - cut_off, "model_failures": cut_off, "not_measured": 0, "not_run": 0 });
            let standing: Standing = serde_json::from_value(serde_json::json!({
                "model": "h/one", "simulated": false, "better": 0, "worse": 0, "tied": 0, "sessions": sessions,
                "cost": { "known": 9_360_000, "unknown_calls": 0 }, "cost_per_session": 117_000, "cut_off": cut_off,
            }))
            .unwrap();
            a_session(Some(&standing))
        };
        assert_eq!([standing(0), standing(52)], ["$0.0001170", "$0.0001170 (28 of 80)"]);
    }

    #[test]
    fn runs_of_a_deployment_are_summed_by_owner_and_who_spent_most_stands_first() {
        let owned =
            |runs, known| Owned { runs, cost: CostSum { known: Money(known), unknown_calls: 0 }, ..Owned::default() };
        let [ann, bob] = ["ann", "bob"].map(|name| name.parse::<OwnerName>().unwrap());
        let shown = by_owner(&BTreeMap::from([
            (None, owned(1, 0)),
            (Some(&ann), owned(2, 1_500_000_000)),
            (Some(&bob), owned(7, 9_250_000_000)),
        ]))
        .into_string();
        let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text} is missing in {shown}"));
        assert!(at("bob") < at("$9.25") && at("$9.25") < at("ann") && at("ann") < at("$1.50"), "{shown}");
        assert!(at("$1.50") < at("nobody"), "{shown}");
        assert_eq!(by_owner(&BTreeMap::from([(None, owned(1, 5))])).into_string(), "", "runs on disk have no owners");
    }

    #[test]
    fn a_day_with_calls_of_unknown_price_has_no_bar() {
        let day = |unknown_calls| (4, CostSum { known: Money(100), unknown_calls });
        let bars = |days: &[(u64, CostSum)]| {
            let days = (0..).zip(days.iter().copied()).collect();
            by_day(&days, CostSum::default()).into_string().matches("<meter").count()
        };
        assert_eq!(bars(&[day(0), day(3), day(0)]), 2);
    }

    #[test]
    fn days_say_that_they_are_of_sessions_and_what_judges_took_beside() {
        let days = BTreeMap::from([(20_000, (4, CostSum { known: Money(37_440_000), unknown_calls: 0 }))]);
        let judges = CostSum { known: Money(799_700_000), unknown_calls: 0 };
        let shown = by_day(&days, judges).into_string();
        assert!(shown.contains("Sessions") && !shown.contains(">Money<"), "{shown}");
        assert!(shown.contains(&format!("judges took {} more", numbers::cost(judges))), "{shown}");
        assert!(!by_day(&days, CostSum::default()).into_string().contains("judges"), "nobody judges it");
    }

    #[test]
    fn money_that_was_repeated_or_lost_stands_apart_from_that_of_failed_tries() {
        let cost = |nanos| CostSum { known: Money(nanos), unknown_calls: 0 };
        let cell = CellProgress {
            index: CellIndex(0),
            queue: "h".to_owned(),
            items: 80,
            dispatched: 80,
            recorded: 80,
            settled: 80,
            measured: 80,
            model_failures: 0,
            not_measured: 0,
            usage: Usage::default(),
            cost: cost(4_446_000),
            wasted: cost(0),
            maybe_spent: Money::ZERO,
        };
        let failed = BTreeMap::from([("h/broken50".to_owned(), cost(2_223_000))]);
        let shown = by_model(&BTreeMap::from([("h/broken50".to_owned(), vec![&cell])]), &failed, &[]).into_string();
        assert!(shown.contains("Repeated or lost") && shown.contains("Failed tries"), "{shown}");
        assert!(shown.contains(&numbers::cost(cost(2_223_000))), "{shown}");
    }
}
