//! Endpoints of a spec: where, how, with which limits.

use std::collections::BTreeMap;
use std::path::PathBuf;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Digest, EndpointName, Simulation, SweepId, json_bytes};

/// What an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndpointKind {
    /// OpenAI chat completions and embeddings, and everything compatible.
    Openai,
    /// OpenAI responses.
    #[serde(alias = "openai-responses")]
    OpenaiResponses,
    /// OpenAI chat completions as Azure serves them: the deployment in the path, `api-version`, and a header for the key.
    Azure,
    /// Anthropic messages.
    Anthropic,
    /// Google Gemini's `generateContent`.
    Gemini,
    /// AWS Bedrock's Converse.
    Bedrock,
    /// A simulated endpoint that `regatta run` starts on loopback, over HTTP like a real one.
    Simulated,
    /// A sentence-transformers directory, run inside the worker.
    Encoder,
    /// Verdicts recorded in a file.
    Recorded,
}

impl EndpointKind {
    /// Whether it is a model behind HTTP that can chat.
    #[must_use]
    pub const fn chats(self) -> bool {
        !matches!(self, Self::Encoder | Self::Recorded)
    }

    /// `true` if its format has a field for a seed.
    #[must_use]
    pub const fn has_seed(self) -> bool {
        match self {
            Self::Openai | Self::Azure | Self::Gemini | Self::Simulated => true,
            Self::OpenaiResponses | Self::Anthropic | Self::Bedrock | Self::Encoder | Self::Recorded => false,
        }
    }

    /// Whether specs may name its address.
    #[must_use]
    pub const fn takes_address(self) -> bool {
        self.chats() && !matches!(self, Self::Simulated)
    }
}

/// How calls are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// One by one, answered at once.
    #[default]
    Live,
    /// By the provider's batch API: answered within a day, for less money. For benchmarks whose sessions are one call.
    Batch,
}

impl Lane {
    /// Whether it is [`Lane::Live`].
    #[must_use]
    pub fn is_live(&self) -> bool {
        *self == Self::Live
    }
}

/// An endpoint: an address with the name of its credentials, a wire format and limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EndpointSpec {
    /// What it speaks.
    pub kind: EndpointKind,
    /// Address up to and including the version, as `https://api.openai.com/v1`. Default: the provider's usual variable (`OPENAI_BASE_URL`,
    /// `ANTHROPIC_BASE_URL`, `GEMINI_BASE_URL`, `AZURE_OPENAI_ENDPOINT`), else the provider's own address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Name of the environment variable that holds the key. Default: the provider's usual one (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`,
    /// `GEMINI_API_KEY`, `AZURE_OPENAI_API_KEY`; Bedrock uses AWS credentials); `none` sends no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// `api-version` of Azure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Region of Bedrock; default: that of the AWS environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Further headers of every request, as `OpenAI-Organization`. Never secrets: specs are stored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Further headers of every request whose values are secrets, by the name of the environment variable that holds each, as
    /// `x-litellm-api-key: LITELLM_KEY`. The policy of whoever sends them says where they may go, as for `api_key_env`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers_env: BTreeMap<String, String>,
    /// Further fields of every request's body, as `{"provider": {"order": ["a"]}}`; they go before Regatta's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub body: BTreeMap<String, serde_json::Value>,
    /// Have answers streamed, to measure the time to the first token.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    /// How calls are sent.
    #[serde(default, skip_serializing_if = "Lane::is_live")]
    pub lane: Lane,
    /// How batches are made; of `lane: batch` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchSettings>,
    /// Directory of the model (`encoder`) or file of the verdicts (`recorded`), relative to the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub path: Option<PathBuf>,
    /// Digest of the recorded verdicts in Blobs; filled in by the plan, not written by people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
    /// Send headers that name the session (`x-regatta-item` and its like), for gateways that trace and for simulated endpoints.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub identify_sessions: bool,
    /// Send the session's seed with every request. Default: true at the own addresses of OpenAI (chat completions) and Gemini and at Azure,
    /// false elsewhere, because compatible servers may refuse it; Anthropic, OpenAI's responses and Bedrock take none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_seed: Option<bool>,
    /// How a simulated endpoint behaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Simulation>,
    /// What may be asked of it at once.
    #[serde(default)]
    pub limits: Limits,
    /// What may be asked of single models, by the provider's own name, on top of `limits`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub model_limits: BTreeMap<String, ModelLimits>,
    /// How long to wait.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// How often to try.
    #[serde(default)]
    pub retries: Retries,
}

