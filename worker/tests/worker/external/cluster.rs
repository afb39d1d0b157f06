//! A cluster of Kubernetes, as far as agents' pods need one: an API server over TLS, and a kubelet that runs a pod's containers as processes.

mod kubelet;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures::stream;
use regatta_tests::{Authority, ServerTls};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

/// Namespace of the pods.
pub(super) const NAMESPACE: &str = "agents";

/// Fate of each pod that is made.
#[derive(Clone)]
pub(super) enum Fate {
    /// The pod's containers are run.
    Runs,
    /// The pod keeps this status for ever.
    Is(Value),
    /// The pod's containers are run, and at the end it has this status.
    RunsAndIs(Value),
}

/// A request as it came: method, path and query.
pub(super) type Asked = (String, Value);

pub(super) struct Cluster {
    folder: tempfile::TempDir,
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    /// The relay, for containers that install it.
    relay: PathBuf,
    account: PathBuf,
    state: Mutex<Inner>,
    /// Told of each request.
    changed: Notify,
}

struct Inner {
    fate: Fate,
    token: String,
    /// Answers in place of what would be done, by the beginning of `METHOD path`; each once, in their order.
    refusals: Vec<(String, StatusCode, Value)>,
    /// The end of a path by whose request the token is replaced.
    rotation: Option<(String, String)>,
    pods: BTreeMap<String, Running>,
    asked: Vec<Asked>,
}

struct Running {
    pod: Value,
    /// The log as far as it was written, and true once it has ended.
    log: watch::Receiver<(Vec<u8>, bool)>,
    writer: watch::Sender<(Vec<u8>, bool)>,
    killed: CancellationToken,
}

impl Cluster {
    pub(super) async fn start(relay: &Path, fate: Fate) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(folder.path(), "cluster").unwrap();
        std::fs::rename(authority.certificate(), folder.path().join("ca.crt")).unwrap();
        let tls = ServerTls { identity: authority.issue("127.0.0.1").unwrap(), client_authority: None };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        std::fs::write(folder.path().join("namespace"), NAMESPACE).unwrap();
        let inner = Inner {
            fate,
            token: String::new(),
            refusals: Vec::new(),
            rotation: None,
            pods: BTreeMap::new(),
            asked: Vec::new(),
        };
        let shared = Arc::new(Shared {
            relay: relay.to_owned(),
            account: folder.path().to_owned(),
            state: Mutex::new(inner),
            changed: Notify::new(),
        });
        let router = Router::new().fallback(serve).with_state(shared.clone());
        let listener = Encrypted(listener, tls.acceptor().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        shared.state.lock().unwrap().rotate(folder.path(), "first");
        Self { folder, address, shared }
    }

    /// Folder of a service account.
    pub(super) fn account(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub(super) fn variables(&self) -> [(String, String); 3] {
        let (host, port) = (self.address.ip().to_string(), self.address.port().to_string());
        [("KUBERNETES_SERVICE_HOST", host), ("KUBERNETES_SERVICE_PORT", port), ("HOSTNAME", "worker-1".to_owned())]
            .map(|(name, value)| (name.to_owned(), value))
    }

    /// After a request whose path ends so, another token is the only one that is taken.
    pub(super) fn rotate_after(&self, end: &str) {
        self.shared.state.lock().unwrap().rotation = Some((end.to_owned(), "second".to_owned()));
    }

    /// Answers the next request that begins so with a status.
    pub(super) fn refuse(&self, beginning: &str, status: u16, message: &str) {
        let status = StatusCode::from_u16(status).unwrap();
        let body = json!({"kind": "Status", "message": message});
        self.shared.state.lock().unwrap().refusals.push((beginning.to_owned(), status, body));
    }

    /// Puts a pod there.
    pub(super) fn put(&self, pod: Value) {
        self.shared.state.lock().unwrap().put(pod);
    }

    /// Names of the pods that are there.
    pub(super) fn pods(&self) -> Vec<String> {
        self.shared.state.lock().unwrap().pods.keys().cloned().collect()
    }

    /// Waits until these pods are there, and no others.
    pub(super) async fn until_there_are(&self, names: &[&str]) {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.pods() == names {
                return;
            }
            changed.await;
        }
    }

    /// The requests so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.shared.state.lock().unwrap().asked.clone()
    }

    /// The bodies of the objects that were made of this kind.
    pub(super) fn made(&self, kind: &str) -> Vec<Value> {
        self.asked().into_iter().map(|(_, body)| body).filter(|body| body["kind"] == kind).collect()
    }
}

