//! Batch APIs: many calls handed in at once, answered within a day, for less money.
//!
//! [`BatchClient`] is the door to them, as [`crate::Endpoint`] is to live calls; requests and answers of single lines are those of the
//! endpoint's wire format. What the two APIs look like is in `openai` and `anthropic` (pure), what both have in common in `shapes`.
//!
//! **No batch is handed in twice on suspicion.** Handing one in is the only step here that costs money, so it is the only one that is never
//! repeated blindly: [`SubmitError`] says whether the provider may have the batch all the same, and [`BatchClient::find`] looks for it.
//! OpenAI's batches carry our name, so the look is exact. Anthropic's carry nothing of ours before they are over; what is found there by
//! the number of requests and the time are candidates, and [`BatchClient::holds`] tells by the results whether one of them is it. That
//! time is bounded on both sides because nobody hands a batch in later than [`SUBMIT_WITHIN`] after its intent was written.
//!
//! Everything else may be repeated, and is, with the endpoint's own retries; dropping such a call half way does no harm.

mod anthropic;
mod call;
mod collection;
mod funding;
mod identity;
mod keeping;
mod openai;
mod sending;
mod shapes;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use regatta_proto::{EndpointKind, EndpointName, EndpointSpec, ErrorClass, Try};
use reqwest::header::HeaderMap;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

pub use call::{BatchCall, Collected};
pub use funding::{Funds, Spending};
use sending::{Payload, Sending, Trouble};
use shapes::{Batch, Envelope, Page, Stage};

use crate::cache::AnswerCache;
use crate::errors::Failure;
use crate::http::HttpClient;
use crate::metrics::EndpointMetrics;
use crate::wire::anthropic::VERSION;
use crate::{OpenContext, OpenError, PermitStore};

/// A batch is handed in at most this long after its intent was written, or not under that intent.
pub const SUBMIT_WITHIN: Duration = Duration::from_secs(60);

/// How far the clocks of a provider and a worker may be apart.
const CLOCKS_APART: SignedDuration = SignedDuration::from_mins(5);
/// Pages of the list of batches that are looked through, newest first: two thousand batches.
const PAGES_MAX: usize = 20;
/// Lines are sent in pieces of about this size, in bytes.
const PIECE_BYTES: usize = 1 << 20;
/// Lines written without giving others a turn.
const LINES_A_TURN: usize = 64;
/// Longest id of a provider that is put into an address.
const ID_LENGTH_MAX: usize = 200;

/// Which batch API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Api {
    OpenAi,
    Anthropic,
}

/// The batch API of one endpoint, opened once a process.
pub struct BatchClient {
    name: EndpointName,
    api: Api,
    sending: Sending,
    identify_sessions: bool,
    metrics: EndpointMetrics,
    cache: AnswerCache,
    permits: Arc<dyn PermitStore>,
}

/// The lines of a batch, written and ready to be sent.
#[derive(Debug)]
pub struct Prepared {
    envelope: Envelope,
    pieces: Vec<Bytes>,
    /// Lines in it.
    pub lines: usize,
    /// Bytes of them.
    pub bytes: usize,
    /// Whether the provider takes no batch of that size.
    pub is_too_large: bool,
}

/// A batch was not handed in.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SubmitError {
    /// The provider does not have it.
    #[error("the batch was not taken: {}", .0.detail)]
    NotTaken(Try),
    /// Nobody knows whether the provider has it: look for it.
    #[error("nobody knows whether the batch was taken: {}", .0.detail)]
    Unclear(Try),
    /// Interrupted before it was handed in.
    #[error("interrupted before the batch was handed in")]
    Interrupted,
}

/// What a look for a batch has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It is not there.
    Nothing,
    /// This is it.
    Exactly(String),
    /// It may be one of these; see [`BatchClient::holds`].
    Perhaps(Vec<String>),
}

/// How far a batch is.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchProgress {
    /// What can be done with it.
    pub state: BatchState,
    /// Requests that are over.
    pub done: u64,
    /// Requests in all; 0 while the provider still counts them.
    pub total: u64,
}

/// What can be done with a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum BatchState {
    /// Wait.
    Running,
    /// Collect its results: it is done, or expired, or cancelled, with what it got done till then.
    Ended,
    /// Nothing: the provider refused it as a whole, and nothing of it was worked on.
    Failed(Try),
}

