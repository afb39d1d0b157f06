//! Mergeable quantiles of measurements.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sketches_ddsketch::{Config, DDSketch};

/// Largest relative error of a quantile.
const ACCURACY: f64 = 0.01;

/// Lower bound of measurements, which smaller ones are raised to: a microsecond, if they are in seconds.
const LEAST: f64 = 1e-6;

/// Upper bound of measurements, which larger ones are lowered to. With [`LEAST`] and [`ACCURACY`] it bounds the number of bins to 1,728.
const MOST: f64 = 1e9;

/// Most bins of the library's store; enough that it never merges bins.
const BINS_MAX: u32 = 2048;

/// A bounded summary of any number of positive measurements, mergeable without loss: quantiles within 1 % of the true value, and the
/// exact mean of what was added (to a millionth). A DDSketch (Masson, Rim, Lee: "DDSketch: a fast and fully-mergeable quantile sketch
/// with relative-error guarantees", VLDB 2019).
///
/// Only bins that are not empty are stored, and the sum is an integer, so that the same measurements give the same sketch and the same JSON
/// in whatever order they were added and merged. The library's own stored form depends on that order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sketch {
    /// Number of measurements by bin.
    bins: BTreeMap<i32, u64>,
    /// Sum of all measurements, in millionths.
    millionths: u64,
}

impl Sketch {
    /// Adds a measurement; NaN is ignored.
    pub fn add(&mut self, value: f64) {
        if value.is_nan() {
            return;
        }
        let value = value.clamp(LEAST, MOST);
        *self.bins.entry(config().key(value)).or_default() += 1;
        self.millionths = self.millionths.saturating_add((value * 1e6).round() as u64);
    }

    /// Adds all measurements of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (bin, count) in &other.bins {
            let sum = self.bins.entry(*bin).or_default();
            *sum = sum.saturating_add(*count);
        }
        self.millionths = self.millionths.saturating_add(other.millionths);
    }

    /// Number of measurements.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.bins.values().copied().fold(0, u64::saturating_add)
    }

    /// Mean of the measurements; `None` if there are none.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.millionths as f64 / 1e6 / count as f64)
    }

    /// The value below which a part `q` of the measurements lies, within 1 %; `None` if there are none. A `q` outside 0 to 1 is clamped.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        // No ledger of ours counts that many; the library would overflow.
        if self.count() == u64::MAX {
            return None;
        }
        let config = config();
        let mut sketch = DDSketch::new(config);
        for (bin, count) in &self.bins {
            // The value of a bin lies in that bin.
            sketch.add_with_count(config.value(*bin).clamp(LEAST, MOST), *count);
        }
        sketch.quantile(q.clamp(0.0, 1.0)).ok().flatten()
    }
}

fn config() -> Config {
    Config::new(ACCURACY, BINS_MAX, LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[f64]) -> Sketch {
        let mut sketch = Sketch::default();
        values.iter().for_each(|value| sketch.add(*value));
        sketch
    }

    fn merged(parts: &[Sketch]) -> Sketch {
        let mut all = Sketch::default();
        parts.iter().for_each(|part| all.merge(part));
        all
    }

    #[test]
    fn counts_of_others_that_no_sum_holds_have_no_quantile() {
        let foreign = Sketch { bins: BTreeMap::from([(1, u64::MAX), (2, 7)]), millionths: u64::MAX };
        let all = merged(&[foreign.clone(), foreign]);
        assert_eq!((all.count(), all.quantile(0.5)), (u64::MAX, None));
    }

    #[test]
    fn an_empty_sketch_knows_nothing() {
        let empty = Sketch::default();
        assert_eq!((empty.count(), empty.mean(), empty.quantile(0.5)), (0, None, None));
    }

    #[test]
    fn measurements_beyond_the_range_count_as_its_ends_and_nonsense_not_at_all() {
        let sketch = of(&[f64::NAN, -1.0, 0.0, 1e300, f64::INFINITY]);
        assert_eq!(sketch.count(), 4);
        let ends = [sketch.quantile(0.0).unwrap(), sketch.quantile(7.0).unwrap()];
        assert!((ends[0] / LEAST - 1.0).abs() <= ACCURACY && (ends[1] / MOST - 1.0).abs() <= ACCURACY, "{ends:?}");
    }

    #[test]
    fn its_bins_are_bounded() {
        let mut sketch = Sketch::default();
        let mut value = LEAST / 10.0;
        while value < MOST * 10.0 {
            sketch.add(value);
            value *= 1.001;
        }
        assert!(sketch.bins.len() <= 1728, "{}", sketch.bins.len());
    }

    proptest! {
        #[test]
        fn quantiles_are_within_one_per_cent(mut values in proptest::collection::vec(1e-5..1e5_f64, 1..200), q in 0.0..=1.0_f64) {
            let sketch = of(&values);
            values.sort_by(f64::total_cmp);
            let true_value = values[(q * (values.len() - 1) as f64) as usize];
            let found = sketch.quantile(q).unwrap();
            prop_assert!((found / true_value - 1.0).abs() <= ACCURACY * (1.0 + 1e-9), "{found} for {true_value}");
        }

        #[test]
        fn the_order_of_adding_and_merging_does_not_matter(
            values in proptest::collection::vec(1e-7..1e10_f64, 0..60),
            cuts in (0..60_usize, 0..60_usize),
        ) {
            let whole = of(&values);
            let (one, two) = (cuts.0.min(values.len()), cuts.1.min(values.len()));
            let parts = [of(&values[..one.min(two)]), of(&values[one.min(two)..one.max(two)]), of(&values[one.max(two)..])];
            prop_assert_eq!(&merged(&parts), &whole);
            let back: Vec<Sketch> = parts.iter().rev().cloned().collect();
            let mut nested = back[0].clone();
            nested.merge(&merged(&back[1..]));
            prop_assert_eq!(serde_json::to_string(&nested).unwrap(), serde_json::to_string(&whole).unwrap());
        }

        #[test]
        fn what_is_written_is_read_again(values in proptest::collection::vec(1e-7..1e10_f64, 0..60)) {
            let sketch = of(&values);
            let text = serde_json::to_string(&sketch).unwrap();
            prop_assert_eq!(serde_json::from_str::<Sketch>(&text).unwrap(), sketch);
        }
    }
}
