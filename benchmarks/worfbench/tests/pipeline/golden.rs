//! Every golden case through the same door as the command line, and the ceiling of a perfect copy.

use std::collections::BTreeMap;

use regatta_benchmark_testing::{differ, examples};
use regatta_benchmarks::{Persona, RecordedVerdicts, Registry, score_predictions};
use regatta_proto::{Evaluator, FileSet, Transcript};
use serde_json::Value;

use crate::harness::{answer, case_files, indices, miniature_files, official_files, published, shared, worfbench};

const BENCHMARKS: Registry = Registry::new(&[&regatta_worfbench::WorfBench]);
const TOLERANCE: f64 = 1e-9;

/// Differences between what is expected and what was found; fields that only say how a vector was made are passed over.
fn differences(path: &str, expected: &Value, found: &Value, out: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                if key != "tie_probe" {
                    let value = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
                    differences(&format!("{path}/{key}"), &value(a), &value(b), out);
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}[{at}]"), a, b, out);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            if (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() > TOLERANCE {
                out.push(format!("{path}: expected {a}, found {b}"));
            }
        }
        _ if expected == found => {}
        _ => out.push(format!("{path}: expected {expected}, found {found}")),
    }
}

#[test]
fn every_golden_case_is_scored_as_expected() {
    let Some(shared) = shared() else { return };
    let data = official_files(&shared);
    let mut files = 0;
    for entry in std::fs::read_dir(shared.join("golden")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let case = case_files(&shared, &name);
        for (file, found) in BENCHMARKS.score_case(&case, &data).unwrap() {
            let expected: Value = serde_json::from_slice(case.get(&file).unwrap()).unwrap();
            let mut out = Vec::new();
            for part in ["evaluator", "aggregate", "items"] {
                differences(part, &expected[part], &found[part], &mut out);
            }
            assert!(out.is_empty(), "{name}/{file}: {} differences, as {:#?}", out.len(), &out[..out.len().min(10)]);
            assert_eq!(found.as_object().unwrap().len(), 3);
            files += 1;
        }
    }
    assert_eq!(files, 16);
}

#[test]
fn a_perfect_copy_reaches_the_documented_ceiling() {
    let Some(shared) = shared() else { return };
    let case = case_files(&shared, "perfect_gold");
    let suite = worfbench().load(&official_files(&shared)).unwrap();
    let verdicts = RecordedVerdicts::read("judge.jsonl", case.get("judge.jsonl").unwrap()).unwrap();
    let predicted = suite.read_predictions("predictions.jsonl", case.get("predictions.jsonl").unwrap()).unwrap();
    let copies: Vec<_> = predicted
        .iter()
        .map(|(item, _)| (*item, Transcript::of_recorded(Some(&answer(&*suite, *item, Persona::Oracle, 1)))))
        .collect();
    let found = score_predictions(&*suite, None, Evaluator::Official, &copies, &verdicts).unwrap();
    let expected: Value = serde_json::from_slice(case.get("expected.json").unwrap()).unwrap();
    let mut out = Vec::new();
    differences("aggregate", &expected["aggregate"], &found.aggregate, &mut out);
    assert!(out.is_empty(), "{out:#?}");
    assert_eq!(found.not_predicted.count, 2146 - 330);

    let paper = score_predictions(&*suite, None, Evaluator::Paper, &copies, &verdicts).unwrap();
    let imperfect: Vec<&String> =
        paper.items.iter().filter(|(_, item)| item["chain"]["f1"] != 1.0).map(|(id, _)| id).collect();
    assert!(
        imperfect.iter().all(|id| ["intercodesql_192", "intercodesql_253", "intercodesql_308"].contains(&id.as_str()))
    );
    assert!(paper.items.values().all(|item| item["graph"]["f1"] == 1.0));
}

#[test]
fn the_ceiling_of_tasks_without_ties_does_not_depend_on_the_judge() {
    let Some(suite) = published() else { return };
    let mut means: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for item in indices(&*suite) {
        let task = suite.items()[item.0 as usize].task.to_string();
        if ["webshop", "os", "seal_tools"].contains(&task.as_str()) {
            let gold = answer(&*suite, item, Persona::Oracle, 0);
            let score = crate::harness::scored(&*suite, item, Evaluator::Official, Some(&gold));
            means.entry(task).or_default().push(score.values["f1_chain"]);
        }
    }
    let mean = |task: &str| means[task].iter().sum::<f64>() / means[task].len() as f64;
    assert_eq!((mean("webshop"), mean("os")), (1.0, 1.0));
    assert!((mean("seal_tools") - 0.8962).abs() < 5e-5, "{}", mean("seal_tools"));
}

fn case(files: &[(&str, &str)]) -> FileSet {
    let mut set = FileSet::from_origin("case");
    for (path, content) in files {
        set.insert(*path, content.as_bytes().to_vec());
    }
    set
}

#[test]
fn cases_that_cannot_be_scored_are_refused_with_the_reason() {
    const CASE: &str = r#"{"benchmark":"worfbench","case":"x","kind":"predictions","outputs":{"expected.json":"paper"},
        "inputs":["predictions.jsonl"],"params":{}}"#;
    let line = r#"{"item":"os_mini1","output":"1: something else"}"#;
    let refused =
        |files: &[(&str, &str)]| BENCHMARKS.score_case(&case(files), &miniature_files()).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            refused(&[]),
            refused(&[("case.json", "{")]),
            refused(&[("case.json", CASE)]),
            refused(&[("case.json", &CASE.replace("worfbench", "otherbench")), ("predictions.jsonl", line)]),
            refused(&[("case.json", &CASE.replace("\"predictions\"", "\"session\"")), ("predictions.jsonl", line)]),
            refused(&[("case.json", &CASE.replace("paper", "lenient")), ("predictions.jsonl", line)]),
            refused(&[("case.json", CASE), ("predictions.jsonl", line)]),
        ]
        .join("\n")
    );
}

#[test]
fn a_case_of_single_functions_has_no_outputs() {
    let unit = r#"{"benchmark":"worfbench","case":"unit","kind":"unit","outputs":{},"inputs":[],"params":{}}"#;
    assert!(BENCHMARKS.score_case(&case(&[("case.json", unit)]), &miniature_files()).unwrap().is_empty());
}

#[test]
fn answers_of_any_kind_are_scored_as_the_released_code_scores_them() {
    differ(worfbench(), &examples().join("data/worfbench"));
}
