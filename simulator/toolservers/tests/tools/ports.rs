//! The servers of each port, and the stand-ins.

use regatta_toolservers::{SimulatedTools, ToolPort, ToolsConfig};
use reqwest::{Client, Proxy};

use crate::harness::{Harness, Wire, answer, config};

#[tokio::test]
async fn a_port_of_a_server_serves_nobody_else() {
    let tools =
        Harness::start(ToolsConfig { ports: vec![ToolPort { server: "alarm".into(), port: 0 }], ..config() }).await;
    let (name, url) = tools.server.ports().next().unwrap();
    assert_eq!(name, "alarm");
    let status = async |path: &str| answer(tools.client.get(format!("{url}{path}"))).await.0;
    assert_eq!((status("/alarm").await, status("/calendar").await), (200, 404));
    assert_eq!((tools.get("/alarm").await.0, tools.get("/calendar").await.0, tools.get("/").await.0), (200, 200, 404));
}

#[tokio::test]
async fn a_stand_in_is_found_by_path_by_host_and_through_a_proxy() {
    let tools = Harness::start(config()).await;
    let by_path = tools.get("/api.serpstack.com/search?query=tides").await;
    assert_eq!((by_path.0, &by_path.1["request"]["success"]), (200, &true.into()));
    let by_host = tools.client.get(tools.url("/search?query=tides")).header("host", "api.serpstack.com");
    assert_eq!(answer(by_host).await, by_path);
    let proxied = Client::builder().proxy(Proxy::all(tools.server.url()).unwrap()).build().unwrap();
    assert_eq!(answer(proxied.get("http://api.serpstack.com/search?query=tides")).await, by_path);
    assert_eq!(answer(proxied.get("http://somewhere.example:3000/alarm")).await.0, 200);
}

#[tokio::test]
async fn a_name_of_no_server_gets_no_port() {
    let ports = vec![ToolPort { server: "weather".into(), port: 0 }];
    let error = SimulatedTools::start(ToolsConfig { ports, ..config() }).await.unwrap_err();
    assert!(error.to_string().contains("\"weather\"; there are alarm, audiobook"), "{error}");
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused() {
    let tools = Harness::start(config()).await;
    let mut wire = Wire::connect(&tools.server.url()).await;
    let body = vec![b' '; (1 << 20) + 1];
    assert_eq!(wire.ask("POST", "/alarm", None, Some(&body)).await.status, 413);
    assert_eq!(wire.ask("POST", "/alarm", None, Some(&body[1..])).await.status, 500, "no JSON");
}

#[tokio::test]
async fn bodies_are_read_whatever_their_bytes_are() {
    let tools = Harness::start(config()).await;
    let mut wire = Wire::connect(&tools.server.url()).await;
    let got = wire.ask("POST", "/game", None, Some(b"{\"intent\":\"\xff\xe4\xb8\"}")).await;
    assert!(String::from_utf8(got.body).unwrap().contains(r#""intent":"\ufffd\ufffd""#));
}
