//! The sweep spec: benchmarks × settings × models × trials, with limits and a budget.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BenchmarkName, EndpointName, EndpointSpec, Evaluator, ModelRef, ModelSpec, Setting, SweepId};

/// What a person writes to have a sweep run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepSpec {
    /// Name of the sweep; with the spec's digest it makes the sweep's id.
    #[schemars(with = "String")]
    pub name: SweepId,
    /// Seed that all others derive from.
    #[serde(default)]
    pub seed: u64,
    /// Repetitions of every cell, each with seeds of its own.
    #[serde(default = "one")]
    pub trials: u16,
    /// Most money to spend, in dollars. With a budget, every model needs a known price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
    /// What to measure, by benchmark name.
    pub benchmarks: BTreeMap<BenchmarkName, BenchmarkSpec>,
    /// Where models are served, by endpoint name. `openai` needs no entry.
    #[serde(default)]
    pub endpoints: BTreeMap<EndpointName, EndpointSpec>,
    /// What is measured: `endpoint/model`, or a mapping with parameters.
    pub models: Vec<ModelSpec>,
}

const fn one() -> u16 {
    1
}

/// One benchmark of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkSpec {
    /// Directory of the benchmark's data, relative to the spec; the command line's `--data NAME=DIR` goes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub data: Option<PathBuf>,
    /// Settings to run; the benchmark's default when empty.
    #[serde(default)]
    pub settings: Vec<Setting>,
    /// Tasks to run; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// At most this many items of each task, the first ones of the data set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Scoring rules; all of the benchmark's when empty.
    #[serde(default)]
    pub evaluators: Vec<Evaluator>,
    /// Who answers the evaluators' questions, as `endpoint/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<ModelRef>,
}
