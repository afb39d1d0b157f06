//! Reading whole answers.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use regatta_proto::{Finish, Usage};
use serde_json::Value;

use super::*;

pub(super) const HELLO: &str = r#"{"metrics":{"latencyMs":412},"output":{"message":{"content":[{"text":"Hello."}],"role":"assistant"}},
"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":4,"totalTokens":14}}"#;

const CALLS: &str = r#"{"metrics":{"latencyMs":912},"output":{"message":{"content":[
{"reasoningContent":{"reasoningText":{"signature":"Eq==","text":"Two."}}},{"reasoningContent":{"redactedContent":"AAEC"}},
{"text":"Let me "},{"text":"look."},
{"toolUse":{"input":{"zone":"z","city":"Bern","at":[1,2.5]},"name":"get_weather","toolUseId":"tooluse_1"}},
{"toolUse":{"input":{},"name":"now","toolUseId":"tooluse_2"}}],"role":"assistant"}},"serviceTier":{"type":"flex"},
"stopReason":"tool_use","trace":{"promptRouter":{"invokedModelId":"arn:aws:bedrock:x"}},
"usage":{"cacheDetails":[{"inputTokens":8,"ttl":"5m"}],"cacheReadInputTokens":400,"cacheWriteInputTokens":8,"inputTokens":12,"outputTokens":55,"totalTokens":475}}"#;

