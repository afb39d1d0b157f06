use regatta_proto::{Finish, Reply, ToolCall, Usage};
use serde_json::Value;

use super::*;
use crate::{Answer, ChatCall, Format, Reading, Stamp};

fn store() -> ResponseStore {
    ResponseStore::new(3, 1 << 20, None)
}

/// The answer number `number`, as a client gets it.
fn answer(number: u32, reply: &Reply) -> Bytes {
    let stamp = Stamp { id: number.to_string(), created: 0, cost: None, fingerprint: None };
    Answer { model: "m", reply, usage: &Usage::default(), stamp: &stamp, forms: None }.whole(Format::Responses)
}

/// The request `fields` as it is read, after it was expanded; its answer, which says `said`, is kept under `number`.
fn asked(store: &ResponseStore, fields: &Value, number: u32, said: &str) -> regatta_proto::ChatRequest {
    let body = fields.to_string();
    let Expanded { body: expanded, keeping } = store.expand(body.as_bytes()).unwrap();
    let body = expanded.unwrap_or_else(|| body.into());
    if let Some(keeping) = keeping {
        store.keep(&keeping, &answer(number, &Reply::said(said)));
    }
    ChatCall::parse(Format::Responses, &body, Reading::Whole).unwrap().request
}

fn said_by(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

fn refused(store: &ResponseStore, fields: &Value) -> String {
    store.expand(fields.to_string().as_bytes()).unwrap_err().message
}

#[test]
fn a_request_after_a_response_is_the_one_that_has_the_whole_conversation() {
    let store = store();
    asked(&store, &json!({"model": "m", "input": "one", "instructions": "not for the next"}), 1, "two");
    asked(
        &store,
        &json!({"model": "m", "input": [said_by("user", "three")], "previous_response_id": "resp_1"}),
        2,
        "four",
    );
    let last = json!({"model": "m", "instructions": "i", "input": "five", "previous_response_id": "resp_2"});
    let whole = json!({"model": "m", "instructions": "i", "input": [
        said_by("user", "one"), said_by("assistant", "two"), said_by("user", "three"), said_by("assistant", "four"),
        said_by("user", "five"),
    ]});
    assert_eq!(asked(&store, &last, 3, "six"), asked(&store, &whole, 4, "six"));
}

#[test]
fn calls_and_fields_that_nobody_here_knows_go_along() {
    let store = store();
    let first = json!({"model": "m", "input": "go"});
    let keeping = store.expand(first.to_string().as_bytes()).unwrap().keeping.unwrap();
    let call = ToolCall { id: "c".into(), name: "look".into(), arguments: "{}".into() };
    store.keep(&keeping, &answer(1, &Reply::calling(None, vec![call])));
    let result = json!({"type": "function_call_output", "call_id": "c", "output": "a key"});
    let next = json!({"model": "m", "truncation": "auto", "previous_response_id": "resp_1", "input": [result]});
    let request = asked(&store, &next, 2, "done");
    assert_eq!(request.messages.len(), 3);
    assert_eq!((&*request.messages[1].tool_calls[0].name, &*request.messages[2].content), ("look", "a key"));
    assert_eq!(request.passed.unwrap().fields["truncation"], "auto");
}

#[test]
fn a_conversation_grows_by_each_request_and_its_answer_once() {
    let store = store();
    let made = store.serve(
        StoredObject::Conversations,
        &Method::POST,
        ("", br#"{"items": [{"role": "user", "content": "a"}]}"#),
        7,
    );
    let made: Value = serde_json::from_slice(&made.unwrap()).unwrap();
    assert_eq!(made, json!({"id": "conv_0", "object": "conversation", "created_at": 7, "metadata": {}}));
    let next = json!({"model": "m", "store": false, "conversation": "conv_0", "input": "b"});
    let keeping = store.expand(next.to_string().as_bytes()).unwrap().keeping.unwrap();
    // A client that was cut off gets its answer twice.
    for _ in 0..2 {
        store.keep(&keeping, &answer(1, &Reply::said("c")));
    }
    let last = json!({"model": "m", "conversation": {"id": "conv_0"}, "input": "d"});
    let request = asked(&store, &last, 2, "e");
    let contents: Vec<&str> = request.messages.iter().map(|message| &*message.content).collect();
    assert_eq!(contents, ["a", "b", "c", "d"]);
    assert!(
        refused(&store, &json!({"input": "x", "previous_response_id": "resp_1"})).ends_with(NOT_KEPT),
        "not stored"
    );
}

#[test]
fn a_client_that_was_cut_off_in_a_conversation_finds_its_response_as_it_was_at_first() {
    let store = store();
    store.serve(StoredObject::Conversations, &Method::POST, ("", b""), 0).unwrap();
    let body = json!({"model": "m", "conversation": "conv_0", "input": "b"});
    // Its second try is expanded to a conversation that has the first one.
    for _ in 0..2 {
        asked(&store, &body, 1, "c");
    }
    let request = asked(&store, &json!({"model": "m", "previous_response_id": "resp_1", "input": "d"}), 2, "e");
    let contents: Vec<&str> = request.messages.iter().map(|message| &*message.content).collect();
    assert_eq!(contents, ["b", "c", "d"]);
}

#[test]
fn what_is_kept_counts_among_the_bytes_of_the_process_until_the_store_is_gone() {
    let budget = regatta_memory::ByteBudget::new(1 << 30);
    let store = ResponseStore::new(3, 1 << 20, Some(budget.holder()));
    for number in 0..10 {
        let input = format!("{number} {}", "x".repeat(100_000));
        asked(&store, &json!({"model": "m", "input": input}), number, "y");
    }
    assert!((300_000..400_000).contains(&budget.held()), "{}", budget.held());
    drop(store);
    assert_eq!(budget.held(), 0);
}

#[test]
fn small_items_take_more_than_their_texts() {
    let store = store();
    let items: Vec<Value> = (0..1000).map(|number: u32| json!(number)).collect();
    let body = json!({"items": items}).to_string();
    store.serve(StoredObject::Conversations, &Method::POST, ("", body.as_bytes()), 0).unwrap();
    assert!(store.lock().bytes >= 1000 * (ITEM + MENTION + 1));
}

#[test]
fn an_item_is_referred_to_by_its_id() {
    let store = store();
    asked(&store, &json!({"model": "m", "input": "one"}), 1, "two");
    for reference in [json!({"type": "item_reference", "id": "msg_1"}), json!({"id": "msg_1"})] {
        let request = asked(&store, &json!({"model": "m", "input": [said_by("user", "x"), reference]}), 2, "y");
        assert_eq!(&*request.messages[1].content, "two");
    }
    let unknown = json!({"input": [{"type": "item_reference", "id": "msg_9"}]});
    assert_eq!(refused(&store, &unknown), format!("`input[0].id` {NOT_KEPT}"));
}

#[test]
fn what_is_not_kept_is_refused_as_the_provider_does() {
    let error = store().expand(br#"{"input": "x", "previous_response_id": "resp_1"}"#).unwrap_err();
    assert_eq!((error.status.as_u16(), error.code), (400, Some("previous_response_not_found")));
    assert_eq!(error.param.as_deref(), Some("previous_response_id"));
    let nobody = store().serve(StoredObject::Response("resp_1"), &Method::GET, ("", b""), 0).unwrap_err();
    assert_eq!(nobody.status, 404);
}

#[test]
fn a_request_without_references_stays_as_it_was_written() {
    let store = store();
    for body in [r#"{"input": "x"}"#, r#"{"previous_response_id": null, "input": []}"#, "no JSON", r#"{"input": 1}"#] {
        assert_eq!(store.expand(body.as_bytes()).unwrap().body, None, "{body}");
    }
    assert!(store.expand(br#"{"input": "x", "store": false}"#).unwrap().keeping.is_none());
}

#[test]
fn the_oldest_are_forgotten_and_what_is_left_takes_the_memory_that_it_did() {
    let store = store();
    let long = "x".repeat(1000);
    let mut items = vec![said_by("user", &long)];
    for number in 0..50 {
        asked(&store, &json!({"model": "m", "input": items}), number, "y");
        items.push(said_by("user", &number.to_string()));
    }
    assert_eq!(store.lock().responses.len(), 3);
    assert!(refused(&store, &json!({"input": "x", "previous_response_id": "resp_46"})).ends_with(NOT_KEPT));
    assert!(store.expand(br#"{"input": "x", "previous_response_id": "resp_47"}"#).is_ok());
    // The long item is kept once.
    let most = 3 * (long.len() + 51 * MENTION + 1000) + 54 * ITEM;
    assert!(store.lock().bytes < most, "{}", store.lock().bytes);
    for number in 47..50 {
        store.serve(StoredObject::Response(&format!("resp_{number}")), &Method::DELETE, ("", b""), 0).unwrap();
    }
    let kept = store.lock();
    assert_eq!((kept.bytes, kept.items.len()), (0, 0));
}

#[test]
fn what_is_too_large_is_not_kept_and_takes_the_place_of_nothing_else() {
    let store = ResponseStore::new(3, 2000, None);
    asked(&store, &json!({"model": "m", "input": "small"}), 1, "y");
    asked(&store, &json!({"model": "m", "input": "x".repeat(2000)}), 2, "y");
    assert!(refused(&store, &json!({"input": "x", "previous_response_id": "resp_2"})).ends_with(NOT_KEPT));
    assert!(store.expand(br#"{"input": "x", "previous_response_id": "resp_1"}"#).is_ok());
}

#[test]
fn an_item_that_is_mentioned_again_and_again_is_not_written_out() {
    let store = ResponseStore::new(3, 4000, None);
    let item = json!({"id": "i", "role": "user", "content": "x".repeat(1000)});
    store
        .serve(StoredObject::Conversations, &Method::POST, ("", json!({"items": [item]}).to_string().as_bytes()), 0)
        .unwrap();
    let mentions = vec![json!({"id": "i"}); 5];
    let error = store.expand(json!({"input": mentions}).to_string().as_bytes()).unwrap_err();
    assert_eq!(error.status, 413);
    let error =
        store.expand(json!({"conversation": "conv_0", "input": mentions[..3]}).to_string().as_bytes()).unwrap_err();
    assert_eq!(error.status, 413);
    for _ in 0..3 {
        let body = json!({"items": [item]}).to_string();
        store.serve(StoredObject::Items("conv_0"), &Method::POST, ("", body.as_bytes()), 0).unwrap();
    }
    assert_eq!(store.serve(StoredObject::Items("conv_0"), &Method::GET, ("", b""), 0).unwrap_err().status, 413);
}

#[test]
fn stored_objects_are_told_as_the_provider_does() {
    let store = store();
    asked(&store, &json!({"model": "m", "input": [said_by("user", "one")]}), 1, "two");
    let tell = |object, method: Method| -> Value {
        serde_json::from_slice(&store.serve(object, &method, ("", b""), 0).unwrap()).unwrap()
    };
    assert_eq!(tell(StoredObject::Response("resp_1"), Method::GET)["output"][0]["content"][0]["text"], "two");
    let input = tell(StoredObject::InputItems("resp_1"), Method::GET);
    assert_eq!((&input["object"], &input["data"][0]["content"]), (&json!("list"), &json!("one")));
    assert_eq!(tell(StoredObject::Response("resp_1"), Method::DELETE)["deleted"], true);
    tell(StoredObject::Conversations, Method::POST);
    let added = store.serve(
        StoredObject::Items("conv_0"),
        &Method::POST,
        ("", br#"{"items": [{"id": "i", "role": "user"}]}"#),
        0,
    );
    let added: Value = serde_json::from_slice(&added.unwrap()).unwrap();
    assert_eq!((&added["first_id"], &added["has_more"]), (&json!("i"), &json!(false)));
    assert_eq!(tell(StoredObject::Items("conv_0"), Method::GET)["data"], json!([{"id": "i", "role": "user"}]));
    assert_eq!(tell(StoredObject::Conversation("conv_0"), Method::GET)["id"], "conv_0");
    assert_eq!(tell(StoredObject::Conversation("conv_0"), Method::DELETE)["object"], "conversation.deleted");
}

#[test]
fn objects_are_found_by_their_paths() {
    let at = StoredObject::at;
    assert_eq!(at("/v1/responses/r"), Some(StoredObject::Response("r")));
    assert_eq!(at("/responses/r/input_items"), Some(StoredObject::InputItems("r")));
    assert_eq!(at("/v1/conversations"), Some(StoredObject::Conversations));
    assert_eq!(at("/v1/conversations/c/items"), Some(StoredObject::Items("c")));
    for path in
        ["/v1/responses", "/v1/responses/", "/responses/compact", "/responses/r/cancel", "/v1/conversations/", "/x"]
    {
        assert_eq!(at(path), None, "{path}");
    }
}

#[test]
fn an_answer_that_was_cut_is_kept_too() {
    let store = store();
    let keeping = store.expand(br#"{"input": "one"}"#).unwrap().keeping.unwrap();
    store.keep(&keeping, &answer(1, &Reply::of_text(Some("tw"), Finish::Length)));
    let request = asked(&store, &json!({"model": "m", "input": "on", "previous_response_id": "resp_1"}), 2, "y");
    assert_eq!(&*request.messages[1].content, "tw");
}

#[test]
fn items_are_listed_from_the_newest_on_or_in_the_order_that_is_asked_for() {
    let store = store();
    let items = br#"{"items": [{"id": "a", "role": "user"}, {"id": "b", "role": "user"}]}"#;
    store.serve(StoredObject::Conversations, &Method::POST, ("", items), 0).unwrap();
    let first = |query: &str| {
        let list = store.serve(StoredObject::Items("conv_0"), &Method::GET, (query, b""), 0).unwrap();
        serde_json::from_slice::<Value>(&list).unwrap()["first_id"].clone()
    };
    let firsts = ["", "limit=20&order=desc", "limit=20&order=asc"].map(first);
    assert_eq!(firsts, ["b", "b", "a"].map(Value::from));
}
