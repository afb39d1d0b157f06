//! The API server of Kubernetes, as far as pods of agents need it, by the service account of the worker's own pod.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use regatta_proto::{TlsOptions, causes, with_handshake_advice};
use reqwest::header::{DATE, RETRY_AFTER};
use reqwest::{Client, Method, Response, StatusCode};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::Value;

/// Longest time for a connection to be established.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Longest time for an answer, other than a log.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Times that a request is sent while the server is away, or busy.
const TRIES_MAX: u32 = 5;
/// Wait before the second try; twice as long before each further one.
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// Longest wait that the server may ask for.
const WAIT_MAX: Duration = Duration::from_secs(10);
const TLS_OPTIONS: TlsOptions = TlsOptions { authorities: "ca.crt of the worker's service account", identity: None };
/// Longest answer that is read: a worker's pods are hundreds at most, and each is some kilobytes.
const ANSWER_BYTES_MAX: usize = 32 << 20;
/// As much is read of an error.
const STATUS_BYTES_MAX: usize = 64 << 10;
/// Characters told of an answer that is no status.
const MESSAGE_CHARS: usize = 300;

/// The API server, and the namespace of the pods.
pub(super) struct Api {
    client: Client,
    origin: String,
    token: PathBuf,
    namespace: String,
}

/// Reason why the server did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is no such object.
    Absent,
    /// There is one of that name.
    Exists,
    /// It could not be reached, or was busy, each time; in words.
    Away(String),
    /// It will say so again; in words.
    Refused(String),
}

impl Refusal {
    /// In words.
    pub(super) fn told(self) -> String {
        match self {
            Self::Absent => "the API server of Kubernetes has no such object".to_owned(),
            Self::Exists => "the API server of Kubernetes has an object of that name".to_owned(),
            Self::Away(problem) | Self::Refused(problem) => problem,
        }
    }
}

/// A request, in the words of Kubernetes' rules of access.
#[derive(Clone, Copy)]
struct Action<'a> {
    verb: &'a str,
    resource: &'a str,
}

impl Api {
    /// The server that `variables` name, for the service account in the folder `account`.
    pub(super) fn open(
        account: &Path,
        namespace: Option<&str>,
        variables: &BTreeMap<String, String>,
    ) -> Result<Self, String> {
        let variable = |name: &str| {
            variables.get(name).filter(|value| !value.is_empty()).ok_or_else(|| {
                format!("agents in pods need a worker that runs in Kubernetes, but {name} is not set; run it there, or choose another `engine`")
            })
        };
        let (host, port) = (variable("KUBERNETES_SERVICE_HOST")?, variable("KUBERNETES_SERVICE_PORT")?);
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let namespace = match namespace {
            Some(chosen) => chosen.to_owned(),
            None => read(&account.join("namespace"))?,
        };
        let client = client(&account.join("ca.crt"))?;
        Ok(Self { client, origin: format!("https://{host}:{port}"), token: account.join("token"), namespace })
    }

    /// The object as it was made.
    pub(super) async fn create(&self, resource: &str, object: &Value) -> Result<Value, Refusal> {
        let action = Action { verb: "create", resource };
        json(self.send(action, Method::POST, &self.path(resource, ""), Some(object)).await?).await
    }

    pub(super) async fn pod(&self, name: &str) -> Result<Value, Refusal> {
        let action = Action { verb: "get", resource: "pods" };
        json(self.send(action, Method::GET, &self.path("pods", &format!("/{name}")), None).await?).await
    }

