//! Tabulation of one benchmark, setting and model: its trials, cell by cell, and what they are together.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use regatta_backends::{SessionRow, TranscriptRef};
use regatta_benchmarks::{Metric, Score, Scores, Suite, Table, Tables};
use regatta_catalog::Sweep;
use regatta_deciding::Audit;
use regatta_proto::{
    BenchmarkLock, Cause, Cell, CellIndex, EndpointKind, Evaluator, ItemIndex, Judge, ModelRef, Outcome, Setting,
};
use serde_json::Value;

use super::TabulationError;
use super::agent_ends::AgentEnds;
use super::filtered::{FilteredSession, both_ways, is_filtered, recounted};
use super::flag_counts::{FlagCounts, flag_counts};
use super::jackknife::{LeftOut, left_out, under};
use super::partition::{clusters, parts, tasks};
use super::results::push_session;
use super::sampled::{Sampled, SampledSessions, drawn};
use crate::comparison::is_compared;
use crate::statistics::{
    Estimate, GapMeans, Pass, Sample, Trials, audited_value, audits, estimate, gap, judge_part, leaves, missing,
    passes, sample, void_all,
};
use crate::stored_scores::{Repeats, kept_audit, kept_repeats};
use crate::summary::{BothWays, SessionCounts};

/// The first session of each outcome and cause that is no plain result, with where its transcript is.
pub(crate) type Examples = BTreeMap<(&'static str, &'static str), (CellIndex, ItemIndex, TranscriptRef)>;

/// Identity of a number of a group: a scoring rule and one of its metrics.
pub(crate) type MetricKey = (Evaluator, Metric);

/// Collects the cells of one benchmark, setting and model.
pub(crate) struct Group<'s> {
    sweep: &'s Sweep,
    first: &'s Cell,
    suite: &'s dyn Suite,
    lock: &'s BenchmarkLock,
    keys: Vec<MetricKey>,
    /// Metrics that each of `keys` averages over; the metric itself where it is no average.
    leaves: Vec<Vec<Metric>>,
    /// By metric as in `keys`, then by leaf, by trial, and by position of the selected item.
    samples: Vec<Vec<Trials>>,
    /// The same for each repeat of a panel alone; empty where the judge is asked once.
    repeats: Vec<Vec<Vec<Trials>>>,
    /// True for each of `keys` that a judge's verdict can change.
    is_judged: Vec<bool>,
    /// The same as `samples` by the judge of the audit, of the items that it draws alone; empty without an audit.
    by_audit: Vec<Vec<Trials>>,
    sampled: Sampled,
    /// Evaluators with scores by repeat.
    judged: BTreeSet<Evaluator>,
    /// Cluster of each position.
    clusters: Vec<u32>,
    cells: Vec<TrialResult>,
    /// Scores of every trial without their details, by item.
    scores: Vec<Vec<(ItemIndex, Scores)>>,
    sessions: SessionCounts,
    outcomes: BTreeMap<(&'static str, &'static str), u64>,
    poisoned: Option<(CellIndex, ItemIndex)>,
    examples: Examples,
    filtered: Vec<FilteredSession>,
    served: BTreeMap<String, u64>,
    flags: FlagCounts,
    agent_ends: AgentEnds,
}

/// One cell's numbers.
pub(crate) struct TrialResult {
    pub(crate) cell: Cell,
    pub(crate) sessions: SessionCounts,
    /// As in [`GroupResult::keys`].
    pub(crate) estimates: Vec<Estimate>,
    pub(crate) flags: FlagCounts,
    /// Aggregates of the benchmark for this trial alone, by evaluator.
    pub(crate) tables: Vec<(Evaluator, Table)>,
}

/// The numbers of a task, or of another part of the data set.
pub(crate) struct PartResult {
    pub(crate) name: String,
    pub(crate) items: u32,
    /// As in [`GroupResult::keys`].
    pub(crate) estimates: Vec<Estimate>,
}

