//! Sessions of LangGraph from their first to their last call.

use jiff::civil::date;
use proptest::prelude::*;
use regatta_proto::{ChatRole, Reply, ToolChoice};
use serde_json::Value as Recorded;

use super::supervisor::ROUTER;
use super::*;
use crate::policies::sessions::{
    QUERY, any_reply, asked, assert_stable, calling, carried, contents, ended, framework_logs, members, played,
    recorded, utterance,
};

const ALARM: &str = "http://127.0.0.1:3000/alarm?intent=alarm_set&time=07:00";

/// The supervisor says that this is next.
fn next(name: &str) -> Reply {
    calling(&[(ROUTER, &format!("{{\"next\": \"{name}\"}}"))])
}

fn request(url: &str) -> Reply {
    calling(&[("request_tool", &format!("{{\"url\": \"{url}\"}}"))])
}

/// A log whose random ids are equal.
fn without_ids(log: &str) -> String {
    let id = regex::Regex::new("id='[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'").unwrap();
    id.replace_all(log, "id=''").into_owned()
}

/// Replies, requests and log of the real framework.
fn golden() -> Option<(Vec<Recorded>, String)> {
    let folder = framework_logs()?;
    let shapes: Recorded = serde_json::from_slice(&std::fs::read(folder.join("message_shapes.json")).unwrap()).unwrap();
    let log = std::fs::read_to_string(folder.join("langgraph_item0.log")).unwrap();
    Some((shapes["calls"]["langgraph"].as_array().unwrap().clone(), log))
}

const GOLDEN: Query<'static> =
    Query { iid: "7499", text: "make new schedule for tomorrow meeting", today: date(2026, 11, 20) };

#[test]
fn with_recorded_replies_the_log_is_that_of_the_framework() {
    let Some((calls, log)) = golden() else { return };
    let replies: Vec<Reply> = calls.iter().map(|call| recorded(&call["reply"])).collect();
    let (run, used) = played(play, &GOLDEN, &replies).unwrap();
    assert_eq!(used, replies.len());
    assert_eq!(without_ids(&run.log), without_ids(&log));
    assert_eq!(run.final_text.as_deref(), Some("What time is the meeting?"));
    assert!(run.intent_output.unwrap().starts_with("domain:calendar"));
    assert_eq!(run.requests.len(), 1);
    assert!(!run.hit_limit);
}

