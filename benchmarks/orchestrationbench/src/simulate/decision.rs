//! Replies of a simulated sub agent.

use std::sync::Arc;

use regatta_proto::{Finish, Reply, ToolCall};
use serde_json::json;

use super::Mistakes;
use super::arguments::disturbed;
use crate::data::{Card, Data, Entry, GoldCall, Scenario};

/// Replies with the gold's calls or text; with mistakes, other calls, text instead of calls, or the reverse.
pub(super) fn reply(data: &Data, scenario: &Scenario, step: u32, mistakes: &mut Mistakes) -> Reply {
    let Some(gold) = scenario.gold(step) else { return Reply::of_text(None, Finish::Stop) };
    let agent = scenario.decision(step).map(|decision| &*decision.agent);
    let card = agent.and_then(|agent| data.agents(scenario.language).card(agent));
    if gold.calls.is_empty() { instead_of_words(gold, card, mistakes) } else { instead_of_calls(gold, card, mistakes) }
}

fn instead_of_words(gold: &Entry, card: Option<&Card>, mistakes: &mut Mistakes) -> Reply {
    let said = gold.content.text().map_or("", |text| text);
    if mistakes.happens(0.3)
        && let Some(tool) = card.and_then(|card| mistakes.one_of(&card.tools))
    {
        let arguments = json!({"refinedQuery": "as the user said"}).to_string();
        return calling([(Arc::clone(&tool.name), arguments)]);
    }
    let text = if mistakes.happens(0.15) {
        match mistakes.pick(3) {
            0 => said.replace("AWAITING_USER_INPUT", "TOOL_CONSTRAINT_VIOLATION"),
            // In the format that the prompt asks for.
            1 => "<response><status>AWAITING_USER_INPUT</status><required_info>more</required_info></response>"
                .to_owned(),
            _ => "Could you tell me a little more?".to_owned(),
        }
    } else {
        said.to_owned()
    };
    Reply::of_text(Some(&text), Finish::Stop)
}

fn instead_of_calls(gold: &Entry, card: Option<&Card>, mistakes: &mut Mistakes) -> Reply {
    if mistakes.happens(0.2) {
        let text = match mistakes.pick(4) {
            0 => "status: AWAITING_USER_INPUT\nrequired_info: the details",
            1 => "<response><status>TOOL_CONSTRAINT_VIOLATION</status></response>",
            2 => "I will look it up for you.",
            // A call as text.
            _ => "<tool_call>{\"name\": \"search\", \"arguments\": {}}</tool_call>",
        };
        return Reply::of_text(Some(text), Finish::Stop);
    }
    let mut calls: Vec<(Arc<str>, String)> = Vec::with_capacity(gold.calls.len());
    for GoldCall { name, arguments } in &gold.calls {
        if gold.calls.len() > 1 && mistakes.happens(0.2) {
            continue;
        }
        let other = card.and_then(|card| mistakes.one_of(&card.tools)).filter(|_| mistakes.happens(0.2));
        let name = other.map_or(name, |tool| &tool.name);
        calls.push((Arc::clone(name), disturbed(arguments, mistakes)));
    }
    if mistakes.happens(0.05) {
        // The last call is repeated.
        calls.extend(calls.last().cloned());
    }
    calling(calls)
}

fn calling(calls: impl IntoIterator<Item = (Arc<str>, String)>) -> Reply {
    let call = |(number, (name, arguments)): (usize, (Arc<str>, String))| ToolCall {
        id: format!("call_{number}").into(),
        name,
        arguments: arguments.into(),
    };
    let tool_calls: Vec<ToolCall> = (1..).zip(calls).map(call).collect();
    let finish = if tool_calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
    Reply { tool_calls, ..Reply::of_text(None, finish) }
}
