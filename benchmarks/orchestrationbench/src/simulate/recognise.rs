//! Recognition of the step that a request belongs to, for callers that do not name it.

use std::collections::HashMap;
use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Digest, Tool};

use crate::data::{Data, Scenario, Suffix};
use crate::prompts::plan_please;
use crate::protocol::told;

/// Steps by digest of the messages after the instructions, which callers may word differently.
#[derive(Debug, Default)]
pub(crate) struct Requests(HashMap<Digest, Vec<Candidate>>);

/// A step that sends these messages.
#[derive(Debug)]
struct Candidate {
    scenario: usize,
    step: u32,
    system_info: Arc<str>,
}

impl Requests {
    /// Indexes all requests of the data set. The histories of a scenario are prefixes of each other, so every message
    /// is hashed once.
    pub(crate) fn of(data: &Data) -> Self {
        let mut requests = Self::default();
        for (position, scenario) in data.scenarios.iter().enumerate() {
            requests.add(data, position, scenario);
        }
        requests
    }

    fn add(&mut self, data: &Data, position: usize, scenario: &Scenario) {
        let agents = data.agents(scenario.language);
        let (mut history, mut has_user) = (start(), false);
        for ((step, suffix), entry) in &scenario.labels {
            if *suffix == Suffix::Message {
                let sent = if scenario.planning.contains(step) {
                    let asked = (ChatRole::User, plan_please(scenario.language));
                    Some(if has_user { history } else { then(&start(), asked.0, asked.1) })
                } else {
                    let card = scenario.decision(*step).and_then(|decision| agents.card(&decision.agent));
                    card.map(|card| {
                        let query = scenario.refined_queries.get(step);
                        let said = query.map_or(history, |query| then(&history, ChatRole::User, query));
                        with_tools(said, &card.tools)
                    })
                };
                if let Some(sent) = sent {
                    let system_info = Arc::clone(&scenario.system_info);
                    let candidate = Candidate { scenario: position, step: *step, system_info };
                    self.0.entry(sent).or_default().push(candidate);
                }
            }
            if let Some(message) = told(entry) {
                has_user |= message.role == ChatRole::User;
                history = after(&history, &message);
            }
        }
    }

    /// Finds the step of `request`: position of the scenario, and step. Of several that send the same messages, the
    /// first whose system information is in the request is taken, or else the first.
    pub(crate) fn step(&self, request: &ChatRequest) -> Option<(usize, u32)> {
        let (system, said): (Vec<_>, Vec<_>) =
            request.messages.iter().partition(|message| message.role == ChatRole::System);
        let history = said.iter().fold(start(), |history, message| after(&history, message));
        let candidates = self.0.get(&with_tools(history, &request.tools))?;
        let is_told = |candidate: &&Candidate| {
            let info = &*candidate.system_info;
            !info.is_empty() && system.iter().any(|message| message.content.contains(info))
        };
        // Every request contains an empty system information, so these steps are tried last.
        let nameless = || candidates.iter().find(|candidate| candidate.system_info.is_empty());
        let found = candidates.iter().find(is_told).or_else(nameless).or_else(|| candidates.first())?;
        Some((found.scenario, found.step))
    }
}

fn start() -> Digest {
    Digest::of(b"")
}

fn then(history: &Digest, role: ChatRole, content: &str) -> Digest {
    let role = match role {
        ChatRole::System => "system",
        ChatRole::User => "user",
        ChatRole::Assistant => "assistant",
        ChatRole::Tool => "result",
    };
    Digest::of_parts([history.bytes(), role.as_bytes(), content.as_bytes()])
}

fn after(history: &Digest, message: &ChatMessage) -> Digest {
    then(history, message.role, &message.content)
}

fn with_tools(history: Digest, tools: &[Tool]) -> Digest {
    tools.iter().fold(history, |said, tool| Digest::of_parts([said.bytes(), b"tool".as_slice(), tool.name.as_bytes()]))
}
