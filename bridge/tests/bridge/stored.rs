//! Responses and conversations of a session, to which its later calls refer.

use std::net::{Ipv4Addr, SocketAddr};

use regatta_bridge::Bridge;
use regatta_memory::ByteBudget;
use regatta_proto::{ChatRequest, ClientFormat, Reply};
use serde_json::{Value, json};

use crate::harness::{Harness, Session, posted, received};

const RESPONSES: &str = "/v1/responses";

fn text_of(answer: &Value) -> &str {
    answer["output"][0]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

async fn told(harness: &Harness, body: &Value) -> Value {
    let answer = harness.post(RESPONSES, body).await;
    assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
    answer.json().await.unwrap()
}

/// The last call that the session was asked for.
fn last(session: &Session) -> ChatRequest {
    session.asked.lock().unwrap().last().unwrap().1.clone()
}

fn contents(request: &ChatRequest) -> Vec<&str> {
    request.messages.iter().map(|message| &*message.content).collect()
}

#[tokio::test]
async fn a_call_after_a_response_is_the_call_that_has_the_whole_conversation() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    let first = told(&harness, &json!({"model": "m", "input": "one"})).await;
    let next = json!({"model": "m", "input": "two", "previous_response_id": first["id"], "truncation": "auto"});
    assert_eq!(text_of(&told(&harness, &next).await), "two (2)");
    let referring = last(&session);
    assert_eq!(contents(&referring), ["one", "one (1)", "two"]);
    let items = ["one", "one (1)", "two"].into_iter().zip(["user", "assistant", "user"]);
    let input: Vec<Value> = items.map(|(text, role)| json!({"role": role, "content": text})).collect();
    told(&harness, &json!({"model": "m", "input": input, "truncation": "auto"})).await;
    // It is recorded, cached and compared alike.
    assert_eq!(last(&session), referring);
}

#[tokio::test]
async fn a_streamed_response_can_be_referred_to_and_asked_for() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    harness.post(RESPONSES, &json!({"model": "m", "input": "one", "stream": true})).await.text().await.unwrap();
    let get = async |path: &str| harness.client.get(harness.url(path)).send().await.unwrap();
    let kept: Value = get("/v1/responses/resp_regatta-0").await.json().await.unwrap();
    assert_eq!((text_of(&kept), &kept["object"]), ("one (1)", &json!("response")));
    let input: Value = get("/v1/responses/resp_regatta-0/input_items").await.json().await.unwrap();
    assert_eq!(input["data"][0]["content"], "one");
    told(&harness, &json!({"model": "m", "input": "two", "previous_response_id": "resp_regatta-0"})).await;
    assert_eq!(contents(&last(&session)), ["one", "one (1)", "two"]);
    let delete = harness.client.delete(harness.url("/v1/responses/resp_regatta-0")).send().await.unwrap();
    assert_eq!(delete.json::<Value>().await.unwrap()["deleted"], true);
    assert_eq!(get("/v1/responses/resp_regatta-0").await.status(), 404);
    assert_eq!(session.calls(), 2);
}

