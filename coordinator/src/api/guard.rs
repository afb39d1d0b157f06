//! Admission of requests: people and programs with a credential, and no page of another site that a browser of theirs has open.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::future::BoxFuture;
use regatta_proto::{ApiToken, Digest, OwnerName, Scope};
use regatta_serving::is_loopback_host;
use subtle::ConstantTimeEq as _;
use tokio::sync::Semaphore;

use super::rates::Rates;
use super::{Access, ApiConfig, Problem};
use crate::{Coordinator, Credential, PeerCertificate, Principal, Unverified};

/// Tokens looked up at once: strangers who send many must not take all connections to the ledger.
const LOOKUPS_MAX: usize = 2;
/// Longest wait for one's turn to be looked up.
const LOOKUP_WAIT: Duration = Duration::from_secs(10);
/// Longest credential, in bytes.
const CREDENTIAL_BYTES_MAX: usize = 16 << 10;

/// Checks of all requests.
#[derive(Clone)]
pub(super) struct Guard {
    pub(super) coordinator: Arc<Coordinator>,
    pub(super) config: ApiConfig,
    pub(super) rates: Arc<Rates>,
    lookups: Arc<Semaphore>,
}

/// Reason why a request is not answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) problem: String,
}

fn refusal(status: StatusCode, problem: impl Into<String>) -> Refusal {
    Refusal { status, problem: problem.into() }
}

/// The problem of whoever lacks a right, with the way to it.
pub(super) fn lacks(principal: &Principal, scope: Scope) -> String {
    let Principal { owner, scopes, credential } = principal;
    let has = if scopes.is_empty() { "none".to_owned() } else { scopes.to_string() };
    let advice = match credential {
        Credential::Certificate(_) => {
            "ask an admin to grant it under `certificates` of the coordinator's policy".to_owned()
        }
        Credential::Issuer(_) => "ask an admin to grant it under `oidc` of the coordinator's policy".to_owned(),
        Credential::Open | Credential::Operator | Credential::Token(_) => {
            format!("ask an admin for a token with it (`regatta token create --owner {owner} --scopes …`)")
        }
    };
    format!("this needs the scope {scope}, and {owner} has {has}; {advice}")
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(Problem { error: self.problem })).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"regatta\""));
        }
        response
    }
}

