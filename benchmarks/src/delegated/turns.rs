//! Conversations in which an agent takes its turns: for each it is started, or asked, anew, with the messages so far. In between the other
//! roles are asked as they are when the agent is a model.

use std::borrow::Cow;

use regatta_proto::{AgentName, Event, ItemId, Reply, Role, Transcript};

use super::{delegate, is_own, reply_of_start};
use crate::Step;

/// A reply in a conversation, whoever gave it.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn<'t> {
    /// Role whose reply it is.
    pub role: Role,
    /// The reply.
    pub reply: Cow<'t, Reply>,
    /// Events of the external agent that gave it, from its start; empty for a model's reply.
    pub events: &'t [Event],
}

impl<'t> Turn<'t> {
    const fn of_model(role: Role, reply: &'t Reply) -> Self {
        Self { role, reply: Cow::Borrowed(reply), events: &[] }
    }

    /// `true` if an external agent gave the reply.
    #[must_use]
    pub const fn is_of_agent(&self) -> bool {
        !self.events.is_empty()
    }
}

/// The replies of a conversation, in order. What lies between an agent's start and its end is one reply, as [`reply`](super::reply) takes it;
/// a start that came to nothing is none.
#[must_use]
pub fn turns(transcript: &Transcript) -> Vec<Turn<'_>> {
    let (mut turns, mut start) = (Vec::new(), None);
    for (at, event) in transcript.events.iter().enumerate() {
        match event {
            Event::Started(_) => start = Some(at),
            Event::Call(call) if start.is_none() => turns.push(Turn::of_model(call.role, &call.reply)),
            Event::Recorded(reply) if start.is_none() => turns.push(Turn::of_model(Role::Agent, reply)),
            Event::Ended(ended) if is_own(ended) => {
                if let Some(from) = start.take() {
                    let events = transcript.events.get(from..at).unwrap_or_default();
                    turns.push(Turn { role: Role::Agent, reply: reply_of_start(events, ended), events });
                }
            }
            Event::Call(_)
            | Event::Recorded(_)
            | Event::Ended(_)
            | Event::Failed(_)
            | Event::Exchange(_)
            | Event::BenchmarkFailed(_) => {}
        }
    }
    turns
}

/// Position in `transcript` of the first start in the agent's turn that is under way; its number of events where none is. What came before
/// is no part of the turn: neither its starts nor its calls count there.
#[must_use]
pub fn start_of_turn(transcript: &Transcript) -> usize {
    let events = transcript.events.as_slice();
    let is_end = |event: &Event| matches!(event, Event::Ended(ended) if is_own(ended));
    let after = events.iter().rposition(is_end).map_or(0, |end| end + 1);
    let start = events.iter().skip(after).position(|event| matches!(event, Event::Started(_)));
    start.map_or(events.len(), |start| after + start)
}

