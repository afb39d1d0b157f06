//! A session: the conversation with tools, times, tokens and costs, the right answers beside it, verdicts, attempts, and the same item
//! elsewhere.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use maud::{Markup, html};
use regatta_backends::{AttemptRow, SessionRow, SessionView, TranscriptRef};
use regatta_benchmarks::Scores;
use regatta_catalog::{Sweep, read_transcript};
use regatta_proto::{Call, Cell, Event, ItemIndex, Role, Transcript, counted};
use regatta_scorer::{AskedOfSession, asked_of_session};

use super::items::wanted::Wanted;
use super::located::{Located, locate};
use super::run::outcome;
use super::{annotations, verdicts};
use crate::conversation::{Part, parts};
use crate::page::{self, Page, Tab, said, scrolled};
use crate::problem::Problem;
use crate::source::Run;
use crate::steering::Asker;
use crate::{Viewer, address, differences, drawing, numbers};

/// Most parts of a conversation shown; the transcript has all.
const PARTS_MAX: usize = 400;

/// Longest message, in bytes, that is shown unfolded as the last one before an answer.
const OPEN_BYTES_MAX: usize = 4_000;

/// A session and everything known about it.
pub(crate) struct Found {
    pub(crate) at: Located,
    pub(crate) view: Option<SessionView>,
    pub(crate) attempts: Vec<AttemptRow>,
    pub(crate) transcript: Option<Transcript>,
}

/// Looks a session up, with everything known about it.
pub(crate) async fn find(viewer: &Viewer, name: &str, cell: u32, item: u32) -> Result<Found, Problem> {
    let at = locate(viewer, name, cell, item).await?;
    let Located { run, cell, item, .. } = &at;
    let view = run.store.ledger.session(&run.row.id, cell.index, *item).await?;
    let attempts = run.store.ledger.session_attempts(&run.row.id, cell.index, *item).await?;
    let place = match &view {
        Some(view) => Some(view.row.transcript.clone()),
        None => attempts.iter().rev().find_map(|attempt| attempt.transcript.clone()),
    };
    let transcript = match &place {
        Some(place) => read(run, place).await?,
        None => None,
    };
    Ok(Found { at, view, attempts, transcript })
}

