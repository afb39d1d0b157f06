//! Two ended runs, cell by cell: which sessions belong together, and how their scores, money and time differ.

mod changes;
mod matching;
mod numbers;
mod pace;

use std::collections::{BTreeMap, BTreeSet};

use regatta_benchmarks::{Better, Measure, Unit};
use regatta_proto::{BenchmarkName, Evaluator, ItemId, Level, ModelRef, Setting};
use regatta_report::{Difference, MetricDefinition, PairedCells, SessionScores, flips_seed, holm, mean_difference};
use serde::Serialize;

pub(crate) use self::changes::{Change, Changes, changes, other_tests, parameters, served, test_of};
pub(crate) use self::matching::{Chosen, MatchedCell, matched};
pub(crate) use self::numbers::{Answered, Distribution, Numbers, Observations, Quantity, Times};
pub(crate) use self::pace::{Pace, Per};
use crate::ended_run::{EndedRun, Took};
use crate::results::ResultLine;

/// A model in a setting, in both runs. Differences are how much higher B is than A.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ComparedCell {
    #[serde(flatten)]
    pub(crate) cell: MatchedCell,
    /// Items of both.
    pub(crate) items: u32,
    pub(crate) items_only_in_a: u32,
    pub(crate) items_only_in_b: u32,
    /// Sessions with a score among all, 0..=1.
    pub(crate) coverage_a: f64,
    pub(crate) coverage_b: f64,
    /// Sessions with a score.
    pub(crate) scored: Scored,
    /// Metrics that leaderboards show.
    pub(crate) metrics: Vec<ComparedMetric>,
    /// By the first of the metrics; absent where there is none.
    pub(crate) flips: Option<ItemFlips>,
    /// Dollars a session with a score in either run, with their difference; absent where a price of either is unknown. Sessions of which
    /// answers came from the response cache are left out, here and in the next two.
    pub(crate) cost: Option<Numbers>,
    /// Dollars a session with a score of A; absent where a price is unknown.
    pub(crate) cost_a: Option<Distribution>,
    /// Dollars a session with a score of B; absent where a price is unknown.
    pub(crate) cost_b: Option<Distribution>,
    /// Seconds in model calls of a session with a score and an answered call.
    pub(crate) seconds: Times,
    /// Sessions with answers: costs and times of both runs may be over different ones.
    pub(crate) answered: Answered,
}

/// Sessions with a score: values of a run are over all of its own, paired differences over those of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Scored {
    pub(crate) a: usize,
    pub(crate) b: usize,
    pub(crate) both: usize,
}

/// Sessions, by item and trial.
pub(crate) type Sessions = BTreeSet<(ItemId, u16)>;

impl Scored {
    fn of(a: Sessions, b: Sessions) -> Self {
        Self { a: a.len(), b: b.len(), both: a.intersection(&b).count() }
    }
}

fn session(line: &ResultLine) -> (ItemId, u16) {
    (line.item.clone(), line.trial)
}

/// A metric in both runs.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ComparedMetric {
    pub(crate) evaluator: Evaluator,
    pub(crate) metric: String,
    pub(crate) unit: Unit,
    pub(crate) better: Better,
    /// `true` for an average with a part that needs no grade, which is over sessions without one too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) graded_in_part: bool,
    /// Sessions that are in it: those with a score but for the ones whose judge gave no grade.
    pub(crate) scored: Scored,
    /// Over all sessions of A that have a score; absent where nothing was measured, and where the value is withheld.
    pub(crate) a: Option<f64>,
    /// Over all sessions of B that have a score; absent as A's.
    pub(crate) b: Option<f64>,
    /// Over the items and trials that both have a score of; interval and p-value hold whatever those that one of both lacks would have
    /// scored. Absent where no session has a score in both.
    pub(crate) difference: Option<Difference>,
    /// P-value, corrected (Holm) over all metrics of all cells that are compared; 1 where the difference has none.
    pub(crate) p_holm: f64,
}

/// Items that changed, by id.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct ItemFlips {
    pub(crate) metric: String,
    /// Better in B.
    pub(crate) better: Vec<ItemId>,
    /// Worse in B.
    pub(crate) worse: Vec<ItemId>,
    pub(crate) same: u32,
    /// Items of both of which no session, or of an average no session of some part, has a value in both.
    pub(crate) without: u32,
}

/// The level of what two runs are compared with: the higher one of both, so that neither is told of a difference that it would not call one.
pub(crate) fn level(a: &EndedRun, b: &EndedRun) -> Level {
    let (a, b) = (a.summary.level, b.summary.level);
    if a > b { a } else { b }
}

