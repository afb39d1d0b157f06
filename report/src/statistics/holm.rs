//! Holm's correction for many comparisons.

/// Adjusted p-values, in the order of `p`, of a family of `family` hypotheses: to refuse those at or below a level holds the probability
/// of refusing any true one to that level, however they depend on each other (Holm 1979). Hypotheses of the family that were not tested
/// count as if nothing spoke against them, which is never too bold.
#[must_use]
pub fn holm(p: &[f64], family: usize) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|one, other| p[*one].total_cmp(&p[*other]));
    let mut adjusted = vec![1.0; p.len()];
    let mut largest = 0.0f64;
    for (rank, at) in order.into_iter().enumerate() {
        let left = family.max(p.len()) - rank;
        largest = largest.max((p[at] * left as f64).min(1.0));
        adjusted[at] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_smallest_counts_for_all_and_the_largest_for_itself() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005], 4);
        let expected = [0.03, 0.06, 0.06, 0.02];
        assert!(adjusted.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-12), "{adjusted:?}");
    }

    #[test]
    fn what_was_not_tested_counts_too() {
        assert_eq!(holm(&[0.001], 100), [0.1]);
    }

    proptest! {
        #[test]
        fn order_is_kept_and_nothing_becomes_smaller(p in prop::collection::vec(0.0..=1.0f64, 1..20)) {
            let adjusted = holm(&p, p.len());
            for (at, one) in p.iter().enumerate() {
                prop_assert!(adjusted[at] >= *one && adjusted[at] <= 1.0);
                for (other_at, other) in p.iter().enumerate() {
                    prop_assert!(one > other || adjusted[at] <= adjusted[other_at]);
                }
            }
        }
    }
}
