//! A normal deviate of a variance that is not known: quantiles of a scale mixture of normal distributions.

use std::f64::consts::TAU;

use super::normal;

/// Newton's steps at most; a dozen is enough for mixtures of variances that differ a thousandfold.
const STEPS: u32 = 100;

/// Possible variances, each with its probability. The probabilities add up to 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mixture(Vec<Component>);

/// One possible variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Component {
    pub(crate) probability: f64,
    /// Larger than 0.
    pub(crate) variance: f64,
}

impl Mixture {
    /// Mixture of components whose probabilities have any sum but 0, and one of which is there.
    pub(crate) fn new(mut components: Vec<Component>) -> Self {
        let sum: f64 = components.iter().map(|component| component.probability).sum();
        components.iter_mut().for_each(|component| component.probability /= sum);
        Self(components)
    }

    /// The deviate below which the mixture has `probability` (0.5 to 1).
    pub(crate) fn quantile(&self, probability: f64) -> f64 {
        // From 0 on the distribution function is concave, so that Newton's steps never pass the quantile by.
        let mut deviate = 0.0;
        for _ in 0..STEPS {
            let (below, density) = self.at(deviate);
            let step = (probability - below) / density;
            deviate += step;
            if step.abs() <= 1e-13 * deviate.abs() {
                break;
            }
        }
        deviate
    }

    /// Probability of at most `deviate`, and the density there.
    fn at(&self, deviate: f64) -> (f64, f64) {
        self.0.iter().fold((0.0, 0.0), |(below, density), Component { probability, variance }| {
            let deviation = variance.sqrt();
            let z = deviate / deviation;
            let height = (-z * z / 2.0).exp() / (deviation * TAU.sqrt());
            (below + probability * normal::cumulative(z), density + probability * height)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mixture(components: &[(f64, f64)]) -> Mixture {
        let component =
            |(probability, variance): &(f64, f64)| Component { probability: *probability, variance: *variance };
        Mixture::new(components.iter().map(component).collect())
    }

    #[test]
    fn quantiles_are_those_of_scipy() {
        // scipy.stats.norm.ppf, and scipy.optimize.brentq on a sum of scipy.stats.norm.cdf
        for (components, probability, expected) in [
            (vec![(1.0, 1.0)], 0.975, 1.959_963_984_540_054),
            (vec![(3.0, 4.0)], 0.95, 3.289_707_253_902_944),
            (vec![(0.7, 1.0), (0.3, 9.0)], 0.975, 4.149_742_381_670_567),
            (vec![(1.0, 1e-4), (1.0, 1.0)], 0.99, 2.053_748_910_631_823),
        ] {
            let found = mixture(&components).quantile(probability);
            assert!((found - expected).abs() < 1e-11 * expected, "{components:?}: {found}");
        }
    }

    proptest! {
        #[test]
        fn a_quantile_lies_between_those_of_its_components(
            components in prop::collection::vec((0.01..=1.0, 1e-4..=4.0), 1..20), probability in 0.6..0.999
        ) {
            let found = mixture(&components).quantile(probability);
            let of = |variance: f64| mixture(&[(1.0, variance)]).quantile(probability);
            let variances = || components.iter().map(|(_, variance): &(f64, f64)| *variance);
            let (least, most) = (variances().fold(f64::INFINITY, f64::min), variances().fold(0.0, f64::max));
            prop_assert!(of(least) * (1.0 - 1e-9) <= found && found <= of(most) * (1.0 + 1e-9));
        }
    }
}
