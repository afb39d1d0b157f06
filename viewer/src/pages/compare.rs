//! Two models, or one model in two runs, with the items on which one is better and those on which the other is.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use maud::{Markup, html};
use regatta_backends::{ItemMean, ListedSession, ScoreValue};
use regatta_proto::{Cell, CellIndex, ItemId, ItemIndex};
use serde::Deserialize;

use super::group::{self, select};
use crate::page::{self, Page, Tab, scrolled};
use crate::problem::Problem;
use crate::source::{Run, cells_of};
use crate::{Viewer, address, numbers, progress};

/// Items on a page of either side, those with the largest differences first.
const FLIPS: usize = 100;
/// Smallest difference that counts.
const LEAST: f64 = 1e-9;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Wanted {
    benchmark: String,
    setting: String,
    value: String,
    /// Model on the left, of this run.
    a: String,
    /// Model on the right, of the other run.
    b: String,
    /// Name of the other run; this run if empty.
    with: String,
    /// Page of the items on which the left side is better, from 0.
    page_a: u64,
    /// Page of the items on which the right side is better, from 0.
    page_b: u64,
}

impl Wanted {
    /// Query of the address that shows these pages of the two lists.
    fn on_pages(&self, pages: [u64; 2]) -> String {
        let [of_a, of_b] = pages.map(|page| if page == 0 { String::new() } else { page.to_string() });
        address::query(&[
            ("benchmark", &self.benchmark),
            ("setting", &self.setting),
            ("value", &self.value),
            ("a", &self.a),
            ("b", &self.b),
            ("with", &self.with),
            ("page_a", &of_a),
            ("page_b", &of_b),
        ])
    }
}

/// One model in one run.
struct Side {
    run: Run,
    model: String,
    cells: Vec<CellIndex>,
    /// Means over the trials of each item, in the order of the data set.
    means: Arc<[ItemMean]>,
}

impl Side {
    /// The store computes the means; that takes a look at every session of the model, so they are remembered.
    async fn read(
        viewer: &Viewer,
        run: Run,
        cells: &[&Cell],
        model: &str,
        value: &ScoreValue,
    ) -> Result<Self, Problem> {
        let of_model = cells.iter().filter(|cell| cell.model.to_string() == model);
        let cells: Vec<CellIndex> = of_model.map(|cell| cell.index).collect();
        let ledger = &run.store.ledger;
        let fingerprint = progress::Totals::of(&ledger.cell_progress(&run.row.id).await?);
        let question = format!("{} {} {value:?} {cells:?}", run.name, run.row.id);
        let read = async {
            let means = ledger.item_means(&run.row.id, &cells, value).await?;
            Ok::<_, Problem>(Arc::from(means))
        };
        let means = viewer.item_means.get(question, &format!("{fingerprint:?}"), read).await?;
        Ok(Self { run, model: model.to_owned(), cells, means })
    }

    /// The sessions of `items`, by item and trial.
    async fn sessions(&self, items: &[ItemIndex], value: &ScoreValue) -> Result<Sessions, Problem> {
        let ledger = &self.run.store.ledger;
        let listed = ledger.listed_sessions(&self.run.row.id, &self.cells, items, Some(value)).await?;
        let mut sessions = Sessions::new();
        for session in listed {
            sessions.entry(session.item).or_default().push(session);
        }
        Ok(sessions)
    }
}

/// Sessions of one side.
type Sessions = BTreeMap<ItemIndex, Vec<ListedSession>>;

/// An item on which one side is better.
struct Flip<'s> {
    id: &'s ItemId,
    /// Positions of the item in the data of the left and of the right side.
    items: [ItemIndex; 2],
    a: f64,
    b: f64,
}

/// Items of both sides, compared.
#[derive(Default)]
struct Flips<'s> {
    /// The left side is better on these, the largest difference first.
    of_a: Vec<Flip<'s>>,
    /// The right side is.
    of_b: Vec<Flip<'s>>,
    /// Number of items on which both are alike.
    alike: u64,
    /// Number of items without a value on one side.
    apart: u64,
}

