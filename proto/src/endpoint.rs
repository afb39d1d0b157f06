//! Endpoints of a spec: addresses, wire formats, credentials and limits.

use std::collections::BTreeMap;
use std::path::PathBuf;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Digest, EncoderName, EndpointName, Lane, Simulation, SweepId, json_bytes};

/// Wire format of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndpointKind {
    /// OpenAI chat completions and embeddings, and all compatible servers.
    Openai,
    /// OpenAI responses.
    #[serde(alias = "openai-responses")]
    OpenaiResponses,
    /// OpenAI chat completions at Azure: with the deployment in the path, `api-version`, and a header for the key.
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
    /// `true` for a chat model behind HTTP.
    #[must_use]
    pub const fn chats(self) -> bool {
        match self {
            Self::Openai
            | Self::OpenaiResponses
            | Self::Azure
            | Self::Anthropic
            | Self::Gemini
            | Self::Bedrock
            | Self::Simulated => true,
            Self::Encoder | Self::Recorded => false,
        }
    }

    /// `true` if the format has a field for a seed.
    #[must_use]
    pub const fn has_seed(self) -> bool {
        match self {
            Self::Openai | Self::Azure | Self::Gemini | Self::Simulated => true,
            Self::OpenaiResponses | Self::Anthropic | Self::Bedrock | Self::Encoder | Self::Recorded => false,
        }
    }

    /// `true` if specs may set `base_url`.
    #[must_use]
    pub const fn takes_address(self) -> bool {
        match self {
            Self::Openai | Self::OpenaiResponses | Self::Azure | Self::Anthropic | Self::Gemini | Self::Bedrock => true,
            Self::Simulated | Self::Encoder | Self::Recorded => false,
        }
    }

    /// `true` if the provider has embeddings in OpenAI's format beside its chat models.
    #[must_use]
    pub const fn has_embeddings(self) -> bool {
        match self {
            Self::Openai | Self::OpenaiResponses | Self::Azure | Self::Simulated => true,
            Self::Anthropic | Self::Gemini | Self::Bedrock | Self::Encoder | Self::Recorded => false,
        }
    }

    /// `true` if calls may be sent by the provider's batch API ([`Lane::Batch`]).
    #[must_use]
    pub const fn has_batches(self) -> bool {
        match self {
            Self::Openai | Self::Anthropic | Self::Simulated => true,
            Self::OpenaiResponses | Self::Azure | Self::Gemini | Self::Bedrock | Self::Encoder | Self::Recorded => {
                false
            }
        }
    }
}

/// An endpoint: an address with the name of its credentials, a wire format and limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EndpointSpec {
    /// Wire format.
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
    /// Additional headers of every request, such as `OpenAI-Organization`. Must not be secret, because specs are stored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Additional headers of every request with secret values, by the name of the environment variable that holds each, as in
    /// `x-litellm-api-key: LITELLM_KEY`. As for `api_key_env`, the policy of the process that sends them restricts their destinations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers_env: BTreeMap<String, String>,
    /// Additional fields of every request's body, as in `{"provider": {"order": ["a"]}}`; Regatta's own fields take precedence.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub body: BTreeMap<String, serde_json::Value>,
    /// Streams answers, to measure the time to the first token.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    /// Delivery mode: `live` or `batch`.
    #[serde(default, skip_serializing_if = "Lane::is_live")]
    pub lane: Lane,
    /// Settings of batches; only with `lane: batch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchSettings>,
    /// Directory of the model (`encoder`) or file of the verdicts (`recorded`), relative to the spec. Workers of a deployment read no
    /// directory that a spec names: there an encoder is `registered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub path: Option<PathBuf>,
    /// Name of an encoder in the policy file of the workers, in place of `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered: Option<EncoderName>,
    /// Digest of the recorded verdicts in Blobs; set by the plan, not by people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
    /// Sends headers that identify the session (`x-regatta-item` and others), for gateways with tracing and for simulated endpoints.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub identify_sessions: bool,
    /// Sends the session's seed with every request. Default: true at the own addresses of OpenAI (chat completions) and Gemini and at
    /// Azure, false elsewhere, because compatible servers may refuse it; Anthropic, OpenAI's responses and Bedrock accept none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_seed: Option<bool>,
    /// Behaviour of a simulated endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Simulation>,
    /// Limits of concurrency and rate.
    #[serde(default)]
    pub limits: Limits,
    /// Limits of single models, by the provider's own name, in addition to `limits`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub model_limits: BTreeMap<String, ModelLimits>,
    /// Time-outs of calls.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// Retries of failed calls.
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
            registered: None,
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
    /// Secret headers by the names of their variables, as a part of the digests by which answers are found again: a gateway may route by
    /// such a header (a virtual key). `None` without such headers, so that the digests of endpoints that have none stay the same.
    ///
    /// `api_key_env` is no such part: it is the credential for the address, and a key that moves to another variable asks the same model.
    #[must_use]
    pub fn secret_routing(&self) -> Option<&BTreeMap<String, String>> {
        Some(&self.headers_env).filter(|headers| !headers.is_empty())
    }

    /// Name of the pool of permits that its calls use. Equal for two sweeps with the same provider and credentials, whatever the endpoint's
    /// name, so that they share its limits; limits, time-outs and retries are not part of the name.
    #[must_use]
    pub fn pool(&self) -> String {
        let identity =
            (self.kind, &self.base_url, &self.api_key_env, &self.region, &self.path, &self.content, &self.simulation);
        match &self.registered {
            None => Digest::of(&json_bytes(&identity)).short(),
            Some(name) => Digest::of(&json_bytes(&(identity, name))).short(),
        }
    }

    /// Digest of the settings beside the pool on which it depends whether a request fails, for [`crate::fingerprint`].
    #[must_use]
    pub fn request_settings(&self) -> Digest {
        let settings = (
            &self.api_version,
            &self.headers,
            &self.headers_env,
            &self.body,
            self.stream,
            self.send_seed,
            self.timeouts,
        );
        Digest::of(&json_bytes(&settings))
    }

    /// Name of the queue of its jobs in `sweep`. Each sweep has its own queue, so that no sweep waits behind another's jobs. It ends in the endpoint's name,
    /// by which pools of workers are scaled, unless that name alone is too long.
    #[must_use]
    pub fn queue(&self, name: &EndpointName, sweep: &SweepId) -> String {
        /// Brokers limit names to 255 bytes, including a prefix.
        const LENGTH_MAX: usize = 180;
        let full = format!("{sweep}.{name}");
        if full.len() <= LENGTH_MAX {
            return full;
        }
        let digest = Digest::of(full.as_bytes()).short();
        let end = format!("-{digest}.{name}");
        match LENGTH_MAX.checked_sub(end.len()) {
            Some(room) => sweep.as_str().chars().take(room).collect::<String>() + &end,
            None => full.chars().take(LENGTH_MAX - 9).collect::<String>() + "-" + &digest,
        }
    }
}

