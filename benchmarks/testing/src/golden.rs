//! Golden cases, scored through the entry point of the command line.

use std::path::Path;

use regatta_benchmarks::Benchmark;
use serde_json::Value;

use crate::{read_folder, shared};

const TOLERANCE: f64 = 1e-9;

/// Parts of a golden file that are compared; others are notes.
const PARTS: [&str; 7] = ["aggregate", "items", "scenarios", "runs", "by_file", "by_setting", "by_domain"];

/// Scores every case beside the published data, and returns how many files were compared; `None` where [`shared`] has no data.
///
/// # Panics
/// If a file differs from the expected one; all are listed.
pub fn score_every_case(benchmark: &dyn Benchmark) -> Option<usize> {
    let shared = shared(benchmark.name().as_str())?;
    Some(score_cases(benchmark, &shared.join("data"), &shared.join("golden")))
}

/// Scores every case below `golden` on the data set in the folder `data`, and returns how many files were compared.
///
/// # Panics
/// If a file differs from the expected one; all are listed.
pub fn score_cases(benchmark: &dyn Benchmark, data: &Path, golden: &Path) -> usize {
    let data = read_folder(data, Some(benchmark));
    let (mut files, mut problems) = (0, Vec::new());
    for entry in std::fs::read_dir(golden).unwrap() {
        let folder = entry.unwrap().path();
        let case = read_folder(&folder, None);
        for (file, found) in benchmark.score_case(&case, &data).unwrap() {
            let expected: Value = serde_json::from_slice(case.get(&file).unwrap()).unwrap();
            let out = differences(&expected, &found);
            if !out.is_empty() {
                let name = folder.join(&file);
                let some = &out[..out.len().min(5)];
                problems.push(format!("{}: {} differences, as {some:#?}", name.display(), out.len()));
            }
            files += 1;
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    files
}

/// Lists the values of `expected` that are missing or different in `found`. Further values in `found` are ignored.
fn differences(expected: &Value, found: &Value) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_found_wherever_it_is() {
        let expected = serde_json::json!({ "items": { "a": [1, { "b": 0.5 }], "c": "x" }, "notes": 1 });
        let mut found = expected.clone();
        assert_eq!(differences(&expected, &found), Vec::<String>::new());
        found["items"]["a"][1]["b"] = 0.5001.into();
        found["items"]["c"] = Value::Null;
        assert_eq!(differences(&expected, &found).len(), 2);
    }
}
