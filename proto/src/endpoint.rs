//! Endpoints of a spec: where, how, with which limits.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Digest, EndpointName, Simulation};

/// What an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndpointKind {
    /// OpenAI chat completions and embeddings, and everything compatible.
    Openai,
    /// A simulated endpoint that `regatta run` starts on loopback, over HTTP like a real one.
    Simulated,
    /// A sentence-transformers directory, run inside the worker.
    Encoder,
    /// Verdicts recorded in a file.
    Recorded,
}

/// An endpoint: an address with the name of its credentials, a wire format and limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointSpec {
    /// What it speaks.
    pub kind: EndpointKind,
    /// Address up to and including the version, as `https://api.openai.com/v1`. Default for `openai`: `$OPENAI_BASE_URL`, else OpenAI's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Name of the environment variable that holds the key. Default for `openai`: `OPENAI_API_KEY`; `none` sends no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Directory of the model (`encoder`) or file of the verdicts (`recorded`), relative to the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub path: Option<PathBuf>,
    /// Digest of the recorded verdicts in Blobs; filled in by the plan, not written by people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
    /// Send headers that name the session (`x-regatta-item` and its like), for gateways that trace and for simulated endpoints.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub identify_sessions: bool,
    /// How a simulated endpoint behaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Simulation>,
    /// What may be asked of it at once.
    #[serde(default)]
    pub limits: Limits,
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
            path: None,
            content: None,
            identify_sessions: kind == EndpointKind::Simulated,
            simulation: None,
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            retries: Retries::default(),
        }
    }
}

impl EndpointSpec {
    /// Name of the queue its jobs come on. Equal for two sweeps that use the same provider with the same credentials, so that they
    /// share its limits; limits, time-outs and retries themselves are not part of the name.
    #[must_use]
    pub fn queue(&self, name: &EndpointName) -> String {
        let identity = (
            self.kind,
            &self.base_url,
            &self.api_key_env,
            &self.path,
            &self.content,
            &self.simulation,
            self.identify_sessions,
        );
        // Serialising plain data into memory cannot fail; an empty text would only make two queues share a name.
        let text = serde_json::to_string(&identity).unwrap_or_default();
        format!("jobs.{name}-{}", Digest::of(text.as_bytes()).short())
    }
}

/// What may be asked of an endpoint at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Calls in flight per worker process.
    pub concurrency: u32,
    /// Requests in any minute per worker process; unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { concurrency: 64, requests_per_minute: None }
    }
}

/// How long to wait, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
}

impl Default for Retries {
    fn default() -> Self {
        Self { attempts: 8, base_delay_ms: 500, max_delay_ms: 60_000, deadline_ms: 600_000 }
    }
}
