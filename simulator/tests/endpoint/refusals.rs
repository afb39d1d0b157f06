use serde_json::json;

use crate::harness::{Harness, config, read, read_answer};
use crate::three_items::PLAIN;

#[tokio::test]
async fn an_unknown_model_is_a_404_in_the_shape_of_openai() {
    let harness = Harness::start(config()).await;
    let answer = read(harness.ask("gpt-4o", PLAIN)).await;
    assert_eq!(answer.status, 404);
    insta::assert_snapshot!(serde_json::to_string_pretty(&answer.json()).unwrap());
}

#[tokio::test]
async fn what_cannot_be_answered_is_refused_with_a_reason() {
    let harness = Harness::start(config()).await;
    let url = harness.endpoint.url();
    let requests = [
        harness.ask("oracle", "no such item"),
        harness.ask("oracle", PLAIN).header("x-regatta-benchmark", "chess"),
        harness.ask_by_header("oracle", "os_404", 1),
        harness.ask_by_header("oracle", "%", 1),
        harness.ask("scripted", PLAIN),
        harness.ask("lexical", PLAIN),
        harness.ask("noisy-2", PLAIN),
        harness.post("/chat/completions", &json!({"model": "oracle"})),
        harness.post("/completions", &json!({})),
        harness.client.get(format!("{url}/embeddings")),
    ];
    let mut messages = Vec::new();
    for request in requests {
        let answer = read_answer(request.send().await.unwrap()).await;
        messages.push(format!("{} {}", answer.status.as_u16(), answer.json()["error"]["message"].as_str().unwrap()));
    }
    insta::assert_snapshot!(messages.join("\n"));
    assert_eq!(harness.endpoint.counters().refused, 10);
    assert_eq!(harness.endpoint.counters().total_requests(), 0);
}

#[tokio::test]
async fn a_prompt_of_no_item_is_refused_with_what_a_spec_says_to_have_it_answered() {
    let harness = Harness::start(config()).await;
    let told = harness.ask_by_header("oracle", PLAIN, 1);
    let untold = harness
        .post("/chat/completions", &json!({"model": "oracle", "messages": [{"role": "user", "content": "go on"}]}));
    let refused = read(untold).await;
    assert_eq!(refused.status, 400);
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("the headers x-regatta-benchmark and x-regatta-item"), "{message}");
    assert!(message.contains("as `identify_sessions: true` of an endpoint in a spec does"), "{message}");
    assert_eq!(read(told).await.status, 200, "the same words, with these headers");
}
