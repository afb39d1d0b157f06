//! The exponential of a number that is not positive, in plain arithmetic that vectorises.

use std::f32::consts::LOG2_E;

/// Added and taken away again, this rounds a small f32 to an integer, which stays in the low bits meanwhile.
const ROUNDER: f32 = 12_582_912.0;
/// ln 2 in two parts: the first has few enough bits that an integer times it is exact.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;
/// Below this the result is no normal f32; everything that is smaller is treated as this.
const LOWEST: f32 = -87.0;
/// Bits of 1.0f32: the bias of the exponent field.
const ONE_BITS: u32 = 0x3f80_0000;

/// e to the power of `x`, for x <= 0. Relative error below 2e-7; never 0, at least e^-87.
#[inline(always)]
pub(super) fn exp_negative(x: f32) -> f32 {
    // Not f32::max: that one treats NaN specially and is slower in vector code.
    let x = if x < LOWEST { LOWEST } else { x };
    // x = n ln 2 + r with |r| <= ln 2 / 2, so e^x = 2^n e^r.
    let shifted = x * LOG2_E + ROUNDER;
    let n = shifted - ROUNDER;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    // Taylor's series up to r^7: the rest is below 6e-9.
    let series = 1.0
        + r * (1.0
            + r * (1.0 / 2.0
                + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0)))))));
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(ONE_BITS));
    series * power
}

#[cfg(test)]
mod tests {
    use super::exp_negative;

    #[test]
    fn relative_error_stays_below_two_in_ten_million() {
        let worst = (0..=870_000)
            .map(|i| -(i as f32) / 10_000.0)
            .map(|x| (f64::from(exp_negative(x)) / f64::from(x).exp() - 1.0).abs())
            .fold(0.0, f64::max);
        assert!(worst < 2e-7, "{worst:e}");
    }

    #[test]
    fn zero_gives_one_and_minus_infinity_almost_nothing() {
        assert_eq!(exp_negative(0.0), 1.0);
        assert!(exp_negative(f32::NEG_INFINITY) < 2e-38);
    }
}
