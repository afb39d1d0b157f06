//! Intervals that are not printed, for comparison: what else is recommended for few or skewed clusters.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use regatta_report::statistics::Sample;

use super::Drawn;

/// Resamples of a bootstrap.
const RESAMPLES: usize = 499;
/// Student's quantile is close to the normal one for the clusters there are; Hall's correction is of a higher order.
const QUANTILE: f64 = 1.959_963_984_540_054;

/// Sum and number of the scores of every cluster.
pub(super) struct Sums(Vec<(f64, f64)>);

/// Scale on which a bootstrap is studentised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transform {
    Identity,
    LogOdds,
}

/// A mean with its squared standard error (CR2).
#[derive(Debug, Clone, Copy)]
struct Mean {
    value: f64,
    variance: f64,
}

impl Sums {
    pub(super) fn of(drawn: &Drawn) -> Self {
        let count = drawn.clusters.iter().max().map_or(0, |last| *last as usize + 1);
        let mut sums = vec![(0.0, 0.0); count];
        for (sample, cluster) in drawn.samples.iter().zip(&drawn.clusters) {
            if let Sample::Scored { top, .. } = sample {
                let of_cluster = &mut sums[*cluster as usize];
                *of_cluster = (of_cluster.0 + top, of_cluster.1 + 1.0);
            }
        }
        sums.retain(|(_, items)| *items > 0.0);
        Self(sums)
    }

    fn mean(&self) -> Mean {
        let (sum, items) = self.0.iter().fold((0.0, 0.0), |(sum, items), (top, size)| (sum + top, items + size));
        let value = sum / items;
        let deviation = |(top, size): &(f64, f64)| ((top - value * size) / items).powi(2) / (1.0 - size / items);
        Mean { value, variance: self.0.iter().map(deviation).sum() }
    }

    /// The bootstrap-t: clusters are drawn with replacement, and each mean is divided by its own standard error (P. Hall, "The Bootstrap
    /// and Edgeworth Expansion", 1992). A resample without a deviation is infinitely far away. `None` where the sample has none.
    pub(super) fn bootstrap_t(&self, transform: Transform, rng: &mut ChaCha8Rng) -> Option<(f64, f64)> {
        let found = self.mean().transformed(transform)?;
        let mut deviates: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                let drawn = (0..self.0.len()).map(|_| self.0[rng.random_range(0..self.0.len())]).collect();
                let mean = Self(drawn).mean();
                match mean.transformed(transform) {
                    Some(again) => (again.value - found.value) / again.variance.sqrt(),
                    None => f64::INFINITY.copysign(mean.value - self.mean().value),
                }
            })
            .collect();
        deviates.sort_by(f64::total_cmp);
        // The 2.5 % and 97.5 % of so many and one.
        let tail = (RESAMPLES + 1) / 40;
        let (least, most) = (deviates[tail - 1], deviates[RESAMPLES - tail]);
        let at = |deviate: f64| transform.back(found.value - deviate * found.variance.sqrt()).clamp(0.0, 1.0);
        Some((at(most), at(least)))
    }

    /// Student's interval, its two sides moved by the clusters' skewness (P. Hall, "On the removal of skewness by transformation", J. Royal
    /// Statist. Soc. B 54, 1992). `None` where the sample has no deviation.
    pub(super) fn hall(&self) -> Option<(f64, f64)> {
        let Mean { value, variance } = self.mean().transformed(Transform::Identity)?;
        let items: f64 = self.0.iter().map(|(_, size)| size).sum();
        let third: f64 = self.0.iter().map(|(top, size)| ((top - value * size) / items).powi(3)).sum();
        let skewness = third / variance.powf(1.5);
        let third = skewness / 3.0;
        let back = |deviate: f64| match skewness.abs() < 1e-9 {
            true => deviate,
            false => ((1.0 + 3.0 * third * (deviate - skewness / 6.0)).cbrt() - 1.0) / third,
        };
        let at = |deviate: f64| (value - back(deviate) * variance.sqrt()).clamp(0.0, 1.0);
        Some((at(QUANTILE), at(-QUANTILE)))
    }
}

impl Mean {
    /// `None` without a deviation, or where the scale has no number for it.
    fn transformed(self, transform: Transform) -> Option<Self> {
        let Self { value, variance } = self;
        let has_deviation = variance > 1e-20 && value > 0.0 && value < 1.0;
        has_deviation.then(|| match transform {
            Transform::Identity => self,
            Transform::LogOdds => {
                Self { value: (value / (1.0 - value)).ln(), variance: variance / (value * (1.0 - value)).powi(2) }
            }
        })
    }
}

impl Transform {
    fn back(self, value: f64) -> f64 {
        match self {
            Self::Identity => value,
            Self::LogOdds => 1.0 / (1.0 + (-value).exp()),
        }
    }
}