    /// All pods with the label `name=value`, and the server's time.
    pub(super) async fn pods(&self, (name, value): (&str, &str)) -> Result<(Vec<Value>, Option<Timestamp>), Refusal> {
        let action = Action { verb: "list", resource: "pods" };
        let selector = format!("?labelSelector={}%3D{value}", name.replace('/', "%2F"));
        let response = self.send(action, Method::GET, &self.path("pods", &selector), None).await?;
        let date = response.headers().get(DATE).and_then(|date| date.to_str().ok());
        let now = date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok()).map(|date| date.timestamp());
        Ok((items(json(response).await?)?, now))
    }

    /// Ends and removes a pod at once, if it is there.
    pub(super) async fn delete_pod(&self, name: &str) -> Result<(), Refusal> {
        let action = Action { verb: "delete", resource: "pods" };
        let path = self.path("pods", &format!("/{name}?gracePeriodSeconds=0"));
        match self.send(action, Method::DELETE, &path, None).await {
            Ok(_) | Err(Refusal::Absent) => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }

    /// At most `bytes` of the beginning of a container's log; with `follow` it goes on until the container ends.
    pub(super) async fn log(
        &self,
        (pod, container): (&str, &str),
        bytes: usize,
        follow: bool,
    ) -> Result<Response, Refusal> {
        let action = Action { verb: "get", resource: "pods/log" };
        let query = format!("/{pod}/log?container={container}&limitBytes={bytes}&follow={follow}");
        self.send(action, Method::GET, &self.path("pods", &query), None).await
    }

    fn path(&self, resource: &str, rest: &str) -> String {
        format!("{}/api/v1/namespaces/{}/{resource}{rest}", self.origin, self.namespace)
    }

    /// The answer, if it is a good one. What may go away by itself is tried again.
    async fn send(
        &self,
        action: Action<'_>,
        method: Method,
        url: &str,
        body: Option<&Value>,
    ) -> Result<Response, Refusal> {
        let (mut wait, mut tries) = (FIRST_WAIT, 0);
        loop {
            tries += 1;
            // Each time anew: Kubernetes replaces it before it expires.
            let token = read(&self.token).map_err(Refusal::Refused)?;
            let mut request = self.client.request(method.clone(), url).bearer_auth(token);
            if action.resource != "pods/log" {
                request = request.timeout(ANSWER_MAX);
            }
            if let Some(body) = body {
                request = request.json(body);
            }
            let (problem, asked) = match request.send().await {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) => {
                    let asked = seconds(&response);
                    match self.refusal(action, response, tries).await {
                        Refusal::Away(problem) => (problem, asked),
                        refusal @ (Refusal::Absent | Refusal::Exists | Refusal::Refused(_)) => return Err(refusal),
                    }
                }
                Err(error) => (format!("failed to reach the API server of Kubernetes: {}", explained(&error)), None),
            };
            if tries >= TRIES_MAX {
                return Err(Refusal::Away(problem));
            }
            tokio::time::sleep(asked.map_or(wait, |asked| asked.min(WAIT_MAX))).await;
            wait *= 2;
        }
    }

    async fn refusal(&self, Action { verb, resource }: Action<'_>, response: Response, tries: u32) -> Refusal {
        let status = response.status();
        let message = message(response).await;
        let Self { namespace, .. } = self;
        let refused = format!(
            "the API server of Kubernetes refused to {verb} {resource} in the namespace {namespace} ({}): {message}",
            status.as_u16()
        );
        match status {
            StatusCode::FORBIDDEN if message.contains(&format!("cannot {verb} resource")) => Refusal::Refused(format!(
                "{refused}; grant the worker's service account `{verb}` on `{resource}` in {namespace}, as the chart does for pools with `agentPods`"
            )),
            // Its token may have been replaced between reading and sending it.
            StatusCode::UNAUTHORIZED if tries < 2 => Refusal::Away(refused),
            StatusCode::UNAUTHORIZED => {
                Refusal::Refused(format!("{refused}; the token in {} is not taken", self.token.display()))
            }
            StatusCode::NOT_FOUND if verb != "create" => Refusal::Absent,
            StatusCode::CONFLICT if verb == "create" => Refusal::Exists,
            StatusCode::TOO_MANY_REQUESTS => Refusal::Away(refused),
            status if status.is_server_error() => Refusal::Away(refused),
            _ => Refusal::Refused(refused),
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        format!(
            "failed to read {} of the worker's service account: {error}; the worker's pod needs the account mounted",
            path.display()
        )
    })?;
    Ok(text.trim().to_owned())
}

/// A client that trusts the cluster's authority alone.
fn client(authority: &Path) -> Result<Client, String> {
    let pem = read(authority)?;
    let mut roots = rustls::RootCertStore::empty();
    let found = CertificateDer::pem_slice_iter(pem.as_bytes()).filter_map(Result::ok);
    roots.add_parsable_certificates(found);
    if roots.is_empty() {
        return Err(format!("{} holds no certificate (PEM)", authority.display()));
    }
    let failed = |error: &dyn std::error::Error| format!("failed to set up TLS for the API server: {error}");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = Client::builder()
        .user_agent(concat!("regatta/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        // A proxy is for what is outside of the cluster.
        .no_proxy()
        .http1_only()
        .connect_timeout(CONNECT_MAX)
        .tls_backend_preconfigured(tls);
    client.build().map_err(|error| failed(&error))
}

async fn json(response: Response) -> Result<Value, Refusal> {
    let unread =
        |problem: String| Refusal::Away(format!("failed to read an answer of the API server of Kubernetes: {problem}"));
    let body = beginning(response, ANSWER_BYTES_MAX + 1).await.map_err(|error| unread(explained(&error)))?;
    if body.len() > ANSWER_BYTES_MAX {
        return Err(Refusal::Refused(format!(
            "the API server of Kubernetes answered more than {ANSWER_BYTES_MAX} bytes; look what answers at its address, a proxy perhaps"
        )));
    }
    serde_json::from_slice(&body).map_err(|error| unread(error.to_string()))
}

/// The first bytes of an answer, at most `max` of them.
async fn beginning(mut response: Response, max: usize) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while body.len() < max
        && let Some(bytes) = response.chunk().await?
    {
        body.extend_from_slice(&bytes[..bytes.len().min(max - body.len())]);
    }
    Ok(body)
}

/// The objects of a list. An answer that has none of that name says nothing about which there are.
fn items(mut list: Value) -> Result<Vec<Value>, Refusal> {
    match list.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => Ok(items),
        _ => {
            let told: String = list.to_string().chars().take(MESSAGE_CHARS).collect();
            Err(Refusal::Refused(format!(
                "the API server of Kubernetes answered a list without items: {told}; look what answers at its address, a proxy perhaps"
            )))
        }
    }
}

