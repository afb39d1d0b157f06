//! Every recorded request, over real HTTP.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Harness, Wire};

fn golden() -> Option<PathBuf> {
    let shared = std::env::var_os("REGATTA_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let folder = shared.join("benchmarks/autoslurp/golden/servers");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no recorded answers at {} (set REGATTA_SHARED)", folder.display());
    None
}

/// The recorded requests of a server. Their parsed answers are left out, because Python's JSON may have `NaN`.
fn cases(folder: &Path, server: &str) -> Vec<Value> {
    let lines = std::fs::read_to_string(folder.join(format!("{server}.jsonl"))).unwrap();
    let read = |line: &str| {
        let (before, _) = line.split_once(", \"response\": ").unwrap();
        let (_, raw) = line.rsplit_once(", \"response_raw\": ").unwrap();
        serde_json::from_str(&format!("{before}, \"response_raw\": {raw}")).unwrap()
    };
    lines.lines().map(read).collect()
}

async fn compare(wire: &mut Wire, prefix: &str, case: &Value) {
    let text = |name: &str| case[name].as_str().unwrap_or_default();
    let question = if text("query").is_empty() { "" } else { "?" };
    let target = format!("{prefix}{}{question}{}", text("path"), text("query"));
    let body = case["body"].as_str().map(str::as_bytes);
    let got = wire.ask(text("method"), &target, case["content_type"].as_str(), body).await;
    let place = format!("{} {target}", case["id"]);
    assert_eq!(Some(u64::from(got.status)), case["status"].as_u64(), "{place}");
    assert_eq!(got.headers["content-type"], text("response_content_type"), "{place}");
    // The pages of other statuses are not part of the contract.
    if got.status == 200 {
        assert_eq!(String::from_utf8(got.body).unwrap(), text("response_raw"), "{place}");
    }
    if let Some(methods) = case["allow"].as_array() {
        let methods: Vec<&str> = methods.iter().filter_map(Value::as_str).collect();
        assert_eq!(got.headers["allow"], methods.join(", "), "{place}");
    }
}

#[tokio::test]
async fn every_recorded_request_is_answered_as_recorded_on_one_port_and_on_own_ports() {
    let Some(folder) = golden() else { return };
    let tools = Harness::with_ports().await;
    let mut compared = 0;
    for (server, url) in tools.server.ports() {
        let (mut own, mut one) = (Wire::connect(&url).await, Wire::connect(&tools.server.url()).await);
        for case in cases(&folder, server) {
            compare(&mut own, "", &case).await;
            compare(&mut one, "", &case).await;
            compared += 1;
        }
    }
    assert!(compared > 3000, "{compared}");
}

#[tokio::test]
async fn a_session_changes_no_answer() {
    let Some(folder) = golden() else { return };
    let tools = Harness::with_ports().await;
    let (_, url) = tools.server.ports().next().unwrap();
    let (mut own, mut one) = (Wire::connect(&url).await, Wire::connect(&tools.server.url()).await);
    for case in cases(&folder, "alarm") {
        compare(&mut own, "/sessions/own", &case).await;
        compare(&mut one, "/sessions/one", &case).await;
    }
    let (own, one) = (tools.log("own").await, tools.log("one").await);
    assert_eq!(own.len(), one.len());
    assert!(own.iter().zip(&one).all(|(own, one)| own["response"] == one["response"]));
}
