//! Tokens, quotas and the audit log over HTTP, for admins.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures::FutureExt as _;
use jiff::Timestamp;
use regatta_backends::{AuditRow, NewToken, OwnerRow, PageMark, Quota, StorageQuota, TokenRow};
use regatta_proto::{Digest, OwnerName, Scopes, TokenId, binary_size};
use serde::{Deserialize, Serialize};

use super::auditing::Subject;
use super::content::Turns;
use super::pages::{self, PAGE_MAX, Page, Wanted};
use super::{Api, Problem};
use crate::{Coordinator, CoordinatorError, Principal};

/// Entries of the audit log that are shown unless more are asked for.
const SHOWN: u32 = 100;

/// A token that somebody has drawn, to be kept. The coordinator is told its digest alone, and never has it whole before it is used.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// Public part of the token.
    pub id: TokenId,
    /// Digest of the whole token.
    pub digest: Digest,
    /// The person or program that will show it.
    pub owner: OwnerName,
    /// Rights, at least one.
    pub scopes: Scopes,
    /// From when on it is refused; never, if left out.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// New quota of the owner; as it is, if left out.
    #[serde(default)]
    pub quota: Option<Quota>,
    /// New quota of what the owner may have stored; as it is, if left out. A field of its own, so that a program that does not know it, at either
    /// end, neither takes the limit away nor leaves it out in silence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageQuota>,
}

/// Quotas to be set.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuotaRequest {
    /// The owner.
    pub owner: OwnerName,
    /// Quota from now on, as it is if left out; what was granted stays granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
    /// Quota of what the owner may have stored from now on, as it is if left out; what is stored stays stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageQuota>,
}

/// Tokens, and the owners of sweeps.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TokenList {
    /// Tokens, oldest first, revoked and expired ones included.
    pub tokens: Vec<TokenRow>,
    /// Owners with a quota, with sweeps or with stored objects, by name. A page of tokens has none: owners have pages of their own.
    pub owners: Vec<OwnerRow>,
}

/// A page of the audit log. It was asked for before other lists had pages, by the number that comes after it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shown {
    limit: Option<u32>,
    #[serde(alias = "after")]
    before: Option<u64>,
}

fn refuse(status: StatusCode, error: impl Into<String>) -> Response {
    (status, Json(Problem { error: error.into() })).into_response()
}

/// Tokens. Whoever asks for no page, as clients did before there were any, gets all of them and all owners, or a refusal: such clients
/// change quotas by what is here, and an owner that is left out would seem to have none.
pub(super) async fn list(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Extension(principal): Extension<Principal>,
    Query(wanted): Query<Wanted<PageMark>>,
) -> Result<Response, Response> {
    let turn = turns.download(&principal.owner).await?;
    let all = wanted.limit.is_none() && wanted.after.is_none();
    let read = |after: Option<PageMark>, limit| {
        let coordinator = &coordinator;
        async move { Ok(coordinator.ledger.tokens_after(after.as_ref(), limit).await?) }.boxed()
    };
    let wanted = if all { Wanted { limit: Some(PAGE_MAX), ..wanted } } else { wanted };
    let tokens = pages::collect(wanted, |row: &TokenRow| PageMark::from(row), read).await;
    let mut tokens = tokens.map_err(IntoResponse::into_response)?;
    let owners = if all {
        let owners = owners_of(&coordinator, Wanted { limit: Some(PAGE_MAX), after: None }).await;
        let owners = owners.map_err(IntoResponse::into_response)?;
        if !tokens.is_last() || !owners.is_last() {
            return Err(refuse(
                StatusCode::UNPROCESSABLE_ENTITY,
                "there are more tokens or owners than one answer holds; ask for pages (GET /v1/tokens?limit=1000, GET /v1/owners), as \
                 `regatta token list` does from the version of this coordinator on",
            ));
        }
        owners.text
    } else {
        b"[]".to_vec()
    };
    tokens.text = [b"{\"tokens\":", &tokens.text[..], b",\"owners\":", &owners, b"}"].concat();
    Ok(tokens.send(turn))
}

pub(super) async fn owners(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Extension(principal): Extension<Principal>,
    Query(wanted): Query<Wanted<OwnerName>>,
) -> Result<Response, Response> {
    let turn = turns.download(&principal.owner).await?;
    let page = owners_of(&coordinator, wanted).await;
    Ok(page.map_err(IntoResponse::into_response)?.send(turn))
}

