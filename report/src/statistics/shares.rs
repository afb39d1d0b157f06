//! A paired difference as a sum over independent clusters of items.

use std::collections::BTreeMap;

/// The part of a difference that one cluster brings, and its weight: under a difference of `d` in every cluster, `sum` would be
/// `d` · `weight`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Share {
    /// All of them add up to the difference.
    pub(crate) sum: f64,
    /// Above 0; all of them add up to 1.
    pub(crate) weight: f64,
}

/// One share for each cluster, from `contributions`: the cluster, the part of the difference and the weight of every item.
pub(crate) fn by_cluster(contributions: impl IntoIterator<Item = (u32, Share)>) -> Vec<Share> {
    let mut clusters: BTreeMap<u32, Share> = BTreeMap::new();
    for (cluster, share) in contributions {
        let of_cluster = clusters.entry(cluster).or_default();
        of_cluster.sum += share.sum;
        of_cluster.weight += share.weight;
    }
    clusters.into_values().collect()
}

/// The shares if the difference were smaller by `bound`: for tests against a margin instead of zero.
pub(crate) fn beyond(shares: &[Share], bound: f64) -> Vec<Share> {
    shares.iter().map(|share| Share { sum: share.sum - bound * share.weight, ..*share }).collect()
}
