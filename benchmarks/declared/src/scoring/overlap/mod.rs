//! Texts compared by the n-grams that they share: ROUGE, BLEU and chrF of one answer, each a share.
//!
//! They compute what `rouge-score` and `sacrebleu` compute, whose numbers the tests have.

mod bleu;
mod chrf;
mod rouge;

use std::collections::HashMap;
use std::hash::Hash;

use regatta_pycompat::is_space;

pub(super) use self::bleu::bleu;
pub(super) use self::chrf::chrf;
pub(super) use self::rouge::{check_golds, rouge};

/// N-grams of one order, each with the number of times that it occurs.
type Grams<'t, T> = HashMap<&'t [T], usize>;

/// The n-grams of `order` (1 or more) tokens.
fn grams<T: Eq + Hash>(tokens: &[T], order: usize) -> Grams<'_, T> {
    let mut found = Grams::new();
    for gram in tokens.windows(order) {
        *found.entry(gram).or_default() += 1;
    }
    found
}

/// Number of n-grams of `order` (1 or more) in a text of `length` tokens.
const fn number_of_grams(length: usize, order: usize) -> usize {
    (length + 1).saturating_sub(order)
}

/// Number of n-grams that both have. Only those of the shorter one are looked up: a long answer is compared with many short golds.
fn shared<T: Eq + Hash>(one: &Grams<'_, T>, other: &Grams<'_, T>) -> usize {
    let (few, many) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    few.iter().map(|(gram, count)| many.get(*gram).map_or(0, |there| *there.min(count))).sum()
}

/// Words between what Python takes for spaces.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests;
