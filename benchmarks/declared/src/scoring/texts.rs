//! Texts compared: exactly, normalised, by their tokens, as parts.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;

use crate::answer::PlainPattern;
use crate::definition::{Form, Place};

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

/// `true` if the answer is one of the golds when both are in the normal form.
pub(super) fn normalised(form: Form, answer: &str, golds: &[String]) -> bool {
    match form {
        Form::Squad => {
            let answer = normal(answer);
            golds.iter().any(|gold| normal(gold) == answer)
        }
        Form::Inspect => {
            let answer = inspect_normal(answer);
            golds.iter().any(|gold| inspect_normal(gold) == answer)
        }
    }
}

/// Way in which a gold has to be part of an answer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Within {
    pub(super) place: Place,
    pub(super) ignore_ends: bool,
    pub(super) match_case: bool,
}

impl Within {
    /// `true` if one of the golds is part of the answer.
    pub(super) fn holds(self, answer: &str, golds: &[String]) -> bool {
        let answer = self.rest(answer);
        golds.iter().any(|gold| {
            let gold = self.rest(gold);
            match self.place {
                Place::Anywhere => answer.contains(gold.as_str()),
                Place::Start => answer.starts_with(gold.as_str()),
                Place::End => answer.ends_with(gold.as_str()),
            }
        })
    }

    /// The part of `text` that counts.
    fn rest(self, text: &str) -> String {
        let text = text.trim();
        let is_end = |c: char| c.is_ascii_whitespace() || c == '\u{b}' || c.is_ascii_punctuation();
        let text = if self.ignore_ends { text.trim_matches(is_end) } else { text };
        if self.match_case { text.to_owned() } else { text.to_lowercase() }
    }
}

/// Largest F1, in 0..=1, of the answer's tokens with those of a gold.
pub(super) fn f1(form: Form, answer: &str, golds: &[String]) -> f64 {
    match form {
        Form::Squad => {
            let answer = normal(answer);
            golds.iter().map(|gold| f1_of(&answer, &normal(gold))).fold(0.0, f64::max)
        }
        Form::Inspect => {
            let answer = inspect_normal(answer);
            let largest = golds.iter().map(|gold| inspect_f1_of(&answer, &inspect_normal(gold))).fold(0.0, f64::max);
            // Inspect gives two decimals.
            (largest * 100.0).round_ties_even() / 100.0
        }
    }
}

/// F1 of the sets of tokens: one that is there twice counts once.
fn inspect_f1_of(answer: &str, gold: &str) -> f64 {
    let [answer, gold]: [BTreeSet<&str>; 2] = [answer, gold].map(|text| text.split_whitespace().collect());
    if answer.is_empty() || gold.is_empty() {
        return f64::from(u8::from(answer == gold));
    }
    2.0 * answer.intersection(&gold).count() as f64 / (answer.len() + gold.len()) as f64
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

/// As Inspect has it: words between spaces and hyphens, in lower case, without articles. A word that is a number, punctuation around it
/// aside, is what it is worth; others lose their punctuation.
fn inspect_normal(text: &str) -> String {
    let words: Vec<String> = text.split([' ', '-']).map(inspect_word).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

fn inspect_word(word: &str) -> String {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let word = word.to_lowercase();
    let bare = word.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}' || c.is_ascii_punctuation());
    let letters: String = word.chars().filter(|c| !c.is_ascii_punctuation()).collect();
    match number(&word).or_else(|| number(bare)).or_else(|| number(&letters)) {
        Some(number) => format!("{number:?}"),
        None => ARTICLES.replace_all(&letters, " ").split_whitespace().collect::<Vec<_>>().join(" "),
    }
}
