//! Dependencies of a workflow, which the evaluators define differently (docs/benchmarks/orchestrationbench.md §5.1, §6).

use super::reading::{Raised, elements};
use regatta_pycompat::yaml::{Dict, Value};

pub(super) use super::reading::elements as official_elements;

/// Returns the ids of workflows that the official component graph looks up: those of `depends_on`, else of
/// `depend_on`. A value that is not a text matches no workflow, and neither do the characters of a `depends_on` that
/// is a text.
pub(super) fn official_dependencies(workflow: &Dict) -> Result<Vec<String>, Raised> {
    let truthy = |key: &str| workflow.get(key).filter(|value| value.is_truthy());
    let dependencies = match (truthy("depends_on"), truthy("depend_on")) {
        (None, None) => return Ok(Vec::new()),
        (None, Some(Value::Str(id))) => return Ok(vec![id.clone()]),
        (Some(dependencies), _) | (None, Some(dependencies)) => elements(dependencies)?,
    };
    let mut ids = Vec::new();
    for dependency in dependencies.iter() {
        match dependency {
            Value::Str(id) => ids.push(id.clone()),
            other if other.hash_key().is_none() => return Err(Raised("TypeError")),
            _ => {}
        }
    }
    Ok(ids)
}

/// Returns the ids that the paper's graphs look up: those of `depends_on`, else of `depend_on`; a text is one id.
pub(super) fn paper_dependencies(workflow: &Dict) -> Result<Vec<&str>, Raised> {
    let truthy = |key: &str| workflow.get(key).filter(|value| value.is_truthy());
    match truthy("depends_on").or_else(|| truthy("depend_on")) {
        None => Ok(Vec::new()),
        Some(Value::Str(id)) => Ok(vec![id]),
        Some(Value::List(ids)) => ids.iter().map(|id| id.as_str().ok_or(Raised("TypeError"))).collect(),
        Some(_) => Err(Raised("TypeError")),
    }
}
