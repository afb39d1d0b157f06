use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use regatta_proto::FileSet;
use serde_json::{Value as Json, json};

use super::{Extraction, extract, score_unit_parse};

fn score(texts: Vec<u8>) -> Json {
    let mut files = FileSet::from_origin("case");
    files.insert("texts.jsonl", texts);
    score_unit_parse(&files).unwrap()
}

/// Entry of a text, as in the golden files.
fn entry(text: &str) -> Json {
    let line = json!({ "id": "x", "text": text }).to_string();
    score(line.into_bytes())["items"]["x"].clone()
}

fn value(text: &str) -> Json {
    entry(text)["value"].clone()
}

#[test]
fn the_golden_texts_come_to_what_is_expected() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/benchmarks/orchestrationbench/golden/unit_parse");
    let (Ok(texts), Ok(expected)) =
        (std::fs::read(folder.join("texts.jsonl")), std::fs::read(folder.join("expected.json")))
    else {
        eprintln!("skipped: no golden texts at {}", folder.display());
        return;
    };
    let scored = score(texts);
    let expected: Json = serde_json::from_slice(&expected).unwrap();
    let items = expected["items"].as_object().unwrap();
    assert!(items.len() > 100);
    for (id, item) in items {
        assert_eq!(item.to_string(), scored["items"][id].to_string(), "{id}");
    }
    assert_eq!(items.len(), scored["items"].as_object().unwrap().len());
}

#[test]
fn what_comes_before_the_last_thought_does_not_count() {
    assert_eq!(
        value("{\"workflow_1\": 1}</think>{\"workflow_2\": 2}</think> {\"workflow_3\": 3}"),
        json!({"workflow_3": 3})
    );
    assert_eq!(entry("{\"workflow_1\": 1}</think>"), json!({"result": "none"}));
}

#[test]
fn the_first_fence_with_an_object_is_read_up_to_the_brace_before_its_end() {
    assert_eq!(value("```json\n{\"workflow_1\": {}}\n``` ```json {\"workflow_2\": {}}```"), json!({"workflow_1": {}}));
    assert_eq!(
        value("```json [] ``` ```json {\"workflow_2\": {\"a\": {}}}\u{a0}```"),
        json!({"workflow_2": {"a": {}}})
    );
    let in_a_text = "```json {\"workflow_1\": {\"q\": \"}```\"}}```";
    assert_eq!(entry(in_a_text), json!({"result": "none"}), "quotes do not protect");
}

#[test]
fn flat_objects_are_read_without_a_fence() {
    assert_eq!(value("x {\"workflow_a\": 1} y"), json!({"workflow_a": 1}));
    assert_eq!(entry("x {\"workflow_a\": 1}, {\"workflow_b\": 1} y")["result"], "none", "two objects are no JSON");
    assert_eq!(value("{\"a\": 1} {\"b\": 1, \"workflow_b\": 1}, {\"c\": 1}"), json!({"b": 1, "workflow_b": 1}));
}

#[test]
fn an_object_is_found_in_prose_by_counting_braces() {
    assert_eq!(value("So: [{\"workflow_1\": {\"a\": {}}}] ok"), json!({"workflow_1": {"a": {}}}));
    assert_eq!(value("{\"plan\": {\"workflow_1\": {\"a\": {}}}}"), json!({"workflow_1": {"a": {}}}), "the inner one");
    assert_eq!(value("x {\"workflow_１\": {\"a\": {}}}"), json!({"workflow_１": {"a": {}}}), "digits of any script");
    assert_eq!(entry("x {\"workflow_1\": {\"q\": \"}\", \"r\": {}}}")["result"], "none", "braces in quotes count");
}

#[test]
fn yaml_is_read_in_a_fence_bare_or_rebuilt() {
    assert_eq!(value("a\n```yaml\nworkflow_1:\n  steps: []\n```\nb"), json!({"workflow_1": {"steps": []}}));
    assert_eq!(value("workflow_1:\n  due: 2025-08-01"), json!({"workflow_1": {"due": {"__date__": "2025-08-01"}}}));
    assert_eq!(value("workflow_1\nstatus: pending"), json!({"workflow_1": {"status": "pending"}}));
    assert_eq!(value("workflow_1:\n\tstatus: pending"), json!({"workflow_1:": {"status": "pending"}}), "a tab");
    assert_eq!(value("{'workflow_1': {'ok': True,},}"), json!({"workflow_1": {"ok": true}}));
}

