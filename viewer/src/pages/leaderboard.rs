//! The leaderboard: the summary of a sweep that has ended, or the means so far.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use maud::{Markup, html};
use regatta_benchmarks::{Better, Unit};
use regatta_catalog::Sweep;
use regatta_proto::Evaluator;
use regatta_report::{LeaderboardRow, Summary, SummaryMetric};
use serde::Deserialize;

use super::bars::{bar, part};
use super::group::{self, select};
use super::live_board;
use crate::page::{self, Page, Tab, scrolled};
use crate::problem::Problem;
use crate::source::Run;
use crate::{Viewer, address, numbers};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Wanted {
    benchmark: String,
    setting: String,
    /// Name of the metric, as in `official.f1_chain`. Metrics of parts of the data set (a domain, a language, a category) have names of
    /// their own.
    pub(crate) metric: String,
    sort: String,
}

pub(crate) async fn show(
    State(viewer): State<Viewer>,
    Path(name): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let run = viewer.source.run(&name).await?;
    let sweep = run.sweep().await?;
    let board = match summary(&run).await? {
        Some(summary) => of_summary(&run, &sweep, &summary, &wanted)?,
        None => live_board::show(&viewer, &run, &sweep, &wanted.benchmark, &wanted.setting, &wanted.metric).await?,
    };
    let page = Page {
        title: "Leaderboard",
        run: Some((&run, Tab::Leaderboard)),
        events: Some(format!("{}/events", address::run(&run.name))).filter(|_| !run.row.state.is_end()),
        has_token: viewer.is_asked_for_token,
        body: board,
    };
    Ok(page::respond(page))
}

/// The summary of a sweep that has ended. `None` for one that was resumed since, whose summary is out of date.
pub(super) async fn summary(run: &Run) -> Result<Option<Summary>, Problem> {
    if !run.row.state.is_end() {
        return Ok(None);
    }
    let key = format!("sweeps/{}/summary.json", run.row.id);
    let Some(bytes) = run.store.catalog.blobs().get(&key).await? else { return Ok(None) };
    let unreadable = |error: serde_json::Error| Problem::wrong(format!("{key} cannot be read: {error}"));
    Summary::from_json(&bytes).map(Some).map_err(unreadable)
}

fn of_summary(run: &Run, sweep: &Sweep, summary: &Summary, wanted: &Wanted) -> Result<Markup, Problem> {
    let group = group::chosen(sweep, &wanted.benchmark, &wanted.setting)?;
    let is_of = |row: &&LeaderboardRow| row.benchmark == *group.benchmark && row.setting == *group.setting;
    let mut rows: Vec<&LeaderboardRow> = summary.rows.iter().filter(is_of).collect();
    let mut metrics: Vec<(Evaluator, &str, bool)> = Vec::new();
    for metric in rows.iter().flat_map(|row| &row.metrics) {
        if !metrics.iter().any(|(evaluator, name, _)| *evaluator == metric.evaluator && *name == metric.metric) {
            metrics.push((metric.evaluator, &metric.metric, metric.headline));
        }
    }
    let named = |evaluator: &Evaluator, name: &str| format!("{evaluator}.{name}");
    let first = metrics.iter().find(|(.., headline)| *headline).or(metrics.first());
    let chosen = match wanted.metric.as_str() {
        "" => first,
        given => metrics.iter().find(|(evaluator, name, _)| named(evaluator, name) == given).or(first),
    };
    let chosen_name = chosen.map(|(evaluator, name, _)| named(evaluator, name)).unwrap_or_default();
    let of_chosen = |row: &LeaderboardRow| -> Option<SummaryMetric> {
        let (evaluator, name, _) = chosen?;
        row.metrics.iter().find(|metric| metric.evaluator == *evaluator && metric.metric == *name).cloned()
    };
    sort(&mut rows, &wanted.sort, of_chosen);
    let mut options: Vec<(String, String)> = metrics
        .iter()
        .map(|(evaluator, name, headline)| {
            let name = named(evaluator, name);
            (name.clone(), if *headline { format!("{name} (headline)") } else { name })
        })
        .collect();
    options.dedup();
    let orders = [("", "the metric"), ("cost", "money"), ("model", "model")]
        .map(|(name, text)| (name.to_owned(), text.to_owned()));
    let shown: Vec<SummaryMetric> = rows.iter().filter_map(|row| of_chosen(row)).collect();
    let best = best(&shown);
    Ok(html! {
        section {
            h2 { "Leaderboard" }
            form.filters method="get" {
                (group::selects(sweep, &group))
                (select("metric", "Metric", &chosen_name, &options))
                (select("sort", "Order by", &wanted.sort, &orders))
                button type="submit" { "Show" }
            }
            p.hint { "Parts of a data set, as a domain or a language, have metrics of their own. Intervals of " (summary.level) "." }
        }
        section #board data-part {
            (scrolled("Leaderboard", html! {
                table.board {
                    thead { tr {
                        th scope="col" { "Model" } th.number scope="col" { "Rank" } th.number scope="col" { (chosen_name) } th scope="col" { "Interval" }
                        th scope="col" { "Of the best" } th.number scope="col" { "Coverage" } th.number scope="col" { "Money" } th scope="col" { "Flags" }
                    } }
                    tbody {
                        @for row in &rows {
                            @let metric = of_chosen(row);
                            tr {
                                th scope="row" {
                                    @let found = address::query(&[("benchmark", row.benchmark.as_str()), ("setting", row.setting.as_str()), ("model", &row.model.to_string())]);
                                    a href={ (address::run(&run.name)) "/items" (found) } { (row.model) }
                                    @if row.simulated { " " span.tag { "simulated" } }
                                }
                                td.number data-label="Rank" { (rank(summary, row)) }
                                td.number data-label=(chosen_name) { (value(metric.as_ref())) }
                                td data-label="Interval" { (interval(metric.as_ref())) }
                                td data-label="Of the best" { @if let Some(part) = metric.as_ref().and_then(|metric| of_the_best(metric, best?)) { (bar(part)) } }
                                td.number data-label="Coverage" { (coverage(row, metric.as_ref())) }
                                td.number data-label="Money" { (numbers::cost(row.spending.cost)) }
                                td data-label="Flags" { @for (flag, count) in &row.flags { span.tag.flag { (flag.as_str().replace('_', " ")) " " (numbers::count(*count)) } " " } }
                            }
                        }
                    }
                }
            }))
            @for note in &summary.notes { p.hint { (note) } }
        }
    })
}

