//! Scores that runs have of one metric in one benchmark and setting.

use std::collections::{BTreeMap, BTreeSet};

use regatta_benchmarks::Measure;
use regatta_deciding::Sessions;
use regatta_proto::{BenchmarkName, Digest, ItemId, ModelRef, Setting, counted, did_you_mean};
use regatta_report::{BenchmarkMeasures, MetricDefinition};

use crate::args::ChooseSubsetArgs;
use crate::ended_run::EndedRun;
use crate::exit::BadConfiguration;
use crate::paired_runs::test_of;
use crate::results::ResultLine;

/// A benchmark in a setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) benchmark: BenchmarkName,
    pub(super) setting: Setting,
}

/// A metric that is the mean over items of a score with a least and a largest value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MeanMetric {
    pub(super) definition: MetricDefinition,
    low: f64,
    length: f64,
}

/// Part of a session in a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Part {
    /// A score from 0 to 1.
    Score(f64),
    /// It should have a score, and has none.
    Missing,
    /// The metric is not about it.
    Outside,
}

impl Place {
    /// The place that the command line names, or the only one that all `runs` have.
    pub(super) fn of(runs: &[EndedRun], args: &ChooseSubsetArgs) -> anyhow::Result<Self> {
        let mut shared = runs.iter().map(places);
        let first = shared.next().unwrap_or_default();
        let shared = shared.fold(first, |all, of_run| all.intersection(&of_run).cloned().collect());
        let is_asked = |place: &&Self| {
            args.benchmark.as_ref().is_none_or(|benchmark| place.benchmark == *benchmark)
                && args.setting.as_ref().is_none_or(|setting| place.setting == *setting)
        };
        let mut asked = shared.iter().filter(is_asked);
        let names = || shared.iter().map(Self::to_string).collect::<Vec<_>>().join(", ");
        let problem = match (asked.next(), asked.next()) {
            (Some(only), None) => return Ok(only.clone()),
            (None, _) if shared.is_empty() => "the runs share no benchmark and setting".to_owned(),
            (None, _) => {
                format!("the runs do not share the benchmark and setting that are asked for; they share {}", names())
            }
            (Some(_), Some(_)) => {
                format!(
                    "a subset is of one benchmark and setting; choose with --benchmark and --setting of {}",
                    names()
                )
            }
        };
        Err(BadConfiguration(problem).into())
    }

    /// Digest of the data set in `run`.
    pub(super) fn dataset(&self, run: &EndedRun) -> Option<Digest> {
        run.lock.benchmarks.get(&self.benchmark).map(|benchmark| benchmark.dataset)
    }

    /// Digest of the judge, the other roles and the treatment of filtered sessions in `run`.
    pub(super) fn test(&self, run: &EndedRun) -> anyhow::Result<Option<Digest>> {
        test_of(&run.lock, &self.benchmark, &self.setting)
    }

    /// Sessions of `run` there.
    fn lines<'r>(&'r self, run: &'r EndedRun) -> impl Iterator<Item = &'r ResultLine> {
        run.results.iter().filter(move |line| line.benchmark == self.benchmark && line.setting == self.setting)
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.benchmark, self.setting)
    }
}

fn places(run: &EndedRun) -> BTreeSet<Place> {
    let of_benchmark = |(benchmark, measures): (&BenchmarkName, &BenchmarkMeasures)| {
        let place = |setting: &Setting| Place { benchmark: benchmark.clone(), setting: setting.clone() };
        measures.settings.keys().map(place).collect::<Vec<_>>()
    };
    run.measures.benchmarks.iter().flat_map(of_benchmark).collect()
}

/// Metrics of `run` at a place.
pub(super) fn definitions<'r>(run: &'r EndedRun, place: &Place) -> &'r [MetricDefinition] {
    let of = run.measures.benchmarks.get(&place.benchmark).and_then(|measures| measures.settings.get(&place.setting));
    of.map_or(&[], Vec::as_slice)
}

/// Refuses a run whose sessions were bought by their scores.
pub(super) fn check_fixed(run: &EndedRun) -> anyhow::Result<()> {
    if run.lock.decide.is_none() {
        return Ok(());
    }
    Err(BadConfiguration(format!(
        "{} has a question (decide), so that which sessions it has hangs on its scores; a subset needs runs of a fixed size",
        run.name
    ))
    .into())
}

