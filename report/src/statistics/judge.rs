//! Uncertainty that the judge adds, from how the repeats of a panel differ.

use regatta_benchmarks::{Measure, Metric};
use serde::{Deserialize, Serialize};

use super::linearised::{averaged_over_leaves, with_samples};
use super::means::{item_mean, mean};
use super::sample::{Samples, Trials};

/// The judge's part of the uncertainty over new items, which contains it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct JudgePart {
    /// Squared standard error: the variance of what one repeat alone gives, divided by their number.
    pub variance: f64,
    /// Share of the squared standard error over new items, at most 1. Absent where that is none or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// The judge's part of `metric`, whose `samples` are of all `repeats` together. `None` with fewer than two repeats, or where one has no value.
pub(crate) fn judge_part(
    metric: &Metric,
    samples: &[Trials],
    repeats: &[&[Trials]],
    positions: &[usize],
    clusters: &[u32],
) -> Option<JudgePart> {
    let variance = judge_variance(metric, repeats, positions, clusters)?;
    let found = averaged_over_leaves(metric, &with_samples(metric, samples, positions, clusters))?;
    let all = found.spread(positions, clusters).0.variance.filter(|all| *all > 0.0);
    // Both are estimates, and that of a part can be the larger one.
    Some(JudgePart { variance, share: all.map(|all| (variance / all).min(1.0)) })
}

/// A majority is taken as a mean would be. Of a mean over items the variance is added up over clusters, because what belongs together (an
/// item's trials, say) may lead to one question with one verdict. Of everything else whole repeats are compared, which is a rougher figure.
fn judge_variance(metric: &Metric, repeats: &[&[Trials]], positions: &[usize], clusters: &[u32]) -> Option<f64> {
    let count = repeats.len() as f64;
    if repeats.len() < 2 {
        return None;
    }
    let parts: Vec<Vec<f64>> = match metric.measure {
        Measure::Mean { .. } => {
            let of = |samples: &&[Trials]| of_clusters(samples.first()?, positions, clusters);
            repeats.iter().map(of).collect::<Option<_>>()?
        }
        _ => {
            let of = |samples: &&[Trials]| {
                let leaves = with_samples(metric, samples, positions, clusters);
                averaged_over_leaves(metric, &leaves).map(|found| vec![found.value])
            };
            repeats.iter().map(of).collect::<Option<_>>()?
        }
    };
    let longest = parts.iter().map(Vec::len).max().unwrap_or(0);
    let part = |repeat: &Vec<f64>, at: usize| repeat.get(at).copied().unwrap_or(0.0);
    let variance_at = |at: usize| {
        let values: Vec<f64> = parts.iter().map(|repeat| part(repeat, at)).collect();
        let middle = mean(&values).unwrap_or(0.0);
        values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (count - 1.0)
    };
    Some((0..longest).map(variance_at).sum::<f64>() / count)
}

/// Contribution of each cluster to the mean over items: its sum of item means, over the number of items. `None` without any item.
fn of_clusters(trials: &Trials, positions: &[usize], clusters: &[u32]) -> Option<Vec<f64>> {
    let samples = Samples { trials, positions, clusters };
    let means: Vec<(u32, f64)> =
        positions.iter().filter_map(|at| Some((clusters[*at], item_mean(&samples, *at)?))).collect();
    let last = means.iter().map(|(cluster, _)| *cluster as usize).max()?;
    let mut sums = vec![0.0; last + 1];
    means.iter().for_each(|(cluster, mean)| sums[*cluster as usize] += mean);
    let items = means.len() as f64;
    sums.iter_mut().for_each(|sum| *sum /= items);
    Some(sums)
}

#[cfg(test)]
mod tests;