fn sort(rows: &mut [&LeaderboardRow], by: &str, metric: impl Fn(&LeaderboardRow) -> Option<SummaryMetric>) {
    match by {
        // What is unknown is not the cheapest.
        "cost" => rows.sort_by_key(|row| (row.spending.cost.unknown_calls > 0, row.spending.cost.known)),
        "model" => rows.sort_by_key(|row| row.model.to_string()),
        _ => rows.sort_by(|one, other| {
            let key = |row: &LeaderboardRow| {
                let metric = metric(row)?;
                let sign = match metric.better {
                    Better::Higher => -1.0,
                    Better::Lower => 1.0,
                };
                // The order may not tell what is withheld.
                Some(metric.estimate.shown()? * sign)
            };
            match (key(one), key(other)) {
                (Some(one), Some(other)) => one.total_cmp(&other),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (None, None) => std::cmp::Ordering::Equal,
            }
        }),
    }
}

/// Part of the sessions that has a value of `metric`, or, without any, of all metrics on leaderboards.
fn coverage(row: &LeaderboardRow, metric: Option<&SummaryMetric>) -> String {
    match metric {
        Some(metric) => numbers::percent(metric.estimate.scored.into(), metric.estimate.total.into()),
        None => numbers::percent(row.covered(), row.sessions.total),
    }
}

fn rank(summary: &Summary, row: &LeaderboardRow) -> String {
    summary.rank(row).map_or_else(
        || numbers::NOTHING.to_owned(),
        |rank| {
            if rank.best == rank.worst { rank.best.to_string() } else { format!("{}–{}", rank.best, rank.worst) }
        },
    )
}

fn scaled(value: f64, unit: Unit) -> String {
    numbers::score(value * unit.factor())
}

fn value(metric: Option<&SummaryMetric>) -> String {
    match metric {
        Some(metric) if metric.estimate.withheld => "withheld".to_owned(),
        Some(metric) => {
            metric.estimate.value.map_or_else(|| numbers::NOTHING.to_owned(), |value| scaled(value, metric.unit))
        }
        None => numbers::NOTHING.to_owned(),
    }
}

fn interval(metric: Option<&SummaryMetric>) -> String {
    let Some(metric) = metric.filter(|metric| !metric.estimate.withheld) else { return String::new() };
    match (metric.estimate.low, metric.estimate.high) {
        (Some(low), Some(high)) => format!("[{}, {}]", scaled(low, metric.unit), scaled(high, metric.unit)),
        _ => String::new(),
    }
}

