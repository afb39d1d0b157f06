//! HTTP client of a batch API: every exchange is bounded, every error classified, and every request retried that is harmless to repeat.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::stream;
use jiff::SignedDuration;
use regatta_proto::{ErrorClass, Retries, Timeouts};
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Body, Method, Request, Response, Url};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::SUBMIT_WITHIN;
use crate::errors::{Failure, rule};
use crate::http::HttpClient;
use crate::retry::Schedule;
use crate::transport::Answer;

/// Longest answer that is not a file of results, in bytes: a page of a list of batches.
const ANSWER_BYTES_MAX: usize = 4 << 20;
/// Longest line of results, in bytes: one answer of a model.
const LINE_BYTES_MAX: usize = 64 << 20;
/// Longest file of results, in bytes: ten times the size of the largest upload.
const RESULTS_BYTES_MAX: u64 = 2 << 30;
/// Least time for uploading a batch's lines, or downloading its results: files of hundreds of megabytes. Short enough that a worker which
/// has to release a batch within twenty minutes does so before the broker takes it away after thirty.
const TRANSFER: Duration = Duration::from_secs(8 * 60);

/// HTTP client of one batch API.
pub(super) struct Sending {
    /// The endpoint, as live calls use it.
    pub(super) http: HttpClient,
    /// Part of the path between the base address and the routes of the batch API.
    pub(super) prefix: &'static str,
    /// Headers of every request, besides those of live calls.
    pub(super) headers: HeaderMap,
    pub(super) timeouts: Timeouts,
    pub(super) retries: Retries,
    /// Seed of the jitter between tries.
    pub(super) seed: u64,
    pub(super) calls: AtomicU64,
}

/// Body of a `POST`, in pieces, so that hundreds of megabytes are not copied into one buffer.
#[derive(Debug, Clone)]
pub(super) struct Payload {
    pub(super) content_type: String,
    pub(super) pieces: Vec<Bytes>,
}

/// An exchange that failed.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) failure: Failure,
    /// The endpoint may have carried out the request all the same.
    pub(super) may_be_done: bool,
}

impl Payload {
    pub(super) fn json(body: impl Into<Bytes>) -> Self {
        Self { content_type: "application/json".to_owned(), pieces: vec![body.into()] }
    }

    fn bytes(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }
}

impl Sending {
    /// The failure for an answer that lacks what it should have.
    pub(super) fn unreadable(&self, what: &str, error: &serde_json::Error) -> Failure {
        self.failure(ErrorClass::BadResponse, &format!("{what} cannot be read: {error}"))
    }

    /// Sends `GET` for `path`, with retries, and parses the answer.
    pub(super) async fn get<T>(
        &self,
        path: &str,
        what: &str,
        read: impl Fn(&[u8]) -> Result<T, serde_json::Error>,
    ) -> Result<T, Failure> {
        let once = || async {
            let answer = self.exchange(Method::GET, path, None).await?;
            read(&answer).map_err(|error| self.unreadable(what, &error).into())
        };
        self.repeated(&CancellationToken::new(), once).await.map_err(|trouble| trouble.failure)
    }

    /// Sends `POST` to `path`, without retries.
    pub(super) async fn post(&self, path: &str, payload: &Payload) -> Result<Bytes, Trouble> {
        self.exchange(Method::POST, path, Some(payload)).await
    }

    /// Runs `once` until it succeeds, within the endpoint's retry limits. Only for idempotent requests. Once `hurry` fires, retries follow
    /// without pauses.
    pub(super) async fn repeated<T, Fut>(&self, hurry: &CancellationToken, once: impl Fn() -> Fut) -> Result<T, Trouble>
    where
        Fut: Future<Output = Result<T, Trouble>>,
    {
        let mut schedule = None;
        let mut spent = Duration::ZERO;
        loop {
            let begun = Instant::now();
            let trouble = match once().await {
                Ok(done) => return Ok(done),
                Err(trouble) => trouble,
            };
            spent += begun.elapsed();
            let failure = &trouble.failure;
            let was_refused = failure.class == ErrorClass::RateLimited;
            let schedule = schedule.get_or_insert_with(|| Schedule::new(self.retries, self.next_seed()));
            let delay = schedule.next_delay(spent, was_refused, failure.retry_after);
            let Some(delay) = delay.filter(|_| rule(failure.class).retried) else { return Err(trouble) };
            tracing::debug!(detail = failure.detail, "a batch API did not answer as it should, trying again");
            spent += delay;
            hurry.run_until_cancelled(sleep(delay)).await;
        }
    }

