//! Sessions of CamelAI from their first to their last call.

use std::collections::BTreeSet;

use jiff::civil::date;
use proptest::prelude::*;
use regatta_proto::{ChatRequest, Finish, Reply, ToolCall};

use super::*;
use crate::policies::sessions::{carried, utterances};
use crate::simulate::Gold;

const QUERY: Query<'static> = Query { iid: "7", text: "set an alarm for seven", today: date(2025, 5, 28) };
const ALARM: &str = "{\"url\": \"http://127.0.0.1:3000/alarm?intent=alarm_set&time=07:00\"}";

fn played(replies: &[Reply]) -> Result<Run, Box<ChatRequest>> {
    let replies: Vec<&Reply> = replies.iter().collect();
    play(&QUERY, &mut Replies::new(&replies)).map_err(|asking| asking.0)
}

fn ended(replies: &[Reply]) -> Run {
    played(replies).unwrap_or_else(|asked| panic!("asks {:?}", asked.member))
}

fn asked(replies: &[Reply]) -> (String, String) {
    let request = played(replies).unwrap_err();
    (request.member.unwrap().as_str().to_owned(), request.messages.last().unwrap().content.to_string())
}

fn pieces(contents: &[&str]) -> Reply {
    Reply::said(contents.iter().map(|content| format!("<task>{content}</task>")).collect::<String>())
}

/// The coordinator gives the task to the member's worker.
fn to(member: &str) -> Reply {
    let team = Worker::team(&QUERY);
    let id = &team.iter().find(|worker| worker.member == member).unwrap().id;
    Reply::said(format!("{{\"assignee_id\": \"{id}\"}}"))
}

fn done(content: &str) -> Reply {
    Reply::said(serde_json::json!({"content": content, "failed": false}).to_string())
}

fn failed(content: &str) -> Reply {
    Reply::said(serde_json::json!({"content": content, "failed": true}).to_string())
}

fn calling(name: &str, arguments: &str) -> Reply {
    Reply::calling(None, vec![ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into() }])
}

fn hired() -> Reply {
    Reply::said("{\"role\": \"r\", \"sys_msg\": \"You repair.\", \"description\": \"Repairs\"}")
}

fn together(parts: &[&[Reply]]) -> Vec<Reply> {
    parts.concat()
}

#[test]
fn a_session_is_printed_as_the_framework_prints_it() {
    let run = ended(&[
        pieces(&["find out", "when", "send", "reply"]),
        to("intent"),
        done("domain:alarm,intent:alarm_set,time:seven"),
        to("time"),
        calling("getdate", "{}"),
        done("time:07:00"),
        to("request"),
        calling("req", ALARM),
        done("operated successfully"),
        to("response"),
        done("Your alarm is set."),
        Reply::said("Your alarm is set to seven."),
    ]);
    insta::assert_snapshot!("a_session", run.log.replace('\u{1b}', "ESC"));
    assert_eq!(run.final_text.as_deref(), Some("Your alarm is set to seven."));
    assert_eq!(run.intent_output.as_deref(), Some("domain:alarm,intent:alarm_set,time:seven"));
    let members: BTreeSet<&str> = run.members.iter().flatten().map(|member| member.as_str()).collect();
    assert_eq!(members, ["coordinator", "intent", "planner", "request", "response", "time"].into());
    assert_eq!(
        run.requests.iter().map(|exchange| (&*exchange.method, exchange.status)).collect::<Vec<_>>(),
        [("GET", 200)]
    );
    assert!(!run.hit_limit);
}

#[test]
fn the_planner_sees_the_query_and_the_workers_and_each_worker_what_is_done() {
    let (member, asks) = asked(&[]);
    assert_eq!(member, "planner");
    assert_eq!(prompt::section_of(&asks, prompt::TASK), "set an alarm for seven");
    let workers = prompt::section_of(&asks, prompt::WORKERS);
    assert_eq!(workers.lines().count(), 7);
    assert!(
        workers.contains(":<tools: getdate>") && workers.contains(":<tools: req>") && workers.contains(":<tools: >")
    );
    let start = [pieces(&[" one ", "two"]), to("intent"), done("first")];
    let (member, asks) = asked(&start);
    assert_eq!((member.as_str(), prompt::section_of(&asks, prompt::TASK)), ("coordinator", "two"));
    let (member, asks) = asked(&together(&[&start, &[to("url")]]));
    assert_eq!((member.as_str(), prompt::section_of(&asks, prompt::TASK)), ("url", "two"));
    assert_eq!(prompt::section_of(&asks, prompt::RESULTS), "id: 0.0, content: one, result: first");
    let (member, asks) = asked(&together(&[&start, &[to("url"), done("second")]]));
    assert_eq!(member, "planner");
    let results = "id: 0, content: set an alarm for seven, result: \n  id: 0.0, content: one, result: first\n  id: 0.1, content: two, result: second";
    assert_eq!(prompt::section_of(&asks, prompt::RESULTS), results);
}

