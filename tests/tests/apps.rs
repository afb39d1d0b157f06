//! The simulated apps of AppBench's phone, asked by clients that others wrote: the package `mcp` for Python, and curl.
//!
//! Each runs where its client can be had; says so where it cannot.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::Command as Blocking;

use regatta_tests::regatta::{Process, finish, regatta, shared, skipped, workspace};
use serde_json::{Value, json};
use tokio::process::Command;

/// A Python that has the package.
fn python() -> Option<PathBuf> {
    let found = Blocking::new(workspace().join("tests/fixtures/mcp.sh")).output().unwrap();
    if found.status.success() {
        return Some(String::from_utf8(found.stdout).unwrap().trim().into());
    }
    skipped("mcp", &String::from_utf8_lossy(&found.stderr));
    None
}

/// `regatta simulate apps` over the data in `folder`, and its address.
async fn apps(folder: &Path) -> (Process, String) {
    let mut command = regatta().unwrap();
    command.args(["simulate", "apps", "--listen", "127.0.0.1:0", "--data"]).arg(folder);
    let process = Process::start_and_read(command).await.unwrap();
    let url = process.first_line.clone();
    (process, url)
}

fn miniature() -> PathBuf {
    workspace().join("examples/data/appbench")
}

async fn ask_over_mcp(python: &Path, url: &str, mode: &str, calls: &Value) -> Value {
    let mut command = Command::new(python);
    command.arg(workspace().join("tests/fixtures/mcp_client.py")).args([url, mode, &calls.to_string()]);
    let output = finish(command).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Status and JSON of what curl gets.
async fn curl(arguments: &[&str]) -> (u64, Value) {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--max-time", "60", "--write-out", "\n%{http_code}"]).args(arguments);
    let output = finish(command).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (body, status) = text.rsplit_once('\n').unwrap();
    (status.parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
}

fn has_curl(test: &str) -> bool {
    let found = Blocking::new("curl").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        skipped(test, "there is no curl; `apt-get install curl` brings it");
    }
    found
}

#[tokio::test]
async fn the_client_of_the_package_mcp_lists_and_calls_the_apps_by_both_ways_to_connect() {
    let Some(python) = python() else { return };
    let (process, url) = apps(&miniature()).await;
    let arguments = json!({"title": "Moby-Dick", "branch": "Old Town", "weeks": 3});
    let calls = json!([
        ["Library-findbook", {"title": "Moby-Dick"}],
        ["Library-lendbook", arguments],
        ["Garden-lendbook", {"title": "Moby-Dick"}],
    ]);
    let mut protocols = Vec::new();
    for mode in ["legacy", "auto"] {
        let session = format!("mcp-{mode}");
        let got = ask_over_mcp(&python, &format!("{url}/mcp/sm-000/{session}"), mode, &calls).await;
        assert_eq!(got["server"], "regatta-simulated-apps");
        assert_eq!(got["tools"].as_object().unwrap().len(), 8);
        assert_eq!(got["tools"]["Library-lendbook"]["required"], json!(["title", "branch"]));
        assert_eq!(got["results"][0]["content"]["outputs"]["branch"], "Old Town", "{got:#}");
        assert_eq!(got["results"][1]["is_error"], false);
        assert_eq!(got["results"][2], json!({"is_error": true, "content": got["results"][2]["content"]}));
        assert_eq!(got["results"][2]["content"]["error"]["code"], "permission");
        let report = regatta_tests::regatta::get_json(&format!("{url}/sessions/sm-000/{session}")).await.unwrap();
        assert_eq!(report["ledger"].as_array().unwrap().len(), 1);
        assert_eq!(report["score"], json!({"hit": 2, "pred": 2, "gold": 2, "success": false}), "one was refused");
        protocols.push(got["protocol"].clone());
    }
    assert_ne!(protocols[0], protocols[1], "with a handshake and without: two protocols");
    assert_eq!(process.terminate().await.unwrap(), Some(0));
}

#[tokio::test]
async fn the_official_phone_has_33_tools_and_the_true_calls_of_an_item_are_a_success() {
    let Some(shared) = shared("the official phone over MCP") else { return };
    let Some(python) = python() else { return };
    let folder = shared.join("benchmarks/appbench/data");
    let items: Value = serde_json::from_slice(&std::fs::read(folder.join("test/test_mm.json")).unwrap()).unwrap();
    let gold = &items[0]["output"];
    let (used_app, used_api) = (gold["used_app"].as_array().unwrap(), gold["used_api"].as_array().unwrap());
    let call = |(app, call): (&Value, &Value)| {
        let (api, arguments) = call.as_object().unwrap().iter().next().unwrap();
        json!([format!("{}-{api}", app.as_str().unwrap()), arguments])
    };
    let calls: Value = used_app.iter().zip(used_api).map(call).collect();
    let (_process, url) = apps(&folder).await;
    let got = ask_over_mcp(&python, &format!("{url}/mcp/mm-000/official"), "auto", &calls).await;
    assert_eq!(got["tools"].as_object().unwrap().len(), 33);
    let report = regatta_tests::regatta::get_json(&format!("{url}/sessions/mm-000/official")).await.unwrap();
    assert_eq!(report["score"]["success"], true, "{report:#}");
    assert_eq!(report["log"].as_array().unwrap().len(), used_app.len());
}

#[tokio::test]
async fn curl_lists_and_calls_the_apps_over_plain_http() {
    if !has_curl("apps over plain HTTP") {
        return;
    }
    let (process, url) = apps(&miniature()).await;
    let (status, described) = curl(&[&format!("{url}/apps/Library")]).await;
    assert_eq!((status, &described["apis"][0]["name"]), (200, &json!("findbook")));
    let headers = ["--header", "x-regatta-item: sm-000", "--header", "x-regatta-session: curl"];
    let call = async |api: &str, arguments: Value| {
        let (url, body) = (format!("{url}/apps/{api}"), arguments.to_string());
        curl(&[&headers[..], &["--data", &body, &url]].concat()).await
    };
    let (status, found) = call("Library/findbook", json!({"title": "Moby-Dick"})).await;
    assert_eq!((status, &found["outputs"]["branch"]), (200, &json!("Old Town")));
    let outputs = &found["outputs"];
    let arguments = json!({"title": outputs["title"], "branch": outputs["branch"], "weeks": "3"});
    assert_eq!(call("Library/lendbook", arguments).await.0, 200);
    let report = format!("{url}/sessions/sm-000/curl");
    assert_eq!(curl(&[&report]).await.1["score"]["success"], true);
    let (status, refused) = call("Garden/findbook", json!({"title": "Moby-Dick"})).await;
    assert_eq!((status, &refused["error"]["code"]), (403, &json!("permission")));
    assert_eq!(curl(&["--request", "DELETE", &report]).await.0, 204);
    assert_eq!(curl(&[&report]).await.0, 404);
    assert_eq!(process.terminate().await.unwrap(), Some(0));
}

#[tokio::test]
async fn data_without_descriptions_of_the_apps_is_a_configuration_error_that_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let test = folder.path().join("data/test");
    std::fs::create_dir_all(&test).unwrap();
    std::fs::copy(miniature().join("test/test_ss.json"), test.join("test_ss.json")).unwrap();
    let mut command = regatta().unwrap();
    command.args(["simulate", "apps", "--data"]).arg(folder.path());
    let output = finish(command).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{said}");
    assert!(said.contains("apps.json is missing") && said.contains("code/apps"), "{said}");
}
