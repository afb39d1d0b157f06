//! Weighted max-min fairness: nobody can get more without taking it from somebody who has less, relative to their weights.

/// Amounts below this are rounding.
pub(super) const NOTHING: f64 = 1e-6;

/// Claim of one party to a part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Claim {
    /// Claims of higher priority are met first.
    pub(super) priority: i32,
    pub(super) weight: f64,
    /// Most it can use.
    pub(super) wants: f64,
}

impl Claim {
    /// One among equals.
    pub(super) const fn equal(wants: f64) -> Self {
        Self { priority: 0, weight: 1.0, wants }
    }
}

/// The part of `capacity` for each claim, in their order. What one does not want goes to the others (Bertsekas and Gallager, "Data
/// Networks", section 6.5.2, by filling up the claims in the order in which they are satisfied).
pub(super) fn shares(capacity: f64, claims: &[Claim]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..claims.len()).collect();
    let level = |claim: &Claim| claim.wants / claim.weight;
    order.sort_by(|a, b| {
        let (a, b) = (&claims[*a], &claims[*b]);
        b.priority.cmp(&a.priority).then(level(a).total_cmp(&level(b)))
    });
    let mut parts = vec![0.0; claims.len()];
    let mut left = capacity.max(0.0);
    for peers in order.chunk_by(|a, b| claims[*a].priority == claims[*b].priority) {
        let mut weights: f64 = peers.iter().map(|index| claims[*index].weight).sum();
        for index in peers {
            let claim = &claims[*index];
            let part = claim.wants.min(left * claim.weight / weights).max(0.0);
            parts[*index] = part;
            left -= part;
            weights -= claim.weight;
        }
    }
    parts
}

/// Whole numbers instead of `shares`, each rounded up or down, with the sum kept. `phase`, of 0..1, decides which way: evenly spread
/// over time, it gives everybody its share on average, also where there is less than one for each (systematic sampling).
pub(super) fn whole(shares: &[f64], phase: f64) -> Vec<u32> {
    let mut sum = phase;
    let mut before = (sum + NOTHING).floor();
    let mut numbers = Vec::with_capacity(shares.len());
    for share in shares {
        sum += share;
        let upto = (sum + NOTHING).floor();
        numbers.push((upto - before) as u32);
        before = upto;
    }
    numbers
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn claim(priority: i32, weight: f64, wants: f64) -> Claim {
        Claim { priority, weight, wants }
    }

    #[test]
    fn weights_count_where_all_want_more() {
        assert_eq!(shares(100.0, &[claim(0, 1.0, 1e9), claim(0, 3.0, 1e9)]), [25.0, 75.0]);
    }

    #[test]
    fn what_one_does_not_want_goes_to_the_others() {
        let claims = [claim(0, 3.0, 10.0), claim(0, 1.0, 1e9), claim(0, 2.0, 1e9)];
        assert_eq!(shares(100.0, &claims), [10.0, 30.0, 60.0]);
        assert_eq!(shares(100.0, &[claim(0, 1.0, 3.0), claim(0, 5.0, 4.0)]), [3.0, 4.0]);
    }

    #[test]
    fn a_higher_priority_goes_first() {
        let claims = [claim(0, 9.0, 50.0), claim(1, 1.0, 70.0), claim(0, 1.0, 50.0)];
        assert_eq!(shares(100.0, &claims), [27.0, 70.0, 3.0]);
    }

    #[test]
    fn with_less_than_one_for_each_everybody_has_its_turn() {
        let shares = [0.25, 0.75, 0.5, 0.5];
        let mut turns = [0; 4];
        for turn in 0..1000 {
            let numbers = whole(&shares, (f64::from(turn) * 0.618_033_988_749_895).fract());
            assert_eq!(numbers.iter().sum::<u32>(), 2);
            turns.iter_mut().zip(numbers).for_each(|(turns, number)| *turns += number);
        }
        for (share, turns) in shares.iter().zip(turns) {
            assert!((f64::from(turns) - share * 1000.0).abs() < 10.0, "{share}: {turns}");
        }
    }

    proptest! {
        #[test]
        fn nobody_has_more_than_its_share_while_somebody_of_its_priority_lacks(
            capacity in 0.0..1000.0_f64,
            claims in prop::collection::vec((0_i32..3, 1_u32..10, 0.0..500.0_f64), 1..12),
        ) {
            let claims: Vec<Claim> = claims.iter().map(|(p, w, wants)| claim(*p, f64::from(*w), *wants)).collect();
            let parts = shares(capacity, &claims);
            let wanted: f64 = claims.iter().map(|claim| claim.wants).sum();
            let given: f64 = parts.iter().sum();
            prop_assert!((given - capacity.min(wanted)).abs() < 1e-6, "all is given, as far as it is wanted");
            for (claim, part) in claims.iter().zip(&parts) {
                prop_assert!((0.0..=claim.wants).contains(part));
                let lacks = claim.wants - part > 1e-6;
                for (other, others) in claims.iter().zip(&parts).filter(|_| lacks) {
                    let has_more = others / other.weight > part / claim.weight + 1e-6;
                    prop_assert!(other.priority > claim.priority || !has_more);
                    prop_assert!(other.priority >= claim.priority || *others < 1e-6);
                }
            }
        }

        #[test]
        fn rounding_keeps_the_sum(shares in prop::collection::vec(0.0..9.0_f64, 1..12), phase in 0.0..1.0_f64) {
            let numbers = whole(&shares, phase);
            let (exact, sum) = (shares.iter().sum::<f64>(), numbers.iter().sum::<u32>());
            prop_assert!((f64::from(sum) - exact).abs() < 1.0 + 1e-5);
            for (share, number) in shares.iter().zip(numbers) {
                prop_assert!((f64::from(number) - share).abs() < 1.0 + 1e-5);
            }
        }
    }
}
