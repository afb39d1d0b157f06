//! Source locations: the file, record and field that a data error is about.

use std::fmt::Display;

use regatta_proto::plain_message;
use serde_json::Value;

use crate::DataError;

/// A file, or a record in it.
#[derive(Debug, Clone)]
pub struct SourceLocation<'a> {
    origin: &'a str,
    path: &'a str,
    record: Option<String>,
}

impl<'a> SourceLocation<'a> {
    /// The whole file.
    pub fn file(origin: &'a str, path: &'a str) -> Self {
        Self { origin, path, record: None }
    }

    /// A record of an array, by position (counted from 0, shown from 1) and id.
    pub fn record(&self, position: usize, id: &str) -> Self {
        Self { record: Some(format!("record {} ({id})", position + 1)), ..*self }
    }

    /// A line, counted from 0 and shown from 1.
    pub fn line(&self, position: usize) -> Self {
        Self { record: Some(format!("line {}", position + 1)), ..*self }
    }

    /// The record, line or file, for messages.
    pub fn name(&self) -> String {
        self.record.clone().unwrap_or_else(|| self.path.to_owned())
    }

    /// Makes an error about a field.
    pub fn error(&self, field: &str, problem: impl Display) -> DataError {
        let place = match &self.record {
            Some(record) => format!("{record}, field {field}"),
            None => format!("field {field}"),
        };
        self.malformed(place, problem.to_string())
    }

    /// Makes an error about the whole file or record.
    pub fn problem(&self, problem: impl Display) -> DataError {
        self.malformed(self.record.clone().unwrap_or_else(|| "whole file".to_owned()), problem.to_string())
    }

    /// Makes an error of a text that is not JSON or has an unexpected form. For a file it gives the line of the JSON
    /// error, for a line its column.
    pub fn json(&self, error: &serde_json::Error) -> DataError {
        let place = match &self.record {
            Some(record) => format!("{record}, column {}", error.column()),
            None => format!("line {}, column {}", error.line(), error.column()),
        };
        let said = error.to_string();
        let problem = said.split(" at line ").next().unwrap_or(&said);
        let problem = if error.is_data() { plain_message(problem) } else { format!("not valid JSON: {problem}") };
        self.malformed(place, problem)
    }

    /// Returns the text in a field of an object, or an error that names the field and the kind that was found.
    pub fn text<'v>(&self, object: &'v Value, field: &str) -> Result<&'v str, DataError> {
        self.text_at(object.get(field), field)
    }

    /// Returns the text in `value`, which error messages call `field`.
    pub fn text_at<'v>(&self, value: Option<&'v Value>, field: &str) -> Result<&'v str, DataError> {
        match value {
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(self.error(field, format!("must be a text, is {}", kind_of(other)))),
            None => Err(self.error(field, "is missing; it must be a text")),
        }
    }

    /// Returns the array in a field of an object, or an error that names the field.
    pub fn array<'v>(&self, object: &'v Value, field: &str) -> Result<&'v [Value], DataError> {
        match object.get(field) {
            Some(Value::Array(values)) => Ok(values),
            Some(other) => Err(self.error(field, format!("must be an array, is {}", kind_of(other)))),
            None => Err(self.error(field, "is missing; it must be an array")),
        }
    }

    /// Makes an error about several lines of the file.
    pub(crate) fn bad_lines(&self, problem: String) -> DataError {
        DataError::BadLines { origin: self.origin.to_owned(), path: self.path.to_owned(), problem }
    }

    fn malformed(&self, place: String, problem: String) -> DataError {
        DataError::Malformed { origin: self.origin.to_owned(), path: self.path.to_owned(), place, problem }
    }
}

/// Parses the non-empty lines of a JSONL file and yields each with its location. A line that is not UTF-8 or not JSON
/// is an error.
pub fn lines<'c>(
    file: &SourceLocation<'c>,
    content: &'c [u8],
) -> impl Iterator<Item = Result<(SourceLocation<'c>, Value), DataError>> {
    content.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty()).map(
        |(number, line)| {
            let place = file.line(number);
            match serde_json::from_slice::<Value>(line) {
                Ok(value) => Ok((place, value)),
                Err(error) => Err(place.json(&error)),
            }
        },
    )
}

/// Returns the kind of a JSON value as a phrase for messages, such as `a number`.
pub const fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
