//! How a scored golden case differs from what is expected.

use serde_json::Value;

const TOLERANCE: f64 = 1e-9;

/// Parts of a golden file that are compared.
const PARTS: [&str; 5] = ["aggregate", "items", "scenarios", "runs", "by_file"];

/// What is expected in any of the parts and was not found, or found otherwise. More may be found than is expected.
pub(crate) fn differences(expected: &Value, found: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for part in PARTS.iter().filter(|part| expected.get(**part).is_some()) {
        compare(part, &expected[*part], found.get(*part), &mut out);
    }
    out
}

fn compare(path: &str, expected: &Value, found: Option<&Value>, out: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Some(Value::Object(found))) => {
            for (key, value) in expected.iter().filter(|(key, _)| *key != "notes") {
                compare(&format!("{path}/{key}"), value, found.get(key), out);
            }
        }
        (Value::Array(expected), Some(Value::Array(found))) if expected.len() == found.len() => {
            for (at, (expected, found)) in expected.iter().zip(found).enumerate() {
                compare(&format!("{path}[{at}]"), expected, Some(found), out);
            }
        }
        (Value::Number(a), Some(Value::Number(b))) => {
            if (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() > TOLERANCE {
                out.push(format!("{path}: expected {a}, found {b}"));
            }
        }
        (expected, Some(found)) if expected == found => {}
        _ => out.push(format!("{path}: expected {expected}, found {found:?}")),
    }
}
