//! Schedules over HTTP: write, look, pause, run, delete.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures::FutureExt as _;
use jiff::Timestamp;
use regatta_proto::ScheduleName;
use serde::{Deserialize, Serialize};

use super::auditing::Subject;
use super::content::{self, Turns};
use super::pages::{self, Wanted};
use super::{Api, check_owner};
use crate::{Coordinator, CoordinatorError, Principal, SchedulePut, ScheduleRequest, ScheduleStatus};

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
    Extension(principal): Extension<Principal>,
    Json(request): Json<ScheduleRequest>,
) -> Result<(Extension<Subject>, Json<SchedulePut>), Response> {
    // Checking one is planning a sweep.
    let _turn = turns.plan(&principal.owner).await?;
    let name = request.schedule.name.clone();
    let put = async {
        let seen = coordinator.ledger.schedule(&name).await?;
        if let Some(row) = &seen {
            check_owner(&principal, &format!("schedule {name}"), row.owner.as_ref())?;
        }
        coordinator.put_schedule(request, Some(&principal.owner), seen.as_ref()).await
    };
    let put = put.await.map_err(IntoResponse::into_response)?;
    Ok((Extension(Subject(name.to_string())), Json(put)))
}

/// Fails unless `principal` may change the schedule.
async fn check(coordinator: &Coordinator, principal: &Principal, name: &ScheduleName) -> Result<(), CoordinatorError> {
    let row = coordinator.ledger.schedule(name).await?;
    let row = row.ok_or_else(|| CoordinatorError::UnknownSchedule(name.clone()))?;
    check_owner(principal, &format!("schedule {name}"), row.owner.as_ref())
}

pub(super) async fn list(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Extension(principal): Extension<Principal>,
    Query(wanted): Query<Wanted<ScheduleName>>,
) -> Result<Response, Response> {
    let turn = turns.download(&principal.owner).await?;
    let read = |after: Option<ScheduleName>, limit| {
        let coordinator = &coordinator;
        async move { coordinator.schedules(after.as_ref(), limit).await }.boxed()
    };
    let page = pages::collect(wanted, |status: &ScheduleStatus| status.schedule.name.clone(), read).await;
    Ok(page.map_err(IntoResponse::into_response)?.send(turn))
}

pub(super) async fn show(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Extension(principal): Extension<Principal>,
    Path(name): Path<ScheduleName>,
) -> Result<Response, Response> {
    content::answer(turns.answer(&principal.owner), coordinator.schedule(&name)).await
}

pub(super) async fn history(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Extension(principal): Extension<Principal>,
    Path(name): Path<ScheduleName>,
    Query(shown): Query<Shown>,
) -> Result<Response, Response> {
    let ticks = coordinator.history(&name, shown.limit.unwrap_or(SHOWN));
    content::answer(turns.answer(&principal.owner), ticks).await
}

pub(super) async fn pause(
    State(coordinator): Api,
    Extension(principal): Extension<Principal>,
    Path(name): Path<ScheduleName>,
) -> Result<StatusCode, CoordinatorError> {
    check(&coordinator, &principal, &name).await?;
    coordinator.pause_schedule(&name, true).await.map(|()| StatusCode::NO_CONTENT)
}

pub(super) async fn resume(
    State(coordinator): Api,
    Extension(principal): Extension<Principal>,
    Path(name): Path<ScheduleName>,
) -> Result<StatusCode, CoordinatorError> {
    check(&coordinator, &principal, &name).await?;
    coordinator.pause_schedule(&name, false).await.map(|()| StatusCode::NO_CONTENT)
}

pub(super) async fn run(
    State(coordinator): Api,
    Extension(principal): Extension<Principal>,
    Path(name): Path<ScheduleName>,
) -> Result<Json<Asked>, CoordinatorError> {
    check(&coordinator, &principal, &name).await?;
    coordinator.run_schedule(&name).await.map(|at| Json(Asked { at }))
}

pub(super) async fn delete(
    State(coordinator): Api,
    Extension(principal): Extension<Principal>,
    Path(name): Path<ScheduleName>,
) -> Result<StatusCode, CoordinatorError> {
    check(&coordinator, &principal, &name).await?;
    coordinator.delete_schedule(&name).await.map(|()| StatusCode::NO_CONTENT)
}
