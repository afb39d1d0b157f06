//! Texts of a canonical session for the simulators and the judge; records in the official form contain these texts
//! themselves (docs/benchmarks/flowbench.md §2.2).

use std::fmt::Write as _;

use crate::data::{Invocation, Session, UserProfile, one_line};

/// Gold calls as blocks, joined by a blank line; empty when there is none (`gt_actions_string`, docs/benchmarks/flowbench.md §2.5).
pub(crate) fn call_blocks(calls: &[Invocation]) -> String {
    calls.iter().map(call_block).collect::<Vec<_>>().join("\n\n")
}

/// Gold calls with their results (`function_prompt`, docs/benchmarks/flowbench.md §2.2).
pub(crate) fn calls_with_results(calls: &[Invocation]) -> String {
    let blocks: Vec<String> =
        calls.iter().map(|call| format!("{}\nfunction:\n{}", call_block(call), call.result)).collect();
    blocks.join("\n\n")
}

/// Renders the hint for the user's first message (`first_turn_hint`).
pub(crate) fn first_turn_hint(session: &Session) -> String {
    let need = session.goals.first().map_or("help", |goal| goal);
    format!("In the first turn, what you need is: {need}. Do not speak of anything else yet.")
}

/// Renders the user's profile, goals and known values (`every_turn_hint`).
pub(crate) fn every_turn_hint(session: &Session) -> String {
    let mut hint = String::new();
    if let Some(UserProfile { name, tone, background }) = &session.profile {
        let _ = write!(hint, "{name}. {background} Tone: {tone}. ");
    }
    hint.push_str("Goals, one after another:");
    for (number, goal) in session.goals.iter().enumerate() {
        let _ = write!(hint, " ({}) {goal}.", number + 1);
    }
    let mut known: Vec<String> = Vec::new();
    for (name, value) in session.invocations.iter().flat_map(|call| &call.input) {
        let value = value.as_str().map_or_else(|| one_line(value), str::to_owned);
        let pair = format!("{name} = {value}");
        if !known.contains(&pair) {
            known.push(pair);
        }
    }
    if !known.is_empty() {
        let _ = write!(hint, " Values to give when they are asked for: {}.", known.join("; "));
    }
    hint
}

/// Renders the goals to be reached (`user_target`): profile, role of the assistant, goals, and expected calls.
pub(crate) fn user_target(session: &Session, role: &str) -> String {
    let background = session.profile.as_ref().map_or("not known", |profile| &profile.background);
    let mut target = format!("User: {background}\nAssistant: {}\nGoals:", role.replace('_', " "));
    for (number, goal) in session.goals.iter().enumerate() {
        let _ = write!(target, "\n{}. {goal}", number + 1);
    }
    let calls = call_blocks(&session.invocations);
    let _ = write!(target, "\nExpected tool calls:\n{}", if calls.is_empty() { "none" } else { &calls });
    target
}

fn call_block(call: &Invocation) -> String {
    format!("Action: {}\nAction Input: {}", call.action, one_line(&call.input))
}
