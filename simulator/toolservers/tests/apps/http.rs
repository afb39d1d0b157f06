//! The apps over plain HTTP.

use serde_json::{Value, json};

use crate::harness::{Harness, answer};

#[tokio::test]
async fn apps_and_apis_are_described() {
    let phone = Harness::start().await;
    let (status, apps) = phone.get("/apps").await;
    let names: Vec<&str> = apps["apps"].as_array().unwrap().iter().filter_map(|app| app["name"].as_str()).collect();
    assert_eq!((status, names), (200, vec!["Library", "Garden", "Kitchen", "Ferry"]));
    let (status, api) = phone.get("/apps/Kitchen/reserveoven").await;
    assert_eq!(status, 200);
    insta::assert_json_snapshot!(api);
}

#[tokio::test]
async fn the_true_calls_of_an_item_step_by_step_are_a_success() {
    let phone = Harness::start().await;
    let (status, found) = phone.call("sm-000", "a", "Library/findbook", json!({"title": "Moby-Dick"})).await;
    assert_eq!((status, &found["outputs"]["branch"]), (200, &json!("Old Town")), "what this item's plan needs");
    let arguments = json!({"title": found["outputs"]["title"], "branch": found["outputs"]["branch"], "weeks": 3});
    assert_eq!(phone.call("sm-000", "a", "Library/lendbook", arguments).await.0, 200);
    let (status, report) = phone.get("/sessions/sm-000/a").await;
    assert_eq!(status, 200);
    insta::assert_json_snapshot!(report);
}

#[tokio::test]
async fn a_call_that_is_refused_says_why_and_spoils_the_success() {
    let phone = Harness::start().await;
    let title = json!({"title": "Emma", "author": "Jane Austen"});
    let mut said = Vec::new();
    for api in ["Garden/findbook", "Nowhere/findbook", "Library/burnbook"] {
        said.push(phone.call("ss-000", "a", api, title.clone()).await);
    }
    assert_eq!(said.iter().map(|(status, _)| *status).collect::<Vec<_>>(), [403, 404, 404]);
    insta::assert_json_snapshot!(said);
    assert_eq!(phone.call("ss-000", "a", "Library/findbook", title.clone()).await.0, 200);
    assert_eq!(phone.call("ss-000", "b", "Library/findbook", title).await.0, 200);
    let score = async |path: &str| phone.get(path).await.1["score"].clone();
    assert_eq!(score("/sessions/ss-000/a").await, json!({"hit": 1, "pred": 1, "gold": 1, "success": false}));
    assert_eq!(score("/sessions/ss-000/b").await, json!({"hit": 1, "pred": 1, "gold": 1, "success": true}));
}

#[tokio::test]
async fn sessions_know_nothing_of_each_other() {
    let phone = Harness::start().await;
    for (item, session) in [("ss-000", "a"), ("ss-000", "b"), ("sm-001", "a")] {
        assert_eq!(phone.call(item, session, "Garden/waterbed", json!({"bed": "7"})).await.0, 200);
    }
    let ledger = async |path: &str| phone.get(path).await.1["ledger"].as_array().map(Vec::len);
    assert_eq!(ledger("/sessions/ss-000/a").await, Some(1));
    let list = phone.get("/sessions").await.1;
    assert_eq!(list["sessions"].as_array().map(Vec::len), Some(3));
    let forgotten = answer(phone.client.delete(phone.url("/sessions/ss-000/a"))).await;
    assert_eq!(forgotten.0, 204);
    assert_eq!(phone.get("/sessions/ss-000/a").await.0, 404);
    assert_eq!(ledger("/sessions/ss-000/b").await, Some(1));
    // Data that one item's plan needs does not exist in another item.
    let found = async |item: &str| {
        phone.call(item, "x", "Garden/findbed", json!({"plant": "Tomatoes"})).await.1["outputs"]["bed"].clone()
    };
    assert_eq!(found("sm-001").await, json!("7"));
    assert!(found("sm-002").await.as_str().unwrap().starts_with("bed:"));
}

#[tokio::test]
async fn arguments_are_texts_numbers_and_booleans() {
    let phone = Harness::start().await;
    let call = async |arguments: Value| phone.call("ss-003", "a", "Kitchen/findrecipe", arguments).await;
    let (status, _) = call(json!({"Dish": "Lasagne", "servings": 6, "vegetarian": true, "degrees": null})).await;
    assert_eq!(status, 200);
    assert_eq!(phone.get("/sessions/ss-003/a").await.1["score"]["success"], true);
    let (status, said) = call(json!({"dish": ["Lasagne"]})).await;
    assert_eq!((status, &said["error"]["code"]), (400, &json!("invalid_arguments")));
    let (status, said) = call(json!(["Lasagne"])).await;
    assert_eq!((status, &said["error"]["code"]), (400, &json!("invalid_arguments")));
    let (_, warned) = call(json!({"dishes": "Lasagne"})).await;
    let (unknown, missing) = (
        json!({"kind": "unknown_argument", "argument": "dishes"}),
        json!({"kind": "missing_argument", "argument": "dish"}),
    );
    assert_eq!(warned["warnings"], json!([unknown, missing]));
}

#[tokio::test]
async fn whatever_does_not_exist_is_said_in_the_same_form() {
    let phone = Harness::start().await;
    let mut said = Vec::new();
    for path in [
        "/items/ss-999",
        "/apps/Nowhere",
        "/apps/Library/burnbook",
        "/sessions/ss-000/none",
        "/sessions/ss-000/a%20b",
        "/nowhere",
    ] {
        said.push((path, phone.get(path).await));
    }
    said.push(("POST /apps", answer(phone.client.post(phone.url("/apps"))).await));
    said.push(("no item", answer(phone.client.post(phone.url("/apps/Library/findbook"))).await));
    said.push(("unknown item", phone.call("zz-000", "a", "Library/findbook", json!({})).await));
    insta::assert_json_snapshot!(said);
    assert_eq!(phone.get("/healthz").await.0, 200);
    assert_eq!(phone.get("/items/ss-000").await.1["input"], "Where can I find Emma by Jane Austen?");
    assert_eq!(phone.get("/items").await.1["items"].as_array().map(Vec::len), Some(10));
}
