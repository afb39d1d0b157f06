//! The sweep spec: benchmarks × settings × models × trials, with limits and a budget.

use std::collections::BTreeMap;
use std::path::PathBuf;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AgentName, BenchmarkName, Decide, EndpointName, EndpointSpec, Evaluator, ExternalAgent, Filtered, Judge, Level,
    Limit, MemberName, ModelSpec, Price, RoleModels, Setting, SweepId,
};

/// What a person writes to have a sweep run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SweepSpec {
    /// Name of the sweep; with the spec's digest it makes the sweep's id.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: SweepId,
    /// Seed that all others derive from.
    #[serde(default)]
    pub seed: u64,
    /// Repetitions of every cell, each with seeds of its own.
    #[serde(default = "one")]
    pub trials: u16,
    /// Least part of the sessions, 0 to 1, that must have a score for a value to be shown among results. Below it the terminal and the
    /// report withhold the value and show its bounds.
    #[serde(default = "coverage_min", skip_serializing_if = "is_usual_coverage_min")]
    pub coverage_min: f64,
    /// Probability with which every interval covers, above 0.5 and at most 0.999; the rest of it is the corrected p-value up to which a
    /// difference counts as one.
    #[serde(default, skip_serializing_if = "Level::is_usual")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub level: Level,
    /// Most money to spend, in dollars. With a budget, every model needs a known price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
    /// The sweep's part of endpoints that others use at the same time.
    #[serde(default, skip_serializing_if = "Share::is_default")]
    pub share: Share,
    /// Whether answers are kept and used again.
    #[serde(default, skip_serializing_if = "CacheMode::is_off")]
    pub cache: CacheMode,
    /// Outcome of sessions that a provider's filter, or a model's own refusal, ended.
    #[serde(default, skip_serializing_if = "Filtered::is_wrong")]
    pub filtered: Filtered,
    /// A question to answer: then the sweep runs in rounds, and stops as soon as the answer is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decide: Option<Decide>,
    /// What to measure, by benchmark name.
    pub benchmarks: BTreeMap<BenchmarkName, BenchmarkSpec>,
    /// Where models are served, by endpoint name. `openai` needs no entry.
    #[serde(default)]
    pub endpoints: BTreeMap<EndpointName, EndpointSpec>,
    /// What is measured: `endpoint/model`, or a mapping with parameters.
    pub models: Vec<ModelSpec>,
    /// Agents that are somebody else's programs, by the name that settings as `external/NAME` call them by.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<AgentName, ExternalAgent>,
}

/// A sweep's part of what an endpoint allows, while several want it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Sweeps of the same priority get parts in proportion to their weights; what one does not need goes to the others.
    pub weight: u32,
    /// Sweeps of a higher priority go first.
    pub priority: i32,
}

impl Default for Share {
    fn default() -> Self {
        Self { weight: 1, priority: 0 }
    }
}

impl Share {
    /// Whether it is that of a sweep which says nothing.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether answers are kept and used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Neither.
    #[default]
    Off,
    /// Kept, and used where there are any.
    ReadWrite,
    /// Used where there are any, not kept.
    ReadOnly,
    /// Only used: a call that is not there is an error, and nothing is ever sent.
    Replay,
}

impl std::str::FromStr for CacheMode {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "read_write" => Ok(Self::ReadWrite),
            "read_only" => Ok(Self::ReadOnly),
            "replay" => Ok(Self::Replay),
            _ => Err(format!("unknown cache mode {text:?}; known: off, read_write, read_only, replay")),
        }
    }
}

impl CacheMode {
    /// Whether it is [`CacheMode::Off`].
    #[must_use]
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

const fn one() -> u16 {
    1
}

/// The `coverage_min` of a spec that names none: a fifth of the sessions may be missing.
pub const COVERAGE_MIN: f64 = 0.8;

pub(crate) const fn coverage_min() -> f64 {
    COVERAGE_MIN
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(crate) fn is_usual_coverage_min(share: &f64) -> bool {
    *share == COVERAGE_MIN
}

/// One benchmark of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BenchmarkSpec {
    /// Directory of the benchmark's data, relative to the spec; the command line's `--data NAME=DIR` goes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub data: Option<PathBuf>,
    /// Settings to run; the benchmark's default when empty.
    #[serde(default)]
    pub settings: Vec<Setting>,
    /// Tasks to run; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// A part of the items: `20` draws so many in all, with the weights of the tasks; `first:20` takes the first so many of each task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Scoring rules; all of the benchmark's when empty.
    #[serde(default)]
    pub evaluators: Vec<Evaluator>,
    /// Models of the roles beside the agent's, where sessions have such.
    #[serde(default, skip_serializing_if = "RoleModels::is_empty")]
    pub roles: RoleModels,
    /// Other models for single members of a team of agents, by a name of the cast that settings as `autogen/cast=NAME` call it by. Every
    /// member that a cast does not name is played by the model under test.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub casts: BTreeMap<String, BTreeMap<MemberName, ModelSpec>>,
    /// Who answers the evaluators' questions: `endpoint/model`, a mapping with parameters, or a panel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<Judge>,
    /// Price of a single judge, when the price table does not know it or knows it wrongly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_price: Option<Price>,
}
