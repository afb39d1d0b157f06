//! Changes from one scoring of the same sessions to another.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use regatta_proto::{BenchmarkName, Evaluator, ItemId, ModelRef, Setting, counted};
use regatta_report::{Contribution, LeaderboardRow, Measures, MetricDefinition, Summary, SummaryMetric};
use serde::Serialize;

use crate::plain_table::{fitted, plain_table};
use crate::results::{self, ResultLine};

/// Changes of single sessions that are shown; the file has all.
const SHOWN: usize = 20;

/// Old and new values, and the sessions behind what changed.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Difference {
    rows: Vec<Row>,
    /// Sessions whose part in a metric, or whose ending, is another one.
    changes: Vec<Change>,
}

/// One metric of one benchmark, setting and model.
#[derive(Debug, PartialEq, Serialize)]
struct Row {
    benchmark: BenchmarkName,
    setting: Setting,
    model: ModelRef,
    metric: String,
    old_evaluator: Option<Evaluator>,
    /// Absent without a value, and where it is withheld.
    old: Option<f64>,
    /// Too little had a score for the old value to be shown.
    old_withheld: bool,
    new_evaluator: Evaluator,
    /// Absent without a value, and where it is withheld.
    new: Option<f64>,
    /// Too little has a score for the new value to be shown.
    new_withheld: bool,
    /// Sessions whose part in the metric changed; absent where a run does not say how the metric comes from its sessions.
    changed: Option<u64>,
    /// Sessions that have a value of the metric in the old run, and in the new one.
    valued: [u64; 2],
    /// Sessions that have one in both.
    compared: u64,
    /// Sessions of both.
    sessions: u64,
}

impl Row {
    /// `false` where people read the same on both sides, and no session is known to have changed.
    fn differs(&self) -> bool {
        let is_changed = self.changed.is_some_and(|changed| changed > 0);
        is_changed || shown(self.old, self.old_withheld) != shown(self.new, self.new_withheld)
    }
}

/// One session.
#[derive(Debug, PartialEq, Serialize)]
struct Change {
    benchmark: BenchmarkName,
    setting: Setting,
    model: ModelRef,
    trial: u16,
    item: ItemId,
    metric: String,
    /// Value of the metric over this session alone.
    old: Option<f64>,
    new: Option<f64>,
    old_ending: String,
    new_ending: String,
    /// As people read both sides.
    #[serde(skip)]
    shown: [String; 2],
}

/// The documents of one scoring.
struct Scored {
    summary: Summary,
    results: Vec<ResultLine>,
    measures: Measures,
}

impl Scored {
    fn read(directory: &Path) -> anyhow::Result<Self> {
        let bytes = |name: &str| {
            let path = directory.join(name);
            std::fs::read(&path).with_context(|| format!("failed to read {}", path.display()))
        };
        let failed = |name: &str| format!("failed to read {}", directory.join(name).display());
        let summary = Summary::from_json(&bytes("summary.json")?).with_context(|| failed("summary.json"))?;
        // Runs of early versions do not have it.
        let measures = match directory.join("measures.json").exists() {
            true => Measures::from_json(&bytes("measures.json")?).with_context(|| failed("measures.json"))?,
            false => Measures { v: Measures::VERSION, benchmarks: BTreeMap::new() },
        };
        Ok(Self { summary, results: results::read(directory)?, measures })
    }

    fn definition(&self, row: &LeaderboardRow, metric: &SummaryMetric) -> Option<&MetricDefinition> {
        let of_benchmark = self.measures.benchmarks.get(&row.benchmark)?;
        of_benchmark.definition(&row.setting, metric.evaluator, &metric.metric)
    }

    fn row(&self, like: &LeaderboardRow) -> Option<&LeaderboardRow> {
        let is_same = |row: &&LeaderboardRow| {
            row.benchmark == like.benchmark && row.setting == like.setting && row.model == like.model
        };
        self.summary.rows.iter().find(is_same)
    }
}

impl Difference {
    /// The difference of two runs of the same sessions, each in its directory.
    pub(super) fn between(old: &Path, new: &Path) -> anyhow::Result<Self> {
        Ok(Self::of(&Scored::read(old)?, &Scored::read(new)?))
    }

    fn of(old: &Scored, new: &Scored) -> Self {
        let before: BTreeMap<(u32, &ItemId), &ResultLine> =
            old.results.iter().map(|line| ((line.cell, &line.item), line)).collect();
        let mut difference = Self { rows: Vec::new(), changes: Vec::new() };
        for row in &new.summary.rows {
            let old_row = old.row(row);
            let lines = new.results.iter().filter(|line| {
                line.benchmark == row.benchmark && line.setting == row.setting && line.model == row.model
            });
            let pairs: Vec<(&ResultLine, &ResultLine)> =
                lines.filter_map(|line| Some((*before.get(&(line.cell, &line.item))?, line))).collect();
            for metric in row.headline() {
                let was = old_row.and_then(|row| counterpart(row, metric));
                let definitions = was.and_then(|was| old.definition(row, was)).zip(new.definition(row, metric));
                difference.add(row, metric, was, definitions, &pairs);
            }
        }
        difference
    }

