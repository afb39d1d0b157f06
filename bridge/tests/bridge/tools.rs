//! Tool servers of a session.

use regatta_benchmarks::ToolRequest;
use serde_json::{Value, json};

use crate::harness::{Harness, Session};

#[tokio::test]
async fn a_request_written_as_json_is_answered_as_json_or_as_it_is() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    let request = json!({"method": "post", "url": "http://localhost:3000/missing?q=1", "body": "a=b"});
    let answer: Value = harness.post("/tools/request", &request).await.json().await.unwrap();
    let body = r#"POST http://localhost:3000/missing?q=1 Some(Ok("a=b"))"#;
    assert_eq!(answer, json!({"status": 404, "content_type": "text/html; charset=utf-8", "body": body}));
    let raw = harness.client.post(harness.url("/tools/request")).header("accept", "text/plain").json(&request);
    let raw = raw.send().await.unwrap();
    assert_eq!((raw.status().as_u16(), raw.text().await.unwrap().as_str()), (404, body));
    let wrong = harness.post("/tools/request", &json!({"method": "GET"})).await;
    assert_eq!(wrong.status(), 400);
    assert_eq!(session.served.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_proxied_request_is_answered_as_the_tool_server_would() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    let url = harness.url("/tools/proxy/http/localhost:3000/a%20b/c?x=%2F&y");
    let answer = harness.client.request("PURGE".parse().unwrap(), &url).body("z").send().await.unwrap();
    assert_eq!((answer.status().as_u16(), &answer.headers()["allow"]), (200, &"GET, POST".parse().unwrap()));
    assert_eq!(answer.headers()["content-type"], "text/html; charset=utf-8");
    let head = harness.client.head(harness.url("/members/url/tools/proxy/https/api.example.org")).send().await.unwrap();
    assert_eq!((head.status().as_u16(), head.text().await.unwrap().as_str()), (200, ""));
    let request = |method: &str, url: &str, body: Option<&str>| ToolRequest {
        method: method.into(),
        url: url.into(),
        body: body.map(|body| body.as_bytes().to_vec()),
    };
    assert_eq!(
        *session.served.lock().unwrap(),
        [
            request("PURGE", "http://localhost:3000/a%20b/c?x=%2F&y", Some("z")),
            request("HEAD", "https://api.example.org/", None),
        ]
    );
    assert_eq!(harness.client.get(harness.url("/tools/proxy/ftp/h/")).send().await.unwrap().status(), 400);
}
