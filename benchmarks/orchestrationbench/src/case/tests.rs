//! Predictions that cannot be read. (The golden cases are scored through the benchmark's interface, in the crate's `tests`.)

use super::*;
use crate::data::shared::miniature;
use crate::decision::{Arguments, Name};

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

#[test]
fn predictions_are_read_as_python_reads_them() {
    let data = miniature();
    let scenario = data.scenarios.first().unwrap();
    let item = format!("{}/1/{}", scenario.name(), scenario.planning.first().unwrap());
    let calls = r#"[{"name": null, "arguments": {"a": 12345678901234567890123, "b": -0, "c": NaN}}]"#;
    let line = format!(r#"{{"item": "{item}", "output": "\ud800", "tool_calls": {calls}}}"#);
    let read = read_predictions(data, "case", "predictions.jsonl", line.as_bytes()).unwrap();
    let answer = read[0].answer.as_ref().unwrap();
    assert_eq!(answer.text.as_deref().map(|text| text.chars().count()), Some(1));
    let call = &answer.calls[0];
    assert_eq!(call.name, Name::Null);
    let Arguments::Object(arguments) = &call.arguments else { panic!("{call:?}") };
    let printed = regatta_pycompat::dumps(&regatta_pycompat::Json::Object(arguments.clone()).into()).unwrap();
    assert_eq!(printed, r#"{"a": 12345678901234567890123, "b": 0, "c": NaN}"#);
}
