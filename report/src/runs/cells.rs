//! The sessions of a model in one setting, in two runs: paired by item and trial.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use regatta_benchmarks::{Better, Measure, Metric};
use regatta_proto::{Evaluator, ItemId, Level};

use super::measures::MetricDefinition;
use crate::statistics::{
    Components, Difference, Paired, Sample, Trials, are_right_or_wrong, by_trial, complete_difference, leaves, missing,
    paired_difference, sample, tests_whatever_is_missing, void_all,
};

/// A session's values by evaluator and name.
pub type Values = BTreeMap<Evaluator, BTreeMap<String, f64>>;

/// Result of a session.
#[derive(Debug, Clone, Copy)]
pub struct SessionScores<'a> {
    /// Item.
    pub item: &'a ItemId,
    /// Repetition.
    pub trial: u16,
    /// Values by name; `None` without a score.
    pub scores: Option<&'a Values>,
}

/// The sessions of the items that both runs have.
pub struct PairedCells<'a> {
    /// Items of both, by id.
    pub items: Vec<&'a ItemId>,
    /// Items that only ours has.
    pub only_ours: Vec<&'a ItemId>,
    /// Items that only theirs has.
    pub only_theirs: Vec<&'a ItemId>,
    clusters: Vec<u32>,
    trials: u16,
    ours: Sessions<'a>,
    theirs: Sessions<'a>,
}

type Sessions<'a> = HashMap<(&'a ItemId, u16), Option<&'a Values>>;

/// An item under a metric, over the trials that both have a score of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ItemValues<'a> {
    /// Item.
    pub item: &'a ItemId,
    /// Value in ours.
    pub ours: f64,
    /// Value in theirs.
    pub theirs: f64,
}

/// Tests of a difference against a margin by which one may be worse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarginTest {
    /// The p-value of "worse by at most the margin": small where ours is shown to be worse than that.
    pub p_worse: f64,
    /// The p-value of "worse by at least the margin": small where ours is shown not to be.
    pub p_not_worse: f64,
}

impl<'a> PairedCells<'a> {
    /// Pairs `ours` with `theirs`; items of one of `groups` are one cluster.
    #[must_use]
    pub fn new(groups: &'a BTreeMap<ItemId, String>, ours: &[SessionScores<'a>], theirs: &[SessionScores<'a>]) -> Self {
        let ids = |sessions: &[SessionScores<'a>]| sessions.iter().map(|of| of.item).collect::<BTreeSet<_>>();
        let by_session = |sessions: &[SessionScores<'a>]| {
            sessions.iter().map(|of| ((of.item, of.trial), of.scores)).collect::<Sessions<'a>>()
        };
        let (our_items, their_items) = (ids(ours), ids(theirs));
        let items: Vec<&ItemId> = our_items.intersection(&their_items).copied().collect();
        Self {
            clusters: clusters(groups, &items),
            items,
            only_ours: our_items.difference(&their_items).copied().collect(),
            only_theirs: their_items.difference(&our_items).copied().collect(),
            trials: ours.iter().chain(theirs).map(|of| of.trial + 1).max().unwrap_or(0),
            ours: by_session(ours),
            theirs: by_session(theirs),
        }
    }

    /// Difference of ours from theirs in the metric; `None` without a session that both have a score of.
    #[must_use]
    pub fn difference(&self, of: &MetricDefinition, seed: u64, level: Level) -> Option<Difference> {
        let metric = of.metric();
        let (ours, theirs) = self.samples(of, &metric);
        paired_difference(&metric, Paired { ours: &ours, theirs: &theirs, clusters: &self.clusters }, seed, level)
    }

    /// Variance components of the difference in one session, and `true` where every session is right or wrong; `None` where no item has a
    /// score in both.
    pub(crate) fn components(&self, of: &MetricDefinition) -> Option<(Components, bool)> {
        let metric = of.metric();
        let (ours, theirs) = self.samples(of, &metric);
        let differences = by_trial(&metric, Paired { ours: &ours, theirs: &theirs, clusters: &self.clusters });
        let is_binary = matches!(metric.measure, Measure::Mean { .. });
        let is_binary = is_binary && are_right_or_wrong(&ours) && are_right_or_wrong(&theirs);
        Some((Components::of(&differences, &self.clusters)?, is_binary))
    }

    /// Tests the difference against `margin`, in the metric's own scale; `None` where nothing could vary. Where sessions are missing, the
    /// p-values hold whatever these would have scored.
    #[must_use]
    pub fn against_margin(&self, of: &MetricDefinition, margin: f64, seed: u64) -> Option<MarginTest> {
        let metric = of.metric();
        let (ours, theirs) = self.samples(of, &metric);
        let paired = Paired { ours: &ours, theirs: &theirs, clusters: &self.clusters };
        let tests = tests_whatever_is_missing(&metric, paired, of.better == Better::Higher, margin, seed)?;
        Some(MarginTest { p_worse: tests.less, p_not_worse: tests.more })
    }

    /// The value of every item that has one in both. Of a ratio of sums, that of the item's own sessions; of an average, that of its parts.
    #[must_use]
    pub fn by_item(&self, of: &MetricDefinition) -> Vec<ItemValues<'a>> {
        let metric = of.metric();
        let (ours, theirs) = self.samples(of, &metric);
        let values = |at: usize| {
            let parts: Option<Vec<(f64, f64)>> =
                ours.iter().zip(&theirs).map(|(ours, theirs)| of_both(ours, theirs, at)).collect();
            let parts = parts.filter(|parts| !parts.is_empty())?;
            let count = parts.len() as f64;
            let sums = parts.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
            Some((sums.0 / count, sums.1 / count))
        };
        let items = self.items.iter().enumerate();
        items.filter_map(|(at, item)| values(at).map(|(ours, theirs)| ItemValues { item, ours, theirs })).collect()
    }

