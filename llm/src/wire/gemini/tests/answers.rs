//! Reading whole answers.

use proptest::prelude::*;
use regatta_proto::{ErrorClass, Finish, Usage};
use serde_json::Value;

use super::*;

const CALLS: &str = r#"{"candidates":[{"content":{"parts":[
{"text":"Both at once.","thought":true},{"text":"Let me "},{"text":"look.","thoughtSignature":"VA=="},
{"functionCall":{"name":"get_weather","args":{"unit":"C","city":"Bern"}},"thoughtSignature":"Q0E="},
{"functionCall":{"id":"fc-2","name":"now"}}],"role":"model"},"finishReason":"STOP","index":0}],
"usageMetadata":{"promptTokenCount":120,"cachedContentTokenCount":64,"candidatesTokenCount":17,"thoughtsTokenCount":90,
"totalTokenCount":227,"promptTokensDetails":[{"modality":"TEXT","tokenCount":120}],"serviceTier":"flex"},
"modelVersion":"gemini-3-flash-002","responseId":"r-77"}"#;

#[test]
fn an_answer_is_read_whole() {
    let done = answer(200, CALLS).unwrap();
    insta::assert_json_snapshot!(done.reply, @r#"
    {
      "text": "Let me look.",
      "finish": "tool_calls",
      "tool_calls": [
        {
          "id": "call_0",
          "name": "get_weather",
          "arguments": "{\"unit\":\"C\",\"city\":\"Bern\"}"
        },
        {
          "id": "fc-2",
          "name": "now",
          "arguments": "{}"
        }
      ],
      "reasoning": {
        "text": "Both at once.",
        "opaque": "{\"text\":\"VA==\",\"calls\":{\"0\":\"Q0E=\"}}"
      }
    }
    "#);
    let expected = Usage { input: 120, cached_input: 64, output: 107, reasoning: 90, ..Usage::default() };
    assert_eq!((done.usage, done.usage_is_known), (expected, true));
    assert_eq!(done.raw_usage.unwrap()["totalTokenCount"], 227);
    insta::assert_json_snapshot!(done.served, @r#"
    {
      "model": "gemini-3-flash-002",
      "request_id": "r-77",
      "tier": "flex"
    }
    "#);
}

#[test]
fn what_was_read_can_be_given_back_as_it_came() {
    let reply = answer(200, CALLS).unwrap().reply;
    let turn = ChatMessage {
        tool_calls: reply.tool_calls,
        reasoning: reply.reasoning,
        ..message(ChatRole::Assistant, &reply.text.unwrap())
    };
    let outgoing = Gemini.request("m", &ChatRequest { messages: vec![turn], ..ChatRequest::default() }, false).unwrap();
    let sent: Value = serde_json::from_slice(&outgoing.body).unwrap();
    insta::assert_snapshot!(sent["contents"], @r#"[{"role":"model","parts":[{"text":"Let me look.","thoughtSignature":"VA=="},{"functionCall":{"name":"get_weather","args":{"unit":"C","city":"Bern"}},"thoughtSignature":"Q0E="},{"functionCall":{"id":"fc-2","name":"now","args":{}}}]}]"#);
}

#[test]
fn every_finish_reason_is_a_finish() {
    for (reason, expected) in [
        ("STOP", Finish::Stop),
        ("MAX_TOKENS", Finish::Length),
        ("SAFETY", Finish::ContentFilter),
        ("RECITATION", Finish::ContentFilter),
        ("PROHIBITED_CONTENT", Finish::ContentFilter),
        ("BLOCKLIST", Finish::ContentFilter),
        ("SPII", Finish::ContentFilter),
        ("MALFORMED_FUNCTION_CALL", Finish::Other),
        ("LANGUAGE", Finish::ContentFilter),
        ("OTHER", Finish::Other),
        ("SOMETHING_NEW", Finish::Other),
    ] {
        let reply = answer(200, &format!(r#"{{"candidates":[{{"finishReason":"{reason}"}}]}}"#)).unwrap().reply;
        assert_eq!((reply.finish, reply.text), (expected, None), "{reason}");
    }
}

#[test]
fn a_prompt_that_was_blocked_is_an_answer_without_words() {
    let done = answer(
        200,
        r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":8}}"#,
    )
    .unwrap();
    assert_eq!((done.reply.text, done.reply.finish), (None, Finish::ContentFilter));
    assert_eq!((done.usage.input, done.usage_is_known), (8, true));
}

#[test]
fn a_call_that_the_limit_cut_off_did_not_stop_for_tools() {
    let body = CALLS.replace("\"STOP\"", "\"MAX_TOKENS\"");
    assert_eq!(answer(200, &body).unwrap().reply.finish, Finish::Length);
}

#[test]
fn log_probabilities_come_with_their_candidates() {
    let body = r#"{"candidates":[{"content":{"parts":[{"text":"Hi you"}]},"finishReason":"STOP","logprobsResult":{
"topCandidates":[{"candidates":[{"token":"Hi","tokenId":5,"logProbability":-0.1},{"token":"Yo","logProbability":-2.5}]},{}],
"chosenCandidates":[{"token":"Hi","logProbability":-0.1},{"token":" you","logProbability":-0.25}]}}]}"#;
    let read = answer(200, body).unwrap().reply.logprobs.unwrap();
    insta::assert_snapshot!(serde_json::to_string(&read).unwrap(), @r#"[{"token":"Hi","logprob":-0.1,"top":[["Hi",-0.1],["Yo",-2.5]]},{"token":" you","logprob":-0.25}]"#);
}

fn json() -> impl Strategy<Value = Value> {
    let text = prop::sample::select(vec!["STOP", "SAFETY", "true", "1.5s", "", "é"]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "candidates",
        "content",
        "parts",
        "text",
        "thought",
        "thoughtSignature",
        "functionCall",
        "name",
        "args",
        "id",
        "finishReason",
        "usageMetadata",
        "promptTokenCount",
        "candidatesTokenCount",
        "promptFeedback",
        "blockReason",
        "logprobsResult",
        "chosenCandidates",
        "topCandidates",
        "error",
        "details",
        "retryDelay",
        "code",
        "message",
    ]);
    leaf.prop_recursive(6, 80, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..7)
                .prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_body_makes_it_panic(body in json(), status in prop::sample::select(vec![200u16, 400, 429, 500, 503])) {
        let _ = answer(status, &body.to_string());
    }

    #[test]
    fn no_stream_makes_it_panic(events in prop::collection::vec(json(), 0..6)) {
        let chunks: Vec<String> = events.iter().map(ToString::to_string).collect();
        let _ = stream(&chunks.iter().map(String::as_str).collect::<Vec<_>>());
    }

    #[test]
    fn bytes_that_are_no_answer_are_a_bad_response(body in "[^{]{0,40}") {
        prop_assert_eq!(answer(200, &body).unwrap_err().class, ErrorClass::BadResponse);
    }
}
