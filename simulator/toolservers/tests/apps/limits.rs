//! Limits of bodies, sessions and a session's budget.

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::harness::{Harness, answer};

#[tokio::test]
async fn a_body_that_is_too_long_is_refused() {
    let phone = Harness::start().await;
    let call =
        async |length: usize| phone.call("ss-000", "a", "Library/findbook", json!({"title": "x".repeat(length)})).await;
    assert_eq!(call(60_000).await.0, 200);
    let (status, said) = call(70_000).await;
    assert_eq!((status, &said["error"]["code"]), (413, &json!("too_large")));
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "x".repeat(70_000)}});
    assert_eq!(phone.mcp("/mcp/ss-000", message).await.0, 413);
}

#[tokio::test]
async fn a_session_that_has_moved_too_much_gets_nothing_more_and_others_do() {
    let phone = Harness::start().await;
    let long = json!({"title": "x".repeat(60_000)});
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(phone.call("ss-000", "a", "Library/findbook", long.clone()).await.0);
    }
    assert_eq!((statuses.first(), statuses.last()), (Some(&200), Some(&429)));
    assert_eq!(phone.call("ss-000", "b", "Library/findbook", long).await.0, 200);
    let report = phone.get("/sessions/ss-000/a").await.1;
    assert_eq!(report["log"].as_array().map(Vec::len), Some(statuses.iter().filter(|status| **status == 200).count()));
    assert_eq!(report["score"]["success"], false);
}

#[tokio::test]
async fn there_are_only_so_many_sessions_until_some_are_forgotten() {
    let phone = Harness::start().await;
    for at in 0..1024 {
        let (status, _) = phone.call("ss-000", &format!("s{at}"), "Library/findbook", json!({})).await;
        assert_eq!(status, 200);
    }
    let (status, said) = phone.call("ss-000", "more", "Library/findbook", json!({})).await;
    assert_eq!((status, &said["error"]["code"]), (429, &json!("too_many_sessions")));
    assert_eq!(answer(phone.client.delete(phone.url("/sessions/ss-000/s7"))).await.0, 204);
    assert_eq!(phone.call("ss-000", "more", "Library/findbook", json!({})).await.0, 200);
}

#[tokio::test]
async fn after_a_shutdown_nobody_listens() {
    let phone = Harness::start().await;
    let url = phone.url("/healthz");
    phone.server.shutdown().await;
    assert!(phone.client.get(url).send().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn connections_that_stall_are_closed() {
    let phone = Harness::start().await;
    let request = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    for said in ["", "GET /healthz HT", request] {
        let mut stream = TcpStream::connect(phone.server.address()).await.unwrap();
        stream.write_all(said.as_bytes()).await.unwrap();
        let begun = Instant::now();
        stream.read_to_end(&mut Vec::new()).await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 120, "{said:?}");
    }
    let mut deaf = TcpStream::connect(phone.server.address()).await.unwrap();
    let begun = Instant::now();
    // Sends until the server has had enough: answers that nobody reads fill what the system keeps for them first.
    while deaf.write_all(request.repeat(1000).as_bytes()).await.is_ok() {}
    assert_eq!(begun.elapsed().as_secs(), 30);
}