impl Inner {
    fn rotate(&mut self, account: &Path, token: &str) {
        std::fs::write(account.join("token"), format!("{token}\n")).unwrap();
        self.token = token.to_owned();
    }

    fn put(&mut self, pod: Value) {
        let (writer, log) = watch::channel((Vec::new(), false));
        let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
        self.pods.insert(name, Running { pod, log, writer, killed: CancellationToken::new() });
    }
}

async fn serve(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let answer = answered(&shared, &method, &uri, &headers, &body);
    shared.changed.notify_waiters();
    answer
}

fn answered(shared: &Arc<Shared>, method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Response {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let asked = format!("{method} {}", uri.path_and_query().unwrap());
    let mut state = shared.state.lock().unwrap();
    state.asked.push((asked.clone(), body.clone()));
    let shown = headers.get("authorization").and_then(|value| value.to_str().ok());
    if shown != Some(&format!("Bearer {}", state.token)) {
        return answer(401, json!({"message": "Unauthorized"}));
    }
    if let Some(at) = state.refusals.iter().position(|(beginning, ..)| asked.starts_with(beginning)) {
        let (_, status, body) = state.refusals.remove(at);
        return answer(status.as_u16(), body);
    }
    if let Some((_, token)) = state.rotation.take_if(|(end, _)| uri.path().ends_with(end.as_str())) {
        state.rotate(&shared.account, &token);
    }
    let path = uri.path().strip_prefix(&format!("/api/v1/namespaces/{NAMESPACE}/")).unwrap_or_default();
    let parts: Vec<&str> = path.split('/').collect();
    match (method.as_str(), &parts[..]) {
        ("POST", ["pods"]) => {
            let mut pod = body;
            let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
            pod["metadata"]["uid"] = json!(format!("uid-of-{name}"));
            pod["status"] = match &state.fate {
                Fate::Is(status) => status.clone(),
                Fate::Runs | Fate::RunsAndIs(_) => json!({"phase": "Pending"}),
            };
            state.put(pod.clone());
            answer(201, pod)
        }
        ("POST", ["secrets"]) => {
            let last = match &state.fate {
                Fate::Is(_) => return answer(201, body),
                Fate::Runs => None,
                Fate::RunsAndIs(last) => Some(last.clone()),
            };
            let name = body["metadata"]["name"].as_str().unwrap().to_owned();
            drop(state);
            tokio::spawn(kubelet::run(shared.clone(), name, body.clone(), last));
            answer(201, body)
        }
        ("GET", ["pods"]) => {
            let items: Vec<&Value> = state.pods.values().map(|running| &running.pod).collect();
            answer(200, json!({"items": items}))
        }
        ("GET", ["pods", name]) => match state.pods.get(*name) {
            Some(running) => answer(200, running.pod.clone()),
            None => answer(404, json!({"message": format!("pods \"{name}\" not found")})),
        },
        ("GET", ["pods", name, "log"]) => match state.pods.get(*name) {
            Some(running) => log(running, uri.query().unwrap_or_default()),
            None => answer(404, json!({"message": "not found"})),
        },
        ("DELETE", ["pods", name]) => match state.pods.remove(*name) {
            Some(running) => {
                running.killed.cancel();
                answer(200, running.pod)
            }
            None => answer(404, json!({"message": "not found"})),
        },
        _ => answer(405, json!({"message": asked})),
    }
}

fn answer(status: u16, body: Value) -> Response {
    (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response()
}

/// The log as it is, or as it becomes.
fn log(running: &Running, query: &str) -> Response {
    let argument = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}="))).unwrap();
    let limit: usize = argument("limitBytes").parse().unwrap();
    if argument("follow") == "false" {
        let written = running.log.borrow().0.clone();
        return Body::from(written[..written.len().min(limit)].to_vec()).into_response();
    }
    let pieces = stream::unfold((running.log.clone(), 0), move |(mut log, sent)| async move {
        let (written, has_ended) = {
            let seen = log.wait_for(|(written, has_ended)| written.len() > sent || *has_ended).await.ok()?;
            (seen.0[sent..seen.0.len().min(limit)].to_vec(), seen.1)
        };
        let is_over = written.is_empty() && (has_ended || sent == limit);
        let sent = sent + written.len();
        (!is_over).then_some((Ok::<_, io::Error>(written), (log, sent)))
    });
    Body::from_stream(pieces).into_response()
}

/// A listener for connections over TLS.
struct Encrypted(TcpListener, TlsAcceptor);

impl axum::serve::Listener for Encrypted {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = self.0.accept().await.unwrap();
            if let Ok(stream) = self.1.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.0.local_addr()
    }
}
