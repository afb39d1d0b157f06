//! Rights of tokens over the API.

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode};
use jiff::SignedDuration;
use regatta_backends::AuditRow;
use regatta_coordinator::{
    Access, ApiConfig, OwnerQuotas, Quotas, Readers, Submitted, SweepStatus, rights, router_and_readers,
};
use regatta_proto::{ApiToken, Digest, Money, OwnerName, SweepState};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::schedules::night_shift::NightShift;
use crate::stage::{Process, Stage, spec, tabulate};

pub(crate) const OPERATOR: &str = "the operator's own token";

/// An API that asks for tokens, and tokens of several people.
pub(crate) struct Desk<'a> {
    stage: &'a Stage,
    pub(crate) router: axum::Router,
    /// People who may look at the pages beside it.
    pub(crate) readers: Readers,
}

/// The token numbered `number`.
fn token(number: u8) -> ApiToken {
    ApiToken::of([number; 6], [number; 32]).unwrap()
}

impl<'a> Desk<'a> {
    pub(crate) fn open(stage: &'a Stage, process: &Process) -> Self {
        Self::open_for(stage, process, OPERATOR)
    }

    /// The same, where the operator's token is `operator`.
    pub(crate) fn open_for(stage: &'a Stage, process: &Process, operator: &str) -> Self {
        let access = Access::Tokens { operator: Some(Digest::of(operator.as_bytes())) };
        let config = ApiConfig { access, ..ApiConfig::default() };
        let (router, readers) = router_and_readers(process.coordinator.clone(), config);
        Self { stage, router, readers }
    }

    pub(crate) async fn ask(&self, token: &str, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
        let request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).unwrap())
            .uri(path)
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {token}"))
            .body(if body.is_null() { Body::empty() } else { Body::from(body.to_string()) });
        let response = self.router.clone().oneshot(request.unwrap()).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    pub(crate) async fn status(&self, token: &str, method: &str, path: &str) -> u16 {
        self.ask(token, method, path, Value::Null).await.0.as_u16()
    }

    /// Makes the token `number` for `owner`, and returns it.
    pub(crate) async fn token(&self, number: u8, owner: &str, scopes: &[&str], more: Value) -> String {
        let (status, body) = self.make(number, owner, scopes, more).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        token(number).text().to_owned()
    }

    async fn make(&self, number: u8, owner: &str, scopes: &[&str], more: Value) -> (StatusCode, Value) {
        let token = token(number);
        let mut request = json!({ "id": token.id(), "digest": token.digest(), "owner": owner, "scopes": scopes });
        request.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        self.ask(OPERATOR, "POST", "/v1/tokens", request).await
    }

    pub(crate) async fn submit(
        &self,
        token: &str,
        name: &str,
        sessions: u32,
        budget: &str,
    ) -> Result<Submitted, String> {
        let submission = self.stage.submission(&spec(name, sessions, budget)).await;
        let (status, body) = self.ask(token, "POST", "/v1/sweeps", serde_json::to_value(submission).unwrap()).await;
        match status.is_success() {
            true => Ok(serde_json::from_value(body).unwrap()),
            false => Err(format!("{status}: {}", body["error"].as_str().unwrap_or_default())),
        }
    }

    pub(crate) async fn audit(&self) -> Vec<AuditRow> {
        let (status, body) = self.ask(OPERATOR, "GET", "/v1/audit", Value::Null).await;
        assert_eq!(status, StatusCode::OK);
        serde_json::from_value(body).unwrap()
    }
}

/// The path of a route as somebody asks for it.
fn asked(path: &str) -> String {
    path.replace("{digest}", &Digest::of(b"x").to_string())
        .replace("tokens/{id}", "tokens/000000000000")
        .replace("{id}", "s")
        .replace("{*path}", "report.html")
        .replace("{name}", "n")
}

#[test]
fn every_route_has_the_right_that_it_should() {
    let mut lines: Vec<_> = rights().iter().map(|(method, path, scope)| format!("{scope} {method} {path}")).collect();
    lines.sort();
    insta::assert_snapshot!(lines.join("\n"));
}

