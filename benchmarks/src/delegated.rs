//! Sessions that an external agent does, as a whole or turn by turn: the task that it is given, how it ended, and the answer that it gave.

mod given;
#[cfg(test)]
mod schema;
mod session_mode;
mod turns;
mod written;

use std::borrow::Cow;
use std::sync::Arc;

use regatta_proto::{AgentName, ChatRequest, Ended, Event, Finish, HowEnded, ItemId, Reply, Role, Setting, Transcript};

pub use self::given::asked;
use self::given::input;
pub use self::session_mode::{DelegableMode, SessionMode};
pub use self::turns::{Turn, start_of_turn, turn, turns};
use crate::{DelegatedTask, Step};

/// Beginning of the names of settings whose sessions an agent does.
const EXTERNAL: &str = "external/";

/// The agent that `setting` names, as `external/NAME` or `external/NAME/MORE`, and what stands behind it; `None` for other settings.
#[must_use]
pub fn named(setting: &Setting) -> Option<(AgentName, Option<&str>)> {
    let named = setting.as_str().strip_prefix(EXTERNAL)?;
    let (name, more) = named.split_once('/').map_or((named, None), |(name, more)| (name, Some(more)));
    Some((name.parse().ok()?, more))
}

/// `true` if an agent was started for the session: then calls in its transcript are the agent's own, and none of them is the benchmark's.
#[must_use]
pub fn was_started(transcript: &Transcript) -> bool {
    !last_start(transcript).is_empty()
}

/// Events since the last start of an agent; those of earlier starts are no part of the result. Empty if none was started.
#[must_use]
pub fn last_start(transcript: &Transcript) -> &[Event] {
    let events = transcript.events.as_slice();
    let start = events.iter().rposition(|event| matches!(event, Event::Started(_))).unwrap_or(events.len());
    events.get(start..).unwrap_or_default()
}

/// The end of the last agent that was started, if it has ended by itself or at a limit of its own. One that was killed from outside, or that
/// could not go on here, is started again.
#[must_use]
pub fn end(transcript: &Transcript) -> Option<&Ended> {
    last_start(transcript).iter().rev().find_map(|event| match event {
        Event::Ended(ended) if is_own(ended) => Some(&**ended),
        _ => None,
    })
}

/// `true` for an end that the agent came to by itself, or at a limit of its own.
const fn is_own(ended: &Ended) -> bool {
    match ended.how {
        HowEnded::Exited(_) | HowEnded::Deadline | HowEnded::TooMuchOutput => true,
        HowEnded::Killed(_) | HowEnded::OutOfMemory | HowEnded::NotStarted | HowEnded::Interrupted => false,
    }
}

/// `true` if the last agent that was started has ended, and is not started again.
#[must_use]
pub fn has_ended(transcript: &Transcript) -> bool {
    end(transcript).is_some()
}

/// Step of a session of one call that `agent` does in its place: it is given the messages of `request` and, where it has tools, their
/// definitions, with the item's name and its task.
#[must_use]
pub fn step(agent: &AgentName, item: &ItemId, task: &str, request: &ChatRequest, transcript: &Transcript) -> Step {
    if has_ended(transcript) {
        return Step::Done;
    }
    delegate(agent, item, task, request)
}

/// Has `agent` answer `request`. A session whose request it cannot be given is not measured.
fn delegate(agent: &AgentName, item: &ItemId, task: &str, request: &ChatRequest) -> Step {
    match input(item, task, request) {
        Ok(input) => Step::Delegate(DelegatedTask { agent: agent.clone(), input }),
        Err(problem) => Step::Unfit(problem),
    }
}

/// The answer of a session of one answer, whoever gave it; `None` while there is none.
///
/// Of an agent it is the field `answer` of the JSON that it wrote (all that it wrote, or the last line), else all that it wrote. One that wrote
/// nothing has answered with the last text of its model. Without an agent it is the model's text.
#[must_use]
pub fn answer(transcript: &Transcript) -> Option<Arc<str>> {
    let events = last_start(transcript);
    if events.is_empty() {
        return transcript.replies(Role::Agent).next()?.text.clone();
    }
    let last_text = || {
        events.iter().rev().find_map(|event| {
            let Event::Call(call) = event else { return None };
            call.reply.text.clone().filter(|text| !text.trim().is_empty())
        })
    };
    written::text(&end(transcript)?.output).or_else(last_text)
}