#[test]
fn the_coordinator_begins_anew_and_a_worker_remembers() {
    let start = [pieces(&["one", "two"]), to("intent"), done("first")];
    assert_eq!(played(&start).unwrap_err().messages.len(), 2);
    let request = played(&together(&[&start, &[to("intent")]])).unwrap_err();
    assert_eq!(request.messages.len(), 4);
    assert_eq!(&*request.messages[2].content, "{\"content\":\"first\",\"failed\":false}");
}

#[test]
fn answers_have_forms_and_samples_are_warm() {
    let form = |replies: &[Reply]| played(replies).unwrap_err().output.map(|output| output.name.to_string());
    assert_eq!(form(&[]), None);
    assert_eq!(form(&[pieces(&["one"])]).as_deref(), Some("TaskAssignResult"));
    assert_eq!(form(&[pieces(&["one"]), to("time")]).as_deref(), Some("TaskResult"));
    assert_eq!(played(&[]).unwrap_err().sampling.temperature, Some(0.2));
    assert_eq!(played(&[pieces(&["one"]), to("time")]).unwrap_err().tools.len(), 1);
}

#[test]
fn no_pieces_are_no_answer() {
    let run = ended(&[Reply::said("1. do it")]);
    assert_eq!((run.final_text.as_deref(), run.hit_limit), (None, false));
    assert!(run.log.ends_with("-----------\n7\n"));
}

#[test]
fn a_task_that_fails_is_taken_apart_and_put_together_again() {
    let start = [pieces(&["one", "two"]), to("url"), failed("cannot"), pieces(&["half"])];
    let (member, asks) = asked(&start);
    assert_eq!((member.as_str(), prompt::section_of(&asks, prompt::TASK)), ("coordinator", "half"));
    let (member, asks) = asked(&together(&[&start, &[to("url"), done("h")]]));
    assert_eq!(member, "planner");
    assert_eq!(
        prompt::section_of(&asks, prompt::RESULTS),
        "id: 0.0, content: one, result: \n  id: 0.0.0, content: half, result: h"
    );
    let (member, asks) = asked(&together(&[&start, &[to("url"), done("h"), Reply::said("whole"), to("url")]]));
    assert_eq!((member.as_str(), prompt::section_of(&asks, prompt::TASK)), ("url", "two"));
    assert_eq!(prompt::section_of(&asks, prompt::RESULTS), "id: 0.0, content: one, result: whole");
}

#[test]
fn deep_down_a_worker_is_made_and_the_fourth_failure_halts_the_workforce() {
    let mut replies = vec![pieces(&["one"]), to("url"), failed("no"), pieces(&["half"]), to("url"), failed("no")];
    let (member, asks) = asked(&replies);
    assert!(member == "coordinator" && asks.starts_with(prompt::HIRE));
    let request = played(&replies).unwrap_err();
    assert_eq!(request.messages.len(), 4, "it still knows whom it has given the task to");
    replies.push(hired());
    let request = played(&replies).unwrap_err();
    assert_eq!((request.member.unwrap().as_str(), &*request.messages[0].content), ("worker", "You repair."));
    assert_eq!((request.sampling.temperature, request.tools.len()), (Some(0.0), 0));
    let recovered = together(&[&replies, &[done("yes")]]);
    assert_eq!(asked(&recovered).0, "planner");
    for _ in 0..2 {
        replies.extend([failed("no"), hired()]);
        assert_eq!(asked(&replies).0, "worker");
    }
    replies.push(failed("no"));
    let run = ended(&replies);
    assert!(run.hit_limit && run.final_text.is_none());
    assert!(run.log.contains("\u{1b}[36mWorker node ") && run.log.contains("\u{1b}[31mno\u{1b}[39m\n======"));
    assert!(run.log.ends_with("\u{1b}[39m\n\n"), "{:?}", run.log);
}

#[test]
fn a_coordinator_that_cannot_be_read_ends_the_run_and_one_that_names_nobody_stalls_it() {
    for (text, stalls) in
        [("", false), ("140", false), ("{\"assignee_id\": 1}", false), ("{\"assignee_id\": \"url\"}", true)]
    {
        let run = ended(&[pieces(&["one"]), Reply::said(text)]);
        assert_eq!((run.hit_limit, run.final_text), (stalls, None), "{text}");
    }
}

