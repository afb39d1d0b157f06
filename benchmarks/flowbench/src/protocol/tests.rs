//! Rules of turns and conversations, and properties that hold for all of them.

use proptest::prelude::*;
use regatta_proto::Role;

use super::agent_call::{CALLS_MAX, TRIES_MAX};
use super::*;

const CALL: &str = "Thought: t\nAction: lookUp\nAction Input: {\"a\": 1}";
const REPLY: &str = "Thought: t\nResponse: Anything else?";

fn plan(limits: Limits) -> Plan {
    Plan { limits, tools: ["lookUp".to_owned()].into() }
}

fn user(reply: &str) -> Exchange<'_> {
    Exchange { role: Role::User, reply: Some(reply) }
}

fn agent(reply: &str) -> Exchange<'_> {
    Exchange { role: Role::Agent, reply: Some(reply) }
}

fn tools(reply: &str) -> Exchange<'_> {
    Exchange { role: Role::Environment, reply: Some(reply) }
}

fn silence(role: Role) -> Exchange<'static> {
    Exchange { role, reply: None }
}

fn after<'p>(plan: &'p Plan, exchanges: &[Exchange<'_>]) -> Conversation<'p> {
    Conversation::replay(plan, exchanges.iter().copied()).unwrap()
}

/// The role that is asked next; `None` when the conversation is over.
fn asked(conversation: &Conversation<'_>) -> Option<Role> {
    match conversation.next() {
        Next::Agent(_) => Some(Role::Agent),
        Next::User(_) => Some(Role::User),
        Next::Environment(_) => Some(Role::Environment),
        Next::Over(_) => None,
    }
}

fn agent_turns(conversation: &Conversation<'_>) -> usize {
    conversation.messages().iter().filter(|message| message.is_assistant()).count()
}

/// Answers every request with `answer`, to the end.
fn run<'p>(plan: &'p Plan, mut answer: impl FnMut(Role) -> Option<&'static str>) -> (Conversation<'p>, usize) {
    let mut conversation = Conversation::new(plan);
    let mut exchanges = 0;
    while let Some(role) = asked(&conversation) {
        conversation.push(Exchange { role, reply: answer(role) }).unwrap();
        exchanges += 1;
    }
    (conversation, exchanges)
}

#[test]
fn the_user_begins_and_ends() {
    let plan = plan(Limits::Code);
    assert_eq!(asked(&after(&plan, &[])), Some(Role::User));
    let conversation = after(&plan, &[user("User: hello User:"), agent(REPLY), user("bye [DONE]")]);
    assert_eq!(conversation.next(), Next::Over(&Ending::Finished));
    assert_eq!(conversation.messages(), [Message::user("hello"), Message::assistant(REPLY, None)]);
}

#[test]
fn a_user_who_is_done_before_the_beginning_is_asked_again_though_not_for_ever() {
    let plan = plan(Limits::Code);
    assert_eq!(asked(&after(&plan, &[user("[DONE]"), user("ok [DONE]")])), Some(Role::User));
    let (conversation, exchanges) = run(&plan, |_| Some("[DONE]"));
    assert_eq!(conversation.ending(), Some(&Ending::Failed(Failure::UserNeverBegan)));
    assert_eq!(exchanges, 101);
}

#[test]
fn a_call_is_executed_and_its_raw_result_goes_back_to_the_agent() {
    let plan = plan(Limits::Code);
    let conversation = after(&plan, &[user("hello"), agent(REPLY), user("look it up"), agent(CALL)]);
    let call = ToolCall { name: "lookUp".to_owned(), arguments: Some("{\"a\": 1}".to_owned()) };
    let Next::Environment(input) = conversation.next() else { panic!("{conversation:?}") };
    assert_eq!(input.call, &call);
    let lines: Vec<_> = input.history.iter().map(|line| (line.side, line.text)).collect();
    assert_eq!(lines, [(Side::User, "hello"), (Side::Assistant, REPLY), (Side::User, "look it up")]);
    let conversation = after(&plan, &[user("hello"), agent(CALL), tools("no json"), tools(" NaN\n"), agent(REPLY)]);
    assert_eq!(conversation.messages()[2], Message::function("lookUp", " NaN\n"));
    assert_eq!(asked(&conversation), Some(Role::User));
}

