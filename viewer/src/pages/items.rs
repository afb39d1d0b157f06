//! Items with all models side by side.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use maud::{Markup, html};
use regatta_backends::{ITEMS_FOUND_MAX, ItemOrder, ItemPage, ItemQuery, ListedSession, Standing};
use regatta_catalog::Sweep;
use regatta_proto::{Cause, CellIndex, Flag, ItemIndex};
use serde::Deserialize;

use super::group::{self, Group, select};
use crate::page::{self, Page, Tab, scrolled};
use crate::problem::Problem;
use crate::source::Run;
use crate::{Viewer, address, numbers, progress};

/// Items on a page.
const ITEMS: u32 = 50;
/// Longest text to search for, in bytes.
const TEXT_BYTES_MAX: usize = 200;

/// The query of the page's address; every field is optional.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Wanted {
    benchmark: String,
    setting: String,
    model: String,
    value: String,
    outcome: String,
    cause: String,
    flag: String,
    low: String,
    high: String,
    text: String,
    sort: String,
    page: u64,
}

const ORDERS: [(&str, &str, ItemOrder); 4] = [
    ("", "as in the data set", ItemOrder::Position),
    ("disagreement", "most disagreement first", ItemOrder::Disagreement),
    ("lowest", "lowest mean first", ItemOrder::Lowest),
    ("highest", "highest mean first", ItemOrder::Highest),
];

pub(crate) async fn show(
    State(viewer): State<Viewer>,
    Path(name): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let run = viewer.source.run(&name).await?;
    let sweep = run.sweep().await?;
    let group = group::chosen(&sweep, &wanted.benchmark, &wanted.setting)?;
    let values = group.values(&sweep);
    let value = group::value_of(&values, &wanted.value);
    let query = ItemQuery { value: value.clone(), ..wanted.query(&group)? };
    let page = match wanted.is_plain() {
        // Without filters, the data set has all items in order, and the store need not look at every session.
        true => every_item(&group, &sweep, &query),
        false => found(&viewer, &run, &query).await?,
    };
    let cells: Vec<CellIndex> = group.cells.iter().map(|cell| cell.index).collect();
    let listed = run.store.ledger.listed_sessions(&run.row.id, &cells, &page.items, value.as_ref()).await?;
    let values: Vec<_> = values.iter().map(|value| (group::name_of(value), group::name_of(value))).collect();
    let mut models: Vec<_> = group.models().iter().map(|model| (model.to_string(), model.to_string())).collect();
    models.insert(0, (String::new(), "any model".to_owned()));
    let value_name = value.as_ref().map(group::name_of).unwrap_or_default();
    let names = |index: ItemIndex| {
        let item = group.cells.first().and_then(|cell| sweep.item(cell, index));
        item.map(|item| (item.id.to_string(), item.task.to_string()))
    };
    let body = html! {
        section {
            h2 { "Items" }
            (form(&sweep, &group, &wanted, &value_name, &values, &models))
        }
        section #items data-part {
            p.hint { (numbers::counted(page.total, "item", "items")) @if !value_name.is_empty() { "; numbers are " (value_name) ", one for each trial" } }
            (table(&run, &group, &page, &listed, names))
            (pager(&run, &wanted, page.total))
        }
    };
    let page = Page {
        title: "Items",
        run: Some((&run, Tab::Items)),
        events: Some(format!("{}/events", address::run(&run.name))).filter(|_| !run.row.state.is_end()),
        has_token: viewer.is_asked_for_token,
        body,
    };
    Ok(page::respond(page))
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

impl Wanted {
    fn is_plain(&self) -> bool {
        [&self.outcome, &self.cause, &self.flag, &self.low, &self.high, &self.sort].iter().all(|field| field.is_empty())
    }

