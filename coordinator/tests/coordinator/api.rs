use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode};
use futures::StreamExt as _;
use regatta_coordinator::{Access, ApiConfig, Submitted, SweepStatus, router};
use regatta_proto::{Digest, SweepState};
use tower::ServiceExt;

use crate::stage::{Process, Stage, spec};

struct Client<'a> {
    process: &'a Process,
    config: ApiConfig,
    token: Option<&'a str>,
}

impl<'a> Client<'a> {
    fn of(process: &'a Process) -> Self {
        Self { process, config: ApiConfig::default(), token: None }
    }

    async fn ask(&self, method: Method, path: &str, body: impl Into<Body>) -> (StatusCode, String) {
        let mut request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        if let Some(token) = self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let router = router(self.process.coordinator.clone(), self.config.clone());
        let response = router.oneshot(request.body(body.into()).unwrap()).await.unwrap();
        let status = response.status();
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn media_type(&self, path: &str) -> String {
        let router = router(self.process.coordinator.clone(), self.config.clone());
        let response = router.oneshot(Request::builder().uri(path).body(Body::empty()).unwrap()).await.unwrap();
        response.headers()["content-type"].to_str().unwrap().to_owned()
    }
}

async fn submission(stage: &Stage, spec: &str) -> serde_json::Value {
    serde_json::to_value(stage.submission(spec).await).unwrap()
}

#[tokio::test]
async fn a_sweep_is_handed_in_looked_at_and_cancelled() {
    let stage = Stage::set().await;
    let process = stage.process();
    let client = Client::of(&process);
    let body = submission(&stage, &spec("s", 2, "")).await.to_string();
    let (status, text) = client.ask(Method::POST, "/v1/sweeps", body).await;
    assert_eq!(status, StatusCode::OK, "{text}");
    let submitted: Submitted = serde_json::from_str(&text).unwrap();
    let path = format!("/v1/sweeps/{}", submitted.id);
    let (_, text) = client.ask(Method::GET, &path, "").await;
    let found: SweepStatus = serde_json::from_str(&text).unwrap();
    assert_eq!((found.state, found.total(|cell| cell.items)), (SweepState::Running, submitted.sessions));
    assert_eq!(client.ask(Method::POST, &format!("{path}/cancel"), "").await.0, StatusCode::NO_CONTENT);
    assert_eq!(client.ask(Method::POST, &format!("{path}/cancel"), "").await.0, StatusCode::CONFLICT);
    assert_eq!(stage.state(&submitted.id).await, SweepState::Cancelled);
}

#[tokio::test]
async fn who_does_not_have_the_token_is_refused() {
    let stage = Stage::set().await;
    let process = stage.process();
    let access = Access::Tokens { operator: Some(Digest::of(b"secret")) };
    let config = ApiConfig { access, ..ApiConfig::default() };
    for (token, expected) in [
        (None, StatusCode::UNAUTHORIZED),
        (Some("wrong"), StatusCode::UNAUTHORIZED),
        (Some(""), StatusCode::UNAUTHORIZED),
        (Some("secret"), StatusCode::OK),
    ] {
        let client = Client { process: &process, config: config.clone(), token };
        assert_eq!(client.ask(Method::GET, "/v1/sweeps", "").await.0, expected, "{token:?}");
    }
}

#[tokio::test]
async fn without_a_token_neither_another_name_of_this_machine_nor_a_page_of_another_site_is_answered() {
    let stage = Stage::set().await;
    let process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 1, "")).await;
    let router = router(process.coordinator.clone(), ApiConfig::default());
    let cancel = format!("/v1/sweeps/{}/cancel", sweep.id);
    let ask = async |method: Method, path: &str, name: &str, value: &str| {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.header("host", "127.0.0.1:8080").header(name, value).body(Body::empty()).unwrap();
        router.clone().oneshot(request).await.unwrap().status().as_u16()
    };
    for (name, value) in [("origin", "https://evil.example"), ("origin", "null")] {
        assert_eq!(ask(Method::GET, "/v1/sweeps", name, value).await, 403, "{name}: {value}");
        assert_eq!(ask(Method::POST, &cancel, name, value).await, 403, "{name}: {value}");
    }
    for host in ["evil.example", "evil.example:8080", "10.0.0.5:8080"] {
        for (method, path) in [(Method::GET, "/v1/sweeps"), (Method::POST, &cancel)] {
            let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
            let request = request.header("host", host).body(Body::empty()).unwrap();
            assert_eq!(router.clone().oneshot(request).await.unwrap().status().as_u16(), 403, "{host} {path}");
        }
    }
    assert_eq!(stage.state(&sweep.id).await, SweepState::Running);
    assert_eq!(ask(Method::POST, &cancel, "origin", "http://127.0.0.1:8080").await, 204);
}