#[test]
fn whoever_plays_the_user_sees_replies_without_thoughts_and_no_calls() {
    let plan = plan(Limits::Code);
    let conversation = after(&plan, &[user("hello"), agent(CALL), tools("{}"), agent(REPLY)]);
    let Next::User(input) = conversation.next() else { panic!("{conversation:?}") };
    let lines: Vec<_> = input.history.iter().map(|line| (line.side, line.text)).collect();
    assert_eq!(lines, [(Side::User, "hello"), (Side::Assistant, "Anything else?")]);
}

#[test]
fn five_results_that_are_no_json_end_the_session() {
    let plan = plan(Limits::Code);
    let mut exchanges = vec![user("hello"), agent(CALL)];
    exchanges.extend([tools("```json\n{}\n```"); 4]);
    assert_eq!(asked(&after(&plan, &exchanges)), Some(Role::Environment));
    exchanges.push(tools("[1"));
    assert_eq!(after(&plan, &exchanges).ending(), Some(&Ending::Failed(Failure::ToolWroteNoJson { ends_turn: false })));
}

/// The released code turns the result into nothing, and fails on it in the step that comes next.
#[test]
fn the_exception_after_a_result_that_is_no_json_depends_on_who_comes_next() {
    for (limits, calls, error) in [
        (Limits::Code, 0, "AttributeError"),
        (Limits::Code, 3, "AttributeError"),
        (Limits::Code, 4, "TypeError"),
        (Limits::Paper { agent_turns_max: 15 }, 4, "AttributeError"),
    ] {
        let plan = plan(limits);
        let mut exchanges = vec![user("hello")];
        exchanges.extend([agent(CALL), tools("{}")].into_iter().cycle().take(2 * calls));
        exchanges.push(agent(CALL));
        exchanges.extend([tools("[1"); 5]);
        let conversation = after(&plan, &exchanges);
        let failure = conversation.ending().and_then(Ending::failure);
        assert_eq!(failure.and_then(Failure::official_error), Some(error), "{limits:?}, {calls} calls before");
    }
}

#[test]
fn whoever_never_answers_ends_the_session() {
    let plan = plan(Limits::Code);
    let (conversation, exchanges) = run(&plan, |_| None);
    assert_eq!(conversation.ending(), Some(&Ending::Failed(Failure::NoUserReply)));
    assert_eq!(exchanges, usize::from(TRIES_MAX));
    let (conversation, exchanges) = run(&plan, |role| (role == Role::User).then_some("hello"));
    assert_eq!(conversation.ending(), Some(&Ending::Failed(Failure::NoAgentOutput)));
    assert_eq!(exchanges, 1 + usize::from(TRIES_MAX) * usize::from(CALLS_MAX));
    let (conversation, exchanges) = run(&plan, |role| match role {
        Role::Environment => None,
        Role::Agent => Some(CALL),
        _ => Some("hello"),
    });
    assert_eq!(conversation.ending(), Some(&Ending::Failed(Failure::NoToolReply)));
    assert_eq!(exchanges, 2 + usize::from(TRIES_MAX));
}

#[test]
fn a_model_that_writes_malformed_calls_is_given_up_sooner_by_the_paper() {
    let exchanges = |limits| {
        let plan = plan(limits);
        let (conversation, exchanges) =
            run(&plan, |role| Some(if role == Role::User { "hello" } else { "Action: `x`\nAction Input: {}" }));
        assert_eq!(conversation.ending(), Some(&Ending::Failed(Failure::NoAgentOutput)));
        exchanges
    };
    assert_eq!(exchanges(Limits::Code), 1 + 10 * 20);
    assert_eq!(exchanges(Limits::Paper { agent_turns_max: 15 }), 1 + 10 * 3);
}

