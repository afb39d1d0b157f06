//! Turns and conversations against the golden vectors of the released code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regatta_benchmark_testing::{document, lines};
use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use serde_json::Value;

use super::case::{conversation_item, error_counts, turn_inference_item};
use crate::vectors::shared;

/// Computes a case's items and compares them completely.
fn check(folder: &Path, counted: &str, item: impl Fn(&SourceLocation<'_>, &Value) -> Result<Value, DataError>) {
    let expected = document(&folder.join("expected.json"));
    let mut items = Vec::new();
    for line in lines(&folder.join("predictions.jsonl")) {
        let name = line["item"].as_str().unwrap();
        let got = item(&SourceLocation::file("here", "predictions.jsonl"), &line).unwrap();
        assert_eq!(expected["items"][name], got, "{name}");
        items.push(got);
    }
    assert_eq!(items.len(), expected["items"].as_object().unwrap().len());
    assert_eq!(expected["aggregate"], error_counts(counted, &items));
}

#[test]
fn every_golden_turn_is_inferred_as_by_the_released_code() {
    let Some(shared) = shared() else { return };
    check(&shared.join("golden/turn-inference"), "items", turn_inference_item);
}

/// Returns the names of the tools by session.
fn tools_by_session(shared: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let scenarios = lines(&shared.join("data/data/workflow_final.jsonl"));
    let tools = |session: &Value| {
        let known = scenarios.iter().filter(|scenario| match session["setting"].as_str().unwrap() {
            "single" => scenario["uuid"] == session["scenarios"][0]["uuid"],
            _ => scenario["role"] == session["role"],
        });
        let apis = known.flat_map(|scenario| scenario["apis"].as_array().unwrap());
        apis.map(|api| api["api_name"].as_str().unwrap().to_owned()).collect()
    };
    let files = ["sessions_single.jsonl", "sessions_cross.jsonl"];
    let sessions = files.iter().flat_map(|file| lines(&shared.join("data/synthetic").join(file)));
    sessions.map(|session| (session["session_id"].as_str().unwrap().to_owned(), tools(&session))).collect()
}

#[test]
fn every_golden_conversation_goes_as_by_the_released_code() {
    let Some(shared) = shared() else { return };
    let tools = tools_by_session(&shared);
    check(&shared.join("golden/sim-loop"), "sessions", |place, line| {
        let session = line["item"].as_str().unwrap().split('#').next().unwrap();
        conversation_item(place, line, tools[session].clone())
    });
}
