//! The first card of a report: one ranking, a sentence on every alternative, and what failed. A
//! terminal shows the same at the end of a run.

mod sentences;
mod terminal;

use std::collections::BTreeMap;

use regatta_benchmarks::Unit;
use regatta_proto::{BenchmarkName, Flag, ModelRef, Setting};

pub(crate) use self::sentences::{alternatives, sentences};
pub use self::terminal::render_decision;
use crate::report::numbers::{grouped, heading};
use crate::statistics::Estimate;
use crate::summary::{LeaderboardRow, Summary, SummaryMetric};

/// Most benchmarks and settings whose scores stand beside each other; of more, wins and losses are counted.
const CONTESTS_MAX: usize = 3;
/// Most ways to fail that are listed.
const FAILURES_MAX: usize = 8;
/// Most models that are named where they fail alike.
const MODELS_MAX: usize = 6;

/// A benchmark and setting with the metric that models are ranked by in it.
pub(crate) struct Contest<'s> {
    pub(crate) benchmark: &'s BenchmarkName,
    pub(crate) setting: &'s Setting,
    pub(crate) metric: &'s SummaryMetric,
}

impl<'s> Contest<'s> {
    /// Name beside others: with as much as tells it from them.
    pub(crate) fn name(&self) -> String {
        format!("{} · {}", self.benchmark, self.setting)
    }

    /// Rows of every model.
    fn rows<'r>(&self, summary: &'r Summary) -> impl Iterator<Item = &'r LeaderboardRow> {
        summary.rows.iter().filter(|row| row.benchmark == *self.benchmark && row.setting == *self.setting)
    }

    pub(crate) fn row(&self, summary: &'s Summary, model: &ModelRef) -> Option<&'s LeaderboardRow> {
        let is_of = |row: &&LeaderboardRow| {
            row.benchmark == *self.benchmark && row.setting == *self.setting && row.model == *model
        };
        summary.rows.iter().find(is_of)
    }

    /// The value of `model`, if it takes part.
    pub(crate) fn value(&self, summary: &'s Summary, model: &ModelRef) -> Option<(Estimate, Unit)> {
        let first = deciding(self.row(summary, model)?)?;
        Some((first.estimate, first.unit))
    }
}

/// The metric that the models of the row's setting are ranked by.
pub(crate) fn deciding(row: &LeaderboardRow) -> Option<&SummaryMetric> {
    row.headline().next()
}

/// Every benchmark and setting, in the order of the leaderboards.
pub(crate) fn contests(summary: &Summary) -> Vec<Contest<'_>> {
    let groups = summary.rows.chunk_by(|one, other| one.benchmark == other.benchmark && one.setting == other.setting);
    groups.filter_map(<[LeaderboardRow]>::first).filter_map(contest).collect()
}

fn contest(first: &LeaderboardRow) -> Option<Contest<'_>> {
    Some(Contest { benchmark: &first.benchmark, setting: &first.setting, metric: deciding(first)? })
}

/// Columns of scores in a ranking; empty where there are too many to stand beside each other.
pub(crate) fn score_columns<'s>(contests: &'s [Contest<'s>]) -> Vec<(String, &'s Contest<'s>)> {
    let name = |contest: &Contest<'_>| heading(&contest.metric.metric, contest.metric.unit);
    match contests {
        [only] => vec![(name(only), only)],
        several if several.len() <= CONTESTS_MAX => {
            several.iter().map(|contest| (format!("{} · {}", contest.name(), name(contest)), contest)).collect()
        }
        _ => Vec::new(),
    }
}

/// The part of a model's sessions that has a score with all that leaderboards show, 0..=1: a session whose judge gave no grade is not
/// covered.
pub(crate) fn coverage(summary: &Summary, model: &ModelRef) -> f64 {
    let rows = || summary.rows.iter().filter(|row| row.model == *model);
    let total: u64 = rows().map(|row| row.sessions.total).sum();
    let covered: f64 = rows().map(|row| row.coverage * row.sessions.total as f64).sum();
    if total == 0 { 0.0 } else { covered / total as f64 }
}

