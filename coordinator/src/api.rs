//! The coordinator over HTTP: hand sweeps in, look, steer, cancel, resume.

mod auditing;
mod content;
mod guard;
mod holding;
mod pages;
mod rates;
mod schedules;
mod sources;
mod steering;
mod tokens;

use std::sync::Arc;

use axum::Extension;
use axum::Json;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, FromRef, Path, Query, State};
use axum::http::{Method, StatusCode};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, head, post, put};
use futures::FutureExt as _;
use regatta_backends::{BlobError, LedgerError, PageMark, SweepRow};
use regatta_memory::ByteBudget;
use regatta_proto::{Digest, OwnerName, Scope, SweepId};
use serde::Serialize;

use crate::{
    BearerVerifier, CertificateRules, Coordinator, CoordinatorError, GcRequest, GcResult, Principal, Submission,
    Submitted,
};

use crate::schedules::schedule_of_night;

use self::auditing::{Gate, Subject, UPLOAD};
use self::content::Turns;
use self::guard::Guard;
pub use self::guard::Readers;
use self::holding::Holding;
use self::pages::Wanted;
pub use self::sources::{VerdictsPage, VerdictsRequest};
pub use self::tokens::{QuotaRequest, TokenList, TokenRequest};

/// Largest request besides uploads, in bytes: a spec of a mebibyte, and the names of ten thousand files.
const BODY_BYTES_MAX: usize = 8 << 20;

/// Where files are uploaded, which go to a disk as they come.
const UPLOADS: &str = "/v1/content/{digest}";

/// Credentials that the API asks for.
#[derive(Debug, Clone, Default)]
pub enum Access {
    /// Nothing: everybody who reaches the port may do everything. For loopback alone.
    #[default]
    Open,
    /// A client certificate, which the listener has asked for and put among the extensions of each request ([`PeerCertificate`](crate::PeerCertificate)).
    Certificates(CertificateRules),
    /// A bearer token: the operator's, one of the ledger, or one of an issuer.
    Tokens {
        /// Digest of the token of the coordinator's environment, where there is one. It may do everything.
        operator: Option<Digest>,
    },
}

/// Settings of the API: access, and the verifier of foreign tokens.
#[derive(Clone, Default)]
pub struct ApiConfig {
    /// Credentials that are asked for.
    pub access: Access,
    /// Verifies tokens of other issuers; `None` unless the policy names issuers.
    pub verifier: Option<Arc<dyn BearerVerifier>>,
    /// Bytes of requests that the process may hold at once.
    pub bytes: ByteBudget,
}

/// A method and a path, the right that they need, their name in the audit log where they change something, and their handler.
struct Route(Method, &'static str, Scope, Option<&'static str>, MethodRouter<Shared>);

/// Every route. What is not here does not exist, and nothing is here without the right that it needs.
fn routes() -> Vec<Route> {
    use Scope::{Admin, Read, Submit};
    vec![
        Route(Method::PUT, UPLOADS, Submit, Some(UPLOAD), put(upload)),
        Route(Method::HEAD, UPLOADS, Submit, None, head(is_stored)),
        Route(Method::GET, "/v1/sweeps", Read, None, get(list)),
        Route(Method::POST, "/v1/sweeps", Submit, Some("submit"), post(submit)),
        Route(Method::GET, "/v1/sweeps/{id}", Read, None, get(status)),
        Route(Method::GET, "/v1/sweeps/{id}/scores", Read, None, get(scores)),
        Route(Method::POST, "/v1/sweeps/{id}/cancel", Submit, Some("cancel"), post(steering::cancel)),
        Route(Method::POST, "/v1/sweeps/{id}/pause", Submit, Some("pause"), post(steering::pause)),
        Route(Method::POST, "/v1/sweeps/{id}/resume", Submit, Some("resume"), post(steering::resume)),
        Route(Method::POST, "/v1/sweeps/{id}/concurrency", Submit, Some("concurrency"), post(steering::concurrency)),
        Route(Method::GET, "/v1/sweeps/{id}/files", Read, None, get(files)),
        Route(Method::GET, "/v1/sweeps/{id}/files/{*path}", Read, None, get(file)),
        Route(Method::HEAD, "/v1/sweeps/{id}/files/{*path}", Read, None, head(file_size)),
        Route(Method::GET, "/v1/sweeps/{id}/inputs", Read, None, get(sources::inputs)),
        Route(Method::GET, "/v1/sweeps/{id}/inputs/{digest}", Read, None, get(sources::input)),
        // A body because of its size: it reads, and changes nothing.
        Route(Method::POST, "/v1/sweeps/{id}/verdicts", Read, None, post(sources::verdicts)),
        Route(Method::GET, "/v1/schedules", Read, None, get(schedules::list)),
        Route(Method::POST, "/v1/schedules", Submit, Some("schedule put"), post(schedules::put)),
        Route(Method::GET, "/v1/schedules/{name}", Read, None, get(schedules::show)),
        Route(Method::DELETE, "/v1/schedules/{name}", Submit, Some("schedule delete"), delete(schedules::delete)),
        Route(Method::POST, "/v1/schedules/{name}/pause", Submit, Some("schedule pause"), post(schedules::pause)),
        Route(Method::POST, "/v1/schedules/{name}/resume", Submit, Some("schedule resume"), post(schedules::resume)),
        Route(Method::POST, "/v1/schedules/{name}/run", Submit, Some("schedule run"), post(schedules::run)),
        Route(Method::GET, "/v1/schedules/{name}/history", Read, None, get(schedules::history)),
        Route(Method::GET, "/v1/doctor", Read, None, get(doctor)),
        Route(Method::POST, "/v1/gc", Admin, Some("gc"), post(collect)),
        Route(Method::GET, "/v1/tokens", Admin, None, get(tokens::list)),
        Route(Method::POST, "/v1/tokens", Admin, Some("token create"), post(tokens::create)),
        Route(Method::POST, "/v1/tokens/{id}/revoke", Admin, Some("token revoke"), post(tokens::revoke)),
        Route(Method::GET, "/v1/owners", Admin, None, get(tokens::owners)),
        Route(Method::POST, "/v1/quotas", Admin, Some("quota"), post(tokens::set_quota)),
        Route(Method::GET, "/v1/audit", Admin, None, get(tokens::audit)),
    ]
}