/// Results of one benchmark, setting and model.
pub(crate) struct GroupResult {
    /// First trial of the group.
    pub(crate) first: Cell,
    /// True if answers came from a simulated endpoint, according to the spec or to the endpoint itself.
    pub(crate) simulated: bool,
    pub(crate) items: u32,
    pub(crate) keys: Vec<MetricKey>,
    /// Metrics that leaderboards show, by position in `keys`.
    pub(crate) headline: BTreeSet<usize>,
    /// Over all trials; as in `keys`.
    pub(crate) estimates: Vec<Estimate>,
    /// pass@k and pass^k; as in `keys`.
    pub(crate) passes: Vec<Vec<Pass>>,
    /// Aggregates of the benchmark over all trials, by evaluator.
    pub(crate) tables: Vec<(Evaluator, Table)>,
    pub(crate) sessions: SessionCounts,
    pub(crate) cells: Vec<TrialResult>,
    /// In the order of the data set.
    pub(crate) tasks: Vec<PartResult>,
    /// Other parts, in the order of the data set.
    pub(crate) parts: Vec<PartResult>,
    /// Sessions by outcome and cause.
    pub(crate) outcomes: BTreeMap<(&'static str, &'static str), u64>,
    /// A session that was given up because of its own request, for people who want to send that again.
    pub(crate) poisoned: Option<(CellIndex, ItemIndex)>,
    /// A session of each way not to end well.
    pub(crate) examples: Examples,
    /// The headline with filtered sessions as wrong and as missing, where a filter ended sessions.
    pub(crate) filtered: Option<BothWays>,
    /// Sessions by what answered.
    pub(crate) served: BTreeMap<String, u64>,
    /// Sessions by what was seen in their answers.
    pub(crate) flags: FlagCounts,
    /// Ends of external agents that were not well.
    pub(crate) agent_ends: AgentEnds,
    /// By metric as in `keys`, then by leaf, trial and position. Most of a sweep's numbers, so only of what is compared item by item: the
    /// metric that leaderboards are ordered by, and every other where the model has several providers.
    pub(crate) samples: Vec<Vec<Trials>>,
    /// Items by both judges, by those of `headline` that an audit corrects.
    pub(crate) audits: BTreeMap<usize, Vec<(usize, Audit)>>,
    /// Audits that are missing.
    pub(crate) sampled: SampledSessions,
    /// By those of `audits` whose missing ones are no random part of the sample.
    pub(crate) gaps: BTreeMap<usize, GapMeans>,
    /// Item at each position.
    pub(crate) selected: Vec<ItemIndex>,
    /// Cluster of each position.
    pub(crate) clusters: Vec<u32>,
    /// The same without one group of clusters after another.
    pub(crate) left_out: Vec<LeftOut>,
}

impl<'s> Group<'s> {
    /// An empty group whose first cell is `first`. `None` for a cell of another sweep.
    pub(crate) fn new(sweep: &'s Sweep, first: &'s Cell) -> Option<Self> {
        let (suite, lock) = (&**sweep.suite(first)?, sweep.benchmark(first)?);
        let keys = metric_keys(suite, lock, &first.setting);
        let leaves: Vec<Vec<Metric>> = keys.iter().map(|(_, metric)| leaves(metric)).collect();
        let samples: Vec<Vec<Trials>> = leaves.iter().map(|of_key| vec![Vec::new(); of_key.len()]).collect();
        let judge_repeats = lock.judge.as_ref().map_or(1, Judge::repeats);
        Some(Self {
            sweep,
            first,
            suite,
            lock,
            repeats: if judge_repeats > 1 { vec![samples.clone(); judge_repeats.into()] } else { Vec::new() },
            by_audit: if lock.audit.is_some() { samples.clone() } else { Vec::new() },
            samples,
            is_judged: keys.iter().map(|(evaluator, metric)| suite.is_judged_metric(*evaluator, metric)).collect(),
            sampled: Sampled::default(),
            judged: BTreeSet::new(),
            leaves,
            keys,
            clusters: clusters(sweep.selected(first).iter().map(|index| sweep.item(first, *index))),
            cells: Vec::new(),
            scores: Vec::new(),
            sessions: SessionCounts::default(),
            outcomes: BTreeMap::new(),
            poisoned: None,
            examples: Examples::new(),
            filtered: Vec::new(),
            served: BTreeMap::new(),
            flags: FlagCounts::new(),
            agent_ends: AgentEnds::default(),
        })
    }

