//! The difference of two models over the same items.

use regatta_benchmarks::{Measure, Metric};
use serde::{Deserialize, Serialize};

use super::clusters::Influence;
use super::estimate::{item_mean, mean};
use super::linear::{Linear, averaged, linear, with_samples};
use super::ratio::ratio;
use super::sample::{Sample, Samples, Trials};

/// A paired difference: how much higher one's scores are than the other's, item by item.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Of a mean: the mean over items of the difference of their means over trials. Of a ratio of sums: the mean over trials of the
    /// difference of the ratios, over the sessions that both have a score of. Of everything else: the difference over those sessions.
    pub value: f64,
    /// Lower end of the 95 % interval; absent for a single cluster of items.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    pub high: Option<f64>,
    /// Items that both have a score of.
    pub n: u32,
}

/// How much higher `metric` is for `ours` than for `theirs`, whose samples (by leaf, then by trial and position) are of the same items in
/// the same order, in `clusters`. `None` without an item that both have a score of. The interval is Student's t over clusters, with their
/// bias-reduced variance: pairing takes out what makes items hard for both.
pub(crate) fn difference(metric: &Metric, ours: &[Trials], theirs: &[Trials], clusters: &[u32]) -> Option<Difference> {
    let positions: Vec<usize> = (0..clusters.len()).collect();
    let leaves = |samples| with_samples(metric, samples, &positions, clusters);
    let (ours, theirs) = (leaves(ours), leaves(theirs));
    let parts = ours.iter().zip(&theirs).map(|((leaf, ours), (_, theirs))| paired(leaf, ours, theirs));
    let all = averaged(metric, &parts.collect::<Option<Vec<Linear>>>()?)?;
    let (spread, n) = all.spread(&positions, clusters);
    let (value, half) = (all.value, spread.half());
    let most = metric.range.1 - metric.range.0;
    Some(Difference {
        value,
        low: half.map(|half| (value - half).max(-most)),
        high: half.map(|half| (value + half).min(most)),
        n,
    })
}

/// The difference of a metric that is no average, over what both have a score of.
fn paired(leaf: &Metric, ours: &Samples<'_>, theirs: &Samples<'_>) -> Option<Linear> {
    if matches!(leaf.measure, Measure::Mean { .. }) {
        let of = |position: &usize| Some(item_mean(ours, *position)? - item_mean(theirs, *position)?);
        let differences: Vec<Option<f64>> = ours.positions.iter().map(of).collect();
        let value = mean(&differences.iter().flatten().copied().collect::<Vec<f64>>())?;
        let count = differences.iter().flatten().count() as f64;
        let influence = |one: f64| Influence { shift: (one - value) / count, weight: 1.0 / count };
        let by_item = differences.iter().map(|difference| difference.map(influence)).collect();
        return Some(Linear { value, by_item, trials: Vec::new() });
    }
    let (our_trials, their_trials) = (restricted(ours.trials, theirs.trials), restricted(theirs.trials, ours.trials));
    let (ours, theirs) = (Samples { trials: &our_trials, ..*ours }, Samples { trials: &their_trials, ..*theirs });
    match leaf.measure {
        Measure::Pooled { .. } | Measure::GroupMean { .. } => Some(linear(leaf, &ours)?.less(&linear(leaf, &theirs)?)),
        _ => of_ratios(leaf, &ours, &theirs),
    }
}

/// `trials` without the sessions that `others` have no score of.
fn restricted(trials: &[Vec<Sample>], others: &[Vec<Sample>]) -> Trials {
    let both = |(sample, other): (&Sample, &Sample)| match other {
        Sample::Missing { .. } => *other,
        _ => *sample,
    };
    trials.iter().zip(others).map(|(trial, other)| trial.iter().zip(other).map(both).collect()).collect()
}

fn of_ratios(metric: &Metric, ours: &Samples<'_>, theirs: &Samples<'_>) -> Option<Linear> {
    // Only trials in which both have a ratio can be compared.
    let trials: Vec<usize> = (0..ours.trials.len()).filter(|trial| has_both(metric, ours, theirs, *trial)).collect();
    let of = |samples: &Samples<'_>| {
        let trials: Vec<Vec<Sample>> = trials.iter().map(|trial| samples.trials[*trial].clone()).collect();
        ratio(metric, &Samples { trials: &trials, ..*samples })
    };
    let difference = of(ours)?.less(&of(theirs)?);
    let value = mean(&difference.trials.iter().flatten().copied().collect::<Vec<f64>>())?;
    Some(Linear { value, ..difference })
}

