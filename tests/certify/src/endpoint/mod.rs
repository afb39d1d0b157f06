//! The model endpoint: a simulated one behind a clerk that writes every call into books, by session, client and outcome.

mod batches;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::CertifyError;
use crate::evidence::InFlight;
pub(crate) use batches::PRICE as BATCH_PRICE;

/// Longest request, in bytes.
const BODY_MAX: usize = 16 * 1024 * 1024;
/// Nano-dollars of an input and of an output token; the workload's spec says the same in dollars per million.
pub(crate) const PRICE: (u64, u64) = (1_000, 2_000);

/// Conduct of the endpoint towards calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Answers,
    Refuses,
    /// Calls wait for another mood.
    Hangs,
}

/// Way and purpose of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CallKind {
    /// For a session, answered at once.
    Live,
    /// For a session, as a line of a batch: it has no times and no client of its own.
    Batched,
    /// For a judge.
    Judges,
}

/// A call, as the endpoint has it in its books. Times are milliseconds since the endpoint began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Call {
    /// `benchmark/setting/trial/item`, as the call names it; judges' calls are of no session.
    pub(crate) session: String,
    pub(crate) kind: CallKind,
    /// Port of the client's end of the connection.
    pub(crate) client: u16,
    pub(crate) begun_ms: u64,
    pub(crate) ended_ms: Option<u64>,
    pub(crate) was_refused: bool,
    /// Cost in nano-dollars, whether or not anybody still wanted the answer; 0 for refused ones.
    pub(crate) cost: u64,
}

#[derive(Debug)]
struct Clerk {
    upstream: SocketAddr,
    begun: Instant,
    mood: watch::Receiver<Mood>,
    /// Delay of every answer, in milliseconds.
    delay_ms: AtomicU64,
    books: Mutex<Vec<Call>>,
    /// Batches that were in closed books.
    billed: tokio::sync::Mutex<BTreeSet<String>>,
}

/// The endpoint. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    clerk: Arc<Clerk>,
    mood: watch::Sender<Mood>,
    task: JoinHandle<()>,
}

impl Endpoint {
    /// An endpoint that has `upstream` answer.
    pub(crate) async fn before(upstream: SocketAddr) -> Result<Self, CertifyError> {
        let listening = "listen on 127.0.0.1";
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(CertifyError::system(listening))?;
        let address = listener.local_addr().map_err(CertifyError::system(listening))?;
        let (mood, watched) = watch::channel(Mood::Answers);
        let clerk = Arc::new(Clerk {
            upstream,
            begun: Instant::now(),
            mood: watched,
            delay_ms: AtomicU64::new(0),
            books: Mutex::default(),
            billed: tokio::sync::Mutex::default(),
        });
        let routes = axum::Router::new().fallback(serve).with_state(Arc::clone(&clerk));
        let service = routes.into_make_service_with_connect_info::<SocketAddr>();
        let task = tokio::spawn(async move {
            // It only ends when it is aborted.
            let _ = axum::serve(listener, service).await;
        });
        Ok(Self { address, clerk, mood, task })
    }

    pub(crate) fn set(&self, mood: Mood) {
        self.mood.send_replace(mood);
    }

    /// Answers come so much later from now on.
    pub(crate) fn delay(&self, delay: Duration) {
        self.clerk.delay_ms.store(delay.as_millis() as u64, Ordering::Relaxed);
    }

    /// Every call since the last time, with the lines of batches; the books begin anew.
    pub(crate) async fn close_books(&self) -> Result<Vec<Call>, CertifyError> {
        let batched = batches::bill(self.clerk.upstream, &mut *self.clerk.billed.lock().await).await?;
        let live = std::mem::take(&mut *self.clerk.books());
        Ok(live.into_iter().chain(batched).collect())
    }

    /// Calls that began before this millisecond and have not ended: a call that ends makes room for those of its last millisecond.
    #[cfg(test)]
    pub(crate) fn open_calls(&self) -> usize {
        let now = self.clerk.now_ms();
        self.clerk.books().iter().filter(|call| call.ended_ms.is_none() && call.begun_ms < now).count()
    }