    /// Adds the settled sessions of one cell, and their lines to `results`. `bought` are its sessions; all where that is `None`.
    pub(crate) fn add(
        &mut self,
        cell: &Cell,
        rows: &[SessionRow],
        bought: Option<&HashSet<ItemIndex>>,
        results: &mut Vec<u8>,
    ) -> Result<(), TabulationError> {
        if bought.is_some_and(HashSet::is_empty) {
            // A trial that no item got: to a mean over trials it would be one without a value.
            return Ok(());
        }
        let by_item: HashMap<ItemIndex, &SessionRow> = rows.iter().map(|row| (row.item, row)).collect();
        let selected = self.sweep.selected(cell);
        let total = bought.map_or(selected.len(), HashSet::len) as u64;
        let mut counts = SessionCounts { total, ..SessionCounts::default() };
        let empty = |of_key: &Vec<Metric>| vec![vec![Vec::with_capacity(selected.len())]; of_key.len()];
        // Of one trial, in the shape of several.
        let mut of_cell: Vec<Vec<Trials>> = self.leaves.iter().map(empty).collect();
        let mut of_repeats = vec![of_cell.clone(); self.repeats.len()];
        let audited = self.sweep.audited(cell);
        let mut of_audit = if audited.is_some() { of_cell.clone() } else { Vec::new() };
        let mut known: Vec<(ItemIndex, Scores)> = Vec::with_capacity(rows.len());
        for (position, index) in selected.iter().enumerate() {
            if bought.is_some_and(|bought| !bought.contains(index)) {
                let all = of_cell.iter_mut().chain(&mut of_audit);
                all.flatten().flatten().for_each(|trial| trial.push(Sample::NotBought));
                continue;
            }
            let row = by_item.get(index).copied();
            if row.is_some_and(|row| is_filtered(&row.outcome)) {
                self.filtered.push(FilteredSession { trial: self.cells.len(), position, item: *index });
            }
            let scores = row.map(|row| self.scores_of(cell, row)).transpose()?.flatten();
            self.count(cell, row, &mut counts);
            self.push_samples(*index, scores.as_ref(), &mut of_cell);
            let repeats = match row.filter(|_| !of_repeats.is_empty()) {
                Some(row) => kept_repeats(&row.scores).map_err(|source| unreadable(cell, row, source))?,
                None => Repeats::new(),
            };
            for (repeat, of_repeat) in of_repeats.iter_mut().enumerate() {
                let scores = scores.as_ref().map(|scores| by_repeat(scores, &repeats, repeat));
                self.push_samples(*index, scores.as_ref(), of_repeat);
            }
            self.judged.extend(repeats.into_keys());
            if audited.is_some_and(|audited| audited.contains(index)) {
                self.push_audit(cell, (position, *index), row, scores.as_ref(), &mut of_audit)?;
            } else {
                of_audit.iter_mut().flatten().flatten().for_each(|trial| trial.push(Sample::NotBought));
            }
            if let Some(item) = self.sweep.item(cell, *index) {
                push_session(results, cell, item, row, scores.as_ref())?;
            }
            known.extend(scores.map(|scores| (*index, scores)));
        }
        let all = of_cell.iter_mut().chain(of_repeats.iter_mut().flatten()).chain(&mut of_audit);
        all.flatten().flatten().for_each(|trial| void_all(trial));
        let positions: Vec<usize> = (0..selected.len()).collect();
        let estimates =
            self.keys.iter().zip(&of_cell).map(|((_, metric), samples)| self.estimate(metric, samples, &positions));
        let estimates = estimates.collect();
        let tables = self.tables(std::slice::from_ref(&known));
        known.iter_mut().flat_map(|(_, scores)| scores.values_mut()).for_each(|score| score.detail = Value::Null);
        self.scores.push(known);
        self.sessions.add(&counts);
        rows.iter().filter_map(|row| row.agent_end.as_ref()).for_each(|end| self.agent_ends.add(end));
        let flags = flag_counts(rows);
        flags.iter().for_each(|(flag, count)| *self.flags.entry(*flag).or_default() += count);
        self.cells.push(TrialResult { cell: cell.clone(), sessions: counts, estimates, flags, tables });
        let all = self.samples.iter_mut().chain(self.repeats.iter_mut().flatten()).chain(&mut self.by_audit).flatten();
        let added = of_cell.into_iter().chain(of_repeats.into_iter().flatten()).chain(of_audit).flatten();
        all.zip(added).for_each(|(trials, trial)| trials.extend(trial));
        Ok(())
    }

