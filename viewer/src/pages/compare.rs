//! Two models, or one model in two runs, with the items on which one is better and those on which the other is.

use std::collections::BTreeMap;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use maud::{Markup, html};
use regatta_backends::{ListedSession, ScoreValue};
use regatta_proto::{Cell, CellIndex, ItemId};
use serde::Deserialize;

use super::group::{self, select};
use crate::page::{self, Page, Tab, scrolled};
use crate::problem::Problem;
use crate::source::{Run, cells_of};
use crate::{Viewer, address, numbers};

/// Most items shown for either side, those with the largest differences first.
const FLIPS_MAX: usize = 100;
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
}

/// Sessions of one model in one run, by the benchmark's ids of items.
struct Side {
    run: Run,
    model: String,
    sessions: BTreeMap<ItemId, Vec<ListedSession>>,
}

impl Side {
    async fn read(run: Run, cells: &[&Cell], model: &str, value: &ScoreValue) -> Result<Self, Problem> {
        let of_model = cells.iter().filter(|cell| cell.model.to_string() == model);
        let indices: Vec<CellIndex> = of_model.map(|cell| cell.index).collect();
        let listed = run.store.ledger.sessions_of_cells(&run.row.id, &indices, Some(value)).await?;
        let mut sessions: BTreeMap<ItemId, Vec<ListedSession>> = BTreeMap::new();
        for session in listed {
            sessions.entry(session.item_id.clone()).or_default().push(session);
        }
        Ok(Self { run, model: model.to_owned(), sessions })
    }

    fn mean(&self, item: &ItemId) -> Option<f64> {
        let scores: Vec<f64> = self.sessions.get(item)?.iter().filter_map(|session| session.score).collect();
        #[expect(clippy::cast_precision_loss, reason = "trials of one item")]
        let count = scores.len() as f64;
        (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / count)
    }
}

/// An item on which one side is better.
struct Flip<'s> {
    item: &'s ItemId,
    a: f64,
    b: f64,
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
            let a = Side::read(run.clone(), &group.cells, a, value).await?;
            let b = Side::read(other_run.clone(), &other_cells, b, value).await?;
            flips(&a, &b, value)
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

fn flips(a: &Side, b: &Side, value: &ScoreValue) -> Markup {
    let (mut of_a, mut of_b, mut alike, mut apart) = (Vec::new(), Vec::new(), 0_u64, 0_u64);
    for item in a.sessions.keys() {
        match (a.mean(item), b.mean(item)) {
            (Some(x), Some(y)) if x > y + LEAST => of_a.push(Flip { item, a: x, b: y }),
            (Some(x), Some(y)) if y > x + LEAST => of_b.push(Flip { item, a: x, b: y }),
            (Some(_), Some(_)) => alike += 1,
            (None, _) | (_, None) => apart += 1,
        }
    }
    apart += b.sessions.keys().filter(|item| !a.sessions.contains_key(*item)).count() as u64;
    let (name_a, name_b) = (label(a, b), label(b, a));
    html! {
        section #flips {
            p {
                "By " (group::name_of(value)) ", a mean over trials: " b { (name_a) } " is higher on " (numbers::count(of_a.len() as u64))
                " items, " b { (name_b) } " on " (numbers::count(of_b.len() as u64)) ", and both are alike on " (numbers::count(alike)) "."
                @if apart > 0 { " " (numbers::count(apart)) " items have no value on one side." }
            }
            p.hint { "What is significant of it, the report says." }
            (list(a, b, of_a, &format!("Higher: {name_a}")))
            (list(a, b, of_b, &format!("Higher: {name_b}")))
        }
    }
}

/// The name that distinguishes a side from the other: model, run, or both.
fn label(side: &Side, other: &Side) -> String {
    match (side.model == other.model, side.run.name == other.run.name) {
        (true, false) => side.run.name.clone(),
        (_, true) => side.model.clone(),
        (false, false) => format!("{} of {}", side.model, side.run.name),
    }
}

fn list(a: &Side, b: &Side, mut flips: Vec<Flip<'_>>, title: &str) -> Markup {
    flips.sort_by(|one, other| {
        (other.a - other.b).abs().total_cmp(&(one.a - one.b).abs()).then_with(|| one.item.cmp(other.item))
    });
    let count = flips.len();
    html! {
        h3 { (title) }
        @if flips.is_empty() { p { "No item." } } @else {
            (scrolled(title, html! {
                table {
                    thead { tr {
                        th scope="col" { "Item" } th.number scope="col" { (label(a, b)) } th.number scope="col" { (label(b, a)) }
                        th.number scope="col" { "Difference" } th scope="col" { "Sessions" }
                    } }
                    tbody {
                        @for flip in flips.iter().take(FLIPS_MAX) {
                            tr {
                                th scope="row" { (flip.item) }
                                td.number { (numbers::score(flip.a)) }
                                td.number { (numbers::score(flip.b)) }
                                td.number { (format!("{:+.3}", flip.a - flip.b)) }
                                td { (links(a, flip.item, "a")) " | " (links(b, flip.item, "b")) }
                            }
                        }
                    }
                }
            }))
            @if count > FLIPS_MAX { p.hint { (count - FLIPS_MAX) " more with smaller differences" } }
        }
    }
}

fn links(side: &Side, item: &ItemId, name: &str) -> Markup {
    html! {
        @for (number, session) in side.sessions.get(item).into_iter().flatten().enumerate() {
            a href=(address::session(&side.run.name, session.cell, session.item)) title={ (side.model) ", trial " (number) } {
                (name) (number) " " (numbers::maybe(session.score))
            }
            " "
        }
    }
}
