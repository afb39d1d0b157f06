//! Sessions of AgentLite from their first to their last call.

use std::collections::BTreeSet;

use jiff::civil::date;
use proptest::prelude::*;
use regatta_proto::{ChatRequest, Finish, Reply};

use super::*;
use crate::policies::sessions::{carried, utterances};
use crate::simulate::Gold;

/// All steps of the manager are calls of agents that use all of theirs.
const CALLS_MAX: usize = STEPS_MAX * (STEPS_MAX + 1);
const QUERY: Query<'static> = Query { iid: "7", text: "set an alarm for seven", today: date(2025, 5, 28) };

fn played(replies: &[Reply]) -> Result<Run, Box<ChatRequest>> {
    let replies: Vec<&Reply> = replies.iter().collect();
    play(&QUERY, &mut Replies::new(&replies)).map_err(|asking| asking.0)
}

fn said(texts: &[&str]) -> Result<Run, Box<ChatRequest>> {
    played(&texts.iter().map(|text| Reply::said(*text)).collect::<Vec<_>>())
}

fn ended(texts: &[&str]) -> Run {
    said(texts).unwrap_or_else(|asked| panic!("asks {:?}", asked.member))
}

fn asked(texts: &[&str]) -> (String, String) {
    let request = said(texts).unwrap_err();
    (request.member.unwrap().as_str().to_owned(), request.messages[0].content.to_string())
}

fn names(run: &Run) -> BTreeSet<String> {
    run.members.iter().flatten().map(|member| member.as_str().to_owned()).collect()
}

const FINISH: &str = "Finish[{\"response\": \"done\"}]";
const INTENT: &str = "IntentAgent[{\"Task\": \"what is it?\"}]";
const EXECUTE: &str = "ExecAgent[{\"Task\": \"do it\"}]";
const ALARM: &str = "request[{\"url\": \"http://127.0.0.1:3000/alarm\", \"query\": \"{\\\"intent\\\": \\\"alarm_set\\\", \\\"time\\\": \\\"07:00\\\"}\"}]";

#[test]
fn a_session_is_printed_as_the_framework_prints_it() {
    let run = ended(&[
        INTENT,
        "Finish[{\"response\": \"domain:alarm,intent:alarm_set,time:seven\"}]",
        "TimeAgent[{\"Task\": \"time:seven\"}]",
        "CurDate_Act[{\"query\": \"today\"}]",
        "Time_Act[{\"query\": \"07:00\"}]",
        "Finish[{\"response\": \"time:07:00\"}]",
        "Think[{\"response\": \"it's \\\"next\\\"\"}]",
        EXECUTE,
        ALARM,
        "Finish[{\"response\": \"operated successfully\"}]",
        "Finish[{\"response\": \"Your alarm is set.\"}]",
    ]);
    insta::assert_snapshot!("a_session", run.log.replace('\u{1b}', "ESC"));
    assert_eq!(run.final_text.as_deref(), Some("Your alarm is set."));
    assert_eq!(run.intent_output.as_deref(), Some("domain:alarm,intent:alarm_set,time:seven"));
    assert_eq!(names(&run), ["intent", "manager", "request", "time"].map(str::to_owned).into());
    assert!(!run.hit_limit);
    let [exchange] = run.requests.as_slice() else { panic!("{:?}", run.requests) };
    assert_eq!((&*exchange.method, exchange.status), ("POST", 200));
    assert_eq!(exchange.body.as_deref(), Some("{\"intent\": \"alarm_set\", \"time\": \"07:00\"}"));
}

#[test]
fn an_agent_begins_anew_with_each_task_and_its_answer_is_what_the_manager_observes() {
    let (member, prompt) = asked(&[]);
    assert_eq!(member, "manager");
    assert!(
        prompt.ends_with("[Execution]\nTask:{\"iid\": \"7\", \"query\": \"set an alarm for seven\"}\n\nAction:"),
        "{prompt}"
    );
    let (member, prompt) = asked(&[INTENT, "Think[{\"response\": \"hm\"}]"]);
    assert_eq!(member, "intent");
    assert!(
        prompt.ends_with("Task:what is it?\nAction:Think[{\"response\": \"hm\"}]\nObservation: OK\n\nAction:"),
        "{prompt}"
    );
    let (_, prompt) = asked(&[INTENT, FINISH]);
    assert!(
        prompt.ends_with("\nAction:IntentAgent[{\"Task\": \"what is it?\"}]\nObservation: done\n\nAction:"),
        "{prompt}"
    );
    let (member, prompt) = asked(&[INTENT, FINISH, INTENT]);
    assert_eq!(member, "intent");
    assert!(prompt.ends_with("Task:what is it?\n\nAction:"), "{prompt}");
}