    /// Adds the samples of a session by the judge of the audit, which draws its item.
    fn push_audit(
        &mut self,
        cell: &Cell,
        (position, item): (usize, ItemIndex),
        row: Option<&SessionRow>,
        scores: Option<&Scores>,
        of_audit: &mut [Vec<Trials>],
    ) -> Result<(), TabulationError> {
        let by_audit = match row.zip(scores) {
            Some((row, scores)) => {
                kept_audit(&row.outcome, &row.scores, scores).map_err(|source| unreadable(cell, row, source))?
            }
            None => None,
        };
        if row.is_some_and(|row| row.outcome == Outcome::Measured) {
            self.sampled.add((self.cells.len(), position), by_audit.is_some());
        }
        self.push_samples(item, by_audit.as_ref(), of_audit);
        Ok(())
    }

    fn estimate(&self, metric: &Metric, samples: &[Trials], positions: &[usize]) -> Estimate {
        estimate(metric, samples, positions, &self.clusters, self.sweep.lock.level)
            .withheld_below(self.sweep.lock.coverage_min)
    }

    /// Adds the part that the judge's own variance has in that of estimates over all items, where it was asked repeatedly.
    fn add_judge_parts(&self, estimates: &mut [Estimate], all: &[usize]) {
        for (at, ((evaluator, metric), estimate)) in self.keys.iter().zip(estimates).enumerate() {
            if self.judged.contains(evaluator) && self.is_judged[at] {
                let repeats: Vec<&[Trials]> = self.repeats.iter().map(|keys| keys[at].as_slice()).collect();
                estimate.judge = judge_part(metric, &self.samples[at], &repeats, all, &self.clusters);
            }
        }
    }

    /// pass@k and pass^k of a metric over all items.
    fn passes(&self, metric: &Metric, samples: &[Trials], all: &[usize]) -> Vec<Pass> {
        let mut found = passes(metric, samples, all, &self.clusters, self.sweep.lock.level);
        for estimate in found.iter_mut().flat_map(|pass| [&mut pass.any, &mut pass.all]) {
            *estimate = estimate.withheld_below(self.sweep.lock.coverage_min);
        }
        found
    }

    /// The items at `positions` by both judges, under the metric at `at` of `keys`. `None` without an audit, and where no judge decides it.
    fn audits(&self, at: usize, positions: &[usize]) -> Option<Vec<(usize, Audit)>> {
        if !self.is_judged[at] {
            return None;
        }
        audits(&self.keys[at].1, (&self.samples[at], self.by_audit.get(at)?), positions, &self.clusters)
    }

    /// Adds the samples of the session of `item` to those of every metric; `scores` is `None` for a session without a score.
    fn push_samples(&self, item: ItemIndex, scores: Option<&Scores>, of_cell: &mut [Vec<Trials>]) {
        let failure = scores.is_none().then(|| self.suite.score_failure(item, &self.lock.evaluators));
        for (((evaluator, _), leaves), of_leaves) in self.keys.iter().zip(&self.leaves).zip(of_cell) {
            let score = scores.or(failure.as_ref()).and_then(|scores| scores.get(evaluator));
            let values = score.map(|score| &score.values);
            for (metric, trial) in leaves.iter().zip(of_leaves.iter_mut().flatten()) {
                trial.push(match (values, failure.is_some()) {
                    (values, true) => missing(metric, values),
                    (Some(values), false) => sample(metric, values),
                    (None, false) => Sample::Nothing,
                });
            }
        }
    }

    /// The scores of a session that has some. Parsed, so that the order in which a database keeps fields does not matter.
    fn scores_of(&self, cell: &Cell, row: &SessionRow) -> Result<Option<Scores>, TabulationError> {
        if matches!(row.outcome, Outcome::NotMeasured { .. }) {
            return Ok(None);
        }
        serde::Deserialize::deserialize(&row.scores).map(Some).map_err(|source| unreadable(cell, row, source))
    }

    fn count(&mut self, cell: &Cell, row: Option<&SessionRow>, counts: &mut SessionCounts) {
        let counter = match row.map(|row| &row.outcome) {
            None => &mut counts.not_run,
            Some(Outcome::Measured) => &mut counts.measured,
            Some(Outcome::ModelFailure { .. }) => &mut counts.model_failures,
            Some(Outcome::NotMeasured { .. }) => &mut counts.not_measured,
        };
        *counter += 1;
        let (outcome, cause) = row.map_or(("not_run", ""), |row| {
            (row.outcome.as_str(), row.outcome.cause().map_or("", regatta_proto::Cause::as_str))
        });
        *self.outcomes.entry((outcome, cause)).or_default() += 1;
        if let Some(row) = row.filter(|row| row.outcome != Outcome::Measured) {
            let example = || (cell.index, row.item, row.transcript.clone());
            self.examples.entry((outcome, cause)).or_insert_with(example);
        }
        if let Some(row) = row
            && row.outcome == (Outcome::NotMeasured { cause: Cause::Poison })
        {
            self.poisoned.get_or_insert((cell.index, row.item));
        }
        for served in row.iter().flat_map(|row| &row.served) {
            *self.served.entry(served.clone()).or_default() += 1;
        }
    }