/// The transcript at `place`; `None` if retention has removed it.
async fn read(run: &Run, place: &TranscriptRef) -> Result<Option<Transcript>, Problem> {
    match read_transcript(run.store.catalog.blobs(), &run.row.id, place).await {
        Ok(stored) => Ok(Some(stored.transcript)),
        Err(regatta_catalog::SegmentError::Missing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn show(
    State(viewer): State<Viewer>,
    asker: Asker,
    Path((name, cell, item)): Path<(String, u32, u32)>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let mut found = find(&viewer, &name, cell, item).await?;
    viewer.sign(&mut found.at.run, &asker).await;
    let Found { at, view, attempts, transcript } = &found;
    let Located { run, sweep, cell, item } = at;
    let (asked, scoring) = match transcript {
        Some(transcript) => asked_of_session(&run.store.ledger, sweep, cell, *item, transcript).await?,
        None => (Vec::new(), None),
    };
    let annotation = match view {
        Some(_) => annotations::section(&viewer, at, &wanted).await?,
        None => html! {},
    };
    let title = sweep.item(cell, *item).map_or_else(|| item.to_string(), |item| item.id.to_string());
    let body = html! {
        (neighbours(run, sweep, cell, *item, view.is_some()))
        section #about {
            h2 { (title) }
            p.lead { (cell.benchmark) " · " (cell.setting) " · " (cell.model) " · trial " (cell.trial.0) }
            (facts(&found))
            (others(&found))
        }
        @if let Some(view) = view { (scores(view)) }
        @if let Some(transcript) = transcript {
            (graphs(&found, transcript, &asked))
            (pictures(&found, transcript))
            (conversation(&found, transcript))
        } @else if view.is_some() {
            section { h2 { "Conversation" } p.notice { "The transcript is not there any more; retention removes transcripts before scores." } }
        }
        (annotation)
        (verdicts::section(&asked, scoring.as_ref()))
        (tries(attempts))
    };
    let page = Page {
        title: &title,
        run: Some((run, Tab::Session)),
        events: None,
        has_token: viewer.is_asked_for_token,
        body,
    };
    Ok(page::respond(page))
}

fn neighbours(run: &Run, sweep: &Sweep, cell: &Cell, item: ItemIndex, is_recorded: bool) -> Markup {
    let selected = sweep.selected(cell);
    let at = selected.iter().position(|other| *other == item);
    let before = at.and_then(|at| at.checked_sub(1)).and_then(|at| selected.get(at));
    let after = at.and_then(|at| selected.get(at + 1));
    let name = |item: ItemIndex| sweep.item(cell, item).map_or_else(|| item.to_string(), |item| item.id.to_string());
    let items = address::query(&[("benchmark", cell.benchmark.as_str()), ("setting", cell.setting.as_str())]);
    html! {
        nav.pager aria-label="Other sessions of this cell" {
            @if let Some(before) = before { a rel="prev" href=(address::session(&run.name, cell.index, *before)) { "← " (name(*before)) } }
            a href={ (address::run(&run.name)) "/items" (items) } { "all items" }
            @if let Some(after) = after { a rel="next" href=(address::session(&run.name, cell.index, *after)) { (name(*after)) " →" } }
            @if is_recorded && run.annotated.is_some() { a href="#annotation" { "annotate" } }
        }
    }
}

fn facts(found: &Found) -> Markup {
    let Found { view, attempts, transcript, .. } = found;
    let Some(SessionView { row, is_awaiting }) = view else {
        return html! {
            p.notice { @if attempts.is_empty() { "This session has not been run yet." } @else { "This session has no result yet; below is what was tried." } }
        };
    };
    html! {
        dl.facts {
            dt { "Outcome" } dd {
                (outcome(&row.outcome, *is_awaiting))
                @for flag in row.flags.iter() { " " span.tag.flag { (flag.as_str().replace('_', " ")) } }
            }
            dt { "Task" } dd { (row.task) }
            dt { "Calls" } dd { (calls(row)) }
            dt { "Tokens" } dd { (numbers::tokens(row.usage)) }
            dt { "Money" } dd { (numbers::cost(row.cost)) }
            dt { "Answered by" } dd { (row.served.join(", ")) }
            @if let Some(end) = &row.agent_end { dt { "Agent" } dd { (end.how) @if !end.errors.is_empty() { (said(&end.errors)) } } }
            @if transcript.is_some() {
                dt { "Transcript" }
                dd { a href={ (address::session(&found.at.run.name, found.at.cell.index, found.at.item)) "/transcript" } { "as JSON" } }
            }
        }
    }
}

/// Links to the same item elsewhere in the grid.
fn others(found: &Found) -> Markup {
    let Located { run, sweep, cell, item } = &found.at;
    let is_other =
        |other: &&Cell| other.benchmark == cell.benchmark && other.setting == cell.setting && other.index != cell.index;
    let others: Vec<&Cell> = sweep.cells().iter().filter(is_other).take(60).collect();
    html! {
        @if !others.is_empty() {
            p { "The same item by: "
                @for other in others {
                    a href=(address::session(&run.name, other.index, *item)) { (other.model) " #" (other.trial.0) }
                    " "
                }
            }
        }
    }
}

fn scores(view: &SessionView) -> Markup {
    let scores: Scores = serde_json::from_value(view.row.scores.clone()).unwrap_or_default();
    html! {
        @if !scores.is_empty() {
            section #scores {
                h2 { "Scores" }
                @for (evaluator, score) in &scores {
                    h3 { (evaluator) }
                    dl.values {
                        @for (name, value) in &score.values { div { dt { (name) } dd { (numbers::score(*value)) } } }
                    }
                    details {
                        summary { "How it comes about" }
                        (said(&serde_json::to_string_pretty(&score.detail).unwrap_or_default()))
                    }
                }
            }
        }
    }
}

fn graphs(found: &Found, transcript: &Transcript, asked: &[AskedOfSession]) -> Markup {
    let (Some(suite), Some(benchmark)) =
        (found.at.sweep.suite(&found.at.cell), found.at.sweep.benchmark(&found.at.cell))
    else {
        return html! {};
    };
    let verdicts = verdicts::Given::new(asked);
    let drawings = suite.drawings(found.at.item, &found.at.cell.setting, &benchmark.evaluators, transcript, &verdicts);
    html! {
        @if !drawings.is_empty() {
            section #graph {
                h2 { "Answer over gold" }
                p.legend { span.matched { "✓ matched" } span.changed { "≠ not alike" } span.missing { "− missing" } span.extra { "+ extra" } }
                @for of in &drawings {
                    figure tabindex="0" {
                        figcaption { (of.title) " — " (drawing::in_words(of)) }
                        @match drawing::svg(of) {
                            Some(element) => { (page::svg(element)) }
                            None => { p.hint { "Too large to be drawn: " (of.nodes.len()) " nodes." } }
                        }
                    }
                }
            }
        }
    }
}