    fn add(
        &mut self,
        row: &LeaderboardRow,
        metric: &SummaryMetric,
        was: Option<&SummaryMetric>,
        definitions: Option<(&MetricDefinition, &MetricDefinition)>,
        pairs: &[(&ResultLine, &ResultLine)],
    ) {
        let (mut changed, mut valued, mut compared) = (0, [0, 0], 0);
        for ((old, new), (was, is)) in pairs.iter().filter_map(|pair| Some((pair, definitions?))) {
            let part = |line: &ResultLine, of: &MetricDefinition| of.contribution(line.scores.as_ref()?);
            let parts = (part(old, was), part(new, is));
            let [old_value, new_value] = [&parts.0, &parts.1].map(|part| part.as_ref().and_then(Contribution::value));
            valued[0] += u64::from(old_value.is_some());
            valued[1] += u64::from(new_value.is_some());
            compared += u64::from(old_value.is_some() && new_value.is_some());
            let is_equal = match &parts {
                (Some(one), Some(other)) => one.is_equal(other),
                (None, None) => old.ending() == new.ending(),
                (None, Some(_)) | (Some(_), None) => false,
            };
            if is_equal {
                continue;
            }
            changed += 1;
            let side = |part: &Option<Contribution>, line: &ResultLine| {
                part.as_ref().map_or_else(|| line.ending(), ToString::to_string)
            };
            self.changes.push(Change {
                benchmark: row.benchmark.clone(),
                setting: row.setting.clone(),
                model: row.model.clone(),
                trial: new.trial,
                item: new.item.clone(),
                metric: metric.metric.clone(),
                old: old_value,
                new: new_value,
                old_ending: old.ending(),
                new_ending: new.ending(),
                shown: [side(&parts.0, old), side(&parts.1, new)],
            });
        }
        self.rows.push(Row {
            benchmark: row.benchmark.clone(),
            setting: row.setting.clone(),
            model: row.model.clone(),
            metric: metric.metric.clone(),
            old_evaluator: was.map(|was| was.evaluator),
            old: was.and_then(|was| was.estimate.shown()),
            old_withheld: was.is_some_and(|was| was.estimate.withheld),
            new_evaluator: metric.evaluator,
            new: metric.estimate.shown(),
            new_withheld: metric.estimate.withheld,
            changed: definitions.map(|_| changed),
            valued,
            compared,
            sessions: pairs.len() as u64,
        });
    }

    /// For people: old and new beside each other where they differ, then the first sessions that changed.
    pub(super) fn render(&self) -> String {
        let differing: Vec<&Row> = self.rows.iter().filter(|row| row.differs()).collect();
        if differing.is_empty() {
            return format!("no value differs, and {}", self.unchanged());
        }
        let mut table = plain_table();
        table.set_header(["benchmark", "model", "metric", "old", "new", "change", "sessions changed"]);
        for row in &differing {
            table.add_row([
                format!("{} {}", row.benchmark, row.setting),
                row.model.to_string(),
                row.metric.clone(),
                with_evaluator(shown(row.old, row.old_withheld), row.old_evaluator),
                with_evaluator(shown(row.new, row.new_withheld), Some(row.new_evaluator)),
                row.old.zip(row.new).map_or_else(|| "–".to_owned(), |(old, new)| signed(new - old)),
                row.changed.map_or_else(|| "unknown".to_owned(), |changed| format!("{changed} of {}", row.sessions)),
            ]);
        }
        let same = match (self.rows.len() - differing.len()) as u64 {
            0 => String::new(),
            same => format!("\n{} not differ", counted(same, "further value does", "further values do")),
        };
        let table = format!("{}{same}{}", fitted(table), self.other_sessions());
        if self.changes.is_empty() {
            return format!("{table}\n{}", self.unchanged());
        }
        let mut list = plain_table();
        list.set_header(["session", "metric", "old", "new"]);
        for change in self.changes.iter().take(SHOWN) {
            let [old, new] = change.shown.clone();
            list.add_row([
                format!("{} {} {} t{} {}", change.benchmark, change.setting, change.model, change.trial, change.item),
                change.metric.clone(),
                old,
                new,
            ]);
        }
        let more = match self.changes.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!("\nand {more} more"),
        };
        format!("{table}\n\n{}{more}", fitted(list))
    }

    /// Lines on metrics whose old and new value are over different sessions, which alone can make a change.
    fn other_sessions(&self) -> String {
        let rows = self.rows.iter().filter(|row| row.valued != [row.compared; 2]);
        let line = |Row { benchmark, setting, model, metric, valued: [old, new], compared, .. }: &Row| {
            format!(
                "\n{benchmark} {setting}, {model}, {metric}: old is over the {old} and new over the {new} sessions that have a value; {compared} have \
                 one in both"
            )
        };
        rows.map(line).collect()
    }

    /// A sentence where no session is known to have changed.
    fn unchanged(&self) -> String {
        match self.rows.iter().filter(|row| row.changed.is_none()).count() as u64 {
            0 => "no session's score changed".to_owned(),
            unknown => format!(
                "no session's score is known to have changed; of {} the old run has no counterpart, or does not say how it comes from sessions",
                counted(unknown, "metric", "metrics")
            ),
        }
    }
}

