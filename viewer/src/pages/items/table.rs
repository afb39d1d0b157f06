//! The table of items, with all models side by side.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use maud::{Markup, html};
use regatta_backends::ListedSession;
use regatta_catalog::Sweep;
use regatta_proto::ItemIndex;

use super::super::group::Group;
use crate::annotations::{ByPerson, Mark};
use crate::page::scrolled;
use crate::selection::Place;
use crate::source::Run;
use crate::{address, numbers};

/// Rows of a page, and the annotations of their sessions.
pub(super) struct Rows<'r> {
    pub(super) items: &'r [ItemIndex],
    pub(super) listed: &'r [ListedSession],
    /// Sessions that are selected; `None` for all.
    pub(super) selected: Option<&'r BTreeSet<Place>>,
    /// Annotations by session; `None` where they are not shown.
    pub(super) annotated: Option<&'r HashMap<Place, ByPerson<'r>>>,
    /// The filters, which links to sessions carry on.
    pub(super) context: &'r str,
}

pub(super) fn table(run: &Run, sweep: &Sweep, group: &Group<'_>, rows: &Rows<'_>) -> Markup {
    let mut sessions: BTreeMap<Place, &ListedSession> = BTreeMap::new();
    sessions.extend(rows.listed.iter().map(|session| ((session.item, session.cell), session)));
    let models = group.models();
    let names = |index: ItemIndex| {
        let item = group.cells.first().and_then(|cell| sweep.item(cell, index));
        item.map_or_else(|| (index.to_string(), String::new()), |item| (item.id.to_string(), item.task.to_string()))
    };
    scrolled(
        "Items",
        html! {
            table.items {
                thead { tr {
                    th scope="col" { "Item" }
                    th scope="col" { "Task" }
                    @for model in &models { th scope="col" { (model) } }
                    @if rows.annotated.is_some() { th scope="col" { "Annotated" } }
                } }
                tbody {
                    @for item in rows.items {
                        @let (id, task) = names(*item);
                        tr {
                            th scope="row" { (id) }
                            td { (task) }
                            @for model in &models {
                                td {
                                    @for cell in group.cells.iter().filter(|cell| cell.model == **model) {
                                        (session(run, rows, sessions.get(&(*item, cell.index)).copied(), cell.trial.0))
                                        " "
                                    }
                                }
                            }
                            @if let Some(annotated) = rows.annotated {
                                td { (of_item(annotated, group.cells.iter().map(|cell| (*item, cell.index)))) }
                            }
                        }
                    }
                }
            }
        },
    )
}

/// The marks of an item's sessions, counted by kind: `✓ 2 ✗ 1`.
fn of_item(annotated: &HashMap<Place, ByPerson<'_>>, places: impl Iterator<Item = Place>) -> Markup {
    let mut counts: BTreeMap<Option<Mark>, u64> = BTreeMap::new();
    for (_, annotation) in places.filter_map(|place| annotated.get(&place)).flat_map(BTreeMap::values) {
        *counts.entry(annotation.mark).or_default() += 1;
    }
    html! {
        @for (mark, count) in counts {
            @let (sign, word) = mark.map_or(("✎", "not marked"), |mark| (mark.sign(), mark.as_str()));
            span.annotated title=(word) { span aria-hidden="true" { (sign) } span.unseen { (word) } " " (count) }
            " "
        }
    }
}

/// One session in a few characters, with a link to it.
fn session(run: &Run, rows: &Rows<'_>, session: Option<&ListedSession>, trial: u16) -> Markup {
    let Some(session) = session else { return html! { span.none title={ "trial " (trial) ": not run yet" } { "·" } } };
    let place = (session.item, session.cell);
    let address = format!("{}{}", address::session(&run.name, session.cell, session.item), rows.context);
    let ending = match session.outcome.cause() {
        _ if session.is_awaiting => "waits for verdicts".to_owned(),
        None => session.outcome.as_str().to_owned(),
        Some(cause) => format!("{}: {cause}", session.outcome.as_str()),
    };
    let flags = session.flags.to_string();
    let mut told = if flags.is_empty() { ending } else { format!("{ending}; {flags}") };
    let people = rows.annotated.and_then(|annotated| annotated.get(&place));
    for (by, (_, annotation)) in people.into_iter().flatten() {
        told += &format!("; {} by {}", annotation.mark.map_or("a note", Mark::as_str), by.as_str());
    }
    let shade = match (session.score, session.outcome.cause()) {
        (_, Some(_)) => "bad",
        (Some(score), None) => shade(score),
        (None, None) => "",
    };
    let is_selected = rows.selected.is_none_or(|selected| selected.contains(&place));
    let class = format!("mark {shade} {}", if is_selected { "" } else { "aside" });
    html! {
        a class=(class.trim_end()) href=(address) title={ "trial " (trial) ": " (told) } {
            @if session.is_awaiting { "…" } @else if session.outcome.cause().is_some() && session.score.is_none() { "✕" } @else { (numbers::maybe(session.score)) }
            @if !flags.is_empty() { sup { "⚑" } }
            @if people.is_some() { sup { "✎" } }
        }
    }
}

/// Shade of a value in 0..=1; none for other values, whose scale is unknown.
fn shade(score: f64) -> &'static str {
    match score {
        s if !(0.0..=1.0).contains(&s) => "",
        s if s >= 0.999 => "full",
        s if s >= 0.5 => "more",
        s if s > 0.0 => "less",
        _ => "zero",
    }
}
