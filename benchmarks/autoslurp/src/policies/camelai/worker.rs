//! Workers: single agents with a memory of this session and perhaps a tool.

use jiff::civil::Date;
use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Digest, Reasoning, ToolCall};

use super::prompt;
use super::reading::{self, NewWorker};
use super::worker_tool::WorkerTool;
use crate::members;
use crate::policies::query::Query;
use crate::policy::Policy;
use crate::prompts;
use crate::run::Run;
use crate::servers;

/// Most messages that a worker remembers, what it is told aside.
pub(super) const MEMORY_MAX: usize = 10;
/// The library's default temperature.
const TEMPERATURE: f64 = 0.2;

/// The seven workers, in the order in which they are listed.
const TEAM: [&str; 7] = [
    members::MANAGER,
    members::INTENT,
    members::TIME,
    members::LOCATION,
    members::URL,
    members::REQUEST,
    members::RESPONSE,
];

/// A worker.
#[derive(Debug, Clone)]
pub(super) struct Worker {
    /// Fifteen digits, as addresses of objects are in the framework's interpreter; of one utterance always the same.
    pub(super) id: String,
    pub(super) member: &'static str,
    pub(super) description: String,
    pub(super) tools: &'static [WorkerTool],
    temperature: f64,
    told: String,
    memory: Vec<ChatMessage>,
}

impl Worker {
    /// The team that the example makes.
    pub(super) fn team(query: &Query<'_>) -> Vec<Self> {
        let workers = TEAM.iter().enumerate().map(|(at, member)| Self {
            id: id(query, at),
            member,
            description: prompts::described(member).to_owned(),
            tools: match *member {
                members::TIME => &[WorkerTool::GetDate],
                members::REQUEST => &[WorkerTool::Req],
                _ => &[],
            },
            temperature: TEMPERATURE,
            told: prompts::told(Policy::CamelAi, member),
            memory: Vec::new(),
        });
        workers.collect()
    }

    /// One that the coordinator has made. The library would give it tools for services that the simulated world does not have; it has none.
    pub(super) fn made(query: &Query<'_>, at: usize, conf: NewWorker) -> Self {
        Self {
            id: id(query, at),
            member: members::WORKER,
            description: conf.description,
            tools: &[],
            temperature: 0.0,
            told: conf.told,
            memory: Vec::new(),
        }
    }

    /// It is asked something.
    pub(super) fn hears(&mut self, request: String) {
        self.memory.push(ChatMessage::new(ChatRole::User, request));
    }

    /// It has answered.
    pub(super) fn says(&mut self, text: &str) {
        self.memory.push(ChatMessage::new(ChatRole::Assistant, text));
    }

    /// Remembers a tool call, the reasoning before it, which some providers want sent back, and the tool's answer.
    pub(super) fn called(&mut self, call: &ToolCall, thought: Option<&Reasoning>, answer: &str) {
        let calling = ChatMessage {
            tool_calls: vec![call.clone()],
            reasoning: thought.cloned(),
            ..ChatMessage::new(ChatRole::Assistant, "")
        };
        let answered = ChatMessage { tool_call_id: Some(call.id.clone()), ..ChatMessage::new(ChatRole::Tool, answer) };
        self.memory.extend([calling, answered]);
    }

    /// Request to the worker's model: its system prompt and its memory. A memory never begins with a tool's answer to a forgotten call,
    /// because no provider takes that.
    pub(super) fn request(&self) -> ChatRequest {
        let from = self.memory.len().saturating_sub(MEMORY_MAX);
        let remembered = self.memory.iter().skip(from).skip_while(|message| message.role == ChatRole::Tool);
        let messages = std::iter::once(&ChatMessage::new(ChatRole::System, self.told.as_str()))
            .chain(remembered)
            .cloned()
            .collect();
        prompt::work(messages, self.tools, self.temperature)
    }

    /// Makes a call.
    ///
    /// # Errors
    /// With the reason as the framework words it, where it raises.
    pub(super) fn call(&self, call: &ToolCall, today: Date, run: &mut Run) -> Result<String, String> {
        let unknown = || format!("{:?} is no tool", call.name);
        let tool = *self.tools.iter().find(|tool| tool.name() == &*call.name).ok_or_else(unknown)?;
        let wrong = || format!("the arguments of {} are wrong", tool.name());
        let arguments = reading::arguments(&call.arguments).ok_or_else(wrong)?;
        let arguments = arguments.as_object().ok_or_else(wrong)?;
        match tool {
            WorkerTool::GetDate if arguments.is_empty() => Ok(today.to_string()),
            WorkerTool::GetDate => Err(wrong()),
            WorkerTool::Req => {
                let url = arguments
                    .get("url")
                    .filter(|_| arguments.len() == 1)
                    .and_then(|url| url.as_str())
                    .ok_or_else(wrong)?;
                let exchange = servers::exchange("GET", url, None, today);
                let body = exchange.response.to_string();
                let is_answered = exchange.status != 0;
                run.requests.push(exchange);
                if !is_answered {
                    return Err("nobody answers there".to_owned());
                }
                run.log.push_str(&format!("{body}\n"));
                Ok(body)
            }
        }
    }
}

/// The id of the worker at `at`.
fn id(query: &Query<'_>, at: usize) -> String {
    let digest = Digest::of_parts([b"camelai".as_slice(), query.iid.as_bytes(), query.text.as_bytes()]);
    let start = digest.bytes().iter().take(4).fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
    // Objects that are made one after the other lie close together.
    format!("{}", 140_000_000_000_000 + start * 16 + at as u64 * 48)
}

/// Workers, a line each.
pub(super) fn listed(workers: &[Worker]) -> String {
    let lines: Vec<String> = workers
        .iter()
        .map(|worker| {
            let tools: Vec<&str> = worker.tools.iter().map(|tool| tool.name()).collect();
            format!("<{}>:<{}>:<tools: {}>", worker.id, worker.description, tools.join(", "))
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    const QUERY: Query<'static> = Query { iid: "1", text: "x", today: date(2025, 5, 28) };

    #[test]
    fn ids_have_fifteen_digits_and_differ() {
        let team = Worker::team(&QUERY);
        assert!(team.iter().all(|worker| worker.id.len() == 15 && worker.id.bytes().all(|byte| byte.is_ascii_digit())));
        let ids: std::collections::BTreeSet<&str> = team.iter().map(|worker| worker.id.as_str()).collect();
        assert_eq!(ids.len(), 7);
        assert_eq!(team[1].id, Worker::team(&QUERY)[1].id);
        assert_ne!(team[1].id, Worker::team(&Query { iid: "2", ..QUERY })[1].id);
    }

    #[test]
    fn a_worker_remembers_the_last_ten_messages_and_what_it_is_told() {
        let mut worker = Worker::team(&QUERY).swap_remove(5);
        let call = ToolCall { id: "c".into(), name: "req".into(), arguments: "{}".into() };
        for round in 0..4 {
            worker.hears(format!("task {round}"));
            worker.called(&call, None, "body");
            worker.says("done");
        }
        let messages = worker.request().messages;
        assert_eq!(messages.len(), 1 + 9, "the answer to a forgotten call is forgotten with it");
        assert_eq!((messages[0].role, messages[1].role), (ChatRole::System, ChatRole::Assistant));
        worker.hears("task 4".to_owned());
        assert_eq!(worker.request().messages.len(), 1 + 10);
    }
}
