//! The apps over plain HTTP.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Json, Router};
use serde_json::{Map, Value, json};

use super::answer::Refused;
use super::sessions::{SessionKey, unknown_item};
use super::shared::{BODY_BYTES_MAX, Shared};
use super::{describe, mcp};

/// The header that names the item.
const ITEM: &str = "x-regatta-item";
/// The header that names the session within the item.
const SESSION: &str = "x-regatta-session";

/// All routes.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/healthz", get(async || Json(json!({"status": "ok"}))))
        .route("/items", get(items))
        .route("/items/{item}", get(item))
        .route("/apps", get(apps))
        .route("/apps/{app}", get(app))
        .route("/apps/{app}/{api}", get(api).post(call))
        .route("/sessions", get(sessions))
        .route("/sessions/{item}/{session}", get(report).delete(forget))
        .route("/mcp/{item}", any(mcp::of_item))
        .route("/mcp/{item}/{session}", any(mcp::of_session))
        .fallback(async || Refused::new(StatusCode::NOT_FOUND, "unknown_route", "there is no such route; try /apps"))
        .method_not_allowed_fallback(async || {
            Refused::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", "the route takes another method")
        })
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(shared)
}

async fn items(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let ids: Vec<&str> = shared.sessions.apps().items().map(|(id, _)| id).collect();
    Json(json!({"items": ids}))
}

async fn item(State(shared): State<Arc<Shared>>, Path(item): Path<String>) -> Result<Json<Value>, Refused> {
    let mut items = shared.sessions.apps().items();
    let (id, input) = items.find(|(id, _)| *id == item).ok_or_else(|| unknown_item(&item))?;
    Ok(Json(json!({"id": id, "input": input})))
}

async fn apps(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let apps: Vec<Value> = shared.sessions.apps().phone().apps().iter().map(describe::app).collect();
    Json(json!({"apps": apps}))
}

async fn app(State(shared): State<Arc<Shared>>, Path(app): Path<String>) -> Result<Json<Value>, Refused> {
    let found = shared.sessions.apps().phone().app(&app).ok_or_else(|| unknown_app(&app))?;
    Ok(Json(describe::app(found)))
}

async fn api(
    State(shared): State<Arc<Shared>>,
    Path((app, api)): Path<(String, String)>,
) -> Result<Json<Value>, Refused> {
    let found = shared.sessions.apps().phone().app(&app).ok_or_else(|| unknown_app(&app))?;
    let api = found.api(&api).ok_or_else(|| {
        Refused::new(
            StatusCode::NOT_FOUND,
            "unknown_api",
            format!("{app} has no API {api:?}; GET /apps/{app} lists them"),
        )
    })?;
    Ok(Json(describe::api(api)))
}

fn unknown_app(app: &str) -> Refused {
    Refused::new(StatusCode::NOT_FOUND, "unknown_app", format!("the phone has no app {app:?}; GET /apps lists them"))
}

async fn call(
    State(shared): State<Arc<Shared>>,
    Path((app, api)): Path<(String, String)>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, Refused> {
    let body = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let message = format!("the body is longer than {BODY_BYTES_MAX} bytes; send less");
            Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
        }
        status => Refused::new(status, "unreadable", rejection.body_text()),
    })?;
    let item = text_of(&headers, ITEM)?.ok_or_else(|| {
        Refused::new(StatusCode::BAD_REQUEST, "no_item", format!("name the item in the header {ITEM}"))
    })?;
    let key = SessionKey::new(item, text_of(&headers, SESSION)?)?;
    Ok(Json(shared.sessions.call(&key, &app, &api, &arguments(&body)?)?.json()))
}

/// Reads the arguments; the body may be empty if there are none.
fn arguments(body: &[u8]) -> Result<Map<String, Value>, Refused> {
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_slice(body).map_err(|error| {
        let message = format!("the body must be a JSON object with the arguments: {error}");
        Refused::new(StatusCode::BAD_REQUEST, "invalid_arguments", message)
    })
}

fn text_of<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, Refused> {
    let value = headers.get(name).map(header::HeaderValue::to_str).transpose();
    value.map_err(|_| {
        Refused::new(StatusCode::BAD_REQUEST, "invalid_header", format!("the header {name} must be ASCII"))
    })
}

async fn sessions(State(shared): State<Arc<Shared>>) -> Json<Value> {
    Json(json!({"sessions": shared.sessions.list()}))
}

async fn report(
    State(shared): State<Arc<Shared>>,
    Path((item, session)): Path<(String, String)>,
) -> Result<Json<Value>, Refused> {
    Ok(Json(shared.sessions.report(&SessionKey::new(&item, Some(&session))?)?))
}

async fn forget(
    State(shared): State<Arc<Shared>>,
    Path((item, session)): Path<(String, String)>,
) -> Result<Response, Refused> {
    shared.sessions.forget(&SessionKey::new(&item, Some(&session))?)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
