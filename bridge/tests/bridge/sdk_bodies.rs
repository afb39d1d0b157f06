//! Recorded request bodies of the Python clients of OpenAI (3.54.0) and Anthropic (2.12.0): all of them are carried.

use serde_json::Value;

use crate::harness::{Harness, Session};

const BODIES: [(&str, &str, &str); 9] = [
    ("openai_chat", "/v1/chat/completions", include_str!("sdk/openai_chat.json")),
    ("openai_chat_stream", "/v1/chat/completions", include_str!("sdk/openai_chat_stream.json")),
    ("openai_chat_parse", "/v1/chat/completions", include_str!("sdk/openai_chat_parse.json")),
    ("openai_chat_given_back", "/v1/chat/completions", include_str!("sdk/openai_chat_given_back.json")),
    ("openai_responses", "/v1/responses", include_str!("sdk/openai_responses.json")),
    ("openai_responses_parse", "/v1/responses", include_str!("sdk/openai_responses_parse.json")),
    ("anthropic_messages", "/v1/messages", include_str!("sdk/anthropic_messages.json")),
    ("anthropic_stream", "/v1/messages", include_str!("sdk/anthropic_stream.json")),
    ("anthropic_given_back", "/v1/messages", include_str!("sdk/anthropic_given_back.json")),
];

#[tokio::test]
async fn what_clients_send_is_carried() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    for (name, route, body) in BODIES {
        let body: Value = serde_json::from_str(body).unwrap();
        let answer = harness.post(route, &body).await;
        let left_out = answer.headers().get("x-regatta-left-out").map(|names| names.to_str().unwrap().to_owned());
        assert_eq!(answer.status(), 200, "{name}: {}", answer.text().await.unwrap());
        let (_, request) = session.asked.lock().unwrap().pop().unwrap();
        insta::assert_yaml_snapshot!(name, (left_out, request));
    }
}
