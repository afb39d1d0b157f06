//! Requests of clients to the coordinator's API, of agents to the bridge, and of browsers to the pages.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use axum::body::{Body, to_bytes};
use axum::http::{HeaderValue, Method, Request, StatusCode, Uri};
use futures::FutureExt;
use futures::future::BoxFuture;
use prometheus::Registry;
use regatta_backends::{Blobs, Ledger, NewToken, Permits, Queue};
use regatta_benchmark_testing::miniature;
use regatta_benchmarks::{ToolAnswer, ToolRequest};
use regatta_bridge::{Answered, Bridge, BridgeSocket, BridgedSession, OpenSession, Refused};
use regatta_catalog::{Catalog, store_dataset};
use regatta_coordinator::{
    Access, ApiConfig, Coordinator, CoordinatorConfig, CoordinatorMetrics, GateError, GateJudgement, GateQuestion,
    Message, Messenger, NightGate, PriceBook, Scheduling, Submission, Submitted, router,
};
use regatta_memory::ByteBudget;
use regatta_proto::{
    ApiToken, ChatRequest, Clock, Digest, FileSet, ManualClock, PriceSource, Reply, Scope, Scopes, Usage, parse_spec,
};
use regatta_worfbench::WorfBench;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tower::ServiceExt as _;

use crate::answers::LOADED;
use crate::edits::edited;
use crate::input::Input;
use crate::pages;
use crate::runtime::block_on;

/// Stands for a name that inputs cannot know: the id of the sweep that is there, the path of the open session, or a token.
pub(crate) const NAME_MARK: u8 = 0x1d;
const OPERATOR: &str = "the operator's own token";
/// Longest answer that is looked at.
pub(crate) const ANSWER_BYTES_MAX: usize = 16 << 20;

pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    match input.byte() % 3 {
        0 => api(input),
        1 => bridge(input),
        _ => pages::run(input),
    }
}

/// Whoever sends a request to the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sender {
    /// With a credential that the input makes up.
    Stranger,
    /// With a token of this right.
    Owner(Scope),
    Operator,
}

const SENDERS: [Sender; 6] = [
    Sender::Operator,
    Sender::Operator,
    Sender::Owner(Scope::Submit),
    Sender::Owner(Scope::Read),
    Sender::Owner(Scope::Admin),
    Sender::Stranger,
];

/// Method and path of a route of the API, and a body that it accepts.
type Route = (&'static str, &'static str, fn() -> Value);

const ROUTES: [Route; 21] = [
    ("POST", "/v1/sweeps", || serde_json::to_value(&*SUBMISSION).unwrap()),
    ("POST", "/v1/schedules", || {
        json!({ "schedule": {
            "name": "nightly", "cron": "0 2 * * *", "time_zone": "Europe/Berlin", "overrides": { "trials": 2 },
            "baseline": "previous", "gate": "metrics: {}", "budget_usd": { "night": 1.5, "month": 20 }, "catch_up": "last",
            "late_within_s": 60, "notify": { "events": ["no_go"], "webhooks": ["ci"] }, "retention": { "days": 3, "nights": 2 },
        }, "submission": &*SUBMISSION, "replace": true })
    }),
    ("POST", "/v1/tokens", || {
        let token = token(9);
        json!({ "id": token.id(), "digest": token.digest(), "owner": "bob", "scopes": ["read", "submit"],
            "expires_at": "2027-01-01T00:00:00Z", "quota": { "budget": 5_000_000_000_u64, "sessions": 10 } })
    }),
    (
        "POST",
        "/v1/quotas",
        || json!({ "owner": "bob", "quota": { "budget": 5_000_000_000_u64, "sessions": 10 }, "storage": { "bytes": 1 << 30 } }),
    ),
    ("POST", "/v1/gc", || json!({ "keep": { "days": 3, "nights": 1, "transcripts_days": 1 }, "apply": true })),
    ("POST", "/v1/sweeps/\u{1d}/resume", || json!({ "budget": { "by": 1_000_000_000 } })),
    ("POST", "/v1/sweeps/\u{1d}/verdicts", || json!({ "judge": "sim/lexical", "questions": [Digest::of(b"q")] })),
    ("POST", "/v1/sweeps/\u{1d}/cancel", || Value::Null),
    ("GET", "/v1/sweeps/\u{1d}", || Value::Null),
    ("GET", "/v1/sweeps/\u{1d}/files/sweep.lock.yaml", || Value::Null),
    ("GET", "/v1/sweeps/\u{1d}/inputs", || Value::Null),
    ("POST", "/v1/schedules/nightly/run", || Value::Null),
    ("GET", "/v1/schedules/nightly/history?limit=3", || Value::Null),
    ("GET", "/v1/doctor", || Value::Null),
    ("GET", "/v1/audit?limit=5&before=9", || Value::Null),
    ("PUT", "/v1/content/0000000000000000000000000000000000000000000000000000000000000000", || Value::Null),
    ("GET", "/v1/sweeps?limit=2&after=1767225600000000000.s-0a1b2c3d", || Value::Null),
    ("GET", "/v1/tokens?limit=2&after=1767225600000000000.0101", || Value::Null),
    ("GET", "/v1/owners?limit=2&after=alice", || Value::Null),
    ("POST", "/v1/sweeps/\u{1d}/pause", || Value::Null),
    ("POST", "/v1/sweeps/\u{1d}/concurrency", || json!({ "endpoint": "sim", "calls": 1 })),
];

