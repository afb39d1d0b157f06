//! The variance and its degrees of freedom against matrices that were multiplied out with numpy.

use proptest::prelude::*;

use super::*;

/// Influences on the mean of `scores`, of items of `clusters`.
fn of_mean(scores: &[f64], clusters: &[u32]) -> Spread {
    let n = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / n;
    let mut sums = Clusters::default();
    for (score, cluster) in scores.iter().zip(clusters) {
        sums.add(*cluster, Influence { shift: (score - mean) / n, weight: 1.0 });
    }
    sums.spread()
}

/// Seventeen scores in clusters of 1, 4, 2, 7 and 3.
pub(in crate::statistics) const SCORES: [f64; 17] =
    [1.0, 0.5, 0.0, 1.0, 1.0, 0.25, 1.0, 1.0, 1.0, 1.0, 0.5, 1.0, 1.0, 0.0, 0.0, 0.75, 1.0];
pub(in crate::statistics) const CLUSTERS: [u32; 17] = [0, 1, 1, 1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4];

fn is_close(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9 * expected.abs().max(1e-3)
}

#[test]
fn the_variance_is_the_bias_reduced_one() {
    // numpy: sum of (1ᵀ (I − H_gg)^(−1/2) r_g / n)² with scipy.linalg.sqrtm.
    let found = of_mean(&SCORES, &CLUSTERS);
    assert!(is_close(found.variance.unwrap(), 0.003_299_159_030_127_888_3), "{found:?}");
}

#[test]
fn the_variance_of_independent_items_is_that_of_statsmodels_hc2() {
    // statsmodels.api.OLS(scores[:6], ones(6)).fit(cov_type="HC2").cov_params()
    let found = of_mean(&SCORES[..6], &[0, 1, 2, 3, 4, 5]);
    assert!(is_close(found.variance.unwrap(), 0.032_291_666_666_666_69), "{found:?}");
}

#[test]
fn the_degrees_of_freedom_are_satterthwaites() {
    // numpy: trace(GᵀΩG)² / trace((GᵀΩG)²) with Ω of equal correlation within clusters.
    let found = of_mean(&SCORES, &CLUSTERS);
    for (alikeness, expected) in
        [(0.0, 2.793_982_192_201_414), (0.3, 2.223_104_033_564_039), (1.0, 1.939_750_494_820_86)]
    {
        assert!(is_close(found.freedom(alikeness), expected), "{alikeness}: {}", found.freedom(alikeness));
    }
}

#[test]
fn a_cluster_that_holds_all_deviation_tells_little_of_the_variance() {
    let clusters: Vec<u32> = (0..40).collect();
    let mut scores = [1.0; 40];
    scores[7] = 0.0;
    let found = of_mean(&scores, &clusters);
    assert!(found.holding < 1.1 && found.deviations.unwrap().items < 1.1, "{found:?}");
    let mixed: Vec<f64> = (0..40).map(|at| f64::from(at % 2)).collect();
    let found = of_mean(&mixed, &clusters);
    assert!(is_close(found.holding, 40.0) && is_close(found.deviations.unwrap().clusters, 40.0), "{found:?}");
}

#[test]
fn one_cluster_says_nothing_about_how_clusters_differ() {
    assert_eq!(of_mean(&[0.0, 1.0, 1.0], &[4, 4, 4]).variance, None);
    assert_eq!(Clusters::default().spread().variance, None);
}

proptest! {
    #[test]
    fn equal_clusters_have_one_degree_of_freedom_less_than_there_are(count in 2_u32..40, size in 1_u32..6, alikeness in 0.0..=1.0) {
        let clusters: Vec<u32> = (0..count * size).map(|at| at % count).collect();
        let scores: Vec<f64> = clusters.iter().map(|cluster| f64::from(*cluster)).collect();
        let found = of_mean(&scores, &clusters);
        prop_assert!((found.freedom(alikeness) - f64::from(count - 1)).abs() < 1e-6);
    }

    #[test]
    fn the_order_of_clusters_does_not_matter(scores in prop::collection::vec(0.0..=1.0, 17)) {
        let renamed = CLUSTERS.map(|cluster| 9 - cluster);
        let (one, other) = (of_mean(&scores, &CLUSTERS), of_mean(&scores, &renamed));
        prop_assert!((one.variance.unwrap() - other.variance.unwrap()).abs() < 1e-12);
        prop_assert!((one.freedom(0.4) - other.freedom(0.4)).abs() < 1e-9);
    }
}
