//! chrF of one answer, as `sacrebleu` computes it of a sentence: F2 of n-grams of up to six characters, spaces aside; with `word_order` 2,
//! of pairs of words too (chrF++).

use std::hash::Hash;

use super::{Grams, grams, number_of_grams, shared, words};

/// Longest n-gram of characters.
const ORDER: usize = 6;
/// Weight of recall: the square of β, which is 2.
const RECALL: f64 = 4.0;

/// A text as it is compared.
struct Divided<'t> {
    characters: Vec<char>,
    words: Vec<&'t str>,
}

/// Sums of precision and recall over the orders that answer and gold have both.
#[derive(Default)]
struct Sums {
    precision: f64,
    recall: f64,
    orders: f64,
}

/// Largest chrF, in 0..=1, of the answer with a gold.
pub(crate) fn chrf(word_order: usize, answer: &str, golds: &[String]) -> f64 {
    let answer = Divided::of(answer);
    let mut golds: Vec<(Divided<'_>, Sums)> = golds.iter().map(|gold| (Divided::of(gold), Sums::default())).collect();
    // The answer's n-grams are counted once, however many golds there are.
    for order in 1..=ORDER {
        let made = grams(&answer.characters, order);
        let of_answer = number_of_grams(answer.characters.len(), order);
        golds.iter_mut().for_each(|(gold, sums)| sums.add(&made, of_answer, &gold.characters, order));
    }
    for order in 1..=word_order {
        let made = grams(&answer.words, order);
        let of_answer = number_of_grams(answer.words.len(), order);
        golds.iter_mut().for_each(|(gold, sums)| sums.add(&made, of_answer, &gold.words, order));
    }
    golds.into_iter().map(|(_, sums)| sums.score()).fold(0.0, f64::max)
}

impl<'t> Divided<'t> {
    fn of(text: &'t str) -> Self {
        Self { characters: words(text).flat_map(str::chars).collect(), words: words(text).flat_map(parts).collect() }
    }
}

/// A word and the sign at its end, or else the one at its beginning.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    let is_sign = |c: char| c.is_ascii_punctuation();
    let is_long = word.chars().nth(1).is_some();
    let (one, other) = if is_long && word.ends_with(is_sign) {
        word.split_at(word.len() - 1)
    } else if is_long && word.starts_with(is_sign) {
        word.split_at(1)
    } else {
        (word, "")
    };
    [one, other].into_iter().filter(|part| !part.is_empty())
}

impl Sums {
    /// Adds the n-grams of an order: those that the answer `made`, of which it has `of_answer`, against those of the gold.
    fn add<T: Eq + Hash>(&mut self, made: &Grams<'_, T>, of_answer: usize, gold: &[T], order: usize) {
        let of_gold = number_of_grams(gold.len(), order);
        if of_answer == 0 || of_gold == 0 {
            return;
        }
        let same = shared(made, &grams(gold, order)) as f64;
        self.precision += same / of_answer as f64;
        self.recall += same / of_gold as f64;
        self.orders += 1.0;
    }

    fn score(self) -> f64 {
        let (precision, recall) = (self.precision / self.orders, self.recall / self.orders);
        // Also where no order has any n-gram, and both are no numbers.
        if precision + recall > 0.0 { (1.0 + RECALL) * precision * recall / (RECALL * precision + recall) } else { 0.0 }
    }
}
