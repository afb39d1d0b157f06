//! Uncertainty by its source (the choice of items, or a rerun of them), and pass@k and pass^k.

use super::content::{Block, Field, Section, Sheet};
use super::numbers::{NOTHING, heading, interval, percent, shown};
use super::sections::{columns, named};
use crate::statistics::Estimate;
use crate::summary::{LeaderboardRow, Summary, SummaryMetric};

/// Both uncertainties of every headline, with the judge's part, and pass@k; `None` where nothing was tried or judged twice.
pub(crate) fn section(summary: &Summary) -> Option<Section> {
    let headlines = || summary.rows.iter().flat_map(|row| row.headline().map(move |metric| (row, metric)));
    let judged = headlines().any(|(_, metric)| metric.estimate.judge.is_some());
    let reruns: Vec<Vec<Field>> = headlines().filter_map(|(row, metric)| of_reruns(row, metric, judged)).collect();
    if reruns.is_empty() {
        return None;
    }
    let mut header = vec!["model", "setting", "metric", "over new items", "over reruns", "from items", "from trials"];
    header.extend(judged.then_some("of these from the judge"));
    let mut blocks = vec![
        Block::Text(
            "Two uncertainties: over new items, where this benchmark's are a sample of all that could be asked, and over reruns of the very \
             same items, from how their trials differ. The parts are those of the squared standard error over new items: what comes from \
             which items there are shrinks with more items only, what comes from trials with more trials too. The judge's part is what \
             the repeats of a panel differ by, and is contained in the other two: in the trials' where trials lead to different questions, in \
             the items' where they lead to the same. It is not seen where each question is asked once."
                .to_owned(),
        ),
        Block::Table(Sheet {
            caption: "Over new items, and over reruns of these".to_owned(),
            header: columns(&header),
            rows: reruns, ..Sheet::default() }),
    ];
    let passes: Vec<Vec<Field>> = headlines().flat_map(|(row, metric)| of_passes(row, metric)).collect();
    if !passes.is_empty() {
        blocks.push(Block::Table(Sheet {
            caption: "Of k trials of an item, at least one succeeds (pass@k), or all do (pass^k)".to_owned(),
            header: columns(&["model", "setting", "metric", "k", "pass@k", "pass^k"]),
            rows: passes,
            ..Sheet::default()
        }));
    }
    Some(Section { id: "trials", title: "Items and trials".to_owned(), is_folded: true, blocks })
}

fn lead(row: &LeaderboardRow, metric: &SummaryMetric) -> Vec<Field> {
    vec![
        named(&row.model, row.simulated),
        Field::name(format!("{} · {}", row.benchmark, row.setting)),
        Field::name(format!("{} ({})", heading(&metric.metric, metric.unit), metric.evaluator)),
    ]
}

fn of_reruns(row: &LeaderboardRow, metric: &SummaryMetric, judged: bool) -> Option<Vec<Field>> {
    let estimate = &metric.estimate;
    if estimate.withheld || (estimate.reruns.is_none() && estimate.judge.is_none()) {
        return None;
    }
    let mut line = lead(row, metric);
    line.push(Field::Number(shown(estimate, metric.unit)));
    let reruns = estimate.reruns.map(|reruns| interval(reruns.low, reruns.high, metric.unit));
    line.push(Field::Number(reruns.unwrap_or_else(|| NOTHING.to_owned())));
    let parts = parts(estimate).map(|part| part.map_or_else(|| NOTHING.to_owned(), percent));
    line.extend(parts.into_iter().take(if judged { 3 } else { 2 }).map(Field::Number));
    Some(line)
}

/// The parts of the squared standard error that come from items, from trials, and of both together from the judge; nothing where one is not
/// known, or there is no uncertainty at all.
fn parts(estimate: &Estimate) -> [Option<f64>; 3] {
    let judge = estimate.judge.and_then(|judge| judge.share);
    let Some(reruns) = estimate.reruns else { return [None, None, judge] };
    let all = reruns.item_variance.map(|items| items + reruns.trial_variance).filter(|all| *all > 0.0);
    let share = |part: Option<f64>| Some(part? / all?);
    [share(reruns.item_variance), share(Some(reruns.trial_variance)), judge]
}

fn of_passes(row: &LeaderboardRow, metric: &SummaryMetric) -> Vec<Vec<Field>> {
    let field = |estimate: Estimate| Field::Estimate(estimate, metric.unit);
    let passes = metric.passes.iter().map(|pass| {
        let mut line = lead(row, metric);
        line.extend([Field::number(pass.k), field(pass.any), field(pass.all)]);
        line
    });
    passes.collect()
}
