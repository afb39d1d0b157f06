//! The parts of a report that show numbers.

use std::collections::BTreeSet;

use regatta_proto::{Evaluator, ModelRef};

use super::content::{Block, Field, Section, Sheet};
use super::numbers::{grouped, hundredth, percent, score};
use crate::finish::GroupResult;
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

fn leaderboard(summary: &Summary, rows: &[LeaderboardRow], evaluator: Evaluator) -> Option<Sheet> {
    let first = rows.first()?;
    let names: Vec<&str> = headline(first, evaluator).map(|(name, _)| name).collect();
    if names.is_empty() {
        return None;
    }
    let mut header = vec!["model".to_owned()];
    header.extend(names.into_iter().map(str::to_owned));
    header.extend(["coverage", "tokens in / out", "cost"].map(str::to_owned));
    let lines = rows.iter().map(|row| {
        let mut line = vec![named(&row.model, row.simulated)];
        line.extend(headline(row, evaluator).map(|(_, field)| field));
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

fn headline(row: &LeaderboardRow, evaluator: Evaluator) -> impl Iterator<Item = (&str, Field)> {
    let of = row.headline().filter(move |metric| metric.evaluator == evaluator);
    of.map(|metric| (metric.metric.as_str(), Field::Estimate(metric.estimate)))
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
            bounds.push(vec![
                model(group),
                Field::name(&group.first.setting),
                Field::name(format!("{metric} ({evaluator})")),
                Field::Number(score(estimate.value)),
                Field::Number(score(estimate.bound_low)),
                Field::Number(score(estimate.bound_high)),
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

/// The benchmark's main table, one for each benchmark, setting and evaluator that has one.
pub(crate) fn paper(groups: &[GroupResult]) -> Option<Section> {
    let mut blocks = Vec::new();
    for of in groups.chunk_by(same_setting) {
        let Some(first) = of.first() else { continue };
        for (at, (evaluator, labels)) in first.paper.iter().enumerate() {
            if labels.is_empty() {
                continue;
            }
            let mut header = vec!["model".to_owned()];
            header.extend(labels.iter().map(|(label, _)| label.clone()));
            header.push("coverage".to_owned());
            let rows = of.iter().map(|group| {
                let mut row = vec![model(group)];
                let values = group.paper.get(at).into_iter().flat_map(|(_, columns)| columns);
                row.extend(values.map(|(_, value)| Field::Number(hundredth(*value))));
                row.push(Field::Number(percent(group.sessions.coverage())));
                row
            });
            blocks.push(Block::Table(Sheet {
                caption: format!("{} · {} · evaluator {evaluator}", first.first.benchmark, first.first.setting),
                header,
                rows: rows.collect(),
            }));
        }
    }
    if blocks.is_empty() {
        return None;
    }
    let explanation = "The columns of the benchmark's published table, times 100, averaged over trials. They are means of means over \
                       groups, for which no interval is given; groups without items have a dash, and sessions without a score are left out.";
    blocks.insert(0, Block::Text(explanation.to_owned()));
    Some(Section { title: "The paper's table".to_owned(), blocks })
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
            header.extend(shown.iter().map(|at| first.keys[*at].1.clone()));
            header.push("coverage".to_owned());
            let mut rows = Vec::new();
            for (position, task) in first.tasks.iter().enumerate() {
                for group in of {
                    let Some(of_task) = group.tasks.get(position) else { continue };
                    let mut row = vec![Field::name(&task.task), Field::number(task.items), model(group)];
                    row.extend(shown.iter().map(|at| Field::Estimate(of_task.estimates[*at])));
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
pub(crate) fn reading() -> Section {
    let facts = [
        (
            "Value",
            "mean over items of each item's mean over its trials; a session that the model made impossible counts as wrong",
        ),
        (
            "Interval",
            "95 %, Student's t over items; trials of one item are one cluster, so that repeating does not narrow it falsely; none for a single item",
        ),
        (
            "Coverage",
            "sessions with a score among all; trouble of endpoints, judges or Regatta never counts as wrong, and is never hidden",
        ),
        ("Bounds", "the value if every session without a score had scored 0, or 1"),
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
