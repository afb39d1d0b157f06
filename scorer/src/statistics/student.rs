//! Quantiles of Student's t.

use super::normal;

/// Quantile of the standard normal distribution at 97.5 %.
const NORMAL: f64 = 1.959_963_984_540_054;
/// From here on the expansion about the normal quantile is exact to twelve digits, and the sum would only be slower.
const EXPAND_FROM: u32 = 400;

/// Quantile of Student's t at 97.5 % with `freedom` degrees of freedom: ± this holds 95 %. Infinite without any.
pub(crate) fn quantile_97_5(freedom: u32) -> f64 {
    if freedom == 0 {
        return f64::INFINITY;
    }
    if freedom >= EXPAND_FROM {
        return expanded(NORMAL, f64::from(freedom));
    }
    // One degree of freedom has the largest quantile, 12.7.
    bisected(0.95, freedom, NORMAL, 13.0)
}

/// What Student's t with `freedom` degrees of freedom exceeds, to either side of zero together, with probability `both_tails` (between 0
/// and 1). Infinite without any.
pub(crate) fn quantile(both_tails: f64, freedom: u32) -> f64 {
    if freedom == 0 {
        return f64::INFINITY;
    }
    let normal = normal::quantile(both_tails);
    if freedom >= EXPAND_FROM {
        return expanded(normal, f64::from(freedom));
    }
    let mut high = normal.max(1.0);
    while within(high, freedom) < 1.0 - both_tails && high < 1e12 {
        high *= 2.0;
    }
    bisected(1.0 - both_tails, freedom, normal, high)
}

/// Where between `low` and `high` the probability within ± t becomes `inside`.
fn bisected(inside: f64, freedom: u32, mut low: f64, mut high: f64) -> f64 {
    while high - low > 1e-13 * high {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if within(middle, freedom) < inside {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Probability that Student's t lies within ± `t`: the finite sums for whole degrees of freedom (Abramowitz and Stegun 26.7.3, 26.7.4).
fn within(t: f64, freedom: u32) -> f64 {
    let angle = (t / f64::from(freedom).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    // Terms begin with cos θ (odd) or 1 (even) and grow by cos² θ · k / (k + 1), two steps at a time.
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = 0.0;
    let mut k = if odd { 2 } else { 1 };
    while k < freedom {
        sum += term;
        term *= cosine * cosine * f64::from(k) / f64::from(k + 1);
        k += 2;
    }
    if odd { (angle + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum }
}

/// The Cornish-Fisher expansion in 1/freedom about the normal quantile `z`.
fn expanded(z: f64, freedom: f64) -> f64 {
    let z2 = z * z;
    let terms = [
        z * (z2 + 1.0) / 4.0,
        z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0,
        z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0,
        z * ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92_160.0,
    ];
    z + terms.iter().rev().fold(0.0, |sum, term| (sum + term) / freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_published_tables() {
        let published = [
            (1, 12.706_204_736),
            (2, 4.302_652_730),
            (3, 3.182_446_305),
            (4, 2.776_445_105),
            (5, 2.570_581_836),
            (10, 2.228_138_852),
            (29, 2.045_229_642),
            (30, 2.042_272_456),
            (100, 1.983_971_519),
            (1000, 1.962_339_081),
        ];
        for (freedom, expected) in published {
            let found = quantile_97_5(freedom);
            assert!((found - expected).abs() < 1e-8, "{freedom}: {found}");
        }
    }

    #[test]
    fn the_sum_and_the_expansion_agree_where_they_meet() {
        for freedom in [EXPAND_FROM - 2, EXPAND_FROM - 1] {
            assert!((quantile_97_5(freedom) - expanded(NORMAL, f64::from(freedom))).abs() < 1e-10);
        }
    }

    #[test]
    fn quantiles_at_other_levels_are_those_of_published_tables() {
        for (both_tails, freedom, expected) in
            [(0.05, 10, 2.228_138_852), (0.01, 5, 4.032_142_984), (0.005, 29, 3.038_047_3), (0.01, 1000, 2.580_754_7)]
        {
            let found = quantile(both_tails, freedom);
            assert!((found - expected).abs() < 1e-6, "{both_tails}, {freedom}: {found}");
        }
    }

    #[test]
    fn without_degrees_of_freedom_nothing_is_known() {
        assert_eq!(quantile_97_5(0), f64::INFINITY);
    }
}