#[tokio::test]
async fn every_route_needs_its_right_by_whatever_method_it_is_asked() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let mut tokens = Vec::new();
    for (number, scopes) in [(1, vec!["read"]), (2, vec!["submit"]), (3, vec!["admin"])] {
        tokens.push((scopes[0], desk.token(number, "alice", &scopes, json!({})).await));
    }
    for (method, path, needed) in rights() {
        let path = asked(path);
        for (scope, token) in &tokens {
            let is_allowed = *scope == needed.to_string() || *scope == "admin";
            // A HEAD is answered by what answers a GET, and must not be a way around.
            let methods = if method == Method::GET { vec!["GET", "HEAD"] } else { vec![method.as_str()] };
            for method in methods {
                let status = desk.status(token, method, &path).await;
                assert_eq!(status == 403, !is_allowed, "{scope} {method} {path}: {status}");
                assert!(!matches!(status, 401 | 405), "{scope} {method} {path}: {status}");
                assert_eq!(desk.status("wrong", method, &path).await, 401, "{method} {path}");
            }
        }
        for odd in ["OPTIONS", "TRACE", "CONNECT", "PATCH", "PROPFIND"] {
            let status = desk.status(&tokens[2].1, odd, &path).await;
            assert_eq!(status, 405, "{odd} {path}");
            assert_eq!(desk.status("wrong", odd, &path).await, 401, "{odd} {path}");
        }
    }
}

#[tokio::test]
async fn no_route_takes_what_a_form_of_another_site_can_send() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    for (_, path, _) in rights().into_iter().filter(|(method, ..)| *method == Method::POST) {
        let request = Request::post(asked(path))
            .header("authorization", format!("Bearer {OPERATOR}"))
            .header("content-type", "text/plain")
            .body(Body::from("{}"));
        let response = desk.router.clone().oneshot(request.unwrap()).await.unwrap();
        assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{path}");
    }
}

#[tokio::test]
async fn a_path_that_only_looks_like_a_route_is_none() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let reader = desk.token(1, "alice", &["read"], json!({})).await;
    for path in [
        "/v1/audit/",
        "//v1/audit",
        "/v1//audit",
        "/v1/./audit",
        "/v1/sweeps/../audit",
        "/V1/audit",
        "/v1/audit%2F",
        "/v1%2Faudit",
        "/v1/sweeps/%2e%2e/audit",
        "/v1/audit;x",
        "/v2/audit",
        "/",
        "/metrics",
    ] {
        let (status, body) = desk.ask(&reader, "GET", path, Value::Null).await;
        assert!(!status.is_success() && !body.is_array(), "{path}: {status}");
        assert_eq!(desk.status("wrong", "GET", path).await, 401, "{path}");
    }
}

#[tokio::test]
async fn a_token_that_is_revoked_expired_or_another_is_refused_with_the_reason() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let now = stage.clock_now();
    let day = now + SignedDuration::from_hours(24);
    let (revoked, expiring) = (
        desk.token(1, "alice", &["read"], json!({})).await,
        desk.token(2, "bob", &["read"], json!({ "expires_at": day })).await,
    );
    assert_eq!(desk.status(&revoked, "GET", "/v1/sweeps").await, 200);
    assert_eq!(desk.status(&expiring, "GET", "/v1/sweeps").await, 200);
    let id = token(1).id().to_string();
    assert_eq!(desk.status(OPERATOR, "POST", &format!("/v1/tokens/{id}/revoke")).await, 204);
    assert_eq!(desk.status(OPERATOR, "POST", "/v1/tokens/none/revoke").await, 404);
    stage.clock.advance(SignedDuration::from_hours(24));
    let mut reasons = Vec::new();
    let swapped = format!("rgt_{}_{}", token(1).id(), &expiring[17..]);
    for (name, given) in [
        ("revoked", revoked.as_str()),
        ("expired", &expiring),
        ("unknown", token(9).text()),
        ("the secret of another id", &swapped),
        ("the id alone", &id),
        ("the digest", &Digest::of(revoked.as_bytes()).to_string()),
        ("upper case", &expiring.to_uppercase()),
    ] {
        let (status, body) = desk.ask(given, "GET", "/v1/sweeps", Value::Null).await;
        reasons.push(format!("{name}: {} {}", status.as_u16(), body["error"].as_str().unwrap()));
    }
    insta::assert_snapshot!(reasons.join("\n"));
}

