//! Plans of a simulated main agent.

use super::Mistakes;
use super::draft::{Dependencies, Draft};
use crate::data::{Data, Scenario, Suffix};

/// Probability of a broken format, relative to any other mistake.
const FORM_SHARE: f64 = 0.3;
/// Probability of an answer without a plan, relative to any other mistake.
const NO_PLAN_SHARE: f64 = 0.05;

/// Returns the gold plan verbatim; with mistakes, in the format that the prompt asks for or in a broken one.
pub(super) fn text(data: &Data, scenario: &Scenario, step: u32, mistakes: &mut Mistakes) -> String {
    let gold = scenario.label(step, Suffix::Message).and_then(|entry| entry.content.text());
    let gold = gold.map_or("", |text| text);
    let agents: Vec<&str> = data.agents(scenario.language).cards().iter().map(|card| &*card.agent_id).collect();
    if mistakes.happens(NO_PLAN_SHARE) {
        return "{\"status\": \"SUCCESS\", \"content\": \"That has been done already.\"}".to_owned();
    }
    let text = match Draft::of(gold) {
        Some(mut draft) => {
            let is_changed = draft.disturb(&agents, mistakes);
            if is_changed && mistakes.pick(4) == 0 {
                draft.yaml()
            } else if is_changed || mistakes.happens(0.5) {
                // The plan is right, and sometimes its format is not.
                let form = mistakes.happens(0.4).then(|| mistakes.one_of(&Dependencies::ALL)).flatten();
                draft.json(form.copied().unwrap_or(Dependencies::List))
            } else {
                gold.to_owned()
            }
        }
        None => gold.to_owned(),
    };
    if mistakes.happens(FORM_SHARE) { broken(&text, mistakes) } else { text }
}

/// Returns the text in a format that some parsers fail on.
fn broken(text: &str, mistakes: &mut Mistakes) -> String {
    match mistakes.pick(8) {
        0 => format!("```json\n{text}\n```"),
        1 => format!("```yaml\n{text}\n```"),
        2 => format!("Here is the plan you asked for:\n\n{text}\n\nShall I go on?"),
        3 => format!("<think>\nThe user wants something. Maybe {{\"workflow_1\": {{}}}}?\n</think>\n{text}"),
        // Truncated.
        4 => text.chars().take(text.chars().count() / 2).collect(),
        // In Python's notation.
        5 => text.replace('"', "'"),
        // A trailing comma.
        6 => text.trim_end_matches('}').to_owned() + "},}",
        _ => "I will take care of it.".to_owned(),
    }
}