    /// Aggregates that the benchmark's own code computes from these trials, by evaluator.
    fn tables(&self, trials: &[Vec<(ItemIndex, Scores)>]) -> Vec<(Evaluator, Table)> {
        let of = |evaluator: &Evaluator| {
            let trials: Vec<Vec<(ItemIndex, &Score)>> =
                trials.iter().map(|trial| under(*evaluator, trial, &|_| true)).collect();
            (*evaluator, self.suite.tabulate(*evaluator, &trials))
        };
        // Of a setting that an evaluator measures nothing in, only failures have scores: no aggregate of the setting.
        let measured: BTreeSet<Evaluator> = self.keys.iter().map(|(evaluator, _)| *evaluator).collect();
        self.lock.evaluators.iter().filter(|evaluator| measured.contains(evaluator)).map(of).collect()
    }

    /// The metrics of `headline` with filtered sessions as wrong, and as missing, where there are such sessions.
    fn both_ways(&self, headline: &BTreeSet<usize>, estimates: &[Estimate]) -> Option<BothWays> {
        if self.filtered.is_empty() {
            return None;
        }
        let chosen = self.sweep.lock.filtered;
        let positions: Vec<usize> = (0..self.sweep.selected(self.first).len()).collect();
        let metrics = headline.iter().map(|at| {
            let (key, leaves) = (&self.keys[*at], &self.leaves[*at]);
            let failure = |item| self.suite.score_failure(item, &self.lock.evaluators).remove(&key.0);
            let mut samples = recounted(chosen, leaves, &self.samples[*at], &self.filtered, &failure);
            samples.iter_mut().flatten().for_each(|trial| void_all(trial));
            let other = self.estimate(&key.1, &samples, &positions);
            (key.clone(), estimates[*at], other)
        });
        Some(both_ways(chosen, self.filtered.len(), metrics))
    }

    /// All sessions added so far.
    pub(crate) const fn sessions(&self) -> &SessionCounts {
        &self.sessions
    }

    /// Sessions added so far, by outcome and cause.
    pub(crate) const fn outcomes(&self) -> &BTreeMap<(&'static str, &'static str), u64> {
        &self.outcomes
    }

    /// A session of each way not to end well, of those added so far.
    pub(crate) const fn examples(&self) -> &Examples {
        &self.examples
    }