/// Method, path and right of every route, for tests that leave none out.
pub fn rights() -> Vec<(Method, &'static str, Scope)> {
    routes().into_iter().map(|Route(method, path, scope, ..)| (method, path, scope)).collect()
}

/// The routes below `/v1`.
pub fn router(coordinator: Arc<Coordinator>, config: ApiConfig) -> axum::Router {
    router_and_readers(coordinator, config).0
}

/// The routes below `/v1`, and the people who may look at pages beside them: limits of tokens and refusals count for both together.
pub fn router_and_readers(coordinator: Arc<Coordinator>, config: ApiConfig) -> (axum::Router, Readers) {
    let holding = Holding::within(config.bytes.clone());
    let guard = Guard::new(coordinator.clone(), config);
    let readers = Readers::new(guard.clone());
    let shared = Shared { coordinator, turns: Turns::default() };
    let mut router = axum::Router::new();
    for Route(_, path, scope, action, methods) in routes() {
        let gate = Gate { guard: guard.clone(), scope, action };
        // A body is read once it is known that whoever sends it has the right to.
        let methods = match path {
            UPLOADS => methods,
            _ => methods.route_layer(middleware::from_fn_with_state(holding.clone(), holding::hold)),
        };
        router = router.route(path, methods.route_layer(middleware::from_fn_with_state(gate, auditing::pass)));
    }
    let router = router
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(guard, guard::guard))
        .with_state(shared);
    (router, readers)
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
            Self::Plan(_)
            | Self::NoBudget(_)
            | Self::UnknownEndpoint { .. }
            | Self::Concurrency { .. }
            | Self::Ledger(
                LedgerError::BudgetNotRaised { .. }
                | LedgerError::OutOfRange { .. }
                | LedgerError::QuotaExceeded { .. }
                | LedgerError::StorageExceeded { .. }
                | LedgerError::TooManyTokens { .. }
                | LedgerError::TooManyTokensOf { .. },
            ) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NotYours { .. } => StatusCode::FORBIDDEN,
            Self::UnknownSweep(_) | Self::UnknownSchedule(_) => StatusCode::NOT_FOUND,
            Self::WrongState { .. }
            | Self::Ledger(LedgerError::Removed { .. } | LedgerError::ObjectRemoved { .. })
            | Self::ScheduleDiffers(_)
            | Self::ScheduleOvertaken(_)
            | Self::RelativeBudget(_) => StatusCode::CONFLICT,
            Self::NoScheduling => StatusCode::NOT_IMPLEMENTED,
            Self::NotLeading
            | Self::Unanswered
            | Self::SlowRemoval
            | Self::Undeleted(_)
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
    Extension(principal): Extension<Principal>,
    Path(digest): Path<Digest>,
    body: Body,
) -> Result<StatusCode, Response> {
    let file = content::receive(&turns, &principal.owner, digest, body).await?;
    // A task of its own: a client that goes away leaves no charge for what is not stored.
    let storing =
        tokio::spawn(async move { coordinator.store_upload(&principal.owner, &digest, file.path(), file.bytes).await });
    match storing.await {
        Ok(stored) => stored.map(|()| StatusCode::NO_CONTENT).map_err(IntoResponse::into_response),
        Err(error) => {
            tracing::error!(%digest, %error, "an upload broke off");
            Err(StatusCode::INTERNAL_SERVER_ERROR.into_response())
        }
    }
}

