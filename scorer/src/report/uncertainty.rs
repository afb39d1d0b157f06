//! Uncertainty by its source (the choice of items, or a rerun of them), and pass@k and pass^k.

use super::content::{Block, Field, Section, Sheet};
use super::numbers::{NOTHING, heading, interval, percent, shown};
use super::sections::{columns, named};
use crate::statistics::{Estimate, Reruns};
use crate::summary::{LeaderboardRow, Summary, SummaryMetric};

/// Both uncertainties of every headline, and pass@k; `None` where nothing was tried twice.
pub(crate) fn section(summary: &Summary) -> Option<Section> {
    let headlines = || summary.rows.iter().flat_map(|row| row.headline().map(move |metric| (row, metric)));
    let reruns: Vec<Vec<Field>> = headlines().filter_map(|(row, metric)| of_reruns(row, metric)).collect();
    if reruns.is_empty() {
        return None;
    }
    let mut blocks = vec![
        Block::Text(
            "Two uncertainties: over new items, where this benchmark's are a sample of all that could be asked, and over reruns of the very \
             same items, from how their trials differ. The parts are those of the squared standard error over new items: what comes from \
             which items there are shrinks with more items only, what comes from trials with more trials too. A judge's verdict \
             belongs to a question: where trials lead to different questions, what the judge adds is in the trials' part; where they lead to \
             the same, it is in none."
                .to_owned(),
        ),
        Block::Table(Sheet {
            caption: "Over new items, and over reruns of these".to_owned(),
            header: columns(&["model", "setting", "metric", "over new items", "over reruns", "from items", "from trials"]),
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

fn of_reruns(row: &LeaderboardRow, metric: &SummaryMetric) -> Option<Vec<Field>> {
    let estimate = &metric.estimate;
    let reruns = estimate.reruns.filter(|_| !estimate.withheld)?;
    let mut line = lead(row, metric);
    line.push(Field::Number(shown(estimate, metric.unit)));
    line.push(Field::Number(interval(reruns.low, reruns.high, metric.unit)));
    let [items, trials] = parts(&reruns).map(|part| part.map_or_else(|| NOTHING.to_owned(), percent));
    line.extend([items, trials].map(Field::Number));
    Some(line)
}

/// The parts of the squared standard error that come from items and from trials; nothing where there is none, or only one cluster.
fn parts(reruns: &Reruns) -> [Option<f64>; 2] {
    let all = reruns.item_variance.map(|items| items + reruns.trial_variance).filter(|all| *all > 0.0);
    [reruns.item_variance, Some(reruns.trial_variance)].map(|part| Some(part? / all?))
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