static DATA: LazyLock<FileSet> = LazyLock::new(|| miniature(&WorfBench));

pub(crate) static SUBMISSION: LazyLock<Submission> = LazyLock::new(|| {
    let text = "name: s
benchmarks:
  worfbench: { limit: 'first:2', tasks: [lumos], judge: sim/lexical, judge_price: { input_per_mtok: 0, output_per_mtok: 0 } }
endpoints:
  sim: { kind: openai, base_url: 'http://127.0.0.1:9/v1', limits: { concurrency: 2 } }
models:
  - { id: sim/oracle, max_tokens: 1000, price: { input_per_mtok: 0, output_per_mtok: 1000 } }
budget_usd: 5
";
    let spec = parse_spec(text, &|_| None).unwrap();
    Submission {
        spec,
        data: BTreeMap::from([("worfbench".parse().unwrap(), DATA.snapshot())]),
        recorded: BTreeMap::new(),
    }
});

/// No request is answered as a fault of ours, and none does what its sender may not do.
fn api(mut input: Input<'_>) {
    let sender = *input.choose(&SENDERS);
    let route = input.byte();
    let is_raw = input.byte().is_multiple_of(2);
    let mut records = input.records();
    let (method, path, body) = match ROUTES.get(usize::from(route)) {
        Some((method, path, body)) => (method.as_bytes(), path.as_bytes(), body()),
        None => (records.next().unwrap_or_default(), records.next().unwrap_or_default(), Value::Null),
    };
    let credential = match sender {
        Sender::Operator => format!("Bearer {OPERATOR}").into_bytes(),
        Sender::Owner(scope) => format!("Bearer {}", token(number(scope)).text()).into_bytes(),
        Sender::Stranger => records.next().unwrap_or_default().to_vec(),
    };
    let rest = records.collect::<Vec<_>>().join(&b"\x1e"[..]);
    let body = match is_raw {
        true => rest,
        false => serde_json::to_vec(&edited(body, Input(&rest))).unwrap(),
    };
    let (Ok(method), Ok(credential)) = (Method::from_bytes(method), HeaderValue::from_bytes(&credential)) else {
        return;
    };
    let request = |uri: Uri| {
        let request = Request::builder().method(method.clone()).uri(uri).header("content-type", "application/json");
        request.header("authorization", credential.clone()).body(Body::from(body.clone())).unwrap()
    };
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let router = coordinator_api(folder.path()).await;
        let mut path = path.to_vec();
        if let Some(at) = path.iter().position(|byte| *byte == NAME_MARK) {
            let id = submitted(&router).await;
            path.splice(at..=at, id.into_bytes());
        }
        let Ok(uri) = Uri::try_from(path) else { return };
        let response = router.oneshot(request(uri.clone())).await.unwrap();
        let status = response.status();
        let answer = to_bytes(response.into_body(), ANSWER_BYTES_MAX).await.unwrap();
        let said = String::from_utf8_lossy(&answer);
        assert!(!status.is_server_error(), "{method} {uri}: {status}: {said}");
        match sender {
            Sender::Stranger => assert!(!status.is_success(), "{method} {uri} by a stranger: {status}: {said}"),
            Sender::Owner(Scope::Read) => {
                let reads = method == Method::GET || method == Method::HEAD || uri.path().ends_with("/verdicts");
                assert!(reads || !status.is_success(), "{method} {uri} by a reader: {status}: {said}");
            }
            Sender::Owner(Scope::Submit | Scope::Admin) | Sender::Operator => {}
        }
    });
}

