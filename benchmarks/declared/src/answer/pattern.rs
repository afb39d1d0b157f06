//! Regular expressions, whose time is linear in the text.

use regex::{Captures, Regex, RegexBuilder};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::Take;

/// Largest compiled pattern, in bytes.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// A pattern, and what of a match is the answer.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    regex: Regex,
    /// `None`: the first that takes part in the match.
    group: Option<usize>,
    take: Take,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// Syntax of the crate `regex`: no look-around, no references back.
    pattern: String,
    /// Group that is the answer. The first that takes part in the match where none is named; the whole match where there is none.
    group: Option<usize>,
    #[serde(default)]
    take: Take,
}

impl Pattern {
    pub(super) fn find(&self, text: &str) -> Option<String> {
        let of_match = |captures: Captures<'_>| {
            let found = match self.group {
                Some(group) => captures.get(group),
                None => captures.iter().skip(1).flatten().next().or_else(|| captures.get(0)),
            };
            found.map(|found| found.as_str().to_owned())
        };
        self.take.of(self.regex.captures_iter(text).filter_map(of_match))
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { pattern, group, take } = Written::deserialize(deserializer)?;
        let regex = compile(&pattern).map_err(D::Error::custom)?;
        let groups = regex.captures_len() - 1;
        if let Some(group) = group.filter(|group| *group > groups) {
            return Err(D::Error::custom(format!("the pattern has {groups} groups, so there is no group {group}")));
        }
        Ok(Self { regex, group, take })
    }
}

/// # Errors
/// In one line, when the pattern is not good or too large.
fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(COMPILED_BYTES_MAX).build().map_err(|error| {
        let said = error.to_string();
        let reason = said.lines().last().unwrap_or(&said).trim_start_matches("error: ").to_owned();
        format!("invalid pattern {pattern:?}: {reason} (the time of a pattern is linear here: no look-around, no references back)")
    })
}

/// A pattern of which no part is an answer.
#[derive(Debug, Clone)]
pub(crate) struct PlainPattern(pub(crate) Regex);

impl PartialEq for PlainPattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl<'de> Deserialize<'de> for PlainPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        compile(&String::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}
