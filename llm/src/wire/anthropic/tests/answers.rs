//! Reading whole answers.

use proptest::prelude::*;
use regatta_proto::{ErrorClass, Finish, Usage};
use serde_json::Value;

use super::*;

const THOUGHT_AND_CALLED: &str = r#"{"id":"msg_01","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929",
"content":[{"type":"thinking","thinking":"Two cities.","signature":"EqQB"},{"type":"redacted_thinking","data":"EmwK"},
{"type":"text","text":"I will "},{"type":"text","text":"look."},
{"type":"tool_use","id":"toolu_01","name":"get_weather","input":{"unit":"C","city":"Bern"}},
{"type":"tool_use","id":"toolu_02","name":"now","input":{}}],
"stop_reason":"tool_use","stop_sequence":null,
"usage":{"input_tokens":12,"cache_creation_input_tokens":30,"cache_read_input_tokens":400,
"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"output_tokens":55,
"output_tokens_details":{"thinking_tokens":21},"service_tier":"priority"}}"#;

#[test]
fn an_answer_is_read_whole() {
    let head = headers(&[
        ("request-id", "req_011"),
        ("anthropic-ratelimit-requests-remaining", "0"),
        ("anthropic-ratelimit-requests-reset", "2026-01-01T00:00:03Z"),
    ]);
    let done = answer_with(200, head, THOUGHT_AND_CALLED).unwrap();
    insta::assert_json_snapshot!(done.reply, @r#"
    {
      "text": "I will look.",
      "finish": "tool_calls",
      "tool_calls": [
        {
          "id": "toolu_01",
          "name": "get_weather",
          "arguments": "{\"unit\":\"C\",\"city\":\"Bern\"}"
        },
        {
          "id": "toolu_02",
          "name": "now",
          "arguments": "{}"
        }
      ],
      "reasoning": {
        "text": "Two cities.",
        "opaque": "[{\"type\":\"thinking\",\"thinking\":\"Two cities.\",\"signature\":\"EqQB\"},{\"type\":\"redacted_thinking\",\"data\":\"EmwK\"}]"
      }
    }
    "#);
    let expected = Usage {
        input: 442,
        cached_input: 400,
        cache_write: 10,
        cache_write_1h: 20,
        output: 55,
        reasoning: 21,
        unmetered_calls: 0,
    };
    assert_eq!((done.usage, done.usage_is_known), (expected, true));
    assert_eq!(done.raw_usage.unwrap()["cache_read_input_tokens"], 400);
    assert_eq!(done.hints.exhausted_for, Some(std::time::Duration::from_secs(3)));
    insta::assert_json_snapshot!(done.served, @r#"
    {
      "model": "claude-sonnet-4-5-20250929",
      "request_id": "req_011",
      "tier": "priority"
    }
    "#);
}

#[test]
fn every_stop_reason_is_a_finish() {
    for (reason, expected) in [
        (r#""end_turn""#, Finish::Stop),
        (r#""stop_sequence""#, Finish::Stop),
        (r#""max_tokens""#, Finish::Length),
        (r#""model_context_window_exceeded""#, Finish::Length),
        (r#""tool_use""#, Finish::ToolCalls),
        (r#""refusal""#, Finish::ContentFilter),
        (r#""pause_turn""#, Finish::Other),
        (r#""something_new""#, Finish::Other),
        ("null", Finish::Other),
        ("7", Finish::Other),
    ] {
        let body = format!(r#"{{"content":[{{"type":"text","text":"x"}}],"stop_reason":{reason}}}"#);
        assert_eq!(answer(200, &body).unwrap().reply.finish, expected, "{reason}");
    }
}

#[test]
fn an_answer_without_words_has_no_text() {
    let done =
        answer(200, r#"{"content":[],"stop_reason":"refusal","usage":{"input_tokens":3,"output_tokens":1}}"#).unwrap();
    assert_eq!((done.reply.text, done.reply.finish), (None, Finish::ContentFilter));
}

#[test]
fn without_usage_its_cost_is_unknown() {
    let done = answer(200, r#"{"content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}"#).unwrap();
    assert!(!done.usage_is_known);
    assert_eq!(done.raw_usage, None);
}

#[test]
fn blocks_of_the_providers_own_tools_are_passed_over() {
    let body = r#"{"content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"text","text":"x"},{}]}"#;
    assert_eq!(answer(200, body).unwrap().reply.text.as_deref(), Some("x"));
}

fn json() -> impl Strategy<Value = Value> {
    let text = prop::sample::select(vec![
        "text",
        "thinking",
        "tool_use",
        "error",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "end_turn",
        "é",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "type",
        "content",
        "text",
        "thinking",
        "signature",
        "id",
        "name",
        "input",
        "usage",
        "input_tokens",
        "output_tokens",
        "cache_creation",
        "stop_reason",
        "error",
        "message",
        "index",
        "delta",
        "content_block",
        "partial_json",
        "model",
    ]);
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_body_makes_it_panic(body in json(), status in prop::sample::select(vec![200u16, 400, 429, 500, 529])) {
        let _ = answer(status, &body.to_string());
    }

    #[test]
    fn no_stream_makes_it_panic(events in prop::collection::vec(json(), 0..8)) {
        let text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let _ = stream(&text);
    }

    #[test]
    fn bytes_that_are_no_message_are_a_bad_response(body in "[^{]{0,40}") {
        prop_assert_eq!(answer(200, &body).unwrap_err().class, ErrorClass::BadResponse);
    }
}
