//! The contests of an adaptive sweep, one for each benchmark and setting, made of its lock and of the sessions that have been bought.

use std::collections::{BTreeMap, HashMap};

use regatta_backends::SessionRow;
use regatta_benchmarks::{Better, Evaluation, Measure, Metric, Tables};
use regatta_deciding::{Contest, Over, Question, Round, Rules, Scores, UnitScore};
use regatta_proto::{
    BenchmarkLock, BenchmarkName, CellIndex, DecideOver, DecideQuestion, Evaluator, ItemIndex, ModelRef, Outcome,
    Setting,
};

use crate::{Release, Sweep};

/// A setting whose question cannot be decided.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecideError {
    /// The setting has no metric of this name.
    #[error("{setting} has no metric {metric:?}; known: {known}")]
    UnknownMetric {
        /// The setting.
        setting: Setting,
        /// The name that was asked for.
        metric: String,
        /// Names of the setting's metrics, separated by commas.
        known: String,
    },
    /// A metric that no confidence sequence is known for.
    #[error(
        "{metric} of {setting} is no mean over items with a smallest and a largest value, and only such metrics can be decided by; \
         {choice}"
    )]
    NotAMean {
        /// The setting.
        setting: Setting,
        /// The metric.
        metric: String,
        /// The advice that ends the message: metrics that can be decided by, or to leave the question out.
        choice: String,
    },
    /// Rounds by rules of a later version.
    #[error(
        "the rounds of this sweep are played by rules {number}, which this version of Regatta does not know; go on with one that is no older \
         than the one that planned it"
    )]
    UnknownRules {
        /// Number of the rules.
        number: u32,
    },
}

/// A benchmark and setting of an adaptive sweep.
pub struct SweepContest<'s> {
    /// Benchmark.
    pub benchmark: &'s BenchmarkName,
    /// Setting.
    pub setting: &'s Setting,
    /// Scoring rule that computes the metric.
    pub evaluator: Evaluator,
    /// The metric whose means are compared.
    pub metric: Metric,
    /// Contestants, by position.
    pub models: Vec<&'s ModelRef>,
    /// The contest between these models.
    pub contest: Contest,
    /// Cells by contestant and trial.
    pub cells: Vec<Vec<CellIndex>>,
    release: &'s Release,
    /// Items that the metric is about, by position in the release.
    counts: Vec<bool>,
}

/// The metric that `setting` can be decided by: the one named, or the first that leaderboards show.
///
/// # Errors
/// When there is none of that name, or it is no mean of a bounded value.
pub fn decidable(
    suite: &dyn Tables,
    lock: &BenchmarkLock,
    setting: &Setting,
    wanted: Option<&str>,
) -> Result<(Evaluator, Metric), DecideError> {
    let of = |evaluator: &Evaluator| suite.metrics(setting, *evaluator).into_iter();
    let all: Vec<(Evaluator, Metric)> =
        lock.evaluators.iter().flat_map(|evaluator| of(evaluator).map(|metric| (*evaluator, metric))).collect();
    let found = match wanted {
        Some(name) => all.iter().find(|(_, metric)| metric.name == name),
        None => all.iter().find(|(_, metric)| metric.headline).or(all.first()),
    };
    let names = |of: &dyn Fn(&Metric) -> bool| -> String {
        let mut names: Vec<&str> =
            all.iter().filter(|(_, metric)| of(metric)).map(|(_, metric)| metric.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    };
    let Some(found) = found else {
        let metric = wanted.unwrap_or("that leaderboards show").to_owned();
        return Err(DecideError::UnknownMetric { setting: setting.clone(), metric, known: names(&|_| true) });
    };
    if !is_bounded_mean(&found.1) {
        let others = names(&is_bounded_mean);
        let choice =
            if others.is_empty() { "it has none".to_owned() } else { format!("write metric: one of {others}") };
        return Err(DecideError::NotAMean { setting: setting.clone(), metric: found.1.name.clone(), choice });
    }
    Ok(found.clone())
}

fn is_bounded_mean(metric: &Metric) -> bool {
    let (low, high) = metric.range;
    matches!(metric.measure, Measure::Mean { .. }) && metric.void_if.is_none() && high.is_finite() && low < high
}

/// All contests of `sweep`; none of one without a question.
///
/// # Errors
/// When a setting cannot be decided, which planning finds out.
pub fn contests(sweep: &Sweep) -> Result<Vec<SweepContest<'_>>, DecideError> {
    let Some(decide) = &sweep.lock.decide else { return Ok(Vec::new()) };
    let rules = Rules::of(decide.rules).ok_or(DecideError::UnknownRules { number: decide.rules })?;
    let mut found: Vec<SweepContest<'_>> = Vec::new();
    let mut cells: BTreeMap<(&BenchmarkName, &Setting), Vec<Vec<CellIndex>>> = BTreeMap::new();
    for cell in sweep.cells() {
        let of = cells.entry((&cell.benchmark, &cell.setting)).or_default();
        if cell.trial.0 == 0 {
            of.push(Vec::new());
        }
        if let Some(trials) = of.last_mut() {
            trials.push(cell.index);
        }
    }
    let contests = cells.len().max(1) as f64;
    let models: Vec<&ModelRef> = sweep.lock.models.iter().map(|model| &model.id).collect();
    for ((benchmark, setting), cells) in cells {
        let first = cells.first().and_then(|trials| sweep.cell(*trials.first()?));
        let Some((cell, release)) = first.and_then(|cell| Some((cell, sweep.release(cell)?))) else { continue };
        let (Some(suite), Some(lock)) = (sweep.suite(cell), sweep.benchmark(cell)) else { continue };
        let (evaluator, metric) = decidable(&**suite, lock, setting, decide.asked.metric.as_deref())?;
        let counts: Vec<bool> =
            release.items.iter().map(|item| is_about(&**suite, evaluator, &metric, *item)).collect();
        #[expect(clippy::expect_used, reason = "a contest against another model would decide another question")]
        let question = match &decide.asked.question {
            DecideQuestion::Ranking => Question::Ranking,
            DecideQuestion::Best => Question::Best,
            DecideQuestion::Interval => Question::Interval,
            DecideQuestion::Against(baseline) => {
                let at = models.iter().position(|model| *model == baseline);
                Question::Against(at.expect("the spec was refused unless its baseline is one of its models"))
            }
        };
        let contest = Contest {
            sizes: sizes(release, &counts),
            contestants: models.len(),
            first_trials: decide.first_trials,
            most_trials: sweep.lock.trials,
            question,
            margin: decide.asked.margin.part(),
            level: (1.0 - decide.asked.confidence) / contests,
            rounds: decide.asked.rounds,
            over: match decide.asked.over {
                DecideOver::NewItems => Over::NewItems,
                DecideOver::Grid => Over::Grid,
            },
            rules,
        };
        let models = models.clone();
        found.push(SweepContest { benchmark, setting, evaluator, metric, models, contest, cells, release, counts });
    }
    Ok(found)
}

