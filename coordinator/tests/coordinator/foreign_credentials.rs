//! Rights of people whom others vouch for: issuers of bearer tokens, and authorities of client certificates.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use futures::future::BoxFuture;
use regatta_coordinator::{
    Access, ApiConfig, BearerVerifier, CertificateGrant, CertificateRules, Credential, PeerCertificate, Principal,
    Submitted, Unverified, router_and_readers,
};
use regatta_proto::Digest;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::identity::OPERATOR;
use crate::stage::{Process, Stage, spec};

/// An issuer whose tokens are names of people, each with the rights after the colon.
struct Issuer;

impl BearerVerifier for Issuer {
    fn verify<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Principal, Unverified>> {
        Box::pin(async move {
            let Some((owner, scopes)) = token.split_once(':') else {
                return Err(match token {
                    "late" => Unverified::Refused("it has expired".to_owned()),
                    _ => Unverified::Unavailable("the keys of the issuer cannot be had".to_owned()),
                });
            };
            let credential = Credential::Issuer("https://issuer.example".to_owned());
            Ok(Principal { owner: owner.parse().unwrap(), scopes: scopes.parse().unwrap(), credential })
        })
    }
}

/// Proof that somebody shows.
enum Shown<'a> {
    Token(&'a str),
    Certificate(&'a str),
    Nothing,
}

struct Desk<'a> {
    stage: &'a Stage,
    router: axum::Router,
}

impl<'a> Desk<'a> {
    fn open(stage: &'a Stage, process: &Process, access: Access) -> Self {
        let verifier = matches!(access, Access::Tokens { .. }).then(|| Arc::new(Issuer) as Arc<dyn BearerVerifier>);
        let config = ApiConfig { access, verifier, ..ApiConfig::default() };
        Self { stage, router: router_and_readers(process.coordinator.clone(), config).0 }
    }

    async fn ask(&self, shown: &Shown<'_>, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
        let mut request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        match shown {
            Shown::Token(token) => request = request.header("authorization", format!("Bearer {token}")),
            Shown::Certificate(name) => {
                let fingerprint = Digest::of(name.as_bytes());
                request = request.extension(PeerCertificate { names: vec![(*name).to_owned()], fingerprint });
            }
            Shown::Nothing => {}
        }
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        let response = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn status(&self, shown: &Shown<'_>, method: &str, path: &str) -> u16 {
        self.ask(shown, method, path, Value::Null).await.0.as_u16()
    }

    async fn submit(&self, shown: &Shown<'_>, name: &str) -> (StatusCode, Value) {
        let submission = self.stage.submission(&spec(name, 2, "")).await;
        self.ask(shown, "POST", "/v1/sweeps", serde_json::to_value(submission).unwrap()).await
    }

    /// Owner and credential of each submission in the audit log, oldest first.
    async fn submissions(&self, admin: &Shown<'_>) -> Vec<(String, String)> {
        let (status, body) = self.ask(admin, "GET", "/v1/audit", Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        let entries = body.as_array().unwrap().iter().rev().filter(|entry| entry["action"] == "submit");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        entries.map(|entry| (text(&entry["actor"]), text(&entry["credential"]))).collect()
    }
}

/// Everybody submits, looks and cancels as their rights are; `strangers` are not let in at all.
async fn rights_are_kept(desk: &Desk<'_>, people: [Shown<'_>; 3], strangers: [(Shown<'_>, u16, &str); 2]) {
    let [alice, reader, admin] = people;
    let (status, body) = desk.submit(&alice, "s").await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let submitted: Submitted = serde_json::from_value(body).unwrap();
    assert_eq!(desk.stage.ledger.sweep(&submitted.id).await.unwrap().unwrap().owner, Some("alice".parse().unwrap()));
    let (sweep, cancel) = (format!("/v1/sweeps/{}", submitted.id), format!("/v1/sweeps/{}/cancel", submitted.id));
    assert_eq!(desk.submit(&reader, "t").await.0, StatusCode::FORBIDDEN);
    let asked = [
        (&reader, "GET", sweep.as_str(), 200),
        (&reader, "POST", &cancel, 403),
        (&reader, "GET", "/v1/audit", 403),
        (&alice, "GET", "/v1/audit", 403),
        (&alice, "POST", &cancel, 200),
    ];
    for (who, method, path, expected) in asked {
        let status = desk.status(who, method, path).await;
        assert!(status == expected || (expected == 200 && status == 204), "{method} {path}: {status}");
    }
    for (stranger, expected, reason) in strangers {
        let (status, body) = desk.ask(&stranger, "GET", &sweep, Value::Null).await;
        assert_eq!(status.as_u16(), expected, "{body}");
        assert!(body["error"].as_str().unwrap().contains(reason), "{body}");
    }
    let submissions = desk.submissions(&admin).await;
    let credential = match alice {
        Shown::Token(_) => "issuer https://issuer.example",
        Shown::Certificate(_) | Shown::Nothing => "certificate alice",
    };
    assert_eq!(submissions, [("alice".to_owned(), credential.to_owned())]);
}

#[tokio::test]
async fn a_token_of_an_issuer_has_its_owner_and_rights_and_is_named_in_the_audit_log() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process, Access::Tokens { operator: Some(Digest::of(OPERATOR.as_bytes())) });
    let people = [Shown::Token("alice:read,submit"), Shown::Token("bob:read"), Shown::Token(OPERATOR)];
    let strangers = [
        (Shown::Token("late"), 401, "the token is refused: it has expired"),
        (Shown::Token("unknown"), 503, "the keys of the issuer cannot be had"),
    ];
    rights_are_kept(&desk, people, strangers).await;
    assert_eq!(desk.status(&Shown::Nothing, "GET", "/v1/sweeps").await, 401);
}

#[tokio::test]
async fn a_client_certificate_has_its_owner_and_rights_and_is_named_in_the_audit_log() {
    let stage = Stage::set().await;
    let process = stage.process();
    let grant = |scopes: &str| CertificateGrant { scopes: scopes.parse().unwrap(), owner: None };
    let names = BTreeMap::from([
        ("alice".to_owned(), grant("read,submit")),
        ("bob".to_owned(), grant("read")),
        ("root".to_owned(), grant("admin")),
    ]);
    let access = Access::Certificates(CertificateRules { names, ..CertificateRules::default() });
    let desk = Desk::open(&stage, &process, access);
    let people = [Shown::Certificate("alice"), Shown::Certificate("bob"), Shown::Certificate("root")];
    let strangers = [
        (Shown::Certificate("mallory"), 403, "under `certificates` of the coordinator's policy"),
        (Shown::Nothing, 401, "client certificate"),
    ];
    rights_are_kept(&desk, people, strangers).await;
    // A token is none of the credentials that are asked for.
    assert_eq!(desk.ask(&Shown::Token(OPERATOR), "GET", "/v1/sweeps", json!(null)).await.0, StatusCode::UNAUTHORIZED);
}
