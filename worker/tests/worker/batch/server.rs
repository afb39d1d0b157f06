//! A provider's batch API, in both formats, that the tests can hold, hurry and count.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
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
    /// A batch is looked at.
    Look,
    /// Results are read.
    Results,
}

/// What becomes of a line.
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

/// What becomes of whole batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// None: they run on.
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
    /// Status with which the next creation is refused.
    creation_refused: Option<u16>,
}

pub(crate) struct BatchServer {
    address: String,
    shared: Arc<Shared>,
    serving: tokio::task::JoinHandle<()>,
}

struct Shared {
    inner: Mutex<Inner>,
    /// Where requests are held.
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
            creation_refused: None,
        };
        let shared = Arc::new(Shared {
            inner: Mutex::new(inner),
            held_at: watch::Sender::new(None),
            seen: watch::Sender::default(),
        });
        let routes = Router::new()
            .route("/v1/files", post(upload))
            .route("/v1/files/{id}/content", get(content))
            .route("/v1/batches", post(create).get(list))
            .route("/v1/batches/{id}", get(look))
            .route("/v1/batches/{id}/cancel", post(cancel))
            .route("/v1/messages/batches", post(create_messages).get(list_messages))
            .route("/v1/messages/batches/{id}", get(look_messages))
            .route("/v1/messages/batches/{id}/cancel", post(cancel))
            .route("/v1/messages/batches/{id}/results", get(results))
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

    pub(crate) fn hold_at(&self, place: Place) {
        self.shared.held_at.send_replace(Some(place));
    }

    pub(crate) fn go_on(&self) {
        self.shared.held_at.send_replace(None);
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
        let handed = Handed { id, name, lines, cancelled: false, created_at: jiff::Timestamp::now() };
        self.batches.push(handed.clone());
        handed
    }

    fn find(&self, id: &str) -> Option<Handed> {
        self.batches.iter().find(|batch| batch.id == id).cloned()
    }

    fn ending_of(&self, handed: &Handed) -> Ending {
        // Strangers' batches are done at once.
        if handed.lines.iter().any(|(id, _)| id.starts_with("stranger")) { Ending::Completed } else { self.ending }
    }
}

impl Shared {
    /// Counts a request, and holds it while its place is held.
    async fn pass(&self, place: Place) {
        self.seen.send_modify(|seen| *seen.entry(place).or_default() += 1);
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

// OpenAI's format.

async fn upload(State(shared): Ours, body: Bytes) -> Response {
    shared.pass(Place::Upload).await;
    let form = String::from_utf8(body.to_vec()).unwrap();
    assert!(form.contains("name=\"purpose\"\r\n\r\nbatch\r\n"), "{form}");
    let (_, rest) = form.split_once("content-type: application/jsonl\r\n\r\n").unwrap();
    let (lines, _) = rest.split_once("\r\n--").unwrap();
    let mut inner = shared.inner.lock().unwrap();
    let id = format!("file-{}", inner.files.len());
    inner.files.insert(id.clone(), lines.to_owned());
    axum::Json(json!({"id": id, "object": "file", "purpose": "batch"})).into_response()
}

async fn create(State(shared): Ours, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&body["endpoint"], &body["completion_window"]), (&json!("/v1/chat/completions"), &json!("24h")));
    let (batch, lie) = {
        let mut inner = shared.inner.lock().unwrap();
        if let Some(status) = inner.creation_refused.take() {
            return refusal(status, "No such batches.");
        }
        let lines = inner.files[body["input_file_id"].as_str().unwrap()].clone();
        let lines = lines.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!((&line["method"], &line["url"]), (&json!("POST"), &json!("/v1/chat/completions")));
            (line["custom_id"].as_str().unwrap().to_owned(), line["body"].clone())
        });
        let lines = lines.collect();
        let name = body["metadata"]["regatta_batch"].as_str().map(str::to_owned);
        let handed = inner.take(name, lines);
        (describe(&inner, &handed), inner.creation_answers.take())
    };
    shared.pass(Place::Creation).await;
    answer_creation(batch, lie)
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

fn describe(inner: &Inner, handed: &Handed) -> Value {
    let ending = inner.ending_of(handed);
    let status = match ending {
        _ if handed.cancelled => "cancelled",
        Ending::Running => "in_progress",
        Ending::Completed => "completed",
        Ending::Expired => "expired",
        Ending::Refused(_) => "failed",
    };
    let errors = match ending {
        Ending::Refused(code) => {
            json!({"object": "list", "data": [{"code": code, "message": "It is no good.", "line": 1}]})
        }
        _ => json!(null),
    };
    let is_over = matches!(ending, Ending::Completed | Ending::Expired);
    let file = |name: &str| if is_over { json!(format!("{name}-{}", handed.id)) } else { json!(null) };
    let created = handed.created_at.as_second();
    json!({
        "id": handed.id, "object": "batch", "endpoint": "/v1/chat/completions", "status": status, "errors": errors,
        "output_file_id": file("out"), "error_file_id": file("err"), "created_at": created,
        "completed_at": if is_over { json!(created + 60) } else { json!(null) },
        "request_counts": {"total": handed.lines.len(), "completed": 0, "failed": 0},
        "metadata": handed.name.as_ref().map(|name| json!({"regatta_batch": name}))
    })
}

