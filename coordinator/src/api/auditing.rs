//! Rights of each route, and the audit log of what is asked for.
//!
//! An entry is written before anything is done, so that nothing is done which the log does not know; what came of it follows. Both go on
//! when the client has gone.

use axum::RequestExt as _;
use axum::body::{Body, to_bytes};
use axum::extract::{RawPathParams, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use regatta_backends::{AuditOutcome, AuditResult, LedgerError, NewAuditEntry};
use regatta_proto::{ApiToken, Digest, Scope};
use serde::Deserialize;

use super::Access;
use super::guard::{Guard, Refusal, lacks};
use super::rates::CHANGES_MAX;
use crate::Principal;

/// Longest subject and detail in the audit log, in characters.
const TEXT_MAX: usize = 500;
/// The same of requests whose sender is not known.
const STRANGERS_TEXT_MAX: usize = 200;
/// Name of uploads in the audit log. A data set may have thousands of files, so they are no changes of which an owner has so many a minute;
/// those beyond as many are counted instead of written down.
pub(super) const UPLOAD: &str = "upload";
/// Largest body of a refusal that is read for its reason, in bytes.
const PROBLEM_BYTES_MAX: usize = 64 << 10;

/// Right that a route needs, and its name in the audit log where it changes something.
#[derive(Clone)]
pub(super) struct Gate {
    pub(super) guard: Guard,
    pub(super) scope: Scope,
    pub(super) action: Option<&'static str>,
}

/// In a response: what the request turned out to be about.
#[derive(Debug, Clone)]
pub(super) struct Subject(pub(super) String);

/// In a response to what was done: what exactly that was, where the subject does not say it.
#[derive(Debug, Clone)]
pub(super) struct Detail(pub(super) String);

/// Lets a request to its route if whoever asks has the right, and writes it down where the route changes something.
pub(super) async fn pass(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    let Gate { guard, scope, action } = gate;
    let Some(principal) = request.extensions().get::<Principal>().cloned() else {
        // The guard stands before every route.
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let now = guard.coordinator.clock.now();
    let refusal = if !principal.scopes.allow(scope) {
        Some(Refusal { status: StatusCode::FORBIDDEN, problem: lacks(&principal, scope) })
    } else if action.is_some_and(|action| action != UPLOAD) && !guard.rates.admit_change(&principal.owner, now) {
        Some(too_many(&principal))
    } else {
        None
    };
    if let Some(refusal) = refusal {
        guard.note_refusal(Some(&principal), request.method(), request.uri().path(), &refusal).await;
        return refusal.into_response();
    }
    let Some(action) = action else { return next.run(request).await };
    let left_out = match action {
        UPLOAD => match guard.rates.admit_upload(&principal.owner, now) {
            Some(left_out) => left_out,
            None => return next.run(request).await,
        },
        _ => 0,
    };
    let named = request.extract_parts::<RawPathParams>().await.ok();
    let named = named.as_ref().and_then(|params| params.iter().next()).map(|(_, value)| value);
    let subject = text(&guard.without_operators_token(named.unwrap_or_else(|| request.uri().path())));
    let entry = NewAuditEntry {
        at: now,
        actor: principal.owner.to_string(),
        credential: text(&principal.credential.to_string()),
        action: action.to_owned(),
        subject: subject.clone(),
    };
    let number = match guard.coordinator.ledger.begin_audit(entry, None).await {
        Ok(number) => number,
        Err(error) => return unwritten(&error).into_response(),
    };
    let (ledger, begun) = (guard.coordinator.ledger.clone(), subject.clone());
    // A task of its own: a client that goes away leaves nothing half done.
    let doing = tokio::spawn(async move {
        let response = next.run(request).await;
        let (response, mut result) = result_of(response, subject, guard.coordinator.clock.now()).await;
        if left_out > 0 {
            result.detail = text(format!("{} ({left_out} uploads before it were only counted)", result.detail).trim());
        }
        if let Err(error) = guard.coordinator.ledger.end_audit(number, result).await {
            tracing::error!(number, action, %error, "failed to write a result to the audit log");
        }
        response
    });
    match doing.await {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(number, action, %error, "a request broke off");
            let detail = "the coordinator broke off; its log says why".to_owned();
            let result = AuditResult { at: now, outcome: AuditOutcome::Failed, subject: begun, detail };
            if let Err(error) = ledger.end_audit(number, result).await {
                tracing::error!(number, action, %error, "failed to write a result to the audit log");
            }
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn too_many(principal: &Principal) -> Refusal {
    let problem = format!("{} has asked for {CHANGES_MAX} changes within a minute; go on in the next", principal.owner);
    Refusal { status: StatusCode::TOO_MANY_REQUESTS, problem }
}

fn unwritten(error: &LedgerError) -> Refusal {
    tracing::error!(%error, "failed to write to the audit log");
    let problem = "the audit log cannot be written, so nothing was done; try again".to_owned();
    Refusal { status: StatusCode::SERVICE_UNAVAILABLE, problem }
}

/// The result of a request, with the response, whose body was read where it tells a reason.
async fn result_of(response: Response, subject: String, at: jiff::Timestamp) -> (Response, AuditResult) {
    let status = response.status();
    let subject = response.extensions().get::<Subject>().map_or(subject, |Subject(found)| text(found));
    let outcome = match status {
        status if status.is_success() => AuditOutcome::Done,
        status if status.is_client_error() => AuditOutcome::Refused,
        _ => AuditOutcome::Failed,
    };
    if outcome == AuditOutcome::Done {
        let detail = response.extensions().get::<Detail>().map_or_else(String::new, |Detail(done)| text(done));
        return (response, AuditResult { at, outcome, subject, detail });
    }
    let (head, body) = response.into_parts();
    let body = to_bytes(body, PROBLEM_BYTES_MAX).await.unwrap_or_default();
    let detail = text(&format!("{}: {}", status.as_u16(), reason(&body)));
    (Response::from_parts(head, Body::from(body)), AuditResult { at, outcome, subject, detail })
}

fn reason(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Told {
        error: String,
    }
    serde_json::from_slice(body).map_or_else(|_| String::from_utf8_lossy(body).into_owned(), |told: Told| told.error)
}

/// `said` as it can be stored and shown: short, and without control characters and secrets of tokens.
fn text(said: &str) -> String {
    short(said, TEXT_MAX)
}

fn short(said: &str, characters: usize) -> String {
    // Before it is cut: a cut through a token would leave the beginning of its secret.
    let said = ApiToken::without_secrets(said);
    said.chars().take(characters).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

impl Guard {
    /// `path`, or a part of one, without the operator's token, which has no form by which it is known.
    fn without_operators_token(&self, path: &str) -> String {
        let Access::Tokens { operator: Some(operator) } = &self.config.access else { return path.to_owned() };
        let is_it = |part: &str| Digest::of(part.as_bytes()) == *operator;
        let parts: Vec<&str> =
            path.split('/').map(|part| if is_it(part) { "operator's-token" } else { part }).collect();
        parts.join("/")
    }

    /// Writes a login at the pages to the audit log; `false` if it cannot be written, or if there were too many lately.
    pub(super) async fn note_log_in(&self, principal: &Principal, method: &Method, path: &str) -> bool {
        let now = self.coordinator.clock.now();
        if !self.rates.admit_change(&principal.owner, now) {
            self.note_refusal(Some(principal), method, path, &too_many(principal)).await;
            return false;
        }
        let entry = NewAuditEntry {
            at: now,
            actor: principal.owner.to_string(),
            credential: text(&principal.credential.to_string()),
            action: "log in".to_owned(),
            subject: path.to_owned(),
        };
        let (outcome, subject) = (AuditOutcome::Done, path.to_owned());
        let result = AuditResult { at: now, outcome, subject, detail: String::new() };
        let written = self.coordinator.ledger.begin_audit(entry, Some(result)).await;
        written.inspect_err(|error| tracing::error!(%error, "failed to write a login to the audit log")).is_ok()
    }

    /// Writes to the audit log that `principal` is about to annotate what is at `path` of the pages. Returns the number of the entry.
    pub(super) async fn begin_annotation(&self, principal: &Principal, path: &str) -> Result<u64, Refusal> {
        let now = self.coordinator.clock.now();
        if !self.rates.admit_change(&principal.owner, now) {
            let refusal = too_many(principal);
            self.note_refusal(Some(principal), &Method::POST, path, &refusal).await;
            return Err(refusal);
        }
        let entry = NewAuditEntry {
            at: now,
            actor: principal.owner.to_string(),
            credential: text(&principal.credential.to_string()),
            action: "annotate".to_owned(),
            subject: text(path),
        };
        self.coordinator.ledger.begin_audit(entry, None).await.map_err(|error| unwritten(&error))
    }

    /// Adds to the entry `number` that the annotation is stored, or the reason for which it is not.
    pub(super) async fn end_annotation(&self, number: u64, path: &str, failure: Option<&str>) {
        let (outcome, detail) = match failure {
            None => (AuditOutcome::Done, String::new()),
            Some(why) => (AuditOutcome::Failed, text(why)),
        };
        let result = AuditResult { at: self.coordinator.clock.now(), outcome, subject: text(path), detail };
        if let Err(error) = self.coordinator.ledger.end_audit(number, result).await {
            tracing::error!(number, %error, "failed to write a result to the audit log");
        }
    }

    /// Writes a refusal to the audit log, unless there were many lately; then it is counted. A log that cannot be written leaves it refused.
    pub(super) async fn note_refusal(
        &self,
        principal: Option<&Principal>,
        method: &Method,
        path: &str,
        refusal: &Refusal,
    ) {
        // What nobody asked for: the ledger is away, or the guard is busy.
        if refusal.status.is_server_error() {
            return;
        }
        let now = self.coordinator.clock.now();
        let owner = principal.map(|principal| &principal.owner);
        let Some(left_out) = self.rates.admit_refusal(owner, now) else { return };
        // What strangers write is theirs: only its beginning is kept.
        let text = |said: &str| if owner.is_some() { text(said) } else { short(said, STRANGERS_TEXT_MAX) };
        let more =
            if left_out > 0 { format!(" ({left_out} refusals before it were only counted)") } else { String::new() };
        let entry = NewAuditEntry {
            at: now,
            actor: principal.map_or_else(|| "nobody".to_owned(), |principal| principal.owner.to_string()),
            credential: principal
                .map_or_else(|| "none".to_owned(), |principal| text(&principal.credential.to_string())),
            action: "request".to_owned(),
            subject: text(&format!("{method} {}", self.without_operators_token(path))),
        };
        let detail = text(&format!("{}: {}{more}", refusal.status.as_u16(), refusal.problem));
        let result = AuditResult { at: now, outcome: AuditOutcome::Refused, subject: entry.subject.clone(), detail };
        if let Err(error) = self.coordinator.ledger.begin_audit(entry, Some(result)).await {
            tracing::warn!(%error, "failed to write a refusal to the audit log");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_is_short_and_commands_no_terminal() {
        assert_eq!(text("a\u{1b}]0;x\u{7}\0b"), "a\u{fffd}]0;x\u{fffd}\u{fffd}b");
        assert_eq!(text(&"é".repeat(9_999)).chars().count(), TEXT_MAX);
    }

    #[test]
    fn a_reason_is_the_sentence_of_the_body() {
        assert_eq!(reason(br#"{"error":"no"}"#), "no");
        assert_eq!(reason(b"Failed to parse"), "Failed to parse");
    }
}
