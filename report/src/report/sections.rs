//! The parts of a report that show numbers.

use std::collections::BTreeSet;

use regatta_benchmarks::Better;
use regatta_proto::{Cell, Evaluator, ModelRef};

use super::content::{Block, Field, Section, Sheet};
use super::numbers::{NOTHING, WITHHELD, grouped, heading, percent, score};
use crate::summary::{LeaderboardRow, Summary};
use crate::tabulation::GroupResult;

/// A model is never shown without saying that it is simulated.
pub(crate) fn model(group: &GroupResult) -> Field {
    named(&group.first.model, group.simulated)
}

pub(crate) fn named(model: &ModelRef, simulated: bool) -> Field {
    if simulated { Field::Simulated(model.to_string()) } else { Field::name(model) }
}

/// Outcomes of sessions, and the bounds of each metric if all missing sessions were wrong or right.
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
                Field::name(said(summary, group, outcome, cause)),
            ]);
        }
        for at in &group.headline {
            let ((evaluator, metric), estimate) = (&group.keys[*at], &group.estimates[*at]);
            // A session with a score may lack this metric: a judge may give no grade.
            if estimate.scored == estimate.total {
                continue;
            }
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
    if bounds.is_empty() {
        let text = match summary.sessions.scored() == summary.sessions.total {
            true => "Every session has a score, so there is nothing to bound.",
            false => "No metric on leaderboards lacks a session, so there is nothing to bound.",
        };
        blocks.push(Block::Text(text.to_owned()));
    } else {
        blocks.push(Block::Table(Sheet {
            caption: "If all that is missing in the metric had been wrong, or right".to_owned(),
            header: columns(&["model", "setting", "metric", "value", "all wrong", "all right", "coverage"]),
            rows: bounds,
            ..Sheet::default()
        }));
    }
    blocks.push(Block::Table(Sheet {
        caption: "How the sessions ended".to_owned(),
        header: columns(&["benchmark", "setting", "model", "outcome", "cause", "sessions", "said in one of them"]),
        rows: outcomes,
        ..Sheet::default()
    }));
    Section { id: "coverage", title: "Coverage and bounds".to_owned(), is_folded: true, blocks }
}

/// Words in which a session of `group` failed in this way; a dash without any.
fn said(summary: &Summary, group: &GroupResult, outcome: &str, cause: &str) -> String {
    let Cell { benchmark, setting, model, .. } = &group.first;
    let of_group =
        |row: &&LeaderboardRow| row.benchmark == *benchmark && row.setting == *setting && row.model == *model;
    let failures = summary.rows.iter().find(of_group).map_or(&[][..], |row| &row.failures);
    let failure = failures.iter().find(|failure| failure.outcome == outcome && failure.cause == cause);
    failure.and_then(|failure| failure.said.clone()).unwrap_or_else(|| NOTHING.to_owned())
}

fn evaluators(groups: &[GroupResult]) -> BTreeSet<Evaluator> {
    groups.iter().flat_map(|group| group.keys.iter().map(|(evaluator, _)| *evaluator)).collect()
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
                of: Some((first.first.benchmark.clone(), evaluator)),
                ..Sheet::default()
            }));
        }
    }
    Section { id: "tasks", title: "Tasks".to_owned(), is_folded: true, blocks }
}

/// Explanation of intervals, ranks and other conventions of the report.
pub(crate) fn reading(summary: &Summary) -> Section {
    let interval = format!(
        "{}, over new items of this kind: Wilson's at the effective sample size, with the bias-reduced variance over clusters (CR2) and \
         Student's quantile; trials of one item are one cluster, and so is what belongs together, as the turns of one conversation, so that \
         repeating does not narrow it falsely; of ratios by linearisation; where sessions are missing it reaches from that of the lower \
         bound to that of the upper; none for a single cluster, and where what is missing has no bound",
        summary.level
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
            "Group",
            "models that share a letter are not told apart by this sweep; over several benchmarks a model is ahead of another that it beats in \
             at least one setting and loses to in none, with p-values corrected over the benchmarks too",
        ),
        (
            "Session and call",
            "a session lasts from the beginning of its attempt to its end, with every failed try and every wait for a retry or a limit; a \
             call from sending its last try to the last byte, so that an endpoint which fails often may have quick calls and slow sessions",
        ),
        (
            "Coverage",
            "sessions with a score among all, of each metric those that have a value of it (a judge may give no grade); of several metrics \
             the least; trouble of endpoints, judges or Regatta never counts as wrong, and is never hidden",
        ),
        (
            "Bounds",
            "the value if every session that is missing in it had been all wrong, or all right; of an F1, all wrong is to predict nothing; of \
             a precision, to predict as much as the session that predicted most; none where the range has no end",
        ),
        (
            "Paid for nothing",
            "attempts that were repeated or lost, and beside them tries that failed and were billed all the same; an attempt that another \
             worker carried on is not among them",
        ),
    ];
    let facts = facts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    Section { id: "reading", title: "How to read this".to_owned(), is_folded: true, blocks: vec![Block::Facts(facts)] }
}

pub(crate) fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
