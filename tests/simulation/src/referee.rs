//! The endpoint of a history, and its books.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use regatta_llm::{Network, NoAnswer};
use regatta_simulator::InProcess;
use reqwest::{Request, Response};
use tokio::time::Instant;

use crate::life::Life;
use crate::plan::Plan;

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
    /// Number of the process that made it.
    pub(crate) process: usize,
    /// When it came, in milliseconds since the start.
    pub(crate) at_ms: u128,
    /// True if it was answered with a success, which costs.
    pub(crate) is_paid: bool,
}

/// Keeps the books of every call that sessions make; calls for judgements are not among them.
pub(crate) struct Referee {
    endpoint: InProcess,
    begun: Instant,
    refused: f64,
    dropped: f64,
    books: Mutex<Books>,
}

struct Books {
    rng: ChaCha8Rng,
    calls: Vec<Call>,
    /// Calls that may be made once more each, because a process that made them was lost before it had told anybody.
    excused: BTreeMap<Identity, u64>,
}

impl Referee {
    pub(crate) fn new(endpoint: InProcess, plan: &Plan, begun: Instant) -> Arc<Self> {
        let rng = ChaCha8Rng::seed_from_u64(plan.seed);
        let books = Mutex::new(Books { rng, calls: Vec::new(), excused: BTreeMap::new() });
        Arc::new(Self { endpoint, begun, refused: plan.refused, dropped: plan.dropped, books })
    }

    /// Draws the latency and the fate of the next answer.
    fn draw(&self) -> (Duration, Fate) {
        let rng = &mut self.locked().rng;
        let latency = Duration::from_millis(rng.random_range(50..4000));
        let fate = match rng.random_range(0.0..1.0) {
            lot if lot < self.refused => Fate::Refused,
            lot if lot < self.refused + self.dropped => Fate::Dropped,
            _ => Fate::Answered,
        };
        (latency, fate)
    }

    /// Excuses one repetition of each call of `process` for which `is_lost` holds.
    pub(crate) fn excuse(&self, process: usize, is_lost: impl Fn(&Identity) -> bool) {
        let mut books = self.locked();
        let lost: Vec<_> =
            books.calls.iter().filter(|call| call.process == process && is_lost(&call.identity)).cloned().collect();
        for call in lost {
            *books.excused.entry(call.identity).or_default() += 1;
        }
    }

    /// All calls so far, in the order in which they came.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.locked().calls.clone()
    }

    /// Calls that were paid more often than excused, with how often.
    pub(crate) fn repeated(&self) -> Vec<(Identity, u64)> {
        let books = self.locked();
        let mut paid: BTreeMap<&Identity, u64> = BTreeMap::new();
        for call in books.calls.iter().filter(|call| call.is_paid) {
            *paid.entry(&call.identity).or_default() += 1;
        }
        let excused = |identity: &Identity| books.excused.get(identity).copied().unwrap_or(0);
        let above = paid.into_iter().filter(|(identity, times)| *times > 1 + excused(identity));
        above.map(|(identity, times)| (identity.clone(), times)).collect()
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

/// The way of one process to the endpoint.
pub(crate) struct Line {
    pub(crate) referee: Arc<Referee>,
    pub(crate) life: Arc<Life>,
    pub(crate) process: usize,
}

impl Network for Line {
    fn answer(&self, request: Request) -> BoxFuture<'_, Result<Response, NoAnswer>> {
        async move {
            self.life.go_on().await;
            let call = identity(&request).map(|identity| {
                let mut books = self.referee.locked();
                let at_ms = self.referee.begun.elapsed().as_millis();
                books.calls.push(Call { identity, process: self.process, at_ms, is_paid: false });
                books.calls.len() - 1
            });
            let request = hyper::Request::try_from(request).map_err(|_| NoAnswer::Unreached)?;
            let (latency, fate) = self.referee.draw();
            if fate == Fate::Refused {
                return Ok(refusal());
            }
            tokio::time::sleep(latency).await;
            if fate == Fate::Dropped {
                return Err(NoAnswer::Lost);
            }
            let answer = self.referee.endpoint.answer(request).await;
            if let (Some(call), Ok(answer)) = (call, &answer) {
                self.referee.locked().calls[call].is_paid = answer.status().is_success();
            }
            self.life.go_on().await;
            Ok(Response::from(answer.map_err(|_| NoAnswer::Lost)?))
        }
        .boxed()
    }
}

fn refusal() -> Response {
    let body = r#"{"error": {"message": "too many requests", "type": "rate_limit_error"}}"#;
    let mut response = hyper::Response::new(body);
    *response.status_mut() = hyper::StatusCode::TOO_MANY_REQUESTS;
    Response::from(response)
}

/// Identity of a session's call; `None` for others.
fn identity(request: &Request) -> Option<Identity> {
    let header = |name: &str| request.headers().get(name)?.to_str().ok().map(str::to_owned);
    let session = [
        header("x-regatta-benchmark")?,
        header("x-regatta-setting")?,
        header("x-regatta-item")?,
        header("x-regatta-trial")?,
    ];
    let body = String::from_utf8_lossy(request.body()?.as_bytes()?).into_owned();
    let model = serde_json::from_str::<serde_json::Value>(&body).ok()?.get("model")?.as_str()?.to_owned();
    Some(Identity { session, model, body })
}