/// Flags of sessions, the commonest first.
pub(crate) fn flags(flags: &BTreeMap<Flag, u64>) -> Vec<String> {
    let mut found: Vec<(&Flag, &u64)> = flags.iter().filter(|(_, count)| **count > 0).collect();
    found.sort_by_key(|(flag, count)| (std::cmp::Reverse(**count), **flag));
    found.into_iter().map(|(flag, count)| format!("{} {}", grouped(*count), flag.as_str().replace('_', " "))).collect()
}

/// Sentences on what was compared, and how far the ranking goes.
pub(crate) fn basis(summary: &Summary, contests: &[Contest<'_>]) -> Vec<String> {
    let trials = trials(summary, contests.iter().flat_map(|contest| contest.rows(summary)));
    let what = match contests {
        [only] => {
            format!(
                "By {} of {}, {} × {trials}, evaluator {}.",
                only.metric.metric,
                only.name(),
                sample(summary, only),
                only.metric.evaluator
            )
        }
        several => format!(
            "Over {} settings of {}, {trials}, each by the first metric of its leaderboard.",
            several.len(),
            names(summary, several)
        ),
    };
    let mut sentences = vec![what];
    if summary.standings.iter().any(|standing| standing.rank.is_some()) {
        let alpha = summary.level.alpha();
        sentences.push(format!("Models that share a group letter are not told apart (corrected p > {alpha})."));
        if contests.len() > 1 {
            sentences.push(
                "A model is ahead of another that it beats somewhere and loses to nowhere; p-values are corrected over all benchmarks."
                    .to_owned(),
            );
        }
    }
    sentences
}

/// Benchmarks, with the items and clusters of each setting.
fn names(summary: &Summary, contests: &[Contest<'_>]) -> String {
    let mut names: Vec<(&str, Vec<String>)> = Vec::new();
    for contest in contests {
        // In brackets nothing goes on behind it.
        let sample = sample(summary, contest).trim_end_matches(',').to_owned();
        match names.last_mut().filter(|(name, _)| *name == contest.benchmark.as_str()) {
            Some((_, samples)) if samples.contains(&sample) => {}
            Some((_, samples)) => samples.push(sample),
            None => names.push((contest.benchmark.as_str(), vec![sample])),
        }
    }
    let named = names.into_iter().map(|(name, samples)| format!("{name} ({})", samples.join("; ")));
    named.collect::<Vec<_>>().join(", ")
}

/// `11 to 30 items in 9 to 12 clusters`, or `3 of 10 items in 2 clusters` where not all that were run are part of the value: from the model
/// whose value is of the fewest items to the one whose is of the most. Clusters are the independent groups that intervals come from.
fn sample(summary: &Summary, contest: &Contest<'_>) -> String {
    let rows: Vec<&LeaderboardRow> = contest.rows(summary).collect();
    let run = rows.iter().map(|row| row.items).max().unwrap_or(0);
    let values = rows.iter().filter_map(|row| deciding(row)).map(|metric| metric.estimate);
    let sizes: Vec<(u32, u32)> = values.filter(|of| of.value.is_some()).map(|of| (of.n, of.clusters)).collect();
    let (Some(fewest), Some(most)) = (sizes.iter().min(), sizes.iter().max()) else {
        return format!("{}, of which none has a value,", from_to(run, run, "item"));
    };
    let are_all = rows.iter().all(|row| deciding(row).is_none_or(|of| of.estimate.n == row.items));
    let items = match are_all {
        true => from_to(fewest.0, most.0, "item"),
        false if fewest.0 == most.0 => format!("{} of {}", grouped(most.0.into()), from_to(run, run, "item")),
        false => format!("{} to {} of {}", grouped(fewest.0.into()), grouped(most.0.into()), from_to(run, run, "item")),
    };
    format!("{items} in {}", from_to(fewest.1, most.1, "cluster"))
}

/// `22 items × up to 4 trials`: all that was run of `rows`, the models of a setting.
pub(crate) fn run(summary: &Summary, rows: &[LeaderboardRow]) -> String {
    let items = rows.iter().map(|row| row.items);
    let (fewest, most) = (items.clone().min().unwrap_or(0), items.max().unwrap_or(0));
    format!("{} × {}", from_to(fewest, most, "item"), trials(summary, rows.iter()))
}

/// `4 trials`, or `up to 4 trials` where a sweep that decides by what it sees has left some out.
fn trials<'s>(summary: &Summary, mut rows: impl Iterator<Item = &'s LeaderboardRow>) -> String {
    let is_whole = rows.all(|row| row.sessions.total == u64::from(row.items) * u64::from(summary.trials));
    let trials = from_to(summary.trials.into(), summary.trials.into(), "trial");
    if is_whole { trials } else { format!("up to {trials}") }
}

/// `1 item`, `30 items` or `11 to 30 items`.
fn from_to(low: u32, high: u32, what: &str) -> String {
    let ending = if high == 1 { "" } else { "s" };
    let high_shown = grouped(high.into());
    match low == high {
        true => format!("{high_shown} {what}{ending}"),
        false => format!("{} to {high_shown} {what}{ending}", grouped(low.into())),
    }
}

/// Sessions that ended in one way, of the models of which the same was said.
struct Way<'s> {
    models: Vec<&'s ModelRef>,
    counts_as_wrong: bool,
    cause: &'s str,
    sessions: u64,
    said: Option<&'s str>,
}

