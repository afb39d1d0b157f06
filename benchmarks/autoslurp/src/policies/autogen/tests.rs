//! Chats of AutoGen from their first to their last message.

use jiff::civil::date;
use proptest::prelude::*;
use regatta_proto::{ChatRole, Reply};
use serde_json::Value as Recorded;

use super::*;
use crate::policies::sessions::{
    QUERY, any_reply, asked, assert_stable, calling, carried, contents, ended, framework_logs, members, played,
    utterance,
};

const ALARM: &str = "{\"url\": \"http://127.0.0.1:3000/alarm?intent=alarm_set&time=07:00\"}";

fn said(texts: &[&str]) -> Vec<Reply> {
    texts.iter().map(|text| Reply::said(*text)).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}

/// Speakers in order, by the log.
fn speakers(log: &str) -> Vec<&str> {
    log.lines().filter_map(|line| line.strip_prefix("Next speaker: ")).collect()
}

#[test]
fn with_recorded_replies_the_log_is_that_of_the_framework() {
    let Some(folder) = framework_logs() else { return };
    let log = std::fs::read_to_string(folder.join("autogen_item0.log")).unwrap();
    let query = Query { iid: "7499", text: "make new schedule for tomorrow meeting", today: date(2026, 11, 20) };
    let url = "http://127.0.0.1:3002/calendar?intent=calendar_set&date=2026-11-21&event_name=meeting";
    let call = |id: &str, name: &str, arguments: &str| {
        let mut reply = calling(&[(name, arguments)]);
        reply.tool_calls[0].id = id.into();
        reply
    };
    let replies = [
        Reply::said("intent"),
        Reply::said("domain:calendar, intent:calendar_set, slots: date:tomorrow, event_name:meeting"),
        Reply::said("Time_assistant"),
        call("call_3", "get_time", "{}"),
        Reply::said("url_assistant"),
        Reply::said(format!("The url is {url}")),
        Reply::said("Request"),
        call("call_7", "url_request", &format!("{{\"url\": \"{url}\"}}")),
        Reply::said("Product_manager"),
        Reply::said(format!("The url is {url}")),
        Reply::said("user_proxy"),
        Reply::said("user_proxy"),
    ];
    let (run, used) = played(play, &query, &replies).unwrap();
    assert_eq!(used, replies.len());
    assert_eq!(run.log, log);
    assert_eq!(run.final_text.as_deref(), Some(&*format!("The url is {url}")));
    assert_eq!(run.requests.len(), 1);
    assert!(!run.hit_limit);
}

#[test]
fn recorded_logs_of_frameworks_are_where_they_are_looked_for() {
    let Some(folder) = framework_logs() else { return };
    let shapes: Recorded = serde_json::from_slice(&std::fs::read(folder.join("message_shapes.json")).unwrap()).unwrap();
    assert!(shapes["calls"].is_object());
}

#[test]
fn a_chat_is_printed_message_by_message() {
    let mut calls = calling(&[("url_request", ALARM), ("get_time", "{}"), ("no such", "{}")]);
    calls.text = Some("I ask.".into());
    let replies = [
        Reply::said("intent"),
        Reply::said("domain:alarm,intent:alarm_set"),
        Reply::said("Request"),
        calls,
        Reply::said("Product_manager"),
        Reply::said("It is set.\nTERMINATE"),
        Reply::said("user_proxy"),
    ];
    let run = ended(play, &replies);
    insta::assert_snapshot!(run.log);
    assert_eq!(run.final_text.as_deref(), Some("It is set."));
    assert_eq!(run.intent_output.as_deref(), Some("domain:alarm,intent:alarm_set"));
    let members: Vec<String> = run.members.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(members, ["intent", "manager", "request", "selector"]);
}

#[test]
fn the_first_message_is_json() {
    let request = asked(play, &[]);
    let expected = "user_proxy: {\"iid\": \"7\", \"query\": \"wake me at seven, it's important\"}";
    assert_eq!(&*request.messages[1].content, expected);
}

#[test]
fn everybody_hears_everything_and_knows_their_own_words() {
    let first = "user_proxy: {\"iid\": \"7\", \"query\": \"wake me at seven, it's important\"}";
    let mut replies = said(&["intent", "a", "Time_assistant"]);
    replies.extend([calling(&[("get_time", "{}")]), Reply::said("intent")]);
    let intent = asked(play, &replies);
    let expected = [("user", first), ("assistant", "a"), ("assistant", ""), ("tool", "2025-05-28")];
    assert_eq!(contents(&intent.messages[1..]), pairs(&expected));
    assert_eq!(intent.messages[3].tool_calls.len(), 1);
    assert!(intent.tools.is_empty());
    let selector = asked(play, &replies[..4]);
    let expected = [("user", first), ("user", "intent: a"), ("assistant", ""), ("tool", "2025-05-28")];
    assert_eq!(contents(&selector.messages[1..5]), pairs(&expected));
    assert_eq!(selector.messages.last().map(|message| message.role), Some(ChatRole::System));
    assert_eq!(selector.messages.len(), 6);
}