/// Lets a request through with the [`Principal`] who asks among its extensions, and without its credential.
pub(super) async fn guard(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    // A request cannot be shared between threads while it is looked at, its headers can.
    let (method, headers) = (request.method().clone(), request.headers().clone());
    let certificate = request.extensions().get::<PeerCertificate>().cloned();
    match guard.admit(&method, &headers, certificate.as_ref()).await {
        Ok(principal) => {
            request.headers_mut().remove(header::AUTHORIZATION);
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(refused) => {
            guard.note_refusal(None, &method, request.uri().path(), &refused).await;
            refused.into_response()
        }
    }
}

/// Decides who may look at pages beside the API. Logins and refusals are in the audit log, as those of the API are.
#[derive(Clone)]
pub struct Readers(Guard);

impl Readers {
    pub(super) const fn new(guard: Guard) -> Self {
        Self(guard)
    }

    /// `true` if `token`, which came with the request for a page, may read. While the ledger or an issuer is away, none may.
    pub fn admit<'a>(&'a self, token: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move { self.by_token(token, &Method::GET, "/ui").await.is_some() })
    }

    /// `true` if `token`, which somebody entered, may read, and the audit log has it.
    pub fn log_in<'a>(&'a self, token: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let (method, path) = (Method::POST, "/ui/login");
            match self.by_token(token, &method, path).await {
                Some(principal) => self.0.note_log_in(&principal, &method, path).await,
                None => false,
            }
        })
    }

    /// `true` if `certificate`, of the connection on which `path` was asked for, may read.
    pub fn admit_certificate<'a>(
        &'a self,
        certificate: Option<&'a PeerCertificate>,
        method: &'a Method,
        path: &'a str,
    ) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let identified = self.0.identify(&HeaderMap::new(), certificate).await;
            self.reader(identified, method, path).await.is_some()
        })
    }

    /// `true` if whoever shows `token` or `certificate` may change what belongs to `owner`. Nothing was asked for yet, so that a refusal is not written down.
    pub fn may_change<'a>(
        &'a self,
        token: Option<&'a str>,
        certificate: Option<&'a PeerCertificate>,
        owner: Option<&'a OwnerName>,
    ) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            self.identified(token, certificate).await.is_some_and(|principal| principal.may_change(owner))
        })
    }

    /// The owner as whom whoever shows `token` or `certificate` may submit, and so annotate what others have submitted; `None` for readers. A
    /// refusal is not written down, as above.
    pub fn submitter<'a>(
        &'a self,
        token: Option<&'a str>,
        certificate: Option<&'a PeerCertificate>,
    ) -> BoxFuture<'a, Option<OwnerName>> {
        Box::pin(async move {
            let principal = self.identified(token, certificate).await?;
            principal.scopes.allow(Scope::Submit).then_some(principal.owner)
        })
    }

    /// Writes to the audit log that whoever shows `token` or `certificate` is about to annotate what is at `path` of the pages. Returns the number
    /// of the entry.
    ///
    /// # Errors
    /// The status and the reason for which nothing is to be done: they may not submit, ask too often, or the log cannot be written.
    pub fn begin_annotation<'a>(
        &'a self,
        token: Option<&'a str>,
        certificate: Option<&'a PeerCertificate>,
        path: &'a str,
    ) -> BoxFuture<'a, Result<u64, (StatusCode, String)>> {
        Box::pin(async move {
            let principal = self.identified(token, certificate).await;
            let Some(principal) = principal.filter(|principal| principal.scopes.allow(Scope::Submit)) else {
                let problem = "sessions are annotated with a token, or a certificate, that may submit";
                return Err((StatusCode::FORBIDDEN, problem.to_owned()));
            };
            let begun = self.0.begin_annotation(&principal, path).await;
            begun.map_err(|Refusal { status, problem }| (status, problem))
        })
    }

    /// Adds to the entry `number` of the audit log that the annotation is stored, or the reason for which it is not.
    pub fn end_annotation<'a>(&'a self, number: u64, path: &'a str, failure: Option<&'a str>) -> BoxFuture<'a, ()> {
        Box::pin(self.0.end_annotation(number, path, failure))
    }

    async fn identified(&self, token: Option<&str>, certificate: Option<&PeerCertificate>) -> Option<Principal> {
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            headers.insert(header::AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).ok()?);
        }
        self.0.identify(&headers, certificate).await.ok()
    }

    async fn by_token(&self, token: &str, method: &Method, path: &str) -> Option<Principal> {
        let identified = match HeaderValue::from_str(&format!("Bearer {token}")) {
            Ok(credential) => self.0.identify(&HeaderMap::from_iter([(header::AUTHORIZATION, credential)]), None).await,
            Err(_) => Err(unknown()),
        };
        self.reader(identified, method, path).await
    }

    async fn reader(&self, identified: Result<Principal, Refusal>, method: &Method, path: &str) -> Option<Principal> {
        let (principal, refused) = match identified {
            Ok(principal) if principal.scopes.allow(Scope::Read) => return Some(principal),
            Ok(principal) => {
                let refused = refusal(StatusCode::FORBIDDEN, lacks(&principal, Scope::Read));
                (Some(principal), refused)
            }
            Err(refused) => (None, refused),
        };
        self.0.note_refusal(principal.as_ref(), method, path, &refused).await;
        None
    }
}

impl Guard {
    pub(super) fn new(coordinator: Arc<Coordinator>, config: ApiConfig) -> Self {
        Self { coordinator, config, rates: Arc::default(), lookups: Arc::new(Semaphore::new(LOOKUPS_MAX)) }
    }

    async fn admit(
        &self,
        method: &Method,
        headers: &HeaderMap,
        certificate: Option<&PeerCertificate>,
    ) -> Result<Principal, Refusal> {
        check_site(headers)?;
        let principal = self.identify(headers, certificate).await?;
        check_kind(method, headers)?;
        Ok(principal)
    }

