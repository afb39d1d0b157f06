//! The sweep spec: benchmarks × settings × models × trials, with limits and a budget.

use std::collections::BTreeMap;
use std::path::PathBuf;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parsed::parsed;
use crate::{
    AgentName, Audit, BenchmarkName, Decide, EndpointName, EndpointSpec, Evaluator, ExternalAgent, Filtered, ItemId,
    Judge, Level, Limit, MemberName, ModelSpec, Price, RoleModels, Setting, SweepId,
};

/// A sweep as a person describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SweepSpec {
    /// Name of the sweep; with the spec's digest it makes the sweep's id.
    #[serde(deserialize_with = "parsed")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: SweepId,
    /// Seed that all others derive from.
    #[serde(default)]
    pub seed: u64,
    /// Repetitions of every cell, each with seeds of its own.
    #[serde(default = "one")]
    pub trials: u16,
    /// Least part of the sessions, 0 to 1, that must have a score for a value to be shown among results. Below it, the terminal and the
    /// report show the value's bounds instead.
    #[serde(default = "coverage_min", skip_serializing_if = "is_usual_coverage_min")]
    pub coverage_min: f64,
    /// Probability with which every interval covers its true value, above 0.5 and at most 0.999; 1 minus it is the largest corrected
    /// p-value that counts as a difference.
    #[serde(default, skip_serializing_if = "Level::is_usual")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub level: Level,
    /// Budget in dollars. With a budget, every model needs a known price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
    /// The sweep's share of endpoints that other sweeps use at the same time.
    #[serde(default, skip_serializing_if = "Share::is_default")]
    pub share: Share,
    /// Use of the response cache.
    #[serde(default, skip_serializing_if = "CacheMode::is_off")]
    pub cache: CacheMode,
    /// Outcome of sessions that a provider's filter, or a model's own refusal, ended.
    #[serde(default, skip_serializing_if = "Filtered::is_wrong")]
    pub filtered: Filtered,
    /// A question to answer. With it, the sweep runs in rounds, and stops as soon as the answer is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decide: Option<Decide>,
    /// Benchmarks to run, by name.
    pub benchmarks: BTreeMap<BenchmarkName, BenchmarkSpec>,
    /// Endpoints that serve the models, by name. `openai` and other usual providers need no entry.
    #[serde(default)]
    pub endpoints: BTreeMap<EndpointName, EndpointSpec>,
    /// Models under test: `endpoint/model`, or a mapping with parameters.
    pub models: Vec<ModelSpec>,
    /// External agents, by the name that settings like `external/NAME` use.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<AgentName, ExternalAgent>,
}

/// A sweep's share of an endpoint's limits, while several sweeps use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Weight of the sweep. Sweeps of the same priority get shares in proportion to their weights; unused parts go to the others.
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
    /// `true` for the share of a sweep that sets none.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Use of the response cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// The cache is not used.
    #[default]
    Off,
    /// Answers are read from the cache and written to it.
    ReadWrite,
    /// Answers are read from the cache, but not written to it.
    ReadOnly,
    /// Answers are only read from the cache: a missing one is an error, and no call is sent.
    Replay,
    /// Answers are written to the cache, but not read from it: every call is sent.
    Refresh,
}

impl std::str::FromStr for CacheMode {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "read_write" => Ok(Self::ReadWrite),
            "read_only" => Ok(Self::ReadOnly),
            "replay" => Ok(Self::Replay),
            "refresh" => Ok(Self::Refresh),
            _ => Err(format!("unknown cache mode {text:?}; known: off, read_write, read_only, replay, refresh")),
        }
    }
}

impl CacheMode {
    /// `true` for [`CacheMode::Off`].
    #[must_use]
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }

    /// `true` if answers are looked for in the cache before anybody is asked.
    #[must_use]
    pub const fn reads(self) -> bool {
        match self {
            Self::ReadWrite | Self::ReadOnly | Self::Replay => true,
            Self::Off | Self::Refresh => false,
        }
    }

    /// `true` if answers of models are stored in the cache.
    #[must_use]
    pub const fn writes(self) -> bool {
        match self {
            Self::ReadWrite | Self::Refresh => true,
            Self::Off | Self::ReadOnly | Self::Replay => false,
        }
    }

    /// The mode for calls that have to be sent each time; what is only replayed stays replayed.
    #[must_use]
    pub const fn asking_anew(self) -> Self {
        match self {
            Self::ReadWrite | Self::Refresh => Self::Refresh,
            Self::Off | Self::ReadOnly => Self::Off,
            Self::Replay => Self::Replay,
        }
    }
}

const fn one() -> u16 {
    1
}

/// The `coverage_min` of a spec that sets none: a fifth of the sessions may be missing.
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
    /// Directory of the benchmark's data, relative to the spec; `--data NAME=DIR` on the command line takes precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub data: Option<PathBuf>,
    /// Settings to run; the benchmark's default if empty.
    #[serde(default)]
    pub settings: Vec<Setting>,
    /// Tasks to run; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// Items to run, by their ids; all if empty. Does not go with `limit`. `regatta subset choose` finds some that stand for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ItemId>,
    /// A part of the items: `20` draws so many in total, with the weights of the tasks; `first:20` takes the first so many of each task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Items that every run asks, whatever its `items` or `limit`, and that the response cache never answers: those that a `limit` of this
    /// number draws.
    /// `regatta drift` compares their answers from night to night.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canaries: Option<u32>,
    /// Scoring rules; all of the benchmark's if empty.
    #[serde(default)]
    pub evaluators: Vec<Evaluator>,
    /// Models of the roles other than the agent's, if sessions have such roles.
    #[serde(default, skip_serializing_if = "RoleModels::is_empty")]
    pub roles: RoleModels,
    /// Models for single members of a team of agents, by the cast's name, which settings like `autogen/cast=NAME` use. Members that a cast
    /// does not list are played by the model under test.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub casts: BTreeMap<String, BTreeMap<MemberName, ModelSpec>>,
    /// The judge that answers the evaluators' questions: `endpoint/model`, a mapping with parameters, or a panel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<Judge>,
    /// Price of a single judge, if the price table does not have it or has a wrong price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_price: Option<Price>,
    /// A second judge of a random part of the items, by whose verdicts the estimates are corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
}

impl BenchmarkSpec {
    /// The judge, and the judge of its audit.
    pub fn judges(&self) -> impl Iterator<Item = &Judge> {
        self.judge.iter().chain(self.audit.iter().map(|audit| &audit.judge))
    }

    /// The judge and that of the audit, each with the field that names it; `place` is the benchmark's own.
    pub(crate) fn named_judges(&self, place: &str) -> impl Iterator<Item = (String, &Judge)> {
        let judge = self.judge.iter().map(move |judge| (format!("{place}.judge"), judge));
        judge.chain(self.audit.iter().map(move |audit| (format!("{place}.audit.judge"), &audit.judge)))
    }
}
