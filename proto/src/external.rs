//! External agents: their settings in a spec, and their events in a transcript.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AgentName;

/// A program, or a service at an address, that acts as the agent of a session. It gets one JSON object (on standard input, or as the body
/// of a POST), calls its models at a base URL of its session, and uses the benchmark's tool servers there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExternalAgent {
    /// Program and arguments, started without a shell; with `container`, a program of the image. Exactly one of this, `registered` and `url`
    /// must be set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Image of a container in which `command` runs: its files are read-only but for `/tmp`, and it reaches nothing but its session. Needs
    /// Docker or Podman on the worker, or workers that run agents in pods of Kubernetes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Network of the container engine that the container is connected to, in addition to its session. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Name of a command in the workers' policy file. Workers of a deployment run no other commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered: Option<AgentName>,
    /// Address to which a session is posted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Working directory of the command; relative to the spec in a file, as the workers see it in a lock; of a container, an absolute
    /// path in its image. Default: the worker's own. All
    /// sessions share it, so an agent should write its files to `HOME` or `TMPDIR`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub directory: Option<PathBuf>,
    /// Variables of the worker's environment that the command gets, in addition to `PATH` and `LANG`. `HOME`, `TMPDIR` and `XDG_CACHE_HOME`
    /// name an empty directory of each start, which is deleted afterwards, unless they are listed here. Keys of providers are not needed;
    /// in production, workers run agents as a separate user without access to the workers' files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// Additional variables of the command. Must not be secret, because specs are stored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Seconds, at most 900, from the start to the first request. A program that has sent none by then is stopped, and its session is not
    /// measured, because slow imports on a busy machine are not the model's fault.
    #[serde(default = "startup_s")]
    pub startup_s: u32,
    /// Seconds, at most 900, from the first request, without waits for permits and retries, after which the program is stopped. Its results
    /// until then count.
    #[serde(default = "deadline_s")]
    pub deadline_s: u32,
    /// Most bytes that are stored of its standard output; a program that writes more is stopped.
    #[serde(default = "output_bytes_max")]
    pub output_bytes_max: u32,
    /// Most model calls of a session; further ones are refused.
    #[serde(default = "calls_max")]
    pub calls_max: u32,
    /// Most starts for one session, in a conversation for one turn, if another process kills the program.
    #[serde(default = "starts_max")]
    pub starts_max: u8,
    /// Most sessions of one process of the command, one after another (in a conversation: turns). More than one, at most 100000: it stays, and
    /// reads a line of JSON for each, as docs/agents.md says; not with `container`. Default: 1, a process a session.
    #[serde(default = "sessions_max", skip_serializing_if = "is_one")]
    pub sessions_max: u32,
    /// Most instances that a worker runs at once.
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

const fn sessions_max() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_one(sessions_max: &u32) -> bool {
    *sessions_max == 1
}

const fn concurrency() -> u32 {
    4
}

/// An external agent was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Started {
    /// Name of the agent.
    pub agent: AgentName,
    /// The attempt that started it.
    pub attempt: u32,
}

/// A request of an external agent to a tool server, and the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Exchange {
    /// HTTP method.
    pub method: Arc<str>,
    /// The whole URL, as the agent wrote it for the tool.
    pub url: Arc<str>,
    /// Body of the request, cut to a bounded length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Arc<str>>,
    /// HTTP status of the answer; 0 if there was none.
    pub status: u16,
    /// Body of the answer.
    pub response: Arc<str>,
}

/// An external agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Ended {
    /// The way in which it ended.
    pub how: HowEnded,
    /// Standard output of the agent, or the body of its answer; bytes that are not UTF-8 are replaced by U+FFFD.
    pub output: Arc<str>,
    /// `true` if `output` was cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// The last part of its standard error, for people.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub errors: Arc<str>,
}

/// The way in which an external agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HowEnded {
    /// It exited by itself, with this exit code or, if called at an address, with this status.
    Exited(i32),
    /// It was killed by this signal from another process; 0 if the connection to it broke.
    Killed(i32),
    /// It was stopped at its deadline.
    Deadline,
    /// It was stopped because it wrote too much output.
    TooMuchOutput,
    /// The system ended it because it used more memory than the worker gives it.
    OutOfMemory,
    /// It could not be started or reached.
    NotStarted,
    /// It was stopped because the worker had to leave, or because a model call could not be answered for a reason of Regatta's.
    Interrupted,
}

impl fmt::Display for HowEnded {
    /// The end of a sentence about one agent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => write!(f, "ended by itself with {status}"),
            Self::Killed(0) => f.write_str("broke off"),
            Self::Killed(signal) => write!(f, "was killed by signal {signal}"),
            Self::Deadline => f.write_str("was stopped at its deadline"),
            Self::TooMuchOutput => f.write_str("was stopped because it wrote too much"),
            Self::OutOfMemory => f.write_str("was stopped because it used more memory than it may"),
            Self::NotStarted => f.write_str("could not be started or reached"),
            Self::Interrupted => f.write_str("was stopped for reasons that are not its own"),
        }
    }
}