#[tokio::test]
async fn a_token_that_makes_no_sense_is_not_made() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let make = async |owner: &str, scopes: &[&str], more| desk.make(1, owner, scopes, more).await.0.as_u16();
    assert_eq!(make("operator", &["read"], json!({})).await, 422);
    assert_eq!(make("alice", &[], json!({})).await, 422);
    assert_eq!(make("alice", &["root"], json!({})).await, 422);
    assert_eq!(make("../alice", &["read"], json!({})).await, 422);
    assert_eq!(make("alice", &["read"], json!({ "expires_at": "1960-01-01T00:00:00Z" })).await, 422);
    assert_eq!(make("alice", &["read"], json!({ "token": "x" })).await, 422);
    for quota in [json!({ "budget": u64::MAX, "sessions": 1 }), json!({ "budget": 1, "sessions": u64::MAX })] {
        assert_eq!(make("alice", &["read"], json!({ "quota": quota })).await, 422);
    }
    assert_eq!(make("alice", &["read"], json!({})).await, 200);
    assert_eq!(make("alice", &["read"], json!({})).await, 409);
}

#[tokio::test]
async fn sweeps_belong_to_who_submitted_them() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["read", "submit"], json!({})).await;
    let bob = desk.token(2, "bob", &["read", "submit"], json!({})).await;
    let submitted = desk.submit(&alice, "s", 2, "").await.unwrap();
    let path = format!("/v1/sweeps/{}", submitted.id);
    let (_, body) = desk.ask(&bob, "GET", &path, Value::Null).await;
    let status: SweepStatus = serde_json::from_value(body).unwrap();
    assert_eq!(status.owner.as_ref().map(OwnerName::as_str), Some("alice"));
    let again = desk.submit(&bob, "s", 2, "").await.unwrap();
    assert!(!again.created, "it stays alice's");
    for what in ["cancel", "resume"] {
        let (status, body) = desk.ask(&bob, "POST", &format!("{path}/{what}"), Value::Null).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        let expected =
            format!("sweep {} belongs to alice, and bob is no admin; ask its owner, or an admin", submitted.id);
        assert_eq!(body["error"], expected);
    }
    assert_eq!(stage.state(&submitted.id).await, SweepState::Running);
    assert_eq!(desk.status(&alice, "POST", &format!("{path}/cancel")).await, 204);
    assert_eq!(desk.status(OPERATOR, "POST", &format!("{path}/resume")).await, 204);
    // One from before there were owners is an admin's.
    let old = stage.submit(&process, &spec("old", 1, "")).await;
    assert_eq!(desk.status(&alice, "POST", &format!("/v1/sweeps/{}/cancel", old.id)).await, 403);
    assert_eq!(desk.status(OPERATOR, "POST", &format!("/v1/sweeps/{}/cancel", old.id)).await, 204);
}

#[tokio::test]
async fn schedules_belong_to_who_wrote_them_and_so_do_their_sweeps() {
    let shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    let desk = Desk::open(&shift.stage, &process);
    let alice = desk.token(1, "alice", &["read", "submit"], json!({})).await;
    let bob = desk.token(2, "bob", &["read", "submit"], json!({})).await;
    let mut request = serde_json::to_value(shift.request(json!({ "cron": "0 2 * * *" })).await).unwrap();
    assert_eq!(desk.ask(&alice, "POST", "/v1/schedules", request.clone()).await.0, StatusCode::OK);
    request["replace"] = json!(true);
    request["schedule"]["cron"] = json!("0 3 * * *");
    assert_eq!(desk.ask(&bob, "POST", "/v1/schedules", request.clone()).await.0, StatusCode::FORBIDDEN);
    for (method, what) in [("POST", "/pause"), ("POST", "/resume"), ("POST", "/run"), ("DELETE", "")] {
        assert_eq!(desk.status(&bob, method, &format!("/v1/schedules/nightly{what}")).await, 403, "{what}");
    }
    assert_eq!(desk.ask(OPERATOR, "POST", "/v1/schedules", request).await.0, StatusCode::OK);
    assert_eq!(desk.ask(&bob, "GET", "/v1/schedules/nightly", Value::Null).await.1["owner"], "alice");
    assert_eq!(desk.status(&alice, "POST", "/v1/schedules/nightly/run").await, 200);
    process.coordinator.look_after_schedules().await.unwrap();
    let sweeps = shift.stage.ledger.sweeps().await.unwrap();
    assert_eq!(sweeps[0].owner.as_ref().map(OwnerName::as_str), Some("alice"));
}