/// Sessions that did not end well, by model and cause, with what was said in one of them; the commonest first. Models of which the same was said,
/// as of an agent that cannot run, have one line.
pub(crate) fn failures(summary: &Summary) -> Vec<String> {
    let mut ways: Vec<Way<'_>> = Vec::new();
    for row in &summary.rows {
        for failure in &row.failures {
            let (counts_as_wrong, said) = (failure.counts_as_wrong(), failure.said.as_deref());
            let is_same = |way: &&mut Way<'_>| {
                *way.models[0] == row.model && way.counts_as_wrong == counts_as_wrong && way.cause == failure.cause
            };
            match ways.iter_mut().find(is_same) {
                Some(way) => (way.sessions, way.said) = (way.sessions + failure.sessions, way.said.or(said)),
                None => ways.push(Way {
                    models: vec![&row.model],
                    counts_as_wrong,
                    cause: &failure.cause,
                    sessions: failure.sessions,
                    said,
                }),
            }
        }
    }
    let mut ways = joined(ways);
    ways.sort_by_key(|way| std::cmp::Reverse(way.sessions));
    let mut lines: Vec<String> = ways.iter().take(FAILURES_MAX).map(Way::line).collect();
    if ways.len() > FAILURES_MAX {
        lines.push(format!("and {} more ways, under Coverage and bounds of the report", ways.len() - FAILURES_MAX));
    }
    lines
}

/// `ways` of single models, those that differ in nothing but the model together.
fn joined(ways: Vec<Way<'_>>) -> Vec<Way<'_>> {
    let mut joined: Vec<Way<'_>> = Vec::new();
    for way in ways {
        let is_alike = |other: &&mut Way<'_>| {
            // Without words nobody knows whether they failed alike.
            way.said.is_some()
                && (other.counts_as_wrong, other.cause, other.said) == (way.counts_as_wrong, way.cause, way.said)
        };
        match joined.iter_mut().find(is_alike) {
            Some(alike) => {
                alike.models.extend(way.models);
                alike.sessions += way.sessions;
            }
            None => joined.push(way),
        }
    }
    joined
}

impl Way<'_> {
    /// `here/model: 500 × auth, HTTP 401: Incorrect API key`.
    fn line(&self) -> String {
        let what = if self.cause.is_empty() { "not run" } else { self.cause };
        let wrong = if self.counts_as_wrong { " (counts as wrong)" } else { "" };
        let said = self.said.map(|said| format!(", {said}")).unwrap_or_default();
        let models = match self.models.as_slice() {
            few if few.len() <= MODELS_MAX => few.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            many => format!("{} models", many.len()),
        };
        format!("{models}: {} × {what}{wrong}{said}", grouped(self.sessions))
    }
}

#[cfg(test)]
mod tests;
