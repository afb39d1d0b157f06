//! The model endpoint: a simulated one behind a clerk that writes every call into books, by session, client and outcome.

mod batches;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
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
use crate::faults::{UNCONFIRMED, UNREPORTED, UNREPORTED_JUDGES};
pub(crate) use batches::PRICE as BATCH_PRICE;

/// Longest request, in bytes.
const BODY_MAX: usize = 16 * 1024 * 1024;
/// Time in which a request that was sent is read.
const READ_WITHIN: Duration = Duration::from_millis(200);
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CallKind {
    /// For a session, answered at once.
    Live,
    /// For a session, as a line of a batch: it has no client of its own, and begins when its batch is handed in.
    Batched,
    /// For a judge.
    Judges,
}

/// A call, as the endpoint has it in its books. Times are milliseconds since the books were opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Call {
    /// `benchmark/setting/trial/item`, as the call names it; judges' calls are of no session.
    pub(crate) session: String,
    pub(crate) kind: CallKind,
    /// Number of the request, which others of the same bytes have too; of a line, the number of its batch.
    pub(crate) request: u64,
    /// Numbers of the texts whose vectors it asks for; empty for all other calls.
    pub(crate) texts: Vec<u64>,
    /// Port of the client's end of the connection.
    pub(crate) client: u16,
    pub(crate) begun_ms: u64,
    pub(crate) ended_ms: Option<u64>,
    pub(crate) was_refused: bool,
    /// Cost in nano-dollars, whether or not anybody still wanted the answer; 0 for refused ones.
    pub(crate) cost: u64,
}

/// When a process was killed, stopped or cut off, in milliseconds since the books were opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) at_ms: u64,
    /// Until then it may not have noticed, and have begun calls all the same.
    pub(crate) noticed_ms: u64,
}

impl Lost {
    /// Of a process that is stopped, or dead: what comes of it later was sent before.
    pub(crate) const fn for_good(at_ms: u64) -> Self {
        Self { at_ms, noticed_ms: u64::MAX }
    }
}

#[derive(Debug)]
struct Books {
    opened: Instant,
    calls: Vec<Call>,
    /// Positions of calls that were in flight in a process that was lost: each may be made once more, however often that happens.
    lost: BTreeSet<usize>,
}

impl Books {
    fn open() -> Self {
        Self { opened: Instant::now(), calls: Vec::new(), lost: BTreeSet::new() }
    }

    fn now_ms(&self) -> u64 {
        self.opened.elapsed().as_millis() as u64
    }

    /// Calls of the clients `ports`, which are `lost`, that are under way, or that were answered so lately that their process may not have reported them
    /// yet. A call is among them once.
    fn in_flight(&mut self, ports: &[u16], lost: Lost) -> InFlight {
        let mut in_flight = InFlight::default();
        let is_theirs = |call: &Call| !call.was_refused && ports.contains(&call.client);
        for (position, call) in self.calls.iter().enumerate() {
            if !is_theirs(call) || call.begun_ms > lost.noticed_ms || self.lost.contains(&position) {
                continue;
            }
            let was_answered_within = |time: Duration| {
                call.ended_ms.is_none_or(|ended| ended >= lost.at_ms.saturating_sub(time.as_millis() as u64))
            };
            match call.kind {
                CallKind::Live
                    if was_answered_within(UNREPORTED)
                        || was_answered_within(UNCONFIRMED) && !goes_on_after(&self.calls, call, lost) =>
                {
                    self.lost.insert(position);
                    in_flight.calls.entry(call.session.clone()).or_default().push(call.request);
                }
                CallKind::Judges if was_answered_within(UNREPORTED_JUDGES) => {
                    self.lost.insert(position);
                    in_flight.judges.push(call.request);
                    in_flight.texts.extend(&call.texts);
                }
                // Of lines nobody waits for the answer.
                CallKind::Live | CallKind::Judges | CallKind::Batched => {}
            }
        }
        in_flight
    }
}

/// `true` if the session of `call` has begun another one since this one was answered, and before it was lost.
fn goes_on_after(calls: &[Call], call: &Call, lost: Lost) -> bool {
    let is_later = |begun_ms: u64| call.ended_ms.is_some_and(|ended| (ended..lost.at_ms).contains(&begun_ms));
    calls.iter().any(|other| other.session == call.session && is_later(other.begun_ms))
}

#[derive(Debug)]
struct Clerk {
    upstream: SocketAddr,
    mood: watch::Receiver<Mood>,
    /// Delay of every call's answer, in milliseconds.
    delay_ms: AtomicU64,
    books: Mutex<Books>,
    /// Requests that were taken and have no answer yet, whether or not somebody still waits for it.
    unanswered: watch::Sender<usize>,
    /// Moments at which batches were handed in, by the id of the batch.
    handed_in: Mutex<BTreeMap<String, Instant>>,
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
            mood: watched,
            delay_ms: AtomicU64::new(0),
            books: Mutex::new(Books::open()),
            unanswered: watch::Sender::new(0),
            handed_in: Mutex::default(),
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