#[tokio::test]
async fn an_owner_has_so_many_schedules_and_leaves_room_for_others() {
    let shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    let desk = Desk::open(&shift.stage, &process);
    let alice = desk.token(1, "alice", &["read", "submit"], json!({})).await;
    let bob = desk.token(2, "bob", &["read", "submit"], json!({})).await;
    let owner = "alice".parse().unwrap();
    for number in 0..100 {
        shift.keep(&format!("n{number}"), "{}".to_owned(), Some(&owner)).await;
    }
    let request = serde_json::to_value(shift.request(json!({ "cron": "0 2 * * *" })).await).unwrap();
    let (status, body) = desk.ask(&alice, "POST", "/v1/schedules", request.clone()).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(body["error"], "name: alice has 100 schedules already; delete one (`regatta schedule delete`)");
    assert_eq!(desk.ask(&bob, "POST", "/v1/schedules", request.clone()).await.0, StatusCode::OK);
    assert_eq!(desk.status(&alice, "DELETE", "/v1/schedules/n7").await, 204);
    let mut other = request;
    other["schedule"]["name"] = json!("in-place-of-n7");
    assert_eq!(desk.ask(&alice, "POST", "/v1/schedules", other).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_night_beyond_its_owners_quota_is_refused_and_the_next_one_comes() {
    let shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    let desk = Desk::open(&shift.stage, &process);
    let quota = json!({ "quota": { "budget": null, "sessions": 5 } });
    let alice = desk.token(1, "alice", &["read", "submit"], quota).await;
    let request = serde_json::to_value(shift.request(json!({ "cron": "0 2 * * *" })).await).unwrap();
    assert_eq!(desk.ask(&alice, "POST", "/v1/schedules", request).await.0, StatusCode::OK);
    for _ in 0..2 {
        assert_eq!(desk.status(&alice, "POST", "/v1/schedules/nightly/run").await, 200);
        for _ in 0..3 {
            process.coordinator.look_after_schedules().await.ok();
            shift.end_sweeps(SweepState::Complete).await;
        }
        shift.pass(1);
    }
    let history = shift.history(&process).await;
    let told: Vec<_> = history.iter().map(|tick| tick.state.as_str()).collect();
    assert_eq!(told, ["refused", "ended"]);
    assert!(history[0].reason.as_ref().unwrap().contains("the quota of alice"), "{history:?}");
}

#[tokio::test]
async fn a_quota_holds_submissions_and_raised_budgets_back() {
    let stage = Stage::set().await;
    let coordinator = stage.process();
    let desk = Desk::open(&stage, &coordinator);
    let quota = json!({ "quota": { "budget": Money::from_dollars(10.0), "sessions": 100 } });
    let alice = desk.token(1, "alice", &["read", "submit"], quota).await;
    let free = desk.submit(&alice, "free", 1, "").await.unwrap_err();
    assert!(free.starts_with("422") && free.contains("give it a budget_usd"), "{free}");
    let first = desk.submit(&alice, "one", 1, "budget_usd: 6").await.unwrap();
    let second = desk.submit(&alice, "two", 1, "budget_usd: 6").await.unwrap_err();
    assert!(second.contains("$6") && second.contains("regatta token quota"), "{second}");
    let path = format!("/v1/sweeps/{}", first.id);
    assert_eq!(desk.status(&alice, "POST", &format!("{path}/cancel")).await, 204);
    let raise = async |dollars: f64| {
        let budget = json!({ "budget": { "to": Money::from_dollars(dollars) } });
        desk.ask(&alice, "POST", &format!("{path}/resume"), budget).await.0.as_u16()
    };
    assert_eq!(raise(11.0).await, 422);
    assert_eq!(stage.ledger.sweep(&first.id).await.unwrap().unwrap().budget, Money::from_dollars(6.0));
    assert_eq!(raise(9.0).await, 204);
    let owners = stage.ledger.owners().await.unwrap();
    assert_eq!(Some(owners[0].granted), Money::from_dollars(9.0));
}

#[tokio::test]
async fn a_price_that_a_spec_claims_makes_no_quota_larger() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let quota = json!({ "quota": { "budget": Money::from_dollars(1.0), "sessions": null } });
    let alice = desk.token(1, "alice", &["read", "submit"], quota).await;
    let claims = async |endpoint: Value| {
        let mut submission =
            serde_json::to_value(stage.submission(&spec("claims", 2, "budget_usd: 0.5")).await).unwrap();
        submission["spec"]["endpoints"]["sim"] = endpoint;
        let (status, body) = desk.ask(&alice, "POST", "/v1/sweeps", submission).await;
        (status.as_u16(), body["error"].as_str().unwrap_or_default().to_owned())
    };
    let (status, problem) = claims(json!({ "kind": "openai" })).await;
    assert_eq!(status, 422, "{problem}");
    assert!(problem.contains("have the operator add it"), "{problem}");
    let (status, problem) =
        claims(json!({ "kind": "openai", "base_url": "https://gateway.example/v1", "api_key_env": "GATEWAY_KEY" }))
            .await;
    assert_eq!(status, 422, "{problem}");
    // Where no key goes, nobody but they pays.
    let (status, problem) = claims(json!({ "kind": "openai", "base_url": "http://10.0.0.5/v1" })).await;
    assert_eq!(status, 200, "{problem}");
}

#[tokio::test]
async fn the_name_of_a_night_is_its_schedules_owners() {
    let shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let process = shift.stage.process();
    let desk = Desk::open(&shift.stage, &process);
    let alice = desk.token(1, "alice", &["read", "submit"], json!({})).await;
    let bob = desk.token(2, "bob", &["read", "submit"], json!({})).await;
    let request = serde_json::to_value(shift.request(json!({ "cron": "0 2 * * *" })).await).unwrap();
    assert_eq!(desk.ask(&alice, "POST", "/v1/schedules", request).await.0, StatusCode::OK);
    let refused = desk.submit(&bob, "nightly-20261123T020000Z", 2, "").await.unwrap_err();
    assert!(refused.starts_with("403") && refused.contains("belongs to alice"), "{refused}");
    assert!(desk.submit(&bob, "nightly-20261123", 2, "").await.is_ok());
    assert!(desk.submit(&alice, "nightly-20261123T020000Z", 2, "").await.is_ok());
}

#[tokio::test]
async fn the_policys_quotas_count_beside_those_of_the_ledger() {
    let stage = Stage::set().await;
    let granted = regatta_backends::Quota { budget: None, sessions: Some(4) };
    let others = OwnerQuotas { granted, ..OwnerQuotas::default() };
    let process = stage.process_with(Quotas { others, ..Quotas::default() });
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["read", "submit"], json!({})).await;
    desk.submit(&alice, "two", 2, "").await.unwrap();
    assert!(desk.submit(&alice, "one", 1, "").await.is_err());
}