/// The best of the values that are shown: the lowest where less is better.
fn best(metrics: &[SummaryMetric]) -> Option<f64> {
    let values = metrics.iter().filter_map(|metric| Some((metric.estimate.shown()?, metric.better)));
    values
        .reduce(|(best, better), (value, _)| match better {
            Better::Higher => (best.max(value), better),
            Better::Lower => (best.min(value), better),
        })
        .map(|(best, _)| best)
}

/// Ratio of the value of `metric` and the `best` one, 0..=1; `None` where it is not shown.
fn of_the_best(metric: &SummaryMetric, best: f64) -> Option<f64> {
    let value = metric.estimate.shown()?;
    Some(match metric.better {
        Better::Higher => part(value, best),
        // Half as good is twice as much.
        Better::Lower => part(best, value),
    })
}

#[cfg(test)]
mod tests {
    use regatta_proto::{CostSum, Money};
    use regatta_report::{Estimate, Spending};

    use super::*;

    fn metric(value: f64, better: Better, withheld: bool) -> SummaryMetric {
        SummaryMetric {
            evaluator: Evaluator::Official,
            metric: "m".to_owned(),
            unit: Unit::Percent,
            better,
            of_sums: false,
            headline: true,
            estimate: Estimate { value: Some(value), withheld, ..Estimate::default() },
            passes: Vec::new(),
        }
    }

    fn parts(metrics: &[SummaryMetric]) -> Vec<Option<f64>> {
        let best = best(metrics).unwrap();
        metrics.iter().map(|metric| of_the_best(metric, best)).collect()
    }

    #[test]
    fn the_best_is_the_lowest_where_less_is_better() {
        let of = |better| [0.5, 1.0].map(|value| metric(value, better, false));
        assert_eq!(parts(&of(Better::Higher)), [Some(0.5), Some(1.0)]);
        assert_eq!(parts(&of(Better::Lower)), [Some(1.0), Some(0.5)]);
        let none = [0.0, 0.5].map(|value| metric(value, Better::Lower, false));
        assert_eq!(parts(&none), [Some(1.0), Some(0.0)], "nothing wrong is the best there is");
    }

    #[test]
    fn what_is_withheld_is_told_neither_by_a_bar_nor_by_its_neighbours() {
        let metrics = [metric(0.5, Better::Higher, false), metric(1.0, Better::Higher, true)];
        assert_eq!(parts(&metrics), [Some(1.0), None]);
    }

    /// A row of `model` with a value of the metric, and money.
    fn row(model: &str, value: f64, cost: CostSum) -> LeaderboardRow {
        let metric = metric(value, Better::Higher, false);
        let spending = Spending { cost, ..Spending::default() };
        serde_json::from_value(serde_json::json!({
            "benchmark": "worfbench", "setting": "two-shot", "model": model, "simulated": false, "items": 4,
            "sessions": { "total": 4, "measured": 4, "model_failures": 0, "not_measured": 0, "not_run": 0 },
            "coverage": 1.0, "metrics": [metric], "spending": spending,
        }))
        .unwrap()
    }

    fn sorted(rows: &[LeaderboardRow], by: &str) -> Vec<String> {
        let mut rows: Vec<&LeaderboardRow> = rows.iter().collect();
        sort(&mut rows, by, |row| row.metrics.first().cloned());
        rows.iter().map(|row| row.model.model.clone()).collect()
    }

    #[test]
    fn rows_are_ordered_by_the_metric_by_money_or_by_model_and_what_is_unknown_is_not_the_cheapest() {
        let cost = |known, unknown_calls| CostSum { known: Money(known), unknown_calls };
        let rows = [row("h/b", 0.5, cost(30, 0)), row("h/c", 0.9, cost(20, 0)), row("h/a", 0.7, cost(1, 2))];
        assert_eq!(sorted(&rows, ""), ["c", "a", "b"]);
        assert_eq!(sorted(&rows, "cost"), ["c", "b", "a"]);
        assert_eq!(sorted(&rows, "model"), ["a", "b", "c"]);
    }

    #[test]
    fn a_metric_of_which_less_is_better_has_its_lowest_first_and_what_is_withheld_last() {
        let mut rows = ["h/a", "h/b", "h/c"].map(|model| row(model, 0.5, CostSum::default()));
        for (row, (value, withheld)) in rows.iter_mut().zip([(0.9, false), (0.1, true), (0.2, false)]) {
            row.metrics = vec![metric(value, Better::Lower, withheld)];
        }
        assert_eq!(sorted(&rows, ""), ["c", "a", "b"]);
    }
}