#[test]
fn a_result_that_cannot_be_read_stalls_the_workforce() {
    for reply in [Reply::said("done"), Reply::of_text(None, Finish::Length), calling("req", ALARM)] {
        let run = ended(&[pieces(&["one"]), to("url"), reply]);
        assert!(run.hit_limit && run.log.ends_with("):\u{1b}[39m\n"), "{:?}", run.log);
        assert!(run.requests.is_empty(), "the url agent has no tool");
    }
}

#[test]
fn a_call_that_cannot_be_made_fails_the_task() {
    for (name, arguments) in [
        ("fetch", ALARM),
        ("req", "{}"),
        ("req", "[]"),
        ("req", "url"),
        ("req", "{\"url\": 5}"),
        ("req", "{\"url\": \"alarm\"}"),
        ("req", "{\"url\": \"http://127.0.0.1:3000/alarm\", \"method\": \"POST\"}"),
    ] {
        let replies = [pieces(&["one"]), to("request"), calling(name, arguments)];
        let (member, asks) = asked(&replies);
        assert!(member == "planner" && asks.starts_with(prompt::DECOMPOSE), "{name} {arguments}");
    }
    let (member, _) = asked(&[pieces(&["one"]), to("time"), calling("getdate", "{\"zone\": \"here\"}")]);
    assert_eq!(member, "planner");
}

#[test]
fn of_several_calls_the_first_is_made() {
    let call = |id: &str, arguments: &str| ToolCall { id: id.into(), name: "req".into(), arguments: arguments.into() };
    let request =
        played(&[pieces(&["one"]), to("request"), Reply::calling(None, vec![call("a", ALARM), call("b", "{}")])])
            .unwrap_err();
    let ids: Vec<&str> =
        request.messages.iter().flat_map(|message| &message.tool_calls).map(|call| &*call.id).collect();
    assert_eq!(ids, ["a"]);
    assert_eq!(request.messages.last().unwrap().tool_call_id.as_deref(), Some("a"));
}

#[test]
fn calls_are_bounded() {
    let mut replies = vec![pieces(&["one"]), to("request")];
    while replies.len() < CALLS_MAX {
        assert!(played(&replies).is_err());
        replies.push(calling("req", ALARM));
    }
    let run = ended(&replies);
    assert!(run.hit_limit && run.final_text.is_none());
    assert_eq!(run.requests.len(), CALLS_MAX - 2);
}

#[test]
fn the_oracle_comes_to_the_end_of_every_session() {
    for utterance in utterances() {
        let gold = Gold::of(&utterance, QUERY.today);
        let (run, requests) = carried(play, simulated::reply, &utterance);
        assert!(requests.len() < 30, "{}", utterance.text);
        assert!(!run.hit_limit, "{}", utterance.text);
        let answers: Vec<&str> = run.requests.iter().map(|exchange| &*exchange.response).collect();
        assert_eq!(run.final_text, Some(gold.answer(&answers)), "{}", utterance.text);
        assert_eq!(run.intent_output.as_deref(), Some(gold.intent_text().as_str()), "{}", utterance.text);
        assert!(run.requests.iter().all(|exchange| exchange.status == 200), "{}: {:?}", utterance.text, run.requests);
        assert_eq!(run.requests.is_empty(), gold.next_url(&[]).is_none(), "{}", utterance.text);
        assert!(gold.next_url(&answers).is_none(), "{}: nothing is left to request", utterance.text);
    }
}

fn any_reply() -> impl Strategy<Value = Reply> {
    let members = ["manager", "intent", "time", "location", "url", "request", "response"];
    prop_oneof![
        1 => any::<Option<String>>().prop_map(|text| Reply::of_text(text.as_deref(), Finish::Stop)),
        4 => prop::sample::select(members.to_vec()).prop_map(to),
        2 => prop::collection::vec("[a-z]{0,3}", 0..3).prop_map(|contents| {
            pieces(&contents.iter().map(String::as_str).collect::<Vec<_>>())
        }),
        4 => Just(done("x")),
        3 => Just(failed("x")),
        2 => Just(hired()),
        1 => Just(calling("req", ALARM)),
        1 => Just(calling("getdate", "None")),
    ]
}

proptest! {
    #[test]
    fn any_replies_come_to_an_end_and_later_ones_change_nothing(replies in prop::collection::vec(any_reply(), 0..60)) {
        let mut asked = 0;
        for end in 0..=replies.len() {
            match played(&replies[..end]) {
                Err(request) => {
                    asked += 1;
                    prop_assert!(request.member.is_some());
                }
                Ok(run) => {
                    // What comes after the end is not looked at.
                    prop_assert_eq!(Ok(run), played(&replies));
                    break;
                }
            }
        }
        prop_assert!(asked <= CALLS_MAX);
    }
}
