//! Tests on the golden pairs of plans, skipped when these are absent.

use std::path::PathBuf;

use regatta_proto::FileSet;
use serde_json::Value as Json;

use super::score_unit_ged;

/// The folder of the golden pairs beside the project, if there is one.
fn folder() -> Option<PathBuf> {
    Some(regatta_benchmark_testing::shared("orchestrationbench")?.join("golden/unit_ged"))
}

fn assert_alike(expected: &Json, got: &Json, place: &str) {
    match (expected, got) {
        (Json::Object(expected), Json::Object(got)) => {
            assert_eq!(expected.keys().collect::<Vec<_>>(), got.keys().collect::<Vec<_>>(), "{place}");
            for (key, value) in expected {
                assert_alike(value, &got[key], &format!("{place}/{key}"));
            }
        }
        (Json::Array(expected), Json::Array(got)) => {
            assert_eq!(expected.len(), got.len(), "{place}");
            for (at, (expected, got)) in expected.iter().zip(got).enumerate() {
                assert_alike(expected, got, &format!("{place}/{at}"));
            }
        }
        (Json::Number(expected), Json::Number(got)) => {
            let (expected, got) = (expected.as_f64().unwrap(), got.as_f64().unwrap());
            assert!((expected - got).abs() <= 1e-9, "{place}: {got}, not {expected}");
        }
        _ => assert_eq!(expected, got, "{place}"),
    }
}

#[test]
fn the_golden_pairs_have_the_golden_graphs_and_distances() {
    let Some(folder) = folder() else { return };
    let mut files = FileSet::from_origin("unit_ged".to_owned());
    files.insert("pairs.jsonl".to_owned(), std::fs::read(folder.join("pairs.jsonl")).unwrap());
    let got = score_unit_ged(&files).unwrap();
    let expected: Json = serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    assert!(expected["items"].as_object().unwrap().len() >= 500);
    for part in ["statistics", "items"] {
        assert_alike(&expected[part], &got[part], part);
    }
}
