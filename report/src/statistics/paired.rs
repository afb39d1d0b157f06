//! Two models' samples, side by side.

use regatta_benchmarks::Metric;

use super::completion::completed;
use super::linearised::with_samples;
use super::means::sessions;
use super::ratio::End;
use super::sample::{Sample, Trials};

/// Two models' samples of the same items in the same order.
#[derive(Clone, Copy)]
pub(crate) struct Paired<'a> {
    /// By leaf of the metric, then by trial and position.
    pub(crate) ours: &'a [Trials],
    /// The same of the other.
    pub(crate) theirs: &'a [Trials],
    /// Cluster of each position.
    pub(crate) clusters: &'a [u32],
}

/// The same, of samples of its own.
pub(super) struct OwnPaired<'a> {
    ours: Vec<Trials>,
    theirs: Vec<Trials>,
    clusters: &'a [u32],
}

impl<'a> Paired<'a> {
    /// The sessions that both should have: nothing is missing of a trial that only one of both ran, or of an item that the sweep bought for
    /// only one.
    pub(super) fn bought(self) -> OwnPaired<'a> {
        let of = |ours: &[Trials], theirs: &[Trials]| -> Vec<Trials> {
            let both = |(sample, other): (&Sample, &Sample)| match other {
                Sample::NotBought => Sample::NotBought,
                Sample::Missing { .. }
                | Sample::Nothing
                | Sample::Void
                | Sample::DropsRun
                | Sample::ZeroesGroup
                | Sample::Scored { .. } => *sample,
            };
            let trial = |(ours, theirs): (&Vec<Sample>, &Vec<Sample>)| ours.iter().zip(theirs).map(both).collect();
            let leaf = |(ours, theirs): (&Trials, &Trials)| ours.iter().zip(theirs).map(trial).collect();
            ours.iter().zip(theirs).map(leaf).collect()
        };
        OwnPaired { ours: of(self.ours, self.theirs), theirs: of(self.theirs, self.ours), clusters: self.clusters }
    }
}

impl<'a> OwnPaired<'a> {
    pub(super) fn paired(&self) -> Paired<'_> {
        Paired { ours: &self.ours, theirs: &self.theirs, clusters: self.clusters }
    }

    /// Part of the sessions of which no part of the metric is missing in either, 0..=1; 1 of none.
    pub(super) fn coverage(&self) -> f64 {
        let of_both = self.ours.iter().chain(&self.theirs).map(Vec::as_slice);
        let positions: Vec<usize> = (0..self.clusters.len()).collect();
        let (whole, total) = sessions(of_both, &positions);
        if total == 0 { 1.0 } else { f64::from(whole) / f64::from(total) }
    }

    /// The same where the difference is at an `end` of what the missing sessions allow: ours at this end, theirs at the other. `None` where
    /// there is no such end.
    pub(super) fn completed(&self, metric: &Metric, end: End) -> Option<OwnPaired<'a>> {
        let positions: Vec<usize> = (0..self.clusters.len()).collect();
        let all = |samples: &[Trials], end: End| -> Option<Vec<Trials>> {
            let leaves = with_samples(metric, samples, &positions, self.clusters);
            leaves.iter().map(|(leaf, samples)| completed(leaf, samples, end)).collect()
        };
        Some(OwnPaired {
            ours: all(&self.ours, end)?,
            theirs: all(&self.theirs, end.other())?,
            clusters: self.clusters,
        })
    }
}