    /// By leaf of the metric, then by trial and item.
    fn samples(&self, of: &MetricDefinition, metric: &Metric) -> (Vec<Trials>, Vec<Trials>) {
        let leaves = leaves(metric);
        let weights: Vec<Vec<f64>> = leaves.iter().map(|leaf| self.weights(of, leaf)).collect();
        let all = |sessions: &Sessions<'a>| -> Vec<Trials> {
            let of_leaf = |(leaf, weights): (&Metric, &Vec<f64>)| {
                (0..self.trials).map(|trial| self.trial(sessions, of, leaf, weights, trial)).collect()
            };
            leaves.iter().zip(&weights).map(of_leaf).collect()
        };
        (all(&self.ours), all(&self.theirs))
    }

    fn trial(
        &self,
        sessions: &Sessions<'a>,
        of: &MetricDefinition,
        leaf: &Metric,
        weights: &[f64],
        trial: u16,
    ) -> Vec<Sample> {
        let of_item = |(item, weight): (&&'a ItemId, &f64)| match sessions.get(&(*item, trial)) {
            Some(Some(scores)) => scores.get(&of.evaluator).map_or(Sample::Nothing, |values| sample(leaf, values)),
            Some(None) => Sample::Missing { weight: *weight },
            // A trial that only the other run has is not missing.
            None => Sample::NotBought,
        };
        let mut samples: Vec<Sample> = self.items.iter().zip(weights).map(of_item).collect();
        void_all(&mut samples);
        samples
    }

    /// Weight of a session of each item that has no score: what another session of the item weighs, which is the same for all of them
    /// wherever it is known beforehand. Items without any weigh as much as the one that weighs most.
    fn weights(&self, of: &MetricDefinition, leaf: &Metric) -> Vec<f64> {
        let of_item = |item: &&'a ItemId| {
            let sessions = [&self.ours, &self.theirs].into_iter().flat_map(|sessions| {
                (0..self.trials).filter_map(move |trial| sessions.get(&(*item, trial)).copied().flatten())
            });
            let weights = sessions.map(|scores| match missing(leaf, scores.get(&of.evaluator)) {
                Sample::Missing { weight } => weight,
                _ => 0.0,
            });
            weights.reduce(f64::max)
        };
        let known: Vec<Option<f64>> = self.items.iter().map(of_item).collect();
        let most = known.iter().flatten().copied().fold(0.0, f64::max);
        known.into_iter().map(|weight| weight.unwrap_or(most)).collect()
    }
}

/// Both values of the item at a position, over the trials that both have a score of.
fn of_both(ours: &Trials, theirs: &Trials, at: usize) -> Option<(f64, f64)> {
    let scored = |trial: &Vec<Sample>| match trial.get(at) {
        Some(Sample::Scored { top, bottom }) => Some((*top, *bottom)),
        _ => None,
    };
    let mut sums = [0.0; 4];
    for ((top, bottom), (their_top, their_bottom)) in
        ours.iter().zip(theirs).filter_map(|(ours, theirs)| Some((scored(ours)?, scored(theirs)?)))
    {
        for (sum, value) in sums.iter_mut().zip([top, bottom, their_top, their_bottom]) {
            *sum += value;
        }
    }
    let [top, bottom, their_top, their_bottom] = sums;
    (bottom != 0.0 && their_bottom != 0.0).then(|| (top / bottom, their_top / their_bottom))
}

/// The cluster of each item, numbered by first appearance.
fn clusters(groups: &BTreeMap<ItemId, String>, items: &[&ItemId]) -> Vec<u32> {
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut next = 0..;
    let mut fresh = || next.next().unwrap_or(u32::MAX);
    let cluster = |item: &&ItemId| match groups.get(*item) {
        Some(group) => *known.entry(group).or_insert_with(&mut fresh),
        None => fresh(),
    };
    items.iter().map(cluster).collect()
}

/// The mean difference of any number that sessions have, as money or seconds, over the sessions that have one in both.
#[must_use]
pub fn mean_difference(
    groups: &BTreeMap<ItemId, String>,
    ours: &BTreeMap<(ItemId, u16), f64>,
    theirs: &BTreeMap<(ItemId, u16), f64>,
    seed: u64,
    level: Level,
) -> Option<Difference> {
    let metric = Metric { range: (0.0, f64::INFINITY), ..Metric::mean("number") };
    let items: BTreeSet<&ItemId> = ours.keys().chain(theirs.keys()).map(|(item, _)| item).collect();
    let items: Vec<&ItemId> = items.into_iter().collect();
    let trials = ours.keys().chain(theirs.keys()).map(|(_, trial)| trial + 1).max()?;
    let samples = |numbers: &BTreeMap<(ItemId, u16), f64>| -> Vec<Trials> {
        let of = |item: &&ItemId, trial: u16| match numbers.get(&((*item).clone(), trial)) {
            Some(top) => Sample::Scored { top: *top, bottom: 1.0 },
            None => Sample::Missing { weight: 1.0 },
        };
        vec![(0..trials).map(|trial| items.iter().map(|item| of(item, trial)).collect()).collect()]
    };
    let (ours, theirs) = (samples(ours), samples(theirs));
    let clusters = clusters(groups, &items);
    complete_difference(&metric, Paired { ours: &ours, theirs: &theirs, clusters: &clusters }, seed, level)
}

#[cfg(test)]
mod tests;