/// `true` if sessions of `item` can have a value of the metric.
fn is_about(suite: &dyn Evaluation, evaluator: Evaluator, metric: &Metric, item: ItemIndex) -> bool {
    let Measure::Mean { value } = &metric.measure else { return false };
    suite.score_failure(item, &[evaluator]).get(&evaluator).is_some_and(|score| score.values.contains_key(value))
}

/// Number of items in each unit that the metric is about.
fn sizes(release: &Release, counts: &[bool]) -> Vec<u32> {
    let from = std::iter::once(0).chain(release.ends.iter().copied());
    from.zip(&release.ends).map(|(from, end)| counts[from..*end].iter().filter(|is| **is).count() as u32).collect()
}

impl SweepContest<'_> {
    /// Sessions that each cell of the contestants in `live` needs before `round` can be evaluated.
    #[must_use]
    pub fn sessions_of(&self, round: Round, live: &[usize]) -> Vec<(CellIndex, u32)> {
        let items = self.release.items_of(round.units) as u32;
        let cells = live.iter().filter_map(|one| self.cells.get(*one));
        cells.flat_map(|trials| trials.iter().take(usize::from(round.trials))).map(|cell| (*cell, items)).collect()
    }

    /// Scores of the sessions in `rows`, 0 to 1 with 1 the good end, by item; those without a score are left out.
    #[must_use]
    pub fn known(&self, rows: &[SessionRow]) -> HashMap<ItemIndex, f64> {
        rows.iter().filter_map(|row| Some((row.item, self.score(row)?))).collect()
    }

    /// The scores of all units that have been released as a whole. `released` returns the number of a cell's sessions, `known` has the
    /// scores of those that have one. A session without a score counts as 0 in the lower sum and as 1 in the upper one.
    #[must_use]
    pub fn scores<'r>(
        &self,
        released: &dyn Fn(CellIndex) -> usize,
        known: &dyn Fn(CellIndex) -> Option<&'r HashMap<ItemIndex, f64>>,
    ) -> Scores {
        let nothing = HashMap::new();
        let of_cell = |cell: &CellIndex| {
            let known = known(*cell).unwrap_or(&nothing);
            let units = self.release.ends.partition_point(|end| *end <= released(*cell));
            (0..units).map(|unit| self.unit_score(unit, known)).collect()
        };
        self.cells.iter().map(|trials| trials.iter().map(of_cell).collect()).collect()
    }

    /// The items that a cell has after `released` sessions.
    #[must_use]
    pub fn bought(&self, released: usize) -> &[ItemIndex] {
        &self.release.items[..released.min(self.release.items.len())]
    }

    /// Sessions that each contestant would have at the end of all rounds.
    #[must_use]
    pub fn sessions_max(&self) -> u64 {
        self.release.items.len() as u64 * u64::from(self.contest.most_trials)
    }

    fn unit_score(&self, unit: usize, known: &HashMap<ItemIndex, f64>) -> UnitScore {
        let mut sum = UnitScore::default();
        for at in self.release.items_of(unit)..self.release.items_of(unit + 1) {
            if self.counts[at] {
                let score = known.get(&self.release.items[at]);
                sum.low += score.copied().unwrap_or(0.0);
                sum.high += score.copied().unwrap_or(1.0);
            }
        }
        sum
    }

    /// The metric's value in a session on a scale from 0, the bad end, to 1. `None` where it has none.
    fn score(&self, row: &SessionRow) -> Option<f64> {
        if matches!(row.outcome, Outcome::NotMeasured { .. }) {
            return None;
        }
        let Measure::Mean { value } = &self.metric.measure else { return None };
        let value = row.scores.get(self.evaluator.as_str())?.get("values")?.get(value)?.as_f64()?;
        let (low, high) = self.metric.range;
        let part = ((value - low) / (high - low)).clamp(0.0, 1.0);
        Some(match self.metric.better {
            Better::Higher => part,
            Better::Lower => 1.0 - part,
        })
    }
}