#[test]
fn tools_are_offered_to_those_who_have_them() {
    let tools = |speaker: &str| -> Vec<String> {
        let request = asked(play, &said(&[speaker]));
        request.tools.iter().map(|tool| tool.name.to_string()).collect()
    };
    assert_eq!(tools("Time_assistant"), ["get_time"]);
    assert_eq!(tools("Request"), ["url_request"]);
    for speaker in ["Product_manager", "intent", "Location", "url_assistant"] {
        assert!(tools(speaker).is_empty(), "{speaker}");
    }
    assert!(asked(play, &[]).tools.is_empty());
}

#[test]
fn the_selector_knows_everybody_by_what_they_are_told() {
    let request = asked(play, &[]);
    for participant in Participant::ALL {
        assert!(request.messages[0].content.contains(&format!("{}: ", participant.name())));
        assert!(request.messages[0].content.contains(&participant.described()));
    }
    assert!(request.messages[2].content.contains(
        "['user_proxy', 'Product_manager', 'intent', 'Time_assistant', 'Location', 'url_assistant', 'Request']"
    ));
}

#[test]
fn the_selector_is_asked_again_twice_and_then_the_next_one_speaks() {
    let again = asked(play, &said(&["nobody"]));
    assert_eq!(contents(&again.messages[3..4]), pairs(&[("assistant", "nobody")]));
    let once_more = asked(play, &said(&["nobody", "intent or Location"]));
    assert_eq!(once_more.messages.len(), 7);
    assert_ne!(once_more.messages[4].content, once_more.messages[6].content, "what was wrong is said");
    let selected = asked(play, &said(&["nobody", "intent or Location", "Location"]));
    assert_eq!(selected.member.unwrap().as_str(), "location");
    for (speaker, following) in [("url_assistant", "request"), ("intent", "time"), ("Product_manager", "intent")] {
        let next = asked(play, &said(&[speaker, "said", "", "x", "x"]));
        assert_eq!(next.member.unwrap().as_str(), following);
    }
    let after_the_last = asked(play, &said(&["Request", "said", "", "x", "x"]));
    assert!(after_the_last.messages.iter().any(|message| message.content.contains(PROXY_SAYS)));
}

#[test]
fn the_chat_ends_when_the_proxy_has_nothing_to_add() {
    let twice = ended(play, &said(&["Product_manager", "done", "user_proxy", "user_proxy"]));
    assert!(twice.log.ends_with("\nNext speaker: user_proxy\n\n"), "{}", twice.log);
    assert_eq!(speakers(&twice.log), ["Product_manager", "user_proxy", "user_proxy"]);
    let at_once = ended(play, &said(&["Product_manager", "done. TERMINATE", "user_proxy"]));
    assert_eq!(at_once.final_text.as_deref(), Some("done."));
    let alone = ended(play, &said(&["intent", "TERMINATE"]));
    assert!(!alone.hit_limit && alone.final_text.is_none());
    let unheard = asked(play, &said(&["intent", "x TERMINATE"]));
    assert_eq!(unheard.member.unwrap().as_str(), "selector");
    let mut calls = calling(&[("url_request", ALARM)]);
    calls.text = Some("TERMINATE after this".into());
    let not_executed = ended(play, &[Reply::said("Request"), calls]);
    assert!(not_executed.requests.is_empty());
}

#[test]
fn twelve_messages_are_enough() {
    let replies = said(&["intent", "x"].repeat(11));
    let run = ended(play, &replies);
    assert!(run.hit_limit);
    assert_eq!(speakers(&run.log).len(), 11);
    let mut done = said(&["intent", "x"].repeat(10));
    done.extend(said(&["Product_manager", "done TERMINATE"]));
    assert!(!ended(play, &done).hit_limit, "the last message says that it is done");
}

#[test]
fn calls_that_cannot_be_executed_come_back_as_errors() {
    let calls = [
        ("url_request", "{bad"),
        ("url_request", ""),
        ("url_request", "[\"a\"]"),
        ("url_request", "5"),
        ("url_request", "{}"),
        ("url_request", "{\"url\": 5}"),
        ("url_request", "{\"url\": \"no address\"}"),
        ("url_request", "{\"url\": \"http://127.0.0.1:3000/alarm\", \"b\": 1}"),
        ("get_time", "{\"a\": 1}"),
        ("no such", "{}"),
    ];
    let again = asked(play, &[Reply::said("Request"), calling(&calls)]);
    let results: Vec<&ChatMessage> = again.messages.iter().filter(|message| message.role == ChatRole::Tool).collect();
    assert_eq!(results.len(), calls.len());
    assert!(results.iter().all(|result| result.content.starts_with("Error: ")), "{results:?}");
    let executed =
        ended(play, &[Reply::said("Request"), calling(&calls), Reply::said("intent"), Reply::said("TERMINATE")]);
    assert_eq!(
        executed.log.matches(">>>>>>>> EXECUTING FUNCTION ").count(),
        7,
        "what is JSON, of tools that there are"
    );
    assert!(executed.log.contains("***** Suggested tool call (c9): no_such *****"));
}

