//! The servers over plain HTTP.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, header};
use regatta_autoslurp::ServedTools;
use regatta_benchmarks::ToolRequest;
use regatta_serving::{NoBody, read_body};
use regatta_simulator::{Dropped, first_half};
use serde_json::json;

use super::delivery::Outcome;
use super::mcp;
use super::refused::{Refused, respond};
use super::sessions::SessionName;
use super::shared::Shared;

/// The port at which a request arrived.
#[derive(Debug, Clone, Copy)]
pub(super) enum Door {
    /// The port that serves everything.
    All,
    /// A port of the server whose official port is this one.
    Of(u16),
}

/// Answers a request.
pub(super) async fn serve(
    shared: Arc<Shared>,
    door: Door,
    request: Request<Incoming>,
) -> Result<Response<Body>, Dropped> {
    match route(shared, door, request).await {
        Ok(response) => response,
        Err(refused) => Ok(refused.response()),
    }
}

async fn route(
    shared: Arc<Shared>,
    door: Door,
    request: Request<Incoming>,
) -> Result<Result<Response<Body>, Dropped>, Refused> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let ok = |content_type, text| Ok(Ok(respond(StatusCode::OK, content_type, text)));
    let wrong_method =
        || Err(Refused::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", "the route takes another method"));
    let is_read = method == Method::GET;
    let Some(rest) = path.strip_prefix("/sessions/") else {
        return match path.as_str() {
            "/healthz" if is_read => ok("application/json", json!({"status": "ok"}).to_string()),
            "/sessions" if is_read => ok("application/json", shared.sessions.list().to_string()),
            "/healthz" | "/sessions" => wrong_method(),
            "/mcp" => Ok(Ok(mcp::serve(shared, None, request).await)),
            path => ask(&shared, door, None, path, request).await,
        };
    };
    let (name, rest) = rest.split_once('/').map_or((rest, None), |(name, rest)| (name, Some(rest)));
    let name = SessionName::new(name)?;
    match rest {
        None if method == Method::DELETE => {
            shared.sessions.forget(&name)?;
            Ok(Ok(respond(StatusCode::NO_CONTENT, "text/plain", "")))
        }
        Some("log") if is_read => ok("application/x-ndjson", shared.sessions.report(&name)?),
        None | Some("log") => wrong_method(),
        Some("mcp") => Ok(Ok(mcp::serve(shared, Some(name), request).await)),
        Some(rest) => ask(&shared, door, Some(&name), &format!("/{rest}"), request).await,
    }
}

/// Answers a request to a tool server; `path` is without the session.
async fn ask(
    shared: &Shared,
    door: Door,
    session: Option<&SessionName>,
    path: &str,
    request: Request<Incoming>,
) -> Result<Result<Response<Body>, Dropped>, Refused> {
    let (head, body) = request.into_parts();
    let (asked, seen) = urls(door, path, &head);
    let body = match read_body(body, ServedTools::BODY_BYTES_MAX, None).await {
        Ok(body) => body,
        Err(NoBody::Refused(refusal)) => {
            let code = if refusal.status == StatusCode::PAYLOAD_TOO_LARGE { "too_large" } else { "too_slow" };
            return Err(Refused::new(refusal.status, code, refusal.message));
        }
        Err(NoBody::Disconnected(error)) => {
            tracing::debug!(%error, "a client of the simulated tools went away while it sent its request");
            return Ok(Err(Dropped));
        }
    };
    let body = (!body.is_empty()).then(|| body.to_vec());
    let request = ToolRequest { method: head.method.to_string(), url: asked, body };
    Ok(respond_with(shared, shared.play(session, request, &seen).await?).await)
}

/// The URL for the simulation, and the one that the client knows.
fn urls(door: Door, path: &str, head: &Parts) -> (String, String) {
    let query = head.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    if let (Some(scheme), Some(authority)) = (head.uri.scheme_str(), head.uri.authority()) {
        // A proxy gets whole URLs.
        let url = format!("{scheme}://{authority}{path}{query}");
        return (url.clone(), url);
    }
    let host = head.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    let seen = format!("http://{host}{path}{query}");
    let asked = match door {
        Door::Of(official) => format!("http://localhost:{official}{path}{query}"),
        // Without its port, which may be the official one of some server.
        Door::All => {
            let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
            format!("http://{name}{path}{query}")
        }
    };
    (asked, seen)
}

async fn respond_with(shared: &Shared, outcome: Outcome) -> Result<Response<Body>, Dropped> {
    let (answer, retry_after, is_whole) = match outcome {
        Outcome::Whole(answer, retry_after) => (answer, retry_after, true),
        Outcome::Truncated(answer) => (answer, None, false),
        Outcome::Dropped => return Err(Dropped),
        Outcome::Never => {
            // If the client disconnects, this future is dropped with its connection.
            shared.stopping.cancelled().await;
            return Err(Dropped);
        }
    };
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = respond(status, answer.content_type, "");
    if let Some(allow) = answer.allow {
        response.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static(allow));
    }
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    let body = Bytes::from(answer.body);
    *response.body_mut() = if is_whole { Body::from(body) } else { Body::new(first_half(&body)) };
    Ok(response)
}
