//! Items of the sample without an audit, held against those with one: by the judge that scored both.

use std::collections::{BTreeMap, BTreeSet};

use regatta_deciding::Audit;
use regatta_proto::Level;
use serde::{Deserialize, Serialize};

use crate::statistics::student;

/// Difference between the items of a sample that were audited and those that were not, beyond what chance gives: the rest is no random part
/// of the sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GapMeans {
    /// Mean of the audited items by the judge whose scores count.
    pub audited: f64,
    /// Mean of the items that were drawn and not audited.
    pub missing: f64,
}

/// Items of one kind.
struct Kind {
    mean: f64,
    /// Of the mean, over clusters, from how the items differ from the mean of both kinds: a few items may be alike by chance.
    variance: f64,
    clusters: usize,
}

impl Kind {
    fn new(items: &[Audit], mean_of_both: f64) -> Self {
        let n = items.len() as f64;
        let mut by_cluster: BTreeMap<u32, f64> = BTreeMap::new();
        for item in items {
            *by_cluster.entry(item.cluster).or_default() += (item.cheap - mean_of_both) / n;
        }
        let mean = items.iter().map(|item| item.cheap).sum::<f64>() / n;
        Self { mean, variance: by_cluster.values().map(|sum| sum * sum).sum(), clusters: by_cluster.len() }
    }
}

/// The gap between those of `items` at `sampled` positions that were audited, and those that were not. `None` without one that is beyond chance
/// at `level`, and where either are of fewer than two clusters.
pub(crate) fn gap(items: &[(usize, Audit)], sampled: &BTreeSet<usize>, level: Level) -> Option<GapMeans> {
    let drawn: Vec<Audit> = items.iter().filter(|(at, _)| sampled.contains(at)).map(|(_, item)| *item).collect();
    let mean = drawn.iter().map(|item| item.cheap).sum::<f64>() / drawn.len() as f64;
    let (audited, missing): (Vec<Audit>, Vec<Audit>) = drawn.into_iter().partition(|item| item.expensive.is_some());
    let (audited, missing) = (Kind::new(&audited, mean), Kind::new(&missing, mean));
    // Of two groups, Student's t with the degrees of freedom of the smaller one alone is never too narrow.
    let freedom = audited.clusters.min(missing.clusters).checked_sub(1).filter(|freedom| *freedom > 0)?;
    let chance = student::quantile(level.upper(), freedom as f64) * (audited.variance + missing.variance).sqrt();
    let is_beyond = (audited.mean - missing.mean).abs() > chance;
    is_beyond.then_some(GapMeans { audited: audited.mean, missing: missing.mean })
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::RngCore;
    use regatta_proto::rng;

    use super::*;

    /// Items, each a cluster, that the cheap judge scores as the draws of `seed` say; the first of the sample are not audited if
    /// `is_missing` holds for their place and score.
    fn items(seed: u64, is_missing: impl Fn(usize, f64) -> bool) -> Vec<(usize, Audit)> {
        let mut draws = rng(seed, "gaps");
        let item = |at: usize| {
            let cheap = f64::from(u8::from(draws.next_u32() % 10 < 6));
            let expensive = (at < 100 && !is_missing(at, cheap)).then_some(cheap);
            (at, Audit { cluster: at as u32, cheap, expensive })
        };
        (0..600).map(item).collect()
    }

    fn found(items: &[(usize, Audit)]) -> Option<GapMeans> {
        gap(items, &(0..100).collect(), Level::default())
    }

    #[test]
    fn what_is_missing_at_random_is_called_no_gap_in_nineteen_of_twenty_samples() {
        for (missing, level) in [(30, "many"), (5, "few")] {
            let gaps = (0..1000).filter(|seed| found(&items(*seed, |at, _| at < missing)).is_some()).count();
            assert!(gaps <= 60, "{gaps} of 1,000 with {level} missing");
        }
    }

    #[test]
    fn sessions_that_go_missing_because_of_what_they_are_leave_a_gap() {
        let of_wrong = found(&items(1, |at, cheap| cheap < 0.5 && at % 2 == 0)).unwrap();
        assert!(of_wrong.missing < of_wrong.audited, "{of_wrong:?}");
    }

    #[test]
    fn of_a_single_missing_item_nothing_can_be_said() {
        assert_eq!(found(&items(1, |at, _| at == 7)), None);
        assert_eq!(found(&items(1, |_, _| false)), None);
        assert_eq!(found(&items(1, |_, _| true)), None);
    }
}
