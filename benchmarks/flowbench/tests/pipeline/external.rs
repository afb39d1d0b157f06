//! Turns that an external agent does, alone or in conversations: it is asked what a model is asked, and scored as a model is.

use regatta_benchmark_testing::{drive, drive_agent, drive_with, ended, session_of_agent};
use regatta_benchmarks::{DelegatedTask, Persona, Scoring, Step, Suite};
use regatta_proto::{
    ChatRequest, Evaluator, Event, Finish, ItemIndex, Reply, Role, Sampling, SessionSeed, Setting, Transcript,
};
use serde_json::json;

use crate::harness::{miniature, setting};
use crate::simulated::score;

fn written(output: &str) -> Transcript {
    session_of_agent(&[ended(output)])
}

fn assert_alike(suite: &dyn Suite, item: ItemIndex, (name, session): (&str, &Transcript), native: (&str, &Transcript)) {
    let ((external, by_agent), (native, by_model)) = ((setting(name), session), (setting(native.0), native.1));
    assert_eq!(score(suite, item, by_agent), score(suite, item, by_model), "{item}");
    let is_invalid = [(&external, by_agent), (&native, by_model)].map(|(of, by)| suite.is_invalid_format(item, of, by));
    assert_eq!(is_invalid[0], is_invalid[1], "{item}");
    let drawn = [(&external, by_agent), (&native, by_model)].map(|(of, by)| suite.pictures(item, of, by));
    assert_eq!(drawn[0], drawn[1], "{item}");
}

#[test]
fn an_agent_is_given_the_messages_of_its_turn_and_what_it_writes_is_scored_like_a_reply() {
    let suite = miniature();
    for (name, native) in
        [("external/mine", "turn/single/flowchart"), ("external/mine/turn/cross/text", "turn/cross/text")]
    {
        let items = suite.select(&setting(native), &[], None).unwrap();
        assert_eq!(suite.select(&setting(name), &[], None).unwrap(), items);
        for item in items {
            let by_model = drive(&*suite, item, &setting(native), Persona::Noisy(0.3), 1);
            let Some(Event::Call(call)) = by_model.events.first() else { panic!("nothing was asked") };
            let Step::Delegate(task) = suite.next(item, &setting(name), &Transcript::default()) else {
                panic!("{item}")
            };
            assert_eq!((task.agent.as_str(), &task.input["messages"]), ("mine", &json!(call.request.messages)));
            let by_agent = written(&json!({"answer": call.reply.text}).to_string());
            assert_eq!(suite.next(item, &setting(name), &by_agent), Step::Done);
            assert_alike(&*suite, item, (name, &by_agent), (native, &by_model));
        }
    }
}

#[test]
fn an_agent_is_not_asked_again_and_scored_as_if_it_had_said_the_same_each_time() {
    let suite = miniature();
    let (name, native) = ("external/mine", "turn/single/flowchart");
    let item = suite.select(&setting(native), &[], Some(1)).unwrap()[0];
    for words in ["I would rather not.", "Action:x\nAction Input: {}"] {
        let by_model = drive_with(&*suite, item, &setting(native), |_, _| Reply::said(words));
        assert!(by_model.events.len() > 1, "{words}");
        let values = |transcript: &Transcript| score(&*suite, item, transcript);
        assert_eq!(values(&written(words)), values(&by_model), "{words}");
        assert_eq!(suite.next(item, &setting(name), &written(words)), Step::Done);
    }
}

#[test]
fn a_turn_whose_agent_has_not_ended_is_given_to_it_again_and_not_scored() {
    let suite = miniature();
    let name = setting("external/mine");
    let item = suite.select(&name, &[], Some(1)).unwrap()[0];
    for begun in [session_of_agent(&[]), session_of_agent(&[json!({"ended": {"how": {"killed": 9}, "output": "x"}})])] {
        assert!(matches!(suite.next(item, &name, &begun), Step::Delegate(_)));
        let nobody = regatta_benchmarks::RecordedVerdicts::default();
        let scoring = suite.score(item, &[Evaluator::OfficialFixed], &begun, &nobody);
        assert_eq!(scoring, Scoring::Unfit("the session is not at its end".to_owned()));
    }
}

