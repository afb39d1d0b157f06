//! The ratio of two models' amounts over the same items.
//!
//! Amounts have no end that they lean on, but a skew that their ratio inherits; logarithms have neither. So intervals of money are
//! Student's of the logarithm, over clusters of items (CR2, Satterthwaite's degrees of freedom). The ratio of times has none: what runs at
//! the same time shares an endpoint's load, so that a run, however many items it has, is a single draw of it.

use regatta_proto::Level;
use serde::{Deserialize, Serialize};

use super::clusters::{Influence, spread};
use super::means::mean;

/// A ratio of amounts of a single run, of which nothing is inferred.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatioOfRun {
    /// The ratio, above 0.
    pub value: f64,
    /// Items that both have an amount of.
    pub n: u32,
}

/// A ratio of amounts, as of money: how many times as much the one takes as the other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PairedRatio {
    /// The ratio, above 0.
    pub value: f64,
    /// Lower end of the interval at the level of the sweep; absent for a single cluster of items, and where nothing varies.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// The p-value of "no difference", not corrected; absent where the interval is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The same, corrected over all ratios of the same amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_holm: Option<f64>,
    /// Items that both have an amount of.
    pub n: u32,
    /// Independent clusters among these.
    pub clusters: u32,
}

/// Amounts of an item, over the trials in which both have one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ItemAmounts {
    /// Cluster of the item.
    pub(crate) cluster: u32,
    /// By trial: that of the one below the line, and that of the one above it; neither is negative.
    pub(crate) trials: Vec<(f64, f64)>,
}

/// The geometric mean over items of the ratio: each item counts alike, however long it takes. Trials with nothing on either side of the
/// line are left out. `None` without any other.
pub(crate) fn mean_ratio(items: &[ItemAmounts]) -> Option<RatioOfRun> {
    let of_item = |item: &ItemAmounts| {
        let logs = item.trials.iter().filter(|(below, above)| *below > 0.0 && *above > 0.0);
        mean(&logs.map(|(below, above)| (above / below).ln()).collect::<Vec<f64>>())
    };
    let logs: Vec<f64> = items.iter().filter_map(of_item).collect();
    Some(RatioOfRun { value: mean(&logs)?.exp(), n: logs.len() as u32 })
}

/// The ratio of the sums over items of each item's mean: an item counts as much as it takes. `None` where either sum is 0.
pub(crate) fn ratio_of_sums(items: &[ItemAmounts], level: Level) -> Option<PairedRatio> {
    let of_item = |item: &ItemAmounts| {
        let (below, above): (Vec<f64>, Vec<f64>) = item.trials.iter().copied().unzip();
        Some((item.cluster, mean(&below)?, mean(&above)?))
    };
    let means: Vec<(u32, f64, f64)> = items.iter().filter_map(of_item).collect();
    let (below, above) = means.iter().fold((0.0, 0.0), |sum, (_, below, above)| (sum.0 + below, sum.1 + above));
    if below <= 0.0 || above <= 0.0 {
        return None;
    }
    let shift = |(cluster, of_below, of_above): &(u32, f64, f64)| (*cluster, of_above / above - of_below / below);
    Some(of_log((above / below).ln(), &means.iter().map(shift).collect::<Vec<_>>(), level))
}

/// From a logarithm, and by how much each item moves it.
fn of_log(value: f64, shifts: &[(u32, f64)], level: Level) -> PairedRatio {
    let weight = 1.0 / shifts.len() as f64;
    let spread = spread(shifts.iter().map(|(cluster, shift)| (*cluster, Influence { shift: *shift, weight })));
    // Equal amounts differ by rounding alone.
    let half = spread.half(level).filter(|half| *half > 1e-9);
    PairedRatio {
        value: value.exp(),
        low: half.map(|half| (value - half).exp()),
        high: half.map(|half| (value + half).exp()),
        p: half.and_then(|_| spread.p(value)),
        p_holm: None,
        n: shifts.len() as u32,
        clusters: spread.clusters,
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{RngCore, SeedableRng};

    use super::*;

    fn item(cluster: u32, below: f64, above: f64) -> ItemAmounts {
        ItemAmounts { cluster, trials: vec![(below, above)] }
    }

    #[test]
    fn of_three_independent_items_it_is_the_textbooks_interval_of_the_logarithms() {
        // Logarithms of 1, 2 and 3: standard error 1 / √3, quantile 4.3027; t is 2 · √3, and 1 − 0.97 ... twice above it 0.0742.
        let found = of_log(2.0, &[(0, -1.0 / 3.0), (1, 0.0), (2, 1.0 / 3.0)], Level::USUAL);
        assert!((found.value.ln() - 2.0).abs() < 1e-12 && (found.n, found.clusters) == (3, 3));
        assert!((found.low.unwrap().ln() + 0.484_138).abs() < 1e-5, "{found:?}");
        assert!((found.high.unwrap().ln() - 4.484_138).abs() < 1e-5, "{found:?}");
        assert!((found.p.unwrap() - 0.074_180).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn an_item_counts_once_however_many_trials_it_has_and_what_took_nothing_does_not() {
        let items = [
            ItemAmounts { cluster: 0, trials: vec![(1.0, 2.0), (1.0, 2.0), (1.0, 0.0)] },
            item(1, 1.0, 8.0),
            item(2, 0.0, 8.0),
        ];
        let found = mean_ratio(&items).unwrap();
        assert!((found.value - 4.0).abs() < 1e-12 && found.n == 2);
    }

    #[test]
    fn where_each_item_has_the_same_ratio_there_is_no_interval() {
        let items = [item(0, 1.0, 0.25), item(1, 3.0, 0.75), item(2, 0.1, 0.025)];
        let found = ratio_of_sums(&items, Level::USUAL).unwrap();
        assert!((found.value - 0.25).abs() < 1e-12, "{found:?}");
        assert_eq!((found.low, found.high, found.p), (None, None, None));
        assert_eq!(ratio_of_sums(&[item(0, 0.0, 1.0)], Level::USUAL), None);
    }

    #[test]
    fn the_interval_holds_the_true_ratio_as_often_as_it_says() {
        const SAMPLES: u64 = 600;
        let uniform = |random: &mut ChaCha8Rng| f64::from(random.next_u32()) / f64::from(u32::MAX);
        // Skewed amounts: an item is long or short for both, a cluster has its mood, and every call its own.
        let drawn = |seed: u64| -> Vec<ItemAmounts> {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            (0..60u32)
                .map(|at| {
                    let mut mood = ChaCha8Rng::seed_from_u64(seed * 1000 + u64::from(at / 4));
                    let mood = uniform(&mut mood) - 0.5;
                    let long = (3.0 * uniform(&mut random)).exp();
                    let mut noise = || (1.5 * (uniform(&mut random) + uniform(&mut random) - 1.0)).exp();
                    item(at / 4, long * noise(), 1.5 * long * mood.exp() * noise())
                })
                .collect()
        };
        // Clusters' moods have the mean factor 2 sinh(1/2), by which the sums differ from the logarithms.
        let mood = 2.0 * 0.5_f64.sinh();
        let holds = |found: PairedRatio| found.low.unwrap() <= 1.5 * mood && 1.5 * mood <= found.high.unwrap();
        let covered = (0..SAMPLES).filter(|seed| holds(ratio_of_sums(&drawn(*seed), Level::USUAL).unwrap())).count();
        let coverage = covered as f64 / SAMPLES as f64;
        assert!((0.92..=0.98).contains(&coverage), "{coverage}");
    }
}
