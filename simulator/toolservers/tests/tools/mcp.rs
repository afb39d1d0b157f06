//! MCP, message by message.

use serde_json::{Value, json};

use crate::harness::{Harness, config};

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn call(name: &str, arguments: Value) -> Value {
    request("tools/call", json!({"name": name, "arguments": arguments}))
}

#[tokio::test]
async fn there_is_a_tool_for_requests_and_one_for_the_date() {
    let tools = Harness::start(config()).await;
    let (status, answer) = tools.mcp("/mcp", request("tools/list", json!({}))).await;
    assert_eq!(status, 200);
    insta::assert_json_snapshot!(answer["result"]["tools"]);
    let (_, answer) = tools.mcp("/sessions/a/mcp", call("get_date", json!({}))).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"date": "2025-05-28"}));
}

#[tokio::test]
async fn a_request_over_mcp_is_answered_and_logged_as_one_over_http() {
    let tools = Harness::start(config()).await;
    let ask =
        async |arguments: Value| tools.mcp("/sessions/a/mcp", call("request", arguments)).await.1["result"].clone();
    let url = "http://127.0.0.1:3006/game?intent=play_game&game_name=café go";
    let got = ask(json!({"url": url})).await["structuredContent"].clone();
    assert_eq!(got["status"], 200);
    assert!(got["body"].as_str().unwrap().contains(r#""game_name":"caf\u00e9 go""#), "{got}");
    let body = json!({"intent": "play_game"});
    let posted = ask(json!({"url": tools.url("/game"), "method": "post", "body": body})).await;
    assert_eq!(posted["structuredContent"]["status"], 200);
    let log = tools.log("a").await;
    assert_eq!((log.len(), &log[0]["url"], &log[0]["response"]), (2, &json!(url), &got["body"]));
    assert_eq!((&log[1]["method"], &log[1]["body"]), (&json!("POST"), &json!(body.to_string())));
}

#[tokio::test]
async fn where_nobody_is_the_tool_fails() {
    let tools = Harness::start(config()).await;
    for url in ["http://127.0.0.1:3012/game", "https://127.0.0.1:3006/game", "http://www.example.com/", "game"] {
        let (status, answer) = tools.mcp("/mcp", call("request", json!({"url": url}))).await;
        assert_eq!((status, &answer["result"]["isError"]), (200, &json!(true)), "{url}");
    }
    let (_, answer) = tools.mcp("/mcp", call("request", json!({}))).await;
    let problem = json!({"code": "invalid_arguments", "message": "url must be a text"});
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(answer["result"]["structuredContent"]["error"], problem, "the model reads it");
    let (_, answer) = tools.mcp("/mcp", call("other", json!({}))).await;
    assert_eq!(answer["error"]["code"], -32602, "no such tool");
}

#[tokio::test]
async fn a_request_for_another_host_is_refused() {
    let tools = Harness::start(config()).await;
    let message = request("tools/list", json!({}));
    let request = tools.client.post(tools.url("/mcp")).header("host", "elsewhere.example");
    let request = request.header("accept", "application/json, text/event-stream").json(&message);
    assert_eq!(request.send().await.unwrap().status(), 403);
}