    /// Results over all cells of the group.
    pub(crate) fn finish(self) -> GroupResult {
        let over = |keys: &[MetricKey], positions: &[usize]| -> Vec<Estimate> {
            let of = |(at, ((_, metric), samples)): (usize, (&MetricKey, &Vec<Trials>))| {
                let audits = self.audits(at, positions);
                let audited = audits.and_then(|items| audited_value(metric, &items, self.sweep.lock.level));
                Estimate { audited, ..self.estimate(metric, samples, positions) }
            };
            keys.iter().zip(&self.samples).enumerate().map(of).collect()
        };
        let of_parts = |keys: &[MetricKey], parts: Vec<(String, Vec<usize>)>| -> Vec<PartResult> {
            let of = |(name, positions): (String, Vec<usize>)| PartResult {
                name,
                items: positions.len() as u32,
                estimates: over(keys, &positions),
            };
            parts.into_iter().map(of).collect()
        };
        let selected = self.sweep.selected(self.first);
        let items = selected.iter().map(|index| self.sweep.item(self.first, *index));
        let all: Vec<usize> = (0..selected.len()).collect();
        let mut estimates = over(&self.keys, &all);
        self.add_judge_parts(&mut estimates, &all);
        let passes_of = |((_, metric), samples): (&MetricKey, &Vec<Trials>)| self.passes(metric, samples, &all);
        let passes = self.keys.iter().zip(&self.samples).map(passes_of).collect();
        let tasks = of_parts(&self.keys, tasks(items));
        // What official code makes of nothing at all it makes of whole data sets; in a part, a metric may just not be about its items.
        let without_empty = |(evaluator, metric): &MetricKey| (*evaluator, Metric { if_empty: None, ..metric.clone() });
        let keys_of_parts: Vec<MetricKey> = self.keys.iter().map(without_empty).collect();
        let parts = of_parts(&keys_of_parts, parts(self.suite, selected));
        let is_compared = is_compared(self.sweep, &self.first.model);
        let tables = match self.cells.as_slice() {
            [only] => only.tables.clone(),
            _ => self.tables(&self.scores),
        };
        let left_out = left_out(self.suite, &self.lock.evaluators, &self.scores, selected, &self.clusters);
        let headline = headline(&self.keys);
        let filtered = self.both_ways(&headline, &estimates);
        let audits: BTreeMap<usize, Vec<(usize, Audit)>> =
            headline.iter().filter_map(|at| Some((*at, self.audits(*at, &all)?))).collect();
        let by_both = audits.keys().map(|at| (&self.samples[*at], &self.by_audit[*at]));
        let sampled = self.sampled.sessions(by_both);
        let gap_of = |(at, items): (&usize, &Vec<(usize, Audit)>)| {
            Some((*at, gap(items, &drawn(&self.by_audit[*at]), self.sweep.lock.level)?))
        };
        let gaps = audits.iter().filter_map(gap_of).collect();
        let is_kept = |at: usize| is_compared || headline.first() == Some(&at);
        let kept = |(at, samples)| if is_kept(at) { samples } else { Vec::new() };
        let samples = self.samples.into_iter().enumerate().map(kept).collect();
        GroupResult {
            first: self.first.clone(),
            simulated: is_simulated(self.sweep, &self.first.model)
                || self.served.keys().any(|served| served.ends_with("(simulated)")),
            items: self.cells.first().map_or(0, |first| first.sessions.total as u32),
            headline,
            filtered,
            estimates,
            passes,
            tables,
            sessions: self.sessions,
            tasks,
            parts,
            keys: self.keys,
            cells: self.cells,
            outcomes: self.outcomes,
            poisoned: self.poisoned,
            examples: self.examples,
            served: self.served,
            flags: self.flags,
            agent_ends: self.agent_ends,
            samples,
            audits,
            sampled,
            gaps,
            selected: selected.to_vec(),
            clusters: self.clusters,
            left_out,
        }
    }
}

/// `scores` by the repeat `repeat` of the judge alone; as they are where it has no part in them.
fn by_repeat(scores: &Scores, repeats: &Repeats, repeat: usize) -> Scores {
    let of = |(evaluator, score): (&Evaluator, &Score)| {
        let of_repeat = repeats.get(evaluator).and_then(|values| values.get(repeat));
        let values = of_repeat.unwrap_or(&score.values).clone();
        (*evaluator, Score { values, detail: Value::Null })
    };
    scores.iter().map(of).collect()
}

fn unreadable(cell: &Cell, row: &SessionRow, source: serde_json::Error) -> TabulationError {
    TabulationError::Scores { cell: cell.index.0, item: row.item_id.clone(), source }
}

/// Numbers of `setting`: all metrics of each evaluator.
fn metric_keys(suite: &dyn Tables, lock: &BenchmarkLock, setting: &Setting) -> Vec<MetricKey> {
    let of = |evaluator: &Evaluator| suite.metrics(setting, *evaluator).into_iter();
    lock.evaluators.iter().flat_map(|evaluator| of(evaluator).map(|metric| (*evaluator, metric))).collect()
}

/// The metric by which the models of `setting` are compared.
pub(crate) fn deciding_key(suite: &dyn Tables, lock: &BenchmarkLock, setting: &Setting) -> Option<MetricKey> {
    let mut keys = metric_keys(suite, lock, setting);
    let first = *headline(&keys).first()?;
    Some(keys.swap_remove(first))
}

/// Metrics that leaderboards show, by position: those that say so, or all when none does.
fn headline(keys: &[MetricKey]) -> BTreeSet<usize> {
    let chosen: BTreeSet<usize> = (0..keys.len()).filter(|at| keys[*at].1.headline).collect();
    if chosen.is_empty() { (0..keys.len()).collect() } else { chosen }
}

/// True if the spec names an endpoint of the kind `simulated` for `model`.
pub(crate) fn is_simulated(sweep: &Sweep, model: &ModelRef) -> bool {
    sweep.lock.endpoints.get(&model.endpoint).is_some_and(|endpoint| endpoint.kind == EndpointKind::Simulated)
}
