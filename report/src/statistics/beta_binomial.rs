//! Likelihood of clusters' shares, were the items of a cluster so much alike: J. G. Skellam's beta-binomial distribution (J. Royal
//! Statist. Soc. B 10, 1948), for trials and successes that need not be whole.

use libm::lgamma;

/// A cluster's items as trials of a proportion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trials {
    /// Number of trials, larger than 0.
    pub(crate) number: f64,
    /// Successes among them, 0 to their number.
    pub(crate) successes: f64,
}

/// Logarithm of the likelihood of `trials` whose proportion over clusters is `mean` (larger than 0, smaller than 1), and two of which have
/// `correlation` (0 to less than 1), but for what does not depend on that.
pub(crate) fn log_likelihood(Trials { number, successes }: Trials, mean: f64, correlation: f64) -> f64 {
    let failures = number - successes;
    if correlation <= 0.0 {
        return successes * mean.ln() + failures * (1.0 - mean).ln();
    }
    let total = (1.0 - correlation) / correlation;
    log_rising(mean * total, successes) + log_rising((1.0 - mean) * total, failures) - log_rising(total, number)
}

/// The logarithm of `from` · (`from` + 1) ⋯, `factors` of them. A part of a factor is that part of its logarithm: so a score of 0.98 is
/// nearly as likely as one of 1. The gamma function between whole numbers would take the small failure of one that is nearly perfect for
/// evidence against clusters that fail as a whole.
fn log_rising(from: f64, factors: f64) -> f64 {
    let whole = factors.floor();
    let last = (factors - whole) * (from + whole).ln();
    if whole > 0.0 { lgamma(from + whole) - lgamma(from) + last } else { last }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_numbers_have_the_likelihood_of_scipy() {
        // scipy.stats.betabinom.logpmf(successes, number, a, b) − log(comb(number, successes)); of no correlation binom.logpmf.
        for (number, successes, mean, correlation, expected) in [
            (5.0, 5.0, 0.9, 0.1, -0.434_736_490_408_778_5),
            (20.0, 13.0, 0.7, 0.3, -14.242_040_290_809_618),
            (4.0, 0.0, 0.95, 0.6, -3.934_541_704_273_126_8),
            (7.0, 6.0, 0.8, 0.0, -2.948_299_220_319_358_8),
        ] {
            let found = log_likelihood(Trials { number, successes }, mean, correlation);
            assert!((found - expected).abs() < 1e-10, "{number} {successes}: {found}");
        }
    }

    proptest! {
        #[test]
        fn all_outcomes_together_are_certain(number in 1_u32..12, mean in 0.01..0.99, correlation in 0.0..0.95) {
            let choose = |k: u32| (0..k).map(|at| f64::from(number - at) / f64::from(at + 1)).product::<f64>();
            let likelihood = |k: u32| {
                let trials = Trials { number: f64::from(number), successes: f64::from(k) };
                choose(k) * log_likelihood(trials, mean, correlation).exp()
            };
            let all: f64 = (0..=number).map(likelihood).sum();
            prop_assert!((all - 1.0).abs() < 1e-9, "{all}");
        }

        #[test]
        fn right_and_wrong_are_mirror_images(successes in 0.0..=9.0, mean in 0.01..0.99, correlation in 0.0..0.95) {
            let of = |successes: f64, mean: f64| log_likelihood(Trials { number: 9.0, successes }, mean, correlation);
            prop_assert!((of(successes, mean) - of(9.0 - successes, 1.0 - mean)).abs() < 1e-9);
        }

        #[test]
        fn without_correlation_it_is_the_limit_of_small_ones(successes in 0.0..=9.0, mean in 0.01..0.99) {
            let of = |correlation: f64| log_likelihood(Trials { number: 9.0, successes }, mean, correlation);
            prop_assert!((of(1e-9) - of(0.0)).abs() < 1e-4);
        }
    }
}
