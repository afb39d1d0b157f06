//! Classification of calls and rejections, and the counts of calls.

use std::collections::BTreeSet;

use proptest::prelude::*;
use regatta_pycompat::parse;
use serde_json::json;

use super::canonical::canonical;
use super::class::decided_by_paper;
use super::integer::is_integer;
use super::pattern::matches_at_start;
use super::quality::set_f1;
use super::reason::Reason;
use super::schema::Schemas;
use super::*;
use crate::data::{Agents, Card};

fn named(name: &str) -> Name {
    Name::Text(name.to_owned())
}

fn called(name: &str, arguments: &str) -> Call {
    Call { name: named(name), arguments: Arguments::Text(arguments.to_owned()) }
}

fn calls(calls: Vec<Call>) -> Answer {
    Answer { text: Some("AWAITING_USER_INPUT".to_owned()), calls }
}

fn says(text: &str) -> Answer {
    Answer { text: Some(text.to_owned()), calls: Vec::new() }
}

fn class(answer: &Answer) -> Class {
    decided(answer).unwrap().class()
}

fn crash(answer: &Answer) -> String {
    decided(answer).unwrap_err().to_string()
}

fn arguments(text: &str) -> Aggregated {
    let mut arguments = Aggregated::default();
    arguments.add_text(text).unwrap();
    arguments
}

fn agents(properties: serde_json::Value) -> Agents {
    let tool = regatta_proto::Tool {
        name: "book".into(),
        description: None,
        parameters: std::sync::Arc::new(json!({"type": "object", "properties": properties})),
    };
    Agents::new(vec![Card {
        agent_id: "travel_agent".into(),
        name: "Travel".into(),
        description: "".into(),
        skills: Vec::new(),
        tools: vec![tool],
    }])
}

fn quality(predicted: &str, gold: &str, properties: serde_json::Value) -> Quality {
    let side = |text: &str| Called { names: vec![named("book")], arguments: arguments(text) };
    Quality::new(&side(predicted), &side(gold), &agents(properties))
}

fn counts(predicted: &str, gold: &str, schema: serde_json::Value) -> (usize, usize, usize, &'static str) {
    let quality = quality(&format!("{{\"x\": {predicted}}}"), &format!("{{\"x\": {gold}}}"), json!({"x": schema}));
    let counts = &quality.keys["x"];
    (counts.tp, counts.fp, counts.fn_, counts.reason.name())
}

