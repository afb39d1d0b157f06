//! A bridge, a session that does as it is told, and clients.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use regatta_benchmarks::{ToolAnswer, ToolRequest};
use regatta_bridge::{Answered, Bridge, BridgedSession, OpenSession, Refused};
use regatta_proto::{ChatRequest, Reply, Usage};
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};

/// Answers each call once the gate lets it: with what it is set to, or the text of the last message.
pub(crate) struct Session {
    /// One permit lets one call end.
    pub(crate) gate: Semaphore,
    pub(crate) answer: Mutex<Option<Result<Reply, Refused>>>,
    pub(crate) asked: Mutex<Vec<(String, ChatRequest)>>,
    pub(crate) served: Mutex<Vec<ToolRequest>>,
    /// Messages of requests that could not be carried.
    pub(crate) unreadable: Mutex<Vec<String>>,
    begun: mpsc::UnboundedSender<()>,
    ended: mpsc::UnboundedSender<()>,
}

/// Tells when calls of a session begin and end.
pub(crate) struct Watch {
    begun: mpsc::UnboundedReceiver<()>,
    ended: mpsc::UnboundedReceiver<()>,
}

impl Watch {
    pub(crate) async fn begun(&mut self) {
        self.begun.recv().await.unwrap();
    }

    pub(crate) async fn ended(&mut self) {
        self.ended.recv().await.unwrap();
    }
}

impl Session {
    /// A session that answers calls at once.
    pub(crate) fn open() -> Arc<Self> {
        Self::with(Semaphore::MAX_PERMITS).0
    }

    /// A session that holds each call until its gate gets a permit, with a watch over its calls.
    pub(crate) fn gated() -> (Arc<Self>, Watch) {
        Self::with(0)
    }

    fn with(permits: usize) -> (Arc<Self>, Watch) {
        let (begun, is_begun) = mpsc::unbounded_channel();
        let (ended, is_ended) = mpsc::unbounded_channel();
        let session = Self {
            gate: Semaphore::new(permits),
            answer: Mutex::default(),
            asked: Mutex::default(),
            served: Mutex::default(),
            unreadable: Mutex::default(),
            begun,
            ended,
        };
        (Arc::new(session), Watch { begun: is_begun, ended: is_ended })
    }

    pub(crate) fn answering(answer: Result<Reply, Refused>) -> Arc<Self> {
        let session = Self::open();
        *session.answer.lock().unwrap() = Some(answer);
        session
    }

    /// Number of calls that were made.
    pub(crate) fn calls(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl BridgedSession for Session {
    fn call(&self, request: ChatRequest, model: &str) -> BoxFuture<'_, Result<Answered, Refused>> {
        let number = {
            let mut asked = self.asked.lock().unwrap();
            asked.push((model.to_owned(), request.clone()));
            asked.len()
        };
        Box::pin(async move {
            let _ = self.begun.send(());
            self.gate.acquire().await.unwrap().forget();
            let told = self.answer.lock().unwrap().clone();
            let said = || Ok(Reply::said(format!("{} ({number})", request.messages.last().unwrap().content)));
            let usage = Usage { input: 10, cached_input: 4, output: 5, reasoning: 2, ..Usage::default() };
            let answered = told.unwrap_or_else(said).map(|reply| Answered { reply, usage, model: "served".to_owned() });
            let _ = self.ended.send(());
            answered
        })
    }

    fn serve(&self, request: ToolRequest) -> ToolAnswer {
        self.served.lock().unwrap().push(request.clone());
        let status = if request.url.contains("missing") { 404 } else { 200 };
        let body = format!("{} {} {:?}", request.method, request.url, request.body.map(String::from_utf8)).into_bytes();
        ToolAnswer { status, content_type: "text/html; charset=utf-8", allow: Some("GET, POST"), body }
    }

    fn unreadable(&self, message: &str) {
        self.unreadable.lock().unwrap().push(message.to_owned());
    }

    fn models(&self) -> Vec<String> {
        vec!["agent".to_owned()]
    }
}

pub(crate) async fn bridge() -> Bridge {
    Bridge::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), regatta_memory::ByteBudget::default()).await.unwrap()
}

pub(crate) fn client() -> Client {
    // Another test may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

/// A bridge with one session that is open.
pub(crate) struct Harness {
    pub(crate) bridge: Bridge,
    pub(crate) open: OpenSession,
    pub(crate) client: Client,
}

impl Harness {
    pub(crate) async fn of(session: Arc<Session>) -> Self {
        let bridge = bridge().await;
        let open = bridge.open(session);
        Self { bridge, open, client: client() }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.open.base_url())
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        self.client.post(self.url(path)).json(body).send().await.unwrap()
    }
}

/// A chat request that says `text`.
pub(crate) fn chat(text: &str) -> Value {
    json!({"model": "agent", "messages": [{"role": "user", "content": text}]})
}

/// Text of a chat completion.
pub(crate) fn said(answer: &Value) -> &str {
    answer["choices"][0]["message"]["content"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// A connection that is open until it is dropped, on which `body` was posted.
pub(crate) async fn posted(open: &OpenSession, path: &str, headers: &str, body: &Value) -> TcpStream {
    let url = open.base_url().strip_prefix("http://").unwrap();
    let (address, session) = url.split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let body = body.to_string();
    let head =
        format!("POST /{session}{path} HTTP/1.1\r\nhost: {address}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    stream
}

/// The JSON that a connection answers.
pub(crate) async fn received(stream: &mut TcpStream) -> Value {
    let mut bytes = Vec::new();
    loop {
        let mut more = [0; 4096];
        let read = stream.read(&mut more).await.unwrap();
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&more[..read]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(json) = serde_json::from_str(body)
        {
            return json;
        }
    }
}
