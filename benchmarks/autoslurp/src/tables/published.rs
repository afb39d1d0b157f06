//! The published numbers: Tables 2 to 7, in the paper's own digits, shares in percent.

use super::cells::Cell;
use crate::policy::Policy;
use crate::setting::Dataset;

/// Names by which providers and people call the model of Tables 2 to 4, in lower case.
const GPT_4: [&str; 3] = ["gpt-4", "gpt-4-0314", "gpt-4-0613"];

/// Published numbers of a framework.
#[derive(Debug, Clone, Copy)]
pub(super) struct Team {
    policy: Policy,
    /// Table 2: share of successes.
    pub(super) success: f64,
    /// Sessions that failed; the denominator of Table 3, by inference from its percentages (docs/benchmarks/autoslurp.md §9).
    pub(super) failed: f64,
    /// Table 3, in the order of [`crate::structured::CAUSES`]; where the paper has a dash there is nothing.
    pub(super) causes: [Option<f64>; 6],
    /// Table 4: dollars for a query.
    pub(super) cost_usd: f64,
}

const TEAMS: [Team; 4] = [
    Team {
        policy: Policy::CamelAi,
        success: 0.21,
        failed: 79.0,
        causes: [Some(54.0), Some(18.0), None, Some(14.0), Some(9.0), Some(18.0)],
        cost_usd: 0.52,
    },
    Team {
        policy: Policy::LangGraph,
        success: 0.32,
        failed: 68.0,
        causes: [Some(34.0), Some(12.0), None, Some(13.0), Some(53.0), None],
        cost_usd: 0.14,
    },
    Team {
        policy: Policy::AutoGen,
        success: 0.44,
        failed: 56.0,
        causes: [Some(68.0), Some(9.0), None, Some(43.0), Some(13.0), None],
        cost_usd: 0.80,
    },
    Team {
        policy: Policy::AgentLite,
        success: 0.46,
        failed: 54.0,
        causes: [Some(69.0), Some(19.0), Some(7.0), Some(19.0), None, None],
        cost_usd: 0.55,
    },
];

/// The numbers of a cell's framework, where the cell is as the paper's: its test set, GPT-4 as every agent.
pub(super) fn team(cell: &Cell<'_>) -> Option<&'static Team> {
    let is_gpt_4 = GPT_4.contains(&family(cell).as_str());
    let is_as_published = is_gpt_4 && cell.mode.cast.is_none() && cell.mode.dataset == Dataset::Test;
    TEAMS.iter().find(|team| is_as_published && cell.framework() == Some(team.policy))
}

/// Model family without an organisation before the last slash, in lower case.
fn family(cell: &Cell<'_>) -> String {
    let family = cell.result.family;
    family.rsplit('/').next().unwrap_or(family).to_ascii_lowercase()
}

/// LLaMA-3-8B as AutoGen's intent agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Llama {
    /// As it was released.
    Original,
    /// Fine-tuned on the training set.
    Tuned,
}

/// Names of casts that have the paper's intent agents, for documents.
pub(super) const CASTS: &str = "cast=llama-3-8b (or cast=original) and cast=llama-3-8b-tuned (or cast=tuned)";

impl Llama {
    /// The intent agent of a cell's cast, by the name of the cast.
    pub(super) fn of(cell: &Cell<'_>) -> Option<Self> {
        let cast = cell.mode.cast.as_deref()?.to_ascii_lowercase();
        let is_as_published = cell.framework() == Some(Policy::AutoGen) && cell.mode.dataset == Dataset::Test;
        match cast.as_str() {
            "original" | "llama-3-8b" | "llama3-8b" => is_as_published.then_some(Self::Original),
            "tuned" | "llama-3-8b-tuned" | "llama3-8b-tuned" => is_as_published.then_some(Self::Tuned),
            _ => None,
        }
    }

    /// Table 5: share of successes.
    pub(super) const fn success(self) -> f64 {
        match self {
            Self::Original => 0.40,
            Self::Tuned => 0.62,
        }
    }

    /// Tables 6 and 7: share of right intents in a domain, with and without the names of slots.
    pub(super) fn intents(self, domain: &str) -> Option<[f64; 2]> {
        let (_, numbers) = INTENTS.iter().find(|(of, _)| *of == domain)?;
        let [original_6, tuned_6, original_7, tuned_7] = *numbers;
        Some(match self {
            Self::Original => [original_6, original_7],
            Self::Tuned => [tuned_6, tuned_7],
        })
    }
}

/// Published percentages of each domain: Table 6 original and tuned, Table 7 original and tuned.
const INTENTS: [(&str, [f64; 4]); 15] = [
    ("audiobook", [0.0, 66.7, 0.0, 66.7]),
    ("calendar", [11.8, 76.5, 29.4, 82.4]),
    ("currency", [0.0, 66.7, 0.0, 66.7]),
    ("datetime", [14.3, 71.4, 42.9, 85.7]),
    ("email", [0.0, 71.4, 57.1, 71.4]),
    ("iot", [33.3, 75.0, 58.3, 75.0]),
    ("lists", [40.0, 100.0, 40.0, 100.0]),
    ("music", [0.0, 70.0, 10.0, 70.0]),
    ("news", [0.0, 100.0, 33.3, 100.0]),
    ("podcasts", [0.0, 50.0, 0.0, 50.0]),
    ("qa", [0.0, 80.0, 0.0, 80.0]),
    ("radio", [0.0, 66.7, 0.0, 66.7]),
    ("recommendation", [0.0, 60.0, 20.0, 60.0]),
    ("transport", [33.3, 66.7, 66.7, 66.7]),
    ("weather", [0.0, 100.0, 14.3, 100.0]),
];

/// A published percentage as a share; the published digits, and no more.
pub(super) fn share(percent: f64) -> f64 {
    (percent * 10.0).round() / 1000.0
}
