//! The mean that an expensive judge would have given, from a cheap judge's scores of everything and the expensive one's of a random part.
//!
//! Prediction-powered inference with the weight of the cheap judge tuned to the data (Angelopoulos, Duchi and Zrnic, "PPI++", 2023), with
//! variances over clusters. The cheap judge may be arbitrarily wrong: its bias is estimated on the audited part and subtracted.

use std::collections::BTreeMap;

use crate::interval::Interval;

/// The cheap judge's score of an item, and the expensive judge's where the item was audited. To compare two models, both are differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Audit {
    /// Cluster of the item. Items of one cluster are not independent.
    pub cluster: u32,
    /// Score of the cheap judge.
    pub cheap: f64,
    /// Score of the expensive judge; `None` if the item was not drawn for the audit.
    pub expensive: Option<f64>,
}

/// Audits that give no corrected estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditError {
    /// Fewer than two clusters were audited, so the variance between clusters is unknown.
    TooFewClusters {
        /// Number of audited clusters.
        audited: usize,
    },
}

impl std::fmt::Display for AuditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooFewClusters { audited } => {
                write!(f, "{audited} audited clusters say nothing about how clusters differ; audit at least two")
            }
        }
    }
}

impl std::error::Error for AuditError {}

/// A figure with half of its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The figure.
    pub value: f64,
    /// Half of the interval's length.
    pub half: f64,
}

impl Figure {
    /// The interval around the value.
    #[must_use]
    pub fn interval(&self) -> Interval {
        Interval { low: self.value - self.half, high: self.value + self.half }
    }
}

/// An estimate of the expensive judge's mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corrected {
    /// The estimate; its interval is never longer than that of `alone`.
    pub estimate: Figure,
    /// The mean of the expensive judge over the audited items alone.
    pub alone: Figure,
    /// Mean of the cheap judge minus that of the expensive one, over the audited items.
    pub bias: Figure,
    /// Weight of the cheap judge, 0 where it tells nothing, to 1.
    pub weight: f64,
    /// Number of audited items.
    pub audited: usize,
}

impl Corrected {
    /// Audited items that would give the same interval without the cheap judge, divided by those audited; at least 1.
    #[must_use]
    pub fn saving(&self) -> f64 {
        if self.estimate.half > 0.0 { (self.alone.half / self.estimate.half).powi(2) } else { 1.0 }
    }
}

/// Growth beyond the square of the width: the part of an interval that comes of the choice of all items does not shrink.
const GROWTH: f64 = 1.05;
/// Largest growth of an audit at once: the width of a small one tells roughly what it takes.
const MOST_GROWTH: f64 = 4.0;
/// Part by which an interval of *n* audited items has to be narrower than wanted, times √*n*.
const LUCK: f64 = 2.0;
/// Items in which an error has to be looked for, times its rate, so that it is seen in 95 % of the audits.
const SEEN: f64 = 3.0;

/// Number of items to audit so that half of the interval is at most `wanted`, after the audit of `audited` ones left it at `half`; both are parts of
/// the scale. `None` where it is narrow enough.
///
/// An interval may be narrow by luck, and whoever stops for that reason has intervals that hold too rarely. So it has to be narrower than `wanted`
/// by a part that shrinks with the square root of the items. And where all audited items have the same score, it says little of how many have
/// another: so many are audited at least that scores which move the mean by `wanted` are seen.
#[must_use]
pub fn further_audits(audited: usize, half: f64, wanted: f64) -> Option<usize> {
    let n = audited as f64;
    let surely = half * (1.0 + LUCK / n.sqrt());
    let least = SEEN / wanted;
    if surely <= wanted && n >= least {
        return None;
    }
    let growth = (GROWTH * (surely / wanted).powi(2)).max(least / n).min(MOST_GROWTH);
    Some(((n * growth).ceil() as usize).max(audited + 1))
}

/// Influences of a cluster on the estimate: of the expensive scores, and of the cheap ones for a weight of 1.
#[derive(Clone, Copy, Default)]
struct Influence {
    expensive: f64,
    cheap: f64,
    /// Of the difference between the judges.
    bias: f64,
    audited: u32,
}

