//! Schedules over HTTP: write, look, pause, run, delete.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use regatta_proto::ScheduleName;
use serde::{Deserialize, Serialize};

use super::Api;
use super::content::Turns;
use crate::{CoordinatorError, SchedulePut, ScheduleRequest, ScheduleStatus, TickStatus};

/// Ticks that a history shows unless it is asked for more.
const SHOWN: u32 = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shown {
    limit: Option<u32>,
}

/// A tick that was asked for.
#[derive(Serialize)]
pub(super) struct Asked {
    at: Timestamp,
}

pub(super) async fn put(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Json(request): Json<ScheduleRequest>,
) -> Result<Json<SchedulePut>, Response> {
    // Checking one is planning a sweep.
    let _turn = turns.plan().await?;
    coordinator.put_schedule(request).await.map(Json).map_err(IntoResponse::into_response)
}

pub(super) async fn list(State(coordinator): Api) -> Result<Json<Vec<ScheduleStatus>>, CoordinatorError> {
    coordinator.schedules().await.map(Json)
}

pub(super) async fn show(
    State(coordinator): Api,
    Path(name): Path<ScheduleName>,
) -> Result<Json<ScheduleStatus>, CoordinatorError> {
    coordinator.schedule(&name).await.map(Json)
}

pub(super) async fn history(
    State(coordinator): Api,
    Path(name): Path<ScheduleName>,
    Query(shown): Query<Shown>,
) -> Result<Json<Vec<TickStatus>>, CoordinatorError> {
    coordinator.history(&name, shown.limit.unwrap_or(SHOWN)).await.map(Json)
}

pub(super) async fn pause(
    State(coordinator): Api,
    Path(name): Path<ScheduleName>,
) -> Result<StatusCode, CoordinatorError> {
    coordinator.pause_schedule(&name, true).await.map(|()| StatusCode::NO_CONTENT)
}

pub(super) async fn resume(
    State(coordinator): Api,
    Path(name): Path<ScheduleName>,
) -> Result<StatusCode, CoordinatorError> {
    coordinator.pause_schedule(&name, false).await.map(|()| StatusCode::NO_CONTENT)
}

pub(super) async fn run(
    State(coordinator): Api,
    Path(name): Path<ScheduleName>,
) -> Result<Json<Asked>, CoordinatorError> {
    coordinator.run_schedule(&name).await.map(|at| Json(Asked { at }))
}

pub(super) async fn delete(
    State(coordinator): Api,
    Path(name): Path<ScheduleName>,
) -> Result<StatusCode, CoordinatorError> {
    coordinator.delete_schedule(&name).await.map(|()| StatusCode::NO_CONTENT)
}