#[test]
fn a_rejection_is_a_word_in_the_text_and_asking_goes_before_refusing() {
    assert_eq!(class(&says("<think>not AWAITING_USER_INPUT</think>ok")), Class::AwaitingUserInput);
    assert_eq!(class(&says("TOOL_CONSTRAINT_VIOLATION or AWAITING_USER_INPUT")), Class::AwaitingUserInput);
    assert_eq!(class(&says("TOOL_CONSTRAINT_VIOLATION")), Class::ToolConstraintViolation);
    assert_eq!(class(&calls(vec![called("a", r#"{"TOOL_CONSTRAINT_VIOLATION": 1}"#)])), Class::ToolConstraintViolation);
}

#[test]
fn plain_text_is_officially_a_call_of_the_tool_without_a_name() {
    let nothing = Answer::default();
    for answer in [says("awaiting_user_input"), says("<tool_call>{}</tool_call>"), nothing] {
        let Decided::Call(call) = decided(&answer).unwrap() else { panic!("{answer:?}") };
        assert_eq!((call.names, call.arguments.keys().count()), (vec![named("")], 0));
        assert_eq!(decided_by_paper(Some(&answer)).unwrap().class(), Class::Failed);
    }
    assert_eq!(decided_by_paper(None).unwrap().class(), Class::Failed);
}

#[test]
fn calls_go_before_the_text_and_any_call_is_one_for_the_paper() {
    assert_eq!(class(&calls(vec![called("a", "{}")])), Class::Call);
    let asking = calls(vec![called("a", r#"{"AWAITING_USER_INPUT": ""}"#)]);
    assert_eq!(class(&asking), Class::AwaitingUserInput);
    assert_eq!(decided_by_paper(Some(&asking)).unwrap().class(), Class::Call);
}

#[test]
fn a_tool_named_null_is_called_all_the_same_and_is_never_the_golds() {
    let null = calls(vec![Call { name: Name::Null, arguments: Arguments::Text("{}".to_owned()) }]);
    let Decided::Call(call) = decided(&null).unwrap() else { panic!("no call") };
    let gold = Called { names: vec![named("")], arguments: Aggregated::default() };
    assert_eq!(Quality::new(&call, &gold, &agents(json!({}))).name_f1, 0.0);
}

#[test]
fn what_the_official_code_crashes_on_is_named() {
    let null = Call { name: named("a"), arguments: Arguments::Null };
    let nameless = Call { name: Name::Missing, arguments: Arguments::Null };
    let deep = "[".repeat(2000);
    let long = format!("{{\"n\": {}}}", "9".repeat(4301));
    insta::assert_snapshot!(
        [
            crash(&calls(vec![null])),
            crash(&calls(vec![called("a", "{}"), nameless])),
            crash(&calls(vec![called("a", "null")])),
            crash(&calls(vec![called("a", "[1]")])),
            crash(&calls(vec![called("a", "\"text\"")])),
            crash(&calls(vec![called("a", "1.5")])),
            crash(&calls(vec![called("a", "x"), called("a", r#"{"error": 1}"#)])),
            crash(&calls(vec![called("a", &deep)])),
            crash(&calls(vec![called("a", &long)])),
        ]
        .join("\n")
    );
}

#[test]
fn a_complaint_about_undecodable_arguments_counts_its_characters() {
    let (_, all) = Aggregated::of_calls(&[called("a", r#"{"error": 1}"#), called("a", "é}")]).unwrap();
    let gold = Called { names: vec![named("a")], arguments: Aggregated::default() };
    let counted = Quality::new(&Called { names: vec![named("a")], arguments: all }, &gold, &agents(json!({})));
    let error = &counted.keys["error"];
    assert_eq!((error.fp, error.reason), ("Invalid JSON in arguments: é}".chars().count(), Reason::KeyMissingInActual));
    assert_eq!((counted.name_f1, counted.key_f1), (1.0, 0.0));
}

#[test]
fn values_over_several_calls_are_sets_by_key() {
    let mut predicted = arguments(r#"{"x": "a", "y": 1}"#);
    predicted.add_text(r#"{"x": "a"}"#).unwrap();
    predicted.add_text(r#"{"x": "b"}"#).unwrap();
    let called = |arguments| Called { names: vec![named("a"), named("b")], arguments };
    let counted = Quality::new(&called(predicted), &called(arguments(r#"{"x": "b", "z": [1]}"#)), &agents(json!({})));
    let of = |key: &str| {
        let counts = &counted.keys[key];
        (counts.tp, counts.fp, counts.fn_, counts.reason.name())
    };
    assert_eq!(of("x"), (1, 1, 0, "exact_comparison"));
    assert_eq!(of("y"), (0, 1, 0, "key_missing_in_actual"));
    assert_eq!(of("z"), (0, 0, 1, "key_missing_in_predicted"));
    assert_eq!(counted.key_f1, 0.5);
}

#[test]
fn automatic_checks_spare_the_judge_in_their_order() {
    assert_eq!(counts("\"a\"", "\"b\"", json!({"type": "string"})), (0, 1, 1, "judge"));
    assert_eq!(counts("\"a\"", "\"b\"", json!({})), (0, 1, 1, "judge"));
    assert_eq!(counts("\"3 \"", "4", json!({"type": "integer"})), (0, 1, 1, "judge"));
    assert_eq!(counts("3.0", "4", json!({"type": "integer", "enum": [3, 4]})), (0, 1, 1, "type_mismatch"));
    assert_eq!(counts("3", "4", json!({"type": "number"})), (0, 1, 1, "type_mismatch"));
    assert_eq!(counts("[3]", "[4]", json!({"type": "array"})), (0, 1, 1, "type_mismatch"));
    assert_eq!(counts("[3]", "[4]", json!({"type": ["string", "array"]})), (0, 1, 1, "judge"));
    assert_eq!(counts("[3]", "[4]", json!({"type": []})), (0, 1, 1, "judge"));
    assert_eq!(counts("\"a\"", "\"b\"", json!({"items": {"enum": ["a", "b"]}})), (0, 1, 1, "enum_exact_comparison"));
    let date = json!({"type": "string", "pattern": r"^\d{4}-\d{2}$"});
    assert_eq!(counts("\"25-01\"", "\"2025-01\"", date.clone()), (0, 1, 1, "pattern_mismatch"));
    assert_eq!(counts("\"2025-02\\n\"", "\"2025-01\"", date), (0, 1, 1, "judge"));
    let twice = json!({"pattern": r"^\\d$"});
    assert_eq!(counts("\"5\"", "\"6\"", twice), (0, 1, 1, "judge"));
}

#[test]
fn a_property_is_looked_up_in_the_predicted_tools_that_exist() {
    let agents = agents(json!({"x": {"type": "number"}}));
    let settles = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Schemas::new(&agents, names.iter().map(String::as_str)).settles("x", &["1".to_owned()], 1)
    };
    assert_eq!(settles(&["unknown", "book", "book"]), Some(Reason::TypeMismatch));
    assert_eq!(settles(&["unknown", ""]), None);
}

#[test]
fn canonical_texts_are_those_of_python() {
    let text = |json: &str| canonical(&parse(json).unwrap()).into_owned();
    assert_eq!(text("true"), "True");
    assert_eq!(text("null"), "None");
    assert_eq!(text("1.0"), "1.0");
    assert_eq!(text("1e16"), "1e+16");
    assert_eq!(text("-0"), "0");
    assert_eq!(text("NaN"), "nan");
    assert_eq!(text("123456789012345678901234567890"), "123456789012345678901234567890");
    assert_eq!(text(r#"["b", 1, "a'"]"#), r#"['1', "a'", 'b']"#);
    assert_eq!(text(r#"{"b": [2, 1], "a": {"c": null}}"#), r#"{'a': "{'c': 'None'}", 'b': "['1', '2']"}"#);
    assert_eq!(text("[[[[1]]]]"), r#"['[\'["[\\\'1\\\']"]\']']"#);
}

#[test]
fn deep_nesting_stays_small_and_comparable() {
    let nested = |depth: usize, inner: &str| {
        let json = format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth));
        canonical(&parse(&json).unwrap()).into_owned()
    };
    assert!(nested(900, "1").len() < 100_000);
    assert_eq!(nested(900, "[2, 1]"), nested(900, "[1, 2]"));
    assert_ne!(nested(900, "1"), nested(900, "2"));
    assert_ne!(nested(900, "1"), nested(899, "1"));
}

#[test]
fn integers_are_what_int_takes() {
    assert!(["7", " +7\n", "-0", "1_000", "٣٩", "007", "\u{3000}5"].into_iter().all(is_integer));
    assert!(!["", "+", "1_", "_1", "1__0", "1.0", "1e3", "0x1", "+ 1", "--1", "True", "²"].into_iter().any(is_integer));
    assert!(is_integer(&"9".repeat(4300)) && !is_integer(&"9".repeat(4301)));
}

#[test]
fn patterns_match_as_pythons_re_does() {
    let matches = |pattern: &str, text: &str| matches_at_start(pattern, text);
    assert_eq!(matches(r"^\d{2}$", "12\n"), Some(true));
    assert_eq!(matches(r"^\d{2}$", "12\n\n"), Some(false));
    assert_eq!(matches(r"^\d{2}\Z", "12\n"), Some(false));
    assert_eq!(matches(r"\d", "٣x"), Some(true));
    assert_eq!(matches(r"b", "ab"), Some(false));
    assert_eq!(matches(r"a|b", "bc"), Some(true));
    assert_eq!(matches(r"\w+$", "한글_é²"), Some(true));
    assert_eq!(matches(r"\w", "\u{301}"), Some(false));
    assert_eq!(matches(r"[\w\-]+$", "a-b"), Some(true));
    assert_eq!(matches(r"[^\s]$", "\u{1f}"), Some(false));
    assert_eq!(matches(r"[]&&a[]+$", "]&a["), Some(true));
    assert_eq!(matches(r"(?=.*\d)(?!ab)[a-z\d]+$", "b1"), Some(true));
    assert_eq!(matches(r"(?=.*\d)(?!ab)[a-z\d]+$", "ab1"), Some(false));
    assert_eq!(matches(r"[\uAC00-\uD7A3]+$", "서울"), Some(true));
    assert_eq!(matches(r"(", "x"), None);
}

#[test]
fn a_pattern_that_never_ends_is_given_up() {
    assert_eq!(matches_at_start(r"(?:(a*)*)*\1b$", &"a".repeat(60)), Some(false));
}

#[test]
fn counters_of_calls_mirror_those_of_rejections() {
    let of = |actual, decided| Confusion::of(actual, decided).to_json().to_string();
    insta::assert_snapshot!(
        [
            of(Class::Call, Class::Call),
            of(Class::Call, Class::AwaitingUserInput),
            of(Class::AwaitingUserInput, Class::Call),
            of(Class::AwaitingUserInput, Class::AwaitingUserInput),
            of(Class::GeneralRejection, Class::ToolConstraintViolation),
        ]
        .join("\n")
    );
}

#[test]
fn sets_of_nothing_are_alike() {
    let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(set_f1(&set(&[]), &set(&[])), 1.0);
    assert_eq!(set_f1(&set(&["a"]), &set(&[])), 0.0);
    assert_eq!(set_f1(&set(&["a", "b"]), &set(&["a"])), 2.0 / 3.0);
}

fn json_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[0-9eE.+-]{1,6}",
        "\"[^\"\\\\\u{0}-\u{1f}]{0,6}\"",
        Just("null".to_owned()),
        Just("NaN".to_owned()),
        Just("true".to_owned()),
    ];
    leaf.prop_recursive(6, 40, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|values| format!("[{}]", values.join(","))),
            proptest::collection::vec(("[a-c]|error", inner), 0..4).prop_map(|entries| {
                let entries: Vec<String> = entries.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_call_makes_scoring_panic(texts in proptest::collection::vec(prop_oneof![json_text(), any::<String>()], 0..4), gold in json_text()) {
        let answer = calls(texts.iter().map(|text| called("book", text)).collect());
        let mut golden = Called { names: vec![named("book")], arguments: Aggregated::default() };
        let _crashed = golden.arguments.add_text(&gold);
        if let Ok(Decided::Call(call)) = decided(&answer) {
            let schema = json!({"a": {"type": "integer"}, "b": {"pattern": "^x$"}, "c": {"enum": [1]}});
            let quality = Quality::new(&call, &golden, &agents(schema));
            prop_assert!((0.0..=1.0).contains(&quality.name_f1) && (0.0..=1.0).contains(&quality.key_f1));
            for counts in quality.keys.values() {
                prop_assert!(counts.tp + counts.fp + counts.fn_ > 0);
                prop_assert_eq!(counts.unsettled.is_some(), counts.reason == Reason::Judge);
            }
        }
    }

    #[test]
    fn a_call_beside_itself_is_perfect(text in json_text()) {
        let mut arguments = Aggregated::default();
        if arguments.add_text(&text).is_ok() {
            let call = Called { names: vec![named("book")], arguments };
            let quality = Quality::new(&call, &call, &agents(json!({})));
            prop_assert_eq!((quality.name_f1, quality.key_f1), (1.0, 1.0));
            prop_assert!(quality.keys.values().all(|counts| counts.fp == 0 && counts.fn_ == 0));
        }
    }

    #[test]
    fn no_pattern_and_no_text_make_matching_panic(pattern in any::<String>(), text in any::<String>()) {
        let _matched = matches_at_start(&pattern, &text);
        let _integer = is_integer(&text);
    }
}
