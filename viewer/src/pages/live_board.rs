//! Means so far of a sweep that is running; intervals and ranks come with its end.

use maud::{Markup, html};
use regatta_backends::CellMean;
use regatta_catalog::Sweep;
use regatta_proto::CellIndex;

use super::bars::{bar, part};
use super::group::{self, select};
use crate::page::scrolled;
use crate::problem::Problem;
use crate::source::Run;
use crate::{Viewer, address, numbers, progress};

pub(crate) async fn show(
    viewer: &Viewer,
    run: &Run,
    sweep: &Sweep,
    benchmark: &str,
    setting: &str,
    value: &str,
) -> Result<Markup, Problem> {
    let group = group::chosen(sweep, benchmark, setting)?;
    let values = group.values(sweep);
    let value = group::value_of(&values, value);
    let cells: Vec<CellIndex> = group.cells.iter().map(|cell| cell.index).collect();
    let means = match &value {
        Some(value) => {
            let ledger = &run.store.ledger;
            let fingerprint = progress::Totals::of(&ledger.cell_progress(&run.row.id).await?);
            let question = format!("{} {} {value:?} {cells:?}", run.name, run.row.id);
            let read = ledger.cell_means(&run.row.id, &cells, value);
            viewer.means.get(question, &format!("{fingerprint:?}"), read).await?
        }
        None => Vec::new(),
    };
    let name = value.as_ref().map(group::name_of).unwrap_or_default();
    let options: Vec<_> = values.iter().map(|value| (group::name_of(value), group::name_of(value))).collect();
    let mut rows: Vec<(String, u64, f64)> = group
        .models()
        .iter()
        .map(|model| {
            let is_of =
                |mean: &&CellMean| group.cells.iter().any(|cell| cell.index == mean.cell && cell.model == **model);
            let (sessions, sum) = means.iter().filter(is_of).fold((0, 0.0), |(sessions, sum), mean| {
                #[expect(clippy::cast_precision_loss, reason = "a number of sessions")]
                let of_cell = mean.mean * mean.sessions as f64;
                (sessions + mean.sessions, sum + of_cell)
            });
            #[expect(clippy::cast_precision_loss, reason = "a number of sessions")]
            let mean = if sessions == 0 { f64::NAN } else { sum / sessions as f64 };
            (model.to_string(), sessions, mean)
        })
        .collect();
    rows.sort_by(|one, other| other.2.total_cmp(&one.2));
    let highest = rows.iter().map(|row| row.2).filter(|mean| mean.is_finite()).fold(0.0, f64::max);
    Ok(html! {
        section {
            h2 { "So far" }
            form.filters method="get" {
                (group::selects(sweep, &group))
                (select("metric", "Value", &name, &options))
                button type="submit" { "Show" }
            }
            p.notice { "The sweep has not ended: these are plain means of the sessions so far, of other items for each model. Intervals, ranks and metrics that are no means are there at its end." }
        }
        section #board data-part {
            (scrolled("Means so far", html! {
                table.board {
                    thead { tr { th scope="col" { "Model" } th.number scope="col" { (name) } th scope="col" { "Of the highest" } th.number scope="col" { "Sessions" } } }
                    tbody {
                        @for (model, sessions, mean) in &rows {
                            tr {
                                th scope="row" {
                                    @let found = address::query(&[("benchmark", group.benchmark.as_str()), ("setting", group.setting.as_str()), ("model", model)]);
                                    a href={ (address::run(&run.name)) "/items" (found) } { (model) }
                                }
                                td.number data-label=(name) { (numbers::maybe(Some(*mean).filter(|mean| mean.is_finite()))) }
                                td data-label="Of the highest" { @if mean.is_finite() { (bar(part(*mean, highest))) } }
                                td.number data-label="Sessions" { (numbers::count(*sessions)) }
                            }
                        }
                    }
                }
            }))
        }
    })
}
