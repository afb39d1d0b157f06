//! External agents: how a spec names them, and what a transcript keeps of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AgentName;

/// An agent that is somebody else's program: started for each session, or called at an address. It gets one JSON object (on standard
/// input, or as the body of a POST), asks its models at a base URL of its session, and uses the benchmark's tool servers there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExternalAgent {
    /// Program and arguments; nothing of it is read by a shell. Either this, `registered` or `url`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// A command of the workers' policy file, by the name that it has there. Workers of a deployment run no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered: Option<AgentName>,
    /// Address that a session is posted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Directory that the command runs in; relative to the spec in a file, as the workers see it in a lock. Without it the command runs in
    /// the worker's own. All sessions share it, so an agent keeps what it writes in `HOME` or `TMPDIR`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub directory: Option<PathBuf>,
    /// Variables of the worker's environment that the command gets, beside `PATH` and `LANG`. `HOME`, `TMPDIR` and `XDG_CACHE_HOME` name an
    /// empty directory of each start's own, removed afterwards, where they are not listed here. Keys of providers are never among what it
    /// needs; in production, workers run agents as another user than themselves, who can read nothing of theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// Further variables of the command. Never secrets: specs are stored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Seconds, at most 900, from its start to its first request. A program that has asked nothing by then is stopped, and its session is
    /// not measured: slow imports on a busy machine are no fault of a model.
    #[serde(default = "startup_s")]
    pub startup_s: u32,
    /// Seconds, at most 900, from its first request, waits for permits and retries left out, after which it is stopped; what it did until
    /// then counts.
    #[serde(default = "deadline_s")]
    pub deadline_s: u32,
    /// Most bytes that are kept of its standard output; beyond them it is stopped.
    #[serde(default = "output_bytes_max")]
    pub output_bytes_max: u32,
    /// Most model calls of a session; further ones are refused.
    #[serde(default = "calls_max")]
    pub calls_max: u32,
    /// How often it is started for one session, when somebody else kills it.
    #[serde(default = "starts_max")]
    pub starts_max: u8,
    /// How many of it a worker runs at once.
    #[serde(default = "concurrency")]
    pub concurrency: u32,
}

const fn startup_s() -> u32 {
    120
}

const fn deadline_s() -> u32 {
    240
}

const fn output_bytes_max() -> u32 {
    1 << 20
}

const fn calls_max() -> u32 {
    200
}

const fn starts_max() -> u8 {
    3
}

const fn concurrency() -> u32 {
    4
}

/// An external agent was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Started {
    /// Which.
    pub agent: AgentName,
    /// The attempt that started it.
    pub attempt: u32,
}

/// A request of an external agent to a tool server, and the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Exchange {
    /// Method.
    pub method: Arc<str>,
    /// Whole URL, as the agent wrote it for the tool.
    pub url: Arc<str>,
    /// Body of the request, cut to a bounded length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Arc<str>>,
    /// Status of the answer; 0 when it was none.
    pub status: u16,
    /// Body of the answer.
    pub response: Arc<str>,
}

/// An external agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Ended {
    /// How.
    pub how: HowEnded,
    /// What it wrote to standard output, or the body of its answer; text that is not UTF-8 has U+FFFD in its place.
    pub output: Arc<str>,
    /// Whether `output` is the whole of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// The end of what it wrote to standard error, for people.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub errors: Arc<str>,
}

/// How an external agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HowEnded {
    /// By itself, with this exit code or, when it was called at an address, this status.
    Exited(i32),
    /// By a signal of somebody else; 0 where the connection to it broke.
    Killed(i32),
    /// It was stopped at its deadline.
    Deadline,
    /// It was stopped because it wrote too much.
    TooMuchOutput,
    /// It could not be started or reached.
    NotStarted,
    /// It was stopped because the worker had to leave, or because a model call could not be answered for reasons of ours.
    Interrupted,
}
