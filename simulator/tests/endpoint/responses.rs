//! OpenAI's responses.

use regatta_proto::{Faults, Simulation};
use serde_json::{Value, json};

use crate::harness::{Format, Harness, config, faulty, read, simulating};
use crate::three_items::{LONG, ODD, PLAIN, gold, prompt};

fn text_of(answer: &Value) -> &str {
    answer["output"][0]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn an_answer_has_the_shape_of_a_response() {
    let harness = Harness::start(config()).await;
    let answer = read(harness.ask_as(Format::Responses, "oracle", PLAIN, &json!({}))).await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&answer.json()).unwrap());
}

#[tokio::test]
async fn a_response_cut_by_the_token_limit_is_incomplete() {
    let harness = Harness::start(config()).await;
    let fields = json!({"max_output_tokens": 5});
    let answer = read(harness.ask_as(Format::Responses, "oracle", LONG, &fields)).await.json();
    assert_eq!(text_of(&answer), &gold(LONG)[..20]);
    assert_eq!(answer["status"], "incomplete");
    assert_eq!(answer["incomplete_details"], json!({"reason": "max_output_tokens"}));
}

#[tokio::test]
async fn cached_tokens_are_part_of_the_input_tokens() {
    let harness = Harness::start(simulating(Simulation { cached_fraction: 0.5, ..Simulation::default() })).await;
    let usage = read(harness.ask_as(Format::Responses, "oracle", ODD, &json!({}))).await.json()["usage"].clone();
    assert_eq!((&usage["input_tokens"], &usage["input_tokens_details"]), (&json!(5), &json!({"cached_tokens": 2})));
}

#[tokio::test]
async fn items_of_every_kind_are_taken_and_metadata_names_the_session() {
    let harness = Harness::start(config()).await;
    let body = json!({
        "model": "oracle", "instructions": "Be brief.", "tools": [{"type": "function", "name": "look"}],
        "input": [
            {"role": "user", "content": "Look."},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "a key"},
            {"role": "user", "content": [{"type": "input_text", "text": prompt(PLAIN)}]}
        ]
    });
    assert_eq!(text_of(&read(harness.post("/responses", &body)).await.json()), gold(PLAIN));
    let mut named = body;
    named["metadata"] = json!({"regatta_benchmark": "worfbench", "regatta_item": ODD});
    assert_eq!(text_of(&read(harness.post("/responses", &named)).await.json()), gold(ODD));
}

#[tokio::test]
async fn a_request_after_a_response_is_answered_as_the_whole_conversation_is() {
    let harness = Harness::start(config()).await;
    let first = read(harness.ask_as(Format::Responses, "oracle", ODD, &json!({}))).await.json();
    let next = json!({"previous_response_id": first["id"]});
    let next = read(harness.ask_as(Format::Responses, "oracle", PLAIN, &next)).await.json();
    let said = |role: &str, text: String| json!({"role": role, "content": text});
    let whole = [said("user", prompt(ODD)), said("assistant", gold(ODD)), said("user", prompt(PLAIN))];
    let whole = read(harness.post("/responses", &json!({"model": "oracle", "input": whole}))).await.json();
    assert_eq!((text_of(&next), &next["usage"]), (&*gold(PLAIN), &whole["usage"]));
    let unknown = json!({"previous_response_id": "resp_unknown"});
    let unknown = read(harness.ask_as(Format::Responses, "oracle", PLAIN, &unknown)).await;
    assert_eq!(
        (unknown.status.as_u16(), &unknown.json()["error"]["code"]),
        (400, &json!("previous_response_not_found"))
    );
}

#[tokio::test]
async fn responses_and_conversations_can_be_asked_for() {
    let harness = Harness::start(config()).await;
    let first = read(harness.ask_as(Format::Responses, "oracle", ODD, &json!({}))).await.json();
    let url = format!("{}/responses/{}", harness.endpoint.url(), first["id"].as_str().unwrap());
    assert_eq!(read(harness.client.get(&url)).await.json(), first);
    assert_eq!(read(harness.client.post(&url)).await.status, 405);
    assert_eq!(read(harness.client.delete(&url)).await.json()["deleted"], true);
    assert_eq!(read(harness.client.get(&url)).await.status, 404);
    let made = read(harness.post("/conversations", &json!({}))).await.json();
    let asked = read(harness.ask_as(Format::Responses, "oracle", PLAIN, &json!({"conversation": made["id"]}))).await;
    assert_eq!(text_of(&asked.json()), gold(PLAIN));
}

#[tokio::test]
async fn errors_have_the_shape_of_openai() {
    let harness = Harness::start(faulty(Faults { overloaded: 1.0, ..Faults::default() })).await;
    let overloaded = read(harness.ask_as(Format::Responses, "oracle", PLAIN, &json!({}))).await;
    assert_eq!((overloaded.status.as_u16(), &overloaded.json()["error"]["type"]), (503, &json!("server_error")));
    let unknown = read(harness.ask_as(Format::Responses, "gpt-4o", PLAIN, &json!({}))).await;
    assert_eq!((unknown.status.as_u16(), &unknown.json()["error"]["code"]), (404, &json!("model_not_found")));
}
