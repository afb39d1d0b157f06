//! The schedule of looks: the units and trials after which the scores are evaluated.

use crate::capital::growth_max;

/// A look: `units` units with `trials` trials of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Round {
    /// Trials of each unit. All units have one trial less before a round adds this one.
    pub trials: u16,
    /// Number of units that have these trials.
    pub units: usize,
}

/// The looks at `units` units, with `first` to `most` trials of each: at most `count` looks in each pass over the units.
///
/// The first look is the earliest at which a difference could be found at the error `level` of one bound. Steps then grow in proportion to
/// the number of the look, so that the sessions bought beyond the need stay a small part of all.
#[must_use]
pub fn rounds(units: usize, first: u16, most: u16, count: u32, level: f64) -> Vec<Round> {
    let earliest = libm::ceil(-libm::log(level) / growth_max()).max(1.0) as usize;
    let from = earliest.min(units);
    let count = count.max(1) as usize;
    let mut looks: Vec<usize> = (0..count)
        .map(|look| match count {
            1 => units,
            _ => from + ((units - from) * look * (look + 1)).div_ceil(count * (count - 1)),
        })
        .collect();
    looks.dedup();
    (first..=most).flat_map(|trials| looks.iter().map(move |units| Round { trials, units: *units })).collect()
}
