//! Words of a text, as values are compared (docs/benchmarks/autoslurp.md §7.2).

use std::collections::BTreeSet;

use regatta_pycompat::lower;
use unicode_normalization::UnicodeNormalization;

/// Words that say nothing at the beginning.
const LEADING: [&str; 4] = ["a", "an", "the", "my"];

/// The words of `text`, in order.
pub(super) fn tokens(text: &str) -> Vec<String> {
    let normal: String = lower(&text.nfkc().collect::<String>()).chars().filter(|c| !matches!(c, '\'' | '’')).collect();
    let mut tokens: Vec<String> = normal
        .split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric())
        .filter(|token| !token.is_empty())
        .map(str::to_owned)
        .collect();
    let leading = tokens.iter().take_while(|token| LEADING.contains(&token.as_str())).count();
    tokens.drain(..leading.min(tokens.len().saturating_sub(1)));
    tokens
}

/// Jaccard similarity of two lists of words as sets: 0 to 1, and 1 when both are empty.
pub(super) fn jaccard(a: &[String], b: &[String]) -> f64 {
    let (a, b): (BTreeSet<&String>, BTreeSet<&String>) = (a.iter().collect(), b.iter().collect());
    let all = a.union(&b).count();
    if all == 0 { 1.0 } else { a.intersection(&b).count() as f64 / all as f64 }
}
