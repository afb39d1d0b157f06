//! Cosine similarity in whole units of 1e-6.

/// Similarity of equal texts.
pub const SAME_MICRO: i32 = 1_000_000;

/// Cosine of the angle between two vectors, in double precision. Not a number when one of them is all zeros.
pub fn cosine(a: &[f64], b: &[f64]) -> f64 {
    dot(a, b) / (dot(a, a).sqrt() * dot(b, b).sqrt())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Python's `round(value, 6)` in units of 1e-6: the exact product is rounded to the nearest, halves to even. `None`
/// if the result is not between -1 and 1.
pub fn to_micro(value: f64) -> Option<i32> {
    let product = value * 1e6;
    let error = value.mul_add(1e6, -product);
    let floor = product.floor();
    let fraction = product - floor;
    // Rounding the product is monotone, so only a fraction of exactly one half hides on which side the value lies.
    let up = if fraction == 0.5 && error != 0.0 {
        error > 0.0
    } else if fraction == 0.5 {
        floor % 2.0 != 0.0
    } else {
        fraction > 0.5
    };
    let micro = if up { floor + 1.0 } else { floor };
    (micro.abs() <= f64::from(SAME_MICRO)).then_some(micro as i32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rounding_is_to_six_decimals_halves_to_even_on_the_exact_value() {
        assert_eq!(to_micro(0.123_456_4), Some(123_456));
        assert_eq!(to_micro(-0.123_456_6), Some(-123_457));
        // 1/128 and 3/128 lie exactly between two neighbours.
        assert_eq!(to_micro(0.007_812_5), Some(7_812));
        assert_eq!(to_micro(0.023_437_5), Some(23_438));
        assert_eq!(to_micro(1.000_000_4), Some(1_000_000));
    }

    #[test]
    fn what_is_no_cosine_is_refused() {
        for value in [1.1, -1.000_001, f64::NAN, f64::INFINITY] {
            assert_eq!(to_micro(value), None, "{value}");
        }
    }

    proptest! {
        #[test]
        fn rounding_equals_exact_decimal_formatting(value in -1.0..1.0_f64, sixty_fourths in -640_000..640_000_i32) {
            for value in [value, f64::from(sixty_fourths) / 640_000.0, f64::from(sixty_fourths) / 1_048_576.0] {
                let printed: f64 = format!("{value:.6}").parse().unwrap();
                prop_assert_eq!(f64::from(to_micro(value).unwrap()) / 1e6, printed);
            }
        }
    }
}