    fn query(&self, group: &Group<'_>) -> Result<ItemQuery, Problem> {
        let unknown = |what: &str, given: &str, known: String| {
            Problem::wrong(format!("unknown {what} {given:?} (known: {known})"))
        };
        let standing = match self.outcome.as_str() {
            "" => None,
            given => Some(
                Standing::ALL
                    .into_iter()
                    .find(|standing| standing.as_str() == given)
                    .ok_or_else(|| unknown("outcome", given, Standing::ALL.map(Standing::as_str).join(", ")))?,
            ),
        };
        let flag = match self.flag.as_str() {
            "" => None,
            given => Some(
                Flag::ALL
                    .into_iter()
                    .find(|flag| flag.as_str() == given)
                    .ok_or_else(|| unknown("flag", given, Flag::ALL.map(Flag::as_str).join(", ")))?,
            ),
        };
        let order = ORDERS.iter().find(|(name, ..)| *name == self.sort).map(|(.., order)| *order);
        let order = order.ok_or_else(|| unknown("order", &self.sort, ORDERS.map(|(name, ..)| name).join(", ")))?;
        let number = |what: &str, text: &str| match text.trim() {
            "" => Ok(None),
            text => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Some(number)),
                Ok(_) | Err(_) => Err(Problem::wrong(format!("{what} is {text:?}, which is no number"))),
            },
        };
        if self.text.len() > TEXT_BYTES_MAX {
            return Err(Problem::wrong(format!("the text to look for is longer than {TEXT_BYTES_MAX} bytes")));
        }
        let of_model = group.cells.iter().filter(|cell| self.model.is_empty() || cell.model.to_string() == self.model);
        Ok(ItemQuery {
            cells: of_model.map(|cell| cell.index).collect(),
            value: None,
            standing,
            cause: Some(self.cause.clone()).filter(|cause| !cause.is_empty()),
            flag,
            score: (number("the lowest value", &self.low)?, number("the highest value", &self.high)?),
            text: self.text.trim().to_owned(),
            order,
            offset: self.page.saturating_mul(u64::from(ITEMS)),
            limit: ITEMS,
        })
    }

    /// The same query for another page.
    fn on_page(&self, page: u64) -> String {
        let page = if page == 0 { String::new() } else { page.to_string() };
        address::query(&[
            ("benchmark", &self.benchmark),
            ("setting", &self.setting),
            ("model", &self.model),
            ("value", &self.value),
            ("outcome", &self.outcome),
            ("cause", &self.cause),
            ("flag", &self.flag),
            ("low", &self.low),
            ("high", &self.high),
            ("text", &self.text),
            ("sort", &self.sort),
            ("page", &page),
        ])
    }
}

fn form(
    sweep: &Sweep,
    group: &Group<'_>,
    wanted: &Wanted,
    value: &str,
    values: &[(String, String)],
    models: &[(String, String)],
) -> Markup {
    let word = |word: &str| (word.to_owned(), word.replace('_', " "));
    let any = |what: &str| (String::new(), what.to_owned());
    let outcomes: Vec<_> =
        std::iter::once(any("any outcome")).chain(Standing::ALL.map(|standing| word(standing.as_str()))).collect();
    let flags: Vec<_> = std::iter::once(any("any flags")).chain(Flag::ALL.map(|flag| word(flag.as_str()))).collect();
    let causes: Vec<_> = std::iter::once(any("any cause")).chain(CAUSES.map(|cause| word(cause.as_str()))).collect();
    let orders: Vec<_> = ORDERS.map(|(name, text, _)| (name.to_owned(), text.to_owned())).to_vec();
    html! {
        form.filters method="get" {
            (group::selects(sweep, group))
            (select("value", "Value", value, values))
            (select("model", "Model", &wanted.model, models))
            (select("outcome", "Outcome", &wanted.outcome, &outcomes))
            (select("cause", "Cause", &wanted.cause, &causes))
            (select("flag", "Flag", &wanted.flag, &flags))
            label { span { "Value from" } input type="text" inputmode="decimal" size="5" name="low" value=(wanted.low); }
            label { span { "to" } input type="text" inputmode="decimal" size="5" name="high" value=(wanted.high); }
            label { span { "Id or task has" } input type="search" name="text" value=(wanted.text); }
            (select("sort", "Order", &wanted.sort, &orders))
            button type="submit" { "Show" }
        }
    }
}

