//! The cluster sign-flip test, and the interval that inverts it.
//!
//! If two models are equally good, then within each cluster it is chance which of both was better: any of the 2^clusters patterns of
//! signs was equally likely. The p-value is the part of the patterns whose sum is at least as far from zero as the one seen. Up to
//! [`ALL`] clusters all patterns are counted; beyond, [`SAMPLED`] seeded ones and the one seen (Phipson and Smyth 2010, "Permutation
//! P-values should never be zero"). For linearised ratios this is the sign-flipping score test (Hemerik, Goeman and Finos 2020), which
//! needs many clusters to be exact.
//!
//! To flip a set S of clusters moves the sum to the other side of zero exactly where the mean over S and the mean over the rest are on
//! different sides of it. So the differences that the test does not refuse are read off the sorted means of subsets (Hartigan 1969,
//! "Using subsample values as typical values"), and the interval holds zero exactly where p is above its level.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::shares::Share;

/// So many clusters have all their patterns counted: 32,768 up to the sign of all.
const ALL: usize = 16;
/// Patterns that are drawn where there are more clusters.
const SAMPLED: usize = 9_999;
/// Clusters whose partial sums are looked up together.
const BLOCK: usize = 8;

/// Sums over a set of flipped clusters.
type Sums = (f64, f64);

/// The means over the clusters that a pattern flips, and over the others.
#[derive(Clone, Copy)]
struct Split {
    flipped: f64,
    others: f64,
}

/// Every pattern of signs that is counted.
pub(crate) struct Flips {
    splits: Vec<Split>,
    /// Patterns that flip nothing, or all: the one seen is always among them.
    unchanged: usize,
    is_exact: bool,
    value: f64,
    /// Sum of the squares of the clusters' sums.
    squares: f64,
    /// Means that differ by less are equal.
    tolerance: f64,
}

impl Flips {
    /// All patterns over `shares`, or those that `seed` draws. A pattern and its opposite say the same, so only one of both is counted.
    pub(crate) fn new(shares: &[Share], seed: u64) -> Self {
        let blocks: Vec<Vec<Sums>> = shares.chunks(BLOCK).map(partial_sums).collect();
        let value: f64 = shares.iter().map(|share| share.sum).sum();
        let largest = shares.iter().map(|share| (share.sum / share.weight).abs()).fold(0.0, f64::max);
        let is_exact = shares.len() <= ALL;
        let mut flips = Self {
            splits: Vec::new(),
            unchanged: 1,
            is_exact,
            value,
            squares: shares.iter().map(|share| share.sum.powi(2)).sum(),
            tolerance: 1e-12 * largest,
        };
        let everything = blocks.iter().filter_map(|block| block.last()).fold((0.0, 0.0), add);
        if is_exact {
            // The last cluster is never flipped: its opposite pattern flips it.
            let patterns = 1u64 << shares.len().saturating_sub(1);
            (1..patterns).for_each(|pattern| flips.push(sum_of(&blocks, &[pattern]), everything));
        } else {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut words = vec![0; shares.len().div_ceil(64)];
            for _ in 0..SAMPLED {
                words.fill_with(|| random.next_u64());
                flips.push(sum_of(&blocks, &words), everything);
            }
        }
        flips
    }

    fn push(&mut self, flipped: Sums, everything: Sums) {
        let others = (everything.0 - flipped.0, everything.1 - flipped.1);
        // Weights are at least one over the number of items, far above what rounding leaves of nothing.
        if flipped.1 < 1e-12 || others.1 < 1e-12 {
            self.unchanged += 1;
        } else {
            self.splits.push(Split { flipped: flipped.0 / flipped.1, others: others.0 / others.1 });
        }
    }

    fn count(&self) -> usize {
        self.splits.len() + self.unchanged
    }

    /// The p-value of "there is no difference" against a difference in either direction.
    ///
    /// A p-value below what the drawn patterns resolve is Hoeffding's bound, 2 exp(−sum² / 2 Σ squares), which is never below the p-value
    /// over all patterns.
    pub(crate) fn p(&self) -> f64 {
        let is_as_far = |split: &&Split| {
            let (low, high) = (split.flipped.min(split.others), split.flipped.max(split.others));
            low <= self.tolerance && high >= -self.tolerance
        };
        self.resolved(self.splits.iter().filter(is_as_far).count(), 2.0)
    }

