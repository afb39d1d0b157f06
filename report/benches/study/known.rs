//! The interval of somebody who knows how much the items of a population vary, and how alike those of a cluster are.

use super::{Design, Drawn, Scores};

/// Normal quantile of an interval of 95 %.
const QUANTILE: f64 = 1.959_963_984_540_054;

/// Wilson's interval of a sample of `design`, with the variance that its mean has.
pub(super) fn wilson(design: &Design, drawn: &Drawn) -> (f64, f64) {
    let items = drawn.clusters.len() as f64;
    let count = drawn.clusters.iter().max().map_or(0, |last| *last as usize + 1);
    let mut sizes = vec![0.0; count];
    drawn.clusters.iter().for_each(|cluster| sizes[*cluster as usize] += 1.0);
    let pairs = sizes.iter().map(|size| size * size).sum::<f64>() / (items * items);
    // Qualities of clusters vary by so much of a proportion's variance; the rest of an item's variance is within them.
    let between = design.alikeness;
    let trials = 1.0 / (within(design) / items + between * pairs);
    let squared = QUANTILE * QUANTILE / trials;
    let value = drawn.mean();
    let middle = (value + squared / 2.0) / (1.0 + squared);
    let half = (value * (1.0 - value) * squared + squared * squared / 4.0).sqrt() / (1.0 + squared);
    (middle - half, middle + half)
}

/// Mean variance of the items of a cluster, over the variance of a proportion.
fn within(design: &Design) -> f64 {
    // A score of quality q has the variance q(1 − q) if it is 0 or 1, and a part of that if it is a beta variate of quality q.
    let part = match design.scores {
        Scores::Binary => 1.0,
        Scores::Shares => 0.6 + 0.4 / 4.0,
        Scores::Close => 1.0 / 31.0,
    };
    part * (1.0 - design.alikeness)
}
