//! MCP, message by message. The end-to-end tests use a third-party client.

use serde_json::{Value, json};

use crate::harness::Harness;

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn call(name: &str, arguments: Value) -> Value {
    request("tools/call", json!({"name": name, "arguments": arguments}))
}

#[tokio::test]
async fn a_client_is_greeted_and_told_that_there_are_tools() {
    let phone = Harness::start().await;
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let (status, answer) = phone.mcp("/mcp/ss-000", request("initialize", hello)).await;
    assert_eq!((status, &answer["result"]["protocolVersion"]), (200, &json!("2025-06-18")));
    assert!(answer["result"]["capabilities"]["tools"].is_object());
}

#[tokio::test]
async fn every_api_is_a_tool_with_its_arguments() {
    let phone = Harness::start().await;
    let (_, answer) = phone.mcp("/mcp/ss-000", request("tools/list", json!({}))).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names.len(), 8);
    assert_eq!(names[..2], ["Library-findbook", "Library-lendbook"]);
    insta::assert_json_snapshot!(tools[1]);
}

#[tokio::test]
async fn names_of_tools_are_those_that_providers_of_models_take() {
    let phone = Harness::start().await;
    let (_, answer) = phone.mcp("/mcp/ss-000", request("tools/list", json!({}))).await;
    for tool in answer["result"]["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{name}");
        assert!((1..=64).contains(&name.len()), "{name}");
    }
}

#[tokio::test]
async fn wrong_arguments_are_a_result_that_the_model_reads() {
    let phone = Harness::start().await;
    let (status, answer) = phone.mcp("/mcp/ss-003", call("Kitchen-findrecipe", json!({"dish": ["a", "b"]}))).await;
    assert_eq!((status, &answer["result"]["isError"]), (200, &json!(true)));
    assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "invalid_arguments");
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("dish"), "{answer}");
}

#[tokio::test]
async fn a_tool_is_called_in_the_session_that_the_path_names() {
    let phone = Harness::start().await;
    let book = json!({"title": "Emma", "author": "Jane Austen"});
    let (status, answer) = phone.mcp("/mcp/ss-000/over-mcp", call("Library-findbook", book.clone())).await;
    assert_eq!((status, &answer["result"]["isError"]), (200, &json!(false)));
    let over_http = phone.call("ss-000", "over-http", "Library/findbook", book).await.1;
    assert_eq!(answer["result"]["structuredContent"], over_http);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), over_http);
    for session in ["over-mcp", "over-http"] {
        assert_eq!(phone.get(&format!("/sessions/ss-000/{session}")).await.1["score"]["success"], true);
    }
}

#[tokio::test]
async fn a_call_into_an_app_that_does_not_own_the_api_is_an_error_of_the_tool() {
    let phone = Harness::start().await;
    let (status, answer) = phone.mcp("/mcp/ss-000", call("Garden-findbook", json!({"title": "Emma"}))).await;
    assert_eq!((status, &answer["result"]["isError"]), (200, &json!(true)));
    assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "permission");
    let (_, answer) = phone.mcp("/mcp/ss-000", call("findbook", json!({}))).await;
    assert_eq!(answer["error"]["code"], -32602, "no such tool");
    assert_eq!(phone.get("/sessions/ss-000/default").await.1["log"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn an_item_that_does_not_exist_has_no_apps() {
    let phone = Harness::start().await;
    let (status, answer) = phone.mcp("/mcp/zz-000", request("tools/list", json!({}))).await;
    assert_eq!((status, &answer["error"]["code"]), (404, &json!("unknown_item")));
}

#[tokio::test]
async fn a_request_for_another_host_is_refused() {
    let phone = Harness::start().await;
    let message = request("tools/list", json!({}));
    let request = phone.client.post(phone.url("/mcp/ss-000")).header("host", "elsewhere.example");
    let request = request.header("accept", "application/json, text/event-stream").json(&message);
    assert_eq!(request.send().await.unwrap().status(), 403);
}