#[test]
fn with_recorded_replies_each_call_is_that_of_the_framework() {
    let Some((calls, _)) = golden() else { return };
    let replies: Vec<Reply> = calls.iter().map(|call| recorded(&call["reply"])).collect();
    for (at, call) in calls.iter().enumerate() {
        let ours = played(play, &GOLDEN, &replies[..at]).unwrap_err();
        let theirs = call["messages"].as_array().unwrap();
        assert_eq!(ours.messages.len(), theirs.len(), "call {at}");
        for (ours, theirs) in ours.messages.iter().zip(theirs).skip(1) {
            assert_eq!(serde_json::to_value(ours.role).unwrap(), theirs["role"], "call {at}");
            let said = theirs["content"].as_str().unwrap_or_default();
            let said = theirs["name"].as_str().map_or_else(|| said.to_owned(), |name| format!("{name}: {said}"));
            assert_eq!(*ours.content, *said, "call {at}");
            assert_eq!(ours.tool_call_id.as_deref(), theirs["tool_call_id"].as_str());
            let ids: Vec<&str> = ours.tool_calls.iter().map(|call| &*call.id).collect();
            let expected = theirs["tool_calls"].as_array().cloned().unwrap_or_default();
            assert_eq!(ids, expected.iter().map(|call| call["id"].as_str().unwrap()).collect::<Vec<_>>());
        }
        assert_eq!(ours.messages[0].role, ChatRole::System);
        let tools: Vec<(&str, usize)> = ours
            .tools
            .iter()
            .map(|tool| (&*tool.name, tool.parameters["properties"].as_object().unwrap().len()))
            .collect();
        let expected: Vec<(&str, usize)> = call["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| (tool["name"].as_str().unwrap(), tool["parameters"]["properties"].as_object().unwrap().len()))
            .collect();
        assert_eq!(tools, expected, "call {at}");
        if tools.first().is_some_and(|(name, _)| *name == ROUTER) {
            assert_eq!(*ours.tools[0].parameters, call["tools"][0]["parameters"]);
            assert_eq!(ours.tool_choice, ToolChoice::Named(ROUTER.into()));
        }
        assert_eq!(ours.parallel_tool_calls, call["params"]["parallel_tool_calls"].as_bool());
        assert_eq!(ours.sampling.temperature, call["params"]["temperature"].as_f64());
    }
}

#[test]
fn a_run_is_printed_step_by_step() {
    let replies = [
        next("intent"),
        Reply::said("domain:alarm\nintent:alarm_set,name:it's \"x\""),
        next("request"),
        request(ALARM),
        Reply::said("done"),
        next("genresponse"),
        Reply::said("{'response':'It is set.'}"),
        next("FINISH"),
    ];
    let run = ended(play, &replies);
    insta::assert_snapshot!(run.log);
    assert_eq!(run.final_text.as_deref(), Some("It is set."));
    assert_eq!(run.requests.len(), 1);
    assert_eq!((&*run.requests[0].method, &*run.requests[0].url), ("GET", ALARM));
    let members: Vec<String> = run.members.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(members, ["intent", "manager", "request", "response"]);
}

#[test]
fn a_workers_tools_are_its_own_business() {
    let day = calling(&[("time_tool", "{}")]);
    let replies = [next("time"), day, Reply::said("date:2025-05-28"), next("url")];
    let time = asked(play, &replies[..2]);
    let expected = [("user", QUERY.text), ("assistant", ""), ("tool", "2025-05-28")];
    assert_eq!(contents(&time.messages[1..]), expected.map(|(role, text)| (role.to_owned(), text.to_owned())));
    let url = asked(play, &replies);
    let expected = [("user", QUERY.text), ("user", "time: date:2025-05-28")];
    assert_eq!(contents(&url.messages[1..]), expected.map(|(role, text)| (role.to_owned(), text.to_owned())));
}

#[test]
fn calls_that_cannot_be_executed_come_back_as_errors() {
    let calls = [
        ("request_tool", "{}"),
        ("request_tool", "{\"url\": 5}"),
        ("request_tool", "{\"url\": \"no address\"}"),
        ("nothing", "{}"),
        ("time_tool", "{}"),
        ("request_tool", "{bad"),
    ];
    let again = asked(play, &[next("request"), calling(&calls)]);
    let [.., made, a, b, c, d, e] = again.messages.as_slice() else { panic!("{:?}", again.messages) };
    assert_eq!(made.tool_calls.len(), 5, "what is no JSON was not called");
    for result in [a, b, c, d, e] {
        assert!(result.role == ChatRole::Tool && result.content.starts_with("Error: "), "{result:?}");
    }
}

#[test]
fn a_turn_without_text_says_nothing() {
    let nothing = Reply::of_text(None, regatta_proto::Finish::Stop);
    let run =
        ended(play, &[next("intent"), nothing, next("request"), calling(&[("request_tool", "{bad")]), next("FINISH")]);
    assert!(run.log.contains("HumanMessage(content='', "), "{}", run.log);
    assert_eq!(run.intent_output.as_deref(), Some(""));
    assert!(run.requests.is_empty());
}

#[test]
fn what_the_framework_raises_on_ends_the_run() {
    for (raising, printed) in [
        (vec![next("nobody")], "{'next': 'nobody'}\n"),
        (vec![Reply::said("intent")], "intent\n"),
        (vec![calling(&[("intent", "{}")])], "None\n"),
        (vec![calling(&[(ROUTER, "{bad")])], ""),
        (vec![next("intent"), calling(&[("request_tool", "{}")])], "{'next': 'intent'}\n{'supervisor': None}\n---\n"),
        (vec![next("time"), calling(&[("time_tool", "[1]")])], "{'next': 'time'}\n{'supervisor': None}\n---\n"),
    ] {
        let run = ended(play, &raising);
        assert_eq!(run.log, printed);
        assert!(!run.hit_limit && run.final_text.is_none());
    }
}

#[test]
fn a_hundred_steps_are_enough() {
    let turns = |turns: usize| -> Vec<Reply> {
        std::iter::repeat_n([next("intent"), Reply::said("x")], turns).flatten().collect()
    };
    let run = ended(play, &turns(50));
    assert!(run.hit_limit);
    assert_eq!(run.log.matches("---\n").count(), 100);
    let mut finished = turns(49);
    finished.push(next("FINISH"));
    assert!(!ended(play, &finished).hit_limit);
}

#[test]
fn a_worker_that_only_calls_tools_is_stopped() {
    let mut replies = vec![next("request")];
    replies.extend(std::iter::repeat_n(request(ALARM), CALLS_MAX));
    replies.push(next("FINISH"));
    let run = ended(play, &replies);
    assert_eq!(run.requests.len(), CALLS_MAX - 1, "the last call is not executed");
    assert!(run.log.contains(OUT_OF_STEPS) && !run.hit_limit);
}

#[test]
fn a_flood_of_calls_is_not_executed() {
    let call = ("request_tool", "{\"url\": \"http://127.0.0.1:3000/alarm\"}");
    let run = ended(play, &[next("request"), calling(&vec![call; 100]), Reply::said("x"), next("FINISH")]);
    assert_eq!(run.requests.len(), tools::EXECUTED_MAX);
}

#[test]
fn ids_of_messages_are_those_of_random_ids_but_always_the_same() {
    assert_eq!(message_id(&QUERY, 0), message_id(&QUERY, 0));
    assert_ne!(message_id(&QUERY, 0), message_id(&QUERY, 1));
    let other = Query { text: "another", ..QUERY };
    assert_ne!(message_id(&QUERY, 0), message_id(&other, 0));
    assert!(without_ids(&format!("id='{}'", message_id(&QUERY, 3))) == "id=''");
    assert!(matches!(message_id(&QUERY, 3).as_bytes(), [_, _, _, _, _, _, _, _, b'-', _, _, _, _, b'-', b'4', ..]));
}

#[test]
fn an_answer_is_taken_out_of_its_form() {
    for (text, answer) in [
        ("{'response':'yes, it is'}", "yes, it is"),
        (" {\"response\": \"it's done\"}\n", "it's done"),
        ("plain", "plain"),
        ("{'response': 5}", "{'response': 5}"),
        ("{'response':'open", "{'response':'open"),
    ] {
        assert_eq!(told(text), answer);
    }
}

#[test]
fn a_team_that_knows_the_gold_carries_out_what_was_said() {
    let alarm = utterance("wake me tomorrow at nine", "alarm", "alarm_set", "['date : tomorrow', 'time : nine']");
    let (run, requests) = carried(play, simulated::reply, &alarm);
    let asked = members(&requests);
    let expected = [
        "manager", "intent", "manager", "time", "time", "manager", "url", "manager", "request", "request", "manager",
        "response", "manager",
    ];
    assert_eq!(asked, expected);
    assert_eq!(run.requests.len(), 1);
    assert!(run.requests[0].response.contains("operated successfully"), "{:?}", run.requests);
    assert!(run.final_text.is_some_and(|text| !text.is_empty()));
    assert!(run.log.ends_with("{'next': 'FINISH'}\n{'supervisor': None}\n---\n"));
}

#[test]
fn a_team_that_knows_the_gold_asks_others_services_too() {
    let weather =
        utterance("will it rain in oslo today", "weather", "weather_query", "['place_name : oslo', 'date : today']");
    let (run, requests) = carried(play, simulated::reply, &weather);
    let urls: Vec<&str> = run.requests.iter().map(|exchange| &*exchange.url).collect();
    let [place, forecast] = urls.as_slice() else { panic!("{urls:?}") };
    assert!(place.contains("geocoding-api") && forecast.contains("/v1/forecast"), "{urls:?}");
    assert_eq!(members(&requests).iter().filter(|member| **member == "location").count(), 1);
    assert!(run.final_text.is_some() && !run.hit_limit);
}

#[test]
fn a_team_that_knows_the_gold_passes_on_what_a_server_asks() {
    let event = utterance("put the party in my calendar", "calendar", "calendar_set", "['event_name : party']");
    let (run, requests) = carried(play, simulated::reply, &event);
    assert!(!members(&requests).contains(&"time"));
    assert!(run.final_text.is_some_and(|text| text.contains("what time")));
}

proptest! {
    #[test]
    fn any_replies_end_within_the_bound(replies in proptest::collection::vec(any_reply(&WORDS, &TOOLS), 1..40)) {
        let many: Vec<Reply> = replies.into_iter().cycle().take(STEPS_MAX / 2 * (1 + CALLS_MAX)).collect();
        prop_assert!(played(play, &QUERY, &many).is_ok());
    }

    #[test]
    fn more_replies_change_nothing_of_what_was_asked(
        replies in proptest::collection::vec(any_reply(&WORDS, &TOOLS), 0..12),
    ) {
        assert_stable(play, &replies);
    }

    #[test]
    fn workers_go_on_until_the_supervisor_says_so(texts in proptest::collection::vec(any::<String>(), 0..49)) {
        let mut replies = Vec::new();
        for text in &texts {
            replies.extend([next("intent"), Reply::said(text.as_str())]);
        }
        replies.push(next("FINISH"));
        let run = ended(play, &replies);
        prop_assert_eq!(run.log.matches("\n---\n").count(), 2 * texts.len() + 1);
        prop_assert_eq!(run.intent_output.as_deref(), texts.last().map(String::as_str));
    }
}

const WORDS: [&str; 6] =
    ["{\"next\":\"intent\"}", "{\"next\":\"request\"}", "{\"next\":\"time\"}", "", "x", "{'response':'y'}"];
const TOOLS: [&str; 4] = [ROUTER, ROUTER, "time_tool", "request_tool"];