/// Causes that the filter offers.
const CAUSES: [Cause; 19] = [
    Cause::ContextLength,
    Cause::ContentFilter,
    Cause::EndpointUnavailable,
    Cause::RateLimited,
    Cause::Timeout,
    Cause::BadResponse,
    Cause::Auth,
    Cause::Quota,
    Cause::ModelNotFound,
    Cause::RequestRefused,
    Cause::Poison,
    Cause::Budget,
    Cause::CacheMiss,
    Cause::JudgeUnavailable,
    Cause::Cancelled,
    Cause::Undeliverable,
    Cause::TranscriptUnfit,
    Cause::AgentLost,
    Cause::Internal,
];

fn table(
    run: &Run,
    group: &Group<'_>,
    page: &ItemPage,
    listed: &[ListedSession],
    names: impl Fn(ItemIndex) -> Option<(String, String)>,
) -> Markup {
    let mut sessions: BTreeMap<(ItemIndex, CellIndex), &ListedSession> = BTreeMap::new();
    sessions.extend(listed.iter().map(|session| ((session.item, session.cell), session)));
    let models = group.models();
    scrolled(
        "Items",
        html! {
            table.items {
                thead { tr {
                    th scope="col" { "Item" }
                    th scope="col" { "Task" }
                    @for model in &models { th scope="col" { (model) } }
                } }
                tbody {
                    @for item in &page.items {
                        @let (id, task) = names(*item).unwrap_or_else(|| (item.to_string(), String::new()));
                        tr {
                            th scope="row" { (id) }
                            td { (task) }
                            @for model in &models {
                                td {
                                    @for cell in group.cells.iter().filter(|cell| cell.model == **model) {
                                        (mark(run, sessions.get(&(*item, cell.index)).copied(), cell.trial.0))
                                        " "
                                    }
                                }
                            }
                        }
                    }
                }
            }
        },
    )
}

/// One session in a few characters, with a link to it.
fn mark(run: &Run, session: Option<&ListedSession>, trial: u16) -> Markup {
    let Some(session) = session else { return html! { span.none title={ "trial " (trial) ": not run yet" } { "·" } } };
    let address = address::session(&run.name, session.cell, session.item);
    let ending = match session.outcome.cause() {
        _ if session.is_awaiting => "waits for verdicts".to_owned(),
        None => session.outcome.as_str().to_owned(),
        Some(cause) => format!("{}: {cause}", session.outcome.as_str()),
    };
    let flags = session.flags.to_string();
    let told = if flags.is_empty() { ending } else { format!("{ending}; {flags}") };
    let class = match (session.score, session.outcome.cause()) {
        (_, Some(_)) => "mark bad".to_owned(),
        (Some(score), None) => format!("mark {}", shade(score)),
        (None, None) => "mark".to_owned(),
    };
    html! {
        a class=(class) href=(address) title={ "trial " (trial) ": " (told) } {
            @if session.is_awaiting { "…" } @else if session.outcome.cause().is_some() && session.score.is_none() { "✕" } @else { (numbers::maybe(session.score)) }
            @if !flags.is_empty() { sup { "⚑" } }
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

fn pager(run: &Run, wanted: &Wanted, total: u64) -> Markup {
    let pages = total.div_ceil(u64::from(ITEMS));
    let address = |page| format!("{}/items{}", address::run(&run.name), wanted.on_page(page));
    html! {
        @if pages > 1 {
            nav.pager aria-label="Pages of items" {
                @if wanted.page > 0 { a rel="prev" href=(address(wanted.page - 1)) { "← previous" } }
                span { "page " (wanted.page + 1) " of " (pages) }
                @if wanted.page + 1 < pages { a rel="next" href=(address(wanted.page + 1)) { "next →" } }
            }
        }
    }
}