#[test]
fn whoever_calls_a_tool_gets_it_executed() {
    let again = asked(play, &[Reply::said("intent"), calling(&[("url_request", ALARM)])]);
    let result = again.messages.iter().find(|message| message.role == ChatRole::Tool).unwrap();
    assert!(result.content.starts_with("server response {\"code\":\"SUCCESS\""), "{}", result.content);
}

#[test]
fn a_flood_of_calls_is_not_executed() {
    let flood = calling(&vec![("url_request", ALARM); 100]);
    let run = ended(play, &[Reply::said("Request"), flood, Reply::said("intent"), Reply::said("TERMINATE")]);
    assert_eq!(run.requests.len(), tools::EXECUTED_MAX);
}

#[test]
fn what_the_framework_raises_on_ends_the_run() {
    let no_arguments = [Reply::said("Request"), calling(&[("url_request", ALARM), ("url_request", "null")])];
    let run = ended(play, &no_arguments);
    assert_eq!(run.requests.len(), 1, "what was executed before it was executed");
    assert!(!run.log.contains("Response from calling tool"));
    let long = format!("{{\"url\": {}}}", "9".repeat(5000));
    assert!(ended(play, &[Reply::said("Request"), calling(&[("url_request", &long)])]).requests.is_empty());
    let silent_selector = ended(play, &[calling(&[("intent", "{}")])]);
    assert!(speakers(&silent_selector.log).is_empty() && !silent_selector.hit_limit);
}

#[test]
fn silence_is_an_empty_message() {
    let nothing = Reply::of_text(None, regatta_proto::Finish::Stop);
    let run = ended(
        play,
        &[nothing.clone(), Reply::said("intent"), nothing, Reply::said("Location"), Reply::said("TERMINATE")],
    );
    assert!(run.log.contains("intent (to chat_manager):\n\n\n\n----"), "{}", run.log);
    assert_eq!(run.intent_output.as_deref(), Some(""));
}

#[test]
fn a_team_that_knows_the_gold_carries_out_what_was_said() {
    let alarm = utterance("wake me tomorrow at nine", "alarm", "alarm_set", "['date : tomorrow', 'time : nine']");
    let (run, requests) = carried(play, simulated::reply, &alarm);
    let order = ["intent", "Time_assistant", "user_proxy", "Time_assistant", "url_assistant", "Request", "user_proxy"];
    assert_eq!(speakers(&run.log)[..7], order);
    assert_eq!(speakers(&run.log)[7..], ["Product_manager", "user_proxy"]);
    assert_eq!(members(&requests).iter().filter(|member| **member == "selector").count(), 7);
    assert!(run.requests[0].response.contains("operated successfully"), "{:?}", run.requests);
    assert!(run.final_text.is_some_and(|text| !text.is_empty()) && !run.hit_limit);
}

#[test]
fn a_team_that_knows_the_gold_asks_others_services_within_twelve_messages() {
    let weather =
        utterance("will it rain in oslo today", "weather", "weather_query", "['place_name : oslo', 'date : today']");
    let (run, _) = carried(play, simulated::reply, &weather);
    let urls: Vec<&str> = run.requests.iter().map(|exchange| &*exchange.url).collect();
    let [place, forecast] = urls.as_slice() else { panic!("{urls:?}") };
    assert!(place.contains("geocoding-api") && forecast.contains("/v1/forecast"), "{urls:?}");
    assert!(run.final_text.is_some() && !run.hit_limit, "{}", run.log);
}

#[test]
fn a_team_that_knows_the_gold_passes_on_what_a_server_asks() {
    let event = utterance("put the party in my calendar", "calendar", "calendar_set", "['event_name : party']");
    let (run, requests) = carried(play, simulated::reply, &event);
    assert!(!members(&requests).contains(&"time"));
    assert!(run.final_text.is_some_and(|text| text.contains("what time")));
}

const WORDS: [&str; 9] =
    ["intent", "Request", "Time_assistant", "Product_manager", "user_proxy", "x", "", "TERMINATE", "done TERMINATE"];
const TOOLS: [&str; 3] = ["get_time", "url_request", "no such"];

proptest! {
    #[test]
    fn any_replies_end_within_the_bound(replies in proptest::collection::vec(any_reply(&WORDS, &TOOLS), 1..40)) {
        let most = (MESSAGES_MAX - 1) * (selection::ATTEMPTS_MAX + 1);
        let many: Vec<Reply> = replies.into_iter().cycle().take(most).collect();
        let ended = played(play, &QUERY, &many);
        prop_assert!(ended.is_ok());
        prop_assert!(ended.is_ok_and(|(run, _)| run.log.matches("\nNext speaker: ").count() < MESSAGES_MAX));
    }

    #[test]
    fn more_replies_change_nothing_of_what_was_asked(
        replies in proptest::collection::vec(any_reply(&WORDS, &TOOLS), 0..12),
    ) {
        assert_stable(play, &replies);
    }
}