/// Compares the cells that both runs have.
pub(crate) fn compared(a: &EndedRun, b: &EndedRun, cells: Vec<MatchedCell>) -> Vec<ComparedCell> {
    let mut compared: Vec<ComparedCell> = cells.into_iter().map(|cell| compare(a, b, cell)).collect();
    let all = || compared.iter().flat_map(|cell| &cell.metrics);
    let p: Vec<f64> = all().map(|metric| metric.difference.and_then(|of| of.p).unwrap_or(1.0)).collect();
    let corrected = holm(&p, p.len());
    let metrics = compared.iter_mut().flat_map(|cell| &mut cell.metrics);
    metrics.zip(corrected).for_each(|(metric, corrected)| metric.p_holm = corrected);
    // Money is another question than quality, so that it is a family by itself, as on a report's first card.
    let p: Vec<f64> =
        compared.iter().filter_map(|cell| Some(cell.cost.as_ref()?.difference.p.unwrap_or(1.0))).collect();
    let corrected = holm(&p, p.len());
    let costs = compared.iter_mut().filter_map(|cell| cell.cost.as_mut());
    costs.zip(corrected).for_each(|(cost, corrected)| cost.p_holm = corrected);
    compared
}

fn compare(a: &EndedRun, b: &EndedRun, cell: MatchedCell) -> ComparedCell {
    let paired = Paired::new(a, b, &cell);
    let definitions: Vec<&MetricDefinition> =
        paired.definitions.iter().copied().filter(|metric| metric.headline).collect();
    let value = |run: &EndedRun, model: &ModelRef, of: &MetricDefinition| {
        let row = run.row(&cell.benchmark, &cell.setting, model)?;
        let is_of =
            |metric: &&regatta_report::SummaryMetric| metric.evaluator == of.evaluator && metric.metric == of.metric;
        row.metrics.iter().find(is_of)?.estimate.shown()
    };
    let metrics = definitions.iter().map(|of| ComparedMetric {
        evaluator: of.evaluator,
        metric: of.metric.clone(),
        unit: of.unit,
        better: of.better,
        graded_in_part: is_graded_in_part(of),
        scored: paired.valued(of),
        a: value(a, &cell.model_a, of),
        b: value(b, &cell.model_b, of),
        difference: paired.difference(of),
        p_holm: 1.0,
    });
    let metrics = metrics.collect();
    let flips = definitions.first().map(|of| flips(&paired.cells, of));
    let [cost_a, cost_b] = paired.spent(Quantity::Dollars).map(|run| run.of);
    ComparedCell {
        items: paired.cells.items.len() as u32,
        items_only_in_a: paired.cells.only_theirs.len() as u32,
        items_only_in_b: paired.cells.only_ours.len() as u32,
        coverage_a: a.coverage(&cell.benchmark, &cell.setting, &cell.model_a),
        coverage_b: b.coverage(&cell.benchmark, &cell.setting, &cell.model_b),
        scored: paired.scored(),
        metrics,
        flips,
        cost: paired.numbers(Quantity::Dollars),
        cost_a,
        cost_b,
        seconds: paired.times(),
        answered: paired.answered(),
        cell,
    }
}

fn is_graded_in_part(of: &MetricDefinition) -> bool {
    let needs_none = |part: &Measure| !part.values().iter().any(|value| of.missing_if.contains_key(*value));
    match &of.measure {
        Measure::Average { of } => of.iter().any(needs_none),
        Measure::Mean { .. }
        | Measure::Ratio { .. }
        | Measure::F1 { .. }
        | Measure::GroupMean { .. }
        | Measure::Pooled { .. } => false,
    }
}

fn flips(cells: &PairedCells<'_>, of: &MetricDefinition) -> ItemFlips {
    let mut flips = ItemFlips { metric: of.metric.clone(), ..ItemFlips::default() };
    for item in cells.by_item(of) {
        let gain = match of.better {
            Better::Higher => item.ours - item.theirs,
            Better::Lower => item.theirs - item.ours,
        };
        // Sums of the same numbers in another order are the same.
        match gain {
            gain if gain > 1e-9 => flips.better.push(item.item.clone()),
            gain if gain < -1e-9 => flips.worse.push(item.item.clone()),
            _ => flips.same += 1,
        }
    }
    flips.without = cells.items.len() as u32 - (flips.better.len() + flips.worse.len()) as u32 - flips.same;
    flips
}

