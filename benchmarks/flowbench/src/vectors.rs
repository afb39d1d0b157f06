//! Golden vectors and official data for unit tests.

use std::path::PathBuf;

use serde_json::Value;

/// Returns the folder with the published data and golden cases, if it exists.
pub(crate) fn shared() -> Option<PathBuf> {
    regatta_benchmark_testing::shared("flowbench")
}

/// Asserts that everything in `expected` is in `got`, numbers to within 1e-9; `got` may contain more.
pub(crate) fn assert_alike(expected: &Value, got: &Value, place: &str) {
    match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => {
            for (key, value) in expected {
                assert_alike(value, got.get(key).unwrap_or(&Value::Null), &format!("{place}/{key}"));
            }
        }
        (Value::Number(expected), Value::Number(got)) => {
            let (expected, got) = (expected.as_f64().unwrap(), got.as_f64().unwrap());
            assert!((expected - got).abs() <= 1e-9, "{place}: {got}, not {expected}");
        }
        _ => assert_eq!(expected, got, "{place}"),
    }
}