impl EndpointSpec {
    /// An endpoint of `kind` with every other field at its default.
    #[must_use]
    pub fn of_kind(kind: EndpointKind) -> Self {
        Self {
            kind,
            base_url: None,
            api_key_env: None,
            api_version: None,
            region: None,
            headers: BTreeMap::new(),
            headers_env: BTreeMap::new(),
            body: BTreeMap::new(),
            stream: false,
            lane: Lane::Live,
            batch: None,
            path: None,
            content: None,
            identify_sessions: kind == EndpointKind::Simulated,
            send_seed: None,
            simulation: None,
            limits: Limits::default(),
            model_limits: BTreeMap::new(),
            timeouts: Timeouts::default(),
            retries: Retries::default(),
        }
    }
}

impl EndpointSpec {
    /// Name of the pool of permits that calls of it draw on. Equal for two sweeps that use the same provider with the same credentials,
    /// whatever they call it, so that they share its limits; limits, time-outs and retries themselves are not part of it.
    #[must_use]
    pub fn pool(&self) -> String {
        let identity =
            (self.kind, &self.base_url, &self.api_key_env, &self.region, &self.path, &self.content, &self.simulation);
        Digest::of(&json_bytes(&identity)).short()
    }

    /// Name of the queue that its jobs of `sweep` come on. A queue a sweep, so that no sweep waits behind another's jobs.
    #[must_use]
    pub fn queue(&self, name: &EndpointName, sweep: &SweepId) -> String {
        /// Brokers bound names at 255 bytes, a prefix included.
        const LENGTH_MAX: usize = 180;
        let full = format!("{sweep}.{name}");
        if full.len() <= LENGTH_MAX {
            return full;
        }
        let start: String = full.chars().take(LENGTH_MAX - 9).collect();
        format!("{start}-{}", Digest::of(full.as_bytes()).short())
    }
}

/// What may be asked of an endpoint at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Calls in flight, over all workers.
    pub concurrency: u32,
    /// Requests in any minute, over all workers; unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Prompt and generated tokens in any minute, over all workers; unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
}

/// What may be asked of one model of an endpoint at once; what is absent is not limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ModelLimits {
    /// Calls in flight, over all workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Requests in any minute, over all workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Prompt and generated tokens in any minute, over all workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
}

/// How batches are made and followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct BatchSettings {
    /// Most requests in a batch.
    pub requests_max: u32,
    /// A batch is sent when no further job has come for this long, in milliseconds.
    pub gather_ms: u64,
    /// Pause between two looks at a batch, in milliseconds.
    pub poll_ms: u64,
}

impl Default for BatchSettings {
    fn default() -> Self {
        Self { requests_max: 5_000, gather_ms: 5_000, poll_ms: 30_000 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { concurrency: 64, requests_per_minute: None, tokens_per_minute: None }
    }
}

/// How long to wait, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// For a connection.
    pub connect_ms: u64,
    /// From sending the request to the answer's first byte.
    pub first_byte_ms: u64,
    /// For the whole call.
    pub total_ms: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect_ms: 10_000, first_byte_ms: 120_000, total_ms: 300_000 }
    }
}

/// How often to try a call. Delays double from `base_delay_ms`, with full jitter; a Retry-After is honoured up to `max_delay_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Retries {
    /// Tries in all, the first one included.
    pub attempts: u32,
    /// Upper bound of the first delay, in milliseconds.
    pub base_delay_ms: u64,
    /// Upper bound of any delay, in milliseconds.
    pub max_delay_ms: u64,
    /// No new try begins after this many milliseconds.
    pub deadline_ms: u64,
    /// The same request failing the same way this many times, over all sessions, workers and resumes, is not sent any more.
    pub quarantine_after: u32,
}

impl Default for Retries {
    fn default() -> Self {
        Self { attempts: 8, base_delay_ms: 500, max_delay_ms: 60_000, deadline_ms: 600_000, quarantine_after: 16 }
    }
}