/// Sessions of a run, by item and trial; `true` for those that are in a part of them.
pub(crate) type SessionPart = BTreeMap<(ItemId, u16), bool>;

/// The sessions of a cell in both runs; ours are those of B.
pub(crate) struct Paired<'r> {
    a: &'r EndedRun,
    b: &'r EndedRun,
    cell: &'r MatchedCell,
    groups: &'r BTreeMap<ItemId, String>,
    pub(crate) cells: PairedCells<'r>,
    /// Metrics that both define alike.
    pub(crate) definitions: Vec<&'r MetricDefinition>,
}

/// Groups of a benchmark that one of both lacks; there are no items in it.
static NO_GROUPS: BTreeMap<ItemId, String> = BTreeMap::new();

impl<'r> Paired<'r> {
    pub(crate) fn new(a: &'r EndedRun, b: &'r EndedRun, cell: &'r MatchedCell) -> Self {
        Self::of(a, b, cell, &|_| true)
    }

    /// The metric `name` of `evaluator`, or of whichever has it first, if both runs define it alike.
    pub(crate) fn definition(&self, name: &str, evaluator: Option<Evaluator>) -> Option<&'r MetricDefinition> {
        let is_of = |metric: &&&MetricDefinition| {
            metric.metric == name && evaluator.is_none_or(|evaluator| metric.evaluator == evaluator)
        };
        self.definitions.iter().find(is_of).copied()
    }

    fn of(a: &'r EndedRun, b: &'r EndedRun, cell: &'r MatchedCell, is_in: &dyn Fn(&ResultLine) -> bool) -> Self {
        let scores = |run: &'r EndedRun, model: &'r ModelRef| -> Vec<SessionScores<'r>> {
            let sessions = run.sessions(&cell.benchmark, &cell.setting, model);
            let of = |line: &'r ResultLine| SessionScores {
                item: &line.item,
                trial: line.trial,
                scores: line.scores.as_ref(),
            };
            sessions.filter(|line| is_in(line)).map(of).collect()
        };
        let groups = b.measures.benchmarks.get(&cell.benchmark).map_or(&NO_GROUPS, |measures| &measures.groups);
        let of_a = a.definitions(&cell.benchmark, &cell.setting);
        let in_both = b.definitions(&cell.benchmark, &cell.setting).iter().filter(|metric| of_a.contains(metric));
        Self {
            a,
            b,
            cell,
            groups,
            cells: PairedCells::new(groups, &scores(b, &cell.model_b), &scores(a, &cell.model_a)),
            definitions: in_both.collect(),
        }
    }

    /// The seed of the sign-flips of one number of this cell: the same files give the same bytes.
    pub(crate) fn seed(&self, of: &str) -> u64 {
        let MatchedCell { benchmark, setting, model_a, model_b, .. } = self.cell;
        flips_seed(0, &[benchmark.as_str(), setting.as_str(), &model_a.to_string(), &model_b.to_string(), of])
    }

    /// Difference of B from A in the metric, above 0 where B is higher; withheld where less of the sessions has a score in both than the
    /// stricter one of both runs asks for.
    pub(crate) fn difference(&self, of: &MetricDefinition) -> Option<Difference> {
        let found = self.cells.difference(of, self.seed(&of.metric), self.level())?;
        Some(found.withheld_below(self.a.lock.coverage_min.max(self.b.lock.coverage_min)))
    }

    fn level(&self) -> Level {
        level(self.a, self.b)
    }

    /// Time, tokens and money of each session, in run A and in run B.
    fn took(&self) -> [BTreeMap<(ItemId, u16), Took>; 2] {
        let took = |run: &'r EndedRun, model: &'r ModelRef| run.took(&self.cell.benchmark, &self.cell.setting, model);
        [took(self.a, &self.cell.model_a), took(self.b, &self.cell.model_b)]
    }

    pub(crate) fn scored(&self) -> Scored {
        let [a, b] = self.sides().map(|(run, model)| self.lines(run, model).filter(|line| line.scores.is_some()));
        Scored::of(a.map(session).collect(), b.map(session).collect())
    }

    /// Sessions that are in the metric: those with a score but for the ones whose judge gave no grade.
    pub(crate) fn valued(&self, of: &MetricDefinition) -> Scored {
        let [a, b] = self.graded(of).map(|all| all.into_iter().filter(|(_, has)| *has).map(|(of, _)| of).collect());
        Scored::of(a, b)
    }

    /// Sessions with a score under the metric's evaluator, in A and in B; `false` for one whose judge gave no grade.
    pub(crate) fn graded(&self, of: &MetricDefinition) -> [SessionPart; 2] {
        self.parts(|line| Some(!of.contribution(line.scores.as_ref()?)?.is_missing()))
    }

    /// Sessions of A and of B for which `is_in` says whether they are in a part of them, and not `None`.
    pub(crate) fn parts(&self, is_in: impl Fn(&ResultLine) -> Option<bool>) -> [SessionPart; 2] {
        self.sides()
            .map(|(run, model)| self.lines(run, model).filter_map(|line| Some((session(line), is_in(line)?))).collect())
    }

    /// Sessions that both runs planned and neither cut off: other ones tell of the filter, the context or a refusal, and not of how good
    /// answers are. `None` where no session was cut off.
    pub(crate) fn uncut(&self) -> Option<Sessions> {
        let [a, b] = self.parts(|line| Some(line.cut_off().is_some()));
        let cut = a.values().chain(b.values()).any(|is_cut| *is_cut);
        cut.then(|| {
            a.into_iter().filter(|(of, is_cut)| !is_cut && b.get(of) == Some(&false)).map(|(of, _)| of).collect()
        })
    }

    /// The same, of some `sessions` alone.
    pub(crate) fn of_sessions(&self, sessions: &Sessions) -> Self {
        let Self { a, b, cell, .. } = *self;
        Self::of(a, b, cell, &|line| sessions.contains(&session(line)))
    }

    /// Sessions that both runs planned, and which of these have answers.
    pub(crate) fn answered(&self) -> Answered {
        let [a, b] = self.parts(|_| Some(true)).map(|all| all.into_keys().collect::<Sessions>());
        Answered::of(&self.took(), &a.intersection(&b).cloned().collect())
    }

    /// Difference of the part of the sessions that is `true`, over those that are in both; `None` without any.
    pub(crate) fn difference_of_part(&self, name: &str, sessions: &[SessionPart; 2]) -> Option<Difference> {
        let [a, b] = sessions.each_ref().map(|all| {
            let part = |(session, is_part): (&(ItemId, u16), &bool)| (session.clone(), f64::from(u8::from(*is_part)));
            all.iter().map(part).collect::<BTreeMap<_, _>>()
        });
        mean_difference(self.groups, &b, &a, self.seed(name), self.level())
    }

    fn sides(&self) -> [(&'r EndedRun, &'r ModelRef); 2] {
        [(self.a, &self.cell.model_a), (self.b, &self.cell.model_b)]
    }

    fn lines(&self, run: &'r EndedRun, model: &'r ModelRef) -> impl Iterator<Item = &'r ResultLine> {
        run.sessions(&self.cell.benchmark, &self.cell.setting, model)
    }

    /// Seconds in model calls in each run by itself.
    pub(crate) fn times(&self) -> Times {
        let [a, b] = self.took().map(|took| numbers::seconds(&took));
        Times { a, b }
    }

    /// Seconds in model calls of the sessions that both runs have answers of their own of.
    pub(crate) fn times_in_both(&self) -> [Observations; 2] {
        numbers::in_both(&self.took(), numbers::seconds)
    }

    /// Time that calls took for as much, over the same sessions; `None` without any.
    pub(crate) fn pace(&self) -> Option<Pace> {
        Pace::of(&self.took(), self.groups, self.seed("pace"), self.level())
    }

    /// The quantity in the sessions that both runs have answers of their own of.
    pub(crate) fn spent_in_both(&self, of: Quantity) -> [Observations; 2] {
        numbers::in_both(&self.took(), |took| numbers::spent(of, took))
    }

    /// The quantity in each run by itself.
    pub(crate) fn spent(&self, of: Quantity) -> [Observations; 2] {
        self.took().map(|took| numbers::spent(of, &took))
    }

    pub(crate) fn numbers(&self, of: Quantity) -> Option<Numbers> {
        let [a, b] = self.took();
        Numbers::new(of, self.groups, &a, &b, self.seed(of.as_str()), self.level())
    }
}

impl EndedRun {
    fn definitions(&self, benchmark: &BenchmarkName, setting: &Setting) -> &[MetricDefinition] {
        let of = self.measures.benchmarks.get(benchmark).and_then(|measures| measures.settings.get(setting));
        of.map_or(&[], Vec::as_slice)
    }

    /// Least part of the sessions that is in a metric of leaderboards, 0..=1.
    pub(crate) fn coverage(&self, benchmark: &BenchmarkName, setting: &Setting, model: &ModelRef) -> f64 {
        self.row(benchmark, setting, model).map_or(0.0, |row| row.coverage)
    }
}
