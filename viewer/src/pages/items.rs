//! Items with all models side by side.

mod form;
mod table;
pub(super) mod wanted;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use maud::{Markup, html};
use regatta_backends::{ITEMS_FOUND_MAX, ItemPage, ItemQuery};
use regatta_catalog::Sweep;
use regatta_proto::{CellIndex, ItemIndex};

use self::table::Rows;
use self::wanted::{ITEMS, Wanted};
use super::annotations;
use super::group::{self, Group};
use crate::annotations::ByPerson;
use crate::page::{self, Page, Tab};
use crate::problem::Problem;
use crate::searching::{TIME_MAX, search};
use crate::selection::{self, Place};
use crate::source::{ReadAnnotations, Run};
use crate::steering::Asker;
use crate::{Viewer, address, numbers, progress};

pub(crate) async fn show(
    State(viewer): State<Viewer>,
    asker: Asker,
    Path(name): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let mut run = viewer.source.run(&name).await?;
    viewer.sign(&mut run, &asker).await;
    let sweep = run.sweep().await?;
    let (benchmark, setting) = wanted.group();
    let group = group::chosen(&sweep, benchmark, setting)?;
    let values = group.values(&sweep);
    let value = group::value_of(&values, wanted.value());
    let query = wanted.query(&group, value.clone())?;
    let read = match &run.annotated {
        Some(annotated) => annotated.read().await?,
        None => ReadAnnotations::default(),
    };
    let annotated = selection::annotated(&sweep, &group, &read.all);
    let part = match (wanted.is_of_sessions(), wanted.is_plain()) {
        (true, _) => selected(&viewer, &run, &sweep, &wanted, &query, &annotated).await?,
        // Without filters, the data set has all items in order, and the store need not look at every session.
        (false, true) => Part::of_items(every_item(&group, &sweep, &query)),
        (false, false) => Part::of_items(found(&viewer, &run, &query).await?),
    };
    let cells: Vec<CellIndex> = group.cells.iter().map(|cell| cell.index).collect();
    let listed = run.store.ledger.listed_sessions(&run.row.id, &cells, &part.items, value.as_ref()).await?;
    let value_name = value.as_ref().map(group::name_of).unwrap_or_default();
    // Pages without annotations lead nowhere from session to session, and their links stay as they are.
    let context = if run.annotated.is_some() { wanted.context() } else { String::new() };
    let rows = Rows {
        items: &part.items,
        listed: &listed,
        selected: part.selected.as_ref(),
        annotated: run.annotated.is_some().then_some(&annotated),
        context: &context,
    };
    let body = html! {
        section {
            h2 { "Items" }
            (form::form(&sweep, &group, &wanted, &value_name, &values, run.annotated.is_some()))
        }
        section #items data-part {
            @if let Some(annotated) = &run.annotated { (annotations::problems(annotated, &read)) }
            p.hint { (part.told) @if !value_name.is_empty() { "; numbers are " (value_name) ", one for each trial" } }
            (table::table(&run, &sweep, &group, &rows))
            (pager(&run, &wanted, &part.further))
        }
    };
    let page = Page {
        title: "Items",
        run: Some((&run, Tab::Items)),
        // A search is made when somebody asks for it, and not again with every session that is recorded.
        events: Some(format!("{}/events", address::run(&run.name)))
            .filter(|_| !run.row.state.is_end() && matches!(part.further, Further::Pages(_))),
        has_token: viewer.is_asked_for_token,
        body,
    };
    Ok(page::respond(page))
}

/// The part of a list that a page shows.
struct Part {
    items: Vec<ItemIndex>,
    /// Sessions that the filters select; `None` where they select items.
    selected: Option<BTreeSet<Place>>,
    /// The number of what was found, in words.
    told: String,
    further: Further,
}

/// The way to the rest of a list.
enum Further {
    /// So many items in all, in pages.
    Pages(u64),
    /// Sessions from this position on have not been searched; `None` at the end.
    Searched(Option<usize>),
}

impl Part {
    fn of_items(page: ItemPage) -> Self {
        Self {
            items: page.items,
            selected: None,
            told: numbers::counted(page.total, "item", "items"),
            further: Further::Pages(page.total),
        }
    }
}

