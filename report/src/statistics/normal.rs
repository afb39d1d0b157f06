//! The standard normal distribution.

use std::f64::consts::FRAC_1_SQRT_2;

/// Probability of at most `z`.
pub(crate) fn cumulative(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_published_tables() {
        for (z, expected) in
            [(0.0, 0.5), (1.0, 0.841_344_746_1), (1.96, 0.975_002_104_9), (3.0, 0.998_650_102), (-3.5, 2.326_29e-4)]
        {
            assert!((cumulative(z) - expected).abs() < 1e-8, "{z}: {}", cumulative(z));
        }
    }
}