    /// Calls of the clients `ports` that are under way, or were answered within `lately`: their process may not have reported them yet.
    pub(crate) fn in_flight(&self, ports: &[u16], lately: Duration) -> InFlight {
        let since = self.clerk.now_ms().saturating_sub(lately.as_millis() as u64);
        let mut in_flight = InFlight::default();
        let is_of_them = |call: &&Call| !call.was_refused && ports.contains(&call.client);
        for call in self.clerk.books().iter().filter(is_of_them) {
            if call.ended_ms.is_some_and(|ended| ended < since) {
                continue;
            }
            match call.kind {
                CallKind::Live => *in_flight.calls.entry(call.session.clone()).or_default() += 1,
                CallKind::Judges => in_flight.judges += 1,
                // Nobody waits for the answer of a line.
                CallKind::Batched => {}
            }
        }
        in_flight
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Clerk {
    fn books(&self) -> MutexGuard<'_, Vec<Call>> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    fn enter(&self, headers: &HeaderMap, client: u16, was_refused: bool) -> usize {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("-");
        let item = percent_encoding::percent_decode_str(text("x-regatta-item")).decode_utf8_lossy();
        let setting = percent_encoding::percent_decode_str(text("x-regatta-setting")).decode_utf8_lossy();
        let session = format!("{}/{setting}/{}/{item}", text("x-regatta-benchmark"), text("x-regatta-trial"));
        let is_judges = text("x-regatta-role") == "judge" || text("x-regatta-item") == "-";
        let kind = if is_judges { CallKind::Judges } else { CallKind::Live };
        let begun_ms = self.now_ms();
        let mut books = self.books();
        let ended_ms = was_refused.then_some(begun_ms);
        books.push(Call { session, kind, client, begun_ms, ended_ms, was_refused, cost: 0 });
        books.len() - 1
    }
}

/// Writes down when a call ends, also when its client goes away.
struct Entry {
    clerk: Arc<Clerk>,
    number: usize,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let now = self.clerk.now_ms();
        if let Some(call) = self.clerk.books().get_mut(self.number) {
            call.ended_ms = Some(now);
        }
    }
}

async fn serve(
    State(clerk): State<Arc<Clerk>>,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let is_call = !batches::is_of_batches(head.uri.path());
    if *clerk.mood.borrow() == Mood::Refuses {
        if is_call {
            clerk.enter(&head.headers, client.port(), true);
        }
        let body = r#"{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded"}}"#;
        return (StatusCode::TOO_MANY_REQUESTS, [(header::CONTENT_TYPE, "application/json")], body).into_response();
    }
    let Ok(body) = axum::body::to_bytes(body, BODY_MAX).await else { return StatusCode::BAD_REQUEST.into_response() };
    let number = is_call.then(|| clerk.enter(&head.headers, client.port(), false));
    let _entry = number.map(|number| Entry { clerk: Arc::clone(&clerk), number });
    let mut mood = clerk.mood.clone();
    // The endpoint lives longer than its calls.
    let _ = mood.wait_for(|mood| *mood != Mood::Hangs).await;
    tokio::time::sleep(Duration::from_millis(clerk.delay_ms.load(Ordering::Relaxed))).await;
    // Whoever goes away is billed all the same.
    let answering = tokio::spawn({
        let clerk = Arc::clone(&clerk);
        async move {
            let answer = ask(clerk.upstream, hyper::Request::from_parts(head, Body::from(body))).await;
            if let Ok((status, _, body)) = &answer
                && status.is_success()
                && let Some(number) = number
            {
                let document: Value = serde_json::from_slice(body)?;
                let cost = cost(&document, PRICE).ok_or("an answer without usage cannot be billed")?;
                if let Some(call) = clerk.books().get_mut(number) {
                    call.cost = cost;
                }
            }
            answer
        }
    });
    match answering.await {
        Ok(Ok((status, headers, body))) => (status, headers, body).into_response(),
        Ok(Err(_)) | Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}

async fn ask(
    upstream: SocketAddr,
    request: hyper::Request<Body>,
) -> Result<(StatusCode, HeaderMap, Bytes), Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(upstream).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request).await?;
    let (head, body) = answer.into_parts();
    let body = axum::body::to_bytes(Body::new(body), BODY_MAX).await?;
    connection.abort();
    let mut headers = head.headers;
    // The body is whole now.
    headers.remove(header::TRANSFER_ENCODING);
    headers.remove(header::CONTENT_LENGTH);
    headers.remove(header::CONNECTION);
    Ok((head.status, headers, body))
}

/// Cost of an answer in nano-dollars, by its own usage; `None` without one. An embedding has no output.
fn cost(answer: &Value, (input, output): (u64, u64)) -> Option<u64> {
    let usage = answer.get("usage")?;
    let written = usage.get("completion_tokens").map_or(Some(0), Value::as_u64)?;
    Some(usage.get("prompt_tokens")?.as_u64()? * input + written * output)
}
