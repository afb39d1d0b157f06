//! Cosine similarity as an exact integer, so that verdicts compare and store without floating point.

/// Millionths in a similarity of one.
const MICRO: f64 = 1e6;

/// Cosine of two vectors in integer millionths, computed in f64 and rounded to the nearest.
///
/// Identical slices give exactly 1 000 000. Vectors that have no cosine (different lengths, or no direction because
/// they are empty, all zero or not finite) give 0, which no threshold matches.
pub fn cosine_micro(a: &[f32], b: &[f32]) -> i32 {
    if a.len() != b.len() {
        return 0;
    }
    let lengths = dot(a, a).sqrt() * dot(b, b).sqrt();
    let cosine = dot(a, b) / lengths;
    if !cosine.is_finite() {
        return 0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "clamped to +-1 000 000 just before")]
    let micro = (cosine.clamp(-1.0, 1.0) * MICRO).round() as i32;
    micro
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
}

#[cfg(test)]
mod tests {
    use super::cosine_micro;
    use proptest::prelude::*;

    #[test]
    fn vectors_without_a_cosine_give_zero() {
        assert_eq!(cosine_micro(&[], &[]), 0);
        assert_eq!(cosine_micro(&[0.0, 0.0], &[0.0, 0.0]), 0);
        assert_eq!(cosine_micro(&[1.0], &[1.0, 0.0]), 0);
        assert_eq!(cosine_micro(&[f32::NAN], &[1.0]), 0);
        assert_eq!(cosine_micro(&[f32::INFINITY], &[f32::INFINITY]), 0);
    }

    #[test]
    fn known_angles_round_to_the_nearest_millionth() {
        assert_eq!(cosine_micro(&[1.0, 0.0], &[0.0, 3.0]), 0);
        assert_eq!(cosine_micro(&[1.0, 0.0], &[-2.0, 0.0]), -1_000_000);
        assert_eq!(cosine_micro(&[1.0, 0.0], &[1.0, 1.0]), 707_107);
    }

    proptest! {
        #[test]
        fn identical_slices_give_exactly_one(v in prop::collection::vec(-1e6f32..1e6, 1..400)) {
            prop_assume!(v.iter().any(|x| *x != 0.0));
            prop_assert_eq!(cosine_micro(&v, &v), 1_000_000);
        }

        #[test]
        fn order_of_the_arguments_does_not_matter(
            (a, b) in (1usize..64).prop_flat_map(|n| {
                (prop::collection::vec(-1f32..1.0, n), prop::collection::vec(-1f32..1.0, n))
            })
        ) {
            prop_assert_eq!(cosine_micro(&a, &b), cosine_micro(&b, &a));
            prop_assert!((-1_000_000..=1_000_000).contains(&cosine_micro(&a, &b)));
        }
    }
}
