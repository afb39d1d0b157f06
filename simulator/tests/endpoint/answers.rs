use serde_json::json;

use crate::harness::{Harness, config, read, read_answer, scripted};
use crate::three_items::{LONG, ODD, PLAIN, gold, prompt};

#[tokio::test]
async fn an_answer_has_the_shape_of_openai_and_says_that_it_is_simulated() {
    let harness = Harness::start(config()).await;
    let answer = read(harness.ask("oracle", PLAIN)).await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&answer.json()).unwrap());
}

#[tokio::test]
async fn the_oracle_answers_the_item_that_the_headers_name_with_the_gold() {
    let harness = Harness::start(config()).await;
    assert_eq!(read(harness.ask_by_header("oracle", PLAIN, 1)).await.content(), gold(PLAIN));
    assert_eq!(read(harness.ask_by_header("oracle", "caf%C3%A9%20100%25%2F%C3%BC", 1)).await.content(), gold(ODD));
}

#[tokio::test]
async fn the_oracle_recognises_an_item_by_its_messages() {
    let harness = Harness::start(config()).await;
    assert_eq!(read(harness.ask("oracle", PLAIN)).await.content(), gold(PLAIN));
    assert_eq!(read(harness.ask("oracle", ODD)).await.content(), gold(ODD));
}

#[tokio::test]
async fn the_setting_that_the_headers_name_reaches_the_benchmark() {
    let harness = Harness::start(config()).await;
    let answer = read(harness.ask("oracle", PLAIN).header("x-regatta-setting", "shouting")).await;
    assert_eq!(answer.content(), gold(PLAIN).to_uppercase());
}

#[tokio::test]
async fn noise_depends_on_the_seed_of_the_session_alone() {
    let harness = Harness::start(config()).await;
    let ask = async |seed| read(harness.ask_by_header("noisy-1", PLAIN, seed)).await.content();
    let first = ask(1).await;
    assert!(first.starts_with("noise "), "{first}");
    assert_eq!(ask(1).await, first);
    assert_ne!(ask(2).await, first);
    assert_eq!(read(harness.ask_by_header("noisy-0", PLAIN, 1)).await.content(), gold(PLAIN));
}

#[tokio::test]
async fn without_a_seed_the_same_request_still_gets_the_same_noise() {
    let harness = Harness::start(config()).await;
    let first = read(harness.ask("noisy-1", PLAIN)).await.content();
    assert_eq!(read(harness.ask("noisy-1", PLAIN)).await.content(), first);
    assert_ne!(read(harness.ask("noisy-1", ODD)).await.content(), first);
}

#[tokio::test]
async fn max_tokens_cuts_the_answer_and_says_so() {
    let harness = Harness::start(config()).await;
    let body = json!({"model": "oracle", "max_tokens": 5, "messages": [{"role": "user", "content": prompt(LONG)}]});
    let answer = read(harness.post("/chat/completions", &body)).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], gold(LONG)[..20]);
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    assert_eq!(answer["usage"]["completion_tokens"], 5);
}

#[tokio::test]
async fn tools_their_calls_and_their_results_may_be_part_of_a_chat() {
    let harness = Harness::start(config()).await;
    let body = json!({
        "model": "oracle", "tool_choice": "auto",
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "a key"},
            {"role": "user", "content": prompt(PLAIN)}
        ]
    });
    let answer = read(harness.post("/chat/completions", &body)).await;
    assert_eq!(answer.content(), gold(PLAIN));
    // The prompt includes the tools: 79 characters of JSON, beside 5, 4, 2, 5 and 10 of messages and the call.
    assert_eq!(answer.json()["usage"]["prompt_tokens"], 20 + 2 + 1 + 1 + 2 + 3);
}

#[tokio::test]
async fn the_metadata_of_a_chat_names_its_session_where_headers_do_not() {
    let harness = Harness::start(config()).await;
    let metadata = json!({"regatta_benchmark": "worfbench", "regatta_item": ODD, "regatta_seed": "1", "team": "a"});
    let messages = [json!({"role": "user", "content": "go on"})];
    let body = json!({"model": "oracle", "messages": messages, "metadata": metadata});
    assert_eq!(read(harness.post("/chat/completions", &body)).await.content(), gold(ODD));
    let by_header = harness.post("/chat/completions", &body).header("x-regatta-item", PLAIN);
    assert_eq!(read(by_header).await.content(), gold(PLAIN));
}

#[tokio::test]
async fn a_script_answers_by_item_whether_named_or_recognised_and_by_content() {
    let harness = Harness::start(scripted(
        r#"{"match": {"item": "os_1"}, "reply": "by item"}
           {"match": {"item": "unheard of"}, "reply": "by name alone"}
           {"match": {"contains": "caf"}, "reply": "by content"}"#,
    ))
    .await;
    assert_eq!(read(harness.ask_by_header("scripted", PLAIN, 1)).await.content(), "by item");
    assert_eq!(read(harness.ask("scripted", PLAIN)).await.content(), "by item");
    assert_eq!(read(harness.ask_by_header("scripted", "unheard%20of", 1)).await.content(), "by name alone");
    assert_eq!(read(harness.ask("scripted", ODD)).await.content(), "by content");
}

#[tokio::test]
async fn models_health_and_counters_can_be_asked_for() {
    let harness = Harness::start(scripted("")).await;
    let get = async |url: String| read_answer(harness.client.get(url).send().await.unwrap()).await.json();
    let models = get(format!("{}/models", harness.endpoint.url())).await;
    let ids: Vec<_> = models["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["oracle", "noisy-0.1", "noisy-0.2", "noisy-0.5", "scripted", "lexical"]);
    let model = async |name: &str| get(format!("{}/models/{name}", harness.endpoint.url())).await;
    assert_eq!(model("oracle").await, models["data"][0]);
    assert_eq!(model("noisy-0.3").await["id"], "noisy-0.3");
    assert_eq!(model("gpt-5").await["error"]["code"], "model_not_found");
    let root = harness.endpoint.url().replace("/v1", "");
    assert_eq!(get(format!("{root}/healthz")).await, json!({"status": "ok"}));
    let counters = get(format!("{root}/simulator/counters")).await;
    assert_eq!(counters, serde_json::to_value(harness.endpoint.counters()).unwrap());
}