impl BatchClient {
    /// Opens the batch API of `spec`, an endpoint of OpenAI's or Anthropic's kind or a simulated one. Nothing is sent.
    ///
    /// # Errors
    /// When the key's variable is not set or the address is none; names the endpoint.
    pub fn open(name: &EndpointName, spec: &EndpointSpec, context: &OpenContext<'_>) -> Result<Self, OpenError> {
        let http = HttpClient::open(name, spec, context)?;
        let (api, prefix, headers) = match spec.kind {
            // As for live calls, the address may end in the version or not.
            EndpointKind::Anthropic => {
                let prefix = if http.base().ends_with("/v1") { "" } else { "/v1" };
                (Api::Anthropic, prefix, HeaderMap::from_iter([VERSION]))
            }
            _ => (Api::OpenAi, "", HeaderMap::new()),
        };
        Ok(Self {
            name: name.clone(),
            api,
            sending: Sending {
                http,
                prefix,
                headers,
                timeouts: spec.timeouts,
                retries: spec.retries,
                seed: context.seed,
                calls: AtomicU64::new(0),
            },
            // A simulated endpoint answers by session, so it is always told.
            identify_sessions: spec.identify_sessions || spec.kind == EndpointKind::Simulated,
            metrics: EndpointMetrics::new(Arc::clone(&context.metrics), name),
            cache: AnswerCache::new(Arc::clone(&context.answers), spec),
            permits: Arc::clone(&context.permits),
        })
    }

