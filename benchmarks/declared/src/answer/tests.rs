use proptest::prelude::*;
use serde_json::json;

use super::*;

fn steps(yaml: &str) -> Vec<Step> {
    let document = serde_yaml_ng::Deserializer::from_str(yaml);
    serde_yaml_ng::with::singleton_map_recursive::deserialize(document).unwrap()
}

fn found(yaml: &str, reply: &str) -> Option<String> {
    read(&steps(yaml), reply).map(|answer| answer.text())
}

#[test]
fn a_pattern_gives_its_first_group_of_its_last_match_unless_told_otherwise() {
    let reply = "#### 3 and then #### 4";
    assert_eq!(found(r"[regex: { pattern: '#### (\d)' }]", reply).as_deref(), Some("4"));
    assert_eq!(found(r"[regex: { pattern: '#### (\d)', take: first }]", reply).as_deref(), Some("3"));
    assert_eq!(found(r"[regex: { pattern: '#### (\d)', group: 0 }]", reply).as_deref(), Some("#### 4"));
    assert_eq!(found(r"[regex: { pattern: '= (\d)' }]", reply), None);
}

#[test]
fn numbers_are_read_as_people_write_them() {
    let last = |reply| found("[number: last]", reply);
    for (reply, number) in [
        ("It costs $1,234.50.", "1234.50"),
        ("from 3-4", "4"),
        ("it is -4 degrees", "-4"),
        ("it is −4", "-4"),
        ("6.02e23 of them", "6.02e23"),
        ("1,2,3", "3"),
        (".5", ".5"),
        ("the sum is 12,34", "34"),
    ] {
        assert_eq!(last(reply).as_deref(), Some(number), "{reply}");
    }
    assert_eq!(found("[number: first]", "2 and 3").as_deref(), Some("2"));
    assert_eq!(last("none"), None);
}

#[test]
fn a_choice_is_recognised_where_it_is_clear_and_an_article_is_none() {
    let choice = |reply| found("[choice: ABCD]", reply);
    for (reply, letter) in [
        ("B", "B"),
        ("(C)", "C"),
        ("**D**", "D"),
        ("The answer is B.", "B"),
        ("**Answer:** C", "C"),
        ("answer is (A), not (B)", "A"),
        ("A and B are wrong.\nAnswer: D", "D"),
        ("$\\boxed{C}$", "C"),
        ("B) because it is", "B"),
        ("I considered all.\n\nC", "C"),
        ("It must be (B), I think", "B"),
    ] {
        assert_eq!(choice(reply).as_deref(), Some(letter), "{reply}");
    }
    for reply in ["A cat sat on the mat", "The answer is Because", "E", "", "I would rather not."] {
        assert_eq!(choice(reply), None, "{reply}");
    }
}

#[test]
fn the_last_block_of_a_language_is_taken() {
    let reply = "```python\na\n```\ntext\n```Python\nb\nc\n```\n```js\nd\n```";
    assert_eq!(found("[code: python]", reply).as_deref(), Some("b\nc"));
    assert_eq!(found("[code: any]", reply).as_deref(), Some("d"));
    assert_eq!(found("[code: python]", "```python\ncut").as_deref(), Some("cut"));
    assert_eq!(found("[code: rust]", reply), None);
}

#[test]
fn json_is_found_and_repaired_where_that_is_clear() {
    for (text, value) in [
        ("{\"a\": 1}", json!({ "a": 1 })),
        ("Sure: {\"a\": [1, 2,],} done", json!({ "a": [1, 2] })),
        ("```json\n{'a': True, b: None} // yes\n```", json!({ "a": true, "b": null })),
        ("{\"a\": {\"b\": \"c\"", json!({ "a": { "b": "c" } })),
        ("{\"a\": \"two\nlines\"}", json!({ "a": "two\nlines" })),
        ("{\"a\": \"\\ud83d\\ude00\"} {", json!({ "a": "😀" })),
        ("[x] {\"a\": 1}", json!({ "a": 1 })),
        ("[1, +2, .5, 1.]", json!([1, 2, 0.5, 1.0])),
    ] {
        assert_eq!(find_json(text), Some(value), "{text}");
    }
    for text in ["", "no", "{\"a\": \"cut", "{a b}", "{\"a\": maybe}"] {
        assert_eq!(find_json(text), None, "{text}");
    }
    assert_eq!(found("[json: /a/0/b]", "{\"a\": [{\"b\": \" x \"}]}").as_deref(), Some("x"));
    assert_eq!(found("[json: /a]", "{\"a\": null}"), None);
}

#[test]
fn ways_are_tried_in_turn_and_steps_follow_each_other() {
    let yaml = r"[any_of: [[json: /answer], [regex: { pattern: 'answer: (.*)' }]], number: last]";
    assert_eq!(found(yaml, "{\"answer\": \"about 3\"}").as_deref(), Some("3"));
    assert_eq!(found(yaml, "answer: maybe 4").as_deref(), Some("4"));
    assert_eq!(found(yaml, "5"), None);
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let refused = |yaml: &str| {
        let document = serde_yaml_ng::Deserializer::from_str(yaml);
        let read: Result<Vec<Step>, _> = serde_yaml_ng::with::singleton_map_recursive::deserialize(document);
        read.unwrap_err().to_string()
    };
    let said = [
        r"[regex: { pattern: '(?=a)' }]",
        r"[regex: { pattern: 'a', group: 1 }]",
        r"[regex: { patern: 'a' }]",
        "[number: middle]",
        "[choice: AA]",
        "[json: $.a.b]",
        "[guess: 1]",
    ]
    .map(refused);
    insta::assert_snapshot!(said.join("\n"));
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no others", |f| f.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn good_json_is_read_as_it_is_also_behind_words(value in values()) {
        prop_assert_eq!(find_json(&value.to_string()), Some(value.clone()));
        if value.is_object() || value.is_array() {
            prop_assert_eq!(find_json(&format!("So: {value} That is it.")), Some(value));
        }
    }

    #[test]
    fn the_forgiving_reader_reads_good_json_as_the_strict_one(value in values()) {
        let text = value.to_string();
        prop_assert_eq!(repair::read_forgiving(&text), Some(value));
    }

    #[test]
    fn any_reply_is_read_or_not_without_a_panic(reply in any::<String>(), noise in "[{}\\[\\]\"',:a-z0-9 \\\\/*-]{0,80}") {
        for yaml in ["[number: last]", "[choice: ABCD]", "[code: any]", "[json: '']", "[regex: { pattern: '(.)' }]"] {
            let _ = found(yaml, &reply);
            let _ = found(yaml, &noise);
        }
    }

    #[test]
    fn every_whole_number_is_found_as_it_was_written(number in any::<i64>()) {
        prop_assert_eq!(found("[number: last]", &format!("It is {number}.")), Some(number.to_string()));
    }
}
