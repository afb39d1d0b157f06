//! The parts of a report that show numbers.

use std::collections::BTreeSet;

use regatta_benchmarks::Better;
use regatta_proto::{Evaluator, ModelRef};

use super::content::{Block, Field, Section, Sheet};
use super::filtered;
use super::numbers::{NOTHING, WITHHELD, behind, grouped, heading, percent, score};
use crate::finish::GroupResult;
use crate::statistics::level;
use crate::summary::{LeaderboardRow, Summary};

/// The leaderboard of every benchmark, setting and evaluator, with what a reader must know.
pub(crate) fn result(summary: &Summary, groups: &[GroupResult]) -> Section {
    let mut blocks = Vec::new();
    if !summary.notes.is_empty() {
        blocks.push(Block::Notice(summary.notes.clone()));
    }
    for rows in summary.rows.chunk_by(|one, other| one.benchmark == other.benchmark && one.setting == other.setting) {
        for evaluator in evaluators(groups) {
            blocks.extend(leaderboard(summary, rows, evaluator).map(Block::Table));
        }
    }
    blocks.extend(filtered::block(summary));
    Section { title: "Result".to_owned(), blocks }
}

fn evaluators(groups: &[GroupResult]) -> BTreeSet<Evaluator> {
    groups.iter().flat_map(|group| group.keys.iter().map(|(evaluator, _)| *evaluator)).collect()
}

/// A model is never shown without saying that it is simulated.
pub(crate) fn model(group: &GroupResult) -> Field {
    named(&group.first.model, group.simulated)
}

pub(crate) fn named(model: &ModelRef, simulated: bool) -> Field {
    if simulated { Field::Simulated(model.to_string()) } else { Field::name(model) }
}

/// `true` if ranks are by a metric of `evaluator`, and there are any.
fn decides(summary: &Summary, row: &LeaderboardRow, evaluator: Evaluator) -> bool {
    let deciding = row.headline().next();
    deciding.is_some_and(|metric| metric.evaluator == evaluator)
        && summary.ranks.iter().any(|of| of.benchmark == row.benchmark && of.setting == row.setting)
}

