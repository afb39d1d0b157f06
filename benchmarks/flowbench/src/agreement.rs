//! Agreement between judges or raters beyond chance: Cohen's kappa, Fleiss' kappa, Krippendorff's alpha.
//!
//! All are 1 for perfect agreement, 0 for agreement by chance alone, and `None` where they are undefined: without
//! ratings to compare, or when all are of one category.

use std::collections::BTreeMap;

/// Cohen's kappa of two raters over the same items (Cohen 1960). Items that lack one of the ratings are left out.
pub fn cohen_kappa<C: Ord>(ratings: &[(Option<C>, Option<C>)]) -> Option<f64> {
    let mut counts: BTreeMap<&C, [usize; 2]> = BTreeMap::new();
    let (mut pairs, mut same) = (0_usize, 0_usize);
    for (first, second) in ratings.iter().filter_map(|(first, second)| Some((first.as_ref()?, second.as_ref()?))) {
        pairs += 1;
        same += usize::from(first == second);
        counts.entry(first).or_default()[0] += 1;
        counts.entry(second).or_default()[1] += 1;
    }
    let n = pairs as f64;
    let expected: f64 = counts.values().map(|[first, second]| (*first as f64 / n) * (*second as f64 / n)).sum();
    beyond_chance(same as f64 / n, expected, pairs > 0 && counts.len() > 1)
}

/// Fleiss' kappa of many raters (Fleiss 1971). `table[item][category]` is the number of raters who chose the category
/// for the item. Every item must have the same number of raters, at least two, else the result is `None`.
pub fn fleiss_kappa(table: &[Vec<u32>]) -> Option<f64> {
    let raters: u32 = table.first()?.iter().sum();
    let regular = |row: &Vec<u32>| row.len() == table[0].len() && row.iter().sum::<u32>() == raters;
    if raters < 2 || !table.iter().all(regular) {
        return None;
    }
    let (items, raters) = (table.len() as f64, f64::from(raters));
    let agreed = |row: &Vec<u32>| {
        let same: f64 = row.iter().map(|count| f64::from(*count) * (f64::from(*count) - 1.0)).sum();
        same / (raters * (raters - 1.0))
    };
    let observed = table.iter().map(agreed).sum::<f64>() / items;
    let used = |category: usize| table.iter().map(|row| f64::from(row[category])).sum::<f64>();
    let uses: Vec<f64> = (0..table[0].len()).map(used).filter(|uses| *uses > 0.0).collect();
    let expected = uses.iter().map(|uses| (uses / (items * raters)).powi(2)).sum();
    beyond_chance(observed, expected, uses.len() > 1)
}

fn beyond_chance(observed: f64, expected: f64, defined: bool) -> Option<f64> {
    defined.then(|| (observed - expected) / (1.0 - expected))
}

/// Distance between two values in Krippendorff's alpha.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatingScale {
    /// Categories: equal or not.
    Nominal,
    /// Numbers: the square of their difference.
    Interval,
}

/// Krippendorff's alpha of any number of raters (Krippendorff 2011). `units[unit][rater]`; missing values are
/// allowed, and units with fewer than two values are ignored. Values must be finite.
pub fn krippendorff_alpha(units: &[Vec<Option<f64>>], scale: RatingScale) -> Option<f64> {
    let units: Vec<Vec<f64>> = units.iter().map(|unit| unit.iter().copied().flatten().collect()).collect();
    let units: Vec<Vec<f64>> = units.into_iter().filter(|unit: &Vec<f64>| unit.len() > 1).collect();
    let all: Vec<f64> = units.iter().flatten().copied().collect();
    if all.iter().all(|value| *value == all[0]) {
        return None;
    }
    let within: f64 = units.iter().map(|unit| disagreement(unit, scale) / (unit.len() as f64 - 1.0)).sum();
    let n = all.len() as f64;
    let observed = within / n;
    let expected = disagreement(&all, scale) / (n * (n - 1.0));
    Some(1.0 - observed / expected)
}