#[tokio::test]
async fn an_answer_is_read_whole() {
    let headers = "x-amzn-requestid: 0a1b-22\r\n";
    let (done, _) = ask_one(Step::Answer { status: 200, headers, body: CALLS.into() }).await;
    let done = done.unwrap();
    insta::assert_json_snapshot!(done.reply, @r#"
    {
      "text": "Let me look.",
      "finish": "tool_calls",
      "tool_calls": [
        {
          "id": "tooluse_1",
          "name": "get_weather",
          "arguments": "{\"zone\":\"z\",\"city\":\"Bern\",\"at\":[1,2.5]}"
        },
        {
          "id": "tooluse_2",
          "name": "now",
          "arguments": "{}"
        }
      ],
      "reasoning": {
        "text": "Two.",
        "opaque": "[{\"type\":\"thinking\",\"thinking\":\"Two.\",\"signature\":\"Eq==\"},{\"type\":\"redacted_thinking\",\"data\":\"AAEC\"}]"
      }
    }
    "#);
    let expected = Usage { input: 420, cached_input: 400, cache_write: 8, output: 55, ..Usage::default() };
    assert_eq!((done.usage, done.usage_is_known, done.first_token), (expected, true, None));
    assert_eq!(done.raw_usage.unwrap()["totalTokens"], 475);
    insta::assert_json_snapshot!(done.served, @r#"
    {
      "model": "arn:aws:bedrock:x",
      "request_id": "0a1b-22",
      "tier": "flex"
    }
    "#);
}

#[tokio::test]
async fn what_was_read_can_be_given_back_as_it_came() {
    let reply = ask_one(Step::ok(CALLS)).await.0.unwrap().reply;
    let turn = ChatMessage {
        tool_calls: reply.tool_calls,
        reasoning: reply.reasoning,
        ..message(ChatRole::Assistant, &reply.text.unwrap())
    };
    let body = request::body(MODEL, &ChatRequest { messages: vec![turn], ..ChatRequest::default() }).unwrap();
    insta::assert_snapshot!(std::str::from_utf8(&body).unwrap(), @r#"{"messages":[{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Two.","signature":"Eq=="}}},{"reasoningContent":{"redactedContent":"AAEC"}},{"text":"Let me look."},{"toolUse":{"toolUseId":"tooluse_1","name":"get_weather","input":{"zone":"z","city":"Bern","at":[1,2.5]}}},{"toolUse":{"toolUseId":"tooluse_2","name":"now","input":{}}}]}]}"#);
}

#[tokio::test]
async fn every_stop_reason_is_a_finish() {
    for (reason, expected) in [
        ("end_turn", Finish::Stop),
        ("stop_sequence", Finish::Stop),
        ("max_tokens", Finish::Length),
        ("model_context_window_exceeded", Finish::Length),
        ("tool_use", Finish::ToolCalls),
        ("guardrail_intervened", Finish::ContentFilter),
        ("content_filtered", Finish::ContentFilter),
        ("malformed_tool_use", Finish::Other),
        ("something_new", Finish::Other),
    ] {
        let done = ask_one(Step::ok(HELLO.replace("end_turn", reason))).await.0.unwrap();
        assert_eq!(done.reply.finish, expected, "{reason}");
    }
}

#[tokio::test]
async fn blocks_that_the_sdk_does_not_know_do_not_spoil_an_answer() {
    let body = HELLO.replace(r#"{"text":"Hello."}"#, r#"{"hologram":{"depth":3}},{"text":"Hello."},{}"#);
    assert_eq!(ask_one(Step::ok(body)).await.0.unwrap().reply.text.as_deref(), Some("Hello."));
}

#[tokio::test]
async fn one_client_is_made_for_all_calls() {
    let server = Server::scripted(vec![Step::ok(HELLO)]).await;
    let client = open(&spec(&server));
    for _ in 0..3 {
        assert_eq!(ask(&client, &hi()).await.unwrap().reply.text.as_deref(), Some("Hello."));
    }
    assert_eq!((server.seen().len(), server.connections()), (3, 1));
}

#[tokio::test]
async fn an_answer_without_end_is_given_up_when_a_call_can_hold_no_more_of_it() {
    static MORE: [u8; 16 << 10] = [b'x'; 16 << 10];
    let begin = b"HTTP/1.1 200 X\r\nconnection: close\r\n\r\n{\"output\":\"".to_vec();
    let server = Server::scripted(vec![Step::Trickle(begin, &MORE)]).await;
    let client = open(&spec(&server));
    // A call holds a quarter of it at most.
    let budget = regatta_memory::ByteBudget::new(1 << 20);
    let prepared = client.prepare(MODEL, &hi()).unwrap();
    let failure = client.once(&prepared, budget.holder().read()).await.unwrap_err();
    assert_eq!((failure.class, failure.status), (ErrorClass::BadResponse, Some(200)), "{failure:?}");
    assert!(failure.detail.contains("the answer cannot be held"), "{failure:?}");
    assert_eq!(budget.held(), 0);
}

#[tokio::test]
async fn an_answer_holds_what_it_takes_once_it_is_parsed() {
    let server = Server::scripted(vec![Step::ok(CALLS)]).await;
    let client = open(&spec(&server));
    let budget = regatta_memory::ByteBudget::new(1 << 20);
    let prepared = client.prepare(MODEL, &hi()).unwrap();
    let received = client.once(&prepared, budget.holder().read()).await.unwrap();
    let parsed = regatta_memory::parsed_bytes(CALLS.as_bytes());
    assert_eq!((received.held.bytes(), budget.held()), (parsed, parsed));
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec!["end_turn", "", "é"]).prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "output",
        "message",
        "content",
        "text",
        "toolUse",
        "input",
        "name",
        "toolUseId",
        "reasoningContent",
        "reasoningText",
        "redactedContent",
        "stopReason",
        "usage",
        "inputTokens",
        "outputTokens",
        "role",
        "metrics",
        "trace",
    ]);
    leaf.prop_recursive(6, 60, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

#[tokio::test]
async fn no_body_makes_it_panic() {
    let (mut runner, strategy) = (TestRunner::deterministic(), json());
    let mut bodies: Vec<String> =
        (0..400).map(|_| strategy.new_tree(&mut runner).unwrap().current().to_string()).collect();
    bodies.extend(["", "<html>", "{", "null", "[]"].map(str::to_owned));
    let count = bodies.len();
    let server = Server::with(move |number, _| {
        let status = [200, 200, 400, 500][number % 4];
        Step::status(status, &bodies[number])
    })
    .await;
    let client = open(&spec(&server));
    for _ in 0..count {
        if let Err(failure) = ask(&client, &hi()).await {
            assert!(failure.status.is_some(), "{failure:?}");
        }
    }
}