async fn is_stored(State(coordinator): Api, Path(digest): Path<Digest>) -> StatusCode {
    match coordinator.has_content(&digest).await {
        Ok(true) => StatusCode::NO_CONTENT,
        Ok(false) => StatusCode::NOT_FOUND,
        Err(error) => {
            tracing::error!(%error, "failed to look for a file");
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

async fn submit(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Extension(principal): Extension<Principal>,
    Json(submission): Json<Submission>,
) -> Result<(Extension<Subject>, Json<Submitted>), Response> {
    let _turn = turns.plan(&principal.owner).await?;
    let submitted = async {
        // Such a name would be that of a night to come.
        if let Some(schedule) = schedule_of_night(&submission.spec.name)
            && let Some(row) = coordinator.ledger.schedule(&schedule).await?
        {
            let what = format!("schedule {schedule}, whose nights have such names,");
            check_owner(&principal, &what, row.owner.as_ref())?;
        }
        coordinator.submit(submission, Some(&principal.owner)).await
    };
    let submitted = submitted.await.map_err(IntoResponse::into_response)?;
    Ok((Extension(Subject(submitted.id.to_string())), Json(submitted)))
}

async fn collect(State(coordinator): Api, Json(request): Json<GcRequest>) -> Result<Json<GcResult>, CoordinatorError> {
    coordinator.collect(request).await.map(Json)
}

async fn list(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Extension(principal): Extension<Principal>,
    Query(wanted): Query<Wanted<PageMark>>,
) -> Result<Response, Response> {
    let turn = turns.download(&principal.owner).await?;
    let read = |after: Option<PageMark>, limit| {
        let coordinator = &coordinator;
        async move { Ok(coordinator.ledger.sweeps_after(after.as_ref(), limit).await?) }.boxed()
    };
    let page = pages::collect(wanted, |row: &SweepRow| PageMark::from(row), read).await;
    Ok(page.map_err(IntoResponse::into_response)?.send(turn))
}

async fn status(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<SweepId>,
) -> Result<Response, Response> {
    content::answer(turns.answer(&principal.owner), coordinator.status(&id)).await
}

async fn scores(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<SweepId>,
) -> Result<Response, Response> {
    content::answer(turns.answer(&principal.owner), coordinator.so_far(&id)).await
}

async fn doctor(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Extension(principal): Extension<Principal>,
) -> Result<Response, Response> {
    content::answer(turns.diagnosis(&principal.owner), coordinator.diagnose()).await
}

/// Fails unless `principal` may change what belongs to `owner`.
fn check_owner(principal: &Principal, what: &str, owner: Option<&OwnerName>) -> Result<(), CoordinatorError> {
    if principal.may_change(owner) {
        return Ok(());
    }
    let owner = owner.map_or_else(|| "nobody".to_owned(), ToString::to_string);
    Err(CoordinatorError::NotYours { what: what.to_owned(), owner, asked: principal.owner.clone() })
}

/// Names of all files that the sweep has left behind so far, transcripts included, sorted.
async fn files(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<SweepId>,
) -> Result<Response, Response> {
    let turn = turns.download(&principal.owner).await?;
    let prefix = format!("sweeps/{id}/");
    let keys = coordinator.catalog().blobs().list(&prefix).await;
    let keys = keys.map_err(|error| CoordinatorError::from(error).into_response())?;
    let names: Vec<&str> = keys.iter().filter_map(|key| key.strip_prefix(&prefix)).collect();
    Ok(content::send_json(&names, turn))
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
    Extension(principal): Extension<Principal>,
    Path((id, path)): Path<(SweepId, String)>,
) -> Response {
    let turn = match turns.download(&principal.owner).await {
        Ok(turn) => turn,
        Err(refused) => return refused,
    };
    let key = format!("sweeps/{id}/{path}");
    match coordinator.catalog().blobs().open(&key).await {
        Ok(Some(file)) => content::send(file.bytes, file.pieces, media_type(&path), turn),
        Ok(None) => no_such_file(&key),
        Err(error) => not_read(&key, error),
    }
}

/// The head of what [`file`] answers. The file is not read, so there is no turn to wait for.
async fn file_size(State(coordinator): Api, Path((id, path)): Path<(SweepId, String)>) -> Response {
    let key = format!("sweeps/{id}/{path}");
    match coordinator.catalog().blobs().size(&key).await {
        Ok(Some(bytes)) => content::headers(bytes, media_type(&path)).into_response(),
        Ok(None) => no_such_file(&key),
        Err(error) => not_read(&key, error),
    }
}

fn no_such_file(key: &str) -> Response {
    (StatusCode::NOT_FOUND, Json(Problem { error: format!("there is no {key} yet") })).into_response()
}

/// A name that no file can have, as one that leads out of the sweep, is that of no file; the rest is trouble with the store.
fn not_read(key: &str, error: BlobError) -> Response {
    match error {
        BlobError::BadKey { .. } => no_such_file(key),
        error => CoordinatorError::from(error).into_response(),
    }
}
