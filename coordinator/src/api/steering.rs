//! Steers sweeps over HTTP: cancel, pause, resume, budgets, calls at once. Each is the owner's, or an admin's.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use regatta_proto::SweepId;

use super::auditing::Detail;
use super::{Api, Problem, check_owner};
use crate::{BudgetChange, ConcurrencyChange, Coordinator, CoordinatorError, Principal, Resumption};

/// Answer to what was done, with what the audit log says of it.
type Done = (StatusCode, Extension<Detail>, ());

async fn check_sweep(coordinator: &Coordinator, principal: &Principal, id: &SweepId) -> Result<(), CoordinatorError> {
    let row = coordinator.ledger.sweep(id).await?.ok_or_else(|| CoordinatorError::UnknownSweep(id.clone()))?;
    check_owner(principal, &format!("sweep {id}"), row.owner.as_ref())
}

fn done(detail: String) -> Done {
    (StatusCode::NO_CONTENT, Extension(Detail(detail)), ())
}

pub(super) async fn cancel(
    State(coordinator): Api,
    Extension(principal): Extension<Principal>,
    Path(id): Path<SweepId>,
) -> Result<StatusCode, CoordinatorError> {
    check_sweep(&coordinator, &principal, &id).await?;
    coordinator.cancel(&id).await.map(|()| StatusCode::NO_CONTENT)
}

pub(super) async fn pause(
    State(coordinator): Api,
    Extension(principal): Extension<Principal>,
    Path(id): Path<SweepId>,
) -> Result<StatusCode, CoordinatorError> {
    check_sweep(&coordinator, &principal, &id).await?;
    coordinator.pause(&id).await.map(|()| StatusCode::NO_CONTENT)
}

/// An empty body changes nothing.
pub(super) async fn resume(
    State(coordinator): Api,
    Extension(principal): Extension<Principal>,
    Path(id): Path<SweepId>,
    body: Bytes,
) -> Result<Done, Response> {
    let resumption = match body.is_empty() {
        true => Resumption::default(),
        false => serde_json::from_slice(&body).map_err(|error| {
            let problem = Problem { error: format!("invalid resume request: {error}") };
            (StatusCode::UNPROCESSABLE_ENTITY, Json(problem)).into_response()
        })?,
    };
    check_sweep(&coordinator, &principal, &id).await.map_err(IntoResponse::into_response)?;
    coordinator.resume(&id, resumption).await.map_err(IntoResponse::into_response)?;
    Ok(done(match resumption.budget {
        Some(BudgetChange::To(budget)) => format!("budget raised to {budget}"),
        Some(BudgetChange::By(more)) => format!("budget raised by {more}"),
        None => String::new(),
    }))
}

pub(super) async fn concurrency(
    State(coordinator): Api,
    Extension(principal): Extension<Principal>,
    Path(id): Path<SweepId>,
    Json(change): Json<ConcurrencyChange>,
) -> Result<Done, CoordinatorError> {
    check_sweep(&coordinator, &principal, &id).await?;
    coordinator.limit_concurrency(&id, &change).await?;
    let endpoint = &change.endpoint;
    Ok(done(match change.calls {
        Some(calls) => format!("endpoint {endpoint}: calls at once limited to {calls}"),
        None => format!("endpoint {endpoint}: calls at once as in the spec"),
    }))
}
