//! A transcript as a conversation: each message with its author and cost, and the instructions that are new to the reader.

use std::collections::BTreeMap;
use std::time::Duration;

use regatta_proto::{
    Call, ChatMessage, ChatRequest, ChatRole, Ended, Event, Exchange, MemberName, Reply, Role, Transcript, Try,
};

/// One contribution to a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Role of the author.
    pub role: Role,
    /// Model, tokens, cost and time.
    pub facts: String,
    /// The new messages in the request, as the instructions: role and text of each. Messages that repeat other parts of the conversation
    /// are left out.
    pub told: Vec<(&'static str, String)>,
    /// The reasoning, as far as the provider shows it.
    pub thought: Option<String>,
    /// The text.
    pub said: String,
    /// Tool calls, each with name and arguments.
    pub calls: Vec<(String, String)>,
    /// Errors of earlier tries of the same call.
    pub failed_tries: Vec<String>,
}

impl Part {
    /// The text, followed by the tool calls.
    #[must_use]
    pub fn whole(&self) -> String {
        let mut whole = self.said.clone();
        for (name, arguments) in &self.calls {
            whole.push_str(&format!("\ncalls {name}({arguments})"));
        }
        whole
    }
}

/// Words that are looked for in conversations, in capitals or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    lower: String,
}

impl Words {
    /// Exactly `text`, white space included.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { lower: text.to_lowercase() }
    }

    /// `true` if they are anywhere in the conversation: in what was said, thought, called or told, or in the error of a failed try.
    #[must_use]
    pub fn are_in(&self, transcript: &Transcript) -> bool {
        let has = |text: &str| text.to_lowercase().contains(&self.lower);
        parts(transcript).iter().any(|part| {
            has(&part.whole())
                || part.thought.as_deref().is_some_and(has)
                || part.told.iter().any(|(_, told)| has(told))
                || part.failed_tries.iter().any(|failed| has(failed))
        })
    }
}

/// The conversation, in order: one part an event.
#[must_use]
pub fn parts(transcript: &Transcript) -> Vec<Part> {
    let mut so_far = SoFar::default();
    transcript.events.iter().map(|event| so_far.part(event)).collect()
}

/// Requests and replies of the earlier events.
#[derive(Default)]
struct SoFar<'t> {
    asked: BTreeMap<(Role, Option<&'t MemberName>), &'t [ChatMessage]>,
    said: Vec<&'t str>,
}

impl<'t> SoFar<'t> {
    fn part(&mut self, event: &'t Event) -> Part {
        match event {
            Event::Call(call) => {
                let told = self.told(call.role, &call.request);
                self.said.extend(call.reply.text.as_deref());
                Part { told, failed_tries: tries(&call.tries), ..of_reply(call.role, facts(call), &call.reply) }
            }
            Event::Failed(failed) => Part {
                role: failed.role,
                facts: format!("{}, given up", failed.model),
                told: failed.request.as_deref().map(|request| self.told(failed.role, request)).unwrap_or_default(),
                thought: None,
                said: "(no answer)".to_owned(),
                calls: Vec::new(),
                failed_tries: tries(&failed.tries),
            },
            Event::Recorded(reply) => {
                self.said.extend(reply.text.as_deref());
                of_reply(Role::Agent, "recorded elsewhere".to_owned(), reply)
            }
            Event::Started(started) => {
                of_program(format!("attempt {}", started.attempt), format!("({} is started)", started.agent))
            }
            Event::Exchange(exchange) => of_exchange(exchange),
            Event::Ended(ended) => of_end(ended),
            Event::BenchmarkFailed(failed) => {
                of_program("the benchmark's program failed".to_owned(), format!("{}\n{}", failed.why, failed.errors))
            }
        }
    }

