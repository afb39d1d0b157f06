//! Extraction of the plan from the text of an answer (docs/benchmarks/orchestrationbench.md §4.1).
//!
//! The official code tries patterns and parsers in turn; the first object with a key that begins with `workflow_` is
//! the plan. It catches only the errors of the parsers themselves: any other exception ends the search, and later
//! drops the whole run. The patterns are matched here by hand, each in one pass over the text, where Python's `re`
//! can take quadratic time or more; the matches are the same.

mod case;
mod patterns;
mod rebuild;
#[cfg(test)]
mod tests;

pub(crate) use self::case::score_unit_parse;

use super::plan::Extracted;
use regatta_pycompat::yaml::{Dict, Value, YamlError, safe_load};
use regatta_pycompat::{Refusal, parse_or_refuse};

/// Prefix of the keys of workflows.
const KEY_PREFIX: &str = "workflow_";

/// Result of the search for a plan.
#[derive(Debug, Clone)]
pub(crate) enum Extraction {
    /// An object with a key that begins with `workflow_`; its values may be anything.
    Plan(Dict),
    /// The text holds no plan.
    None,
    /// Python raises an exception that is not caught; the name of its class. `MemoryError` stands for texts beyond
    /// the limits of [`safe_load`], which Python may or may not have handled.
    Exception(&'static str),
}

impl Extraction {
    /// Converts to the input of the plan scores.
    pub(crate) const fn as_extracted(&self) -> Extracted<'_> {
        match self {
            Self::Plan(plan) => Extracted::Workflow(plan),
            Self::None => Extracted::None,
            Self::Exception(class) => Extracted::Exception(class),
        }
    }

    /// Returns the plan, if there is one.
    pub(crate) const fn plan(&self) -> Option<&Dict> {
        match self {
            Self::Plan(plan) => Some(plan),
            Self::None | Self::Exception(_) => None,
        }
    }
}

/// Result that ends the search early.
enum Found {
    Plan(Dict),
    Exception(&'static str),
}

/// Searches a text for its plan.
pub(crate) fn extract(text: &str) -> Extraction {
    let text = text.rsplit_once("</think>").map_or(text, |(_, answer)| answer);
    match search(text) {
        Err(Found::Plan(plan)) => Extraction::Plan(plan),
        Err(Found::Exception(class)) => Extraction::Exception(class),
        Ok(()) => Extraction::None,
    }
}

/// Makes the attempts in order; the first with a result ends the search.
fn search(text: &str) -> Result<(), Found> {
    for part in [patterns::json_fence(text), patterns::flat_objects(text), patterns::embedded_object(text), Some(text)]
    {
        part.map_or(Ok(()), json)?;
    }
    patterns::yaml_fence(text).map_or(Ok(()), yaml)?;
    if text.contains(KEY_PREFIX) {
        yaml(text)?;
        rebuild::rebuild(text).map_or(Ok(()), |text| yaml(&text))?;
    }
    Ok(())
}

fn json(text: &str) -> Result<(), Found> {
    match parse_or_refuse(text) {
        Ok(value) => accept(value.into()),
        Err(Refusal::NotJson) => Ok(()),
        Err(Refusal::LongInteger(_)) => Err(Found::Exception("ValueError")),
        Err(Refusal::TooDeep) => Err(Found::Exception("RecursionError")),
    }
}

fn yaml(text: &str) -> Result<(), Found> {
    match safe_load(text) {
        Ok(value) => accept(value),
        Err(YamlError::Yaml { .. }) => Ok(()),
        Err(YamlError::Exception { kind }) => Err(Found::Exception(kind)),
        Err(YamlError::TooLarge) => Err(Found::Exception("MemoryError")),
    }
}

/// Ends the search if the value is a plan, or if a key that is not a text precedes the first key of a workflow, which
/// raises an exception in Python.
fn accept(value: Value) -> Result<(), Found> {
    let Value::Dict(dict) = value else { return Ok(()) };
    let telling = |key: &&Value| key.as_str().is_none_or(|key| key.starts_with(KEY_PREFIX));
    let class = match dict.keys().find(telling) {
        None => return Ok(()),
        Some(Value::Str(_)) => None,
        // `bytes` has `startswith`, but it refuses a text.
        Some(Value::Bytes(_)) => Some("TypeError"),
        Some(_) => Some("AttributeError"),
    };
    Err(class.map_or(Found::Plan(dict), Found::Exception))
}