/// The reply of a simulated model to the messages that an agent is given.
fn of_model(suite: &dyn Suite, item: ItemIndex, setting: &Setting, persona: Persona, task: &DelegatedTask) -> String {
    let messages = serde_json::from_value(task.input["messages"].clone()).unwrap();
    let request = ChatRequest::new(messages, Sampling::default());
    let reply = suite.simulate(item, setting, Role::Agent, persona, SessionSeed(1), &request);
    reply.text.unwrap().to_string()
}

#[test]
fn conversations_of_an_agent_are_those_of_its_model_with_the_same_user_and_tools() {
    let suite = miniature();
    for native in ["session/single/flowchart", "session/cross/text", "session/single/none_wo_tool/code-limits"] {
        let name = format!("external/mine/{native}");
        let setting_of_agent = setting(&name);
        assert_eq!(suite.roles(&setting_of_agent), suite.roles(&setting(native)));
        let items = suite.select(&setting(native), &[], None).unwrap();
        assert_eq!(suite.select(&setting_of_agent, &[], None).unwrap(), items);
        for (item, persona) in items.into_iter().flat_map(|item| [(item, Persona::Oracle), (item, Persona::Noisy(0.3))])
        {
            let by_model = drive(&*suite, item, &setting(native), persona, 1);
            let by_agent = drive_agent(&*suite, item, &setting_of_agent, |task| {
                json!({"answer": of_model(&*suite, item, &setting_of_agent, persona, task)}).to_string()
            });
            assert_eq!(suite.next(item, &setting_of_agent, &by_agent), Step::Done);
            assert_alike(&*suite, item, (name.as_str(), &by_agent), (native, &by_model));
        }
    }
}

#[test]
fn the_tools_of_a_conversation_are_called_by_name_and_the_environment_answers() {
    let suite = miniature();
    let (name, native) = (setting("external/mine/session/single/text"), setting("session/single/text"));
    let mut called = 0;
    for item in suite.select(&native, &[], None).unwrap() {
        let by_agent = drive_agent(&*suite, item, &name, |task| {
            let text = of_model(&*suite, item, &name, Persona::Oracle, task);
            let Some((thought, call)) = text.split_once("\nAction: ") else { return text };
            let (tool, input) = call.split_once("\nAction Input: ").unwrap();
            let offered = task.input["tools"].as_array().unwrap();
            assert!(offered.iter().any(|one| one["function"]["name"] == tool), "{tool}");
            called += 1;
            json!({"answer": thought, "tool_calls": [{"name": tool, "arguments": input}]}).to_string()
        });
        let by_model = drive(&*suite, item, &native, Persona::Oracle, 1);
        let values =
            |transcript: &Transcript| score(&*suite, item, transcript)[&Evaluator::OfficialFixed].values.clone();
        assert_eq!(values(&by_agent), values(&by_model), "{item}");
    }
    assert!(called > 0);
}

#[test]
fn an_agent_that_says_nothing_ends_its_conversation_and_is_scored_as_a_model_that_says_nothing() {
    let suite = miniature();
    let (name, native) = (setting("external/mine/session/single/text"), setting("session/single/text"));
    let item = suite.select(&native, &[], Some(1)).unwrap()[0];
    let by_agent = drive_agent(&*suite, item, &name, |_| String::new());
    let by_model = drive_with(&*suite, item, &native, |role, request| match role {
        Role::Agent => Reply::of_text(None, Finish::Stop),
        _ => suite.simulate(item, &native, role, Persona::Oracle, SessionSeed(1), request),
    });
    assert_eq!(by_agent.events.len(), 3, "the user, and one start");
    assert_eq!(score(&*suite, item, &by_agent), score(&*suite, item, &by_model));
}