#[test]
fn twenty_steps_without_an_end_are_answered_with_a_fixed_sentence() {
    let think = vec!["Think[{\"response\": \"hm\"}]"; STEPS_MAX];
    assert_eq!(asked(&think[1..]).0, "manager");
    let run = ended(&think);
    assert!(
        run.hit_limit
            && run.log.ends_with(&format!("\tcompletion: active\n\tanswer: \n]\u{1b}[0m\n==========\n{NO_ANSWER}\n"))
    );
    assert_eq!(run.final_text.as_deref(), Some(NO_ANSWER));
}

#[test]
fn an_agent_that_uses_up_its_steps_gives_the_fixed_sentence_to_the_manager() {
    let mut texts = vec![INTENT];
    texts.extend(vec!["Think[{\"response\": \"hm\"}]"; STEPS_MAX]);
    let (member, prompt) = asked(&texts);
    assert_eq!(member, "manager");
    assert!(prompt.ends_with(&format!("\nObservation: {NO_ANSWER}\n\nAction:")));
    texts.push(FINISH);
    let run = ended(&texts);
    assert!(!run.hit_limit && run.intent_output.is_none());
}

#[test]
fn the_longest_session_has_the_stated_number_of_calls() {
    let mut texts = Vec::new();
    for _ in 0..STEPS_MAX {
        texts.push(INTENT);
        texts.extend(vec!["Think[{\"response\": \"hm\"}]"; STEPS_MAX]);
    }
    assert_eq!(texts.len(), CALLS_MAX);
    assert!(said(&texts[..CALLS_MAX - 1]).is_err());
    assert!(ended(&texts).hit_limit);
}

#[test]
fn a_wrong_name_ends_the_managers_run_and_is_told_to_another_agent() {
    for name in
        ["Plan[{\"response\": \"x\"}]", "request[{\"url\": \"\", \"query\": \"\"}]", "Intentagent[{\"Task\": \"x\"}]"]
    {
        let run = ended(&[name]);
        assert!(run.final_text.is_none() && !run.log.contains("takes 0-step"), "{name}");
    }
    let (member, prompt) = asked(&[INTENT, "request[{\"url\": \"x\"}]"]);
    assert_eq!(member, "intent");
    assert!(prompt.ends_with(&format!("Observation: {WRONG_ACTION}\n\nAction:")));
}

#[test]
fn what_the_framework_raises_on_ends_the_run_where_it_stands() {
    for (texts, end) in [
        (vec![""], "\nunable to parse string: \n"),
        (vec!["I will call IntentAgent."], "\nunable to parse string: I will call IntentAgent\n"),
        (vec!["Finish[{\"response\": null}]"], "====\n"),
        (vec!["Finish[[1]]"], "====\n"),
        (vec!["Finish[{}]"], "params: {}\n}\u{1b}[0m\n"),
        (vec!["Finish[{\"answer\": \"x\"}]"], "params: {'answer': 'x'}\n}\u{1b}[0m\n"),
        (vec!["IntentAgent[{\"task\": \"x\"}]"], "params: {'task': 'x'}\n}\u{1b}[0m\n"),
        (vec!["IntentAgent[{\"Task\": [1]}]"], "params: {'Task': [1]}\n}\u{1b}[0m\n"),
        (vec!["TimeAgent[{\"Task\": \"x\"}]", "CurDate_Act[{}]"], "params: {}\n}\u{1b}[0m\n"),
        (vec![EXECUTE, "request[{\"url\": \"http://127.0.0.1:3000/alarm\"}]"], "'}\n}\u{1b}[0m\n"),
        (vec![EXECUTE, "request[{\"url\": 5, \"query\": \"\"}]"], "'query': ''}\n}\u{1b}[0m\n"),
        (vec![EXECUTE, "request[{\"url\": \"alarm\", \"query\": \"\"}]"], "'query': ''}\n}\u{1b}[0m\n"),
        // An answer of no length cannot be printed as an observation.
        (vec![INTENT, "Finish[{\"response\": 5}]"], "\tanswer: 5\n]\u{1b}[0m\n==========\n"),
    ] {
        let run = ended(&texts);
        assert!(run.log.ends_with(end), "{texts:?}: {:?}", run.log);
        assert!(run.final_text.is_none() && !run.hit_limit, "{texts:?}");
    }
    let run = played(&[Reply::of_text(None, Finish::ContentFilter)]).unwrap();
    assert!(run.final_text.is_none());
}

