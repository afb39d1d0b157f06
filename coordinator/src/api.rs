//! The coordinator over HTTP: hand sweeps in, look, cancel, resume.

mod content;
mod guard;
mod schedules;

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRef, Path, State};
use axum::http::StatusCode;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use regatta_backends::{LedgerError, SweepRow};
use regatta_proto::{Digest, SweepId};
use serde::Serialize;

use crate::{
    Coordinator, CoordinatorError, Diagnosis, GcRequest, GcResult, Resumption, Submission, Submitted, SweepStatus,
};

use self::content::Turns;

/// Largest request besides uploads, in bytes: a spec of a mebibyte, and the names of ten thousand files.
const BODY_BYTES_MAX: usize = 8 << 20;

/// What the API needs besides the coordinator.
#[derive(Clone, Default)]
pub struct ApiConfig {
    /// Token that requests must carry as `Authorization: Bearer …`; without one everybody who reaches the port may do everything.
    pub token: Option<Arc<str>>,
    /// Clients show certificates: then a request comes from one of them, by whatever name it asks.
    pub asks_for_certificates: bool,
}

/// The routes below `/v1`.
pub fn router(coordinator: Arc<Coordinator>, config: ApiConfig) -> axum::Router {
    let shared = Shared { coordinator, turns: Turns::default() };
    axum::Router::new()
        .route("/v1/content/{digest}", put(upload).head(is_stored))
        .route("/v1/sweeps", post(submit).get(list))
        .route("/v1/sweeps/{id}", get(status))
        .route("/v1/sweeps/{id}/cancel", post(cancel))
        .route("/v1/sweeps/{id}/resume", post(resume))
        .route("/v1/gc", post(collect))
        .route("/v1/schedules", post(schedules::put).get(schedules::list))
        .route("/v1/schedules/{name}", get(schedules::show).delete(schedules::delete))
        .route("/v1/schedules/{name}/pause", post(schedules::pause))
        .route("/v1/schedules/{name}/resume", post(schedules::resume))
        .route("/v1/schedules/{name}/run", post(schedules::run))
        .route("/v1/schedules/{name}/history", get(schedules::history))
        .route("/v1/sweeps/{id}/files", get(files))
        .route("/v1/sweeps/{id}/files/{*path}", get(file))
        .route("/v1/doctor", get(doctor))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(config, guard::guard))
        .with_state(shared)
}

/// State that all requests share.
#[derive(Clone)]
struct Shared {
    coordinator: Arc<Coordinator>,
    turns: Turns,
}

impl FromRef<Shared> for Arc<Coordinator> {
    fn from_ref(shared: &Shared) -> Self {
        shared.coordinator.clone()
    }
}

impl FromRef<Shared> for Turns {
    fn from_ref(shared: &Shared) -> Self {
        shared.turns.clone()
    }
}

#[derive(Serialize)]
struct Problem {
    error: String,
}

impl IntoResponse for CoordinatorError {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::Plan(_) | Self::NoBudget(_) | Self::Ledger(LedgerError::BudgetNotRaised { .. }) => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            Self::UnknownSweep(_) | Self::UnknownSchedule(_) => StatusCode::NOT_FOUND,
            Self::WrongState { .. } | Self::ScheduleDiffers(_) => StatusCode::CONFLICT,
            Self::NoScheduling => StatusCode::NOT_IMPLEMENTED,
            Self::NotLeading
            | Self::Ledger(_)
            | Self::Permits(_)
            | Self::Segment(_)
            | Self::Queue(_)
            | Self::Blobs(_)
            | Self::Catalog(_)
            | Self::Decide(_)
            | Self::Json(_) => {
                tracing::error!(error = %self, "failed to serve a request");
                StatusCode::SERVICE_UNAVAILABLE
            }
        };
        (status, Json(Problem { error: regatta_proto::causes(&self) })).into_response()
    }
}

type Api = State<Arc<Coordinator>>;

async fn upload(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Path(digest): Path<Digest>,
    body: Body,
) -> Result<StatusCode, Response> {
    content::receive(coordinator.catalog().blobs(), &turns, digest, body).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn is_stored(State(coordinator): Api, Path(digest): Path<Digest>) -> StatusCode {
    match coordinator.catalog().blobs().content_size(&digest).await {
        Ok(Some(_)) => StatusCode::NO_CONTENT,
        Ok(None) => StatusCode::NOT_FOUND,
        Err(error) => {
            tracing::error!(%error, "failed to look for a file");
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

async fn submit(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Json(submission): Json<Submission>,
) -> Result<Json<Submitted>, Response> {
    let _turn = turns.plan().await?;
    coordinator.submit(submission).await.map(Json).map_err(IntoResponse::into_response)
}

async fn collect(State(coordinator): Api, Json(request): Json<GcRequest>) -> Result<Json<GcResult>, CoordinatorError> {
    coordinator.collect(request).await.map(Json)
}

async fn list(State(coordinator): Api) -> Result<Json<Vec<SweepRow>>, CoordinatorError> {
    coordinator.sweeps().await.map(Json)
}

async fn status(State(coordinator): Api, Path(id): Path<SweepId>) -> Result<Json<SweepStatus>, CoordinatorError> {
    coordinator.status(&id).await.map(Json)
}

async fn doctor(State(coordinator): Api) -> Result<Json<Diagnosis>, CoordinatorError> {
    coordinator.diagnose().await.map(Json)
}

async fn cancel(State(coordinator): Api, Path(id): Path<SweepId>) -> Result<StatusCode, CoordinatorError> {
    coordinator.cancel(&id).await.map(|()| StatusCode::NO_CONTENT)
}

/// An empty body changes nothing.
async fn resume(State(coordinator): Api, Path(id): Path<SweepId>, body: Bytes) -> Result<StatusCode, Response> {
    let resumption = match body.is_empty() {
        true => Resumption::default(),
        false => serde_json::from_slice(&body).map_err(|error| {
            let problem = Problem { error: format!("invalid resume request: {error}") };
            (StatusCode::UNPROCESSABLE_ENTITY, Json(problem)).into_response()
        })?,
    };
    let resumed = coordinator.resume(&id, resumption).await;
    resumed.map(|()| StatusCode::NO_CONTENT).map_err(IntoResponse::into_response)
}

/// Names of all files that the sweep has left behind so far, transcripts included, sorted.
async fn files(State(coordinator): Api, Path(id): Path<SweepId>) -> Result<Json<Vec<String>>, CoordinatorError> {
    let prefix = format!("sweeps/{id}/");
    let keys = coordinator.catalog().blobs().list(&prefix).await?;
    Ok(Json(keys.iter().filter_map(|key| key.strip_prefix(&prefix)).map(str::to_owned).collect()))
}

/// By a file's name, so that browsers show reports and tables instead of saving them.
fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("md" | "csv" | "jsonl" | "json" | "yaml" | "txt") => "text/plain; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some(_) | None => "application/octet-stream",
    }
}

/// A file that the sweep has left behind, as `results.jsonl`.
async fn file(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Path((id, path)): Path<(SweepId, String)>,
) -> Response {
    let turn = match turns.download().await {
        Ok(turn) => turn,
        Err(refused) => return refused,
    };
    let key = format!("sweeps/{id}/{path}");
    match coordinator.catalog().blobs().get(&key).await {
        Ok(Some(bytes)) => content::send(bytes, media_type(&path), turn),
        Ok(None) => (StatusCode::NOT_FOUND, Json(Problem { error: format!("there is no {key} yet") })).into_response(),
        Err(error) => CoordinatorError::from(error).into_response(),
    }
}