    /// Downloads the file at `path` and passes each of its lines to `on_line`, in order, with one line in memory at a time. `on_line`
    /// returns `false` to stop. If the download breaks off, it starts again at the beginning.
    pub(super) async fn lines(
        &self,
        path: &str,
        on_line: &mut (dyn FnMut(&HeaderMap, &[u8]) -> bool + Send),
    ) -> Result<(), Failure> {
        let on_line = tokio::sync::Mutex::new(on_line);
        let once = || async { self.lines_once(path, &mut **on_line.lock().await).await.map_err(Trouble::from) };
        self.repeated(&CancellationToken::new(), once).await.map_err(|trouble| trouble.failure)
    }

    async fn lines_once(
        &self,
        path: &str,
        on_line: &mut (dyn FnMut(&HeaderMap, &[u8]) -> bool + Send),
    ) -> Result<(), Failure> {
        let end = Instant::now() + self.transfer();
        let mut response = self.begin(self.request(Method::GET, path, None)?, end).await.map_err(|it| it.failure)?;
        let headers = response.headers().clone();
        let pause = Duration::from_millis(self.timeouts.first_byte_ms);
        let mut held = self.http.bytes().holder().read();
        let (mut rest, mut read) = (BytesMut::new(), 0_u64);
        loop {
            let chunk = match timeout_at(end, timeout(pause, response.chunk())).await {
                Ok(Ok(Ok(Some(chunk)))) => chunk,
                Ok(Ok(Ok(None))) => break,
                Ok(Ok(Err(error))) => {
                    return Err(self.failure(
                        ErrorClass::BadResponse,
                        &format!("the results broke off: {}", self.http.transport().explain(&error)),
                    ));
                }
                Ok(Err(_)) | Err(_) => return Err(self.failure(ErrorClass::Timeout, "results did not come in time")),
            };
            read += chunk.len() as u64;
            // While there is no room, nothing further is downloaded.
            match timeout_at(end, held.grow(chunk.len() as u64)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Err(self.failure(ErrorClass::BadResponse, &error.to_string())),
                Err(_) => return Err(self.failure(ErrorClass::Timeout, "results did not come in time")),
            }
            // The rest of the last chunk has no line feed.
            let mut seen = rest.len();
            rest.extend_from_slice(&chunk);
            while let Some(end) = rest[seen..].iter().position(|byte| *byte == b'\n') {
                let line = rest.split_to(seen + end + 1);
                seen = 0;
                if !is_blank(&line) && !on_line(&headers, &line) {
                    return Ok(());
                }
            }
            held.shrink_to(rest.len() as u64);
            if rest.len() > LINE_BYTES_MAX || read > RESULTS_BYTES_MAX {
                return Err(self.failure(ErrorClass::BadRequest, "the results are too large to be read"));
            }
        }
        if !is_blank(&rest) {
            on_line(&headers, &rest);
        }
        Ok(())
    }

    /// Sends one request and returns the whole answer of a success.
    async fn exchange(&self, method: Method, path: &str, payload: Option<&Payload>) -> Result<Bytes, Trouble> {
        let transfers = payload.is_some_and(|payload| payload.bytes() > ANSWER_BYTES_MAX);
        let total = Duration::from_millis(self.timeouts.total_ms);
        let end = Instant::now() + if transfers { self.transfer() } else { total };
        let may_be_done = method == Method::POST;
        let request = self.request(method, path, payload)?;
        let response = self.begin(request, end).await?;
        match timeout_at(end, self.body(response)).await {
            Ok(Ok(body)) => Ok(body),
            Ok(Err(detail)) => Err(Trouble { failure: self.failure(ErrorClass::BadResponse, &detail), may_be_done }),
            Err(_) => Err(Trouble {
                failure: self.failure(ErrorClass::Timeout, "the answer was not complete in time"),
                may_be_done,
            }),
        }
    }