/// Limits of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Most calls in flight, over all workers.
    pub concurrency: u32,
    /// Most requests in any minute, over all workers; unlimited if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Most prompt and generated tokens in any minute, over all workers; unlimited if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
}

/// Limits of one model of an endpoint; an absent one is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ModelLimits {
    /// Most calls in flight, over all workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Most requests in any minute, over all workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Most prompt and generated tokens in any minute, over all workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u64>,
}

/// Settings of batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct BatchSettings {
    /// Most requests in a batch.
    pub requests_max: u32,
    /// Time without a further job, in milliseconds, after which a batch is submitted.
    pub gather_ms: u64,
    /// Pause between two polls of a batch, in milliseconds.
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

/// Time-outs of a call, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Time to connect.
    pub connect_ms: u64,
    /// Time from sending the request to the first byte of the answer.
    pub first_byte_ms: u64,
    /// Time of the whole call.
    pub total_ms: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect_ms: 10_000, first_byte_ms: 120_000, total_ms: 300_000 }
    }
}

/// Retries of a call. Delays double from `base_delay_ms`, with full jitter; a Retry-After is honoured up to `max_delay_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Retries {
    /// Most tries, including the first one.
    pub attempts: u32,
    /// Upper bound of the first delay, in milliseconds.
    pub base_delay_ms: u64,
    /// Upper bound of any delay, in milliseconds.
    pub max_delay_ms: u64,
    /// Time, in milliseconds, after which no new try begins.
    pub deadline_ms: u64,
    /// Failures of the same request of a sweep in the same way, over all sessions, workers and resumes, after which it is not sent any more.
    pub quarantine_after: u32,
}

impl Default for Retries {
    fn default() -> Self {
        Self { attempts: 8, base_delay_ms: 500, max_delay_ms: 60_000, deadline_ms: 600_000, quarantine_after: 16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_queue_ends_in_its_endpoints_however_long_the_names_are() {
        let endpoint = EndpointSpec::of_kind(EndpointKind::Openai);
        let queue = |sweep: usize, name: usize| {
            endpoint.queue(&"e".repeat(name).parse().unwrap(), &"s".repeat(sweep).parse().unwrap())
        };
        for (sweep, name) in [(8, 6), (100, 100), (200, 170), (200, 60)] {
            let queue = queue(sweep, name);
            assert!(queue.ends_with(&format!(".{}", "e".repeat(name))) && queue.len() <= 180, "{queue}");
        }
        assert_eq!(queue(200, 200).len(), 180);
        let of = |sweep: &str| endpoint.queue(&"e".repeat(100).parse().unwrap(), &sweep.parse().unwrap());
        assert_ne!(of(&format!("{}a", "s".repeat(100))), of(&format!("{}b", "s".repeat(100))), "each has its own");
    }
}