async fn owners_of(coordinator: &Coordinator, wanted: Wanted<OwnerName>) -> Result<Page, CoordinatorError> {
    let read = |after: Option<OwnerName>, limit| {
        async move { Ok(coordinator.ledger.owners_after(after.as_ref(), limit).await?) }.boxed()
    };
    pages::collect(wanted, |row: &OwnerRow| row.owner.clone(), read).await
}

pub(super) async fn create(
    State(coordinator): Api,
    Extension(principal): Extension<Principal>,
    Json(request): Json<TokenRequest>,
) -> Result<(Extension<Subject>, Json<TokenRow>), Response> {
    let TokenRequest { id, digest, owner, scopes, expires_at, quota, storage } = request;
    let now = coordinator.clock.now();
    if owner.is_reserved() {
        let problem = format!("owner: {owner} is a reserved name; choose another");
        return Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, problem));
    }
    if scopes.is_empty() {
        return Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, "scopes: give at least one of read, submit, admin"));
    }
    if let Some(at) = expires_at.filter(|at| *at <= now) {
        return Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, format!("expires_at: {at} is over; it is {now}")));
    }
    let (created_at, created_by) = (now, principal.owner);
    let token = NewToken { id, digest, owner, scopes, created_at, created_by, expires_at, quota, storage };
    let row = TokenRow {
        id: token.id.clone(),
        owner: token.owner.clone(),
        scopes,
        created_at,
        created_by: token.created_by.clone(),
        expires_at,
        revoked_at: None,
    };
    let kept = coordinator.ledger.create_token(token).await;
    if !kept.map_err(|error| CoordinatorError::from(error).into_response())? {
        return Err(refuse(StatusCode::CONFLICT, format!("there is a token {} already; draw another", row.id)));
    }
    Ok((Extension(Subject(format!("{} of {} ({scopes})", row.id, row.owner))), Json(row)))
}

pub(super) async fn revoke(State(coordinator): Api, Path(id): Path<TokenId>) -> Result<StatusCode, Response> {
    let found = coordinator.ledger.revoke_token(&id, coordinator.clock.now()).await;
    match found.map_err(|error| CoordinatorError::from(error).into_response())? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(refuse(
            StatusCode::NOT_FOUND,
            format!(
                "there is no token with the id that was given, of {} characters; `regatta token list` lists them",
                id.as_str().len()
            ),
        )),
    }
}

pub(super) async fn set_quota(
    State(coordinator): Api,
    Json(QuotaRequest { owner, quota, storage }): Json<QuotaRequest>,
) -> Result<(Extension<Subject>, StatusCode), Response> {
    if quota.is_none() && storage.is_none() {
        return Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, "names no quota: give quota, storage or both"));
    }
    let set = coordinator.ledger.set_quota(&owner, quota, storage).await;
    set.map_err(|error| CoordinatorError::from(error).into_response())?;
    Ok((Extension(Subject(format!("{owner}: {}", told(quota, storage)))), StatusCode::NO_CONTENT))
}

fn told(quota: Option<Quota>, storage: Option<StorageQuota>) -> String {
    let granted = quota.map(|Quota { budget, sessions }| {
        let budget = budget.map_or_else(|| "any money".to_owned(), |budget| budget.to_string());
        let sessions = sessions.map_or_else(|| "any".to_owned(), |count| count.to_string());
        format!("{budget}, {sessions} sessions")
    });
    let stored = storage
        .map(|StorageQuota { bytes }| format!("{} stored", bytes.map_or_else(|| "anything".to_owned(), binary_size)));
    Vec::from_iter(granted.into_iter().chain(stored)).join(", ")
}

pub(super) async fn audit(
    State(coordinator): Api,
    State(turns): State<Turns>,
    Extension(principal): Extension<Principal>,
    Query(shown): Query<Shown>,
) -> Result<Response, Response> {
    let turn = turns.download(&principal.owner).await?;
    let read = |after: Option<u64>, limit| {
        let coordinator = &coordinator;
        async move { Ok(coordinator.ledger.audit(after, limit).await?) }.boxed()
    };
    let wanted = Wanted { limit: Some(shown.limit.unwrap_or(SHOWN)), after: shown.before };
    let page = pages::collect(wanted, |row: &AuditRow| row.number, read).await;
    Ok(page.map_err(IntoResponse::into_response)?.send(turn))
}