    async fn identify(&self, headers: &HeaderMap, certificate: Option<&PeerCertificate>) -> Result<Principal, Refusal> {
        let operator = match &self.config.access {
            Access::Open => {
                check_host(headers)?;
                return Ok(Principal::admin(Credential::Open));
            }
            Access::Certificates(rules) => {
                return certificate.map(|certificate| rules.principal(certificate)).ok_or_else(|| {
                    refusal(
                        StatusCode::UNAUTHORIZED,
                        "the client certificate cannot be read; show one of X.509 version 3",
                    )
                });
            }
            Access::Tokens { operator } => operator,
        };
        let given = bearer(headers)?;
        // Digests are compared, and in constant time: how long it takes tells neither the token nor its digest.
        let digest = Digest::of(given.as_bytes());
        if operator.is_some_and(|operator| bool::from(operator.bytes()[..].ct_eq(&digest.bytes()[..]))) {
            return Ok(Principal::admin(Credential::Operator));
        }
        match (ApiToken::parse(given), &self.config.verifier) {
            (Some(token), _) => self.look_up(&token).await,
            (None, Some(verifier)) => verifier.verify(given).await.map_err(|unverified| match unverified {
                Unverified::Refused(why) => refusal(StatusCode::UNAUTHORIZED, format!("the token is refused: {why}")),
                Unverified::Unavailable(why) => refusal(StatusCode::SERVICE_UNAVAILABLE, why),
            }),
            (None, None) => Err(unknown()),
        }
    }

    async fn look_up(&self, token: &ApiToken) -> Result<Principal, Refusal> {
        let busy =
            || refusal(StatusCode::TOO_MANY_REQUESTS, "too many tokens to look up at once; try again in a moment");
        let turn = tokio::time::timeout(LOOKUP_WAIT, self.lookups.acquire()).await;
        let _turn = turn.map_err(|_| busy())?.map_err(|_| busy())?;
        let found = self.coordinator.ledger.token(&token.digest()).await.map_err(|error| {
            tracing::error!(%error, "failed to look a token up");
            refusal(
                StatusCode::SERVICE_UNAVAILABLE,
                "the ledger does not answer, so no token can be looked up; try again",
            )
        })?;
        let Some(row) = found.filter(|row| row.id == *token.id()) else { return Err(unknown()) };
        let again = format!("have an admin make another with `regatta token create --owner {}`", row.owner);
        if row.revoked_at.is_some() {
            return Err(refusal(StatusCode::UNAUTHORIZED, format!("the token {} is revoked; {again}", row.id)));
        }
        if let Some(expired) = row.expires_at.filter(|at| *at <= self.coordinator.clock.now()) {
            return Err(refusal(
                StatusCode::UNAUTHORIZED,
                format!("the token {} expired at {expired}; {again}", row.id),
            ));
        }
        Ok(Principal { owner: row.owner, scopes: row.scopes, credential: Credential::Token(row.id) })
    }
}

fn unknown() -> Refusal {
    refusal(
        StatusCode::UNAUTHORIZED,
        "this coordinator asks for a token and does not know the one given; set REGATTA_TOKEN to the operator's or to one of \
         `regatta token create`",
    )
}

/// The credential of the request.
fn bearer(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (first, second) = (given.next(), given.next());
    if second.is_some() {
        return Err(refusal(StatusCode::BAD_REQUEST, "the request has two Authorization headers; send one"));
    }
    let text = first.and_then(|value| value.to_str().ok()).and_then(|value| value.split_once(' '));
    let text = text.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token);
    match text.filter(|token| !token.is_empty() && token.len() <= CREDENTIAL_BYTES_MAX) {
        Some(token) => Ok(token),
        None => Err(refusal(StatusCode::UNAUTHORIZED, "this coordinator asks for a token; set REGATTA_TOKEN to it")),
    }
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"))
}

