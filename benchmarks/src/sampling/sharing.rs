//! Sizes of the samples with which a sweep runs at most so many items over all its benchmarks and settings.

use regatta_proto::{BenchmarkName, Limit, Setting};

use super::{canary_items, select_items, with_canaries};
use crate::{Dataset, SelectError};

/// A benchmark of a sweep whose sample is to be sized.
#[derive(Clone, Copy)]
pub struct SampledBenchmark<'a> {
    /// Name of the benchmark.
    pub name: &'a BenchmarkName,
    /// Data set.
    pub suite: &'a dyn Dataset,
    /// Settings, each of which runs the sample.
    pub settings: &'a [Setting],
    /// Tasks; all when empty.
    pub tasks: &'a [String],
    /// The part of the items that it has at most; `None` for all.
    pub limit: Option<Limit>,
    /// Number of items that each setting runs whatever the sample.
    pub canaries: Option<u32>,
}

/// Reason why no samples are as small as asked.
#[derive(Debug, thiserror::Error)]
pub enum SharingError {
    /// The items of a setting cannot be selected.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// One item, or group of items that stays whole, in each setting is more than that with the canaries.
    #[error("the smallest sample has {least} items: at least one in each setting")]
    TooFew {
        /// Fewest items that samples can have.
        least: u64,
    },
}

/// Limits with which `benchmarks` run at most `items` items over all their settings, in proportion to the numbers of items that they have,
/// and at least one in each setting. One that may run all that its own limit leaves keeps that limit. The samples are those of
/// [`select_items`] with `seed`, and canaries count.
///
/// # Errors
/// When `items` are fewer than the settings need, or a selection fails.
pub fn limits_within(
    benchmarks: &[SampledBenchmark<'_>],
    items: u64,
    seed: u64,
) -> Result<Vec<Option<Limit>>, SharingError> {
    let count = |of: &SampledBenchmark<'_>, limit: Option<Limit>| {
        of.settings.iter().try_fold(0, |sum, setting| {
            let selected = select_items(of.suite, of.name, setting, of.tasks, limit, seed)?;
            let canaries = canary_items(of.suite, of.name, setting, of.tasks, of.canaries, seed)?;
            Ok::<u64, SelectError>(sum + with_canaries(selected, &canaries).len() as u64)
        })
    };
    let mut bounds = Vec::new();
    for of in benchmarks {
        let (least, whole) = (count(of, Some(Limit::Sample(1)))?, count(of, of.limit)?);
        bounds.push((least.min(whole), whole));
    }
    let shares = shares(&bounds, items)?;
    let mut limits = Vec::new();
    for ((of, share), (_, whole)) in benchmarks.iter().zip(shares).zip(bounds) {
        if share >= whole {
            limits.push(of.limit);
            continue;
        }
        // The largest sample within the share. Its size is in units, of which each has one item or more in one setting or more.
        let (mut fits, mut exceeds) = (1, u32::try_from(share).unwrap_or(u32::MAX).saturating_add(1));
        while fits + 1 < exceeds {
            let middle = u32::midpoint(fits, exceeds);
            match count(of, Some(Limit::Sample(middle)))? <= share {
                true => fits = middle,
                false => exceeds = middle,
            }
        }
        limits.push(Some(Limit::Sample(fits)));
    }
    Ok(limits)
}

/// Distributes `items` over benchmarks of which each takes at least, and at most, so many: what goes beyond the least ones in proportion to what
/// the benchmarks have beyond them, by largest remainder, and in equal cases to the first.
fn shares(bounds: &[(u64, u64)], items: u64) -> Result<Vec<u64>, SharingError> {
    let least: u64 = bounds.iter().map(|(least, _)| least).sum();
    let Some(more) = items.checked_sub(least) else { return Err(SharingError::TooFew { least }) };
    let beyond: Vec<u64> = bounds.iter().map(|(least, whole)| whole.saturating_sub(*least)).collect();
    let all: u64 = beyond.iter().sum();
    if more >= all {
        return Ok(bounds.iter().map(|(_, whole)| *whole).collect());
    }
    // Numbers of items are far below 2^64, their products are not.
    let part = |of: u64| (u128::from(of) * u128::from(more) / u128::from(all)) as u64;
    let remainder = |of: u64| u128::from(of) * u128::from(more) % u128::from(all);
    let mut shares: Vec<u64> = bounds.iter().zip(&beyond).map(|((least, _), of)| least + part(*of)).collect();
    let left = items - shares.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..beyond.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(remainder(beyond[*at])));
    order.into_iter().take(left as usize).for_each(|at| shares[at] += 1);
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn benchmarks_share_in_proportion_to_their_items_and_none_goes_without() {
        // 1,000 and 100 items in one setting each, of which 2 of the 22 are spoken for.
        assert_eq!(shares(&[(1, 1000), (1, 100)], 22).unwrap(), [19, 3]);
        assert_eq!(shares(&[(1, 1000), (1, 1)], 20).unwrap(), [19, 1]);
        assert_eq!(shares(&[(1, 10), (1, 10)], 5).unwrap(), [3, 2], "the first where all else is equal");
    }

    #[test]
    fn as_many_as_there_are_is_all_and_fewer_than_one_each_is_refused() {
        assert_eq!(shares(&[(1, 10), (2, 20)], 30).unwrap(), [10, 20]);
        assert_eq!(shares(&[(1, 10), (2, 20)], 3).unwrap(), [1, 2]);
        let error = shares(&[(1, 10), (2, 20)], 2).unwrap_err().to_string();
        assert_eq!(error, "the smallest sample has 3 items: at least one in each setting");
    }

    proptest! {
        #[test]
        fn all_shares_together_are_what_was_asked_for_and_within_bounds(
            sizes in prop::collection::vec((1u64..4, 0u64..500), 1..6), more in 0u64..3000,
        ) {
            let bounds: Vec<(u64, u64)> = sizes.into_iter().map(|(least, beyond)| (least, least + beyond)).collect();
            let (least, whole) = bounds.iter().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
            let found = shares(&bounds, least + more).unwrap();
            prop_assert_eq!(found.iter().sum::<u64>(), (least + more).min(whole));
            for (share, (least, whole)) in found.into_iter().zip(bounds) {
                prop_assert!((least..=whole).contains(&share));
            }
        }
    }
}
