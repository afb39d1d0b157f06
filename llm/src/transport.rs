//! HTTP to one endpoint: one request, one answer of bounded size, whole or streamed, with every failure classified.

use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use futures::stream;
use regatta_memory::{HeldBytes, TooLarge, parsed_bytes};
use regatta_proto::{ErrorClass, Timeouts, TlsOptions, with_handshake_advice};
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Body, Client, Method, Request, Response, StatusCode, Url};
use tokio::time::{Instant, timeout_at};

use crate::errors::{Failure, Reach};
use crate::policy::{AllowedAddresses, EgressRules, is_loopback_host};
use crate::secret::Secret;
use crate::standstill::{Standstill, StoodStill};

/// Longest body read, in bytes; an answer beyond it is a bad response.
const BODY_MAX: usize = 64 << 20;
/// Room made at once for a body of declared length, in bytes; more is made as it comes.
const BODY_ROOM_MAX: usize = 1 << 20;
/// An idle connection is closed after this. Servers in Python and Node close theirs after five seconds, and a request that meets that is lost
/// without anybody knowing whether it was taken; a new connection costs less than a call that may have been paid.
const IDLE: Duration = Duration::from_secs(4);
/// Longest wait for the end of a body after the last event of a stream. Servers send both at once.
const DRAIN: Duration = Duration::from_millis(20);

/// Takes requests in the place of the machine's network: a simulation's endpoints live in its own process, and keep its time.
pub trait Network: Send + Sync {
    /// Answers one request.
    ///
    /// # Errors
    /// When there is no answer; tells whether the request may have been billed nevertheless.
    fn answer(&self, request: Request) -> BoxFuture<'_, Result<Response, NoAnswer>>;
}

/// A request that a [`Network`] did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// It never reached the endpoint.
    Unreached,
    /// The connection was lost after it was sent.
    Lost,
}

/// A connection pool to one endpoint. HTTP/1.1 only: a server would otherwise put thousands of calls on one connection, and hold
/// all but its first hundred or so back.
#[derive(Clone)]
pub(crate) struct Transport {
    client: Client,
    network: Option<Arc<dyn Network>>,
    standstill: Standstill,
    headers: HeaderMap,
    timeouts: Timeouts,
    secret: Secret,
}

/// The header that carries the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyHeader {
    /// Name of the header, lower-case.
    pub(crate) name: &'static str,
    /// Text before the key, for example `Bearer `.
    pub(crate) prefix: &'static str,
}

/// A whole answer, whatever its status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A client that cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The key holds characters that no header may hold.
    #[error("the key holds characters that cannot be sent in a header; check the variable for line breaks")]
    Key,
    /// The address is one that may not be reached.
    #[error("its address is not allowed: {0}")]
    Egress(String),
    /// Certificates or TLS settings.
    #[error("failed to set up TLS: {0}")]
    Tls(#[source] Box<dyn Error + Send + Sync>),
}

