//! Quantiles of Student's t for degrees of freedom that need not be whole.

use libm::lgamma;

/// Newton's steps at most; from two degrees of freedom on, ten are enough.
const STEPS: u32 = 100;
/// Terms of the continued fraction at most; it needs about the square root of the larger parameter.
const TERMS: u32 = 10_000;

/// The t below which Student's distribution with `freedom` degrees of freedom has `probability` (0.5 to 1). Infinite without any.
pub(crate) fn quantile(probability: f64, freedom: f64) -> f64 {
    if freedom <= 0.0 {
        return f64::INFINITY;
    }
    // From 0 on the distribution function is concave, so that Newton's steps never pass the quantile by.
    let mut t = 0.0;
    for _ in 0..STEPS {
        let step = (probability - below(t, freedom)) / density(t, freedom);
        t += step;
        if step.abs() <= 1e-13 * t.abs() {
            break;
        }
    }
    t
}

/// The probability above `t`, which may be negative or infinite.
pub(crate) fn above(t: f64, freedom: f64) -> f64 {
    match t {
        f64::INFINITY => 0.0,
        f64::NEG_INFINITY => 1.0,
        t if t >= 0.0 => 1.0 - below(t, freedom),
        t => below(-t, freedom),
    }
}

/// Probability below `t` ≥ 0 (Abramowitz and Stegun 26.7.1, as an incomplete beta function).
fn below(t: f64, freedom: f64) -> f64 {
    let squared = t * t;
    // Of the two complementary fractions the one that converges faster.
    if squared <= 1.0 {
        0.5 + 0.5 * incomplete_beta(0.5, freedom / 2.0, squared / (freedom + squared))
    } else {
        1.0 - 0.5 * incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + squared))
    }
}

/// The regularised incomplete beta function for `x` not far above `a` / (`a` + `b`): its continued fraction (Abramowitz and Stegun 26.5.8),
/// from the front (W. J. Lentz, Applied Optics 15, 1976).
pub(super) fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let away_from_zero = |value: f64| if value.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { value };
    let mut denominator = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let (mut numerator, mut fraction) = (1.0, denominator);
    for term in 1..=TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for coefficient in [even, odd] {
            denominator = 1.0 / away_from_zero(1.0 + coefficient * denominator);
            numerator = away_from_zero(1.0 + coefficient / numerator);
            fraction *= denominator * numerator;
        }
        if (fraction - before).abs() <= 1e-15 * fraction.abs() {
            break;
        }
    }
    let log = a * x.ln() + b * (-x).ln_1p() + lgamma(a + b) - lgamma(a) - lgamma(b);
    log.exp() * fraction / a
}

fn density(t: f64, freedom: f64) -> f64 {
    let half = f64::midpoint(freedom, 1.0);
    let log = lgamma(half) - lgamma(freedom / 2.0) - half * (t * t / freedom).ln_1p();
    log.exp() / (freedom * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_scipy() {
        // scipy.stats.t.ppf(probability, freedom)
        let expected = [
            (0.975, 1.0, 12.706204736174694),
            (0.975, 1.37, 6.885073156641705),
            (0.975, 2.0, 4.302652729749462),
            (0.975, 3.3, 3.024874461840807),
            (0.975, 9.0, 2.262157162798205),
            (0.975, 28.71, 2.046127374332862),
            (0.975, 400.0, 1.9659123432294627),
            (0.975, 123456.5, 1.9599832001673618),
            (0.95, 4.5, 2.065575888878524),
            (0.995, 2.2, 8.534715279807727),
            (0.6, 7.0, 0.2631668613520229),
        ];
        for (probability, freedom, expected) in expected {
            let found = quantile(probability, freedom);
            assert!((found - expected).abs() < 1e-9 * expected.max(1.0), "{probability} {freedom}: {found}");
        }
    }

    #[test]
    fn without_degrees_of_freedom_nothing_is_known() {
        assert_eq!(quantile(0.975, 0.0), f64::INFINITY);
    }
}
