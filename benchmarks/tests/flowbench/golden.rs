//! Every golden case through the same door as the command line.

use regatta_benchmarks::score_case;
use serde_json::Value;

use crate::harness::{case_files, shared, shared_files};

const TOLERANCE: f64 = 1e-9;

/// Parts of a golden file that are compared.
const PARTS: [&str; 5] = ["aggregate", "items", "by_file", "by_setting", "by_domain"];

/// What is expected and was not found, or found otherwise.
fn differences(path: &str, expected: &Value, found: Option<&Value>, out: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Some(Value::Object(found))) => {
            for (key, value) in expected.iter().filter(|(key, _)| *key != "notes") {
                differences(&format!("{path}/{key}"), value, found.get(key), out);
            }
        }
        (Value::Array(expected), Some(Value::Array(found))) if expected.len() == found.len() => {
            for (at, (expected, found)) in expected.iter().zip(found).enumerate() {
                differences(&format!("{path}[{at}]"), expected, Some(found), out);
            }
        }
        (Value::Number(a), Some(Value::Number(b))) if a.is_f64() || b.is_f64() => {
            if (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() > TOLERANCE {
                out.push(format!("{path}: expected {a}, found {b}"));
            }
        }
        (expected, Some(found)) if expected == found => {}
        _ => out.push(format!("{path}: expected {expected}, found {found:?}")),
    }
}

#[test]
fn every_golden_case_is_scored_as_expected() {
    let Some(shared) = shared() else { return };
    let data = shared_files(&shared);
    let (mut files, mut problems) = (0, Vec::new());
    for entry in std::fs::read_dir(shared.join("golden")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let case = case_files(&shared, &name);
        for (file, found) in score_case(&case, &data).unwrap() {
            let expected: Value = serde_json::from_slice(case.get(&file).unwrap()).unwrap();
            let mut out = Vec::new();
            for part in PARTS.iter().filter(|part| expected.get(**part).is_some()) {
                differences(part, &expected[*part], found.get(*part), &mut out);
            }
            if !out.is_empty() {
                problems.push(format!("{name}/{file}: {} differences, as {:#?}", out.len(), &out[..out.len().min(5)]));
            }
            files += 1;
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert_eq!(files, 24);
}