impl Transport {
    /// A pool for `url`. The key, if any, goes into `key_header` of every request. Calls go to `network` where there is one.
    pub(crate) fn new(
        url: &Url,
        secret: Secret,
        key_header: KeyHeader,
        timeouts: Timeouts,
        egress: Arc<EgressRules>,
        network: Option<Arc<dyn Network>>,
        standstill: Standstill,
    ) -> Result<Self, TransportError> {
        let mut headers = HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (ACCEPT, HeaderValue::from_static("application/json")),
        ]);
        if let Some(value) = secret.header(key_header.prefix).map_err(|_| TransportError::Key)? {
            headers.insert(HeaderName::from_static(key_header.name), value);
        }
        let client = http_client(url, Duration::from_millis(timeouts.connect_ms), egress)?;
        Ok(Self { client, network, standstill, headers, timeouts, secret })
    }

    /// Headers of every request, the key included.
    pub(crate) const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Sends `body` and reads the whole answer, as far as `held` has room for it.
    ///
    /// # Errors
    /// No connection, no answer in time, or a successful answer whose body broke off or is too large. Any other status is an answer.
    pub(crate) async fn post(
        &self,
        url: &Url,
        extra: &HeaderMap,
        body: Bytes,
        held: HeldBytes,
    ) -> Result<(Answer, HeldBytes), Failure> {
        self.send(url, extra, body, held).await?.whole().await
    }

    /// Sends `body` and waits for the head of the answer, whose bytes will be among `held`.
    ///
    /// # Errors
    /// No connection, or no answer in time.
    pub(crate) async fn send(
        &self,
        url: &Url,
        extra: &HeaderMap,
        body: Bytes,
        held: HeldBytes,
    ) -> Result<Incoming<'_>, Failure> {
        let mut request = Request::new(Method::POST, url.clone());
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        headers.extend(extra.iter().map(|(name, value)| (name.clone(), value.clone())));
        // Set explicitly, because a body that is made as it is sent has no length.
        headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        *request.body_mut() = Some(if self.network.is_some() { body.into() } else { self.unless_stood_still(body) });

        let sent = Instant::now();
        let end = sent + Duration::from_millis(self.timeouts.total_ms);
        let first_byte = end.min(sent + Duration::from_millis(self.timeouts.first_byte_ms));
        let mut response = match self.standstill.timeout_at(first_byte, self.execute(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(failure)) => return Err(failure),
            Err(_) => {
                let waited = self.timeouts.first_byte_ms.min(self.timeouts.total_ms);
                return Err(Failure::unanswered(ErrorClass::Timeout, format!("no answer began within {waited} ms")));
            }
        };
        let headers = std::mem::take(response.headers_mut());
        let (status, request) = (response.status(), held.bytes());
        Ok(Incoming { transport: self, status, headers, response, sent, end, read: 0, request, held })
    }

    /// `body`, of which nothing is sent if this process stands still before it has a connection: making one takes long enough for that, and
    /// what the call held may be others' afterwards. No byte of the request's head leaves before the body is asked for.
    fn unless_stood_still(&self, body: Bytes) -> Body {
        let standstill = self.standstill.clone();
        Body::wrap_stream(stream::once(async move {
            match standstill.paused_until() {
                Some(_) => Err(StoodStill),
                None => Ok(body),
            }
        }))
    }

    /// Sends a request and waits for the head of its answer, however long that takes.
    ///
    /// # Errors
    /// No connection, or one that was lost before an answer.
    pub(crate) async fn execute(&self, request: Request) -> Result<Response, Failure> {
        let Some(network) = &self.network else {
            return self.client.execute(request).await.map_err(|error| self.no_answer(error));
        };
        network.answer(request).await.map_err(|cause| {
            let unreached = cause == NoAnswer::Unreached;
            let detail = if unreached { "the endpoint was not reached" } else { "the connection was lost" };
            Failure {
                reach: Reach::of(unreached),
                maybe_billed: !unreached,
                ..Failure::unanswered(ErrorClass::Connection, detail.to_owned())
            }
        })
    }

    fn no_answer(&self, error: reqwest::Error) -> Failure {
        let detail = self.explain(&error);
        if sources(&error).any(|source| source.is::<StoodStill>()) {
            let unsent = Failure::unanswered(ErrorClass::Connection, detail);
            return Failure { reach: Reach::StoodStill, maybe_billed: false, ..unsent };
        }
        let unreached = error.is_connect();
        if error.is_timeout() {
            return Failure {
                reach: Reach::of(unreached),
                maybe_billed: !unreached,
                ..Failure::unanswered(ErrorClass::Timeout, detail)
            };
        }
        if sources(&error).any(|source| source.downcast_ref().is_some_and(hyper::Error::is_parse)) {
            return Failure::unanswered(ErrorClass::BadResponse, detail);
        }
        // Without a connection nothing was sent; a connection that is lost later may have carried the whole request.
        Failure { maybe_billed: !unreached, ..Failure::unanswered(ErrorClass::Connection, detail) }
    }

    /// The error with its causes and without its address; says what to do where a TLS handshake failed.
    pub(crate) fn explain(&self, error: &reqwest::Error) -> String {
        let mut text = String::new();
        for source in sources(error).skip(1) {
            let _ = write!(text, "{}{source}", if text.is_empty() { "" } else { ": " });
        }
        let text = with_handshake_advice(text, TlsOptions::OF_SYSTEM);
        self.secret.detail(if text.is_empty() { "the request failed" } else { &text })
    }
}