#[tokio::test]
async fn a_resume_is_charged_for_sessions_that_begin_anew() {
    let stage = Stage::set().await;
    let process = stage.start();
    let desk = Desk::open(&stage, &process);
    let quota = json!({ "quota": { "budget": null, "sessions": 7 } });
    let alice = desk.token(1, "alice", &["read", "submit"], quota).await;
    let submitted = desk.submit(&alice, "s", 2, "").await.unwrap();
    let row = stage.ledger.sweep(&submitted.id).await.unwrap().unwrap();
    let sweep = process.coordinator.catalog().sweep(&row.lock).await.unwrap();
    stage.fail(&sweep, &stage.take(&sweep, 4).await).await;
    assert_eq!(stage.report().await, tabulate(&sweep));
    let (from, now) = ([SweepState::Tabulating], stage.clock_now());
    assert!(stage.ledger.transition(&submitted.id, &from, SweepState::Incomplete, now).await.unwrap());
    let path = format!("/v1/sweeps/{}/resume", submitted.id);
    let (status, body) = desk.ask(&alice, "POST", &path, Value::Null).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(body["error"].as_str().unwrap().contains("this one wants 4 more"), "{body}");
    assert_eq!(stage.state(&submitted.id).await, SweepState::Incomplete);
    let more = json!({ "owner": "alice", "quota": { "budget": null, "sessions": 8 } });
    assert!(desk.ask(OPERATOR, "POST", "/v1/quotas", more).await.0.is_success());
    assert_eq!(desk.status(&alice, "POST", &path).await, 204);
    assert_eq!(stage.state(&submitted.id).await, SweepState::Running);
    process.end().await;
}
