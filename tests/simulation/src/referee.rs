//! The endpoint of a history, and its books.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::FutureExt;
use futures::future::{BoxFuture, poll_fn};
use hyper::body::Body as _;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use regatta_llm::{Network, NoAnswer};
use regatta_proto::Money;
use regatta_simulator::InProcess;
use reqwest::{Request, Response};
use tokio::time::Instant;

use crate::batches::{self, BatchBooks, BatchLine, Part};
use crate::excuses::{Paid, unexplained};
use crate::life::Life;
use crate::plan::Plan;

/// Most times that one request is turned away. A call gives up after eight, rightly, and then the sweep is incomplete.
const TURNED_AWAY_MAX: u32 = 6;

/// Time for which a process keeps its slots that stands still: ten seconds since it last asked for them, which it does every three.
const SLOTS_KEPT: Duration = Duration::from_secs(5);
/// Time that a process which goes on takes to tell of its calls, and all others to hear that their slots are filled.
const TOLD_AGAIN: Duration = Duration::from_secs(6);

/// The model whose similarities are free.
pub(crate) const FREE: &str = "lexical";

/// Identity of a call: its session and its request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    /// Benchmark, setting, item and trial, as the headers of the request have them.
    pub(crate) session: [String; 4],
    /// The model under test.
    pub(crate) model: String,
    /// The body.
    pub(crate) body: String,
}

/// A call to a model.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) identity: Identity,
    /// The process that made it.
    pub(crate) caller: Caller,
    /// When it came, in milliseconds since the start.
    pub(crate) at_ms: u128,
    /// When it was answered, in milliseconds since the start; `None` while it is under way.
    pub(crate) answered_ms: Option<u128>,
    /// True if it was answered with a success, which costs.
    pub(crate) is_paid: bool,
    /// The line of a batch that it is, if it is one. It counts as paid until the batch is over.
    pub(crate) line: Option<BatchLine>,
}

/// A process in one of its lives.
pub(crate) type Caller = (usize, u64);

/// Keeps the books: of every call that sessions make who made it and when, and of all calls, those of judges too, what is billed and how
/// many are under way.
pub(crate) struct Referee {
    endpoint: InProcess,
    begun: Instant,
    answers_ms: u64,
    silent_ms: u64,
    refused: f64,
    dropped: f64,
    books: Mutex<Books>,
}

struct Books {
    rng: ChaCha8Rng,
    /// Number of times that requests were turned away, by the hash of their bodies.
    turned_away: BTreeMap<u64, u32>,
    calls: Vec<Call>,
    /// Calls by their positions that may be made once more each from a moment on, in milliseconds since the start, because the process that made them
    /// was lost before it had told anybody.
    lost: BTreeMap<usize, u128>,
    /// Calls that are under way by their numbers, each with who waits for its answer and when it began.
    under_way: BTreeMap<u64, (Caller, Instant)>,
    begun: u64,
    /// Processes that stood still, each from and until.
    standstills: Vec<(Caller, Instant, Instant)>,
    most_under_way: usize,
    billed: Money,
    batches: BatchBooks,
}

impl Books {
    /// A call begins; returns its number.
    fn begins(&mut self, caller: Caller) -> u64 {
        let now = Instant::now();
        self.begun += 1;
        self.under_way.insert(self.begun, (caller, now));
        let held = self.under_way.values().filter(|(caller, begun)| !self.is_left(*caller, *begun, now)).count();
        self.most_under_way = self.most_under_way.max(held);
        self.begun
    }

    /// `true` if the call's slot may have been given to others, because its process stands still since, and nobody can know that the call is
    /// under way.
    fn is_left(&self, caller: Caller, begun: Instant, now: Instant) -> bool {
        self.standstills.iter().any(|(stopped, since, until)| {
            *stopped == caller && begun <= *since && *since + SLOTS_KEPT <= now && now < *until + TOLD_AGAIN
        })
    }
}

impl Referee {
    pub(crate) fn new(endpoint: InProcess, plan: &Plan, begun: Instant) -> Arc<Self> {
        let rng = ChaCha8Rng::seed_from_u64(plan.seed);
        let books = Mutex::new(Books {
            rng,
            turned_away: BTreeMap::new(),
            calls: Vec::new(),
            lost: BTreeMap::new(),
            under_way: BTreeMap::new(),
            begun: 0,
            standstills: Vec::new(),
            most_under_way: 0,
            billed: Money::ZERO,
            batches: BatchBooks::default(),
        });
        let Plan { answers_ms, silent_ms, refused, dropped, .. } = *plan;
        Arc::new(Self { endpoint, begun, answers_ms, silent_ms, refused, dropped, books })
    }

