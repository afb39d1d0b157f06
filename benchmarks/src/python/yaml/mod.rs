//! `yaml.safe_load` of PyYAML 6.0.2: YAML 1.1 with that library's own ideas, one document per text.

pub(crate) use super::date::{Date, DateTime};
pub(crate) use super::value::{Collection, Dict, HashKey, Value};

/// How many characters a text may have.
pub(crate) const CHARACTERS_MAX: usize = 4_000_000;

/// Why there is no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum YamlError {
    /// The text is no YAML (Python's `YAMLError`).
    #[error("line {line}, column {column}: {problem}")]
    Yaml {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What is wrong there.
        problem: &'static str,
    },
    /// Python raises an exception of another kind, such as `ValueError` for the 30th of February.
    #[error("{kind}")]
    Exception {
        /// The name of its class.
        kind: &'static str,
    },
    /// More than [`CHARACTERS_MAX`] characters, or aliases that stand for too much.
    #[error("too large")]
    TooLarge,
}

/// The value of the only document in the text; [`Value::None`] if there is none.
pub(crate) fn safe_load(text: &str) -> Result<Value, YamlError> {
    super::parse(text).map(Value::from).ok_or(YamlError::Exception { kind: "NotImplementedError" })
}
