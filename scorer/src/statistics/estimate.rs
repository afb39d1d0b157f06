//! A mean over items, with what is known about its uncertainty.

use serde::{Deserialize, Serialize};

use super::student::quantile_97_5;

/// The scores of one item under one metric over all trials; trials of one item are one cluster, never independent samples.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct ItemScores {
    /// Sum of the scores that are there, each in 0..=1.
    pub(crate) sum: f64,
    /// How many are there.
    pub(crate) scored: u32,
    /// How many there should be.
    pub(crate) total: u32,
}

impl ItemScores {
    /// One session's score, or that it is missing.
    pub(crate) fn add(&mut self, score: Option<f64>) {
        self.total += 1;
        if let Some(score) = score {
            self.sum += score;
            self.scored += 1;
        }
    }
}

/// One number of a table. All figures but the counts are in 0..=1 and absent when nothing has a score.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean over items of each item's mean over its scored trials; a session that the model made impossible counts as wrong.
    pub value: Option<f64>,
    /// Lower end of the 95 % interval over items; absent for a single item and where no valid interval is known.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    pub high: Option<f64>,
    /// Items with a scored session.
    pub n: u32,
    /// Sessions with a score, those that the model made impossible included.
    pub scored: u32,
    /// Sessions there should be.
    pub total: u32,
    /// `scored` / `total`.
    pub coverage: f64,
    /// The value if every session without a score had scored 0.
    pub bound_low: Option<f64>,
    /// The value if every session without a score had scored 1.
    pub bound_high: Option<f64>,
}

/// Estimates the mean of `items`. The interval is Student's t over item means, cut to 0..=1, where the mean must lie.
pub(crate) fn estimate(items: &[ItemScores]) -> Estimate {
    let means: Vec<f64> =
        items.iter().filter(|item| item.scored > 0).map(|item| item.sum / f64::from(item.scored)).collect();
    let scored: u32 = items.iter().map(|item| item.scored).sum();
    let total: u32 = items.iter().map(|item| item.total).sum();
    let coverage = if total == 0 { 0.0 } else { f64::from(scored) / f64::from(total) };
    let mut result = Estimate { n: means.len() as u32, scored, total, coverage, ..Estimate::default() };
    let Some(value) = mean(&means) else { return result };
    result.value = Some(value);
    if let Some(error) = standard_error(&means, value) {
        let half = quantile_97_5(result.n - 1) * error;
        result.low = Some((value - half).clamp(0.0, value));
        result.high = Some((value + half).clamp(value, value.max(1.0)));
    }
    if scored == total {
        (result.bound_low, result.bound_high) = (Some(value), Some(value));
        return result;
    }
    let if_missing = |score: f64| {
        let means: Vec<f64> = items
            .iter()
            .filter(|item| item.total > 0)
            .map(|item| (item.sum + score * f64::from(item.total - item.scored)) / f64::from(item.total))
            .collect();
        mean(&means)
    };
    // Rounding may not put the value outside of its own bounds.
    result.bound_low = if_missing(0.0).map(|bound| bound.min(value));
    result.bound_high = if_missing(1.0).map(|bound| bound.max(value));
    result
}