    /// Writes the lines of the batch `id`: one for each call that can be said in the endpoint's format. Those that cannot are left out;
    /// [`Self::collect`] says why.
    pub async fn prepare(&self, id: &str, calls: &[BatchCall<'_>]) -> Prepared {
        let (mut pieces, mut piece) = (Vec::new(), Vec::new());
        let (mut lines, mut bytes) = (0, 0);
        for (position, call) in calls.iter().enumerate() {
            if position % LINES_A_TURN == LINES_A_TURN - 1 {
                tokio::task::yield_now().await;
            }
            let before = piece.len();
            let Ok(body) = self.body(call) else { continue };
            if self.write_line(&mut piece, lines == 0, &custom_id(id, position), &body).is_err() {
                piece.truncate(before);
                continue;
            }
            lines += 1;
            bytes += piece.len() - before;
            if piece.len() >= PIECE_BYTES {
                pieces.push(std::mem::take(&mut piece).into());
            }
        }
        pieces.push(piece.into());
        let (envelope, bytes_max) = match self.api {
            Api::OpenAi => (openai::envelope(id), openai::FILE_BYTES_MAX),
            Api::Anthropic => (anthropic::envelope(), anthropic::REQUEST_BYTES_MAX),
        };
        let is_too_large = envelope.head.len() + bytes + envelope.tail.len() > bytes_max;
        Prepared { envelope, pieces, lines, bytes, is_too_large }
    }

    /// Hands the batch `id` in; returns the provider's id of it. `interrupt` keeps it from being handed in, but does not cut off a
    /// request that may hand it in.
    ///
    /// # Errors
    /// When it was not handed in, or may not have been.
    pub async fn submit(&self, id: &str, prepared: Prepared, interrupt: &CancellationToken) -> Result<String, SubmitError> {
        let Prepared { envelope, pieces, .. } = prepared;
        let lines = Payload {
            content_type: envelope.content_type,
            pieces: [envelope.head].into_iter().chain(pieces).chain([envelope.tail]).collect(),
        };
        let (path, payload) = match self.api {
            Api::Anthropic => (anthropic::BATCHES, lines),
            Api::OpenAi => {
                // A file costs nothing, so this may be repeated, and broken off.
                let uploading = self.sending.repeated(interrupt, || async {
                    let answer = self.sending.post(openai::FILES, &lines).await?;
                    openai::read_file(&answer).map_err(|error| self.sending.unreadable("the description of a file", &error).into())
                });
                let Some(uploaded) = interrupt.run_until_cancelled(uploading).await else {
                    return Err(SubmitError::Interrupted);
                };
                let file = uploaded.map_err(|trouble| SubmitError::NotTaken(tried(trouble.failure)))?;
                let creation = openai::creation(&file, id)
                    .map_err(|error| SubmitError::NotTaken(tried(self.sending.unreadable("the request for a batch", &error))))?;
                (openai::BATCHES, Payload::json(creation))
            }
        };
        self.hand_in(path, &payload, interrupt).await
    }

    /// Posts what makes a batch until it is clear whether there is one.
    async fn hand_in(&self, path: &str, payload: &Payload, interrupt: &CancellationToken) -> Result<String, SubmitError> {
        let once = || async {
            if interrupt.is_cancelled() {
                return Ok(None);
            }
            match self.sending.post(path, payload).await {
                Ok(answer) => {
                    let read = self.read_batch(&answer).map(|batch| batch.id).and_then(|id| self.checked_id(id));
                    // It was taken, under a name that we did not get to know.
                    Ok(Some(read.map_err(|failure| SubmitError::Unclear(tried(failure)))))
                }
                Err(Trouble { failure, may_be_done: true }) => Ok(Some(Err(SubmitError::Unclear(tried(failure))))),
                Err(trouble) => Err(trouble),
            }
        };
        match self.sending.repeated(interrupt, once).await {
            Ok(Some(result)) => result,
            Ok(None) => Err(SubmitError::Interrupted),
            Err(trouble) => Err(SubmitError::NotTaken(tried(trouble.failure))),
        }
    }

    /// Why `call` cannot be a line of a batch; `None` when it can.
    #[must_use]
    pub fn refusal(&self, call: &BatchCall<'_>) -> Option<Try> {
        self.body(call).err().map(tried)
    }

    /// Looks for the batch `id` of `lines` lines, which was or was not handed in after `intended_at`.
    ///
    /// # Errors
    /// When the list of batches cannot be had.
    pub async fn find(&self, id: &str, intended_at: Timestamp, lines: usize) -> Result<Found, Try> {
        let from = intended_at - CLOCKS_APART;
        let to = intended_at + CLOCKS_APART + self.sending.longest_post();
        let (mut after, mut perhaps) = (None, Vec::new());
        for _ in 0..PAGES_MAX {
            let page = self.page(after.as_deref()).await.map_err(tried)?;
            // Newest first, so that what comes after a page of older ones is older still.
            let is_last = page.batches.iter().all(|batch| batch.created_at.is_some_and(|created| created < from));
            for batch in page.batches {
                let is_of_that_time = batch.created_at.is_none_or(|created| from <= created && created <= to);
                match self.api {
                    // One that was refused is as good as none.
                    Api::OpenAi if batch.name.as_deref() == Some(id) && !matches!(batch.stage, Stage::Failed { .. }) => {
                        return self.checked_id(batch.id).map(Found::Exactly).map_err(tried);
                    }
                    Api::Anthropic if is_of_that_time && batch.total == lines as u64 => perhaps.push(batch.id),
                    _ => {}
                }
            }
            let Some(next) = page.next.filter(|_| !is_last) else { break };
            after = Some(self.checked_id(next).map_err(tried)?);
        }
        Ok(if perhaps.is_empty() { Found::Nothing } else { Found::Perhaps(perhaps) })
    }

    /// Whether the provider's batch, which must be over, is our batch `id`.
    ///
    /// # Errors
    /// When its results cannot be had.
    pub async fn holds(&self, provider_id: &str, id: &str) -> Result<bool, Try> {
        let batch = self.batch(provider_id).await.map_err(tried)?;
        let paths = self.results(&batch).map_err(tried)?;
        let Some(path) = paths.first() else { return Ok(false) };
        let mut is_ours = false;
        let mut on_line = |_: &HeaderMap, line: &[u8]| {
            let custom_id = self.read_result(line).map(|result| result.custom_id);
            is_ours = custom_id.is_ok_and(|custom_id| position(id, &custom_id).is_some());
            false
        };
        self.sending.lines(path, &mut on_line).await.map_err(tried)?;
        Ok(is_ours)
    }

    /// Looks at a batch.
    ///
    /// # Errors
    /// When it cannot be had.
    pub async fn poll(&self, provider_id: &str) -> Result<BatchProgress, Try> {
        let batch = self.batch(provider_id).await.map_err(tried)?;
        let state = match batch.stage {
            Stage::Running => BatchState::Running,
            Stage::Ended | Stage::Expired | Stage::Cancelled => BatchState::Ended,
            Stage::Failed { class, message } => BatchState::Failed(tried(self.sending.failure(class, &message))),
        };
        Ok(BatchProgress { state, done: batch.done, total: batch.total })
    }

    /// Asks for a batch to be cancelled. What of it is under way may still be done, and billed.
    ///
    /// # Errors
    /// When the provider does not take the request.
    pub async fn cancel(&self, provider_id: &str) -> Result<(), Try> {
        let id = self.checked_id(provider_id.to_owned()).map_err(tried)?;
        let path = format!("{}/{id}/cancel", self.batches());
        self.sending.post(&path, &Payload::json("{}")).await.map(drop).map_err(|trouble| tried(trouble.failure))
    }

    async fn batch(&self, provider_id: &str) -> Result<Batch, Failure> {
        let id = self.checked_id(provider_id.to_owned())?;
        let path = format!("{}/{id}", self.batches());
        let read = match self.api {
            Api::OpenAi => openai::read_batch,
            Api::Anthropic => anthropic::read_batch,
        };
        let batch = self.sending.get(&path, "the description of a batch", read).await?;
        // Ours, and not what the answer calls itself, goes into further addresses.
        Ok(Batch { id, ..batch })
    }

    async fn page(&self, after: Option<&str>) -> Result<Page, Failure> {
        match self.api {
            Api::OpenAi => self.sending.get(&openai::page(after), "a list of batches", openai::read_page).await,
            Api::Anthropic => self.sending.get(&anthropic::page(after), "a list of batches", anthropic::read_page).await,
        }
    }

    const fn batches(&self) -> &'static str {
        match self.api {
            Api::OpenAi => openai::BATCHES,
            Api::Anthropic => anthropic::BATCHES,
        }
    }

