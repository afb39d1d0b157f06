//! Lines of JSON, whatever their fields are called.

use std::str::FromStr;

use serde_json::Value;

use super::{Prediction, Predictions, PredictionsError};

/// The way to a field: names, and positions in lists, with dots between, as `resps.0.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath(Vec<String>);

impl FromStr for FieldPath {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<String> = text.split('.').map(str::to_owned).collect();
        match names.iter().any(String::is_empty) {
            true => Err("write names with dots between, as doc.id or resps.0.0".to_owned()),
            false => Ok(Self(names)),
        }
    }
}

impl FieldPath {
    fn find<'v>(&self, line: &'v Value) -> Result<&'v Value, String> {
        let mut found = line;
        for name in &self.0 {
            let next = match found {
                Value::Object(fields) => fields.get(name),
                Value::Array(values) => name.parse().ok().and_then(|at: usize| values.get(at)),
                _ => None,
            };
            found = next.ok_or_else(|| {
                let there = match found {
                    Value::Object(fields) => fields.keys().cloned().collect::<Vec<_>>().join(", "),
                    Value::Array(values) => format!("a list of {}", values.len()),
                    _ => "a value without fields".to_owned(),
                };
                format!("there is no {:?} on the way to {}; there is {there}", name, self.0.join("."))
            })?;
        }
        Ok(found)
    }
}

pub(super) fn read(content: &[u8], item: &FieldPath, output: &FieldPath) -> Result<Predictions, PredictionsError> {
    let mut read = Predictions::default();
    for (number, line) in (1..).zip(content.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let problem = |problem: String| PredictionsError::Content { place: format!("line {number}"), problem };
        let line: Value = serde_json::from_slice(line).map_err(|error| problem(format!("it is not JSON: {error}")))?;
        let item = match item.find(&line).map_err(problem)? {
            Value::String(id) => id.clone(),
            Value::Number(id) => id.to_string(),
            other => return Err(problem(format!("the item must be a text or a number, found {other}"))),
        };
        let output = match output.find(&line).map_err(problem)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => return Err(problem(format!("the answer must be a text or null, found {other}"))),
        };
        read.predictions.push(Prediction { item, output });
    }
    Ok(read)
}