    /// Draws the latency and the fate of the answer to `request`.
    fn draw(&self, request: &Request) -> (Duration, Fate) {
        let books = &mut *self.locked();
        let latency = Duration::from_millis(books.rng.random_range(50..self.answers_ms));
        let latency = latency.max(Duration::from_millis(self.silent_ms).saturating_sub(self.begun.elapsed()));
        let mut hasher = DefaultHasher::new();
        request.body().and_then(|body| body.as_bytes()).hash(&mut hasher);
        let turned_away = books.turned_away.entry(hasher.finish()).or_default();
        let fate = match books.rng.random_range(0.0..1.0) {
            _ if *turned_away == TURNED_AWAY_MAX => Fate::Answered,
            lot if lot < self.refused => Fate::Refused,
            lot if lot < self.refused + self.dropped => Fate::Dropped,
            _ => Fate::Answered,
        };
        *turned_away += u32::from(fate != Fate::Answered);
        (latency, fate)
    }

    /// The calls of `caller` for which `is_lost` holds are lost now: each may be made once more. Of those that were lost before, that is nothing new; nor
    /// of those that failed.
    pub(crate) fn lose(&self, caller: Caller, is_lost: impl Fn(&Call) -> bool) -> BTreeSet<Identity> {
        let (mut books, now_ms) = (self.locked(), self.begun.elapsed().as_millis());
        let may_cost = |call: &Call| call.is_paid || call.answered_ms.is_none();
        let calls = books.calls.iter().enumerate();
        let lost: Vec<(usize, Identity)> = calls
            .filter(|(_, call)| call.caller == caller && may_cost(call) && is_lost(call))
            .map(|(position, call)| (position, call.identity.clone()))
            .collect();
        for (position, _) in &lost {
            books.lost.entry(*position).or_insert(now_ms);
        }
        lost.into_iter().map(|(_, identity)| identity).collect()
    }

    /// Nobody waits any more for the calls of `caller`.
    pub(crate) fn has_died(&self, caller: Caller) {
        self.locked().under_way.retain(|_, (waits, _)| *waits != caller);
    }

    /// `caller` stands still from `since` until `until`, and its calls stay with the endpoint.
    pub(crate) fn stands_still(&self, caller: Caller, (since, until): (Instant, Instant)) {
        self.locked().standstills.push((caller, since, until));
    }

    /// Largest number of calls that were under way when one began, without those that were left by processes that stood still.
    pub(crate) fn most_under_way(&self) -> usize {
        self.locked().most_under_way
    }

    /// Sum of what all answers cost, whoever got them. All batches must be over.
    pub(crate) async fn billed(&self) -> Money {
        let made = self.locked().batches.made();
        let mut billed = self.locked().billed;
        for id in made {
            billed += batches::answered(&self.endpoint, &id).await.into_values().sum::<Money>();
        }
        billed
    }

    /// Lines that failed are not paid. All batches must be over.
    pub(crate) async fn settle_batches(&self) {
        let made = self.locked().batches.made();
        for batch in made {
            let answered = batches::answered(&self.endpoint, &batch).await;
            for call in &mut self.locked().calls {
                if let Some(line) = call.line.as_ref().filter(|line| line.batch == batch) {
                    call.is_paid = answered.contains_key(&line.custom_id);
                }
            }
        }
    }

    /// All calls so far, in the order in which they came.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.locked().calls.clone()
    }

    /// Number of times that each call was paid, without those that lost ones explain.
    pub(crate) fn paid(&self) -> BTreeMap<Identity, u64> {
        let books = self.locked();
        let mut paid: BTreeMap<&Identity, Vec<Paid>> = BTreeMap::new();
        for (position, call) in books.calls.iter().enumerate().filter(|(_, call)| call.is_paid) {
            let lost_ms = books.lost.get(&position).copied();
            paid.entry(&call.identity).or_default().push(Paid { at_ms: call.at_ms, lost_ms });
        }
        paid.into_iter().map(|(identity, calls)| (identity.clone(), unexplained(calls))).collect()
    }

    fn locked(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fate of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    /// It is refused as one too many.
    Refused,
    /// The connection breaks before anything is computed.
    Dropped,
}

/// A call that is under way, until it is answered or whoever waits for it gives up.
struct UnderWay<'a> {
    referee: &'a Referee,
    number: u64,
}

impl<'a> UnderWay<'a> {
    fn begin(referee: &'a Referee, caller: Caller) -> Self {
        let number = referee.locked().begins(caller);
        Self { referee, number }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        // Of a process that has died it is gone already.
        self.referee.locked().under_way.remove(&self.number);
    }
}

/// The way of one process to the endpoint.
pub(crate) struct Line {
    pub(crate) referee: Arc<Referee>,
    pub(crate) life: Arc<Life>,
    pub(crate) process: Caller,
}

