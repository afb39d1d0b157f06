//! Variates that the study needs.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::Sizes;

/// A standard normal variate (Box and Muller's).
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (radius, angle): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// The logarithm of a gamma variate of scale 1 (G. Marsaglia and W. W. Tsang, ACM Trans. Math. Software 26, 2000): of small shapes the
/// variate itself may be too small for a number.
fn log_gamma(shape: f64, rng: &mut ChaCha8Rng) -> f64 {
    if shape < 1.0 {
        let uniform = 1.0 - rng.random::<f64>();
        return log_gamma(shape + 1.0, rng) + uniform.ln() / shape;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x).powi(3);
        let uniform = 1.0 - rng.random::<f64>();
        if v > 0.0 && uniform.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return (d * v).ln();
        }
    }
}

/// A beta variate; exactly the end where a parameter is 0.
pub(super) fn beta(a: f64, b: f64, rng: &mut ChaCha8Rng) -> f64 {
    if a <= 0.0 {
        return 0.0;
    }
    if b <= 0.0 {
        return 1.0;
    }
    let (one, other) = (log_gamma(a, rng), log_gamma(b, rng));
    1.0 / (1.0 + (other - one).exp())
}

/// Sizes of `clusters` that have `items` together, at least one each.
pub(super) fn sizes(sizes: Sizes, clusters: u32, items: u32, rng: &mut ChaCha8Rng) -> Vec<u32> {
    match sizes {
        Sizes::Equal => (0..clusters).map(|at| items / clusters + u32::from(at < items % clusters)).collect(),
        Sizes::Lognormal => {
            let weights: Vec<f64> = (0..clusters).map(|_| normal(rng).exp()).collect();
            let all: f64 = weights.iter().sum();
            let mut sizes = vec![1; clusters as usize];
            for _ in clusters..items {
                let mut place = rng.random::<f64>() * all;
                let at = weights.iter().position(|weight| {
                    place -= weight;
                    place < 0.0
                });
                sizes[at.unwrap_or(0)] += 1;
            }
            sizes
        }
    }
}