    /// Answers to calls come so much later from now on.
    pub(crate) fn delay(&self, delay: Duration) {
        self.clerk.delay_ms.store(delay.as_millis() as u64, Ordering::Relaxed);
    }

    /// Opens books that are empty. Returns the moment from which they count their times.
    pub(crate) fn open_books(&self) -> Instant {
        let mut books = self.clerk.books();
        *books = Books::open();
        books.opened
    }

    /// Every call since the books were opened, with the lines of batches; they are empty then. Waits for what is being answered: whoever asked and
    /// went away is billed.
    pub(crate) async fn close_books(&self) -> Result<Vec<Call>, CertifyError> {
        // The sender lives as long as the clerk.
        let _ = self.clerk.unanswered.subscribe().wait_for(|unanswered| *unanswered == 0).await;
        let opened = self.clerk.books().opened;
        let handed_in = self.clerk.handed_in().clone();
        let begun_ms = |batch: &str| Some(handed_in.get(batch)?.saturating_duration_since(opened).as_millis() as u64);
        let batched = batches::bill(self.clerk.upstream, &mut *self.clerk.billed.lock().await, begun_ms).await?;
        let live = std::mem::take(&mut self.clerk.books().calls);
        Ok(live.into_iter().chain(batched).collect())
    }

    /// Calls that began before this millisecond and have not ended: a call that ends makes room for those of its last millisecond.
    #[cfg(test)]
    pub(crate) fn open_calls(&self) -> usize {
        let books = self.clerk.books();
        let now = books.now_ms();
        books.calls.iter().filter(|call| call.ended_ms.is_none() && call.begun_ms < now).count()
    }

    /// Milliseconds since the books were opened.
    pub(crate) fn now_ms(&self) -> u64 {
        self.clerk.books().now_ms()
    }

    /// Calls of the clients `ports`, which are `lost`, that were under way then, or had been answered so lately that their process may not have reported
    /// them yet. To look for a process's connections takes a second on a busy machine, in which it is not lost yet.
    pub(crate) fn in_flight(&self, ports: &[u16], lost: Lost) -> InFlight {
        self.clerk.books().in_flight(ports, lost)
    }

    /// The same for clients of a process that was stopped at `stopped_ms`. What it had sent before is read a moment later, on a busy machine, and was
    /// under way all the same.
    pub(crate) async fn in_flight_of_stopped(&self, ports: &[u16], stopped_ms: u64) -> InFlight {
        tokio::time::sleep(READ_WITHIN).await;
        self.in_flight(ports, Lost::for_good(stopped_ms))
    }

    /// Milliseconds from the opening of the books to `moment`; 0 for what was before.
    pub(crate) fn time_of(&self, moment: Instant) -> u64 {
        moment.saturating_duration_since(self.clerk.books().opened).as_millis() as u64
    }

    /// Sessions that wait for the answer of a call.
    pub(crate) fn waiting(&self) -> BTreeSet<String> {
        self.sessions(|call| call.ended_ms.is_none())
    }

    /// Sessions that have begun a call since.
    pub(crate) fn called_since(&self, since_ms: u64) -> BTreeSet<String> {
        self.sessions(|call| call.begun_ms >= since_ms)
    }

