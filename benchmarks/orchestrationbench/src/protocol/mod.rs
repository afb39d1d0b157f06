//! The protocol: requests at each step (docs/benchmarks/orchestrationbench.md §3), and the questions to a judge (§8).
//!
//! Every call sees a history rebuilt from the gold, so no error reaches another step. The `…_after` functions take
//! any other history, for the end-to-end mode.

mod cards;
mod history;
mod judge;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Sampling};

use super::data::{Data, Language, Scenario};
use super::prompts::{self, marks};
use cards::format_cards;

pub(crate) use self::history::{history, told};
pub(crate) use self::judge::{Unresolved, judge_conversation, judge_index, unresolved_in};

/// Sampling of the evaluated models (docs/benchmarks/orchestrationbench.md §3.2). Parameters of a model in the spec
/// take precedence.
pub(crate) const SAMPLING: Sampling =
    Sampling { temperature: Some(0.2), top_p: None, max_tokens: Some(4096), seed: None };

/// The official code gives the main agent earlier workflows only in the history.
const NO_WORKFLOWS: &str = "NONE";

/// Asks the main agent for the plan of `step`.
pub(crate) fn planning_request(data: &Data, scenario: &Scenario, step: u32) -> ChatRequest {
    planning_after(data, scenario, history(&scenario.labels, step))
}

/// Asks the main agent for a plan after `history`.
pub(crate) fn planning_after(data: &Data, scenario: &Scenario, history: Vec<ChatMessage>) -> ChatRequest {
    let template = match &data.prompts.planning {
        Some(official) => official.to_string(),
        None => prompts::planning(scenario.language),
    };
    let system = template
        .replace(marks::AGENT_CARDS, &format_cards(data.agents(scenario.language)))
        .replace(marks::SYSTEM_INFO, &scenario.system_info)
        .replace(marks::WORKFLOWS, NO_WORKFLOWS);
    let history = if history.iter().any(|message| message.role == ChatRole::User) {
        history
    } else {
        vec![ChatMessage::new(ChatRole::User, prompts::plan_please(scenario.language))]
    };
    request(system, history)
}

/// Asks the sub agent of `step` for its decision; `None` where there is no such agent or decision.
pub(crate) fn decision_request(data: &Data, scenario: &Scenario, step: u32) -> Option<ChatRequest> {
    let decision = scenario.decision(step)?;
    let query = scenario.refined_queries.get(&step).cloned();
    decision_after(data, scenario, &decision.agent, history(&scenario.labels, step), query)
}

/// Asks the sub agent `agent` for its decision after `history`, with `query` as its task; `None` where there is no
/// such agent.
pub(crate) fn decision_after(
    data: &Data,
    scenario: &Scenario,
    agent: &str,
    mut history: Vec<ChatMessage>,
    query: Option<Arc<str>>,
) -> Option<ChatRequest> {
    let card = data.agents(scenario.language).card(agent)?;
    history.extend(query.map(|query| ChatMessage::new(ChatRole::User, query)));
    let mut request = request(decision_system(data, scenario.language, &scenario.system_info), history);
    request.tools.clone_from(&card.tools);
    Some(request)
}

fn decision_system(data: &Data, language: Language, system_info: &str) -> String {
    let prompt = match &data.prompts.decision {
        Some(official) => official.to_string(),
        None => prompts::decision(language),
    };
    if system_info.is_empty() { prompt } else { format!("SYSTEM_INFO:\n{system_info}\n\n{prompt}") }
}

fn request(system: String, history: Vec<ChatMessage>) -> ChatRequest {
    let system = ChatMessage::new(ChatRole::System, system);
    ChatRequest::new(std::iter::once(system).chain(history).collect(), SAMPLING)
}
