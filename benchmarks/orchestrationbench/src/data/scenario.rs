//! A scenario: a conversation with its plans and calls, and the steps at which a model is asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::label::{Entry, Labels, Suffix};
use super::language::Language;

/// Scenario of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scenario {
    /// Language of the scenario.
    pub(crate) language: Language,
    /// File name without its extension; a decimal number in the official data.
    pub(crate) id: Arc<str>,
    /// Text of the system step; empty when there is none.
    pub(crate) system_info: Arc<str>,
    /// Gold labels of all steps.
    pub(crate) labels: Labels,
    /// Steps at which the main agent is asked for a plan, ascending.
    pub(crate) planning: Vec<u32>,
    /// Steps at which a sub agent acts, ascending.
    pub(crate) decisions: Vec<Decision>,
    /// Query for the sub agent by decision step, from the plans of the scenario
    /// (docs/benchmarks/orchestrationbench.md §3.3); some steps have none.
    pub(crate) refined_queries: BTreeMap<u32, Arc<str>>,
}

/// A step at which a sub agent acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    /// Number of the step.
    pub(crate) step: u32,
    /// Id of the sub agent.
    pub(crate) agent: Arc<str>,
    /// `true` if the sub agent exists; otherwise no model is asked, but the gold counts
    /// (docs/benchmarks/orchestrationbench.md §2.6, EN 108/3).
    pub(crate) is_asked: bool,
}

impl Scenario {
    /// Name with the language, such as `EN/1`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.language.name(), self.id)
    }

    /// Returns the label of a step with this suffix.
    pub(crate) fn label(&self, step: u32, suffix: Suffix) -> Option<&Entry> {
        self.labels.get(&(step, suffix))
    }

    /// Returns the gold of a decision step: its calls where they could be parsed, else the step as it was written
    /// (docs/benchmarks/orchestrationbench.md §2.5). Without calls it is a rejection.
    pub(crate) fn gold(&self, step: u32) -> Option<&Entry> {
        self.label(step, Suffix::Call).or_else(|| self.label(step, Suffix::Message))
    }

    /// Returns the decision at a step.
    pub(crate) fn decision(&self, step: u32) -> Option<&Decision> {
        self.decisions.iter().find(|decision| decision.step == step)
    }
}
