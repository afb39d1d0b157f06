//! The golden cases, and predictions that cannot be read.

use std::path::Path;

use regatta_proto::FileSet;
use serde_json::Value;

use super::*;
use crate::orchestrationbench::data::shared::{miniature, official, shared};

/// As the tool that compares scorers does.
const PASSED_OVER: [&str; 9] =
    ["notes", "tie_probe", "diag", "perturbation", "perturbations", "judge_calls", "ops", "style", "tags"];

/// Adds what is expected and not found; more may be found.
fn differences(path: &str, expected: &Value, found: &Value, out: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (key, value) in expected.iter().filter(|(key, _)| !PASSED_OVER.contains(&key.as_str())) {
                match found.get(key) {
                    Some(found) => differences(&format!("{path}/{key}"), value, found, out),
                    None => out.push(format!("{path}/{key}: missing")),
                }
            }
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (at, (expected, found)) in expected.iter().zip(found).enumerate() {
                differences(&format!("{path}[{at}]"), expected, found, out);
            }
        }
        (Value::Number(expected), Value::Number(found)) => {
            let (expected, found) = (expected.as_f64().unwrap(), found.as_f64().unwrap());
            if (expected - found).abs() > 1e-9 * expected.abs().max(1.0) {
                out.push(format!("{path}: expected {expected}, found {found}"));
            }
        }
        _ if expected == found => {}
        _ => out.push(format!("{path}: expected {expected}, found {found}")),
    }
}

fn case_files(folder: &Path) -> FileSet {
    let mut files = FileSet::from_origin(folder.file_name().unwrap().to_string_lossy());
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        files.insert(entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
    }
    files
}

#[test]
fn every_golden_case_is_scored_as_expected() {
    let (Some(folder), Some(data)) = (shared(), official()) else { return };
    let mut compared = 0;
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder.join("golden")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let files = case_files(&entry.path());
        let case = Case::read(&files).unwrap();
        let found = score_case(&case, &files, data).unwrap();
        assert_eq!(found.len(), case.outputs.len());
        for (file, found) in found {
            let expected: Value = serde_json::from_slice(files.get(&file).unwrap()).unwrap();
            let mut out = Vec::new();
            for part in ["evaluator", "language", "num_runs", "judge", "aggregate", "scenarios", "runs", "items"] {
                if let Some(expected) = expected.get(part) {
                    differences(part, expected, &found[part], &mut out);
                }
            }
            if !out.is_empty() {
                wrong.push(format!("{name}/{file}: {} differences, as {:#?}", out.len(), &out[..out.len().min(10)]));
            }
            compared += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared >= 9, "{compared}");
}

#[test]
fn predictions_that_cannot_be_read_are_refused_with_line_and_field() {
    let data = miniature();
    let scenario = data.scenarios.first().unwrap();
    let name = scenario.name();
    let step = scenario.planning.first().unwrap();
    let refused = |lines: &str| {
        let lines = lines.replace("ITEM", &format!("{name}/1/{step}"));
        read_predictions(data, "case", "predictions.jsonl", lines.as_bytes()).unwrap_err().to_string()
    };
    insta::assert_snapshot!(
        [
            refused("{"),
            refused(r#"{"output": "x"}"#),
            refused(r#"{"item": "EN", "output": "x"}"#),
            refused(r#"{"item": "EN/1/0/3"}"#),
            refused(r#"{"item": "EN/none/1/3"}"#),
            refused(&format!(r#"{{"item": "{name}/1/9999"}}"#)),
            refused("{\"item\": \"ITEM\"}\n\n{\"item\": \"ITEM\"}"),
            refused(r#"{"item": "ITEM", "output": 1}"#),
            refused(r#"{"item": "ITEM", "failed": "yes"}"#),
            refused(r#"{"item": "ITEM", "tool_calls": {}}"#),
            refused(r#"{"item": "ITEM", "tool_calls": ["x"]}"#),
            refused(r#"{"item": "ITEM", "tool_calls": [{"name": 1, "arguments": "{}"}]}"#),
            refused(r#"{"item": "ITEM", "tool_calls": [{"name": "a", "arguments": [1]}]}"#),
            refused(r#"{"item": "ITEM", "tool_calls": [{"name": "a"}]}"#),
        ]
        .join("\n")
    );
}
