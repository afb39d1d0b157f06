//! A sweep's inputs and its judges' verdicts: for who scores its sessions again, or looks at them, elsewhere.

use std::convert::Infallible;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures::stream;
use regatta_backends::SweepRow;
use regatta_catalog::{Input, read_input, read_lock, sweep_inputs};
use regatta_proto::{Answerer, BenchmarkLock, Digest, Judge, ModelRef, SweepId, Verdict};
use serde::{Deserialize, Serialize};

use super::content::{self, Turns};
use super::{Api, Problem};
use crate::{Coordinator, CoordinatorError, Principal};

/// Questions of one request.
const QUESTIONS_MAX: usize = 1000;
/// Questions that are looked up at once: between two such look-ups an answer may end.
const AT_ONCE: usize = 32;
/// Size of the verdicts, in bytes, beyond which nothing more is looked up for an answer.
const VERDICT_BYTES_MAX: usize = 4 << 20;

/// Questions whose verdicts are wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictsRequest {
    /// A judge of the sweep, or a member of its panel.
    pub judge: ModelRef,
    /// Digests of what it was asked, at most 1,000.
    pub questions: Vec<Digest>,
}

/// Verdicts on the first of the questions that were asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct VerdictsPage {
    /// Verdicts of the questions that have one, by digest of the question.
    pub verdicts: Vec<(Digest, Verdict)>,
    /// Number of questions that were looked up, from the first one on; the rest must be requested again. Never 0 unless there are no
    /// questions.
    pub looked_up: usize,
}

async fn row(coordinator: &Coordinator, id: SweepId) -> Result<SweepRow, CoordinatorError> {
    coordinator.ledger.sweep(&id).await?.ok_or(CoordinatorError::UnknownSweep(id))
}

async fn inputs_of(coordinator: &Coordinator, id: SweepId) -> Result<Vec<Input>, CoordinatorError> {
    let row = row(coordinator, id).await?;
    Ok(sweep_inputs(coordinator.catalog().blobs(), &row.lock).await?)
}

/// Inputs of the sweep, by digest.
pub(super) async fn inputs(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<SweepId>,
) -> Result<Response, Response> {
    content::answer(turns.download(&principal.owner), inputs_of(&coordinator, id)).await
}

/// One of these. What is stored under another digest is not served, whoever knows that.
pub(super) async fn input(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Extension(principal): Extension<Principal>,
    Path((id, digest)): Path<(SweepId, Digest)>,
) -> Result<Response, Response> {
    let turn = turns.download(&principal.owner).await?;
    let found = async {
        let all = inputs_of(&coordinator, id.clone()).await?;
        Ok(match all.into_iter().find(|input| input.digest == digest) {
            Some(input) => Some(read_input(coordinator.catalog().blobs(), &input).await?),
            None => None,
        })
    };
    match found.await.map_err(|error: CoordinatorError| error.into_response())? {
        Some(bytes) => {
            let (length, whole) = (bytes.len() as u64, stream::iter([Ok::<_, Infallible>(bytes)]));
            Ok(content::send(length, whole, "application/octet-stream", turn))
        }
        None => Err(refused(StatusCode::NOT_FOUND, format!("{id} is not made of {digest}"))),
    }
}

/// Verdicts that judges of the sweep have given. Nothing is asked anew, and those of other judges are not told.
pub(super) async fn verdicts(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<SweepId>,
    Json(request): Json<VerdictsRequest>,
) -> Result<Json<VerdictsPage>, Response> {
    let VerdictsRequest { judge, questions } = request;
    if questions.len() > QUESTIONS_MAX {
        let problem = format!("{} questions at once: ask for at most {QUESTIONS_MAX}", questions.len());
        return Err(refused(StatusCode::UNPROCESSABLE_ENTITY, problem));
    }
    let _turn = turns.download(&principal.owner).await?;
    let answerer = answerer(&coordinator, &id, &judge).await.map_err(IntoResponse::into_response)?;
    let Some(answerer) = answerer else {
        return Err(refused(StatusCode::UNPROCESSABLE_ENTITY, format!("sweep {id} has no judge {judge}")));
    };
    let page = page(&coordinator, answerer, &questions).await;
    page.map(Json).map_err(IntoResponse::into_response)
}

/// Identity of `judge` in the sweep; `None` if it is none of its judges.
async fn answerer(
    coordinator: &Coordinator,
    id: &SweepId,
    judge: &ModelRef,
) -> Result<Option<Answerer>, CoordinatorError> {
    let row = row(coordinator, id.clone()).await?;
    let lock = read_lock(coordinator.catalog().blobs(), &row.lock).await?;
    let judges = lock.benchmarks.values().flat_map(BenchmarkLock::judges);
    if !judges.flat_map(Judge::ids).any(|known| known == judge) {
        return Ok(None);
    }
    let endpoint = lock.endpoints.get(&judge.endpoint);
    Ok(endpoint.map(|endpoint| Answerer::new(endpoint, &judge.model, id)))
}

async fn page(
    coordinator: &Coordinator,
    answerer: Answerer,
    questions: &[Digest],
) -> Result<VerdictsPage, CoordinatorError> {
    let (mut verdicts, mut looked_up, mut bytes) = (Vec::new(), 0, 0);
    for chunk in questions.chunks(AT_ONCE) {
        let mut found: Vec<_> = coordinator.ledger.verdicts(answerer, chunk).await?.into_iter().collect();
        found.sort_by_key(|(question, _)| *question);
        for (_, verdict) in &found {
            bytes += serde_json::to_vec(verdict)?.len();
        }
        verdicts.extend(found);
        looked_up += chunk.len();
        if bytes > VERDICT_BYTES_MAX {
            break;
        }
    }
    Ok(VerdictsPage { verdicts, looked_up })
}

fn refused(status: StatusCode, error: String) -> Response {
    (status, Json(Problem { error })).into_response()
}
