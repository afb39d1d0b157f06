//! An interval for so few clusters that no test could refuse anything.

use super::level::LEVEL;
use super::shares::Share;
use super::student::quantile;

/// Half of an interval around `value`, by Student's t; `None` for a single cluster.
///
/// The variance is the bias-reduced one (CR2) of a mean with clusters, with the degrees of freedom of Bell and McCaffrey (2002, "Bias
/// reduction in standard errors for linear regression with multi-stage samples"): clusters of unequal weight count for fewer.
pub(crate) fn half_width(value: f64, shares: &[Share]) -> Option<f64> {
    if shares.len() < 2 {
        return None;
    }
    let deviation = |share: &Share| (share.sum - value * share.weight).powi(2) / (1.0 - share.weight);
    let variance: f64 = shares.iter().map(deviation).sum();
    Some(quantile(f64::midpoint(1.0, LEVEL), freedom(shares)) * variance.sqrt())
}

/// One less than there are clusters where all weigh the same.
fn freedom(shares: &[Share]) -> f64 {
    let squares: f64 = shares.iter().map(|share| share.weight.powi(2)).sum();
    let reduced = |share: &Share| share.weight.powi(2) / (1.0 - share.weight);
    let all: f64 = shares.iter().map(reduced).sum();
    let crossed = all.powi(2) - shares.iter().map(|share| reduced(share).powi(2)).sum::<f64>();
    1.0 / (squares + crossed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(weights: &[f64]) -> Vec<Share> {
        weights.iter().map(|weight| Share { sum: 0.0, weight: *weight }).collect()
    }

    #[test]
    fn equal_clusters_have_one_degree_of_freedom_less_than_there_are() {
        for count in 2..9u32 {
            let found = freedom(&shares(&vec![1.0 / f64::from(count); count as usize]));
            assert!((found - f64::from(count - 1)).abs() < 1e-9, "{found}");
        }
    }

    #[test]
    fn a_cluster_that_outweighs_the_others_takes_freedom_away() {
        let [one, other] = [[0.7, 0.1, 0.1, 0.1], [0.4, 0.2, 0.2, 0.2]].map(|weights| freedom(&shares(&weights)));
        assert!(one < 2.0 && one < other && other < 3.0, "{one} {other}");
    }

    #[test]
    fn a_single_cluster_has_no_interval() {
        assert_eq!(half_width(0.3, &[Share { sum: 0.3, weight: 1.0 }]), None);
    }
}