/// Refuses a run that stopped before its end: what it has not run is no result, so that no count of missing scores would show it.
pub(super) fn check_whole(run: &EndedRun, place: &Place) -> anyhow::Result<()> {
    let rows = run.summary.rows.iter();
    let of_place = rows.filter(|row| row.benchmark == place.benchmark && row.setting == place.setting);
    let not_run: u64 = of_place.map(|row| row.sessions.not_run).sum();
    if not_run == 0 {
        return Ok(());
    }
    let (sessions, were) = (counted(not_run, "session", "sessions"), if not_run == 1 { "was" } else { "were" });
    let problem = format!("{}: {sessions} of {place} {were} not run; `regatta resume` runs what is left", run.name);
    Err(BadConfiguration(problem).into())
}

impl MeanMetric {
    /// The metric that is asked for, or the first one that leaderboards show; all `runs` must define it alike.
    pub(super) fn of(runs: &[EndedRun], place: &Place, args: &ChooseSubsetArgs) -> anyhow::Result<Self> {
        let Some((first, others)) = runs.split_first() else {
            return Err(BadConfiguration("there is no run to choose from".to_owned()).into());
        };
        let definition = asked(definitions(first, place), args, place)?;
        if let Some(other) = others.iter().find(|run| !definitions(run, place).contains(definition)) {
            return Err(BadConfiguration(format!(
                "{} does not define {} ({}) of {place} as {} does",
                other.name, definition.metric, definition.evaluator, first.name
            ))
            .into());
        }
        Self::new(definition)
    }

    /// Refuses a metric of another kind: the mean of a subset says nothing of its value.
    pub(super) fn new(definition: &MetricDefinition) -> anyhow::Result<Self> {
        let name = &definition.metric;
        match &definition.measure {
            Measure::Mean { .. } => {}
            Measure::Ratio { .. }
            | Measure::F1 { .. }
            | Measure::Pooled { .. }
            | Measure::GroupMean { .. }
            | Measure::Average { .. } => {
                let problem =
                    format!("{name} is no mean over items, which alone a subset estimates; choose another --metric");
                return Err(BadConfiguration(problem).into());
            }
        }
        match (definition.low, definition.high) {
            (Some(low), Some(high)) if high > low => {
                Ok(Self { definition: definition.clone(), low, length: high - low })
            }
            (_, _) => {
                let problem = format!("{name} has no least or no largest value; choose another --metric");
                Err(BadConfiguration(problem).into())
            }
        }
    }

    /// A value from 0 to 1 in the metric's own scale.
    pub(super) fn value(&self, part: f64) -> f64 {
        self.low + self.difference(part)
    }

    /// A difference of two values from 0 to 1 in the metric's own scale.
    pub(super) fn difference(&self, part: f64) -> f64 {
        part * self.length
    }

    /// Part of a session in the metric.
    pub(super) fn part(&self, line: &ResultLine) -> Part {
        let Some(contribution) = line.scores.as_ref().and_then(|scores| self.definition.contribution(scores)) else {
            return Part::Missing;
        };
        match contribution.value() {
            Some(value) => Part::Score((value - self.low) / self.length),
            None if contribution.is_missing() => Part::Missing,
            None => Part::Outside,
        }
    }
}

fn asked<'d>(
    definitions: &'d [MetricDefinition],
    args: &ChooseSubsetArgs,
    place: &Place,
) -> anyhow::Result<&'d MetricDefinition> {
    let is_asked = |of: &&MetricDefinition| {
        args.metric.as_ref().map_or(of.headline, |metric| of.metric == *metric)
            && args.evaluator.is_none_or(|evaluator| of.evaluator == evaluator)
    };
    let found: Vec<&MetricDefinition> = definitions.iter().filter(is_asked).collect();
    let problem = match (found.as_slice(), &args.metric) {
        ([only], _) => return Ok(*only),
        ([first, ..], None) => return Ok(*first),
        ([], metric) => {
            let known: BTreeSet<&str> = definitions.iter().map(|of| of.metric.as_str()).collect();
            let meant = metric.as_ref().map_or_else(String::new, |of| did_you_mean(of, known.iter().copied()));
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            format!("{place} has no such metric; there are {known}{meant}")
        }
        ([_, ..], Some(metric)) => {
            let rules: Vec<String> = found.iter().map(|of| of.evaluator.to_string()).collect();
            format!("{metric} is there by {}: choose one with --evaluator", rules.join(", "))
        }
    };
    Err(BadConfiguration(problem).into())
}

