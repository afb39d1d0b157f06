//! An endpoint with books of its own: a call is billed when it has been read, whether or not anybody still waits for the answer.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::HarnessError;
use crate::http::{self, Request};

/// Longest wait for calls.
const PATIENCE: Duration = Duration::from_secs(300);
/// Tokens that each call is billed for: of its prompt, and of its answer.
const TOKENS: (u64, u64) = (100, 50);

/// Dollars a million tokens, of prompts and of answers, in the specs that it is in.
const PRICE: (u64, u64) = (1, 2);
/// Calls that it takes at once, in the specs that it is in.
pub const CONCURRENCY: u64 = 8;
/// Most nano-dollars of one of its calls, by the specs that it is in: what they generate at most, and a prompt of less than 200 bytes.
pub const WORST_CASE: u64 = 1_000_000;

/// Answer to a request for its models.
const MODELS: &str = r#"{ "object": "list", "data": [{ "id": "m", "object": "model" }] }"#;

/// Each turn is a call; `{turns}` stands for them.
const BENCHMARK: &str = "v: 1
data: { test: test.jsonl }
prompt:
  turns: [{turns}]
  sampling: { temperature: 0, max_tokens: 400 }
scorers: { right: { exact: { gold: \"{{ answer }}\" } } }
metrics: { accuracy: { mean: right, unit: percent } }
simulate: { reply: \"{{ answer }}\" }
";

/// A chat endpoint in OpenAI's format on loopback. It answers as many calls as it was told to, and lets the others wait; one question gets
/// one answer, however often it is asked. Dropping it closes it.
#[derive(Debug)]
pub struct Referee {
    address: SocketAddr,
    books: Arc<Books>,
    answers: watch::Sender<u64>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Books {
    /// Calls read so far.
    read: watch::Sender<u64>,
    answered: AtomicU64,
    at_once: Mutex<AtOnce>,
    /// When the last call was read.
    last_read: Mutex<Option<Instant>>,
    /// Milliseconds that each call takes.
    latency_ms: AtomicU64,
    /// Times that each request was read, by its body.
    requests: Mutex<BTreeMap<Vec<u8>, u64>>,
}

/// Calls that were read and not answered yet.
#[derive(Debug, Clone, Copy, Default)]
struct AtOnce {
    now: u64,
    most: u64,
}

/// A call that is at work, until it is dropped.
struct Working<'b>(&'b Books);

impl<'b> Working<'b> {
    fn begin(books: &'b Books) -> Self {
        let mut at_once = books.at_once();
        at_once.now += 1;
        at_once.most = at_once.most.max(at_once.now);
        drop(at_once);
        Self(books)
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.at_once().now -= 1;
    }
}

impl Books {
    fn at_once(&self) -> MutexGuard<'_, AtOnce> {
        self.at_once.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn requests(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, u64>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Referee {
    /// An endpoint that answers the first `answers` calls, each after `latency`.
    ///
    /// # Errors
    /// When it cannot listen on loopback.
    pub async fn start(answers: u64, latency: Duration) -> Result<Self, HarnessError> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(HarnessError::io("listen on 127.0.0.1"))?;
        let address = listener.local_addr().map_err(HarnessError::io("listen on 127.0.0.1"))?;
        let books = Arc::new(Books {
            read: watch::Sender::new(0),
            answered: AtomicU64::new(0),
            at_once: Mutex::default(),
            last_read: Mutex::default(),
            latency_ms: AtomicU64::new(latency.as_millis() as u64),
            requests: Mutex::default(),
        });
        let answers = watch::Sender::new(answers);
        let accepting = tokio::spawn({
            let (books, answers) = (Arc::clone(&books), answers.clone());
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let (books, answers) = (Arc::clone(&books), answers.subscribe());
                    tokio::spawn(async move {
                        // A client that goes away has been billed.
                        let _ = serve(stream, &books, answers).await;
                    });
                }
            }
        });
        Ok(Self { address, books, answers, accepting })
    }

    /// Writes a spec of that many sessions of one call, and its benchmark, which needs no judge, into `folder`; `more` is put first.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn spec(&self, folder: &Path, name: &str, sessions: u64, more: &str) -> Result<PathBuf, HarnessError> {
        self.conversations(folder, name, (sessions, 1), more)
    }

    /// The same of `sessions` sessions of `calls` calls each, one after the other. No two requests of them are alike.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn conversations(
        &self,
        folder: &Path,
        name: &str,
        (sessions, calls): (u64, u64),
        more: &str,
    ) -> Result<PathBuf, HarnessError> {
        let turns: Vec<String> =
            (1..calls).map(|turn| format!("user: \"Turn {turn} of {{{{ question }}}}\"")).collect();
        let turns = [turns, vec!["user: \"{{ question }}\"".to_owned()]].concat().join(", ");
        let data = folder.join(format!("{name}-data"));
        let questions = (0..sessions).map(|at| format!("{{\"question\": \"question {at}?\", \"answer\": \"yes\"}}\n"));
        let text = format!(
            "{more}name: {name}\nbenchmarks: {{ questions: {{ data: {} }} }}\n{}",
            data.display(),
            self.endpoint()
        );
        let path = folder.join(format!("{name}.yaml"));
        let files = [
            (data.join("benchmark.yaml"), BENCHMARK.replace("{turns}", &turns)),
            (data.join("test.jsonl"), questions.collect()),
            (path.clone(), text),
        ];
        std::fs::create_dir(&data).map_err(HarnessError::io("write a spec"))?;
        for (path, content) in files {
            std::fs::write(path, content).map_err(HarnessError::io("write a spec"))?;
        }
        Ok(path)
    }

    /// The lines of a spec that name this endpoint, and the model there.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!(
            "endpoints:\n  main: {{ kind: openai, base_url: 'http://{}/v1', api_key_env: none, stream: false, limits: {{ concurrency: \
             {CONCURRENCY} }} }}\nmodels:\n  - {{ id: main/m, price: {{ input_per_mtok: {}, output_per_mtok: {} }} }}\n",
            self.address, PRICE.0, PRICE.1
        )
    }

    /// Calls billed so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        *self.books.read.borrow()
    }

    /// Time since the last call that was billed; `None` before the first.
    #[must_use]
    pub fn idle(&self) -> Option<Duration> {
        self.books.last_read.lock().unwrap_or_else(PoisonError::into_inner).map(|at| at.elapsed())
    }

    /// Most calls that it had at once so far.
    #[must_use]
    pub fn most_at_once(&self) -> u64 {
        self.books.at_once().most
    }

    /// Calls so far whose request had been read before: who pays for these pays twice.
    #[must_use]
    pub fn repeated(&self) -> u64 {
        self.books.requests().values().map(|times| times - 1).sum()
    }

    /// Forgets all calls so far, none of which may be under way; from now on each is answered after `latency`.
    pub fn begin_new_books(&self, latency: Duration) {
        self.books.requests().clear();
        self.books.read.send_replace(0);
        self.books.answered.store(0, Ordering::SeqCst);
        *self.books.at_once() = AtOnce::default();
        self.answer_after(latency);
    }

    /// Nano-dollars of all calls so far.
    #[must_use]
    pub fn billed(&self) -> u64 {
        // A dollar a million tokens is a thousand nano-dollars a token.
        self.calls() * (TOKENS.0 * PRICE.0 + TOKENS.1 * PRICE.1) * 1_000
    }

    /// From now on each call is answered after `latency`.
    pub fn answer_after(&self, latency: Duration) {
        self.books.latency_ms.store(latency.as_millis() as u64, Ordering::SeqCst);
    }

    /// Waits until so many calls have been billed.
    ///
    /// # Panics
    /// When that takes longer than any test should, because nobody makes that many.
    pub async fn has_read(&self, calls: u64) {
        let mut read = self.books.read.subscribe();
        let billed = tokio::time::timeout(PATIENCE, read.wait_for(|read| *read >= calls)).await;
        assert!(billed.is_ok(), "waited {} s for call {calls}, and {} were made", PATIENCE.as_secs(), self.calls());
    }

    /// Answers all calls that wait or come.
    pub fn answer_all(&self) {
        self.answer(u64::MAX);
    }

    /// Answers the first `calls` calls, and lets the others wait.
    pub fn answer(&self, calls: u64) {
        self.answers.send_replace(calls);
    }
}