impl<'s> Flips<'s> {
    fn between(a: &'s [ItemMean], b: &'s [ItemMean]) -> Self {
        let of_b: HashMap<&ItemId, &ItemMean> = b.iter().map(|mean| (&mean.item_id, mean)).collect();
        let (mut flips, mut shared) = (Self::default(), 0);
        for left in a {
            let right = of_b.get(&left.item_id);
            shared += usize::from(right.is_some());
            let both = right.and_then(|right| Some((*right, left.mean?, right.mean?)));
            let Some((right, a, b)) = both else {
                flips.apart += 1;
                continue;
            };
            let flip = Flip { id: &left.item_id, items: [left.item, right.item], a, b };
            if a > b + LEAST {
                flips.of_a.push(flip);
            } else if b > a + LEAST {
                flips.of_b.push(flip);
            } else {
                flips.alike += 1;
            }
        }
        flips.apart += (b.len() - shared) as u64;
        for of_one in [&mut flips.of_a, &mut flips.of_b] {
            of_one.sort_by(|one, other| {
                (other.a - other.b).abs().total_cmp(&(one.a - one.b).abs()).then_with(|| one.id.cmp(other.id))
            });
        }
        flips
    }
}

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
    let other_run = match wanted.with.as_str() {
        "" => run.clone(),
        other => viewer.source.run(other).await?,
    };
    let other_sweep = other_run.sweep().await?;
    let other_cells = cells_of(&other_sweep, group.benchmark.as_str(), group.setting.as_str());
    let models = names(&group.cells);
    let other_models = names(&other_cells);
    let a = chosen(&models, &wanted.a, 0);
    let b = chosen(&other_models, &wanted.b, usize::from(wanted.with.is_empty()));
    let result = match (&value, a, b) {
        (Some(value), Some(a), Some(b)) => {
            let a = Side::read(&viewer, run.clone(), &group.cells, a, value).await?;
            let b = Side::read(&viewer, other_run.clone(), &other_cells, b, value).await?;
            flips(&a, &b, value, &wanted).await?
        }
        _ => html! { p.notice { "There are no two models to compare here." } },
    };
    let option = |text: &String| (text.clone(), text.clone());
    let value_options: Vec<_> = values.iter().map(group::name_of).map(|name| option(&name)).collect();
    let mut runs: Vec<(String, String)> = vec![(String::new(), "this run".to_owned())];
    runs.extend(
        viewer
            .source
            .newest()
            .await?
            .runs
            .iter()
            .filter(|other| other.name != run.name)
            .map(|other| option(&other.name)),
    );
    let body = html! {
        section {
            h2 { "Compare" }
            form.filters method="get" {
                (group::selects(&sweep, &group))
                (select("value", "Value", &value.as_ref().map(group::name_of).unwrap_or_default(), &value_options))
                (select("a", "Model", a.map_or("", String::as_str), &models.iter().map(option).collect::<Vec<_>>()))
                (select("b", "against", b.map_or("", String::as_str), &other_models.iter().map(option).collect::<Vec<_>>()))
                @if runs.len() > 1 { (select("with", "of", &wanted.with, &runs)) }
                button type="submit" { "Compare" }
            }
        }
        (result)
    };
    let page = Page {
        title: "Compare",
        run: Some((&run, Tab::Compare)),
        events: None,
        has_token: viewer.is_asked_for_token,
        body,
    };
    Ok(page::respond(page))
}

fn names(cells: &[&Cell]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for cell in cells {
        let name = cell.model.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn chosen<'m>(models: &'m [String], named: &str, otherwise: usize) -> Option<&'m String> {
    models.iter().find(|model| *model == named).or_else(|| models.get(otherwise)).or_else(|| models.first())
}

async fn flips(a: &Side, b: &Side, value: &ScoreValue, wanted: &Wanted) -> Result<Markup, Problem> {
    let found = Flips::between(&a.means, &b.means);
    let (name_a, name_b) = (label(a, b), label(b, a));
    let pages = [wanted.page_a, wanted.page_b];
    let on_page = |of: usize, page: u64| {
        // The other list begins anew: with all pairs of pages a site of files would never end.
        let mut pages = [0; 2];
        pages[of] = page;
        format!("{}/compare{}", address::run(&a.run.name), wanted.on_pages(pages))
    };
    let lists = [
        list([a, b], &found.of_a, value, &format!("Higher: {name_a}"), pages[0], |page| on_page(0, page)).await?,
        list([a, b], &found.of_b, value, &format!("Higher: {name_b}"), pages[1], |page| on_page(1, page)).await?,
    ];
    Ok(html! {
        section #flips {
            p {
                "By " (group::name_of(value)) ", a mean over trials: " b { (name_a) } " is higher on "
                (numbers::counted(found.of_a.len() as u64, "item", "items")) ", " b { (name_b) } " on " (numbers::count(found.of_b.len() as u64))
                ", and both are alike on " (numbers::count(found.alike)) "."
                @if found.apart > 0 { " " (numbers::counted(found.apart, "item has", "items have")) " no value on one side." }
            }
            p.hint { "What is significant of it, the report says." }
            @for list in lists { (list) }
        }
    })
}