/// The benchmark of `submission` with an audit.
fn with_audit(submission: &serde_json::Value, audit: serde_json::Value) -> serde_json::Value {
    let mut benchmark = submission["spec"]["benchmarks"]["worfbench"].clone();
    benchmark["audit"] = audit;
    benchmark
}

#[tokio::test]
async fn a_spec_that_does_not_fit_is_refused_with_the_field() {
    let stage = Stage::set().await;
    let process = stage.process();
    let good = submission(&stage, &spec("s", 2, "")).await;
    for (pointer, value, field) in [
        ("/spec/benchmarks/worfbench/settings", serde_json::json!(["no-shot"]), "benchmarks.worfbench.settings[0]"),
        ("/spec/benchmarks/worfbench/judge", serde_json::Value::Null, "benchmarks.worfbench.judge"),
        (
            "/spec/benchmarks/worfbench",
            with_audit(&good, serde_json::json!({ "judge": "sim/noisy-0.1", "share": 0.1, "until": "2pp" })),
            "benchmarks.worfbench.audit.until",
        ),
        ("/spec/models/0/id", serde_json::json!("nowhere/oracle"), "models[0]"),
        ("/spec/trials", serde_json::json!(0), "trials"),
        ("/spec/endpoints/sim/limits/concurrency", serde_json::json!(0), "endpoints.sim.limits.concurrency"),
        ("/data", serde_json::json!({}), "benchmarks.worfbench.data"),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        let (status, text) = Client::of(&process).ask(Method::POST, "/v1/sweeps", bad.to_string()).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{text}");
        let problem: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(problem["error"].as_str().unwrap().starts_with(&format!("{field}: ")), "{text}");
    }
    assert!(stage.ledger.sweeps().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_simulated_endpoint_is_refused_where_workers_are_elsewhere() {
    let stage = Stage::set().await;
    let process = stage.process();
    let simulated = spec("s", 2, "")
        .replace("kind: openai, base_url: 'http://127.0.0.1:9/v1', identify_sessions: true", "kind: simulated");
    let body = submission(&stage, &simulated).await.to_string();
    let (status, text) = Client::of(&process).ask(Method::POST, "/v1/sweeps", body).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(text.contains("endpoints.sim.kind"), "{text}");
}

#[tokio::test]
async fn the_doctor_tells_of_a_sweep_whose_lock_is_gone_with_the_next_step() {
    let stage = Stage::set().await;
    let process = stage.process();
    let (status, text) = Client::of(&process).ask(Method::GET, "/v1/doctor", "").await;
    let healthy: regatta_coordinator::Diagnosis = serde_json::from_str(&text).unwrap();
    assert_eq!((status, healthy.findings), (StatusCode::OK, Vec::new()));
    stage.submit(&process, &spec("s", 2, "")).await;
    std::fs::remove_dir_all(stage.blob_folder().join("locks")).unwrap();
    let (_, text) = Client::of(&stage.process()).ask(Method::GET, "/v1/doctor", "").await;
    let told: regatta_coordinator::Diagnosis = serde_json::from_str(&text).unwrap();
    assert_eq!(told.findings.len(), 1, "{text}");
    assert!(told.findings[0].problem.contains("is not in the blob store"), "{text}");
}

#[tokio::test]
async fn an_unknown_sweep_is_not_found() {
    let stage = Stage::set().await;
    let process = stage.process();
    let client = Client::of(&process);
    for (method, path) in [
        (Method::GET, "/v1/sweeps/none"),
        (Method::POST, "/v1/sweeps/none/cancel"),
        (Method::POST, "/v1/sweeps/none/resume"),
        (Method::GET, "/v1/sweeps/none/files/results.jsonl"),
    ] {
        assert_eq!(client.ask(method, path, "").await.0, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn an_upload_is_stored_under_its_digest_and_no_other() {
    let stage = Stage::set().await;
    let process = stage.process();
    let client = Client::of(&process);
    let (right, wrong) = (Digest::of(b"content"), Digest::of(b"something else"));
    let (status, text) = client.ask(Method::PUT, &format!("/v1/content/{wrong}"), "content").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(text.contains(&wrong.to_string()), "{text}");
    assert_eq!(client.ask(Method::HEAD, &format!("/v1/content/{wrong}"), "").await.0, StatusCode::NOT_FOUND);
    assert_eq!(client.ask(Method::PUT, &format!("/v1/content/{right}"), "content").await.0, StatusCode::NO_CONTENT);
    assert_eq!(client.ask(Method::HEAD, &format!("/v1/content/{right}"), "").await.0, StatusCode::NO_CONTENT);
    assert_eq!(stage.blobs().get_content(&right).await.unwrap(), "content");
}

#[tokio::test]
async fn a_file_is_served_only_from_within_its_sweep() {
    let stage = Stage::set().await;
    let process = stage.process();
    stage.blobs().put("sweeps/s/results.jsonl", bytes::Bytes::from_static(b"{}\n")).await.unwrap();
    stage.blobs().put("locks/x.json", bytes::Bytes::from_static(b"lock")).await.unwrap();
    let client = Client::of(&process);
    assert_eq!(
        client.ask(Method::GET, "/v1/sweeps/s/files/results.jsonl", "").await,
        (StatusCode::OK, "{}\n".to_owned())
    );
    for path in ["../../locks/x.json", "%2e%2e/%2e%2e/locks/x.json", "..%2F..%2Flocks%2Fx.json"] {
        for method in [Method::GET, Method::HEAD] {
            let (status, text) = client.ask(method, &format!("/v1/sweeps/s/files/{path}"), "").await;
            assert!(status == StatusCode::NOT_FOUND && !text.contains("\"lock\""), "{path}: {status} {text}");
        }
    }
}

#[tokio::test]
async fn the_size_of_a_file_is_told_without_reading_it() {
    let stage = Stage::set().await;
    let process = stage.process();
    stage.blobs().put("sweeps/s/transcripts/0.zst", bytes::Bytes::from_static(b"x")).await.unwrap();
    // Beyond the largest object that is ever read, and without content on the disk.
    let bytes = regatta_backends::blobs::OBJECT_BYTES_MAX + 1;
    let file = std::fs::File::options().write(true).open(stage.blob_folder().join("sweeps/s/transcripts/0.zst"));
    file.unwrap().set_len(bytes).unwrap();
    let router = router(process.coordinator.clone(), ApiConfig::default());
    let request = Request::head("/v1/sweeps/s/files/transcripts/0.zst").body(Body::empty()).unwrap();
    let response = router.oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-length"], bytes.to_string());
    assert_eq!(response.headers()["content-type"], "application/octet-stream");
    assert!(to_bytes(response.into_body(), 1).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_file_is_sent_as_it_is_read_however_large_it_is() {
    let stage = Stage::set().await;
    let process = stage.process();
    stage.blobs().put("sweeps/s/results.jsonl", bytes::Bytes::from_static(b"x")).await.unwrap();
    // Beyond the largest object that is ever held in memory, and without content on the disk.
    let bytes = regatta_backends::blobs::OBJECT_BYTES_MAX + 1;
    let file = std::fs::File::options().write(true).open(stage.blob_folder().join("sweeps/s/results.jsonl"));
    file.unwrap().set_len(bytes).unwrap();
    let router = router(process.coordinator.clone(), ApiConfig::default());
    let request = Request::get("/v1/sweeps/s/files/results.jsonl").body(Body::empty()).unwrap();
    let response = router.oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-length"], bytes.to_string());
    let mut pieces = response.into_body().into_data_stream();
    for _ in 0..3 {
        let piece = pieces.next().await.unwrap().unwrap();
        assert!((1..=64 << 10).contains(&piece.len()), "{}", piece.len());
    }
}

#[tokio::test]
async fn a_report_is_shown_by_a_browser_and_not_saved() {
    let stage = Stage::set().await;
    let process = stage.process();
    let client = Client::of(&process);
    for (file, media_type) in [
        ("report.html", "text/html; charset=utf-8"),
        ("metrics.csv", "text/plain; charset=utf-8"),
        ("transcripts/0.zst", "application/octet-stream"),
    ] {
        stage.blobs().put(&format!("sweeps/s/{file}"), bytes::Bytes::from_static(b"x")).await.unwrap();
        assert_eq!(client.media_type(&format!("/v1/sweeps/s/files/{file}")).await, media_type);
    }
}