/// No page of another site asks.
fn check_site(headers: &HeaderMap) -> Result<(), Refusal> {
    let host = header_text(headers, header::HOST);
    match header_text(headers, header::ORIGIN) {
        Some(origin) if origin.split_once("://").is_none_or(|(_, asking)| Some(asking) != host) => Err(refusal(
            StatusCode::FORBIDDEN,
            format!("pages of other sites may not ask this coordinator: Origin is {origin:?}"),
        )),
        Some(_) | None => Ok(()),
    }
}

/// A page whose name was made to lead here (DNS rebinding) names itself, not this machine.
fn check_host(headers: &HeaderMap) -> Result<(), Refusal> {
    match header_text(headers, header::HOST) {
        Some(host) if !is_loopback_host(host) => Err(refusal(
            StatusCode::FORBIDDEN,
            "without a token this coordinator answers to localhost alone; ask it at http://127.0.0.1, or give it a token (REGATTA_TOKEN)",
        )),
        Some(_) | None => Ok(()),
    }
}

/// A form of another site can send no JSON.
fn check_kind(method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    if *method != Method::POST || header_text(headers, header::CONTENT_TYPE).is_some_and(is_json) {
        return Ok(());
    }
    Err(refusal(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "send JSON, with the header content-type: application/json, also where the body is empty",
    ))
}

fn is_json(content_type: &str) -> bool {
    content_type.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        given.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn status(checked: Result<(), Refusal>) -> Option<u16> {
        checked.err().map(|refused| refused.status.as_u16())
    }

    #[test]
    fn without_a_token_a_foreign_host_is_refused() {
        for host in ["evil.example", "evil.example:8080", "10.0.0.1:8080", "localhost.evil.example", ""] {
            assert_eq!(status(check_host(&headers(&[("host", host)]))), Some(403), "{host}");
        }
        for host in ["localhost", "127.0.0.1:8080", "[::1]:8080", "LOCALHOST:1"] {
            assert_eq!(status(check_host(&headers(&[("host", host)]))), None, "{host}");
        }
    }

    #[test]
    fn a_foreign_origin_is_refused() {
        for (origin, expected) in
            [("https://evil.example", Some(403)), ("null", Some(403)), ("http://127.0.0.1:8080", None)]
        {
            let asked = check_site(&headers(&[("host", "127.0.0.1:8080"), ("origin", origin)]));
            assert_eq!(status(asked), expected, "{origin}");
        }
        // A page without an origin of its own is no page of a coordinator without a host.
        assert_eq!(status(check_site(&headers(&[("origin", "null")]))), Some(403));
    }

    #[test]
    fn what_changes_something_must_be_json() {
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
            assert_eq!(status(check_kind(&Method::POST, &headers(&[("content-type", kind)]))), Some(415), "{kind}");
        }
        assert_eq!(status(check_kind(&Method::POST, &headers(&[]))), Some(415));
        for kind in ["application/json", "Application/JSON; charset=utf-8"] {
            assert_eq!(status(check_kind(&Method::POST, &headers(&[("content-type", kind)]))), None);
        }
    }

    #[test]
    fn a_credential_is_one_bearer_token() {
        let given = |value: &'static str| bearer(&headers(&[("authorization", value)])).map(str::to_owned);
        assert_eq!(given("Bearer x"), Ok("x".to_owned()));
        assert_eq!(given("bearer x"), Ok("x".to_owned()));
        for bad in ["x", "Basic x", "Bearer", "Bearer ", ""] {
            assert_eq!(given(bad).unwrap_err().status, StatusCode::UNAUTHORIZED, "{bad}");
        }
        let mut two = headers(&[("authorization", "Bearer x")]);
        two.append("authorization", HeaderValue::from_static("Bearer y"));
        assert_eq!(bearer(&two).unwrap_err().status, StatusCode::BAD_REQUEST);
        let mut long = HeaderMap::new();
        let value = format!("Bearer {}", "x".repeat(CREDENTIAL_BYTES_MAX + 1));
        long.insert("authorization", value.parse().unwrap());
        assert_eq!(bearer(&long).unwrap_err().status, StatusCode::UNAUTHORIZED);
    }
}
