//! Every golden case, scored and compared.

use regatta_proto::FileSet;
use serde_json::Value;

use super::score;
use crate::appbench::vectors::{data, document, shared};
use crate::case::Case;

/// Says how a vector was made; not part of a score.
const PASSED_OVER: [&str; 2] = ["notes", "tags"];

/// Where `got` lacks something of what is wanted, numbers to within 1e-9; it may hold more.
fn differences(want: &Value, got: &Value, place: &str, out: &mut Vec<String>) {
    match (want, got) {
        (Value::Object(want), Value::Object(got)) => {
            for (key, want) in want.iter().filter(|(key, _)| !PASSED_OVER.contains(&key.as_str())) {
                match got.get(key) {
                    Some(got) => differences(want, got, &format!("{place}/{key}"), out),
                    None => out.push(format!("{place}/{key}: missing")),
                }
            }
        }
        (Value::Array(want), Value::Array(got)) if want.len() == got.len() => {
            for (at, (want, got)) in want.iter().zip(got).enumerate() {
                differences(want, got, &format!("{place}[{at}]"), out);
            }
        }
        (Value::Number(want), Value::Number(got)) => {
            let (want, got) = (want.as_f64().unwrap(), got.as_f64().unwrap());
            if (want - got).abs() > 1e-9 * want.abs().max(1.0) {
                out.push(format!("{place}: want {want}, got {got}"));
            }
        }
        _ if want == got => {}
        _ => out.push(format!("{place}: want {want}, got {got}")),
    }
}

fn check(names: &[&str]) {
    let (Some(shared), Some(data)) = (shared(), data()) else { return };
    for name in names {
        let folder = shared.join("golden").join(name);
        let mut files = FileSet::from_origin(*name);
        for file in ["case.json", "predictions.jsonl"] {
            files.insert(file, std::fs::read(folder.join(file)).unwrap());
        }
        let outputs = score(&Case::read(&files).unwrap(), &files, &data).unwrap();
        assert!(!outputs.is_empty());
        for (file, got) in outputs {
            let want = document(&folder.join(&file));
            let mut out = Vec::new();
            for part in ["evaluator", "aggregate", "items"] {
                differences(&want[part], &got[part], part, &mut out);
            }
            let shown = out[..out.len().min(10)].join("\n");
            assert!(out.is_empty(), "{name}/{file}: {} differences\n{shown}", out.len());
            let lengths = [&want, &got].map(|value| value["items"].as_object().unwrap().len());
            assert_eq!(lengths[0], lengths[1], "{name}");
        }
    }
}

#[test]
fn gold_plans_are_scored_as_by_the_official_code() {
    check(&["gold-all", "true-values"]);
}

#[test]
fn perturbed_plans_are_scored_as_by_the_official_code() {
    check(&["mixed-ss", "mixed-sm", "mixed-ms", "mixed-mm"]);
}

#[test]
fn odd_texts_are_read_as_by_the_official_code() {
    check(&["edges"]);
}

#[test]
fn items_without_selected_apps_are_left_out_and_numbered_apps_are_revised() {
    check(&["hierarchical"]);
}

#[test]
fn plans_have_the_official_shapes() {
    check(&["topology"]);
}

#[test]
fn plans_are_scored_as_the_paper_means_it() {
    check(&["paper-mixed"]);
}

#[test]
fn plans_are_executed_as_specified() {
    check(&["exec-mixed"]);
}