fn has_both(metric: &Metric, ours: &Samples<'_>, theirs: &Samples<'_>, trial: usize) -> bool {
    let has = |samples: &Samples<'_>| {
        let one = samples.trials.get(trial).map(std::slice::from_ref);
        one.is_some_and(|trials| ratio(metric, &Samples { trials, ..*samples }).is_some())
    };
    has(ours) && has(theirs)
}

#[cfg(test)]
mod tests {
    use regatta_benchmarks::Metric;

    use super::*;

    fn items(scores: &[Option<f64>]) -> Vec<Vec<Sample>> {
        let of = |score: &Option<f64>| match score {
            Some(top) => Sample::Scored { top: *top, bottom: 1.0 },
            None => Sample::Missing { weight: 1.0 },
        };
        vec![scores.iter().map(of).collect()]
    }

    fn paired(ours: &[Option<f64>], theirs: &[Option<f64>]) -> Option<Difference> {
        let clusters: Vec<u32> = (0..ours.len() as u32).collect();
        difference(&Metric::mean("x"), &[items(ours)], &[items(theirs)], &clusters)
    }

    fn recall() -> Metric {
        let measure = Measure::Ratio { numerator: "right".into(), denominator: "gold".into(), of_item: true };
        Metric { measure, ..Metric::mean("recall") }
    }

    fn scored(top: f64, bottom: f64) -> Sample {
        Sample::Scored { top, bottom }
    }

    #[test]
    fn what_is_hard_for_both_does_not_widen_the_interval() {
        let found = paired(&[Some(0.1), Some(0.5), Some(1.0)], &[Some(0.0), Some(0.4), Some(0.9)]).unwrap();
        assert!((found.value - 0.1).abs() < 1e-9 && found.high.unwrap() - found.low.unwrap() < 1e-6, "{found:?}");
    }

    #[test]
    fn only_items_that_both_have_count() {
        let found = paired(&[Some(1.0), None, Some(0.5)], &[Some(0.5), Some(1.0), None]).unwrap();
        assert_eq!(found, Difference { value: 0.5, low: None, high: None, n: 1 });
        assert_eq!(paired(&[None], &[Some(1.0)]), None);
    }

    #[test]
    fn three_differences_have_the_interval_of_the_textbook() {
        let found = paired(&[Some(0.4), Some(0.5), Some(0.6)], &[Some(0.0); 3]).unwrap();
        // Standard error 0.1 / √3, quantile 4.3027.
        assert!((found.low.unwrap() - 0.251_586_2).abs() < 1e-6 && (found.high.unwrap() - 0.748_413_8).abs() < 1e-6);
    }

    #[test]
    fn ratios_of_equal_denominators_differ_as_their_means_do() {
        let (ours, theirs) =
            ([Some(0.9), Some(0.2), Some(0.6), Some(0.4)], [Some(0.5), Some(0.3), Some(0.1), Some(0.4)]);
        let of_means = paired(&ours, &theirs).unwrap();
        let of_ratios = difference(&recall(), &[items(&ours)], &[items(&theirs)], &[0, 1, 2, 3]).unwrap();
        assert!((of_means.value - of_ratios.value).abs() < 1e-12 && of_means.n == of_ratios.n);
        assert!((of_means.low.unwrap() - of_ratios.low.unwrap()).abs() < 1e-12);
        assert!((of_means.high.unwrap() - of_ratios.high.unwrap()).abs() < 1e-12);
    }

    #[test]
    fn sessions_that_only_one_has_do_not_move_the_difference_of_ratios() {
        let ours = vec![vec![scored(1.0, 2.0), scored(0.0, 8.0), scored(3.0, 4.0)]];
        let theirs = vec![vec![scored(1.0, 2.0), Sample::Missing { weight: 8.0 }, scored(1.0, 4.0)]];
        let found =
            difference(&recall(), std::slice::from_ref(&ours), std::slice::from_ref(&theirs), &[0, 1, 2]).unwrap();
        assert!((found.value - (4.0 / 6.0 - 2.0 / 6.0)).abs() < 1e-12 && found.n == 2, "{found:?}");
        let other = difference(&recall(), &[theirs], &[ours], &[0, 1, 2]).unwrap();
        assert!((found.value + other.value).abs() < 1e-12);
    }

    #[test]
    fn a_model_does_not_differ_from_itself() {
        let ours = vec![vec![scored(1.0, 2.0), scored(0.0, 8.0)], vec![scored(2.0, 2.0), scored(3.0, 8.0)]];
        let found = difference(&recall(), std::slice::from_ref(&ours), std::slice::from_ref(&ours), &[0, 1]).unwrap();
        assert_eq!(found, Difference { value: 0.0, low: Some(0.0), high: Some(0.0), n: 2 });
    }
}