/// The benchmark's own drawings, embedded as images, in which no script runs and which bring their own style.
fn pictures(found: &Found, transcript: &Transcript) -> Markup {
    let Some(suite) = found.at.sweep.suite(&found.at.cell) else { return html! {} };
    let pictures = suite.pictures(found.at.item, &found.at.cell.setting, transcript);
    let address = address::session(&found.at.run.name, found.at.cell.index, found.at.item);
    html! {
        @if !pictures.is_empty() {
            section #pictures {
                h2 { "Pictures" }
                @for (number, picture) in pictures.iter().enumerate() {
                    figure tabindex="0" {
                        figcaption { (picture.title) }
                        img src={ (address) "/pictures/" (number) } alt=(picture.text);
                        p { (picture.text) }
                    }
                }
            }
        }
    }
}

fn conversation(found: &Found, transcript: &Transcript) -> Markup {
    let all = parts(transcript);
    html! {
        section #conversation {
            h2 { "Conversation" }
            @for (number, (part, event)) in all.iter().zip(&transcript.events).take(PARTS_MAX).enumerate() {
                (contribution(found, number + 1, part, event))
            }
            @if all.len() > PARTS_MAX { p.hint { (all.len() - PARTS_MAX) " more parts are in the transcript" } }
        }
    }
}

fn contribution(found: &Found, number: usize, part: &Part, event: &Event) -> Markup {
    let kind = match event {
        Event::Call(_) | Event::Failed(_) | Event::Recorded(_) => part.role.as_str(),
        Event::Started(_) | Event::Ended(_) | Event::BenchmarkFailed(_) => "program",
        Event::Exchange(_) => "tool",
    };
    let right = match event {
        Event::Call(call) if call.role == Role::Agent => right_of(found, call),
        Event::Call(_)
        | Event::Failed(_)
        | Event::Recorded(_)
        | Event::Started(_)
        | Event::Exchange(_)
        | Event::Ended(_)
        | Event::BenchmarkFailed(_) => None,
    };
    html! {
        article class={ "part " (kind) } id={ "part" (number) } {
            h3 { a href={ "#part" (number) } { (number) } " " (kind) " " small { (part.facts) @if let Event::Call(call) = event { (when(call)) } } }
            @for (at, (by, words)) in part.told.iter().enumerate() {
                details open[at + 1 == part.told.len() && words.len() <= OPEN_BYTES_MAX] { summary { "told: " (by) ", " (numbers::count(words.chars().count() as u64)) " characters" } (said(words)) }
            }
            @for failed in &part.failed_tries { p.failed { "failed try: " (failed) } }
            @if let Some(thought) = &part.thought { details { summary { "thought" } (said(thought)) } }
            @match right {
                Some(right) => { (beside(&part.whole(), &right)) }
                None => {
                    @if part.calls.is_empty() || part.said != "(no text)" { (said(&part.said)) }
                    @for (name, arguments) in &part.calls { div.call { "calls " b { (name) } (said(arguments)) } }
                }
            }
        }
    }
}

