//! The Gaussian error linear unit, exact form (by the error function), as BERT and MPNet use it.

use super::exp::exp_negative;
use std::f32::consts::FRAC_1_SQRT_2;

/// erfc(z) = t P(t) e^(-z^2) with t = 1 / (1 + STRETCH z), for z >= 0.
const STRETCH: f32 = 0.45;
/// P, constant term first. Fitted for this crate: least squares at Chebyshev nodes of [0, 6], reweighted towards the
/// smallest largest error; absolute error of erfc below 3e-8, which is half an f32 step at 1.
const P: [f32; 7] = [0.258_866_34, 0.202_045_46, 0.456_589_13, -0.369_276_64, 0.850_552_3, -0.490_565_3, 0.091_788_67];

/// x times the share of a standard normal distribution below x.
#[inline(always)]
pub(super) fn gelu(x: f32) -> f32 {
    let size = x.abs();
    let z = size * FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + STRETCH * z);
    let p = P[0] + t * (P[1] + t * (P[2] + t * (P[3] + t * (P[4] + t * (P[5] + t * P[6])))));
    let erfc = t * p * exp_negative(-z * z);
    // One formula for both signs: x - x tail for x > 0, x tail for x < 0, where tail is the share beyond |x|.
    let positive_part = 0.5 * (x + size);
    positive_part - size * (0.5 * erfc)
}

#[cfg(test)]
mod tests {
    use super::gelu;

    /// The normal distribution's share below x, by the series of the error function (|x| < 4) or its continued
    /// fraction, in f64.
    fn reference(x: f64) -> f64 {
        let z = x.abs() / std::f64::consts::SQRT_2;
        let erfc = if z < 2.8 {
            let (mut term, mut sum) = (z, z);
            for n in 1..200 {
                term *= -z * z / f64::from(n);
                sum += term / f64::from(2 * n + 1);
            }
            1.0 - sum * std::f64::consts::FRAC_2_SQRT_PI
        } else {
            let tail = (1..=200).rev().fold(z, |below, k| z + f64::from(k) / 2.0 / below);
            (-z * z).exp() / std::f64::consts::PI.sqrt() / tail
        };
        x * if x < 0.0 { 0.5 * erfc } else { 1.0 - 0.5 * erfc }
    }

    #[test]
    fn error_stays_at_the_rounding_of_f32() {
        let error = |x: f32| (f64::from(gelu(x)) - reference(f64::from(x))).abs() / f64::from(x.abs()).max(0.1);
        let worst = (-120_000..=120_000).map(|i| error(i as f32 / 10_000.0)).fold(0.0, f64::max);
        assert!(worst < 2e-7, "{worst:e} of |x|");
    }

    #[test]
    fn far_tails_are_zero_and_identity() {
        assert_eq!(gelu(40.0), 40.0);
        assert_eq!(gelu(0.0), 0.0);
        assert!(gelu(-40.0).abs() < 1e-30);
    }
}
