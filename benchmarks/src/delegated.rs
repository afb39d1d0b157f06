//! Sessions that an external agent does as a whole: the task that it is given, how it ended, and the answer that it gave.

use std::sync::Arc;

use regatta_proto::{AgentName, ChatRequest, Ended, Event, HowEnded, ItemId, Role, Transcript};
use serde_json::{Value, json};

use crate::{DelegatedTask, Step};

/// Field of an agent's JSON that holds its answer.
const ANSWER: &str = "answer";

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
    last_start(transcript).iter().rev().find_map(|event| {
        let Event::Ended(ended) = event else { return None };
        match ended.how {
            HowEnded::Exited(_) | HowEnded::Deadline | HowEnded::TooMuchOutput => Some(&**ended),
            HowEnded::Killed(_) | HowEnded::OutOfMemory | HowEnded::NotStarted | HowEnded::Interrupted => None,
        }
    })
}

/// `true` if the last agent that was started has ended, and is not started again.
#[must_use]
pub fn has_ended(transcript: &Transcript) -> bool {
    end(transcript).is_some()
}

/// Step of a session of one call that `agent` does in its place: it is given the messages of `request`, with the item's name and its task.
#[must_use]
pub fn step(agent: &AgentName, item: &ItemId, task: &str, request: &ChatRequest, transcript: &Transcript) -> Step {
    if has_ended(transcript) {
        return Step::Done;
    }
    let input = json!({"item": item, "task": task, "messages": &request.messages});
    Step::Delegate(DelegatedTask { agent: agent.clone(), input })
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
    told(&end(transcript)?.output).or_else(last_text)
}

/// The answer in what an agent wrote; `None` if it wrote nothing.
fn told(output: &str) -> Option<Arc<str>> {
    let last_line = output.lines().rev().find(|line| !line.trim().is_empty())?;
    let named = |text: &str| {
        let value: Value = serde_json::from_str(text.trim()).ok()?;
        value.get(ANSWER)?.as_str().map(Arc::<str>::from)
    };
    named(output).or_else(|| named(last_line)).or_else(|| Some(output.into()))
}

#[cfg(test)]
mod tests {
    use regatta_proto::{ChatMessage, ChatRole, Sampling};

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
