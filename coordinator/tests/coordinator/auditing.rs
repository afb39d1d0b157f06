//! The audit log has what was done and what was refused, is bounded, and holds no secret.

use axum::http::StatusCode;
use jiff::SignedDuration;
use regatta_backends::{AuditOutcome, AuditRow};
use regatta_proto::{Digest, SweepState};
use serde_json::{Value, json};

use crate::identity::{Desk, OPERATOR};
use crate::stage::{Stage, spec};

#[tokio::test]
async fn the_audit_log_has_what_was_done_and_what_was_refused() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["read", "submit"], json!({})).await;
    let bob = desk.token(2, "bob", &["read"], json!({})).await;
    let submitted = desk.submit(&alice, "s", 2, "").await.unwrap();
    let mut without_data = serde_json::to_value(stage.submission(&spec("t", 2, "")).await).unwrap();
    without_data["data"] = json!({});
    desk.ask(&alice, "POST", "/v1/sweeps", without_data).await;
    desk.status(&bob, "POST", &format!("/v1/sweeps/{}/cancel", submitted.id)).await;
    desk.status(&alice, "POST", &format!("/v1/sweeps/{}/cancel", submitted.id)).await;
    desk.status("a token of nobody's", "GET", "/v1/audit").await;
    desk.status(&alice, "POST", "/v1/sweeps/a%00%1b%5Bb/cancel").await;
    let entries: Vec<String> = desk
        .audit()
        .await
        .iter()
        .rev()
        .map(|entry| {
            let result = entry.result.as_ref().unwrap();
            let line = format!(
                "{} ({}) {} of {}: {} {}",
                entry.actor, entry.credential, entry.action, result.subject, result.outcome, result.detail
            );
            line.trim_end().replace(submitted.id.as_str(), "SWEEP")
        })
        .collect();
    insta::assert_snapshot!(entries.join("\n"));
    let readers = [("read", &bob), ("submit", &alice)];
    for (scope, token) in readers {
        assert_eq!(desk.status(token, "GET", "/v1/audit").await, 403, "{scope}");
    }
}

#[tokio::test]
async fn logins_at_the_pages_and_their_refusals_are_in_the_audit_log() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["read"], json!({})).await;
    let bob = desk.token(2, "bob", &["submit"], json!({})).await;
    assert!(desk.readers.log_in(&alice).await);
    assert!(desk.readers.admit(&alice).await, "a page that is looked at is no entry");
    assert!(!desk.readers.log_in(&bob).await);
    assert!(!desk.readers.log_in("a guess").await);
    assert!(!desk.readers.log_in("no\ntoken").await);
    assert!(!desk.readers.admit("a cookie that somebody made").await);
    let entries: Vec<String> = desk
        .audit()
        .await
        .into_iter()
        .rev()
        .skip(2)
        .map(|entry| {
            let result = entry.result.unwrap();
            let (actor, credential, subject, outcome) = (entry.actor, entry.credential, result.subject, result.outcome);
            format!("{actor} ({credential}) {} of {subject}: {outcome} {}", entry.action, result.detail)
                .trim_end()
                .to_owned()
        })
        .collect();
    insta::assert_snapshot!(entries.join("\n"));
    // Strangers have one share of the log's minute, wherever they knock.
    for _ in 0..100 {
        assert!(!desk.readers.log_in("a guess").await);
        desk.status("a guess", "GET", "/v1/sweeps").await;
    }
    assert_eq!(desk.audit().await.iter().filter(|entry| entry.actor == "nobody").count(), 5);
}

#[tokio::test]
async fn who_cannot_be_written_down_is_not_logged_in() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["read"], json!({})).await;
    stage.run_sql("DROP TABLE audit_results; DROP TABLE audit");
    assert!(!desk.readers.log_in(&alice).await);
    assert!(!desk.readers.log_in(OPERATOR).await);
}

