//! One scenario: a conversation with its plans and calls, and what a model is asked in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::label::{Entry, Labels, Suffix};
use super::language::Language;

/// One scenario file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scenario {
    /// Whose.
    pub(crate) language: Language,
    /// The file's name without its ending, a decimal number as far as the official data go.
    pub(crate) id: Arc<str>,
    /// What the system step says; empty where there is none.
    pub(crate) system_info: Arc<str>,
    /// The gold.
    pub(crate) labels: Labels,
    /// Steps at which the main agent is asked for a plan, ascending.
    pub(crate) planning: Vec<u32>,
    /// Steps at which a sub agent acts, ascending.
    pub(crate) decisions: Vec<Decision>,
    /// By decision step, what the plans of the scenario have the sub agent do there (docs/benchmarks/orchestrationbench.md §3.3); not all
    /// have it.
    pub(crate) refined_queries: BTreeMap<u32, Arc<str>>,
}

/// A step at which a sub agent acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The step.
    pub(crate) step: u32,
    /// Who acts.
    pub(crate) agent: Arc<str>,
    /// `true` if there is such an agent; otherwise nobody is asked, but the gold counts (docs/benchmarks/orchestrationbench.md §2.6, EN
    /// 108/3).
    pub(crate) is_asked: bool,
}

impl Scenario {
    /// `EN/1`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.language.name(), self.id)
    }

    /// One label.
    pub(crate) fn label(&self, step: u32, suffix: Suffix) -> Option<&Entry> {
        self.labels.get(&(step, suffix))
    }

    /// The gold of a decision step: its calls where they are known, else the step as it was written
    /// (docs/benchmarks/orchestrationbench.md §2.5). It is a rejection when it has no calls.
    pub(crate) fn gold(&self, step: u32) -> Option<&Entry> {
        self.label(step, Suffix::Call).or_else(|| self.label(step, Suffix::Message))
    }

    /// The decision at a step.
    pub(crate) fn decision(&self, step: u32) -> Option<&Decision> {
        self.decisions.iter().find(|decision| decision.step == step)
    }
}
