//! LangGraph: a supervisor over one list of messages (docs/benchmarks/autoslurp.md §3.3).
//!
//! The behaviour of the framework was found out by running it: `langgraph` 0.2.60 with `langchain-openai` 0.2.14. Where the framework
//! raises, the run ends; what was printed until then is the log.
//!
//! Different from the framework: names of speakers stand in front of what they say ([`super::naming`]); a call whose arguments are not JSON, which
//! it drops, is not sent back to the model that made it (providers refuse calls without results); errors of tools are told in our own words; and a
//! worker's own loop ends after 25 steps, the framework's usual limit, while one that runs inside a graph of 100 inherits these.
//!
//! Bounds: 50 turns of the supervisor and of workers, 13 model calls a turn, [`tools::EXECUTED_MAX`] executed calls a reply. Each text is kept once
//! in the list and once in the log.

pub(crate) mod simulated;
mod supervisor;
mod tools;
mod worker;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Digest, Sampling, Tool};
use regatta_pycompat::yaml::Value;
use regatta_pycompat::{literal, repr_text};

use self::supervisor::Next;
use self::worker::Worker;
use super::naming::named;
use super::query::Query;
use super::replies::{Asking, Replies};
use crate::members;
use crate::policy::Policy;
use crate::prompts;
use crate::run::Run;

/// Steps of the graph; supervisor and workers take one each.
const STEPS_MAX: usize = 100;

/// Model calls of a worker in one turn: every second of 25 steps, the first and the last among them.
const CALLS_MAX: usize = 13;

/// Text of a worker whose last model call asks for tools once more.
const OUT_OF_STEPS: &str = "I could not finish this within the steps that I have.";

/// Plays the session of `query` as far as `replies` go.
///
/// # Errors
/// With the next request, when `replies` are used up.
pub(crate) fn play(query: &Query<'_>, replies: &mut Replies<'_>) -> Result<Run, Asking> {
    let mut graph =
        Graph { query, list: vec![ChatMessage::new(ChatRole::User, query.text)], spoken: 0, run: Run::default() };
    graph.run.members = Some(BTreeSet::new());
    graph.run(replies)?;
    Ok(graph.run)
}

struct Graph<'q> {
    query: &'q Query<'q>,
    /// Messages that all members see.
    list: Vec<ChatMessage>,
    /// Number of turns that workers have had.
    spoken: usize,
    run: Run,
}

impl Graph<'_> {
    /// To the end of the run. Whether it came to its end or an exception ended it makes no difference to what is left of it.
    fn run(&mut self, replies: &mut Replies<'_>) -> Result<(), Asking> {
        for _turn in 0..STEPS_MAX / 2 {
            let worker = match self.supervise(replies)? {
                Some(Next::Finish) => return Ok(()),
                None => return self.unreadable(),
                Some(Next::Worker(worker)) => worker,
            };
            match self.work(worker, replies)? {
                None => return self.unreadable(),
                Some(text) => self.hear(worker, &text),
            }
        }
        self.run.hit_limit = true;
        Ok(())
    }

    /// The framework raised at what a model said.
    fn unreadable(&mut self) -> Result<(), Asking> {
        self.run.is_unreadable = true;
        Ok(())
    }

    /// The supervisor's turn: who is next; `None` where the framework raises.
    fn supervise(&mut self, replies: &mut Replies<'_>) -> Result<Option<Next>, Asking> {
        let reply = replies.ask(|| supervisor::request(&self.list))?;
        self.note(members::MANAGER);
        let answer = supervisor::read(reply);
        if let Some(printed) = answer.printed {
            self.print(&printed);
        }
        if answer.next.is_some() {
            self.print("{'supervisor': None}\n---");
        }
        Ok(answer.next)
    }

    /// A worker's turn: what it says in the end; `None` where the framework raises.
    fn work(&mut self, worker: Worker, replies: &mut Replies<'_>) -> Result<Option<Arc<str>>, Asking> {
        let mut own = Vec::new();
        for call in 1..=CALLS_MAX {
            let reply = replies.ask(|| worker.request(&self.list, &own))?;
            self.note(worker.member());
            let Some(calls) = tools::calls(reply) else { return Ok(None) };
            if calls.is_empty() {
                return Ok(Some(reply.text.clone().unwrap_or_default()));
            }
            if worker.tool().is_none() {
                // Agents without tools have no step that could take calls.
                return Ok(None);
            }
            if call == CALLS_MAX {
                break;
            }
            own.push(ChatMessage {
                tool_calls: calls.iter().map(tools::Call::as_sent).collect(),
                reasoning: reply.reasoning.clone(),
                ..ChatMessage::new(ChatRole::Assistant, reply.text.clone().unwrap_or_default())
            });
            for (position, call) in calls.iter().enumerate() {
                let result = tools::execute(worker, call, position, self.query, &mut self.run);
                own.push(ChatMessage {
                    tool_call_id: Some(call.id.clone()),
                    ..ChatMessage::new(ChatRole::Tool, result)
                });
            }
        }
        Ok(Some(OUT_OF_STEPS.into()))
    }

    /// Everybody hears what a worker says.
    fn hear(&mut self, worker: Worker, text: &str) {
        let name = worker.name();
        let id = message_id(self.query, self.spoken);
        let content = repr_text(text);
        self.print(&format!(
            "{{'{name}': {{'messages': [HumanMessage(content={content}, additional_kwargs={{}}, response_metadata={{}}, \
             name='{name}', id='{id}')]}}}}\n---"
        ));
        self.list.push(named(name, text));
        self.spoken += 1;
        match worker {
            Worker::Intent => self.run.intent_output = Some(text.to_owned()),
            Worker::Response => self.run.final_text = Some(told(text)),
            Worker::Time | Worker::Location | Worker::Url | Worker::Request => {}
        }
    }

    fn print(&mut self, text: &str) {
        self.run.log.push_str(text);
        self.run.log.push('\n');
    }

    fn note(&mut self, name: &'static str) {
        if let Some(members) = &mut self.run.members {
            members.extend(members::member(name));
        }
    }
}

/// Request to `member`: its instructions, the list, and its own calls with their results.
fn request(member: &'static str, list: &[ChatMessage], own: &[ChatMessage], tools: Vec<Tool>) -> ChatRequest {
    let system = ChatMessage::new(ChatRole::System, prompts::told(Policy::LangGraph, member));
    let messages = std::iter::once(&system).chain(list).chain(own).cloned().collect();
    let sampling = Sampling { temperature: Some(0.0), ..Sampling::default() };
    ChatRequest { member: members::member(member), tools, ..ChatRequest::new(messages, sampling) }
}

/// The id of a message, which the framework makes at random: the same for the same turn of the same session.
fn message_id(query: &Query<'_>, turn: usize) -> String {
    let digest = Digest::of_parts([query.iid.as_bytes(), query.text.as_bytes(), turn.to_string().as_bytes()]);
    let mut id = String::new();
    for (at, byte) in digest.bytes().iter().take(16).enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            id.push('-');
        }
        // Version and variant of ids that are random.
        let byte = match at {
            6 => byte & 0x0f | 0x40,
            8 => byte & 0x3f | 0x80,
            _ => *byte,
        };
        // Writing to a text cannot fail.
        let _ = write!(id, "{byte:02x}");
    }
    id
}

/// Text for the person: the text inside `{'response':'…'}`, or all of it.
fn told(text: &str) -> String {
    let literal = literal(text.trim());
    let inner = literal.as_ref().and_then(|value| value.get("response")).and_then(Value::as_str);
    inner.unwrap_or(text).to_owned()
}