impl Network for Line {
    fn answer(&self, request: Request) -> BoxFuture<'_, Result<Response, NoAnswer>> {
        async move {
            self.life.go_on().await;
            if let Some(part) = Part::of(&request) {
                return self.answer_about_batches(part, request).await;
            }
            let model = model(&request);
            let call = identity(&request, model.as_deref()).map(|identity| {
                let mut books = self.referee.locked();
                let at_ms = self.referee.begun.elapsed().as_millis();
                books.calls.push(Call {
                    identity,
                    caller: self.process,
                    at_ms,
                    answered_ms: None,
                    is_paid: false,
                    line: None,
                });
                books.calls.len() - 1
            });
            let (latency, fate) = self.referee.draw(&request);
            let request = hyper::Request::try_from(request).map_err(|_| NoAnswer::Unreached)?;
            if fate == Fate::Refused {
                if let Some(call) = call {
                    let mut books = self.referee.locked();
                    books.calls[call].answered_ms = Some(books.calls[call].at_ms);
                }
                return Ok(refusal());
            }
            let under_way = UnderWay::begin(&self.referee, self.process);
            tokio::time::sleep(latency).await;
            let answer = match fate {
                Fate::Answered => Some(self.referee.endpoint.answer(request).await),
                Fate::Refused | Fate::Dropped => None,
            };
            {
                drop(under_way);
                let mut books = self.referee.locked();
                if let Some(call) = call {
                    books.calls[call].answered_ms = Some(self.referee.begun.elapsed().as_millis());
                    books.calls[call].is_paid = matches!(&answer, Some(Ok(answer)) if answer.status().is_success());
                }
                if let Some(Ok(answer)) = &answer {
                    books.billed += bill(model.as_deref(), answer);
                }
            }
            let Some(answer) = answer else { return Err(NoAnswer::Lost) };
            self.life.go_on().await;
            Ok(Response::from(answer.map_err(|_| NoAnswer::Lost)?))
        }
        .boxed()
    }
}

impl Line {
    /// An answer of the API of batches. It is on its way for half of its time: whoever is killed meanwhile has a batch that it does not know.
    async fn answer_about_batches(&self, part: Part, request: Request) -> Result<Response, NoAnswer> {
        let (latency, fate) = self.referee.draw(&request);
        if fate == Fate::Refused {
            return Ok(refusal());
        }
        tokio::time::sleep(latency / 2).await;
        let (head, body) = hyper::Request::try_from(request).map_err(|_| NoAnswer::Unreached)?.into_parts();
        let asked = whole(body).await;
        let request = hyper::Request::from_parts(head, reqwest::Body::from(asked.clone()));
        let answer = self.referee.endpoint.answer(request).await.map_err(|_| NoAnswer::Lost)?;
        if answer.status().is_success() {
            let (mut books, at_ms) = (self.referee.locked(), self.referee.begun.elapsed().as_millis());
            for (line, identity) in books.batches.note(part, &asked, answer.body()) {
                let (caller, answered_ms, line) = (self.process, Some(at_ms), Some(line));
                books.calls.push(Call { identity, caller, at_ms, answered_ms, is_paid: true, line });
            }
        }
        tokio::time::sleep(latency / 2).await;
        // It is done, and nobody hears of it.
        if fate == Fate::Dropped {
            return Err(NoAnswer::Lost);
        }
        self.life.go_on().await;
        Ok(Response::from(answer))
    }
}

/// All bytes of a body, which may come in pieces.
async fn whole(body: reqwest::Body) -> Bytes {
    let (mut body, mut whole) = (pin!(body), BytesMut::new());
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        if let Ok(data) = frame.expect("it is in memory").into_data() {
            whole.extend_from_slice(&data);
        }
    }
    whole.freeze()
}

fn refusal() -> Response {
    let body = r#"{"error": {"message": "too many requests", "type": "rate_limit_error"}}"#;
    let mut response = hyper::Response::new(body);
    *response.status_mut() = hyper::StatusCode::TOO_MANY_REQUESTS;
    Response::from(response)
}

/// Cost of an answer at the prices of the specs: a dollar a million tokens of input, and ten of output; similarities are free.
fn bill(model: Option<&str>, answer: &hyper::Response<Bytes>) -> Money {
    if model == Some(FREE) || !answer.status().is_success() {
        return Money::ZERO;
    }
    let body: serde_json::Value = serde_json::from_slice(answer.body()).expect("every answer is JSON");
    let tokens = |name: &str| body["usage"][name].as_u64().expect("every answer says what it is billed for");
    Money(tokens("prompt_tokens") * 1_000 + tokens("completion_tokens") * 10_000)
}

fn model(request: &Request) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(request.body()?.as_bytes()?).ok()?;
    Some(body["model"].as_str()?.to_owned())
}

/// Identity of a session's call; `None` for others.
fn identity(request: &Request, model: Option<&str>) -> Option<Identity> {
    let header = |name: &str| request.headers().get(name)?.to_str().ok().map(str::to_owned);
    let session = [
        header("x-regatta-benchmark")?,
        header("x-regatta-setting")?,
        header("x-regatta-item")?,
        header("x-regatta-trial")?,
    ];
    let body = String::from_utf8_lossy(request.body()?.as_bytes()?).into_owned();
    Some(Identity { session, model: model?.to_owned(), body })
}
