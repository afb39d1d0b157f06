//! Fenced blocks of code.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The language of a block: its word behind the fence, or `any`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Language(String);

impl Language {
    /// The last block of the language, without its fences. One that is not closed ends with the text.
    pub(super) fn find(&self, text: &str) -> Option<String> {
        let mut found = None;
        let mut open: Option<(bool, Vec<&str>)> = None;
        for line in text.lines() {
            let fence = line.trim_start().strip_prefix("```");
            open = match (open, fence) {
                (Some((wanted, block)), Some(rest)) if rest.trim().is_empty() => {
                    found = if wanted { Some(block.join("\n")) } else { found };
                    None
                }
                (Some((wanted, mut block)), _) => {
                    block.push(line);
                    Some((wanted, block))
                }
                (None, Some(label)) => Some((self.is(label), Vec::new())),
                (None, None) => None,
            };
        }
        open.filter(|(wanted, _)| *wanted).map(|(_, block)| block.join("\n")).or(found)
    }

    fn is(&self, label: &str) -> bool {
        let label = label.split_whitespace().next().unwrap_or("");
        self.0 == "any" || self.0.eq_ignore_ascii_case(label)
    }
}

impl<'de> Deserialize<'de> for Language {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        if word.is_empty() || word.contains(char::is_whitespace) {
            return Err(D::Error::custom(format!("{word:?} must be one word, as python, or any")));
        }
        Ok(Self(word))
    }
}
