//! YAML files of the repository, and type checks of their fields. YAML reads some words and numbers as other types;
//! where a text is required, the error says to quote it.

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_pycompat::yaml::{Value, YamlError, safe_load};

/// Size limit of a file in bytes; the largest official scenario has 25,000.
pub(super) const BYTES_MAX: usize = 4_000_000;

/// Parses the document in a file.
pub(super) fn load_yaml(file: &SourceLocation<'_>, content: &[u8]) -> Result<Value, DataError> {
    let text = str::from_utf8(content).map_err(|error| {
        let line = content.iter().take(error.valid_up_to()).filter(|byte| **byte == b'\n').count();
        file.line(line).problem("not UTF-8")
    })?;
    safe_load(text).map_err(|error| match &error {
        YamlError::Yaml { line, column, problem } => {
            file.line(line.saturating_sub(1)).problem(format!("not valid YAML at column {column}: {problem}"))
        }
        _ => file.problem(format!("not valid YAML: {error}")),
    })
}

/// Returns the text in `value`, or an error about `field`.
pub(super) fn text_at<'v>(
    place: &SourceLocation<'_>,
    value: Option<&'v Value>,
    field: &str,
) -> Result<&'v str, DataError> {
    value.and_then(Value::as_str).ok_or_else(|| must_be(place, field, "a text", value))
}

/// Makes the error for a field that is missing or has the wrong type.
pub(super) fn must_be(place: &SourceLocation<'_>, field: &str, expected: &str, found: Option<&Value>) -> DataError {
    match found {
        None => place.error(field, format!("is missing; it must be {expected}")),
        Some(found) => {
            let is_scalar = found.as_list().is_none() && found.as_dict().is_none();
            let advice = if expected == "a text" && is_scalar { "; put it in quotes" } else { "" };
            place.error(field, format!("must be {expected}, YAML reads it as {}{advice}", found.type_name()))
        }
    }
}
