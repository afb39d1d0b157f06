//! The data set (docs/benchmarks/orchestrationbench.md §2): scenarios and agent cards of the repository, and its
//! prompts when these files are present.

mod build_labels;
mod card;
mod files;
mod label;
mod language;
mod load;
mod read_card;
mod read_scenario;
mod refined_queries;
mod scenario;
mod scenario_step;
mod yaml_file;

#[cfg(test)]
pub(crate) mod shared;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use self::card::{Agents, Card};
pub(crate) use self::files::wants;
pub(crate) use self::label::{Content, Entry, GoldCall, Labels, Speaker, Suffix};
pub(crate) use self::language::Language;
pub(crate) use self::load::load;
pub(crate) use self::scenario::Scenario;

/// The loaded data set.
#[derive(Debug)]
pub(crate) struct Data {
    /// Scenarios, English before Korean, each language by ascending number.
    pub(crate) scenarios: Vec<Arc<Scenario>>,
    /// Prompts of the repository's configuration, or our own.
    pub(crate) prompts: Prompts,
    english: Agents,
    korean: Agents,
}

/// Prompts of the repository, with their `%%…%%` placeholders; each `None` when its file is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Prompts {
    /// `prompts.general.prompt`: the prompt for a plan.
    pub(crate) planning: Option<Arc<str>>,
    /// `prompts.select_tools.prompt`: the prompt for calls.
    pub(crate) decision: Option<Arc<str>>,
    /// `prompts.arguments_evaluation.prompt`: the prompt of the judge.
    pub(crate) judge: Option<Arc<str>>,
}

impl Data {
    /// Returns the agents of a language.
    pub(crate) fn agents(&self, language: Language) -> &Agents {
        match language {
            Language::En => &self.english,
            Language::Ko => &self.korean,
        }
    }
}
