//! AutoGen: a group chat whose next speaker a model selects (docs/benchmarks/autoslurp.md §3.4).
//!
//! The behaviour of the framework was found out by running it: `pyautogen` 0.2.35. Where the framework raises, the run ends; what was
//! printed until then is the log.
//!
//! Different from the framework: names of speakers stand in front of what they say ([`super::naming`]); the selection is asked for in our own
//! words, and errors of tools are told in them; and the temperature is 0, as the paper says (the example takes it from a file).
//!
//! Bounds: [`MESSAGES_MAX`] messages, for each at most three calls of the selector and one of the speaker, [`tools::EXECUTED_MAX`] executed calls
//! a message. Each text is kept once in the chat and once in the log.

mod message;
mod participant;
mod print;
mod selection;
pub(crate) mod simulated;
mod tools;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, MemberName, Reply, Sampling, Tool, ToolCall};

use self::message::Message;
use self::participant::Participant;
use super::query::Query;
use super::replies::{Asking, Replies};
use crate::members;
use crate::policy::Policy;
use crate::prompts;
use crate::run::Run;

/// Messages of a chat, the first one among them.
const MESSAGES_MAX: usize = 12;

/// Text that ends a chat: as a whole message at once, inside a message when the next speaker is the user's proxy.
const TERMINATE: &str = "TERMINATE";

/// Reply of the user's proxy when there is nothing to execute (docs/benchmarks/autoslurp.md §3.4).
const PROXY_SAYS: &str = "if finish task, TERMINATE. If not, solve again.";

/// Plays the session of `query` as far as `replies` go.
///
/// # Errors
/// With the next request, when `replies` are used up.
pub(crate) fn play(query: &Query<'_>, replies: &mut Replies<'_>) -> Result<Run, Asking> {
    let mut chat = Chat { query, said: Vec::new(), members: BTreeSet::new(), run: Run::default() };
    chat.say(Message::of(Participant::UserProxy, Some(print::first(query).into())));
    while chat.goes_on() {
        let Some(speaker) = chat.next_speaker(replies)? else {
            chat.run.is_unreadable = true;
            break;
        };
        chat.run.log.push_str(&format!("\nNext speaker: {}\n\n", speaker.name()));
        let message = match speaker.member() {
            Some(member) => Some(chat.ask(speaker, member, replies)?),
            None => chat.proxy(),
        };
        let Some(message) = message else { break };
        chat.say(message);
    }
    chat.run.members = Some(chat.members);
    Ok(chat.run)
}

struct Chat<'q> {
    query: &'q Query<'q>,
    said: Vec<Message>,
    members: BTreeSet<MemberName>,
    run: Run,
}

impl Chat<'_> {
    /// True if there is a next turn after the last message.
    fn goes_on(&mut self) -> bool {
        let Some(last) = self.said.last() else { return false };
        if last.results.is_empty() && last.text() == TERMINATE {
            return false;
        }
        if self.said.len() >= MESSAGES_MAX {
            self.run.hit_limit = !last.holds(TERMINATE);
            return false;
        }
        true
    }

    /// Participant whose turn it is; `None` where the framework raises an exception.
    fn next_speaker(&mut self, replies: &mut Replies<'_>) -> Result<Option<Participant>, Asking> {
        let Some(last) = self.said.last() else { return Ok(None) };
        if !last.calls.is_empty() {
            // Nobody else can execute anything, whatever is called.
            return Ok(Some(Participant::UserProxy));
        }
        let mut asked = selection::Asked::default();
        for _attempt in 0..selection::ATTEMPTS_MAX {
            let reply = replies.ask(|| request(members::SELECTOR, asked.messages(&self.said), Vec::new()))?;
            self.members.extend(members::member(members::SELECTOR));
            if reply.text.is_none() && !reply.tool_calls.is_empty() {
                return Ok(None);
            }
            match selection::named_in(reply.text.as_deref().unwrap_or_default()).as_slice() {
                [selected] => return Ok(Some(*selected)),
                named => asked.again(reply, named.len()),
            }
        }
        self.run.is_unreadable = true;
        Ok(Some(last.speaker.following()))
    }

    /// A member's turn.
    fn ask(
        &mut self,
        speaker: Participant,
        member: &'static str,
        replies: &mut Replies<'_>,
    ) -> Result<Message, Asking> {
        let reply = replies.ask(|| {
            let system = ChatMessage::new(ChatRole::System, prompts::told(Policy::AutoGen, member));
            let said = self.said.iter().flat_map(|message| message.as_sent(Some(speaker)));
            request(member, std::iter::once(system).chain(said).collect(), speaker.tools())
        })?;
        self.members.extend(members::member(member));
        Ok(message_of(speaker, reply))
    }

    /// The turn of the user's proxy: it executes what was called, or says what it always says, or ends the chat.
    fn proxy(&mut self) -> Option<Message> {
        let last = self.said.last()?;
        if last.holds(TERMINATE) {
            return None;
        }
        if last.calls.is_empty() {
            return Some(Message::of(Participant::UserProxy, Some(PROXY_SAYS.into())));
        }
        let mut results = Vec::new();
        for (position, call) in last.calls.iter().enumerate() {
            results.push(tools::execute(call, position, self.query, &mut self.run)?);
        }
        Some(Message { results, ..Message::of(Participant::UserProxy, None) })
    }

    /// Prints a message, and everybody hears it.
    fn say(&mut self, message: Message) {
        print::message(&message, &mut self.run.log);
        match message.speaker {
            Participant::Intent => self.run.intent_output = Some(message.text().to_owned()),
            Participant::ProductManager => {
                let told = message.text().replace(TERMINATE, "");
                if !told.trim().is_empty() {
                    self.run.final_text = Some(told.trim().to_owned());
                }
            }
            _ => {}
        }
        self.said.push(message);
    }
}

/// Message of a speaker as the chat takes it: names of tools are reduced to the characters that they may have.
fn message_of(speaker: Participant, reply: &Reply) -> Message {
    let calls: Vec<ToolCall> = reply
        .tool_calls
        .iter()
        .map(|call| ToolCall { name: tools::normalised(&call.name).into(), ..call.clone() })
        .collect();
    let silent = if calls.is_empty() { Some(Arc::from("")) } else { None };
    let text = reply.text.clone().or(silent);
    Message { calls, reasoning: reply.reasoning.clone(), ..Message::of(speaker, text) }
}

fn request(member: &'static str, messages: Vec<ChatMessage>, tools: Vec<Tool>) -> ChatRequest {
    let sampling = Sampling { temperature: Some(0.0), ..Sampling::default() };
    ChatRequest { member: members::member(member), tools, ..ChatRequest::new(messages, sampling) }
}