/// Sums over clusters, from which the variance of an estimate follows for every weight of the cheap judge.
struct Sums {
    expensive: f64,
    product: f64,
    cheap: f64,
}

impl Sums {
    fn at(&self, weight: f64) -> f64 {
        self.expensive + 2.0 * weight * self.product + weight * weight * self.cheap
    }

    /// The weight, 0 to 1, of the least variance.
    fn best_weight(&self) -> f64 {
        if self.cheap > 0.0 { (-self.product / self.cheap).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Estimates the expensive judge's mean over items like `items`, of which a random part was audited. `scale` is the most by which judges can
/// differ about an item, 0 if there is no such bound. `critical` gives Student's critical value for degrees of freedom.
///
/// Judges that differ in few items may agree on all that were audited, by chance. So the variance is what it would be with one more audited
/// item about which they differ by all of the scale, half of it in each direction.
///
/// # Errors
/// With fewer than two audited clusters.
pub fn audited_mean(items: &[Audit], scale: f64, critical: impl Fn(f64) -> f64) -> Result<Corrected, AuditError> {
    let audited: Vec<(f64, f64)> = items.iter().filter_map(|item| Some((item.cheap, item.expensive?))).collect();
    let (all, n) = (items.len() as f64, audited.len() as f64);
    let cheap_mean = items.iter().map(|item| item.cheap).sum::<f64>() / all;
    let cheap_audited = audited.iter().map(|(cheap, _)| cheap).sum::<f64>() / n;
    let expensive_mean = audited.iter().map(|(_, expensive)| expensive).sum::<f64>() / n;
    let bias = cheap_audited - expensive_mean;
    let mut by_cluster: BTreeMap<u32, Influence> = BTreeMap::new();
    for item in items {
        let influence = by_cluster.entry(item.cluster).or_default();
        influence.cheap += (item.cheap - cheap_mean) / all;
        if let Some(expensive) = item.expensive {
            influence.expensive += (expensive - expensive_mean) / n;
            influence.cheap -= (item.cheap - cheap_audited) / n;
            influence.bias += (item.cheap - expensive - bias) / n;
            influence.audited += 1;
        }
    }
    let clusters = by_cluster.values().filter(|influence| influence.audited > 0).count();
    if clusters < 2 {
        return Err(AuditError::TooFewClusters { audited: clusters });
    }
    // Clusters of one size that would tell as much: a few large ones among many small ones tell less than their number.
    let telling = n * n / by_cluster.values().map(|influence| f64::from(influence.audited).powi(2)).sum::<f64>();
    let unseen = (scale / (2.0 * n)).powi(2);
    let sum = |of: fn(&Influence) -> f64| by_cluster.values().map(of).sum::<f64>();
    let sums = Sums {
        expensive: sum(|influence| influence.expensive * influence.expensive) + unseen,
        product: sum(|influence| influence.expensive * influence.cheap) + unseen,
        cheap: sum(|influence| influence.cheap * influence.cheap) + unseen,
    };
    // A mean takes one degree of freedom, and so does the weight.
    let half = |sum: f64, taken: f64| {
        let freedom = telling - taken;
        if freedom > 0.0 { critical(freedom) * (sum * telling / freedom).sqrt() } else { f64::INFINITY }
    };
    let alone = Figure { value: expensive_mean, half: half(sums.at(0.0), 1.0) };
    let weight = sums.best_weight();
    let tuned =
        Figure { value: expensive_mean + weight * (cheap_mean - cheap_audited), half: half(sums.at(weight), 2.0) };
    let is_better = weight > 0.0 && tuned.half < alone.half;
    let of_bias = sum(|influence| influence.bias * influence.bias) + 4.0 * unseen;
    Ok(Corrected {
        estimate: if is_better { tuned } else { alone },
        alone,
        bias: Figure { value: bias, half: half(of_bias, 1.0) },
        weight: if is_better { weight } else { 0.0 },
        audited: audited.len(),
    })
}