const fn number(scope: Scope) -> u8 {
    match scope {
        Scope::Read => 1,
        Scope::Submit => 2,
        Scope::Admin => 3,
    }
}

fn token(number: u8) -> ApiToken {
    ApiToken::of([number; 6], [number; 32]).unwrap()
}

/// The API of a coordinator of its own for every request: nothing is left of the requests before.
pub(crate) async fn coordinator_api(folder: &Path) -> axum::Router {
    let blobs = Blobs::directory(folder.join("blobs")).unwrap();
    let clock = Arc::new(ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
    store_dataset(&blobs, &DATA).await.unwrap();
    let ledger = Ledger::sqlite(folder.join("ledger.sqlite")).await.unwrap();
    for scope in [Scope::Read, Scope::Submit, Scope::Admin] {
        let token = token(number(scope));
        let kept = ledger.create_token(NewToken {
            id: token.id().clone(),
            digest: token.digest(),
            owner: "alice".parse().unwrap(),
            scopes: Scopes::from_iter([scope]),
            created_at: clock.now(),
            created_by: "operator".parse().unwrap(),
            expires_at: None,
            quota: None,
            storage: None,
        });
        assert!(kept.await.unwrap());
    }
    let prices: Arc<PriceBook> = Arc::new(|_, model| match &model.price {
        Some(price) => (Some(price.clone()), PriceSource::Spec),
        None => (None, PriceSource::Unknown),
    });
    let coordinator = Coordinator::new(
        CoordinatorConfig::default(),
        ledger,
        Queue::memory(),
        Permits::memory(),
        Catalog::new(blobs, regatta_benchmarks::Registry::new(&[&WorfBench])),
        clock,
        CoordinatorMetrics::register(&Registry::new()).unwrap(),
        prices,
    )
    .with_scheduling(Scheduling { gate: Arc::new(Indifferent), messenger: Arc::new(Indifferent) });
    let access = Access::Tokens { operator: Some(Digest::of(OPERATOR.as_bytes())) };
    router(Arc::new(coordinator), ApiConfig { access, verifier: None, bytes: ByteBudget::default() })
}

/// Submits the sweep that paths may name, and tells its id.
pub(crate) async fn submitted(router: &axum::Router) -> String {
    let request = Request::post("/v1/sweeps").header("content-type", "application/json");
    let request = request.header("authorization", format!("Bearer {OPERATOR}"));
    let body = Body::from(serde_json::to_vec(&*SUBMISSION).unwrap());
    let response = router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
    let status = response.status();
    let answer = to_bytes(response.into_body(), ANSWER_BYTES_MAX).await.unwrap();
    assert_eq!(status, StatusCode::OK, "{}", String::from_utf8_lossy(&answer));
    serde_json::from_slice::<Submitted>(&answer).unwrap().id.to_string()
}

/// A gate that accepts every policy, and a messenger that knows every channel.
struct Indifferent;

impl NightGate for Indifferent {
    fn check(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn judge<'a>(&'a self, _: &'a GateQuestion) -> BoxFuture<'a, Result<GateJudgement, GateError>> {
        async { Err(GateError::Refused("nothing is judged here".to_owned())) }.boxed()
    }
}

impl Messenger for Indifferent {
    fn knows(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn send<'a>(&'a self, _: &'a Message) -> BoxFuture<'a, Result<(), String>> {
        async { Ok(()) }.boxed()
    }
}

thread_local! {
    static BRIDGE: Served = Served::start();
}

/// A bridge with one open session, reached by a socket, of which there are more than ports.
struct Served {
    _bridge: Bridge,
    _socket: BridgeSocket,
    session: OpenSession,
    folder: tempfile::TempDir,
}

impl Served {
    fn start() -> Self {
        block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let place = SocketAddr::from(([127, 0, 0, 1], 0));
            let bridge = Bridge::start(place, ByteBudget::default()).await.unwrap();
            let socket = bridge.serve_socket(&Self::path(&folder)).unwrap();
            let session = bridge.open(Arc::new(Agreeable));
            Self { _bridge: bridge, _socket: socket, session, folder }
        })
    }

    fn path(folder: &tempfile::TempDir) -> PathBuf {
        folder.path().join("bridge")
    }
}

/// Whatever is sent to the bridge, it answers in HTTP or closes the connection.
fn bridge(input: Input<'_>) {
    BRIDGE.with(|served| {
        let (_, path) = served.session.base_url().split_once("/sessions/").unwrap();
        let path = format!("/sessions/{path}");
        let with_path = |byte: &u8| if *byte == NAME_MARK { path.as_bytes().to_vec() } else { vec![*byte] };
        let sent: Vec<u8> = input.0.iter().flat_map(with_path).collect();
        let answer = block_on(async {
            let mut stream = UnixStream::connect(Served::path(&served.folder)).await.unwrap();
            let mut answer = Vec::new();
            // A bridge that has had enough closes the connection.
            if stream.write_all(&sent).await.is_ok() && stream.shutdown().await.is_ok() {
                let _ = stream.read_to_end(&mut answer).await;
            }
            answer
        });
        let head = String::from_utf8_lossy(&answer[..answer.len().min(64)]).into_owned();
        assert!(answer.is_empty() || head.starts_with("HTTP/1."), "{head:?}");
        assert!(!head.starts_with("HTTP/1.1 500"), "{head:?}");
    });
}

/// A session that answers every call, and whose tools are those of AppBench.
struct Agreeable;

impl BridgedSession for Agreeable {
    fn call(&self, request: ChatRequest, model: &str) -> BoxFuture<'_, Result<Answered, Refused>> {
        let answered = Answered {
            reply: Reply::said(format!("{} messages", request.messages.len())),
            usage: Usage::default(),
            model: model.to_owned(),
        };
        async { Ok(answered) }.boxed()
    }

    fn serve(&self, request: ToolRequest) -> ToolAnswer {
        let appbench = &LOADED[1];
        let (setting, items) = &appbench.settings[0];
        appbench.suite.serve(items[0], setting, &request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path may name what is not there.
    #[test]
    fn every_route_understands_its_body() {
        for (method, path, body) in ROUTES {
            // Its path would have to name the digest of its body.
            if method == "PUT" {
                continue;
            }
            block_on(async {
                let folder = tempfile::tempdir().unwrap();
                let router = coordinator_api(folder.path()).await;
                let path = path.replace(char::from(NAME_MARK), &submitted(&router).await);
                let request = Request::builder().method(method).uri(&path).header("content-type", "application/json");
                let request = request.header("authorization", format!("Bearer {OPERATOR}"));
                let body = Body::from(serde_json::to_vec(&body()).unwrap());
                let response = router.oneshot(request.body(body).unwrap()).await.unwrap();
                let status = response.status();
                let answer = to_bytes(response.into_body(), ANSWER_BYTES_MAX).await.unwrap();
                let is_understood =
                    status.is_success() || [StatusCode::NOT_FOUND, StatusCode::CONFLICT].contains(&status);
                assert!(is_understood, "{method} {path}: {status}: {}", String::from_utf8_lossy(&answer));
            });
        }
    }
}