/// Scores of all `runs`, by model, then by item. A model of several runs is one model; items that the metric is not about are left out.
/// Refuses a metric that is about an item in some sessions only: what they have in common is not the whole of any model.
pub(super) fn sessions(runs: &[EndedRun], place: &Place, metric: &MeanMetric) -> anyhow::Result<Sessions> {
    let mut sessions = Sessions::new();
    let (mut inside, mut outside): (BTreeSet<&str>, BTreeSet<&str>) = (BTreeSet::new(), BTreeSet::new());
    for line in runs.iter().flat_map(|run| place.lines(run)) {
        let score = match metric.part(line) {
            Part::Score(score) => {
                inside.insert(line.item.as_str());
                Some(score)
            }
            Part::Missing => None,
            Part::Outside => {
                outside.insert(line.item.as_str());
                continue;
            }
        };
        let of_model = sessions.entry(line.model.to_string()).or_default();
        of_model.entry(line.item.to_string()).or_default().push(score);
    }
    if let Some(item) = outside.intersection(&inside).next() {
        return Err(BadConfiguration(format!(
            "{} is about {item} in some sessions and not in others, so that each model's is over other items; choose another --metric",
            metric.definition.metric
        ))
        .into());
    }
    for of_model in sessions.values_mut() {
        of_model.retain(|item, _| !outside.contains(item.as_str()));
    }
    Ok(sessions)
}

/// Parts of the sessions of one run, by model, then by item.
pub(super) fn parts<'r>(
    run: &'r EndedRun,
    place: &'r Place,
    metric: &MeanMetric,
) -> BTreeMap<&'r ModelRef, BTreeMap<&'r ItemId, Vec<Option<f64>>>> {
    let mut parts: BTreeMap<_, BTreeMap<_, Vec<Option<f64>>>> = BTreeMap::new();
    for line in place.lines(run) {
        let score = match metric.part(line) {
            Part::Score(score) => Some(score),
            Part::Missing | Part::Outside => None,
        };
        parts.entry(&line.model).or_default().entry(&line.item).or_default().push(score);
    }
    parts
}

#[cfg(test)]
mod tests {
    use regatta_proto::Evaluator;

    use super::*;
    use crate::ended_run::testing::Made;

    fn place() -> Place {
        Place { benchmark: "worfbench".parse().unwrap(), setting: "two-shot".parse().unwrap() }
    }

    /// A run of three items; the metric is not about those at `outside`.
    fn run(model: &str, outside: &[usize]) -> EndedRun {
        let scores = vec![Some(1.0), Some(0.0), Some(1.0)];
        let mut run = Made { model, scores, ..Made::default() }.run("nightly");
        for at in outside {
            run.results[*at].scores = Some(BTreeMap::from([(Evaluator::Official, BTreeMap::new())]));
        }
        run
    }

    fn sessions_of(runs: &[EndedRun]) -> anyhow::Result<Sessions> {
        let metric = MeanMetric::new(&definitions(&runs[0], &place())[0]).unwrap();
        sessions(runs, &place(), &metric)
    }

    #[test]
    fn items_that_a_metric_is_not_about_are_no_part_of_the_whole() {
        let found = sessions_of(&[run("openai/gpt-5", &[1]), run("openai/gpt-6", &[1])]).unwrap();
        let items: Vec<Vec<&str>> =
            found.values().map(|of_model| of_model.keys().map(String::as_str).collect()).collect();
        assert_eq!(items, [["item-000", "item-002"], ["item-000", "item-002"]]);
    }

    #[test]
    fn a_run_that_stopped_before_its_end_is_refused() {
        let mut stopped = run("openai/gpt-5", &[]);
        assert!(check_whole(&stopped, &place()).is_ok());
        stopped.summary.rows[0].sessions.not_run = 2;
        assert_eq!(
            check_whole(&stopped, &place()).unwrap_err().to_string(),
            "nightly: 2 sessions of worfbench two-shot were not run; `regatta resume` runs what is left"
        );
    }

    #[test]
    fn a_metric_that_is_about_other_items_for_each_model_is_refused() {
        let error = sessions_of(&[run("openai/gpt-5", &[]), run("openai/gpt-6", &[1])]).unwrap_err().to_string();
        assert!(error.starts_with("success is about item-001 in some sessions and not in others"), "{error}");
    }
}