/// An answer whose head has arrived.
pub(crate) struct Incoming<'a> {
    transport: &'a Transport,
    status: StatusCode,
    headers: HeaderMap,
    response: Response,
    sent: Instant,
    end: Instant,
    read: usize,
    /// Bytes that were held before the answer came, for the request.
    request: u64,
    /// Bytes of the request, and those that were read. While they cannot grow, nothing is read, so that the sender waits too.
    held: HeldBytes,
}

impl Incoming<'_> {
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Time since the request was sent.
    pub(crate) fn since_sent(&self) -> Duration {
        self.sent.elapsed()
    }

    /// The next bytes of the body, `None` at its end.
    ///
    /// # Errors
    /// The body broke off, is too large, or stood still for as long as an answer may take to begin; or the call's time is over, however
    /// the bytes trickle.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        let timeouts = self.transport.timeouts;
        let idle = Instant::now() + Duration::from_millis(timeouts.first_byte_ms);
        let chunk = match self.transport.standstill.timeout_at(idle.min(self.end), self.response.chunk()).await {
            Ok(Ok(chunk)) => chunk,
            Ok(Err(error)) => return Err(self.bad(self.broke_off(self.read, &error))),
            Err(_) if idle < self.end => {
                let detail = format!("the endpoint sent nothing for {} ms", timeouts.first_byte_ms);
                return Err(answered(ErrorClass::Timeout, self.status, detail));
            }
            Err(_) => return Err(self.incomplete()),
        };
        self.read += chunk.as_ref().map_or(0, Bytes::len);
        if self.read > BODY_MAX {
            return Err(self.bad(too_large()));
        }
        if let Some(chunk) = &chunk {
            self.grow(chunk.len() as u64).await?;
        }
        Ok(chunk)
    }

    /// Holds `bytes` for what is kept of the chunks so far, and what is made of it, in the place of their own.
    ///
    /// # Errors
    /// As for [`Incoming::chunk`], where they take more than what was read.
    pub(crate) async fn keep(&mut self, bytes: usize) -> Result<(), Failure> {
        let bytes = self.request + bytes as u64;
        self.held.shrink_to(bytes);
        self.grow(bytes - self.held.bytes()).await
    }

    async fn grow(&mut self, bytes: u64) -> Result<(), Failure> {
        match timeout_at(self.end, self.held.grow(bytes)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.bad(no_room(error))),
            Err(_) => Err(self.incomplete()),
        }
    }

    /// The bytes that are held.
    pub(crate) fn into_held(self) -> HeldBytes {
        self.held
    }

    /// Reads what little may follow the last event of a stream: only a connection whose body was read to its end serves another call.
    pub(crate) async fn drain(&mut self) {
        let end = self.end.min(Instant::now() + DRAIN);
        while let Ok(Ok(Some(chunk))) = timeout_at(end, self.response.chunk()).await {
            self.read += chunk.len();
            if self.read > BODY_MAX {
                return;
            }
        }
    }

    /// The answer to its end.
    ///
    /// # Errors
    /// As for [`Incoming::chunk`], of a success alone; an error without its body is still an answer. Only the whole time is bounded here.
    pub(crate) async fn whole(mut self) -> Result<(Answer, HeldBytes), Failure> {
        let end = self.end;
        let read = self.transport.standstill.timeout_at(end, self.body()).await;
        let status = self.status.as_u16();
        match read {
            Ok(Ok(body)) => Ok((Answer { status, headers: self.headers, body }, self.held)),
            // The status of an error says enough.
            _ if !self.status.is_success() => {
                Ok((Answer { status, headers: self.headers, body: Bytes::new() }, self.held))
            }
            Ok(Err(detail)) => Err(self.bad(detail)),
            Err(_) => Err(self.incomplete()),
        }
    }

    /// Reads the body, and holds what it takes once it is parsed; or returns a sentence about its problem.
    async fn body(&mut self) -> Result<Bytes, String> {
        let body = self.read_body().await?;
        self.held.grow(parsed_bytes(&body) - body.len() as u64).await.map_err(no_room)?;
        Ok(body)
    }

    async fn read_body(&mut self) -> Result<Bytes, String> {
        let declared = self.headers.get(CONTENT_LENGTH);
        let declared = declared.and_then(|length| length.to_str().ok()?.parse::<usize>().ok()).unwrap_or(0);
        if declared > BODY_MAX {
            return Err(too_large());
        }
        // Almost every answer is one chunk, which then needs no copy.
        let first = self.response.chunk().await.map_err(|error| self.broke_off(0, &error))?.unwrap_or_default();
        if first.len() > BODY_MAX {
            return Err(too_large());
        }
        self.held.grow(first.len() as u64).await.map_err(no_room)?;
        if first.len() == declared {
            return Ok(first);
        }
        let mut body = BytesMut::with_capacity(declared.clamp(first.len(), BODY_ROOM_MAX.max(first.len())));
        body.extend_from_slice(&first);
        while let Some(chunk) = self.response.chunk().await.map_err(|error| self.broke_off(body.len(), &error))? {
            if body.len() + chunk.len() > BODY_MAX {
                return Err(too_large());
            }
            self.held.grow(chunk.len() as u64).await.map_err(no_room)?;
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }

    fn broke_off(&self, read: usize, error: &reqwest::Error) -> String {
        format!("the body broke off after {read} bytes: {}", self.transport.explain(error))
    }

    fn bad(&self, detail: String) -> Failure {
        answered(ErrorClass::BadResponse, self.status, detail)
    }

    fn incomplete(&self) -> Failure {
        let detail = format!("the answer was not complete within {} ms", self.transport.timeouts.total_ms);
        answered(ErrorClass::Timeout, self.status, detail)
    }
}