#[tokio::test]
async fn uploads_are_in_the_audit_log_and_what_only_looks_is_not() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["submit"], json!({})).await;
    let path = |content: &Value| format!("/v1/content/{}", Digest::of(content.to_string().as_bytes()));
    let (data, other) = (json!(["data"]), json!(["other"]));
    assert_eq!(desk.status(&alice, "HEAD", &path(&data)).await, 404);
    assert_eq!(desk.ask(&alice, "PUT", &path(&data), data.clone()).await.0, StatusCode::NO_CONTENT);
    assert_eq!(desk.ask(&alice, "PUT", &path(&other), data.clone()).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(desk.status(&alice, "HEAD", &path(&data)).await, 204);
    let uploads: Vec<AuditRow> = desk.audit().await.into_iter().filter(|row| row.action != "token create").collect();
    let told: Vec<_> = uploads
        .iter()
        .map(|row| {
            let result = row.result.as_ref().unwrap();
            (row.actor.as_str(), row.action.as_str(), result.subject.as_str(), result.outcome)
        })
        .collect();
    let digest = |content: &Value| Digest::of(content.to_string().as_bytes()).to_string();
    let (data, other) = (digest(&data), digest(&other));
    assert_eq!(
        told,
        [
            ("alice", "upload", other.as_str(), AuditOutcome::Refused),
            ("alice", "upload", data.as_str(), AuditOutcome::Done),
        ]
    );
    // A data set has more files than an owner may ask for changes in a minute.
    for number in 0..400 {
        let content = json!(number);
        assert_eq!(desk.ask(&alice, "PUT", &path(&content), content).await.0, StatusCode::NO_CONTENT);
    }
    stage.clock.advance(SignedDuration::from_mins(1));
    let content = json!("the next minute");
    assert_eq!(desk.ask(&alice, "PUT", &path(&content), content).await.0, StatusCode::NO_CONTENT);
    let newest = desk.audit().await.remove(0).result.unwrap();
    assert_eq!(newest.detail, "(102 uploads before it were only counted)");
}

#[tokio::test]
async fn a_flood_of_refusals_does_not_fill_the_audit_log() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    for _ in 0..500 {
        desk.status("guess", "GET", "/v1/sweeps").await;
    }
    assert_eq!(desk.audit().await.len(), 5);
    stage.clock.advance(SignedDuration::from_secs(60));
    desk.status("guess", "GET", "/v1/sweeps").await;
    let newest = desk.audit().await.remove(0).result.unwrap();
    assert!(newest.detail.contains("495 refusals before it"), "{}", newest.detail);
    let alice = desk.token(1, "alice", &["submit"], json!({})).await;
    let mut statuses = Vec::new();
    for _ in 0..310 {
        statuses.push(desk.status(&alice, "POST", "/v1/sweeps/none/cancel").await);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 404).count(), 300);
    assert_eq!(statuses[309], 429);
}

#[tokio::test]
async fn what_the_audit_log_cannot_take_is_not_done() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["read", "submit"], json!({})).await;
    let submitted = desk.submit(&alice, "s", 2, "").await.unwrap();
    stage.run_sql("DROP TABLE audit_results; DROP TABLE audit");
    let (status, body) = desk.ask(&alice, "POST", &format!("/v1/sweeps/{}/cancel", submitted.id), Value::Null).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{body}");
    assert_eq!(stage.state(&submitted.id).await, SweepState::Running);
}

#[tokio::test]
async fn who_takes_a_token_for_its_id_has_not_written_down_its_secret() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["read"], json!({})).await;
    let operators = "operators-own-0123456789abcdef";
    let other = Desk::open_for(&stage, &process, operators);
    for (asking, expected) in [(operators, 404), (alice.as_str(), 403), ("a guess", 401)] {
        for named in [alice.as_str(), operators] {
            assert_eq!(other.status(asking, "POST", &format!("/v1/tokens/{named}/revoke")).await, expected);
        }
    }
    let entries = format!("{:?}", desk.audit().await);
    assert!(entries.contains("rgt_010101010101_…") && entries.contains("operator's-token"), "{entries}");
    assert!(!entries.contains(&alice[17..]) && !entries.contains(operators), "{entries}");
}

#[tokio::test]
async fn no_token_is_in_the_ledger_or_the_audit_log() {
    let stage = Stage::set().await;
    let process = stage.process();
    let desk = Desk::open(&stage, &process);
    let alice = desk.token(1, "alice", &["read", "submit"], json!({})).await;
    desk.submit(&alice, "s", 1, "").await.unwrap();
    desk.status(&alice, "GET", "/v1/audit").await;
    desk.status(&format!("{alice}0"), "GET", "/v1/audit").await;
    let entries = desk.audit().await;
    assert!(
        entries.iter().any(|entry| entry.result.as_ref().is_some_and(|result| result.outcome == AuditOutcome::Refused))
    );
    let secret = &alice[17..];
    for file in stage.ledger_files() {
        let bytes = std::fs::read(&file).unwrap();
        for marker in [secret, OPERATOR] {
            assert!(!bytes.windows(marker.len()).any(|window| window == marker.as_bytes()), "{}", file.display());
        }
    }
    assert!(!format!("{entries:?}").contains(secret));
}
