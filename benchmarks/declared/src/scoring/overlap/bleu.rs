//! BLEU of one answer, as `sacrebleu` computes it of a sentence: words as mteval 13a divides them, n-grams of up to four, the order that
//! the answer has room for, and exponential smoothing.

use std::collections::HashMap;
use std::sync::LazyLock;

use regatta_pycompat::is_space;
use regex::Regex;

use super::{Grams, grams, words};

/// Longest n-gram.
const ORDER: usize = 4;

/// Signs that are put apart from words, each with its replacement, in turn.
static DIVISIONS: LazyLock<[(Regex, &str); 4]> = LazyLock::new(|| {
    [
        (pattern(r"[{-~\[-` -&(-+:-@/]"), " ${0} "),
        // Points and commas that no digit precedes, then those that none follows.
        (pattern(r"([^0-9])([.,])"), "${1} ${2} "),
        (pattern(r"([.,])([^0-9])"), " ${1} ${2}"),
        (pattern(r"([0-9])(-)"), "${1} ${2} "),
    ]
});

#[expect(clippy::expect_used, reason = "a constant that every test compiles")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("it is well-formed")
}

/// BLEU, in 0..=1, of the answer with all golds.
pub(crate) fn bleu(answer: &str, golds: &[String]) -> f64 {
    let answer = divided(answer);
    let made: Vec<&str> = words(&answer).collect();
    let golds: Vec<String> = golds.iter().map(|gold| divided(gold)).collect();
    let golds: Vec<Vec<&str>> = golds.iter().map(|gold| words(gold).collect()).collect();
    let lengths = golds.iter().map(Vec::len);
    let Some(length) = lengths.min_by_key(|length| (length.abs_diff(made.len()), *length)) else { return 0.0 };
    let matches: Vec<(usize, usize)> = (1..=ORDER).map(|order| matched(&made, &golds, order)).collect();
    combined(&matches, made.len(), length)
}

/// N-grams of the answer that a gold has, as often as the one that has it most often; and all n-grams of the answer.
fn matched(made: &[&str], golds: &[Vec<&str>], order: usize) -> (usize, usize) {
    let mut most: Grams<'_, &str> = HashMap::new();
    for gold in golds {
        for (gram, count) in grams(gold, order) {
            let known = most.entry(gram).or_default();
            *known = count.max(*known);
        }
    }
    let made = grams(made, order);
    (super::shared(&made, &most), made.values().sum())
}

/// The geometric mean of the precisions, for answers that are shorter than the gold times the penalty for that.
fn combined(matches: &[(usize, usize)], made: usize, gold: usize) -> f64 {
    if matches.iter().all(|(right, _)| *right == 0) {
        return 0.0;
    }
    let penalty = if made < gold { libm::exp(1.0 - gold as f64 / made as f64) } else { 1.0 };
    let (mut smoothing, mut logs, mut orders) = (1.0, 0.0, 0.0);
    for (right, all) in matches.iter().take_while(|(_, all)| *all > 0) {
        let precision = if *right == 0 {
            smoothing *= 2.0;
            1.0 / (smoothing * *all as f64)
        } else {
            *right as f64 / *all as f64
        };
        logs += libm::log(precision);
        orders += 1.0;
    }
    // Rounding may pass 1 by the last bit.
    (penalty * libm::exp(logs / orders)).min(1.0)
}

/// The text with spaces around what is no part of a word.
fn divided(text: &str) -> String {
    let text = text.trim_end_matches(is_space).replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    let text = text.replace("&quot;", "\"").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
    DIVISIONS.iter().fold(format!(" {text} "), |text, (pattern, with)| pattern.replace_all(&text, *with).into_owned())
}