/// Time at which a call was sent, and the time to its first token.
fn when(call: &Call) -> Markup {
    html! {
        @if let Some(first) = call.first_token_us { ", first token after " (numbers::micros(first)) }
        @if let Some(at) = call.at { ", sent " (numbers::moment(at)) }
        ", " (format!("{:?}", call.reply.finish).to_lowercase())
    }
}

/// A right answer to the agent's call, in the form that the agent would write.
fn right_of(found: &Found, call: &Call) -> Option<String> {
    let suite = found.at.sweep.suite(&found.at.cell)?;
    let reply = suite.right_reply(found.at.item, &found.at.cell.setting, &call.request)?;
    let mut text = reply.text.as_deref().unwrap_or("(no text)").to_owned();
    for call in &reply.tool_calls {
        text.push_str(&format!("\ncalls {}({})", call.name, call.arguments));
    }
    Some(text)
}

fn beside(answer: &str, right: &str) -> Markup {
    if answer.trim() == right.trim() {
        return html! { (said(answer)) p.agrees { "✓ as the gold" } };
    }
    let (answer, right) = differences::marked(answer, right).unwrap_or_else(|| (said(answer), said(right)));
    html! {
        div.beside {
            div { h4 { "Answer" } (answer) }
            div { h4 { "A right answer" } (right) }
        }
    }
}

fn tries(attempts: &[AttemptRow]) -> Markup {
    html! {
        @if !attempts.is_empty() {
            section #attempts {
                h2 { "Attempts" }
                (scrolled("Attempts", html! {
                    table {
                        thead { tr {
                            th scope="col" { "Attempt" } th scope="col" { "State" } th scope="col" { "Outcome" } th scope="col" { "Started" }
                            th.number scope="col" { "Took" } th.number scope="col" { "Answered calls" } th.number scope="col" { "Retries" }
                            th.number scope="col" { "Tokens" } th.number scope="col" { "Money" } th scope="col" { "Worker" }
                        } }
                        tbody {
                            @for attempt in attempts {
                                tr {
                                    th scope="row" { (attempt.number) }
                                    td { (attempt.state.as_str().replace('_', " ")) }
                                    td { @if let Some(of) = &attempt.outcome { (outcome(of, false)) } @else { (numbers::NOTHING) } }
                                    td { (numbers::moment(attempt.started_at)) }
                                    td.number {
                                        @match attempt.ended_at {
                                            Some(ended) => { (numbers::seconds(ended.duration_since(attempt.started_at).as_secs_f64())) }
                                            None => { "under way" }
                                        }
                                    }
                                    td.number { (attempt.calls) }
                                    td.number { (attempt.retries) }
                                    td.number { (numbers::tokens(attempt.usage)) }
                                    td.number {
                                        (numbers::cost(attempt.cost))
                                        @if attempt.maybe_spent.0 > 0 { " and perhaps " (attempt.maybe_spent) }
                                    }
                                    td { (attempt.worker) }
                                }
                            }
                        }
                    }
                }))
            }
        }
    }
}

/// `3 answered, 1 of them from the response cache, 2 retries, 1.2 s waiting for answers`. Without an answer of its own it waited for none.
fn calls(row: &SessionRow) -> String {
    let mut parts = vec![format!("{} answered", row.calls)];
    let cached = row.cached_calls.unwrap_or(0);
    if cached > 0 {
        parts.push(format!("{cached} of them from the response cache"));
    }
    parts.push(counted(row.retries.into(), "retry", "retries"));
    if row.calls > cached {
        parts.push(format!("{} waiting for answers", numbers::micros(row.latency_us)));
    }
    parts.join(", ")
}