    /// The p-value of "the difference is 0 or more" against "it is less".
    pub(crate) fn p_less(&self) -> f64 {
        self.one_sided(|mean| mean >= -self.tolerance, self.value < 0.0)
    }

    /// The p-value of "the difference is 0 or less" against "it is more".
    pub(crate) fn p_more(&self) -> f64 {
        self.one_sided(|mean| mean <= self.tolerance, self.value > 0.0)
    }

    /// `counts`: whether the sum is at least as extreme if clusters with this mean are flipped.
    fn one_sided(&self, counts: impl Fn(f64) -> bool, is_that_way: bool) -> f64 {
        let flipped = self.splits.iter().filter(|split| counts(split.flipped)).count();
        if self.is_exact {
            // Both of a pattern and its opposite; to flip nothing is as extreme as what was seen, to flip everything only where that is.
            let others = self.splits.iter().filter(|split| counts(split.others)).count();
            let all = usize::from(counts(self.value));
            return (1 + all + flipped + others) as f64 / (2 * self.count()) as f64;
        }
        if is_that_way { self.resolved(flipped, 1.0) } else { self.share(flipped) }
    }

    /// Most patterns that may be as extreme as a difference for its p-value, their part of all, to be at most `alpha`.
    fn refused(&self, alpha: f64) -> usize {
        let all = self.count();
        let about = (alpha * all as f64).round() as usize;
        // Rounding may not make an interval hold what the test, which divides, refuses.
        if about as f64 / all as f64 <= alpha { about } else { about.saturating_sub(1) }
    }

    fn share(&self, extreme: usize) -> f64 {
        (self.unchanged + extreme) as f64 / self.count() as f64
    }

    fn resolved(&self, extreme: usize, sides: f64) -> f64 {
        if !self.is_exact && self.squares > 0.0 {
            let bound = sides * (-self.value.powi(2) / (2.0 * self.squares)).exp();
            if bound < 1.0 / self.count() as f64 {
                return bound;
            }
        }
        self.share(extreme)
    }

    /// `true` if the p-value of [`Self::p`] is a bound, beyond what the drawn patterns can tell.
    pub(crate) fn is_bound(&self) -> bool {
        !self.is_exact && self.p() < 1.0 / self.count() as f64
    }

    /// `true` if all patterns were counted.
    pub(crate) const fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The differences that the two-sided test with p-values up to `alpha` does not refuse; `None` where there are too few clusters to
    /// refuse any: fewer than six at 0.05.
    pub(crate) fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        let at = self.refused(alpha).checked_sub(self.unchanged)?;
        let mut lows: Vec<f64> = self.splits.iter().map(|split| split.flipped.min(split.others)).collect();
        let mut highs: Vec<f64> = self.splits.iter().map(|split| split.flipped.max(split.others)).collect();
        if at >= lows.len() {
            return None;
        }
        let (_, low, _) = lows.select_nth_unstable_by(at, f64::total_cmp);
        let (_, high, _) = highs.select_nth_unstable_by(at, |one, other| other.total_cmp(one));
        Some((*low, *high))
    }
}

fn add(one: Sums, other: &Sums) -> Sums {
    (one.0 + other.0, one.1 + other.1)
}

/// The sums of every subset of a few clusters, by the bits of its number.
fn partial_sums(shares: &[Share]) -> Vec<Sums> {
    let mut sums = vec![(0.0, 0.0)];
    for share in shares {
        let with = sums.iter().map(|sum| add(*sum, &(share.sum, share.weight)));
        let with: Vec<Sums> = with.collect();
        sums.extend(with);
    }
    sums
}

/// The sums over the clusters whose bit is set.
fn sum_of(blocks: &[Vec<Sums>], words: &[u64]) -> Sums {
    let mut sum = (0.0, 0.0);
    for (at, block) in blocks.iter().enumerate() {
        let bits = words[at / 8] >> (at % 8 * BLOCK) & 0xff;
        // The last block has fewer clusters than bits were drawn.
        sum = add(sum, &block[bits as usize & (block.len() - 1)]);
    }
    sum
}

#[cfg(test)]
mod tests;