    fn sessions(&self, of: impl Fn(&Call) -> bool) -> BTreeSet<String> {
        let books = self.clerk.books();
        let live = books.calls.iter().filter(|call| call.kind == CallKind::Live && !call.was_refused && of(call));
        live.map(|call| call.session.clone()).collect()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Clerk {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handed_in(&self) -> MutexGuard<'_, BTreeMap<String, Instant>> {
        self.handed_in.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a call with what it asks; `None` for one that was refused unread.
    fn enter(&self, headers: &HeaderMap, client: u16, asked: Option<Asked>) -> usize {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("-");
        let item = percent_encoding::percent_decode_str(text("x-regatta-item")).decode_utf8_lossy();
        let setting = percent_encoding::percent_decode_str(text("x-regatta-setting")).decode_utf8_lossy();
        let session = format!("{}/{setting}/{}/{item}", text("x-regatta-benchmark"), text("x-regatta-trial"));
        let is_judges = text("x-regatta-role") == "judge" || text("x-regatta-item") == "-";
        let kind = if is_judges { CallKind::Judges } else { CallKind::Live };
        let mut books = self.books();
        let begun_ms = books.now_ms();
        let was_refused = asked.is_none();
        let Asked { request, texts } = asked.unwrap_or(Asked { request: 0, texts: Vec::new() });
        let ended_ms = was_refused.then_some(begun_ms);
        books.calls.push(Call { session, kind, request, texts, client, begun_ms, ended_ms, was_refused, cost: 0 });
        books.calls.len() - 1
    }

    /// Has a request answered when the endpoint's mood and delay allow it, and books what that costs; `number` is that of its call, if it is one.
    async fn answer(&self, request: hyper::Request<Body>, number: Option<usize>) -> Answered {
        let mut mood = self.mood.clone();
        // The endpoint lives longer than its calls.
        let _ = mood.wait_for(|mood| *mood != Mood::Hangs).await;
        if number.is_some() {
            tokio::time::sleep(Duration::from_millis(self.delay_ms.load(Ordering::Relaxed))).await;
        }
        let handed_in = batches::hands_in(request.method(), request.uri().path()).then(Instant::now);
        let (status, headers, body) = ask(self.upstream, request).await?;
        if !status.is_success() {
            return Ok((status, headers, body));
        }
        if let Some(number) = number {
            let document: Value = serde_json::from_slice(&body)?;
            let cost = cost(&document, PRICE).ok_or("an answer without usage cannot be billed")?;
            if let Some(call) = self.books().calls.get_mut(number) {
                call.cost = cost;
            }
        }
        if let Some(at) = handed_in {
            let document: Value = serde_json::from_slice(&body)?;
            let id = document["id"].as_str().ok_or("a batch without an id cannot be booked")?;
            self.handed_in().insert(id.to_owned(), at);
        }
        Ok((status, headers, body))
    }
}

/// Writes down when a call ends, also when its client goes away.
struct Entry {
    clerk: Arc<Clerk>,
    number: usize,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut books = self.clerk.books();
        let now = books.now_ms();
        if let Some(call) = books.calls.get_mut(self.number) {
            call.ended_ms = Some(now);
        }
    }
}

/// Counts a request as unanswered until it is dropped.
struct Unanswered(Arc<Clerk>);

impl Unanswered {
    fn by(clerk: &Arc<Clerk>) -> Self {
        clerk.unanswered.send_modify(|unanswered| *unanswered += 1);
        Self(Arc::clone(clerk))
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        self.0.unanswered.send_modify(|unanswered| *unanswered -= 1);
    }
}

async fn serve(
    State(clerk): State<Arc<Clerk>>,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    // To ask what models there are costs nothing.
    let is_call = head.method == Method::POST && !batches::is_of_batches(head.uri.path());
    if *clerk.mood.borrow() == Mood::Refuses {
        if is_call {
            clerk.enter(&head.headers, client.port(), None);
        }
        let body = r#"{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded"}}"#;
        return (StatusCode::TOO_MANY_REQUESTS, [(header::CONTENT_TYPE, "application/json")], body).into_response();
    }
    let Ok(body) = axum::body::to_bytes(body, BODY_MAX).await else { return StatusCode::BAD_REQUEST.into_response() };
    let number = is_call.then(|| clerk.enter(&head.headers, client.port(), Some(Asked::by(head.uri.path(), &body))));
    let _entry = number.map(|number| Entry { clerk: Arc::clone(&clerk), number });
    // Whoever goes away is billed all the same, also before there is an answer.
    let answering = tokio::spawn({
        let (clerk, unanswered) = (Arc::clone(&clerk), Unanswered::by(&clerk));
        async move {
            let answer = clerk.answer(hyper::Request::from_parts(head, Body::from(body)), number).await;
            drop(unanswered);
            answer
        }
    });
    match answering.await {
        Ok(Ok((status, headers, body))) => (status, headers, body).into_response(),
        Ok(Err(_)) | Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}

/// Content of a call, by numbers.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    request: u64,
    /// Texts whose vectors it asks for. One that cannot be read has none, so that it is a request which the undisturbed run does not make.
    texts: Vec<u64>,
}

impl Asked {
    fn by(path: &str, body: &[u8]) -> Self {
        let texts = if path.ends_with("/embeddings") { texts(body).unwrap_or_default() } else { Vec::new() };
        Self { request: numbered(body), texts }
    }
}

/// Numbers of the texts that a request for vectors names, each of its model; `None` if it cannot be read.
fn texts(body: &[u8]) -> Option<Vec<u64>> {
    let request: Value = serde_json::from_slice(body).ok()?;
    let model = request["model"].as_str()?;
    let text = |text: &Value| Some(numbered(format!("{model}: {}", text.as_str()?).as_bytes()));
    request["input"].as_array()?.iter().map(text).collect()
}

/// Number of a request, a text, or a batch's id, that others of the same bytes have too.
fn numbered(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

type Answered = Result<(StatusCode, HeaderMap, Bytes), Box<dyn std::error::Error + Send + Sync>>;

async fn ask(upstream: SocketAddr, request: hyper::Request<Body>) -> Answered {
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

#[cfg(test)]
mod tests;
