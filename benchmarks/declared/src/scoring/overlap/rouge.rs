//! ROUGE, as `rouge-score` computes it without a stemmer: F1 of words of ASCII letters and digits.

use std::collections::HashMap;

use super::{grams, number_of_grams, shared};
use crate::definition::RougeKind;

/// Most words of an item's golds whose longest common subsequences with an answer are looked for: the time is their product.
const GOLD_TOKENS_MAX: usize = 20_000;

/// Refuses golds of an item that take too long to be compared.
pub(crate) fn check_golds(kind: RougeKind, golds: &[String]) -> Result<(), String> {
    let tokens: usize = match kind {
        RougeKind::Rouge1 | RougeKind::Rouge2 => return Ok(()),
        RougeKind::RougeL => golds.iter().map(|gold| tokens_of(gold).len()).sum(),
    };
    if tokens > GOLD_TOKENS_MAX {
        let of = if golds.len() == 1 { "the gold has" } else { "the golds have" };
        return Err(format!("{of} {tokens} words, at most {GOLD_TOKENS_MAX} are compared; choose rouge1 or rouge2"));
    }
    Ok(())
}

/// Largest F1, in 0..=1, of the answer with a gold.
pub(crate) fn rouge(kind: RougeKind, answer: &str, golds: &[String]) -> f64 {
    let answer = tokens_of(answer);
    let answer: Vec<&str> = answer.iter().map(String::as_str).collect();
    match kind {
        RougeKind::Rouge1 => of_grams(&answer, golds, 1),
        RougeKind::Rouge2 => of_grams(&answer, golds, 2),
        RougeKind::RougeL => largest(golds, |gold| f1(common(&answer, gold), answer.len(), gold.len())),
    }
}

/// The largest `score` of the words of a gold.
fn largest(golds: &[String], score: impl Fn(&[&str]) -> f64) -> f64 {
    let of = |gold: &String| {
        let gold = tokens_of(gold);
        let gold: Vec<&str> = gold.iter().map(String::as_str).collect();
        score(&gold)
    };
    golds.iter().map(of).fold(0.0, f64::max)
}

/// Runs of ASCII letters and digits, in lower case.
fn tokens_of(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    lower.split(|c: char| !is_part(c)).filter(|token| !token.is_empty()).map(str::to_owned).collect()
}

fn of_grams(answer: &[&str], golds: &[String], order: usize) -> f64 {
    let made = grams(answer, order);
    largest(golds, |gold| {
        let same = shared(&made, &grams(gold, order));
        f1(same, number_of_grams(answer.len(), order), number_of_grams(gold.len(), order))
    })
}

fn f1(same: usize, of_answer: usize, of_gold: usize) -> f64 {
    if same == 0 {
        return 0.0;
    }
    let (precision, recall) = (same as f64 / of_answer as f64, same as f64 / of_gold as f64);
    2.0 * precision * recall / (precision + recall)
}

/// Length of the longest common subsequence. Each bit of a row is a place of the gold, so that 64 of them are compared at once
/// (Hyyrö 2004): a summary of thousands of words costs no noticeable time.
fn common(answer: &[&str], gold: &[&str]) -> usize {
    let blocks = gold.len().div_ceil(64);
    let mut places: HashMap<&str, Vec<u64>> = HashMap::new();
    for (at, token) in gold.iter().enumerate() {
        let bits = places.entry(*token).or_insert_with(|| vec![0; blocks]);
        if let Some(block) = bits.get_mut(at / 64) {
            *block |= 1 << (at % 64);
        }
    }
    let mut row = vec![u64::MAX; blocks];
    for token in answer {
        let Some(bits) = places.get(*token) else { continue };
        let mut carry = false;
        for (block, bits) in row.iter_mut().zip(bits) {
            let matched = *block & bits;
            let (sum, first) = block.overflowing_add(matched);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first || second;
            *block = sum | (*block & !bits);
        }
    }
    // Places beyond the gold are never matched, so that they stay set.
    row.iter().map(|block| usize::try_from(block.count_zeros()).unwrap_or(0)).sum()
}