/// The step of a conversation, with `agent` in the place of the model under test: what that would be asked, the agent is given, with the item's
/// name and its task. Other roles are asked as ever.
#[must_use]
pub fn turn(agent: &AgentName, item: &ItemId, task: &str, step: Step) -> Step {
    match step {
        Step::Ask(Role::Agent, request) => delegate(agent, item, task, &request),
        Step::Ask(Role::User | Role::Environment | Role::Judge, _)
        | Step::Delegate(_)
        | Step::Done
        | Step::Unfit(_)
        | Step::Failed(_) => step,
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Sampling, Tool, ToolCall};
    use serde_json::{Value, json};

    use super::*;

    fn events(events: &[Value]) -> Transcript {
        serde_json::from_value(json!({ "events": events })).unwrap()
    }

    fn started() -> Value {
        json!({"started": {"agent": "mine", "attempt": 1}})
    }

    fn ended(how: &Value, output: &str) -> Value {
        json!({"ended": {"how": how, "output": output}})
    }

    fn called(role: &str, text: &str) -> Value {
        json!({"call": {
            "role": role, "attempt": 1, "model": "sim/a", "request": {"messages": []},
            "reply": {"text": text, "finish": "stop"}, "usage": {"input": 0, "output": 0}, "cost": 5, "latency_us": 0,
        }})
    }

    /// Role and text of each turn.
    fn told(transcript: &Transcript) -> Vec<(Role, Option<String>)> {
        let of = |turn: &Turn<'_>| (turn.role, turn.reply.text.as_deref().map(str::to_owned));
        turns(transcript).iter().map(of).collect()
    }

    fn said(role: Role, text: &str) -> (Role, Option<String>) {
        (role, Some(text.to_owned()))
    }

    #[test]
    fn a_turn_of_an_agent_is_one_reply_among_those_of_the_others() {
        let talk = events(&[
            called("user", "Hello"),
            started(),
            called("agent", "a thought"),
            called("agent", "another"),
            ended(&json!({"exited": 0}), "{\"answer\": \"Good day\"}"),
            called("user", "Goodbye"),
            started(),
            called("agent", "Bye"),
            ended(&json!("deadline"), ""),
        ]);
        let expected = [
            said(Role::User, "Hello"),
            said(Role::Agent, "Good day"),
            said(Role::User, "Goodbye"),
            said(Role::Agent, "Bye"),
        ];
        assert_eq!(told(&talk), expected);
        let kinds: Vec<bool> = turns(&talk).iter().map(Turn::is_of_agent).collect();
        assert_eq!(kinds, [false, true, false, true]);
        assert_eq!(turns(&talk)[1].events.len(), 3, "its start and what it asked");
        assert_eq!(start_of_turn(&talk), talk.events.len());
    }

    #[test]
    fn starts_that_came_to_nothing_are_no_turns_and_belong_to_the_one_that_is_under_way() {
        let killed = ended(&json!({"killed": 9}), "x");
        let first = [called("user", "Hello"), started(), ended(&json!({"exited": 0}), "one"), called("user", "And?")];
        let under_way = [started(), called("agent", "lost"), killed, started()];
        let talk = events(&[&first[..], &under_way].concat());
        assert_eq!(told(&talk), [said(Role::User, "Hello"), said(Role::Agent, "one"), said(Role::User, "And?")]);
        assert_eq!(start_of_turn(&talk), first.len());
        assert_eq!(start_of_turn(&events(&first)), first.len(), "none is under way");
        let over = events(&[&first[..], &under_way, &[ended(&json!({"exited": 0}), "two")]].concat());
        assert_eq!(told(&over).last(), Some(&said(Role::Agent, "two")));
    }

    #[test]
    fn without_an_agent_the_turns_are_the_replies_of_models() {
        let talk = events(&[called("user", "Hello"), called("agent", "Good day"), called("environment", "{}")]);
        let expected = [said(Role::User, "Hello"), said(Role::Agent, "Good day"), said(Role::Environment, "{}")];
        assert_eq!(told(&talk), expected);
        assert_eq!(told(&Transcript::of_recorded(Some("x"))), [said(Role::Agent, "x")]);
    }

    #[test]
    fn an_agent_is_given_calls_and_their_results_as_clients_write_them() {
        let call = ToolCall { id: "c".into(), name: "find".into(), arguments: "{\"a\":1}".into() };
        let messages = vec![
            ChatMessage::new(ChatRole::User, "x"),
            ChatMessage { tool_calls: vec![call], ..ChatMessage::new(ChatRole::Assistant, "") },
            ChatMessage { tool_call_id: Some("c".into()), ..ChatMessage::new(ChatRole::Tool, "found") },
        ];
        let tool = Tool { name: "find".into(), description: None, parameters: json!({"type": "object"}).into() };
        let request = ChatRequest { tools: vec![tool], ..ChatRequest::new(messages, Sampling::default()) };
        let (agent, item): (AgentName, ItemId) = ("mine".parse().unwrap(), "item-1".parse().unwrap());
        let next = |role| turn(&agent, &item, "a task", Step::Ask(role, request.clone()));
        assert_eq!(next(Role::User), Step::Ask(Role::User, request.clone()));
        let Step::Delegate(task) = next(Role::Agent) else { panic!() };
        let function = json!({"name": "find", "arguments": "{\"a\":1}"});
        let expected = json!([
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": function}]},
            {"role": "tool", "content": "found", "tool_call_id": "c"},
        ]);
        assert_eq!((&task.input["messages"], task.input["tools"].as_array().map(Vec::len)), (&expected, Some(1)));
    }
}