/// The name that distinguishes a side from the other: model, run, or both.
fn label(side: &Side, other: &Side) -> String {
    match (side.model == other.model, side.run.name == other.run.name) {
        (true, false) => side.run.name.clone(),
        (_, true) => side.model.clone(),
        (false, false) => format!("{} of {}", side.model, side.run.name),
    }
}

/// A page of `flips`, with the sessions of its items alone.
async fn list(
    [a, b]: [&Side; 2],
    flips: &[Flip<'_>],
    value: &ScoreValue,
    title: &str,
    page: u64,
    address: impl Fn(u64) -> String,
) -> Result<Markup, Problem> {
    let from = usize::try_from(page).unwrap_or(usize::MAX).saturating_mul(FLIPS);
    let shown: Vec<&Flip<'_>> = flips.iter().skip(from).take(FLIPS).collect();
    let items = |of: usize| shown.iter().map(|flip| flip.items[of]).collect::<Vec<_>>();
    let (of_a, of_b) = (a.sessions(&items(0), value).await?, b.sessions(&items(1), value).await?);
    let pages = flips.len().div_ceil(FLIPS) as u64;
    // An address may have any number.
    let following = page.saturating_add(1);
    Ok(html! {
        h3 { (title) }
        @if flips.is_empty() { p { "No item." } } @else {
            (scrolled(title, html! {
                table {
                    thead { tr {
                        th scope="col" { "Item" } th.number scope="col" { (label(a, b)) } th.number scope="col" { (label(b, a)) }
                        th.number scope="col" { "Difference" } th scope="col" { "Sessions" }
                    } }
                    tbody {
                        @for flip in shown {
                            tr {
                                th scope="row" { (flip.id) }
                                td.number { (numbers::score(flip.a)) }
                                td.number { (numbers::score(flip.b)) }
                                td.number { (format!("{:+.3}", flip.a - flip.b)) }
                                td { (links(a, of_a.get(&flip.items[0]), "a")) " | " (links(b, of_b.get(&flip.items[1]), "b")) }
                            }
                        }
                    }
                }
            }))
            @if pages > 1 {
                nav.pager aria-label={ "Pages of " (title) } {
                    @if page > 0 { a rel="prev" href=(address(page - 1)) { "← previous" } }
                    span { "page " (following) " of " (pages) }
                    @if following < pages { a rel="next" href=(address(following)) { "next →" } }
                }
            }
        }
    })
}

fn links(side: &Side, sessions: Option<&Vec<ListedSession>>, name: &str) -> Markup {
    html! {
        @for (number, session) in sessions.into_iter().flatten().enumerate() {
            a href=(address::session(&side.run.name, session.cell, session.item)) title={ (side.model) ", trial " (number) } {
                (name) (number) " " (numbers::maybe(session.score))
            }
            " "
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(of: &[(u32, &str, Option<f64>)]) -> Vec<ItemMean> {
        let mean = |&(item, id, mean): &(u32, &str, Option<f64>)| ItemMean {
            item: ItemIndex(item),
            item_id: id.parse().unwrap(),
            mean,
        };
        of.iter().map(mean).collect()
    }

    #[test]
    fn items_are_paired_by_id_and_ordered_by_their_difference() {
        let a = means(&[
            (0, "x", Some(1.0)),
            (1, "y", Some(0.5)),
            (2, "z", Some(0.9)),
            (3, "w", None),
            (4, "v", Some(0.5)),
        ]);
        let b = means(&[
            (7, "y", Some(0.75)),
            (8, "x", Some(0.75)),
            (9, "z", Some(0.2)),
            (10, "w", Some(1.0)),
            (11, "v", Some(0.5)),
            (12, "u", None),
        ]);
        let flips = Flips::between(&a, &b);
        let told =
            |flips: &[Flip<'_>]| flips.iter().map(|flip| (flip.id.to_string(), flip.items[1].0)).collect::<Vec<_>>();
        assert_eq!(told(&flips.of_a), [("z".to_owned(), 9), ("x".to_owned(), 8)]);
        assert_eq!(told(&flips.of_b), [("y".to_owned(), 7)]);
        assert_eq!((flips.alike, flips.apart), (1, 2), "w lacks a value on the left, u an item");
    }

    #[test]
    fn an_address_of_a_page_keeps_what_is_compared() {
        let wanted = Wanted { a: "sim/one".to_owned(), page_a: 3, ..Wanted::default() };
        assert_eq!(wanted.on_pages([0, 2]), "?a=sim%2Fone&page_b=2");
    }
}