    fn request(&self, method: Method, path: &str, payload: Option<&Payload>) -> Result<Request, Failure> {
        let address = format!("{}{}{path}", self.http.base(), self.prefix);
        let url = Url::parse(&address)
            .map_err(|error| self.failure(ErrorClass::BadRequest, &format!("{address} is no address: {error}")))?;
        let mut request = Request::new(method, url);
        request.headers_mut().clone_from(self.http.transport().headers());
        request.headers_mut().extend(self.headers.clone());
        request.headers_mut().extend(self.http.headers().clone());
        if let Some(payload) = payload {
            if let Ok(value) = HeaderValue::try_from(&payload.content_type) {
                request.headers_mut().insert(CONTENT_TYPE, value);
            }
            // Set explicitly, because some servers refuse a body of unknown length.
            request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(payload.bytes()));
            let pieces: Vec<Result<Bytes, Infallible>> = payload.pieces.iter().cloned().map(Ok).collect();
            *request.body_mut() = Some(Body::wrap_stream(stream::iter(pieces)));
        }
        Ok(request)
    }

    /// Sends a request and returns as soon as the answer of a success begins.
    async fn begin(&self, request: Request, end: Instant) -> Result<Response, Trouble> {
        let may_be_done = request.method() == Method::POST;
        let response = match timeout_at(end, self.http.transport().execute(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(Failure { class, detail, maybe_billed, .. })) => {
                // An answer that is no HTTP comes after the request, too.
                let was_sent = maybe_billed || class == ErrorClass::BadResponse;
                let class = if class == ErrorClass::Timeout { class } else { ErrorClass::Connection };
                return Err(Trouble { failure: self.failure(class, &detail), may_be_done: may_be_done && was_sent });
            }
            Err(_) => {
                return Err(Trouble {
                    failure: self.failure(ErrorClass::Timeout, "no answer began in time"),
                    may_be_done,
                });
            }
        };
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let headers = response.headers().clone();
        // If the body cannot be read, the status alone determines the class.
        let body = timeout_at(end, self.body(response)).await.ok().and_then(Result::ok).unwrap_or_default();
        let answer = Answer { status: status.as_u16(), headers, body };
        let failure = self.http.format().answer(&answer, &self.http.context()).err().unwrap_or_else(|| {
            self.failure(ErrorClass::BadResponse, &format!("an answer of status {status} that reads like a success"))
        });
        // A gateway's time-out tells nothing about the server behind it.
        let is_clear = status.is_client_error() && !matches!(status.as_u16(), 408 | 409);
        Err(Trouble { failure, may_be_done: may_be_done && !is_clear })
    }

    /// Reads the whole body, or returns a sentence about its problem.
    async fn body(&self, mut response: Response) -> Result<Bytes, String> {
        let (mut body, mut held) = (BytesMut::new(), self.http.bytes().holder().read());
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > ANSWER_BYTES_MAX => {
                    return Err(format!("the answer is larger than {ANSWER_BYTES_MAX} bytes"));
                }
                Ok(Some(chunk)) => {
                    held.grow(chunk.len() as u64).await.map_err(|error| error.to_string())?;
                    body.extend_from_slice(&chunk);
                }
                Ok(None) => return Ok(body.freeze()),
                Err(error) => return Err(format!("the answer broke off: {}", self.http.transport().explain(&error))),
            }
        }
    }

    /// Longest time after its intent at which a batch can be created, if its submission began in time.
    pub(super) fn longest_post(&self) -> SignedDuration {
        bounded(self.longest_tries().saturating_add(self.transfer()))
    }

    /// Longest time after its intent at which the last try at one request of a submission begins, if the submission began in time.
    pub(super) fn last_try(&self) -> SignedDuration {
        bounded(self.longest_tries())
    }

    fn longest_tries(&self) -> Duration {
        let tries = Duration::from_millis(self.retries.deadline_ms.saturating_add(self.retries.max_delay_ms));
        SUBMIT_WITHIN.saturating_add(tries)
    }

    /// Longest time that one request with lines, or one download of results, may take.
    pub(super) fn transfer(&self) -> Duration {
        Duration::from_millis(self.timeouts.total_ms).max(TRANSFER)
    }

    /// A failure of an exchange, which costs nothing itself.
    pub(super) fn failure(&self, class: ErrorClass, detail: &str) -> Failure {
        Failure { maybe_billed: false, ..Failure::unanswered(class, self.http.context().secret.detail(detail)) }
    }

    fn next_seed(&self) -> u64 {
        self.seed ^ self.calls.fetch_add(1, Ordering::Relaxed)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self { failure, may_be_done: false }
    }
}

/// A spec may give any number; more than a year is cut to a year.
fn bounded(longest: Duration) -> SignedDuration {
    SignedDuration::try_from(longest).unwrap_or(SignedDuration::MAX).min(SignedDuration::from_hours(365 * 24))
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}
