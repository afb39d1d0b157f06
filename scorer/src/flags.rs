//! Flags of a session from its transcript.

use std::collections::BTreeMap;

use regatta_benchmarks::Evaluation;
use regatta_proto::{
    Call, Cell, ErrorClass, Event, FailedCall, Finish, Flag, Flags, ItemIndex, ModelRef, Role, Transcript,
};
use serde::de::IgnoredAny;

/// The flags of the session of `item` in `cell`. A flag is set when one answer of the model under test has it: answers of its partners,
/// and of members of a team that others play, are not its own.
pub(crate) fn flags(suite: &dyn Evaluation, cell: &Cell, item: ItemIndex, transcript: &Transcript) -> Flags {
    let mut flags = of_answers(&cell.model, transcript);
    flags.set(Flag::InvalidFormat, suite.is_invalid_format(item, &cell.setting, transcript));
    flags
}

fn of_answers(model: &ModelRef, transcript: &Transcript) -> Flags {
    let mut flags = Flags::NONE;
    for event in &transcript.events {
        match event {
            Event::Call(call) if call.role == Role::Agent && call.model == *model => add(&mut flags, call),
            Event::Failed(failed) if failed.role == Role::Agent && failed.model == *model => {
                add_failed(&mut flags, failed);
            }
            Event::Call(_)
            | Event::Failed(_)
            | Event::Recorded(_)
            | Event::Started(_)
            | Event::Exchange(_)
            | Event::Ended(_)
            | Event::BenchmarkFailed(_) => {}
        }
    }
    flags
}

/// A call that was given up for what the provider or the model withheld.
fn add_failed(flags: &mut Flags, failed: &FailedCall) {
    let Some(last) = failed.tries.last().filter(|last| last.class == ErrorClass::ContentFilter) else { return };
    flags.set(if last.refused { Flag::Refused } else { Flag::Filtered }, true);
}

fn add(flags: &mut Flags, call: &Call) {
    let reply = &call.reply;
    match reply.finish {
        Finish::Length => flags.set(Flag::Truncated, true),
        Finish::ContentFilter => flags.set(Flag::Filtered, true),
        Finish::Stop | Finish::ToolCalls | Finish::Other => {}
    }
    let says_nothing = reply.text.as_ref().is_none_or(|text| text.trim().is_empty()) && reply.tool_calls.is_empty();
    // Some providers tell only how many tokens were thought.
    let has_thought = reply.reasoning.is_some() || call.usage.reasoning > 0;
    flags.set(Flag::ReasoningOnly, says_nothing && has_thought);
    flags.set(Flag::Empty, says_nothing && !has_thought);
    flags.set(Flag::InvalidFormat, reply.tool_calls.iter().any(|call| !is_object(&call.arguments)));
}

/// A call of a tool is made with a JSON object; with nothing where the tool takes nothing.
fn is_object(arguments: &str) -> bool {
    arguments.trim().is_empty() || serde_json::from_str::<BTreeMap<String, IgnoredAny>>(arguments).is_ok()
}

#[cfg(test)]
mod tests {
    use regatta_benchmark_testing::answered;
    use regatta_proto::{ChatRequest, Reply, Try, Usage};

    use super::*;

    fn flags_of(role: Role, reply: Reply, reasoning: u64) -> String {
        let mut event = answered(role, ChatRequest::default(), reply);
        if let Event::Call(call) = &mut event {
            call.usage = Usage { reasoning, ..Usage::default() };
        }
        of_answers(&"sim/any".parse().unwrap(), &Transcript { events: vec![event] }).to_string()
    }

    fn calling(arguments: &str) -> String {
        let call = regatta_proto::ToolCall { id: "1".into(), name: "f".into(), arguments: arguments.into() };
        flags_of(Role::Agent, Reply::calling(None, vec![call]), 0)
    }

    #[test]
    fn every_way_in_which_an_answer_is_less_than_one_has_its_flag() {
        let flags = |text, finish, reasoning| flags_of(Role::Agent, Reply::of_text(text, finish), reasoning);
        assert_eq!(flags(Some("all of it"), Finish::Stop, 9), "");
        assert_eq!(flags(Some("half of"), Finish::Length, 0), "truncated");
        assert_eq!(flags(None, Finish::ContentFilter, 0), "filtered,empty");
        assert_eq!(flags(Some(" \n"), Finish::Stop, 0), "empty");
        assert_eq!(flags(None, Finish::Length, 1024), "truncated,reasoning_only");
    }

    #[test]
    fn an_answer_that_was_withheld_is_filtered_or_refused() {
        let withheld = |refused| {
            let class = ErrorClass::ContentFilter;
            let last = Try { status: Some(200), refused, ..Try::not_sent(class, String::new()) };
            let model = "sim/any".parse().unwrap();
            let failed =
                FailedCall { role: Role::Agent, attempt: 1, model, tries: vec![last], request: None, asked: None };
            of_answers(&"sim/any".parse().unwrap(), &Transcript { events: vec![Event::Failed(failed)] }).to_string()
        };
        assert_eq!((withheld(false), withheld(true)), ("filtered".to_owned(), "refused".to_owned()));
    }

    #[test]
    fn what_a_partner_says_is_no_flag_of_the_model() {
        assert_eq!(flags_of(Role::User, Reply::of_text(None, Finish::Length), 0), "");
    }

    #[test]
    fn an_answer_of_tool_calls_alone_is_not_empty() {
        assert_eq!(calling("{}"), "");
    }

    #[test]
    fn a_tool_that_is_called_with_what_is_no_object_is_called_in_no_format() {
        assert_eq!([calling(""), calling("{\"a\": [1]}")], ["", ""]);
        for arguments in ["{\"a\": 1", "[1]", "null", "\"a\"", "{'a': 1}"] {
            assert_eq!(calling(arguments), "invalid_format", "{arguments}");
        }
    }
}
