//! The simulated agent, which answers with the gold of its turn, or with a perturbed version.

use std::fmt::Write as _;

use regatta_benchmarks::Persona;
use regatta_proto::{ChatRequest, ChatRole, SessionSeed};

use super::Mistakes;
use super::noise::disturbed;
use crate::data::{Content, Entry, GoldTurn, Script};

const GOODBYE: &str = "Thought: The user needs nothing more.\nResponse: That is all done. Goodbye!";

/// Replies to `request`: for a turn with its gold, for a session with the gold of the next turn.
pub(super) fn reply(entry: &Entry, persona: Persona, seed: SessionSeed, request: &ChatRequest) -> String {
    let said = request.messages.iter().filter(|message| message.role == ChatRole::Assistant).count();
    let gold = gold_output(entry, said);
    let mut mistakes = Mistakes::of(persona, seed, &format!("flowbench/agent/{said}"));
    disturbed(&gold, entry, &mut mistakes)
}

fn gold_output(entry: &Entry, said: usize) -> String {
    match &entry.content {
        Content::SessionTurn(..) | Content::TurnRecord(_) => entry.gold().map(output).unwrap_or_default(),
        Content::Session(session) => {
            session.agent_turns().nth(said).map_or_else(|| GOODBYE.to_owned(), |(_, gold)| output(gold))
        }
        Content::SessionRecord(record) => next_call(&record.script, said),
    }
}

/// Returns the next gold call, because the official record of a session contains only calls.
fn next_call(script: &Script, said: usize) -> String {
    let call = script.gold_actions.split("\n\n").filter(|call| !call.is_empty()).nth(said);
    call.map_or_else(|| GOODBYE.to_owned(), |call| format!("Thought: The next step is a call.\n{call}"))
}

/// Returns the whole gold output, composed from its parts when the record has only these.
fn output(gold: &GoldTurn) -> String {
    // The paper prints the session without thoughts.
    if let Some(content) = gold.content.as_deref().filter(|content| content.contains("Thought:")) {
        return content.to_owned();
    }
    let mut text = String::from("Thought:");
    let nodes = ["last_node", "intent", "current_node"].map(|key| (key, gold.text(key)));
    for (label, (key, value)) in ["Previous node", "Current intention", "Current node"].into_iter().zip(nodes) {
        if let Some(value) = value {
            let _ = write!(text, " {label} {key}={value},");
        }
    }
    let mut text = format!("{}.\n", text.trim_end_matches(','));
    match (gold.action(), gold.action_input()) {
        (Some(action), Some(input)) if !action.is_empty() => {
            let _ = write!(text, "Action: {action}\nAction Input: {input}");
        }
        _ => {
            let _ = write!(text, "Response: {}", gold.response.as_deref().unwrap_or_default());
        }
    }
    text
}
