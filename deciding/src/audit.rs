//! The mean that an expensive judge would have given, from a cheap judge's scores of everything and the expensive one's of a random part.
//!
//! Prediction-powered inference with the weight of the cheap judge tuned to the data (Angelopoulos, Duchi and Zrnic, "PPI++", 2023), with
//! variances over clusters. The cheap judge may be arbitrarily wrong: its bias is estimated on the audited part and subtracted.

use std::collections::BTreeMap;

use crate::interval::Interval;

/// The cheap judge's score of an item, and the expensive judge's where the item was audited.
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

/// An estimate of the expensive judge's mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corrected {
    /// The estimate.
    pub value: f64,
    /// Squared standard error of the estimate.
    pub variance: f64,
    /// Squared standard error of the audited part alone; never smaller than `variance`.
    pub variance_of_audit: f64,
    /// Weight of the cheap judge; 0 where it tells nothing.
    pub weight: f64,
    /// Mean of the cheap judge minus that of the expensive one, over the audited part.
    pub bias: f64,
    /// Number of audited items.
    pub audited: usize,
    /// Degrees of freedom of the variance: audited clusters minus one.
    pub degrees: usize,
}

impl Corrected {
    /// The interval for this critical value of Student's distribution with `degrees` degrees of freedom.
    #[must_use]
    pub fn interval(&self, critical: f64) -> Interval {
        let half = critical * self.variance.sqrt();
        Interval { low: self.value - half, high: self.value + half }
    }

    /// Audited items that would give the same width without the cheap judge, divided by those audited. Above 1, the cheap judge saves
    /// audits.
    #[must_use]
    pub fn saving(&self) -> f64 {
        if self.variance > 0.0 { self.variance_of_audit / self.variance } else { 1.0 }
    }
}

/// Influences of a cluster on the estimate: of the expensive scores, and of the cheap ones for a weight of 1.
#[derive(Clone, Copy, Default)]
struct Influence {
    expensive: f64,
    cheap: f64,
    is_audited: bool,
}

/// Estimates the expensive judge's mean over items like `items`, of which a random part was audited.
///
/// # Errors
/// With fewer than two audited clusters.
pub fn audited_mean(items: &[Audit]) -> Result<Corrected, AuditError> {
    let audited: Vec<(f64, f64)> = items.iter().filter_map(|item| Some((item.cheap, item.expensive?))).collect();
    let (all, n) = (items.len() as f64, audited.len() as f64);
    let cheap_mean = items.iter().map(|item| item.cheap).sum::<f64>() / all;
    let cheap_audited = audited.iter().map(|(cheap, _)| cheap).sum::<f64>() / n;
    let expensive_mean = audited.iter().map(|(_, expensive)| expensive).sum::<f64>() / n;
    let mut by_cluster: BTreeMap<u32, Influence> = BTreeMap::new();
    for item in items {
        let influence = by_cluster.entry(item.cluster).or_default();
        influence.cheap += (item.cheap - cheap_mean) / all;
        if let Some(expensive) = item.expensive {
            influence.expensive += (expensive - expensive_mean) / n;
            influence.cheap -= (item.cheap - cheap_audited) / n;
            influence.is_audited = true;
        }
    }
    let clusters = by_cluster.values().filter(|influence| influence.is_audited).count();
    if clusters < 2 {
        return Err(AuditError::TooFewClusters { audited: clusters });
    }
    let sum = |of: fn(&Influence) -> f64| by_cluster.values().map(of).sum::<f64>();
    let square = sum(|influence| influence.cheap * influence.cheap);
    let product = sum(|influence| influence.expensive * influence.cheap);
    // The weight of the least variance; weight 0 is the audit alone.
    let weight = if square > 0.0 { -product / square } else { 0.0 };
    let correction = clusters as f64 / (clusters as f64 - 1.0);
    let variance_of_audit = correction * sum(|influence| influence.expensive * influence.expensive);
    let variance = (variance_of_audit - correction * weight * weight * square).max(0.0);
    Ok(Corrected {
        value: expensive_mean + weight * (cheap_mean - cheap_audited),
        variance,
        variance_of_audit,
        weight,
        bias: cheap_audited - expensive_mean,
        audited: audited.len(),
        degrees: clusters - 1,
    })
}