fn leaderboard(summary: &Summary, rows: &[LeaderboardRow], evaluator: Evaluator) -> Option<Sheet> {
    let first = rows.first()?;
    let names: Vec<String> = headline(first, evaluator).map(|(name, _)| name).collect();
    if names.is_empty() {
        return None;
    }
    let is_ranked = decides(summary, first, evaluator);
    let mut header = vec!["model".to_owned()];
    header.extend(is_ranked.then(|| "rank".to_owned()));
    header.extend(names);
    header.extend(["n / clusters", "coverage", "tokens in / out", "cost"].map(str::to_owned));
    let lines = rows.iter().map(|row| {
        let mut line = vec![named(&row.model, row.simulated)];
        let rank = || summary.rank(row).map_or_else(|| NOTHING.to_owned(), |rank| rank.to_string());
        line.extend(is_ranked.then(|| Field::Number(rank())));
        line.extend(headline(row, evaluator).map(|(_, field)| field));
        line.push(Field::Number(sizes(row, evaluator)));
        line.push(Field::Number(percent(row.coverage)));
        let usage = &row.spending.usage;
        line.push(Field::Number(format!("{} / {}", grouped(usage.input), grouped(usage.output))));
        line.push(Field::number(row.spending.cost));
        line
    });
    let trials = if summary.trials == 1 { "1 trial".to_owned() } else { format!("{} trials", summary.trials) };
    Some(Sheet {
        caption: format!(
            "{} · {} · evaluator {evaluator} · {} items × {trials}",
            first.benchmark, first.setting, first.items
        ),
        header,
        rows: lines.collect(),
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

/// What was measured, and what the numbers would be if the rest had been all wrong or all right.
pub(crate) fn coverage(summary: &Summary, groups: &[GroupResult]) -> Section {
    let mut outcomes = Vec::new();
    let mut bounds = Vec::new();
    for group in groups {
        for ((outcome, cause), count) in &group.outcomes {
            outcomes.push(vec![
                Field::name(&group.first.benchmark),
                Field::name(&group.first.setting),
                model(group),
                Field::name(outcome),
                Field::name(cause),
                Field::Number(grouped(*count)),
            ]);
        }
        if group.sessions.scored() == group.sessions.total {
            continue;
        }
        for at in &group.headline {
            let ((evaluator, metric), estimate) = (&group.keys[*at], &group.estimates[*at]);
            let (wrong, right) = match metric.better {
                Better::Higher => (estimate.bound_low, estimate.bound_high),
                Better::Lower => (estimate.bound_high, estimate.bound_low),
            };
            bounds.push(vec![
                model(group),
                Field::name(&group.first.setting),
                Field::name(format!("{} ({evaluator})", heading(&metric.name, metric.unit))),
                Field::Number(match estimate.withheld {
                    true => WITHHELD.to_owned(),
                    false => score(estimate.value, metric.unit),
                }),
                Field::Number(score(wrong, metric.unit)),
                Field::Number(score(right, metric.unit)),
                Field::Number(percent(estimate.coverage)),
            ]);
        }
    }
    let mut blocks = Vec::new();
    if summary.sessions.scored() == summary.sessions.total {
        blocks.push(Block::Text("Every session has a score, so there is nothing to bound.".to_owned()));
    } else {
        blocks.push(Block::Table(Sheet {
            caption: "If all that has no score had been wrong, or right".to_owned(),
            header: columns(&["model", "setting", "metric", "value", "all wrong", "all right", "coverage"]),
            rows: bounds,
        }));
    }
    blocks.push(Block::Table(Sheet {
        caption: "How the sessions ended".to_owned(),
        header: columns(&["benchmark", "setting", "model", "outcome", "cause", "sessions"]),
        rows: outcomes,
    }));
    Section { title: "Coverage and bounds".to_owned(), blocks }
}

fn same_setting(one: &GroupResult, other: &GroupResult) -> bool {
    one.first.benchmark == other.first.benchmark && one.first.setting == other.first.setting
}

/// Every task by itself.
pub(crate) fn tasks(groups: &[GroupResult]) -> Section {
    let mut blocks = Vec::new();
    for of in groups.chunk_by(same_setting) {
        let Some(first) = of.first() else { continue };
        for evaluator in evaluators(of) {
            let shown: Vec<usize> =
                first.headline.iter().copied().filter(|at| first.keys[*at].0 == evaluator).collect();
            let mut header = columns(&["task", "items", "model"]);
            header.extend(shown.iter().map(|at| heading(&first.keys[*at].1.name, first.keys[*at].1.unit)));
            header.push("coverage".to_owned());
            let mut rows = Vec::new();
            for (position, task) in first.tasks.iter().enumerate() {
                for group in of {
                    let Some(of_task) = group.tasks.get(position) else { continue };
                    let mut row = vec![Field::name(&task.name), Field::number(task.items), model(group)];
                    row.extend(shown.iter().map(|at| Field::Estimate(of_task.estimates[*at], first.keys[*at].1.unit)));
                    let coverage = of_task.estimates.first().map_or(0.0, |estimate| estimate.coverage);
                    row.push(Field::Number(percent(coverage)));
                    rows.push(row);
                }
            }
            blocks.push(Block::Table(Sheet {
                caption: format!("{} · {} · evaluator {evaluator}", first.first.benchmark, first.first.setting),
                header,
                rows,
            }));
        }
    }
    Section { title: "Tasks".to_owned(), blocks }
}

/// How to read the numbers.
pub(crate) fn reading(summary: &Summary) -> Section {
    let interval = format!(
        "{}, over new items of this kind: Wilson's at the effective sample size, with the bias-reduced variance over clusters (CR2) and \
         Student's quantile; trials of one item are one cluster, and so is what belongs together, as the turns of one conversation, so that \
         repeating does not narrow it falsely; of ratios by linearisation; where sessions are missing it reaches from that of the lower \
         bound to that of the upper; none for a single cluster, and where what is missing has no bound",
        level()
    );
    let withheld = format!(
        "a value is withheld, and its bounds are shown, while less than {} of its sessions has a score (the spec's `coverage_min`)",
        percent(summary.coverage_min)
    );
    let facts = [
        (
            "Value",
            "mean over items of each item's mean over its trials; of ratios of sums over sessions, as precision, recall and F1 of calls, the \
             mean over trials; a session that the model made impossible counts as wrong",
        ),
        ("n / clusters", "items behind a value, and the independent clusters that they form"),
        ("Interval", interval.as_str()),
        ("Withheld", withheld.as_str()),
        (
            "Rank",
            "places that a model may have by its first metric: models that no comparison in pairs tells apart share theirs, and are in the \
             order of the spec",
        ),
        (
            "Coverage",
            "sessions with a score among all; trouble of endpoints, judges or Regatta never counts as wrong, and is never hidden",
        ),
        (
            "Bounds",
            "the value if every session without a score had been all wrong, or all right; of an F1, all wrong is to predict nothing; of \
             a precision, to predict as much as the session that predicted most; none where the range has no end",
        ),
        (
            "Paid for nothing",
            "attempts that were repeated or lost; an attempt that another worker carried on is not among them",
        ),
    ];
    let facts = facts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    Section { title: "How to read this".to_owned(), blocks: vec![Block::Facts(facts)] }
}

pub(crate) fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
