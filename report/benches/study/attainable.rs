//! Coverages that can be had at all.

use std::ops::RangeInclusive;

/// Values that differ by less are the same.
const SAME: f64 = 1e-9;

/// The coverages next to `wanted`, from below and from above, of intervals that hold `mean` or not by what the value of their sample is:
/// not up to some value below `mean`, and not from some value above it. Whoever makes them may know all about the population. `None` where
/// one of these coverages is wanted.
pub(crate) fn attainable(mut values: Vec<f64>, mean: f64, wanted: &RangeInclusive<f64>) -> Option<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let all = values.len();
    // How many samples have a smaller value, at every place between two values that differ.
    let cuts: Vec<usize> =
        (0..=all).filter(|at| *at == 0 || *at == all || values[*at] - values[at - 1] > SAME).collect();
    let (mut below, mut above) = (0.0_f64, 1.0_f64);
    for from in cuts.iter().take_while(|cut| **cut == 0 || values[**cut - 1] < mean - SAME) {
        for to in cuts.iter().rev().take_while(|cut| **cut == all || values[**cut] > mean + SAME) {
            let covered = to.saturating_sub(*from) as f64 / all as f64;
            match covered {
                _ if wanted.contains(&covered) => return None,
                _ if covered < *wanted.start() => below = below.max(covered),
                _ => above = above.min(covered),
            }
        }
    }
    Some((below, above))
}