#[test]
fn the_tenth_output_without_thought_is_taken_as_one() {
    let plan = plan(Limits::Code);
    let mut exchanges = vec![user("hello")];
    exchanges.extend([agent("Response: hi"); 10]);
    assert_eq!(after(&plan, &exchanges).messages()[1], Message::assistant("Thought:Response: hi", None));
}

#[test]
fn a_tenth_call_that_fails_ends_the_session_whatever_was_said_before() {
    let plan = plan(Limits::Code);
    let mut exchanges = vec![user("hello")];
    exchanges.extend([agent("Response: hi"); 9]);
    exchanges.extend([silence(Role::Agent); TRIES_MAX as usize]);
    assert_eq!(after(&plan, &exchanges).ending(), Some(&Ending::Failed(Failure::NoAgentOutput)));
}

#[test]
fn the_code_stops_before_a_user_turn_only() {
    let plan = plan(Limits::Code);
    let (talk, _) = run(&plan, |role| Some(if role == Role::User { "more" } else { REPLY }));
    assert_eq!((talk.messages().len(), agent_turns(&talk)), (42, 21));
    assert_eq!(talk.ending(), Some(&Ending::Stopped(Limit::Messages)));
    let (calls, _) = run(&plan, |role| Some(if role == Role::Agent { CALL } else { "1" }));
    assert_eq!(calls.ending(), Some(&Ending::Failed(Failure::NeverReplied)));
    assert_eq!(calls.messages().len(), 11, "five calls with their results");
}

#[test]
fn a_result_that_the_agent_did_not_answer_is_dropped_when_the_calls_are_used_up() {
    let plan = plan(Limits::Code);
    let mut said = 0;
    let (conversation, _) = run(&plan, |role| {
        said += usize::from(role == Role::Agent);
        Some(match role {
            Role::Agent if [5, 9].contains(&said) => REPLY,
            Role::Agent => CALL,
            _ => "1",
        })
    });
    assert_eq!(conversation.ending(), Some(&Ending::Stopped(Limit::Calls)));
    assert!(conversation.messages().last().unwrap().is_assistant());
    assert_eq!(conversation.messages().iter().filter(|message| message.call.is_some()).count(), 12);
}

#[test]
fn the_paper_stops_at_the_agents_last_turn_and_executes_no_call_of_it() {
    let plan = plan(Limits::Paper { agent_turns_max: Limits::SINGLE_TURNS_MAX });
    let (conversation, _) = run(&plan, |role| Some(if role == Role::Agent { CALL } else { "1" }));
    assert_eq!(conversation.ending(), Some(&Ending::Stopped(Limit::AgentTurns)));
    assert_eq!((agent_turns(&conversation), conversation.messages().len()), (15, 30));
    assert!(conversation.messages().last().unwrap().call.is_some());
}

#[test]
fn an_unknown_tool_breaks_the_code_and_is_an_error_message_in_the_paper() {
    let exchanges = [user("hello"), agent("Thought: t\nAction: nothing\nAction Input: {}")];
    let code = plan(Limits::Code);
    assert_eq!(after(&code, &exchanges).ending(), Some(&Ending::Failed(Failure::UnknownTool("nothing".to_owned()))));
    let paper = plan(Limits::Paper { agent_turns_max: 15 });
    let conversation = after(&paper, &exchanges);
    assert_eq!(
        conversation.messages()[2],
        Message::function("nothing", r#"{"error":"there is no tool named nothing"}"#)
    );
    assert_eq!(asked(&conversation), Some(Role::Agent));
}

#[test]
fn an_exchange_with_somebody_else_is_refused() {
    let plan = plan(Limits::Code);
    let refused = Conversation::replay(&plan, [user("hello"), user("hello?")]).unwrap_err();
    assert_eq!(refused, Unexpected { at: 1, expected: Some(Role::Agent), got: Role::User });
    let refused = Conversation::replay(&plan, [user("a"), agent(REPLY), user("[DONE]"), agent(REPLY)]).unwrap_err();
    assert_eq!(refused.expected, None);
}

fn turn_after<'a>(replies: impl IntoIterator<Item = Option<&'a str>>) -> Result<TurnInference, Unexpected> {
    TurnInference::replay(replies.into_iter().map(|reply| Exchange { role: Role::Agent, reply }))
}

