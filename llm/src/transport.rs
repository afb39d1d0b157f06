//! HTTP to one endpoint: one request, one bounded answer, every kind of trouble named.

use std::error::Error;
use std::fmt::Write as _;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use regatta_proto::{ErrorClass, Timeouts};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Method, Request, Response, StatusCode, Url};
use tokio::time::{Instant, timeout_at};

use crate::errors::Failure;
use crate::secret::Secret;

/// Longest body read, in bytes; an answer beyond it is a bad response.
const BODY_MAX: usize = 64 << 20;
/// Room made at once for a body of declared length, in bytes; more is made as it comes.
const BODY_ROOM_MAX: usize = 1 << 20;
/// An idle connection is closed after this; most servers keep theirs for a minute or more.
const IDLE: Duration = Duration::from_secs(50);

/// A connection pool to one endpoint. HTTP/1.1 only: a server would otherwise put thousands of calls on one connection, and hold
/// all but its first hundred or so back.
#[derive(Clone)]
pub(crate) struct Transport {
    client: Client,
    headers: HeaderMap,
    timeouts: Timeouts,
    secret: Secret,
    body_max: usize,
}

/// A whole answer, whatever its status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Why a client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The key holds characters that no header may hold.
    #[error("the key holds characters that cannot be sent in a header; check the variable for line breaks")]
    Key,
    /// Certificates or TLS settings.
    #[error("failed to set up TLS: {0}")]
    Tls(#[source] Box<dyn Error + Send + Sync>),
}

impl Transport {
    /// A pool for `url`. The key, if any, goes into the `authorization` header of every request.
    pub(crate) fn new(url: &Url, secret: Secret, timeouts: Timeouts) -> Result<Self, TransportError> {
        let mut headers = HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (ACCEPT, HeaderValue::from_static("application/json")),
        ]);
        if let Some(key) = secret.expose() {
            let mut value = HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| TransportError::Key)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let mut builder = Client::builder()
            .user_agent(concat!("regatta/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .http1_only()
            .tcp_nodelay(true)
            .pool_max_idle_per_host(usize::MAX)
            .pool_idle_timeout(IDLE)
            .connect_timeout(Duration::from_millis(timeouts.connect_ms))
            .tls_backend_preconfigured(tls(url.scheme() == "https")?);
        if is_loopback(url) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| TransportError::Tls(error.into()))?;
        Ok(Self { client, headers, timeouts, secret, body_max: BODY_MAX })
    }

    /// Sends `body` and reads the answer.
    ///
    /// # Errors
    /// No connection, no answer in time, or a successful answer whose body broke off or is too large. Any other status is an answer.
    pub(crate) async fn post(&self, url: &Url, extra: &HeaderMap, body: Bytes) -> Result<Answer, Failure> {
        let mut request = Request::new(Method::POST, url.clone());
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        headers.extend(extra.iter().map(|(name, value)| (name.clone(), value.clone())));
        *request.body_mut() = Some(body.into());

        let start = Instant::now();
        let end = start + Duration::from_millis(self.timeouts.total_ms);
        let first_byte = end.min(start + Duration::from_millis(self.timeouts.first_byte_ms));
        let response = match timeout_at(first_byte, self.client.execute(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.no_answer(error)),
            Err(_) => {
                let waited = self.timeouts.first_byte_ms.min(self.timeouts.total_ms);
                return Err(Failure::unanswered(ErrorClass::Timeout, format!("no answer began within {waited} ms")));
            }
        };
        let status = response.status();
        let headers = response.headers().clone();
        match timeout_at(end, self.read(response)).await {
            Ok(Ok(body)) => Ok(Answer { status: status.as_u16(), headers, body }),
            // The status of an error says enough.
            _ if !status.is_success() => Ok(Answer { status: status.as_u16(), headers, body: Bytes::new() }),
            Ok(Err(detail)) => Err(answered(ErrorClass::BadResponse, status, detail)),
            Err(_) => {
                let detail = format!("the answer was not complete within {} ms", self.timeouts.total_ms);
                Err(answered(ErrorClass::Timeout, status, detail))
            }
        }
    }

    /// The body, or a sentence about what is wrong with it.
    async fn read(&self, mut response: Response) -> Result<Bytes, String> {
        let too_large = || format!("the body is larger than {} bytes", self.body_max);
        let declared = response.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        if declared > self.body_max {
            return Err(too_large());
        }
        let broke_off = |read: usize, error| format!("the body broke off after {read} bytes: {}", self.explain(&error));
        // Almost every answer is one chunk, which then needs no copy.
        let first = response.chunk().await.map_err(|error| broke_off(0, error))?.unwrap_or_default();
        if first.len() > self.body_max {
            return Err(too_large());
        }
        if first.len() == declared {
            return Ok(first);
        }
        let mut body = BytesMut::with_capacity(declared.clamp(first.len(), BODY_ROOM_MAX.max(first.len())));
        body.extend_from_slice(&first);
        while let Some(chunk) = response.chunk().await.map_err(|error| broke_off(body.len(), error))? {
            if body.len() + chunk.len() > self.body_max {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }

    fn no_answer(&self, error: reqwest::Error) -> Failure {
        let detail = self.explain(&error);
        if error.is_timeout() {
            let unreached = error.is_connect();
            return Failure { unreached, ..Failure::unanswered(ErrorClass::Timeout, detail) };
        }
        if sources(&error).any(|source| source.downcast_ref().is_some_and(hyper::Error::is_parse)) {
            return Failure::unanswered(ErrorClass::BadResponse, detail);
        }
        Failure::unanswered(ErrorClass::Connection, detail)
    }

    /// The error with its causes and without its address.
    fn explain(&self, error: &reqwest::Error) -> String {
        let mut text = String::new();
        for source in sources(error).skip(1) {
            let _ = write!(text, "{}{source}", if text.is_empty() { "" } else { ": " });
        }
        self.secret.detail(if text.is_empty() { "the request failed" } else { &text })
    }
}

fn sources<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

fn answered(class: ErrorClass, status: StatusCode, detail: String) -> Failure {
    Failure { status: Some(status.as_u16()), ..Failure::unanswered(class, detail) }
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
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests;
