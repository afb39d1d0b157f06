use serde_json::json;

use regatta_proto::SessionSeed;
use regatta_simulator::answer_seed;

use crate::harness::{Harness, config, read};
use crate::three_items::{PLAIN, gold};

/// The seed of one model's answers in a session.
fn seed_of(model: &str, session: u64) -> u64 {
    answer_seed(SessionSeed(session), &config().simulation, model).0
}

async fn judged(harness: &Harness, model: &str, prompt: &str, headers: &[(&'static str, &str)]) -> String {
    let body = json!({"model": model, "messages": [{"role": "user", "content": prompt}]});
    let request = harness.post("/chat/completions", &body);
    read(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await.content()
}

#[tokio::test]
async fn the_role_that_the_headers_name_reaches_the_benchmark() {
    let harness = Harness::start(config()).await;
    for (role, expected) in [("user", "User"), ("environment", "Environment")] {
        let answer = read(harness.ask_by_header("oracle", PLAIN, 7).header("x-regatta-role", role)).await;
        assert_eq!(answer.content(), format!("{expected} of {PLAIN}, seed {}", seed_of("oracle", 7)));
    }
    let answer = read(harness.ask_by_header("oracle", PLAIN, 7).header("x-regatta-role", "agent")).await;
    assert_eq!(answer.content(), gold(PLAIN));
}

#[tokio::test]
async fn an_unknown_role_is_refused() {
    let harness = Harness::start(config()).await;
    let answer = read(harness.ask_by_header("oracle", PLAIN, 7).header("x-regatta-role", "boss")).await;
    assert_eq!(answer.status, 400);
    assert!(answer.text.contains("x-regatta-role"), "{}", answer.text);
}

#[tokio::test]
async fn a_judges_prompt_is_recognised_without_a_session_and_its_persona_is_the_models() {
    let harness = Harness::start(config()).await;
    let headers = [("x-regatta-role", "judge"), ("x-regatta-seed", "5")];
    let answer = judged(&harness, "oracle", "Judge: tea", &headers).await;
    assert_eq!(answer, "Oracle says yes to tea, seed 5");
    let answer = judged(&harness, "noisy-0.5", "Judge: tea", &headers).await;
    assert_eq!(answer, "Noisy(0.5) says yes to tea, seed 5");
}

#[tokio::test]
async fn a_judge_that_is_asked_again_draws_anew_also_where_nobody_names_a_seed() {
    let harness = Harness::start(config()).await;
    let first = judged(&harness, "oracle", "Judge: tea", &[]).await;
    let second = judged(&harness, "oracle", "Judge: tea", &[]).await;
    assert_ne!(first, second);
    // The same questions in the same order get the same answers.
    let again = Harness::start(config()).await;
    assert_eq!(judged(&again, "oracle", "Judge: tea", &[]).await, first);
    assert_eq!(judged(&again, "oracle", "Judge: tea", &[]).await, second);
}

#[tokio::test]
async fn a_judges_prompt_is_recognised_after_instructions_and_a_conversation_in_every_format() {
    let harness = Harness::start(config()).await;
    let history = json!([
        {"role": "user", "content": "Task: os_1"},
        {"role": "assistant", "content": "gold"},
        {"role": "user", "content": "Judge: tea"},
    ]);
    let mut chat = vec![json!({"role": "system", "content": "Be strict."})];
    chat.extend(history.as_array().unwrap().clone());
    for (route, body) in [
        ("/chat/completions", json!({"model": "oracle", "messages": chat})),
        ("/messages", json!({"model": "oracle", "max_tokens": 99, "system": "Be strict.", "messages": history})),
        ("/responses", json!({"model": "oracle", "instructions": "Be strict.", "input": history})),
    ] {
        for role in [None, Some("judge")] {
            let request = harness.post(route, &body).header("x-regatta-seed", "5");
            let request = role.into_iter().fold(request, |request, role| request.header("x-regatta-role", role));
            let answer = read(request).await;
            assert!(answer.text.contains("Oracle says yes to tea, seed 5"), "{route} {role:?}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn what_no_benchmark_takes_for_a_judges_prompt_is_refused() {
    let harness = Harness::start(config()).await;
    let body = json!({"model": "oracle", "messages": [{"role": "user", "content": "Is it good?"}]});
    let answer = read(harness.post("/chat/completions", &body).header("x-regatta-role", "judge")).await;
    assert_eq!(answer.status, 400);
    assert!(answer.text.contains("prompt of its judges"), "{}", answer.text);
}