#[test]
fn an_answer_may_be_any_value_that_has_a_length() {
    let (_, prompt) = asked(&[INTENT, "Finish[{\"response\": {\"intent\": \"alarm_set\"}}]"]);
    assert!(prompt.ends_with("Observation: {'intent': 'alarm_set'}\n\nAction:"), "{prompt}");
    assert_eq!(ended(&["Finish[{\"response\": 5}]"]).final_text.as_deref(), Some("5"));
}

#[test]
fn a_request_without_an_answer_is_kept_and_ends_the_run() {
    let run = ended(&[EXECUTE, "request[{\"url\": \"no url\", \"query\": \"\"}]"]);
    assert_eq!(run.requests.iter().map(|exchange| exchange.status).collect::<Vec<_>>(), [0]);
}

#[test]
fn an_object_as_query_is_a_form_that_the_server_cannot_read() {
    let run =
        said(&[EXECUTE, "request[{\"url\": \"http://127.0.0.1:3000/alarm\", \"query\": {\"intent\": \"alarm_set\"}}]"]);
    assert_eq!(run.unwrap_err().member.unwrap().as_str(), "request");
    let run = ended(&[
        EXECUTE,
        "request[{\"url\": \"http://127.0.0.1:3000/alarm\", \"query\": {\"intent\": \"alarm_set\"}}]",
        FINISH,
        FINISH,
    ]);
    assert_eq!((run.requests[0].status, run.requests[0].body.as_deref()), (500, Some("intent=alarm_set")));
}

#[test]
fn the_oracle_comes_to_the_end_of_every_session() {
    for utterance in utterances() {
        let gold = Gold::of(&utterance, QUERY.today);
        let (run, requests) = carried(play, simulated::reply, &utterance);
        assert!(requests.len() < 30, "{}", utterance.text);
        assert!(run.final_text.is_some_and(|text| !text.is_empty()) && !run.hit_limit, "{}", utterance.text);
        assert_eq!(run.intent_output.as_deref(), Some(gold.intent_text().as_str()), "{}", utterance.text);
        assert!(run.requests.iter().all(|exchange| exchange.status == 200), "{}: {:?}", utterance.text, run.requests);
        assert_eq!(run.requests.is_empty(), gold.next_post(&[]).is_none(), "{}", utterance.text);
    }
}

fn any_reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        any::<Option<String>>().prop_map(|text| Reply::of_text(text.as_deref(), Finish::Stop)),
        prop::sample::select(vec![
            INTENT,
            EXECUTE,
            ALARM,
            FINISH,
            "TimeAgent[{\"Task\": \"x\"}]",
            "CurDate_Act[{\"query\": \"\"}]",
            "Time_Act[{\"query\": [1, {}]}]",
            "Think[{}]",
            "Finish[{\"response\": [\"\\u00e9\"]}]",
            "request[{\"url\": \"https://api.open-meteo.com/v1/forecast\", \"query\": \"\"}]",
            "Nothing[{}]",
        ])
        .prop_map(Reply::said),
    ]
}

proptest! {
    #[test]
    fn any_replies_come_to_an_end_and_later_ones_change_nothing(replies in prop::collection::vec(any_reply(), 0..60)) {
        let mut asked = Vec::new();
        for end in 0..=replies.len() {
            match played(&replies[..end]) {
                Err(request) => asked.push(request),
                Ok(run) => {
                    // What comes after the end is not looked at.
                    prop_assert_eq!(Ok(run), played(&replies));
                    break;
                }
            }
        }
        prop_assert!(asked.iter().all(|request| request.member.is_some()));
        prop_assert!(asked.len() <= CALLS_MAX);
    }
}
