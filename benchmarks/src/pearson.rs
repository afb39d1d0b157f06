//! Correlation of scores.

/// Pearson's correlation of paired scores. Pairs with a missing score are left out; `None` for fewer than two pairs or when one
/// side is constant.
pub fn pearson(x: &[Option<f64>], y: &[Option<f64>]) -> Option<f64> {
    let pairs: Vec<(f64, f64)> = x.iter().zip(y).filter_map(|(x, y)| Some(((*x)?, (*y)?))).collect();
    let constant = |side: fn(&(f64, f64)) -> f64| pairs.windows(2).all(|two| side(&two[0]) == side(&two[1]));
    if pairs.len() < 2 || constant(|pair| pair.0) || constant(|pair| pair.1) {
        return None;
    }
    let (mean_x, mean_y) = (mean(pairs.iter().map(|pair| pair.0))?, mean(pairs.iter().map(|pair| pair.1))?);
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in &pairs {
        let (dx, dy) = (x - mean_x, y - mean_y);
        xy += dx * dy;
        xx += dx * dx;
        yy += dy * dy;
    }
    Some(xy / (xx.sqrt() * yy.sqrt())).filter(|r| r.is_finite())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn given(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    /// Deviations −2, 0, 2 and −1, 1, 0: r = 2 / (√8 √2) = 0.5.
    #[test]
    fn correlation_is_the_products_over_the_deviations() {
        let r = pearson(&given(&[1.0, 3.0, 5.0]), &given(&[1.0, 3.0, 2.0])).unwrap();
        assert!((r - 0.5).abs() < 1e-12, "{r}");
    }

    #[test]
    fn correlation_needs_two_pairs_that_differ() {
        assert_eq!(pearson(&[], &[]), None);
        assert_eq!(pearson(&[Some(1.0), Some(2.0)], &[Some(1.0), None]), None);
        assert_eq!(pearson(&given(&[0.1, 0.1, 0.1]), &given(&[1.0, 2.0, 3.0])), None);
        assert_eq!(pearson(&given(&[1.0, 2.0, 3.0]), &given(&[0.1, 0.1, 0.1])), None);
    }

    proptest! {
        #[test]
        fn correlation_is_symmetric_and_bounded(pairs in proptest::collection::vec((0_u8..11, 0_u8..11), 0..20)) {
            let x: Vec<_> = pairs.iter().map(|pair| Some(f64::from(pair.0))).collect();
            let y: Vec<_> = pairs.iter().map(|pair| Some(f64::from(pair.1))).collect();
            prop_assert_eq!(pearson(&x, &y), pearson(&y, &x));
            prop_assert!(pearson(&x, &y).is_none_or(|r| r.abs() <= 1.0 + 1e-12));
        }
    }
}
