//! The leaderboard of every benchmark, setting and evaluator.

use regatta_proto::{BenchmarkName, Evaluator};

use super::content::{Block, Field, Section, Sheet};
use super::filtered;
use super::numbers::{NOTHING, behind, heading, percent};
use super::sections::named;
use crate::decision::{flags, run};
use crate::summary::{LeaderboardRow, Summary};

/// Settings of a benchmark whose leaderboards stand open; of more, the rest is folded.
const OPEN_MAX: usize = 3;

/// All leaderboards, of one evaluator at a time.
pub(crate) fn section(summary: &Summary) -> Section {
    let mut blocks = Vec::new();
    for of_benchmark in summary.rows.chunk_by(|one, other| one.benchmark == other.benchmark) {
        let Some(first) = of_benchmark.first() else { continue };
        let evaluators = evaluators(of_benchmark);
        blocks.push(Block::Choice(first.benchmark.clone(), evaluators.clone()));
        let settings = of_benchmark.chunk_by(|one, other| one.setting == other.setting);
        let boards = settings.map(|rows| {
            let of = evaluators.iter().filter_map(|evaluator| board(summary, rows, *evaluator));
            of.map(Block::Table).collect::<Vec<_>>()
        });
        let mut boards: Vec<Vec<Block>> = boards.collect();
        let folded = boards.split_off(boards.len().min(OPEN_MAX));
        blocks.extend(boards.into_iter().flatten());
        if !folded.is_empty() {
            let title = format!("{} more settings of {}", folded.len(), first.benchmark);
            blocks.push(Block::Folded(title, folded.into_iter().flatten().collect()));
        }
    }
    blocks.extend(filtered::block(summary));
    Section { id: "leaderboards", title: "Leaderboards".to_owned(), is_folded: false, blocks }
}

/// Evaluators of a benchmark, the default one first.
pub(crate) fn evaluators(rows: &[LeaderboardRow]) -> Vec<Evaluator> {
    let mut found: Vec<Evaluator> = Vec::new();
    for metric in rows.iter().flat_map(|row| &row.metrics) {
        if !found.contains(&metric.evaluator) {
            found.push(metric.evaluator);
        }
    }
    found
}

/// `true` if ranks are by a metric of `evaluator`, and there are any.
fn decides(summary: &Summary, row: &LeaderboardRow, evaluator: Evaluator) -> bool {
    let deciding = row.headline().next();
    deciding.is_some_and(|metric| metric.evaluator == evaluator)
        && summary.ranks.iter().any(|of| of.benchmark == row.benchmark && of.setting == row.setting)
}

fn board(summary: &Summary, rows: &[LeaderboardRow], evaluator: Evaluator) -> Option<Sheet> {
    let first = rows.first()?;
    let names: Vec<String> = headline(first, evaluator).map(|(name, _)| name).collect();
    if names.is_empty() {
        return None;
    }
    let is_ranked = decides(summary, first, evaluator);
    let has_flags = rows.iter().any(|row| !flags(&row.flags).is_empty());
    let mut header = vec!["model".to_owned()];
    header.extend(is_ranked.then(|| "rank".to_owned()));
    header.extend(names);
    header.extend(has_flags.then(|| "flags".to_owned()));
    header.extend(["n / clusters", "coverage", "cost"].map(str::to_owned));
    let lines = rows.iter().map(|row| {
        let mut line = vec![named(&row.model, row.simulated)];
        let rank = || summary.rank(row).map_or_else(|| NOTHING.to_owned(), |rank| rank.to_string());
        line.extend(is_ranked.then(|| Field::Number(rank())));
        line.extend(headline(row, evaluator).map(|(_, field)| field));
        line.extend(has_flags.then(|| Field::Tags(flags(&row.flags))));
        line.push(Field::Number(sizes(row, evaluator)));
        line.push(Field::Number(percent(row.coverage)));
        line.push(Field::number(row.spending.cost));
        line
    });
    Some(Sheet {
        caption: format!("{} · {} · evaluator {evaluator} · {}", first.benchmark, first.setting, run(summary, rows)),
        header,
        rows: lines.collect(),
        of: Some((BenchmarkName::clone(&first.benchmark), evaluator)),
        is_board: true,
    })
}

fn headline(row: &LeaderboardRow, evaluator: Evaluator) -> impl Iterator<Item = (String, Field)> {
    let of = row.headline().filter(move |metric| metric.evaluator == evaluator);
    of.map(|metric| (heading(&metric.metric, metric.unit), Field::Estimate(metric.estimate, metric.unit)))
}

/// Items and clusters behind the headlines, once where all have the same.
fn sizes(row: &LeaderboardRow, evaluator: Evaluator) -> String {
    let of = row.headline().filter(|metric| metric.evaluator == evaluator);
    let mut all: Vec<String> = of.map(|metric| behind(&metric.estimate)).collect();
    all.dedup();
    all.join(", ")
}
