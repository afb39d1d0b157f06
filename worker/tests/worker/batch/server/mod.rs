//! A provider's batch API, in both formats, that the tests can hold, hurry and count.

mod anthropic;
mod openai;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::sync::watch;

/// A place where the server can be told to hold a request, after it has done what the request asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// A file is uploaded.
    Upload,
    /// A batch is made.
    Creation,
    /// A list of batches is read.
    List,
    /// A batch is looked at.
    Look,
    /// Results are read.
    Results,
}

/// Result that the server gives for a line.
#[derive(Debug, Clone)]
pub(crate) enum Line {
    /// The model says this, for a hundred tokens in and ten out.
    Says(&'static str),
    /// The provider answers with this status and error.
    Fails(u16, &'static str),
    /// The line's turn did not come.
    Expires,
    /// It is done, and its result is nowhere.
    IsLost,
}

/// End that the server gives to whole batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// No end: they keep running.
    Running,
    Completed,
    Expired,
    /// Refused with this code.
    Refused(&'static str),
}

/// One batch as it was handed in.
#[derive(Debug, Clone)]
pub(crate) struct Handed {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    /// Custom ids and bodies.
    pub(crate) lines: Vec<(String, Value)>,
    pub(crate) cancelled: bool,
    /// Refused as a whole, whatever comes of others.
    refused: Option<&'static str>,
    created_at: jiff::Timestamp,
}

type Script = Box<dyn Fn(&str, &Value) -> Line + Send>;

struct Inner {
    files: BTreeMap<String, String>,
    batches: Vec<Handed>,
    ending: Ending,
    script: Script,
    /// Status that the next creation is answered with, though it is done.
    creation_answers: Option<u16>,
    /// Status with which looks are answered.
    looks_refused: Option<u16>,
    /// Status with which the next creation is refused.
    creation_refused: Option<u16>,
    /// Lists to come that are empty.
    hidden_from: u32,
}

pub(crate) struct BatchServer {
    address: String,
    shared: Arc<Shared>,
    serving: tokio::task::JoinHandle<()>,
}

struct Shared {
    inner: Mutex<Inner>,
    /// Place at which requests are held; `None` to hold none.
    held_at: watch::Sender<Option<Place>>,
    /// Requests that have come to each place.
    seen: watch::Sender<BTreeMap<Place, usize>>,
}

impl BatchServer {
    pub(crate) async fn start() -> Self {
        let inner = Inner {
            files: BTreeMap::new(),
            batches: Vec::new(),
            ending: Ending::Completed,
            script: Box::new(|_, _| Line::Says("Node:\n1: a\nEdges: (START,1) (1,END)")),
            creation_answers: None,
            looks_refused: None,
            creation_refused: None,
            hidden_from: 0,
        };
        let shared = Arc::new(Shared {
            inner: Mutex::new(inner),
            held_at: watch::Sender::new(None),
            seen: watch::Sender::default(),
        });
        let routes = Router::new()
            .route("/v1/files", post(openai::upload))
            .route("/v1/files/{id}/content", get(openai::content))
            .route("/v1/batches", post(openai::create).get(openai::list))
            .route("/v1/batches/{id}", get(openai::look))
            .route("/v1/batches/{id}/cancel", post(cancel))
            .route("/v1/messages/batches", post(anthropic::create).get(anthropic::list))
            .route("/v1/messages/batches/{id}", get(anthropic::look))
            .route("/v1/messages/batches/{id}/cancel", post(cancel))
            .route("/v1/messages/batches/{id}/results", get(anthropic::results))
            .layer(axum::extract::DefaultBodyLimit::disable())
            .with_state(shared.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serving = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { address, shared, serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Every batch that was ever handed in.
    pub(crate) fn batches(&self) -> Vec<Handed> {
        self.shared.inner.lock().unwrap().batches.clone()
    }

    pub(crate) fn end(&self, ending: Ending) {
        self.shared.inner.lock().unwrap().ending = ending;
    }

    pub(crate) fn answer(&self, script: impl Fn(&str, &Value) -> Line + Send + 'static) {
        self.shared.inner.lock().unwrap().script = Box::new(script);
    }

    /// The next batch is taken, and its maker told otherwise.
    pub(crate) fn lie_about_the_next_creation(&self, status: u16) {
        self.shared.inner.lock().unwrap().creation_answers = Some(status);
    }

    /// Nobody gets to look at a batch, or everybody again.
    pub(crate) fn refuse_looks(&self, status: Option<u16>) {
        self.shared.inner.lock().unwrap().looks_refused = status;
    }

    /// The next batch is not taken.
    pub(crate) fn refuse_the_next_creation(&self, status: u16) {
        self.shared.inner.lock().unwrap().creation_refused = Some(status);
    }

    /// Takes a batch in that is somebody else's.
    pub(crate) fn take_from_a_stranger(&self, lines: usize) {
        let mut inner = self.shared.inner.lock().unwrap();
        let lines = (0..lines).map(|position| (format!("stranger-{position}"), json!({}))).collect();
        inner.take(None, lines);
    }

    /// Takes a batch of one line in that somebody hands in by this name.
    pub(crate) fn take_by_name(&self, name: &str) {
        let lines = vec![(format!("{name}-0"), json!({}))];
        self.shared.inner.lock().unwrap().take(Some(name.to_owned()), lines);
    }

    /// Refuses the batches that it has by now with this code, and none that comes later.
    pub(crate) fn refuse_all_so_far(&self, code: &'static str) {
        self.shared.inner.lock().unwrap().batches.iter_mut().for_each(|batch| batch.refused = Some(code));
    }

    /// So many lists to come lag behind, and are empty.
    pub(crate) fn hide_from_lists(&self, lists: u32) {
        self.shared.inner.lock().unwrap().hidden_from = lists;
    }

    pub(crate) fn hold_at(&self, place: Place) {
        self.shared.held_at.send_replace(Some(place));
    }

    pub(crate) fn go_on(&self) {
        self.shared.held_at.send_replace(None);
    }

    /// Number of requests that have come to `place`.
    pub(crate) fn seen(&self, place: Place) -> usize {
        self.shared.seen.borrow().get(&place).copied().unwrap_or(0)
    }

    /// Waits until `times` requests have come to `place`.
    pub(crate) async fn reached(&self, place: Place, times: usize) {
        let mut seen = self.shared.seen.subscribe();
        let reached = seen.wait_for(|seen| seen.get(&place).copied().unwrap_or(0) >= times);
        crate::stage::within(reached).await.unwrap();
    }
}

impl Drop for BatchServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Inner {
    #[expect(clippy::disallowed_methods, reason = "a provider has a clock of its own")]
    fn take(&mut self, name: Option<String>, lines: Vec<(String, Value)>) -> Handed {
        let id = format!("batch_{}", self.batches.len());
        let handed = Handed { id, name, lines, cancelled: false, refused: None, created_at: jiff::Timestamp::now() };
        self.batches.push(handed.clone());
        handed
    }

    /// Batches as a list has them, the newest first.
    fn listed(&mut self) -> Vec<Handed> {
        let is_behind = self.hidden_from > 0;
        self.hidden_from = self.hidden_from.saturating_sub(1);
        if is_behind { Vec::new() } else { self.batches.iter().rev().cloned().collect() }
    }

    fn find(&self, id: &str) -> Option<Handed> {
        self.batches.iter().find(|batch| batch.id == id).cloned()
    }

    fn ending_of(&self, handed: &Handed) -> Ending {
        if let Some(code) = handed.refused {
            return Ending::Refused(code);
        }
        // Strangers' batches are done at once.
        if handed.lines.iter().any(|(id, _)| id.starts_with("stranger")) { Ending::Completed } else { self.ending }
    }
}

impl Shared {
    fn count(&self, place: Place) {
        self.seen.send_modify(|seen| *seen.entry(place).or_default() += 1);
    }

    /// Counts a request, and holds it while its place is held.
    async fn pass(&self, place: Place) {
        self.count(place);
        self.held_at.subscribe().wait_for(|held| *held != Some(place)).await.unwrap();
    }
}

type Ours = State<Arc<Shared>>;

fn jsonl(lines: Vec<Value>) -> String {
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

fn failure(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        429 => "rate_limit_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

fn answer_creation(batch: Value, lie: Option<u16>) -> Response {
    match lie {
        Some(status) => (StatusCode::from_u16(status).unwrap(), "the gateway has gone").into_response(),
        None => axum::Json(batch).into_response(),
    }
}

fn refusal(status: u16, message: &str) -> Response {
    (StatusCode::from_u16(status).unwrap(), axum::Json(failure(status, message))).into_response()
}

async fn cancel(State(shared): Ours, Path(id): Path<String>) -> Response {
    let mut inner = shared.inner.lock().unwrap();
    inner.batches.iter_mut().filter(|batch| batch.id == id).for_each(|batch| batch.cancelled = true);
    axum::Json(json!({"id": id})).into_response()
}