/// A page of the items whose sessions are selected by what is not in the store.
async fn selected(
    viewer: &Viewer,
    run: &Run,
    sweep: &Sweep,
    wanted: &Wanted,
    query: &ItemQuery,
    annotated: &HashMap<Place, ByPerson<'_>>,
) -> Result<Part, Problem> {
    let places = selection::sessions(viewer, run, sweep, query, wanted.sample()?).await?;
    let mut places = places.ok_or_else(selection::too_many)?.to_vec();
    if let Some(filter) = wanted.annotated()? {
        let me = run.annotated.as_ref().and_then(|of| of.by.as_ref());
        places.retain(|place| filter.lets_through(annotated.get(place), me));
    }
    let all = places.len();
    let Some(words) = wanted.said()? else {
        let items = items_of(&places);
        let from = usize::try_from(query.offset).unwrap_or(usize::MAX);
        return Ok(Part {
            told: format!("{} of {}", sessions(all), numbers::counted(items.len() as u64, "item", "items")),
            further: Further::Pages(items.len() as u64),
            items: items.into_iter().skip(from).take(ITEMS as usize).collect(),
            selected: Some(places.into_iter().collect()),
        });
    };
    let from = wanted.from.min(all);
    let searched = search(run, &words, &places[from..], ITEMS as usize, TIME_MAX).await?;
    let next = from + searched.looked;
    let told = match searched.looked {
        0 => "no session to look into".to_owned(),
        looked => format!(
            "{} {} it; looked into {} to {} of {}",
            sessions(searched.found.len()),
            if searched.found.len() == 1 { "has" } else { "have" },
            numbers::count(from as u64 + 1),
            numbers::count((from + looked) as u64),
            sessions(all)
        ),
    };
    Ok(Part {
        items: items_of(&searched.found),
        told,
        further: Further::Searched((next < all).then_some(next)),
        selected: Some(searched.found.into_iter().collect()),
    })
}

fn sessions(count: usize) -> String {
    numbers::counted(count as u64, "session", "sessions")
}

/// The items of sessions that are in a list's order, each once.
fn items_of(places: &[Place]) -> Vec<ItemIndex> {
    let mut items: Vec<ItemIndex> = places.iter().map(|(item, _)| *item).collect();
    items.dedup();
    items
}

/// A page of the items that the store finds. Their order needs all of them, so the result is cached.
async fn found(viewer: &Viewer, run: &Run, query: &ItemQuery) -> Result<ItemPage, Problem> {
    let ledger = &run.store.ledger;
    let fingerprint = progress::Totals::of(&ledger.cell_progress(&run.row.id).await?);
    let all = ItemQuery { offset: 0, limit: ITEMS_FOUND_MAX, ..query.clone() };
    let question = format!("{} {} {all:?}", run.name, run.row.id);
    let find = async {
        let found = ledger.find_items(&run.row.id, &all).await?;
        Ok::<_, Problem>(Arc::from(found.items))
    };
    let items = viewer.orders.get(question, &format!("{fingerprint:?}"), find).await?;
    let from = usize::try_from(query.offset).unwrap_or(usize::MAX);
    let of_page = items.iter().skip(from).take(ITEMS as usize).copied().collect();
    Ok(ItemPage { total: items.len() as u64, items: of_page })
}

/// Items by id and task, including those that have not been run yet.
fn every_item(group: &Group<'_>, sweep: &Sweep, query: &ItemQuery) -> ItemPage {
    let Some(cell) = group.cells.first() else { return ItemPage::default() };
    let text = query.text.to_lowercase();
    let has = |of: &str| of.to_lowercase().contains(&text);
    let fits =
        |index: &&ItemIndex| sweep.item(cell, **index).is_some_and(|item| has(item.id.as_str()) || has(&item.task));
    let fitting: Vec<ItemIndex> = sweep.selected(cell).iter().filter(fits).copied().collect();
    let from = usize::try_from(query.offset).unwrap_or(usize::MAX);
    let items = fitting.iter().skip(from).take(ITEMS as usize).copied().collect();
    ItemPage { total: fitting.len() as u64, items }
}

fn pager(run: &Run, wanted: &Wanted, further: &Further) -> Markup {
    let address = |query: String| format!("{}/items{query}", address::run(&run.name));
    match further {
        Further::Pages(total) => {
            let pages = total.div_ceil(u64::from(ITEMS));
            // An address may have any number.
            let following = wanted.page.saturating_add(1);
            html! {
                @if pages > 1 {
                    nav.pager aria-label="Pages of items" {
                        @if wanted.page > 0 { a rel="prev" href=(address(wanted.on_page(wanted.page - 1))) { "← previous" } }
                        span { "page " (following) " of " (pages) }
                        @if following < pages { a rel="next" href=(address(wanted.on_page(following))) { "next →" } }
                    }
                }
            }
        }
        Further::Searched(next) => html! {
            @if next.is_some() || wanted.from > 0 {
                nav.pager aria-label="Parts of the search" {
                    @if wanted.from > 0 { a href=(address(wanted.list())) { "← from the beginning" } }
                    @if let Some(next) = next { a rel="next" href=(address(wanted.searching_from(*next))) { "look into the following sessions →" } }
                }
            }
        },
    }
}