async fn list(State(shared): Ours) -> Response {
    let inner = shared.inner.lock().unwrap();
    let data: Vec<Value> = inner.batches.iter().rev().map(|handed| describe(&inner, handed)).collect();
    axum::Json(json!({"object": "list", "data": data, "has_more": false})).into_response()
}

async fn look(State(shared): Ours, Path(id): Path<String>) -> Response {
    let batch = {
        let inner = shared.inner.lock().unwrap();
        let Some(handed) = inner.find(&id) else { return refusal(404, "There is no such batch.") };
        describe(&inner, &handed)
    };
    shared.pass(Place::Look).await;
    axum::Json(batch).into_response()
}

async fn cancel(State(shared): Ours, Path(id): Path<String>) -> Response {
    let mut inner = shared.inner.lock().unwrap();
    inner.batches.iter_mut().filter(|batch| batch.id == id).for_each(|batch| batch.cancelled = true);
    axum::Json(json!({"id": id})).into_response()
}

async fn content(State(shared): Ours, Path(id): Path<String>) -> Response {
    shared.pass(Place::Results).await;
    let (kind, batch) = id.split_once('-').unwrap();
    let inner = shared.inner.lock().unwrap();
    // Results come in any order.
    let lines = inner.find(batch).unwrap().lines.into_iter().rev().filter_map(|(custom_id, body)| {
        let (response, error) = match (inner.script)(&custom_id, &body) {
            Line::Says(text) => (openai_answer(&body, text), json!(null)),
            Line::Fails(status, message) => {
                (json!({"status_code": status, "request_id": "req", "body": failure(status, message)}), json!(null))
            }
            Line::Expires => (json!(null), json!({"code": "batch_expired", "message": "It was not reached in time."})),
            Line::IsLost => return None,
        };
        let is_output = response["status_code"] == json!(200);
        let line = json!({"id": "r", "custom_id": custom_id, "response": response, "error": error});
        (is_output == (kind == "out")).then_some(line)
    });
    jsonl(lines.collect()).into_response()
}

fn openai_answer(body: &Value, text: &str) -> Value {
    json!({
        "status_code": 200, "request_id": "req-1",
        "body": {
            "id": "chatcmpl-1", "object": "chat.completion", "model": body["model"],
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        }
    })
}

// Anthropic's format.

async fn create_messages(State(shared): Ours, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let lines = body["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|request| (request["custom_id"].as_str().unwrap().to_owned(), request["params"].clone()));
    let (batch, lie) = {
        let mut inner = shared.inner.lock().unwrap();
        let handed = inner.take(None, lines.collect());
        (describe_messages(&inner, &handed), inner.creation_answers.take())
    };
    shared.pass(Place::Creation).await;
    answer_creation(batch, lie)
}

fn describe_messages(inner: &Inner, handed: &Handed) -> Value {
    let is_over = inner.ending_of(handed) != Ending::Running;
    let (processing, succeeded) = if is_over { (0, handed.lines.len()) } else { (handed.lines.len(), 0) };
    json!({
        "id": handed.id, "type": "message_batch", "processing_status": if is_over { "ended" } else { "in_progress" },
        "request_counts": {"processing": processing, "succeeded": succeeded, "errored": 0, "canceled": 0, "expired": 0},
        "created_at": handed.created_at.to_string(),
        "ended_at": if is_over { json!((handed.created_at + jiff::SignedDuration::from_secs(60)).to_string()) } else { json!(null) }
    })
}

async fn list_messages(State(shared): Ours, Query(query): Query<BTreeMap<String, String>>) -> Response {
    let inner = shared.inner.lock().unwrap();
    let all: Vec<Value> = inner.batches.iter().rev().map(|handed| describe_messages(&inner, handed)).collect();
    // One a page, so that pages are turned.
    let start =
        query.get("after_id").map_or(0, |after| all.iter().position(|batch| batch["id"] == **after).unwrap() + 1);
    let data: Vec<Value> = all.iter().skip(start).take(1).cloned().collect();
    let last = data.last().map(|batch| batch["id"].clone());
    axum::Json(json!({"data": data, "has_more": start + 1 < all.len(), "last_id": last})).into_response()
}

async fn look_messages(State(shared): Ours, Path(id): Path<String>) -> Response {
    let batch = {
        let inner = shared.inner.lock().unwrap();
        describe_messages(&inner, &inner.find(&id).unwrap())
    };
    shared.pass(Place::Look).await;
    axum::Json(batch).into_response()
}

async fn results(State(shared): Ours, Path(id): Path<String>) -> Response {
    shared.pass(Place::Results).await;
    let inner = shared.inner.lock().unwrap();
    let lines = inner.find(&id).unwrap().lines.into_iter().rev().filter_map(|(custom_id, body)| {
        let result = match (inner.script)(&custom_id, &body) {
            Line::Says(text) => json!({"type": "succeeded", "message": {
                "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "stop_reason": "end_turn",
                "stop_sequence": null, "content": [{"type": "text", "text": text}],
                "usage": {"input_tokens": 100, "output_tokens": 10}
            }}),
            Line::Fails(status, message) => json!({"type": "errored", "error": failure(status, message)}),
            Line::Expires => json!({"type": "expired"}),
            Line::IsLost => return None,
        };
        Some(json!({"custom_id": custom_id, "result": result}))
    });
    jsonl(lines.collect()).into_response()
}
