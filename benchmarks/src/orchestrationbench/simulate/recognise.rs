//! Which step a request asks for, for callers that do not name it.

use std::collections::HashMap;

use regatta_proto::{ChatRequest, ChatRole, Digest};

use crate::orchestrationbench::data::Data;
use crate::orchestrationbench::protocol::{decision_request, planning_request};

/// Steps by what is sent for them: position of the scenario, and step.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    whole: HashMap<Digest, (usize, u32)>,
    /// Without the system message, which callers may word otherwise.
    said: HashMap<Digest, (usize, u32)>,
}

impl Requests {
    /// All requests of the data set; of equal ones the first counts.
    pub(crate) fn of(data: &Data) -> Self {
        let mut requests = Self::default();
        for (position, scenario) in data.scenarios.iter().enumerate() {
            for step in &scenario.planning {
                requests.add(&planning_request(data, scenario, *step), (position, *step));
            }
            for decision in &scenario.decisions {
                if let Some(request) = decision_request(data, scenario, decision.step) {
                    requests.add(&request, (position, decision.step));
                }
            }
        }
        requests
    }

    fn add(&mut self, request: &ChatRequest, step: (usize, u32)) {
        self.whole.entry(digest(request, true)).or_insert(step);
        self.said.entry(digest(request, false)).or_insert(step);
    }

    /// The step that `request` asks for.
    pub(crate) fn step(&self, request: &ChatRequest) -> Option<(usize, u32)> {
        self.whole.get(&digest(request, true)).or_else(|| self.said.get(&digest(request, false))).copied()
    }
}

fn digest(request: &ChatRequest, with_system: bool) -> Digest {
    let messages = request.messages.iter().filter(|message| with_system || message.role != ChatRole::System);
    let said = messages.flat_map(|message| [role(message.role), message.content.as_bytes()]);
    let tools = request.tools.iter().flat_map(|tool| [b"tool".as_slice(), tool.name.as_bytes()]);
    Digest::of_parts(said.chain(tools))
}

const fn role(role: ChatRole) -> &'static [u8] {
    match role {
        ChatRole::System => b"system",
        ChatRole::User => b"user",
        ChatRole::Assistant => b"assistant",
        ChatRole::Tool => b"result",
    }
}