fn too_large() -> String {
    format!("the body is larger than {BODY_MAX} bytes")
}

fn no_room(error: TooLarge) -> String {
    format!("the answers of the session cannot all be held: {error}")
}

fn sources<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

fn answered(class: ErrorClass, status: StatusCode, detail: String) -> Failure {
    Failure { status: Some(status.as_u16()), ..Failure::unanswered(class, detail) }
}

/// A connection pool for `url` alone, which reaches the addresses of `egress`, with the TLS of all our traffic; no request is sent twice,
/// and no redirection followed.
///
/// # Errors
/// When the address may not be reached, or certificates are needed and none can be read.
pub fn http_client(url: &Url, connect_max: Duration, egress: Arc<EgressRules>) -> Result<Client, TransportError> {
    pool(url, connect_max, AllowedAddresses::new(egress), tls(url.scheme() == "https")?)
}

fn pool(
    url: &Url,
    connect_max: Duration,
    addresses: AllowedAddresses,
    tls: rustls::ClientConfig,
) -> Result<Client, TransportError> {
    addresses.rules.check_url(url).map_err(TransportError::Egress)?;
    let mut builder = Client::builder()
        .user_agent(concat!("regatta/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .http1_only()
        .tcp_nodelay(true)
        .pool_max_idle_per_host(usize::MAX)
        .pool_idle_timeout(IDLE)
        .connect_timeout(connect_max)
        .dns_resolver(Arc::new(addresses))
        .tls_backend_preconfigured(tls);
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| TransportError::Tls(error.into()))
}

/// ring, given explicitly: no other crate decides what encrypts our traffic. Certificates are read only where they are needed.
fn tls(is_needed: bool) -> Result<rustls::ClientConfig, TransportError> {
    let mut roots = rustls::RootCertStore::empty();
    if is_needed {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let problem = found.errors.first().map_or("no root certificates found".to_owned(), ToString::to_string);
            return Err(TransportError::Tls(problem.into()));
        }
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TransportError::Tls(error.into()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// A proxy set for the outside world cannot reach this machine's own loopback.
fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(is_loopback_host)
}

#[cfg(test)]
mod tests;
