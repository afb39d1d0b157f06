//! The standard normal distribution.

use std::f64::consts::PI;

/// Up to here the series converges in few terms; beyond, the continued fraction does.
const SERIES_UP_TO: f64 = 3.0;

/// Probability of at most `z`.
pub(crate) fn cumulative(z: f64) -> f64 {
    if z < 0.0 {
        return above(-z);
    }
    1.0 - above(z)
}

/// Probability of more than `z`, which is not negative (Abramowitz and Stegun 26.2.11 and 26.2.14).
fn above(z: f64) -> f64 {
    let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
    if z <= SERIES_UP_TO {
        let (mut term, mut sum, mut k) = (z, z, 1.0);
        while term > 1e-17 * sum {
            k += 2.0;
            term *= z * z / k;
            sum += term;
        }
        return (0.5 - density * sum).max(0.0);
    }
    let fraction = (1..=60).rev().fold(z, |below, k| z + f64::from(k) / below);
    density / fraction
}

/// The value that is exceeded, to either side of zero together, with probability `both_tails`, which lies between 0 and 1.
pub(crate) fn quantile(both_tails: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if 2.0 * above(middle) > both_tails {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_and_quantiles_are_those_of_published_tables() {
        for (z, expected) in
            [(0.0, 0.5), (1.0, 0.841_344_746_1), (1.96, 0.975_002_104_9), (3.0, 0.998_650_102), (-3.5, 2.326_29e-4)]
        {
            assert!((cumulative(z) - expected).abs() < 1e-8, "{z}: {}", cumulative(z));
        }
        for (both_tails, expected) in [(0.05, 1.959_963_985), (0.01, 2.575_829_304), (1e-6, 4.891_638_475)] {
            assert!((quantile(both_tails) - expected).abs() < 1e-8, "{both_tails}: {}", quantile(both_tails));
        }
    }

    #[test]
    fn the_series_and_the_fraction_agree_where_they_meet() {
        assert!((above(SERIES_UP_TO) - above(SERIES_UP_TO + 1e-12)).abs() < 1e-12);
    }
}