/// The message of a status, or the beginning of what is none.
async fn message(response: Response) -> String {
    let body = beginning(response, STATUS_BYTES_MAX).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    let status: Option<Value> = serde_json::from_str(&text).ok();
    let message = status.as_ref().and_then(|status| status["message"].as_str()).unwrap_or(&*text);
    message.chars().take(MESSAGE_CHARS).collect()
}

fn seconds(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The error with its causes; says what to do where a TLS handshake failed.
pub(super) fn explained(error: &reqwest::Error) -> String {
    with_handshake_advice(causes(error), TLS_OPTIONS)
}

#[cfg(test)]
mod tests {
    use regatta_tests::{Authority, ServerTls};
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Problem of a client, which trusts `authority`, with a server at `host` that shows what `server` says.
    async fn handshake(host: &str, server: &ServerTls, authority: &Path) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{host}:{}/api", listener.local_addr().unwrap().port());
        let acceptor = server.acceptor().unwrap();
        let serving = tokio::spawn(async move {
            // Kept until the client has had enough: what the server has against it comes after the handshake.
            let mut kept = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                kept.push(acceptor.accept(stream).await);
            }
        });
        let problem = client(authority).unwrap().get(url).send().await.unwrap_err();
        serving.abort();
        explained(&problem)
    }

    /// An answer with this status whose body is `bytes` long.
    async fn answer(status: u16, bytes: usize) -> Response {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await;
            let head = format!("HTTP/1.1 {status} Status\r\ncontent-length: {bytes}\r\n\r\n\"");
            let _ = stream.write_all(head.as_bytes()).await;
            let _ = stream.write_all(&vec![b'a'; bytes - 2]).await;
            let _ = stream.write_all(b"\"").await;
        });
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(folder.path(), "any").unwrap();
        client(&authority.certificate()).unwrap().get(url).send().await.unwrap()
    }

    #[tokio::test]
    async fn no_more_of_an_answer_is_held_than_one_can_have() {
        let longest = json(answer(200, ANSWER_BYTES_MAX).await).await.unwrap();
        assert_eq!(longest.as_str().map(str::len), Some(ANSWER_BYTES_MAX - 2));
        let Err(Refusal::Refused(problem)) = json(answer(200, ANSWER_BYTES_MAX + 1).await).await else {
            panic!("it is read")
        };
        assert!(problem.contains("more than 33554432 bytes"), "{problem}");
        assert_eq!(message(answer(500, 100 << 20).await).await.chars().count(), MESSAGE_CHARS);
    }

    #[tokio::test]
    async fn a_failed_handshake_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let [ours, theirs] = ["ours", "theirs"].map(|name| Authority::new(folder.path(), name).unwrap());
        let shows = |identity| ServerTls { identity, client_authority: None };
        let right = || shows(ours.issue("localhost").unwrap());
        let asks = ServerTls { client_authority: Some(ours.certificate()), ..right() };
        let (trusted, untrusted) = (ours.certificate(), theirs.certificate());
        for (problem, advice) in [
            (
                handshake("localhost", &right(), &untrusted).await,
                "of an authority that is not trusted here; name the file of that authority with ca.crt of the worker's service account",
            ),
            (
                handshake("127.0.0.1", &right(), &trusted).await,
                "for another name than the address has; use the name that it is for",
            ),
            (
                handshake("localhost", &shows(ours.issue_expired("localhost").unwrap()), &trusted).await,
                "has expired; renew it there",
            ),
        ] {
            assert!(problem.contains(advice), "{advice}: {problem}");
        }
        // The server's alert, or the end of the connection where that was seen first.
        let problem = handshake("localhost", &asks, &trusted).await;
        let alert = "asks for a client certificate, and none is shown from here";
        let ended = "as soon as it was made; if it asks for client certificates, reach it by a proxy";
        assert!(problem.contains(alert) || problem.contains(ended), "{problem}");
    }

    #[test]
    fn a_list_without_items_is_an_error_and_not_an_empty_one() {
        assert_eq!(items(json!({"kind": "PodList", "items": []})), Ok(Vec::new()));
        assert_eq!(items(json!({"items": [{"kind": "Pod"}]})), Ok(vec![json!({"kind": "Pod"})]));
        for other in [json!({"kind": "Status"}), json!({"items": null}), json!({"items": {}}), json!("busy"), json!([])]
        {
            let problem = items(other.clone()).unwrap_err().told();
            assert!(problem.contains("a list without items"), "{other}: {problem}");
        }
    }
}
