//! Description of the agents in the main agent's prompt (docs/benchmarks/orchestrationbench.md §3.2).

use crate::data::{Agents, Card};

/// Formats all agents, by ascending id.
pub(super) fn format_cards(agents: &Agents) -> String {
    agents.cards().iter().flat_map(lines).collect::<Vec<_>>().join("\n")
}

fn lines(card: &Card) -> Vec<String> {
    let mut lines = vec![format!("**{} ({})**", card.name, card.agent_id), format!("- {}", card.description)];
    if !card.skills.is_empty() {
        lines.push("- Skills:".to_owned());
        lines.extend(card.skills.iter().map(|skill| format!("  - {}: {}", skill.id, skill.description)));
    }
    lines.push(String::new());
    lines
}
