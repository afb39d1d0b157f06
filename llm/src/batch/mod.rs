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
mod search;
mod sending;
mod shapes;
mod submission;

use futures::future::BoxFuture;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use regatta_proto::{EndpointKind, EndpointName, EndpointSpec, ErrorClass, Try};
use reqwest::header::HeaderMap;

pub use call::{BatchCall, Collected};
pub use funding::{Funds, Spending};
pub use search::Found;
use sending::{Payload, Sending};
use shapes::{Batch, Stage};
pub use submission::{Prepared, SubmitError};

use crate::cache::AnswerCache;
use crate::errors::Failure;
use crate::http::HttpClient;
use crate::metrics::EndpointMetrics;
use crate::open::address;
use crate::wire::anthropic::VERSION;
use crate::{OpenContext, OpenError, PermitStore};

/// A batch is handed in at most this long after its intent was written, or not under that intent.
pub const SUBMIT_WITHIN: Duration = Duration::from_secs(60);

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
            cache: AnswerCache::new(Arc::clone(&context.answers), spec, address(spec, context.env).as_deref()),
            permits: Arc::clone(&context.permits),
        })
    }

    /// Looks at a batch.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn poll<'a>(&'a self, provider_id: &'a str) -> BoxFuture<'a, Result<BatchProgress, Try>> {
        Box::pin(async move {
            let batch = self.batch(provider_id).await.map_err(tried)?;
            let state = match batch.stage {
                Stage::Running => BatchState::Running,
                Stage::Ended | Stage::Expired | Stage::Cancelled => BatchState::Ended,
                Stage::Failed { class, message } => BatchState::Failed(tried(self.sending.failure(class, &message))),
            };
            Ok(BatchProgress { state, done: batch.done, total: batch.total })
        })
    }

    /// Asks for a batch to be cancelled. What of it is under way may still be done, and billed.
    ///
    /// # Errors
    /// When the provider does not take the request.
    pub fn cancel<'a>(&'a self, provider_id: &'a str) -> BoxFuture<'a, Result<(), Try>> {
        Box::pin(async move {
            let id = self.checked_id(provider_id.to_owned()).map_err(tried)?;
            let path = format!("{}/{id}/cancel", self.batches());
            self.sending.post(&path, &Payload::json("{}")).await.map(drop).map_err(|trouble| tried(trouble.failure))
        })
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

    const fn batches(&self) -> &'static str {
        match self.api {
            Api::OpenAi => openai::BATCHES,
            Api::Anthropic => anthropic::BATCHES,
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
