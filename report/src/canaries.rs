//! Answers to canaries: items that every run asks anew.

use regatta_proto::{BenchmarkName, Digest, ItemId, ModelRef, Setting};
use serde::{Deserialize, Serialize};

/// Answers of a model to the canaries of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CanaryAnswers {
    /// Benchmark.
    pub benchmark: BenchmarkName,
    /// Setting of the benchmark.
    pub setting: Setting,
    /// The model under test.
    pub model: ModelRef,
    /// Sessions that were measured, in the order of trials and items. Those that the response cache answered are not among them.
    pub sessions: Vec<CanarySession>,
}

/// Answers of one session to a canary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CanarySession {
    /// The item.
    pub item: ItemId,
    /// Number of the repetition.
    pub trial: u16,
    /// Digest of texts and tool calls of all answers of the model under test, in their order. Ids of tool calls, reasoning and numbers are not
    /// in it: they differ where the answer is the same.
    pub answers: Digest,
}