#[test]
fn a_turn_is_with_the_agent_alone_and_ends_when_it_is_over() {
    let late = turn_after([Some(REPLY), Some("late")]).unwrap_err();
    assert_eq!(late, Unexpected { at: 1, expected: None, got: Role::Agent });
    let refused = TurnInference::replay([agent("x"), user("y")]).unwrap_err();
    assert_eq!(refused, Unexpected { at: 1, expected: Some(Role::Agent), got: Role::User });
    assert_eq!(refused.to_string(), "call 2 is with the user, where the agent is to be asked");
    assert_eq!(late.to_string(), "call 2 is with the agent, where the session is over");
}

#[test]
fn a_turn_is_over_when_a_thought_is_in_it() {
    let step = |replies: &[Option<&str>]| match turn_after(replies.iter().copied()).unwrap().step() {
        TurnStep::Ask => "ask".to_owned(),
        TurnStep::Predicted(text) => text.to_owned(),
        TurnStep::Lost => "lost".to_owned(),
    };
    assert_eq!(step(&[Some("Response: x")]), "ask");
    assert_eq!(step(&[Some("Response: x"), Some(REPLY)]), REPLY);
    assert_eq!(step(&[Some("x"); 10]), "Thought: None\nx");
    assert_eq!(step(&[None; 19]), "ask");
    assert_eq!(step(&[None; 20]), "lost");
    let mut replies = vec![Some("x")];
    replies.extend([None; 9 * TRIES_MAX as usize]);
    assert_eq!(step(&replies), "Thought: None\nx");
}

#[test]
fn a_megabyte_of_anything_is_read_at_once() {
    let plan = plan(Limits::Code);
    for part in ["Action: ", "Action Input: {", "Thought:", "Response:", "{", "}", "\n", "// {\"a\": 1} é"] {
        let text = format!("{CALL}{}", part.repeat(1_000_000 / part.len()));
        let conversation = after(&plan, &[user(&text), agent(&text)]);
        assert_eq!(agent_turns(&conversation), 1, "{part}");
    }
}

fn text() -> impl Strategy<Value = String> {
    let parts = vec![
        "Thought: t",
        "Response: r",
        "Action: ",
        "functions.",
        "lookUp",
        "Action Input: ",
        "{\"a\": 1}",
        "{",
        "}",
        "\n",
        " ",
        "[DONE]",
        "User:",
        "// why",
        "é",
        "\u{0}",
        "1",
    ];
    proptest::collection::vec(prop::sample::select(parts), 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_texts_lead_to_an_end_within_the_limits_and_every_prefix_to_the_same_next_step(
        texts in proptest::collection::vec(proptest::option::weighted(0.9, text()), 1..20),
        paper in any::<bool>(),
    ) {
        let limits = if paper { Limits::Paper { agent_turns_max: 15 } } else { Limits::Code };
        let plan = plan(limits);
        let mut conversation = Conversation::new(&plan);
        let mut exchanges: Vec<(Role, Option<&str>)> = Vec::new();
        let mut texts = texts.iter().cycle();
        while let Some(role) = asked(&conversation) {
            let reply = texts.next().and_then(Option::as_deref);
            exchanges.push((role, reply));
            conversation.push(Exchange { role, reply }).unwrap();
            let replayed = Conversation::replay(&plan, exchanges.iter().map(|&(role, reply)| Exchange { role, reply }));
            prop_assert_eq!(&replayed.unwrap(), &conversation);
            prop_assert!(exchanges.len() < 50_000);
            if exchanges.len() > 300 {
                break;
            }
        }
        prop_assert!(conversation.messages().len() <= 52);
    }

    #[test]
    fn any_text_is_a_turn_after_ten_calls_at_the_latest(text in text()) {
        let mut turn = TurnInference::default();
        for _ in 0..10 * usize::from(TRIES_MAX) {
            turn.push(Some(&text));
        }
        prop_assert_ne!(turn.step(), TurnStep::Ask);
    }
}