impl Drop for Referee {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Answer to a request: right for about half of them.
fn answer(request: &[u8]) -> &'static str {
    let mut hasher = DefaultHasher::new();
    request.hash(&mut hasher);
    if hasher.finish().is_multiple_of(2) { "yes" } else { "no" }
}

async fn serve(stream: TcpStream, books: &Books, mut answers: watch::Receiver<u64>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(Request { head, body: request }) = Request::read(&mut stream).await? {
        if head.starts_with("GET ") {
            // Its list of models costs nothing.
            stream.write_all(&http::answer("200 OK", "application/json", MODELS)).await?;
            continue;
        }
        let (word, working) = (answer(&request), Working::begin(books));
        *books.requests().entry(request).or_default() += 1;
        *books.last_read.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        books.read.send_modify(|read| *read += 1);
        let place = books.answered.fetch_add(1, Ordering::SeqCst);
        if answers.wait_for(|answers| place < *answers).await.is_err() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(books.latency_ms.load(Ordering::SeqCst))).await;
        let body = serde_json::json!({
            "id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": word } }],
            "usage": { "prompt_tokens": TOKENS.0, "completion_tokens": TOKENS.1, "total_tokens": TOKENS.0 + TOKENS.1 },
        })
        .to_string();
        // Whoever has the answer may call again before this goes on.
        drop(working);
        stream.write_all(&http::answer("200 OK", "application/json", &body)).await?;
    }
    Ok(())
}