/// Sum of the distances of all ordered pairs, in the time of a sort.
fn disagreement(values: &[f64], scale: RatingScale) -> f64 {
    let n = values.len() as f64;
    match scale {
        RatingScale::Nominal => {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            n * n - sorted.chunk_by(|a, b| a == b).map(|run| (run.len() as f64).powi(2)).sum::<f64>()
        }
        RatingScale::Interval => {
            // Centred on the mean, so that large values lose no digits.
            let mean = values.iter().sum::<f64>() / n;
            2.0 * n * values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(got: Option<f64>, expected: f64) {
        assert!(got.is_some_and(|got| (got - expected).abs() < 5e-4), "{got:?}, not {expected}");
    }

    /// Fifty proposals; both accept 20, both refuse 15, only the first accepts 5, only the second 10. They agree on 35/50 = 0.7.
    /// By chance they agree on 0.5 · 0.6 + 0.5 · 0.4 = 0.5, so kappa = 0.2 / 0.5 = 0.4.
    #[test]
    fn cohen_of_two_readers_of_fifty_proposals() {
        let mut ratings = vec![(Some("yes"), Some("yes")); 20];
        ratings.extend(vec![(Some("yes"), Some("no")); 5]);
        ratings.extend(vec![(Some("no"), Some("yes")); 10]);
        ratings.extend(vec![(Some("no"), Some("no")); 15]);
        ratings.extend([(None, Some("no")), (Some("yes"), None)]);
        close(cohen_kappa(&ratings), 0.4);
    }

    #[test]
    fn cohen_is_undefined_without_pairs_or_with_one_category() {
        assert_eq!(cohen_kappa::<u8>(&[]), None);
        assert_eq!(cohen_kappa(&[(Some(1), None), (None, Some(2))]), None);
        assert_eq!(cohen_kappa(&[(Some(1), Some(1)), (Some(1), Some(1))]), None);
        close(cohen_kappa(&[(Some(1), Some(2)), (Some(1), Some(2))]), 0.0);
    }

    /// Fourteen raters, ten items, five categories. The columns sum to 20, 28, 39, 21, 32 of 140, so chance agrees on
    /// (400 + 784 + 1521 + 441 + 1024) / 19600 = 4170 / 19600 = 0.2128. The rows' sums of n(n−1) are 182, 46, 56, 80, 60, 84, 44,
    /// 32, 52, 52 = 688, over 182 each: 3.7802 in ten items, so 0.3780. Kappa = 0.1653 / 0.7872 = 0.2099.
    #[test]
    fn fleiss_of_fourteen_raters() {
        let table = [
            [0, 0, 0, 0, 14],
            [0, 2, 6, 4, 2],
            [0, 0, 3, 5, 6],
            [0, 3, 9, 2, 0],
            [2, 2, 8, 1, 1],
            [7, 7, 0, 0, 0],
            [3, 2, 6, 3, 0],
            [2, 5, 3, 2, 2],
            [6, 5, 2, 1, 0],
            [0, 2, 2, 3, 7],
        ];
        close(fleiss_kappa(&table.map(Vec::from)), 0.2099);
    }

    #[test]
    fn fleiss_is_undefined_for_irregular_or_uniform_tables() {
        assert_eq!(fleiss_kappa(&[]), None);
        assert_eq!(fleiss_kappa(&[vec![1, 0], vec![0, 1]]), None);
        assert_eq!(fleiss_kappa(&[vec![2, 0], vec![1, 0]]), None);
        assert_eq!(fleiss_kappa(&[vec![2, 0], vec![2]]), None);
        assert_eq!(fleiss_kappa(&[vec![2, 0], vec![2, 0]]), None);
    }

    /// Four observers, twelve units, missing values (Krippendorff 2011). 40 values can be paired: the values 1 to 5 occur 9, 13,
    /// 10, 5, 3 times.
    fn observers() -> Vec<Vec<Option<f64>>> {
        let rows = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."];
        let rows: Vec<Vec<Option<f64>>> =
            rows.iter().map(|row| row.chars().map(|c| c.to_digit(10).map(f64::from)).collect()).collect();
        (0..12).map(|unit| rows.iter().map(|row| row[unit]).collect()).collect()
    }

    /// Equal pairs within the units: 7 + 10 + 8 + 4 + 3 = 32 of 40. Σ n(n−1) over values = 72 + 156 + 90 + 20 + 6 = 344.
    /// Alpha = (39 · 32 − 344) / (40 · 39 − 344) = 904 / 1216 = 0.743.
    #[test]
    fn alpha_of_categories() {
        close(krippendorff_alpha(&observers(), RatingScale::Nominal), 904.0 / 1216.0);
    }

    /// Unit 2 (2 2 3 2): three unequal ordered pairs each way, 6 · 1 / 3 = 2; unit 4 has none; unit 6 (1 2 3 4): ordered squares
    /// 2 · (1 + 4 + 9 + 1 + 4 + 1) = 40, / 3 = 13.33; unit 8 (1 1 2 1): 2. Within: 17.33 / 40 = 0.4333. Over all 40 values
    /// Σv = 9 + 26 + 30 + 20 + 15 = 100 and Σv² = 9 + 52 + 90 + 80 + 75 = 306, so expected 2 (40 · 306 − 100²) / (40 · 39) =
    /// 4480 / 1560 = 2.8718. Alpha = 1 − 0.4333 / 2.8718 = 0.849.
    #[test]
    fn alpha_of_numbers() {
        close(krippendorff_alpha(&observers(), RatingScale::Interval), 0.849);
    }

    #[test]
    fn alpha_is_undefined_without_pairs_or_with_one_value() {
        for scale in [RatingScale::Nominal, RatingScale::Interval] {
            assert_eq!(krippendorff_alpha(&[], scale), None);
            assert_eq!(krippendorff_alpha(&[vec![Some(1.0), None], vec![Some(2.0)]], scale), None);
            assert_eq!(krippendorff_alpha(&[vec![Some(0.1), Some(0.1)], vec![Some(0.1), Some(0.1)]], scale), None);
        }
    }

    proptest! {
        #[test]
        fn whoever_agrees_always_has_agreement_one(values in proptest::collection::vec(0_u8..4, 2..20)) {
            prop_assume!(values.iter().any(|value| *value != values[0]));
            let pairs: Vec<_> = values.iter().map(|value| (Some(*value), Some(*value))).collect();
            let units: Vec<_> = values.iter().map(|value| vec![Some(f64::from(*value)); 3]).collect();
            prop_assert!((cohen_kappa(&pairs).unwrap() - 1.0).abs() < 1e-9);
            for scale in [RatingScale::Nominal, RatingScale::Interval] {
                prop_assert!((krippendorff_alpha(&units, scale).unwrap() - 1.0).abs() < 1e-9);
            }
        }

        #[test]
        fn the_order_of_raters_and_units_does_not_matter(
            mut units in proptest::collection::vec(proptest::collection::vec(proptest::option::of(0_u8..4), 3), 0..12),
        ) {
            let number = |units: &[Vec<Option<u8>>]| -> Vec<Vec<Option<f64>>> {
                units.iter().map(|unit| unit.iter().map(|value| value.map(f64::from)).collect()).collect()
            };
            let before = krippendorff_alpha(&number(&units), RatingScale::Interval);
            units.reverse();
            units.iter_mut().for_each(|unit| unit.reverse());
            let after = krippendorff_alpha(&number(&units), RatingScale::Interval);
            prop_assert_eq!(before.is_some(), after.is_some());
            prop_assert!(before.zip(after).is_none_or(|(a, b)| (a - b).abs() < 1e-9));
        }
    }
}
