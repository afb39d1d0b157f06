//! Replies of a model that knows the gold, for each member of AutoGen's chat.

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Reply, ToolCall};
use serde_json::json;

use super::TERMINATE;
use super::participant::Participant;
use super::tools::{DATE_TOOL, REQUEST_TOOL};
use crate::members;
use crate::policies::naming::said_by;
use crate::simulate::{Gold, Heard};

/// The reply to `request` of a model that knows (or believes) `gold`, in the forms of this policy.
pub(crate) fn reply(request: &ChatRequest, gold: &Gold) -> Reply {
    let seen = Seen { messages: &request.messages };
    match request.member.as_ref().map_or("", |member| member.as_str()) {
        members::SELECTOR => Reply::said(seen.select(gold).name()),
        members::MANAGER => {
            let answer = seen.heard(gold).answer(&seen.answers());
            Reply::said(format!("{answer}\n{TERMINATE}"))
        }
        members::INTENT => Reply::said(gold.intent_text()),
        members::TIME if gold.needs_date() && !seen.has_called(DATE_TOOL) => seen.call(DATE_TOOL, &json!({})),
        members::TIME => Reply::said(gold.time_text()),
        members::LOCATION => Reply::said(gold.location_text()),
        members::URL => {
            Reply::said(seen.next_url(gold).unwrap_or_else(|| "There is nothing to be requested.".to_owned()))
        }
        members::REQUEST => match seen.last(Participant::Url) {
            Some(url) => seen.call(REQUEST_TOOL, &json!({"url": url})),
            None => Reply::said("There is no URL to request."),
        },
        _ => Reply::said(""),
    }
}

/// The chat so far, as a request shows it.
struct Seen<'r> {
    messages: &'r [ChatMessage],
}

impl<'r> Seen<'r> {
    /// Last message of another participant.
    fn last(&self, participant: Participant) -> Option<&'r str> {
        self.messages.iter().rev().find_map(|message| said_by(participant.name(), message))
    }

    fn has_called(&self, tool: &str) -> bool {
        self.messages.iter().flat_map(|message| &message.tool_calls).any(|call| *call.name == *tool)
    }

    /// Answers of the servers, in order.
    fn answers(&self) -> Vec<&'r str> {
        let requests = self.messages.iter().flat_map(|message| &message.tool_calls);
        let ids: Vec<&str> = requests.filter(|call| *call.name == *REQUEST_TOOL).map(|call| &*call.id).collect();
        let is_answer = |message: &&ChatMessage| message.tool_call_id.as_deref().is_some_and(|id| ids.contains(&id));
        self.messages.iter().filter(is_answer).map(|message| &*message.content).collect()
    }

    fn heard(&self, gold: &Gold) -> Gold {
        gold.clone().heard(&Heard {
            intent: self.last(Participant::Intent),
            time: self.last(Participant::Time),
            location: self.last(Participant::Location),
        })
    }

    fn next_url(&self, gold: &Gold) -> Option<String> {
        self.heard(gold).next_url(&self.answers())
    }

    /// Next speaker; where the selector errs, the product manager, too early.
    fn select(&self, gold: &Gold) -> Participant {
        let next = self.next(gold);
        let slips = gold.slips(&format!("next/{}/{}", next.name(), self.messages.len()));
        if slips { Participant::ProductManager } else { next }
    }

    fn next(&self, gold: &Gold) -> Participant {
        if self.last(Participant::ProductManager).is_some() {
            return Participant::UserProxy;
        }
        let is_missing = |participant: Participant| self.last(participant).is_none();
        // A chat is short. Where a place is looked up first, there is no room for the time agent to speak once more when it knows the day.
        let needs_time = gold.needs_time() && !(gold.needs_location() && self.has_called(DATE_TOOL));
        let prepared = [
            (Participant::Intent, true),
            (Participant::Time, needs_time),
            (Participant::Location, gold.needs_location()),
        ];
        if let Some((next, _)) = prepared.into_iter().find(|(who, needed)| *needed && is_missing(*who)) {
            return next;
        }
        if self.last_is_url() {
            return Participant::Request;
        }
        if self.next_url(gold).is_some() { Participant::Url } else { Participant::ProductManager }
    }

    /// True if the last message of the chat is the url agent's; the selector's own question stands after it.
    fn last_is_url(&self) -> bool {
        let of_chat = self.messages.iter().rev().find(|message| message.role != ChatRole::System);
        of_chat.is_some_and(|message| said_by(Participant::Url.name(), message).is_some())
    }

    /// A call. Its id holds how much the caller has seen, which is more each time.
    fn call(&self, tool: &str, arguments: &serde_json::Value) -> Reply {
        let id = format!("call_{tool}_{}", self.messages.len());
        Reply::calling(
            None,
            vec![ToolCall { id: id.into(), name: tool.into(), arguments: arguments.to_string().into() }],
        )
    }
}