    /// The messages of `request` that are new: neither in the previous request of the same role and member nor the reply of another member.
    fn told(&mut self, role: Role, request: &'t ChatRequest) -> Vec<(&'static str, String)> {
        let messages = request.messages.as_slice();
        let earlier = self.asked.insert((role, request.member.as_ref()), messages).unwrap_or_default();
        let new = messages.strip_prefix(earlier).unwrap_or(messages);
        new.iter()
            .filter(|message| message.role != ChatRole::Assistant || earlier.is_empty())
            .filter(|message| !self.was_said(message))
            .map(|message| (name(message.role), message.shown()))
            .collect()
    }

    /// `true` if the message is a reply of the conversation, with or without words around it that name its author.
    fn was_said(&self, message: &ChatMessage) -> bool {
        let content = message.content.trim();
        message.role != ChatRole::System
            && self.said.iter().map(|said| said.trim()).any(|said| {
                !said.is_empty() && !content.is_empty() && (content.ends_with(said) || said.ends_with(content))
            })
    }
}

fn of_reply(role: Role, facts: String, reply: &Reply) -> Part {
    let said = reply.text.as_deref().unwrap_or("(no text)").to_owned();
    let calls = reply.tool_calls.iter().map(|call| (call.name.to_string(), call.arguments.to_string())).collect();
    let thought = reply.reasoning.as_ref().map(|reasoning| reasoning.text.to_string());
    Part { role, facts, told: Vec::new(), thought, said, calls, failed_tries: Vec::new() }
}

/// An external agent's action other than a model call.
fn of_program(facts: String, said: String) -> Part {
    Part {
        role: Role::Agent,
        facts,
        told: Vec::new(),
        thought: None,
        said,
        calls: Vec::new(),
        failed_tries: Vec::new(),
    }
}

/// A request to a tool server, with its answer.
fn of_exchange(exchange: &Exchange) -> Part {
    let mut said = exchange.body.as_ref().map(|body| format!("{}\n", body.trim_end())).unwrap_or_default();
    let status = if exchange.status == 0 { "no answer".to_owned() } else { exchange.status.to_string() };
    said.push_str(&format!("→ {status}: {}", exchange.response));
    of_program(format!("{} {}", exchange.method, exchange.url), said)
}

/// The end of the program, and its output.
fn of_end(ended: &Ended) -> Part {
    let mut said = if ended.output.is_empty() { "(no output)".to_owned() } else { ended.output.to_string() };
    if ended.is_cut {
        said.push_str("\n(cut here)");
    }
    if !ended.errors.is_empty() {
        said.push_str(&format!("\n(standard error: {})", ended.errors.trim_end()));
    }
    of_program(ended.how.to_string(), said)
}

fn facts(call: &Call) -> String {
    let cost = call.cost.map_or_else(|| "cost unknown".to_owned(), |cost| cost.to_string());
    let usage = call.usage.of_answer(&call.reply);
    let mut facts = format!(
        "{}{}, {} tokens in, {} out, {cost}, {:?}",
        call.request.member.as_ref().map(|member| format!("{member}, ")).unwrap_or_default(),
        call.model,
        usage.shown(usage.input, |count| count.to_string()),
        usage.shown(usage.output, |count| count.to_string()),
        Duration::from_micros(call.latency_us)
    );
    if call.waited_us > 0 {
        facts.push_str(&format!(" after waiting {:?}", Duration::from_micros(call.waited_us)));
    }
    if call.from_cache {
        facts.push_str(", from the cache");
    }
    if call.served.simulated {
        facts.push_str(", simulated");
    }
    facts
}

fn tries(tries: &[Try]) -> Vec<String> {
    let one = |of: &Try| {
        let status = of.status.map(|status| format!(", HTTP {status}")).unwrap_or_default();
        format!("{}{status}: {}", of.class.as_str(), of.detail)
    };
    tries.iter().map(one).collect()
}

const fn name(role: ChatRole) -> &'static str {
    match role {
        ChatRole::System => "instructions",
        ChatRole::User => "user",
        ChatRole::Assistant => "assistant",
        ChatRole::Tool => "tool",
    }
}
