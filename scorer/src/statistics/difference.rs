//! The difference of two means over the same items.

use serde::{Deserialize, Serialize};

use super::estimate::ItemScores;
use super::student::quantile_97_5;

/// A paired difference: how much higher one's scores are than the other's, item by item.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Mean over items of the difference of their means over trials.
    pub value: f64,
    /// Lower end of the 95 % interval; absent for a single item.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    pub high: Option<f64>,
    /// Items that both have a score of.
    pub n: u32,
}

/// How much higher the scores of `ours` are than those of `theirs`, which are of the same items in the same order. `None` without an item
/// that both have a score of. The interval is Student's t over items: pairing takes out what makes items hard for both.
pub(crate) fn difference(ours: &[ItemScores], theirs: &[ItemScores]) -> Option<Difference> {
    let mean = |item: &ItemScores| (item.scored > 0).then(|| item.sum / f64::from(item.scored));
    let differences: Vec<f64> =
        ours.iter().zip(theirs).filter_map(|(ours, theirs)| Some(mean(ours)? - mean(theirs)?)).collect();
    let first = *differences.first()?;
    let n = differences.len() as f64;
    // Equal differences have exactly their own mean, so that their interval has no width.
    let is_constant = differences.iter().all(|one| *one == first);
    let value = if is_constant { first } else { differences.iter().sum::<f64>() / n };
    let half = (differences.len() > 1).then(|| {
        let squares: f64 = differences.iter().map(|one| (one - value).powi(2)).sum();
        quantile_97_5(differences.len() as u32 - 1) * (squares / (n - 1.0) / n).sqrt()
    });
    Some(Difference {
        value,
        low: half.map(|half| (value - half).max(-1.0)),
        high: half.map(|half| (value + half).min(1.0)),
        n: differences.len() as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(scores: &[Option<f64>]) -> Vec<ItemScores> {
        scores
            .iter()
            .map(|score| {
                let mut item = ItemScores::default();
                item.add(*score);
                item
            })
            .collect()
    }

    #[test]
    fn what_is_hard_for_both_does_not_widen_the_interval() {
        let ours = items(&[Some(0.1), Some(0.5), Some(1.0)]);
        let theirs = items(&[Some(0.0), Some(0.4), Some(0.9)]);
        let found = difference(&ours, &theirs).unwrap();
        assert!((found.value - 0.1).abs() < 1e-9 && found.high.unwrap() - found.low.unwrap() < 1e-6, "{found:?}");
    }

    #[test]
    fn only_items_that_both_have_count() {
        let found = difference(&items(&[Some(1.0), None, Some(0.5)]), &items(&[Some(0.5), Some(1.0), None])).unwrap();
        assert_eq!(found, Difference { value: 0.5, low: None, high: None, n: 1 });
        assert_eq!(difference(&items(&[None]), &items(&[Some(1.0)])), None);
    }

    #[test]
    fn three_differences_have_the_interval_of_the_textbook() {
        let found = difference(&items(&[Some(0.4), Some(0.5), Some(0.6)]), &items(&[Some(0.0); 3])).unwrap();
        // Standard error 0.1 / √3, quantile 4.3027.
        assert!((found.low.unwrap() - 0.251_586_2).abs() < 1e-6 && (found.high.unwrap() - 0.748_413_8).abs() < 1e-6);
    }
}
