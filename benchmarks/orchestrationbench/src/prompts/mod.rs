//! Prompts for use without the repository's own: our wording of the content that
//! docs/benchmarks/orchestrationbench.md §3.2, §3.3 and §8 require.

mod decision;
mod judge;
mod planning;

#[cfg(test)]
mod tests;

use super::data::Language;

pub(crate) use self::decision::decision;
pub(crate) use self::judge::{COUNT, begin_with, judge};
pub(crate) use self::planning::planning;

/// Placeholders of prompts.
pub(crate) mod marks {
    /// The agents, formatted.
    pub(crate) const AGENT_CARDS: &str = "%%agent_cards%%";
    /// System information of the scenario.
    pub(crate) const SYSTEM_INFO: &str = "%%system_info%%";
    /// Workflows so far.
    pub(crate) const WORKFLOWS: &str = "%%workflows%%";
    /// Parameters of the tools that were called.
    pub(crate) const TOOL_DESCRIPTION: &str = "%%tool_description%%";
}

/// Asks for a plan where no user message does (in no official scenario).
pub(crate) fn plan_please(language: Language) -> &'static str {
    match language {
        Language::En => "Please write the plan.",
        Language::Ko => "계획을 작성해 주세요.",
    }
}

const fn spoken(language: Language) -> &'static str {
    match language {
        Language::En => "English",
        Language::Ko => "Korean",
    }
}
