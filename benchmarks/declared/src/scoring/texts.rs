//! Texts compared: exactly, normalised, by their tokens, as parts.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::answer::PlainPattern;

#[expect(clippy::expect_used, reason = "a constant that every test compiles")]
static ARTICLES: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(?:a|an|the)\b").expect("it is well-formed"));

/// Differences that do not count when texts are compared exactly. Spaces around never do.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ignoring {
    pub(super) case: bool,
    pub(super) punctuation: bool,
    pub(super) patterns: Vec<PlainPattern>,
}

impl Ignoring {
    /// `true` if the answer is one of the golds.
    pub(super) fn is_one_of(&self, answer: &str, golds: &[String]) -> bool {
        let answer = self.rest(answer);
        golds.iter().any(|gold| self.rest(gold) == answer)
    }

    /// The part of `text` that counts: patterns first, then case, then punctuation, as lm-eval's `exact_match` has it.
    fn rest(&self, text: &str) -> String {
        let mut text = text.trim().to_owned();
        for PlainPattern(pattern) in &self.patterns {
            text = pattern.replace_all(&text, "").into_owned();
        }
        if self.case {
            text = text.to_lowercase();
        }
        if self.punctuation {
            text.retain(|c| !c.is_ascii_punctuation());
        }
        text.trim().to_owned()
    }
}

/// `true` if the answer is one of the golds when both are normalised.
pub(super) fn normalised(answer: &str, golds: &[String]) -> bool {
    let answer = normal(answer);
    golds.iter().any(|gold| normal(gold) == answer)
}

/// `true` if one of the golds is part of the answer, in whatever case.
pub(super) fn contains(answer: &str, golds: &[String]) -> bool {
    let answer = answer.to_lowercase();
    golds.iter().any(|gold| answer.contains(&gold.trim().to_lowercase()))
}

/// Largest F1, in 0..=1, of the answer's tokens with those of a gold.
pub(super) fn f1(answer: &str, golds: &[String]) -> f64 {
    let answer = normal(answer);
    golds.iter().map(|gold| f1_of(&answer, &normal(gold))).fold(0.0, f64::max)
}

fn f1_of(answer: &str, gold: &str) -> f64 {
    let (answer, gold): (Vec<&str>, Vec<&str>) = (answer.split(' ').collect(), gold.split(' ').collect());
    if answer == [""] || gold == [""] {
        return f64::from(u8::from(answer == gold));
    }
    let mut left: HashMap<&str, usize> = HashMap::new();
    gold.iter().for_each(|token| *left.entry(token).or_default() += 1);
    let mut same = 0;
    for token in &answer {
        if let Some(count) = left.get_mut(token).filter(|count| **count > 0) {
            *count -= 1;
            same += 1;
        }
    }
    2.0 * f64::from(same) / (answer.len() + gold.len()) as f64
}

/// As SQuAD's evaluator has it: lower case, no ASCII punctuation, no articles, single spaces.
pub(super) fn normal(text: &str) -> String {
    let bare: String = text.to_lowercase().chars().filter(|c| !c.is_ascii_punctuation()).collect();
    let words = ARTICLES.replace_all(&bare, " ");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