#[test]
fn other_exceptions_escape() {
    for (text, class) in [
        ("1: a\nworkflow_1: {}", "AttributeError"),
        ("~: a\nworkflow_1: {}", "AttributeError"),
        ("!!binary YQ==: a\nworkflow_1: {}", "TypeError"),
        ("workflow_1:\n  due: 2025-02-30", "ValueError"),
        ("workflow_1: !!int x", "ValueError"),
    ] {
        assert_eq!(entry(text), json!({"result": "exception", "type": class}), "{text}");
    }
    assert_eq!(entry(&format!("{{\"workflow_1\": {}}}", "9".repeat(4301)))["type"], "ValueError");
    assert_eq!(entry(&format!("{{\"workflow_1\": {}", "[".repeat(5000)))["type"], "RecursionError");
}

#[test]
fn aliases_that_stand_for_too_much_are_an_exception() {
    let mut text = "a0: &a0 [x, x]\n".to_owned();
    for level in 1..40 {
        text.push_str(&format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1));
    }
    text.push_str("workflow_1: *a39");
    assert!(matches!(extract(&text), Extraction::Exception("MemoryError")));
}

#[test]
fn an_alias_inside_its_own_anchor_is_no_endless_loop() {
    assert_eq!(value("workflow_1: &w\n  steps: [*w]"), json!({"workflow_1": {"steps": [{"__cycle__": "dict"}]}}));
}

#[test]
fn a_megabyte_of_anything_takes_no_more_than_seconds() {
    let unit = [
        "\"workflow_",
        "{",
        "{\"workflow_",
        "{\"workflow_1\":",
        "{\"workflow_1\": {",
        "}",
        "\"",
        "'",
        "```json",
        "```json {",
        "```json {}",
        "```yaml workflow_",
        "```yaml ",
        "workflow_1:\n",
        "workflow_1: ",
        "workflow_",
        "workflow_1: [",
        "workflow_1:\n\t- a",
        "- ",
        "? ",
        ": ",
        "&a ",
        "*a ",
        "!!str ",
        "\n",
        " ",
        "\t",
        "\u{3000}",
        "{a: ",
        "a: &a [*a]\n",
        "{\"workflow_1\":{}},",
        "한",
        "</think>",
        "|\n",
        "\"\\",
        "%a\n",
        "---\n",
    ];
    for unit in unit {
        let start = Instant::now();
        extract(&unit.repeat(1_000_000 / unit.len()));
        // Generous for an unoptimised build on a busy machine; quadratic time would take hours.
        assert!(start.elapsed() < Duration::from_secs(60), "{unit:?}");
    }
}

proptest! {
    #[test]
    fn any_text_comes_to_something(text in ".{0,200}") {
        extract(&text);
    }

    #[test]
    fn texts_of_the_parts_of_plans_come_to_something(parts in proptest::collection::vec(proptest::sample::select(vec![
        "\"workflow_", "workflow_1", "```json", "```yaml", "```", "{", "}", "[", "]", "\"", "'", ":", ",", "\n", "  ", "- ", "\t",
        "|", ">", "&a", "*a", "!!int", "<<: ", "? ", "2025-02-30", "1", "\\u12", "</think>", "한", "#", "---", "...",
    ]), 0..30)) {
        extract(&parts.concat());
    }
}

#[test]
fn lines_indented_anew_end_with_a_newline_which_a_block_keeps() {
    assert_eq!(value("workflow_1\na: |\nb"), json!({ "workflow_1": { "a": "b\n" } }));
}

#[test]
fn lone_surrogates_are_texts_in_json_and_no_characters_of_yaml() {
    assert!(value(r#"{"workflow_1": "\ud800"}"#)["workflow_1"].is_string());
    assert_eq!(entry("workflow_1: \u{10d800}"), json!({ "result": "none" }));
}