    fn read_batch(&self, body: &[u8]) -> Result<Batch, Failure> {
        let read = match self.api {
            Api::OpenAi => openai::read_batch(body),
            Api::Anthropic => anthropic::read_batch(body),
        };
        read.map_err(|error| self.sending.unreadable("the description of a batch", &error))
    }

    /// The body of the line of `call`, or why there is none.
    fn body(&self, call: &BatchCall<'_>) -> Result<Box<RawValue>, Failure> {
        // Without the session, which would go into headers.
        let prepared = self.sending.http.prepare(call.model, call.request, None)?;
        let body = if self.identify_sessions {
            identity::identified(self.api, &prepared.body, &call.session)
        } else {
            serde_json::from_slice(&prepared.body)
        };
        body.map_err(|error| self.sending.failure(ErrorClass::BadRequest, &format!("the request is no JSON object: {error}")))
    }

    fn write_line(&self, out: &mut Vec<u8>, is_first: bool, custom_id: &str, body: &RawValue) -> Result<(), serde_json::Error> {
        match self.api {
            Api::OpenAi => openai::write_line(out, custom_id, body),
            Api::Anthropic => anthropic::write_line(out, is_first, custom_id, body),
        }
    }

    /// An id that may stand in an address.
    fn checked_id(&self, id: String) -> Result<String, Failure> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !id.is_empty() && id.len() <= ID_LENGTH_MAX && id.chars().all(is_plain) && id.chars().any(|c| c != '.') {
            return Ok(id);
        }
        Err(self.sending.failure(ErrorClass::BadResponse, &format!("{id:?} is no id")))
    }
}

impl fmt::Debug for BatchClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BatchClient({})", self.name)
    }
}

/// What a line is called: unique for ever, so that it is also the id of the attempt that it is.
fn custom_id(id: &str, position: usize) -> String {
    format!("{id}-{position}")
}

/// The position that a line's name tells, if it is a line of `id`.
fn position(id: &str, custom_id: &str) -> Option<usize> {
    custom_id.strip_prefix(id)?.strip_prefix('-')?.parse().ok()
}

/// A failure as it is written down. How long it took says nothing about a batch.
fn tried(failure: Failure) -> Try {
    failure.into_try(Duration::ZERO)
}

#[cfg(test)]
mod tests;
