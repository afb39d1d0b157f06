//! Anthropic's messages.

use regatta_proto::{Faults, Price, Simulation};
use reqwest::Response;
use serde_json::{Value, json};

use crate::harness::{Format, Harness, config, faulty, read, read_answer, simulating};
use crate::three_items::{LONG, ODD, PLAIN, gold, prompt};

fn text_of(answer: &Value) -> &str {
    answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn an_answer_has_the_shape_of_anthropic() {
    let harness = Harness::start(config()).await;
    let answer = read(harness.ask_as(Format::Messages, "oracle", PLAIN, &json!({}))).await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&answer.json()).unwrap());
}

#[tokio::test]
async fn it_is_served_with_and_without_the_version() {
    let harness = Harness::start(config()).await;
    let root = harness.endpoint.url().replace("/v1", "");
    let body = json!({"model": "oracle", "max_tokens": 5, "messages": [{"role": "user", "content": prompt(LONG)}]});
    for path in ["/messages", "/v1/messages"] {
        let answer = read(harness.client.post(format!("{root}{path}")).json(&body)).await.json();
        assert_eq!((text_of(&answer), &answer["stop_reason"]), (&gold(LONG)[..20], &json!("max_tokens")));
    }
}

#[tokio::test]
async fn cached_tokens_are_left_out_of_the_input_tokens_but_counted_with_the_prompt() {
    let simulation = Simulation {
        cached_fraction: 0.5,
        prices: [("oracle".to_owned(), Price { cached_input_per_mtok: Some(0.1), ..Price::per_mtok(1.0, 2.0) })].into(),
        report_cost: true,
        ..Simulation::default()
    };
    let harness = Harness::start(simulating(simulation)).await;
    let usage = read(harness.ask_as(Format::Messages, "oracle", ODD, &json!({}))).await.json()["usage"].clone();
    let expected = json!({
        "input_tokens": 3, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 2, "output_tokens": 5,
        "cost": 0.0000132
    });
    assert_eq!(usage, expected);
    let chat = read(harness.ask("oracle", ODD)).await.json()["usage"].clone();
    assert_eq!((&chat["prompt_tokens"], &chat["cost"]), (&json!(5), &expected["cost"]));
    let streamed = read(harness.ask_as(Format::Messages, "oracle", ODD, &json!({"stream": true}))).await.events();
    let meters: Vec<Value> = streamed.iter().map(|(_, data)| serde_json::from_str(data).unwrap()).collect();
    assert_eq!(meters[0]["message"]["usage"]["input_tokens"], 3);
    assert_eq!(meters[meters.len() - 2]["usage"], json!({"output_tokens": 5, "cost": 0.0000132}));
    assert_eq!(harness.endpoint.counters().delivered.input, 15);
}

#[tokio::test]
async fn a_session_is_named_by_headers_or_by_the_json_in_the_users_id() {
    let harness = Harness::start(config()).await;
    let session = json!({
        "regatta_benchmark": "worfbench", "regatta_setting": "shouting", "regatta_item": ODD, "regatta_trial": "0",
        "regatta_seed": "7"
    });
    let body = json!({
        "model": "oracle", "max_tokens": 100, "messages": [{"role": "user", "content": "go on"}],
        "metadata": {"user_id": session.to_string()}
    });
    let answer = read(harness.post("/messages", &body)).await.json();
    assert_eq!(text_of(&answer), gold(ODD).to_uppercase());
    let by_header =
        harness.post("/messages", &body).header("x-regatta-setting", "two-shot").header("x-regatta-item", PLAIN);
    assert_eq!(text_of(&read(by_header).await.json()), gold(PLAIN));
}

#[tokio::test]
async fn the_results_of_tools_are_taken_for_what_they_are() {
    let harness = Harness::start(config()).await;
    let body = json!({
        "model": "oracle", "max_tokens": 100,
        "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "a key"}, {"type": "text", "text": prompt(PLAIN)}
            ]}
        ]
    });
    assert_eq!(text_of(&read(harness.post("/messages", &body)).await.json()), gold(PLAIN));
}

#[tokio::test]
async fn errors_have_the_shape_of_anthropic() {
    let ask = async |faults: Faults, model: &str, id: &str| {
        let harness = Harness::start(faulty(faults)).await;
        read(harness.ask_as(Format::Messages, model, id, &json!({}))).await
    };
    let mut errors = Vec::new();
    for answer in [
        ask(Faults::default(), "gpt-4o", PLAIN).await,
        ask(Faults::default(), "oracle", "no such item").await,
        ask(Faults { rate_limited: 1.0, ..Faults::default() }, "oracle", PLAIN).await,
        ask(Faults { server_error: 1.0, ..Faults::default() }, "oracle", PLAIN).await,
        ask(Faults { error_in_200: 1.0, ..Faults::default() }, "oracle", PLAIN).await,
        ask(Faults { overloaded: 1.0, ..Faults::default() }, "oracle", PLAIN).await,
    ] {
        errors.push(format!("{} {}", answer.status.as_u16(), answer.text));
    }
    let harness = Harness::start(config()).await;
    let wrong_method = harness.client.get(format!("{}/messages", harness.endpoint.url())).send().await.unwrap();
    let answer = read_answer(wrong_method).await;
    errors.push(format!("{} {}", answer.status.as_u16(), answer.text));
    insta::assert_snapshot!(errors.join("\n"));
}

#[tokio::test]
async fn what_is_left_of_the_limits_is_told_in_anthropics_headers() {
    let simulation = Simulation {
        requests_per_minute: Some(2),
        tokens_per_minute: Some(1000),
        rate_limit_headers: true,
        ..Simulation::default()
    };
    let harness = Harness::start(simulating(simulation)).await;
    let answer = harness.ask_as(Format::Messages, "oracle", PLAIN, &json!({})).send().await.unwrap();
    let value = |answer: &Response, name: &str| {
        answer.headers()[format!("anthropic-ratelimit-{name}")].to_str().unwrap().to_owned()
    };
    let told =
        ["requests-limit", "requests-remaining", "tokens-limit", "tokens-remaining"].map(|name| value(&answer, name));
    assert_eq!(told, ["2", "1", "1000", "994"]);
    // The endpoint's clock stands still at its start.
    assert_eq!(value(&answer, "requests-reset"), "2025-07-31T22:14:20Z");
    assert!(!answer.headers().contains_key("x-ratelimit-limit-requests"));
}