/// The answer of a session whose one answer may be calls of tools, whoever gave it; `None` while there is none.
///
/// Of an agent it is the fields `tool_calls` and `answer` of the JSON that it wrote (all that it wrote, or the last line), else a text as
/// [`answer`] takes it. One that wrote nothing has answered with the last reply of its model that says or calls anything, and with nothing
/// if there is none. Without an agent it is the model's reply.
#[must_use]
pub fn reply(transcript: &Transcript) -> Option<Cow<'_, Reply>> {
    let events = last_start(transcript);
    if events.is_empty() {
        return transcript.replies(Role::Agent).next().map(Cow::Borrowed);
    }
    Some(reply_of_start(events, end(transcript)?))
}

/// The reply of an agent that did `events` since its start and came to this end.
fn reply_of_start<'t>(events: &'t [Event], ended: &Ended) -> Cow<'t, Reply> {
    let last_reply = || {
        events.iter().rev().find_map(|event| {
            let Event::Call(call) = event else { return None };
            let says = call.reply.text.as_deref().is_some_and(|text| !text.trim().is_empty());
            (says || !call.reply.tool_calls.is_empty()).then_some(&call.reply)
        })
    };
    match written::reply(&ended.output) {
        Some(written) => Cow::Owned(written),
        None => last_reply().map_or_else(|| Cow::Owned(Reply::of_text(None, Finish::Stop)), Cow::Borrowed),
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::{ChatMessage, ChatRole, Sampling, Tool};
    use serde_json::{Value, json};

    use super::*;

    fn events(events: Value) -> Transcript {
        serde_json::from_value(json!({ "events": events })).unwrap()
    }

    fn started() -> Value {
        json!({"started": {"agent": "mine", "attempt": 1}})
    }

    fn ended(how: Value, output: &str) -> Value {
        json!({"ended": {"how": how, "output": output}})
    }

    fn called(text: &str) -> Value {
        json!({"call": {
            "role": "agent", "attempt": 1, "model": "sim/a", "request": {"messages": []},
            "reply": {"text": text, "finish": "stop"}, "usage": {"input": 0, "output": 0}, "cost": 5, "latency_us": 0,
        }})
    }

    fn answered(how: Value, output: &str) -> Option<String> {
        answer(&events(json!([started(), called("of the model"), ended(how, output)]))).map(|text| text.to_string())
    }

    #[test]
    fn what_an_agent_wrote_is_its_answer_and_a_field_of_that_name_goes_before() {
        let exited = || json!({"exited": 0});
        assert_eq!(answered(exited(), "one\ntwo\n").as_deref(), Some("one\ntwo\n"));
        assert_eq!(answered(exited(), "a log\n{\"answer\": \"two\"}\n").as_deref(), Some("two"));
        assert_eq!(answered(exited(), "{\n \"answer\": \"two\"\n}").as_deref(), Some("two"));
        assert_eq!(answered(exited(), "{\"final\": \"two\"}").as_deref(), Some("{\"final\": \"two\"}"));
        assert_eq!(answered(exited(), " \n").as_deref(), Some("of the model"));
        assert_eq!(answered(json!("deadline"), "cut off").as_deref(), Some("cut off"));
        assert_eq!(answered(json!({"killed": 9}), "one"), None, "it is started again");
    }

    #[test]
    fn what_an_earlier_start_wrote_is_no_answer() {
        let killed = ended(json!({"killed": 9}), "one");
        let again = events(json!([started(), killed, started(), called("two"), ended(json!({"exited": 1}), "")]));
        assert_eq!(answer(&again).as_deref(), Some("two"));
        assert!(has_ended(&again));
    }

    #[test]
    fn without_an_agent_the_models_reply_is_the_answer() {
        assert_eq!(answer(&Transcript::of_recorded(Some("x"))).as_deref(), Some("x"));
        assert_eq!(answer(&Transcript::default()), None);
    }

    #[test]
    fn a_setting_names_an_agent_and_perhaps_more() {
        let of = |name: &str| {
            let setting: Setting = name.parse().unwrap();
            named(&setting).map(|(agent, more)| (agent.to_string(), more.map(str::to_owned)))
        };
        assert_eq!(of("external/mine"), Some(("mine".to_owned(), None)));
        assert_eq!(of("external/mine/turn/text"), Some(("mine".to_owned(), Some("turn/text".to_owned()))));
        assert_eq!(of("external"), None);
        assert_eq!(of("stepwise"), None);
    }

    /// The text of an agent's answer, and its calls as id, name and arguments.
    fn replied(output: &str) -> (Option<String>, Vec<[String; 3]>) {
        let ended = ended(json!({"exited": 0}), output);
        let session = events(json!([started(), called("of the model"), ended]));
        let reply = reply(&session).unwrap();
        let calls =
            reply.tool_calls.iter().map(|call| [&call.id, &call.name, &call.arguments].map(ToString::to_string));
        (reply.text.as_deref().map(str::to_owned), calls.collect())
    }

    #[test]
    fn calls_are_an_answer_in_openais_form_or_by_name_and_arguments() {
        let call = |id: &str| vec![[id, "find", "{\"a\":1}"].map(str::to_owned)];
        let openais = r#"{"id": "c", "type": "function", "function": {"name": "find", "arguments": "{\"a\":1}"}}"#;
        let plain = r#"{"name": "find", "arguments": {"a": 1}}"#;
        assert_eq!(replied(&format!("a log\n{{\"answer\": null, \"tool_calls\": [{openais}]}}")), (None, call("c")));
        assert_eq!(
            replied(&format!("{{\"answer\": \"so\", \"tool_calls\": [{plain}]}}")),
            (Some("so".to_owned()), call("call_1"))
        );
    }

    #[test]
    fn without_calls_an_answer_is_a_text() {
        let text = |text: &str| (Some(text.to_owned()), Vec::new());
        assert_eq!(replied(r#"{"answer": "one", "tool_calls": []}"#), text("one"));
        let nameless = r#"{"tool_calls": [{"arguments": "{}"}]}"#;
        assert_eq!(replied(nameless), text(nameless));
        assert_eq!(replied("one\n"), text("one\n"));
        assert_eq!(replied(" \n"), text("of the model"));
    }

    #[test]
    fn an_agent_that_came_to_nothing_has_answered_with_nothing() {
        let ended = events(json!([started(), ended(json!("deadline"), "")]));
        assert_eq!(reply(&ended).as_deref(), Some(&Reply::of_text(None, Finish::Stop)));
        assert_eq!(reply(&events(json!([started()]))), None);
        assert_eq!(reply(&Transcript::of_recorded(Some("x"))).as_deref(), Some(&Reply::said("x")));
    }

    #[test]
    fn an_agent_is_given_the_tools_of_the_request_as_clients_define_them() {
        let messages = vec![ChatMessage::new(ChatRole::User, "x")];
        let tool = |description: Option<&str>| Tool {
            name: "find".into(),
            description: description.map(Into::into),
            parameters: Arc::new(json!({"type": "object"})),
        };
        let tools = vec![tool(Some("Finds.")), tool(None)];
        let request = ChatRequest { tools, ..ChatRequest::new(messages, Sampling::default()) };
        let agent: AgentName = "mine".parse().unwrap();
        let item: ItemId = "item-1".parse().unwrap();
        let Step::Delegate(task) = step(&agent, &item, "a task", &request, &Transcript::default()) else { panic!() };
        let parameters = json!({"type": "object"});
        let with = json!({"name": "find", "parameters": parameters, "description": "Finds."});
        let without = json!({"name": "find", "parameters": parameters});
        let expected = [with, without].map(|function| json!({"type": "function", "function": function}));
        assert_eq!(task.input["tools"], json!(expected));
    }

    #[test]
    fn an_agent_is_given_the_messages_until_it_has_ended() {
        let request = ChatRequest::new(vec![ChatMessage::new(ChatRole::User, "x")], Sampling::default());
        let agent: AgentName = "mine".parse().unwrap();
        let item: ItemId = "item-1".parse().unwrap();
        let next = |transcript: &Transcript| step(&agent, &item, "a task", &request, transcript);
        let input = json!({"item": "item-1", "task": "a task", "messages": [{"role": "user", "content": "x"}]});
        assert_eq!(next(&Transcript::default()), Step::Delegate(DelegatedTask { agent: agent.clone(), input }));
        assert_eq!(next(&events(json!([started(), ended(json!({"exited": 0}), "x")]))), Step::Done);
    }
}
