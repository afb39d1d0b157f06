//! pass@k and pass^k: the probability that any of k trials of an item succeeds, and that all do.

use regatta_benchmarks::{Measure, Metric};
use regatta_proto::Level;
use serde::{Deserialize, Serialize};

use super::estimate::{Estimate, estimate};
use super::sample::{Sample, Trials};

/// Up to so many trials every k is of interest; of more, powers of two and their number.
const EVERY_K: u16 = 8;

/// Success among k trials of an item, drawn from those that it has.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// Number of trials, k.
    pub k: u16,
    /// pass@k, the probability that at least one succeeds: 1 − C(n − c, k) / C(n, k) for an item with c successes in n trials, and the mean
    /// over items (M. Chen et al., arXiv:2107.03374, section 2.1). Unbiased, as is the next. Items with fewer trials are missing.
    pub any: Estimate,
    /// pass^k, the probability that all succeed: C(c, k) / C(n, k) (S. Yao et al., arXiv:2406.12045, section 3).
    pub all: Estimate,
}

/// pass@k and pass^k of `metric` over the items at `positions`. Empty for a single trial, and for a metric that is not the mean of a
/// success that is 0 or 1.
pub(crate) fn passes(
    metric: &Metric,
    samples: &[Trials],
    positions: &[usize],
    clusters: &[u32],
    level: Level,
) -> Vec<Pass> {
    let ([trials], Measure::Mean { .. }, (0.0, 1.0)) = (samples, &metric.measure, metric.range) else {
        return Vec::new();
    };
    if !is_binary(trials) {
        return Vec::new();
    }
    let counts: Vec<Option<(u32, u32)>> = (0..clusters.len()).map(|position| counts(trials, position)).collect();
    let of = |k: u16, probability: fn(u32, u32, u32) -> f64| {
        let sample = |counts: &Option<(u32, u32)>| match counts {
            None => Sample::Nothing,
            Some((n, _)) if *n < u32::from(k) => Sample::Missing { weight: 1.0 },
            Some((n, c)) => Sample::Scored { top: probability(*n, *c, u32::from(k)), bottom: 1.0 },
        };
        estimate(metric, &[vec![counts.iter().map(sample).collect()]], positions, clusters, level)
    };
    let pass = |k: u16| Pass { k, any: of(k, any_of), all: of(k, all_of) };
    sizes(trials.len()).into_iter().map(pass).collect()
}

/// `true` if all scores are 0 or 1, and there is one.
fn is_binary(trials: &Trials) -> bool {
    let mut scores = trials.iter().flatten().filter_map(Sample::parts).map(|(top, _)| top);
    let first = scores.next();
    first.into_iter().chain(scores).all(|score| score == 0.0 || score == 1.0) && first.is_some()
}

/// Trials with a score of the item at `position`, and its successes; `None` where no trial could have one.
fn counts(trials: &Trials, position: usize) -> Option<(u32, u32)> {
    let (mut n, mut successes, mut is_open) = (0, 0, false);
    for sample in trials.iter().filter_map(|trial| trial.get(position)) {
        match sample {
            Sample::Scored { top, .. } => {
                n += 1;
                successes += u32::from(*top > 0.0);
            }
            Sample::Missing { weight } => is_open |= *weight > 0.0,
            Sample::Nothing | Sample::NotBought | Sample::Void | Sample::DropsRun | Sample::ZeroesGroup => {}
        }
    }
    (n > 0 || is_open).then_some((n, successes))
}

fn sizes(trials: usize) -> Vec<u16> {
    let most = u16::try_from(trials).unwrap_or(u16::MAX);
    if most <= EVERY_K {
        return (2..=most).collect();
    }
    let mut sizes: Vec<u16> = (1..16).map(|power| 1 << power).take_while(|k| *k < most).collect();
    sizes.push(most);
    sizes
}

/// Probability that at least one of `k` of `n` trials is among its `c` successes.
fn any_of(n: u32, c: u32, k: u32) -> f64 {
    1.0 - all_of(n, n - c, k)
}

/// Probability that all of `k` of `n` trials are among its `c` successes.
fn all_of(n: u32, c: u32, k: u32) -> f64 {
    (0..k).map(|drawn| f64::from(c.saturating_sub(drawn)) / f64::from(n - drawn)).product()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(items: &[&[Option<bool>]]) -> Vec<Pass> {
        let sample = |success: Option<bool>| match success {
            Some(success) => Sample::Scored { top: f64::from(u8::from(success)), bottom: 1.0 },
            None => Sample::Missing { weight: 1.0 },
        };
        let trials: Trials =
            (0..items[0].len()).map(|trial| items.iter().map(|item| sample(item[trial])).collect()).collect();
        let positions: Vec<usize> = (0..items.len()).collect();
        let clusters: Vec<u32> = (0..items.len() as u32).collect();
        passes(&Metric::mean("success"), &[trials], &positions, &clusters, Level::USUAL)
    }

    const YES: Option<bool> = Some(true);
    const NO: Option<bool> = Some(false);

    #[test]
    fn any_and_all_of_k_trials_are_counted_over_all_choices_of_k() {
        // Items with 2 and 1 successes in 3 trials: of the 3 pairs, 3 and 2 have one, 1 and 0 are all successes.
        let found = of(&[&[YES, NO, YES], &[NO, NO, YES]]);
        assert_eq!(found.iter().map(|pass| pass.k).collect::<Vec<_>>(), [2, 3]);
        let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-12;
        assert!(close(found[0].any.value, (1.0 + 2.0 / 3.0) / 2.0) && close(found[0].all.value, (1.0 / 3.0) / 2.0));
        assert!(close(found[1].any.value, 1.0) && close(found[1].all.value, 0.0));
        assert!(found[1].any.low.unwrap() < 0.5 && found[1].all.high.unwrap() > 0.5);
    }

    #[test]
    fn an_item_with_fewer_trials_than_k_is_missing_and_widens_the_interval() {
        let found = of(&[&[YES, YES, None], &[YES, YES, YES], &[NO, YES, YES]]);
        assert_eq!((found[0].any.coverage, found[1].any.scored, found[1].any.total), (1.0, 2, 3));
        assert_eq!((found[1].all.bound_low, found[1].all.bound_high), (Some(1.0 / 3.0), Some(2.0 / 3.0)));
    }

    #[test]
    fn one_trial_and_scores_between_0_and_1_have_none() {
        assert!(of(&[&[YES], &[NO]]).is_empty());
        let half = vec![vec![Sample::Scored { top: 0.5, bottom: 1.0 }]; 2];
        assert!(passes(&Metric::mean("f1"), &[half], &[0], &[0], Level::USUAL).is_empty());
    }

    proptest! {
        #[test]
        fn both_equal_the_mean_over_all_subsets(successes in prop::collection::vec(any::<bool>(), 1..9), k in 0_u32..8) {
            let n = successes.len() as u32;
            let k = k % n + 1;
            let c = successes.iter().filter(|success| **success).count() as u32;
            let (mut any, mut all, mut subsets) = (0.0, 0.0, 0.0);
            for subset in (0_u32..1 << n).filter(|subset| subset.count_ones() == k) {
                let chosen = || (0..n).filter(|trial| subset >> trial & 1 == 1).map(|trial| successes[trial as usize]);
                subsets += 1.0;
                any += f64::from(u8::from(chosen().any(|success| success)));
                all += f64::from(u8::from(chosen().all(|success| success)));
            }
            prop_assert!((any_of(n, c, k) - any / subsets).abs() < 1e-9 && (all_of(n, c, k) - all / subsets).abs() < 1e-9);
        }
    }
}
