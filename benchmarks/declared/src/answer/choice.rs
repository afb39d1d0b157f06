//! The letter that a reply chooses.

use regex::Regex;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Letters to choose from, and the patterns in which a choice is recognised, the surest first.
#[derive(Debug, Clone)]
pub(crate) struct Letters {
    patterns: Vec<Regex>,
}

impl Letters {
    /// The letters of `letters`, which are ASCII capitals, each once.
    fn new(letters: &str) -> Result<Self, String> {
        let mut seen = Vec::new();
        for letter in letters.chars() {
            if !letter.is_ascii_uppercase() || seen.contains(&letter) {
                return Err(format!("{letters:?} must be capital letters, each once, as ABCD"));
            }
            seen.push(letter);
        }
        if seen.len() < 2 {
            return Err(format!("{letters:?} must be at least two letters, as ABCD"));
        }
        let patterns = [
            // Answer: B. The answer is (B). **Answer:** B
            format!(
                r"(?i:answer|choice|option)[*_]*\s*(?i:is|:|=)?[*_:]*\s*(?i:is)?:?\s*[*_(\[]*([{letters}])(?:[^A-Za-z0-9']|$)"
            ),
            format!(r"\\boxed\{{\s*(?:\\text\{{)?\s*\(?([{letters}])\b"),
            // The whole reply, or its last line.
            format!(r"(?:^|\n)\s*[*_(\[]*([{letters}])[*_)\].:]*\s*$"),
            // B) because …
            format!(r"^\s*[*_(\[]*([{letters}])[*_]*[)\].:,][*_]*(?:\s|$)"),
            format!(r"\(([{letters}])\)"),
        ];
        let patterns = patterns.iter().map(|pattern| Regex::new(pattern).map_err(|error| error.to_string()));
        Ok(Self { patterns: patterns.collect::<Result<_, _>>()? })
    }

    /// The choice of the first pattern that occurs, and of that its last one.
    pub(super) fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.patterns.iter().find_map(|pattern| {
            pattern.captures_iter(text).last().and_then(|found| found.get(1)).map(|letter| letter.as_str())
        })
    }
}

impl<'de> Deserialize<'de> for Letters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