fn mean(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    // Equal values have exactly their own mean, so that their interval has no width.
    if values.iter().all(|value| *value == first) {
        return Some(first);
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// Of the mean `mean` of `means`; `None` for a single one.
fn standard_error(means: &[f64], mean: f64) -> Option<f64> {
    let n = means.len() as f64;
    let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
    (means.len() > 1).then(|| (squares / (n - 1.0) / n).sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn item(scores: &[Option<f64>]) -> ItemScores {
        let mut item = ItemScores::default();
        scores.iter().for_each(|score| item.add(*score));
        item
    }

    fn close(left: Option<f64>, right: Option<f64>) -> bool {
        match (left, right) {
            (Some(left), Some(right)) => (left - right).abs() < 1e-9,
            (left, right) => left == right,
        }
    }

    #[test]
    fn three_items_have_the_interval_of_the_textbook() {
        let found = estimate(&[0.4, 0.5, 0.6].map(|score| item(&[Some(score)])));
        // Standard error 0.1 / √3, quantile 4.3027.
        assert!(close(found.value, Some(0.5)));
        assert!((found.low.unwrap() - 0.251_586_2).abs() < 1e-6, "{found:?}");
        assert!((found.high.unwrap() - 0.748_413_8).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn repeating_every_trial_does_not_narrow_the_interval() {
        let once = estimate(&[item(&[Some(0.25)]), item(&[Some(0.75)]), item(&[Some(1.0)])]);
        let thrice = estimate(&[item(&[Some(0.25); 3]), item(&[Some(0.75); 3]), item(&[Some(1.0); 3])]);
        assert_eq!((once.value, once.low, once.high), (thrice.value, thrice.low, thrice.high));
        assert_eq!((once.n, thrice.n, thrice.scored), (3, 3, 9));
    }

    #[test]
    fn one_item_gives_a_value_without_an_interval() {
        let found = estimate(&[item(&[Some(0.2), Some(0.4)])]);
        assert!(close(found.value, Some(0.3)));
        assert_eq!((found.low, found.high), (None, None));
    }

    #[test]
    fn equal_items_have_an_interval_without_width() {
        let found = estimate(&[item(&[Some(0.1)]); 7]);
        assert_eq!((found.value, found.low, found.high), (Some(0.1), Some(0.1), Some(0.1)));
    }

    #[test]
    fn nothing_measured_is_no_value_and_never_zero() {
        let found = estimate(&[item(&[None]), item(&[None])]);
        assert_eq!((found.value, found.low, found.bound_low, found.coverage), (None, None, None, 0.0));
        assert_eq!((found.n, found.scored, found.total), (0, 0, 2));
    }

    #[test]
    fn bounds_are_the_mean_if_all_that_is_missing_were_wrong_or_right() {
        let found = estimate(&[item(&[Some(1.0), None]), item(&[None, None]), item(&[Some(0.5), Some(0.0)])]);
        assert!(close(found.value, Some(0.625)));
        assert!(close(found.bound_low, Some((0.5 + 0.0 + 0.25) / 3.0)));
        assert!(close(found.bound_high, Some((1.0 + 1.0 + 0.25) / 3.0)));
        assert_eq!(found.coverage, 0.5);
    }

    /// The variance of the mean by leaving out one item after another (the jackknife), which equals the clustered one for means.
    fn jackknife_error(items: &[Vec<f64>]) -> f64 {
        let mean_without = |left_out: Option<usize>| {
            let kept: Vec<f64> = items
                .iter()
                .enumerate()
                .filter(|(at, _)| Some(*at) != left_out)
                .map(|(_, trials)| trials.iter().sum::<f64>() / trials.len() as f64)
                .collect();
            kept.iter().sum::<f64>() / kept.len() as f64
        };
        let n = items.len() as f64;
        let all = mean_without(None);
        let squares: f64 = (0..items.len()).map(|at| (mean_without(Some(at)) - all).powi(2)).sum();
        (squares * (n - 1.0) / n).sqrt()
    }

    fn some_items() -> impl Strategy<Value = Vec<Vec<Option<f64>>>> {
        (1_usize..4).prop_flat_map(|trials| {
            prop::collection::vec(prop::collection::vec(prop::option::weighted(0.8, 0.0..=1.0), trials), 1..30)
        })
    }

    proptest! {
        #[test]
        fn the_order_of_items_and_trials_does_not_matter(items in some_items()) {
            let forward: Vec<_> = items.iter().map(|scores| item(scores)).collect();
            let backward: Vec<_> = items.iter().rev()
                .map(|scores| item(&scores.iter().rev().copied().collect::<Vec<_>>())).collect();
            let (one, other) = (estimate(&forward), estimate(&backward));
            prop_assert!(close(one.value, other.value) && close(one.low, other.low) && close(one.high, other.high));
            prop_assert!(close(one.bound_low, other.bound_low) && close(one.bound_high, other.bound_high));
            prop_assert_eq!((one.n, one.scored, one.total), (other.n, other.scored, other.total));
        }

        #[test]
        fn interval_and_bounds_contain_the_value_and_stay_within_0_and_1(items in some_items()) {
            let items: Vec<_> = items.iter().map(|scores| item(scores)).collect();
            let found = estimate(&items);
            if let Some(value) = found.value {
                let (low, high) = (found.bound_low.unwrap(), found.bound_high.unwrap());
                prop_assert!(low <= value && value <= high && low >= 0.0 && high <= 1.0 + 1e-12, "{found:?}");
                prop_assert_eq!(found.low.is_some(), found.n > 1);
                if let (Some(low), Some(high)) = (found.low, found.high) {
                    prop_assert!(low <= value && value <= high && low >= 0.0 && high <= 1.0 + 1e-12, "{found:?}");
                }
            }
        }

        #[test]
        fn the_interval_is_that_of_leaving_out_one_item_after_another(
            items in prop::collection::vec(prop::collection::vec(0.0..=1.0, 2), 2..12)
        ) {
            let scores: Vec<_> =
                items.iter().map(|trials| item(&trials.iter().copied().map(Some).collect::<Vec<_>>())).collect();
            let found = estimate(&scores);
            let half = quantile_97_5(found.n - 1) * jackknife_error(&items);
            prop_assert!(close(found.low, Some((found.value.unwrap() - half).max(0.0))));
            prop_assert!(close(found.high, Some((found.value.unwrap() + half).min(1.0))));
        }
    }
}
