use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode};
use regatta_coordinator::{ApiConfig, router};
use regatta_proto::SweepState;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::night_shift::NightShift;
use crate::stage::Process;

async fn ask(process: &Process, method: Method, path: &str, body: Option<Value>) -> (StatusCode, Value) {
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let router = router(process.coordinator.clone(), ApiConfig::default());
    let response = router.oneshot(request.body(body).unwrap()).await.unwrap();
    let status = response.status();
    let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

#[tokio::test]
async fn a_schedule_is_written_shown_paused_run_and_deleted() {
    let shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    let request = serde_json::to_value(shift.request(json!({ "cron": "0 2 * * *" })).await).unwrap();
    let ask = async |method, path: &str, body| ask(&process, method, path, body).await;
    let (status, put) = ask(Method::POST, "/v1/schedules", Some(request.clone())).await;
    assert_eq!(status, StatusCode::OK, "{put}");
    assert_eq!(put, json!({ "name": "nightly", "effect": "created", "next": "2026-11-23T02:00:00Z" }));
    let (_, put) = ask(Method::POST, "/v1/schedules", Some(request.clone())).await;
    assert_eq!(put["effect"], "unchanged");
    let mut other = request.clone();
    other["schedule"]["cron"] = json!("0 3 * * *");
    assert_eq!(ask(Method::POST, "/v1/schedules", Some(other.clone())).await.0, StatusCode::CONFLICT);
    other["replace"] = json!(true);
    assert_eq!(ask(Method::POST, "/v1/schedules", Some(other)).await.1["effect"], "replaced");

    let at = "/v1/schedules/nightly";
    assert_eq!(ask(Method::POST, &format!("{at}/pause"), None).await.0, StatusCode::NO_CONTENT);
    assert_eq!(ask(Method::GET, at, None).await.1["is_paused"], true);
    assert_eq!(ask(Method::POST, &format!("{at}/resume"), None).await.0, StatusCode::NO_CONTENT);
    assert_eq!(ask(Method::GET, at, None).await.1["next"], "2026-11-23T03:00:00Z");
    assert_eq!(ask(Method::POST, &format!("{at}/run"), None).await.1, json!({ "at": "2026-11-23T00:00:00Z" }));
    process.coordinator.look_after_schedules().await.unwrap();
    shift.end_sweeps(SweepState::Complete).await;
    process.coordinator.look_after_schedules().await.unwrap();
    let (_, history) = ask(Method::GET, &format!("{at}/history?limit=1"), None).await;
    assert_eq!((&history[0]["state"], &history[0]["by_hand"]), (&json!("ended"), &json!(true)));
    let (_, list) = ask(Method::GET, "/v1/schedules", None).await;
    assert_eq!(list[0]["schedule"]["name"], "nightly");
    assert_eq!(ask(Method::DELETE, at, None).await.0, StatusCode::NO_CONTENT);
    assert_eq!(ask(Method::DELETE, at, None).await.0, StatusCode::NOT_FOUND);
    for (method, path) in [(Method::GET, at.to_owned()), (Method::POST, format!("{at}/run"))] {
        assert_eq!(ask(method, &path, None).await.0, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn what_would_go_wrong_at_night_is_refused_when_a_schedule_is_written() {
    let shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    let good = serde_json::to_value(shift.request(json!({})).await).unwrap();
    for (pointer, value, expected) in [
        ("/schedule/cron", json!("99 * * * *"), "cron: "),
        ("/schedule/time_zone", json!("Mars/Phobos"), "time_zone: "),
        ("/schedule/gate", json!("alpha: 0.05"), "gate: metrics is missing"),
        ("/schedule/notify", json!({ "webhooks": ["nobody"] }), "notify: there is no webhook/nobody"),
        ("/schedule/overrides", json!({ "trials": 0 }), "trials: "),
        ("/schedule/overrides", json!({ "trails": 2 }), "overrides: make no spec of a sweep: unknown field `trails`"),
        (
            "/schedule/overrides",
            json!({ "benchmarks": { "worfbench": { "settings": ["no-shot"] } } }),
            "benchmarks.worfbench.settings[0]: ",
        ),
        ("/schedule/overrides", json!({ "models": vec!["sim/a"; 2001] }), "models: "),
        ("/submission/data", json!({}), "benchmarks.worfbench.data: "),
        ("/submission/spec/endpoints/sim/kind", json!("simulated"), "endpoints.sim.kind: "),
    ] {
        let mut bad = good.clone();
        if let Some(place) = bad.pointer_mut(pointer) {
            *place = value;
        } else {
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            bad.pointer_mut(parent).unwrap()[field] = value;
        }
        let (status, problem) = ask(&process, Method::POST, "/v1/schedules", Some(bad)).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{pointer}: {problem}");
        assert!(problem["error"].as_str().unwrap().starts_with(expected), "{pointer}: {problem}");
    }
    assert!(shift.stage.ledger.schedules().await.unwrap().is_empty());
}
