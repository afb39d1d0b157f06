//! The mid-P interval of a binomial proportion: C. J. Clopper and E. S. Pearson's (Biometrika 26, 1934) with half of the probability of what
//! was found (H. O. Lancaster, J. Amer. Statist. Assoc. 56, 1961).

use super::student::incomplete_beta;

/// Halvings of the interval that an end is looked for in; more do not change a number.
const STEPS: u32 = 60;

/// Both ends of the interval of `successes` among `items`, each of which has the probability `tail` beyond: both whole numbers, some but not
/// all of which are successes.
pub(crate) fn mid_p(successes: f64, items: f64, tail: f64) -> (f64, f64) {
    (lower(successes, items, tail), 1.0 - lower(items - successes, items, tail))
}

/// The proportion of which more than `successes`, and half of so many, have the probability `tail`.
fn lower(successes: f64, items: f64, tail: f64) -> f64 {
    let beyond = |proportion: f64| {
        f64::midpoint(at_least(successes, items, proportion), at_least(successes + 1.0, items, proportion))
    };
    let (mut low, mut high) = (0.0, successes / items);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if beyond(middle) < tail { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Probability of at least `successes` (1 or more) of `items`, each with the probability `proportion` (Abramowitz and Stegun 26.5.24).
fn at_least(successes: f64, items: f64, proportion: f64) -> f64 {
    let failures = items - successes + 1.0;
    if failures <= 0.0 {
        return 0.0;
    }
    // Of the two complementary fractions the one that converges faster.
    if proportion <= successes / (items + 1.0) {
        incomplete_beta(successes, failures, proportion)
    } else {
        1.0 - incomplete_beta(failures, successes, 1.0 - proportion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_those_of_scipy() {
        // scipy.optimize.brentq on scipy.stats.binom.sf(k, n, p) + scipy.stats.binom.pmf(k, n, p) / 2 − tail
        for (successes, items, tail, low, high) in [
            (1.0, 2.0, 0.025, 0.024999999999999994, 0.975),
            (10.0, 20.0, 0.025, 0.2886432479169988, 0.7113567520830012),
            (18.0, 20.0, 0.025, 0.7071377590165739, 0.9828815744633673),
            (3.0, 7.0, 0.005, 0.0690562528232647, 0.8611636707751563),
            (493.0, 500.0, 0.025, 0.9725043569902981, 0.9938568490082741),
            (2.0, 3000.0, 0.05, 0.0001626132569228012, 0.00189509433521462),
        ] {
            let found = mid_p(successes, items, tail);
            assert!(
                (found.0 - low).abs() < 1e-11 && (found.1 - high).abs() < 1e-11,
                "{successes} of {items}: {found:?}"
            );
        }
    }

    #[test]
    fn right_and_wrong_are_mirror_images() {
        for successes in 1..12 {
            let ((low, high), (from, to)) =
                (mid_p(f64::from(successes), 12.0, 0.025), mid_p(f64::from(12 - successes), 12.0, 0.025));
            assert!((low + to - 1.0).abs() < 1e-12 && (high + from - 1.0).abs() < 1e-12, "{successes}");
        }
    }
}
