//! `yaml.safe_load` of PyYAML 6.0.2: YAML 1.1 with that library's own ideas, one document per text.
//!
//! Differences from other readers show on texts that models write: a tab is no indentation, `{a:1}` is one key, an anchor
//! may not be set twice, the last of two equal keys wins, and exceptions of other kinds than `YAMLError` escape.

mod construct;
mod event;
mod names;
mod node;
mod number;
mod reader;
mod resolve;
mod scalar;
mod scanner;
#[cfg(test)]
mod tests;
mod texts;
mod token;

pub use super::date::{Date, DateTime};
pub use super::value::{Collection, Dict, HashKey, Value};

/// Most characters of a text.
pub const CHARACTERS_MAX: usize = 2_000_000;

/// Reason why there is no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// The text is no YAML (Python's `YAMLError`).
    #[error("line {line}, column {column}: {problem}")]
    Yaml {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// The problem, as a clause.
        problem: &'static str,
    },
    /// Python raises an exception of another kind, such as `ValueError` for the 30th of February.
    #[error("{kind}")]
    Exception {
        /// The name of its class.
        kind: &'static str,
    },
    /// More than [`CHARACTERS_MAX`] characters, or aliases and merges that stand for too much.
    #[error("too large")]
    TooLarge,
}

/// The value of the only document in the text; [`Value::None`] if there is none.
///
/// It takes time in proportion to the text, plus what its aliases and merges stand for, which is bounded.
pub fn safe_load(text: &str) -> Result<Value, YamlError> {
    construct::construct(node::compose(text)?)
}