/// Counterpart of `metric`: the same of the same evaluator, else the same of another.
fn counterpart<'r>(row: &'r LeaderboardRow, metric: &SummaryMetric) -> Option<&'r SummaryMetric> {
    let of_name = || row.metrics.iter().filter(|other| other.metric == metric.metric);
    of_name().find(|other| other.evaluator == metric.evaluator).or_else(|| of_name().next())
}

/// A value as people read it.
fn shown(value: Option<f64>, is_withheld: bool) -> String {
    match value {
        Some(value) => format!("{value:.4}"),
        None if is_withheld => "withheld".to_owned(),
        None => "–".to_owned(),
    }
}

/// A change with its sign. One that is rounded to zero has none.
fn signed(change: f64) -> String {
    let rounded = format!("{change:+.4}");
    if rounded.contains(|digit: char| ('1'..='9').contains(&digit)) { rounded } else { shown(Some(0.0), false) }
}

fn with_evaluator(value: String, evaluator: Option<Evaluator>) -> String {
    match evaluator {
        Some(evaluator) => format!("{value} ({evaluator})"),
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ended_run::testing::Made;

    /// One model over four items, whose metric is named `quality` and is the mean of `success`.
    fn scored(scores: [Option<f64>; 4], is_withheld: bool) -> Scored {
        let run = Made { scores: scores.to_vec(), ..Made::default() }.run("runs/one");
        let (mut summary, mut measures) = (run.summary, run.measures);
        let metric = &mut summary.rows[0].metrics[0];
        (metric.metric, metric.estimate.withheld) = ("quality".to_owned(), is_withheld);
        for definition in measures.benchmarks.values_mut().flat_map(|of| of.settings.values_mut()).flatten() {
            definition.metric = "quality".to_owned();
        }
        Scored { summary, results: run.results, measures }
    }

    #[test]
    fn sessions_change_by_the_values_that_a_metric_is_made_of() {
        let (old, new) = ([Some(1.0), Some(0.0), Some(1.0), None], [Some(1.0), Some(1.0), None, None]);
        let found = Difference::of(&scored(old, false), &scored(new, false));
        let [row] = found.rows.as_slice() else { panic!("{found:?}") };
        assert_eq!((row.changed, row.valued, row.compared, row.sessions), (Some(2), [3, 2], 2, 4));
        let said = "quality: old is over the 3 and new over the 2 sessions that have a value; 2 have one in both";
        assert!(found.render().contains(said), "{}", found.render());
        let values: Vec<_> = found.changes.iter().map(|change| (change.old, change.new)).collect();
        assert_eq!(values, [(Some(0.0), Some(1.0)), (Some(1.0), None)]);
        assert!(found.render().contains("item-002") && found.render().contains("not_measured"), "{}", found.render());
    }

    #[test]
    fn a_withheld_value_is_on_neither_side_and_in_no_change() {
        let found = Difference::of(&scored([Some(1.0); 4], true), &scored([Some(0.0); 4], false));
        let row = &found.rows[0];
        assert_eq!((row.old, row.old_withheld, row.new, row.new_withheld), (None, true, Some(0.0), false));
        let line = found.render().lines().find(|line| line.contains("quality")).map(str::to_owned).unwrap_or_default();
        assert!(line.contains("withheld") && !line.contains("1.0000"), "{line}");
    }

    #[test]
    fn of_a_run_that_does_not_say_how_metrics_come_from_sessions_no_session_is_called_unchanged() {
        let mut old = scored([Some(1.0); 4], false);
        old.measures.benchmarks.clear();
        let found = Difference::of(&old, &scored([Some(0.0); 4], false));
        assert_eq!((found.rows[0].changed, found.changes.len()), (None, 0));
        assert!(!found.render().contains("no session's score changed"), "{}", found.render());
    }

    #[test]
    fn what_does_not_differ_has_no_row_and_where_nothing_does_that_is_said() {
        let of =
            |old: [f64; 4], new: [f64; 4]| Difference::of(&scored(old.map(Some), false), &scored(new.map(Some), false));
        let same = of([1.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0]);
        assert_eq!(same.render(), "no value differs, and no session's score changed");
        // One session is better by what another one is worse.
        let mut swapped = of([1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]);
        swapped.rows.extend(same.rows);
        let text = swapped.render();
        assert!(text.contains(" 0.0000 ") && text.contains("2 of 4") && !text.contains("0 of 4"), "{text}");
        assert!(text.contains("\n1 further value does not differ\n") && !text.contains("+0.0000"), "{text}");
        assert_eq!([0.1, -0.00001, -0.0, -0.25].map(signed), ["+0.1000", "0.0000", "0.0000", "-0.2500"]);
    }
}