#[tokio::test]
async fn a_conversation_and_its_items_go_along_with_every_format_of_content() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    let made = harness.post("/v1/conversations", &json!({"items": [{"role": "user", "content": "zero"}]})).await;
    let id = made.json::<Value>().await.unwrap()["id"].clone();
    let image = json!([{"type": "input_image", "image_url": "https://host/x.png"}]);
    told(&harness, &json!({"model": "m", "conversation": id, "input": [{"role": "user", "content": image}]})).await;
    let answered =
        json!({"model": "m", "conversation": {"id": id}, "input": [{"type": "item_reference", "id": "msg_regatta-0"}]});
    told(&harness, &answered).await;
    let request = last(&session);
    assert_eq!(contents(&request), ["zero", "", " (1)", " (1)"]);
    let passed = request.passed.unwrap();
    assert_eq!(passed.format, ClientFormat::Responses);
    // What goes to the endpoint as it was written is the whole conversation too.
    assert_eq!(passed.fields["input"].as_array().unwrap().len(), 4);
    assert_eq!(passed.fields.get("conversation"), None);
    let items = harness.client.get(harness.url(&format!("/v1/conversations/{}/items", id.as_str().unwrap())));
    let items: Value = items.send().await.unwrap().json().await.unwrap();
    assert_eq!(items["data"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn a_client_that_was_cut_off_in_a_conversation_gets_its_answer_and_has_it_in_there_once() {
    let (session, mut watch) = Session::gated();
    let harness = Harness::of(session.clone()).await;
    harness.post("/v1/conversations", &json!({})).await;
    let body = json!({"model": "m", "conversation": "conv_0", "input": "one"});
    let first = posted(&harness.open, RESPONSES, "", &body).await;
    watch.begun().await;
    drop(first);
    let mut second = posted(&harness.open, RESPONSES, "", &body).await;
    session.gate.add_permits(2);
    assert_eq!(text_of(&received(&mut second).await), "one (1)");
    told(&harness, &json!({"model": "m", "conversation": "conv_0", "input": "two"})).await;
    assert_eq!(contents(&last(&session)), ["one", "one (1)", "two"]);
}

#[tokio::test]
async fn what_is_not_kept_is_refused_as_the_provider_does_and_the_session_is_told() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    let answer = harness.post(RESPONSES, &json!({"model": "m", "input": "x", "previous_response_id": "resp_1"})).await;
    assert_eq!(answer.status(), 400);
    let error = answer.json::<Value>().await.unwrap()["error"].clone();
    assert_eq!(
        (&error["code"], &error["param"], &error["type"]),
        (&json!("previous_response_not_found"), &json!("previous_response_id"), &json!("invalid_request_error"))
    );
    let unknown = harness.client.get(harness.url("/v1/responses/resp_1")).send().await.unwrap();
    assert_eq!(unknown.status(), 404);
    assert_eq!((session.unreadable.lock().unwrap().len(), session.calls()), (2, 0));
    assert_eq!(harness.post(RESPONSES, &json!({"model": "m", "input": "x", "background": true})).await.status(), 400);
}

#[tokio::test]
async fn sessions_do_not_see_each_others_responses() {
    let harness = Harness::of(Session::open()).await;
    let first = told(&harness, &json!({"model": "m", "input": "one"})).await;
    let other = harness.bridge.open(Session::open());
    let url = format!("{}{RESPONSES}", other.base_url());
    let body = json!({"model": "m", "input": "two", "previous_response_id": first["id"]});
    assert_eq!(harness.client.post(url).json(&body).send().await.unwrap().status(), 400);
}

#[tokio::test]
async fn a_conversation_longer_than_a_request_may_be_is_refused() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    // Each fits; both do not.
    harness.post("/v1/conversations", &json!({"items": [{"role": "user", "content": "x".repeat(900 << 10)}]})).await;
    let body = json!({"model": "m", "conversation": "conv_0", "input": "y".repeat((4 << 20) - (500 << 10))});
    assert_eq!(harness.post(RESPONSES, &body).await.status(), 413);
    assert_eq!(session.calls(), 0);
}

#[tokio::test]
async fn to_tidy_up_what_is_gone_already_is_no_request_that_cannot_be_carried() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    for path in ["/v1/responses/resp_1", "/v1/conversations/conv_1"] {
        assert_eq!(harness.client.delete(harness.url(path)).send().await.unwrap().status(), 404);
    }
    assert!(session.unreadable.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_input_of_a_call_and_what_a_session_keeps_count_among_the_bytes_of_the_process() {
    let budget = ByteBudget::new(1 << 30);
    let bridge = Bridge::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), budget.clone()).await.unwrap();
    let (session, mut watch) = Session::gated();
    *session.answer.lock().unwrap() = Some(Ok(Reply::said("y")));
    let open = bridge.open(session.clone());
    let body = json!({"model": "m", "input": "x".repeat(1 << 20)});
    let mut stream = posted(&open, RESPONSES, "", &body).await;
    watch.begun().await;
    assert!(budget.held() >= 1 << 20, "{} while it is under way", budget.held());
    session.gate.add_permits(1);
    received(&mut stream).await;
    assert!(budget.held() >= 1 << 20, "{} while it is kept", budget.held());
    drop(stream);
    open.close().await;
    bridge.shutdown().await;
    assert_eq!(budget.held(), 0);
}
