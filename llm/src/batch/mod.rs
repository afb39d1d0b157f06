//! Batch APIs: many calls are submitted at once and answered within a day, at a lower price.
//!
//! [`BatchClient`] is the interface to them, as [`crate::Endpoint`] is to live calls. Requests and answers of single lines have the
//! endpoint's wire format. The modules `openai` and `anthropic` translate the two APIs (pure), `shapes` has the types that both share.
//!
//! **A batch is never submitted again because the first submission is in doubt.** Submitting is the only step that costs money, so it is
//! the only one that is not simply repeated: [`SubmitError`] tells whether the provider may have the batch all the same, and
//! [`BatchClient::find`] looks for it. OpenAI's batches carry our name, so the search is exact. Anthropic's carry no name of ours before
//! they have ended; the search finds candidates by number of requests and time, and [`BatchClient::holds`] compares their results. The time
//! is bounded on both sides because no submission begins later than [`SUBMIT_WITHIN`] after its intent was recorded, and no batch is created
//! later than [`BatchClient::created_within`] says.
//!
//! All other steps may be repeated, and are, with the endpoint's retries; cancelling such a call half way does no harm.

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
pub use funding::{Funding, Spending};
pub use search::Found;
use sending::{Payload, Sending};
use shapes::{Batch, Stage};
pub use submission::{MayCreate, Prepared, SubmitError};

use crate::cache::ResponseCache;
use crate::errors::Failure;
use crate::http::HttpClient;
use crate::metrics::EndpointMetrics;
use crate::open::address;
use crate::wire::anthropic::VERSION;
use crate::{OpenContext, OpenError, PermitStore};

/// Time after the recording of an intent within which the submission of its batch begins, or does not under that intent.
pub const SUBMIT_WITHIN: Duration = Duration::from_secs(60);

/// Longest provider id, in characters, that is put into a URL.
const ID_LENGTH_MAX: usize = 200;

/// The provider whose batch API is used.
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
    cache: ResponseCache,
    permits: Arc<dyn PermitStore>,
}

/// Progress of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchProgress {
    /// The state, which determines the next step.
    pub state: BatchState,
    /// Requests that have ended.
    pub done: u64,
    /// All requests of the batch; 0 while the provider still counts them.
    pub total: u64,
}

/// State of a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum BatchState {
    /// In progress: poll again later.
    Running,
    /// Complete, expired or cancelled: its results, as far as there are any, can be collected.
    Ended,
    /// The provider refused the batch as a whole, and answered no line of it.
    Failed(Try),
}

impl BatchClient {
    /// Opens the batch API of `spec`, an endpoint of OpenAI's or Anthropic's kind or a simulated one. Nothing is sent.
    ///
    /// # Errors
    /// When the key's variable is not set or the address is invalid; names the endpoint.
    pub fn open(name: &EndpointName, spec: &EndpointSpec, context: &OpenContext<'_>) -> Result<Self, OpenError> {
        let http = HttpClient::open(name, spec, context)?;
        let (api, prefix, headers) = match spec.kind {
            // The address may end in the version or not, as for live calls.
            EndpointKind::Anthropic => {
                let prefix = if http.base().ends_with("/v1") { "" } else { "/v1" };
                (Api::Anthropic, prefix, HeaderMap::from_iter([VERSION]))
            }
            // Kinds without batches are refused where specs are read.
            EndpointKind::Openai
            | EndpointKind::Simulated
            | EndpointKind::OpenaiResponses
            | EndpointKind::Azure
            | EndpointKind::Gemini
            | EndpointKind::Bedrock
            | EndpointKind::Encoder
            | EndpointKind::Recorded => (Api::OpenAi, "", HeaderMap::new()),
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
            cache: ResponseCache::new(Arc::clone(&context.answers), spec, address(spec, context.env).as_deref()),
            permits: Arc::clone(&context.permits),
        })
    }

    /// Fetches the progress of a batch.
    ///
    /// # Errors
    /// When the provider does not return it.
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

    /// Requests cancellation of a batch. Lines in progress may still complete and be billed.
    ///
    /// # Errors
    /// When the provider does not accept the request.
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
        // Further URLs use our id, not the one in the answer.
        Ok(Batch { id, ..batch })
    }

    const fn batches(&self) -> &'static str {
        match self.api {
            Api::OpenAi => openai::BATCHES,
            Api::Anthropic => anthropic::BATCHES,
        }
    }

    /// Checks that an id can be part of a URL.
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

/// The name of a line, which is globally unique, because it also serves as the id of its attempt.
fn custom_id(id: &str, position: usize) -> String {
    format!("{id}-{position}")
}

/// The position in a line's name; `None` if it is no line of the batch `id`.
fn position(id: &str, custom_id: &str) -> Option<usize> {
    custom_id.strip_prefix(id)?.strip_prefix('-')?.parse().ok()
}

/// A failure as an entry of the transcript. Latency is not meaningful for a batch.
fn tried(failure: Failure) -> Try {
    failure.into_try(Duration::ZERO)
}

#[cfg(test)]
mod tests;
