//! Sessions for the tests of the policies.

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::civil::date;
use proptest::prelude::*;
use regatta_proto::{ChatMessage, ChatRequest, Reply, ToolCall};
use serde_json::Value;

use super::query::Query;
use super::replies::{Asking, Replies};
use crate::data::Utterance;
use crate::run::Run;
use crate::simulate::Gold;

/// A policy.
pub(super) type Play = fn(&Query<'_>, &mut Replies<'_>) -> Result<Run, Asking>;

/// Query for tests in which the words do not matter.
pub(super) const QUERY: Query<'static> =
    Query { iid: "7", text: "wake me at seven, it's important", today: date(2025, 5, 28) };

/// Plays `replies` to their end: the run and the number of replies used, or the next request.
pub(super) fn played(play: Play, query: &Query<'_>, replies: &[Reply]) -> Result<(Run, usize), Box<ChatRequest>> {
    let all: Vec<&Reply> = replies.iter().collect();
    let mut left = Replies::new(&all);
    let run = play(query, &mut left).map_err(|asking| asking.0)?;
    Ok((run, all.len() - left.left()))
}

/// Plays `replies`, which end the session.
pub(super) fn ended(play: Play, replies: &[Reply]) -> Run {
    match played(play, &QUERY, replies) {
        Ok((run, used)) => {
            assert_eq!(used, replies.len(), "replies that nobody asked for");
            run
        }
        Err(asked) => panic!("asks {:?}: {:?}", asked.member, asked.messages.last()),
    }
}

/// Plays `replies`, which do not end the session.
pub(super) fn asked(play: Play, replies: &[Reply]) -> ChatRequest {
    match played(play, &QUERY, replies) {
        Ok((run, used)) => panic!("ended after {used}: {}", run.log),
        Err(asked) => *asked,
    }
}

/// A session whose members all know the gold: what it came to, and what was asked.
pub(super) fn carried(
    play: Play,
    reply: fn(&ChatRequest, &Gold) -> Reply,
    utterance: &Utterance,
) -> (Run, Vec<ChatRequest>) {
    let query = Query { iid: &utterance.iid, text: &utterance.text, today: QUERY.today };
    let gold = Gold::of(utterance, query.today);
    let (mut replies, mut requests) = (Vec::new(), Vec::new());
    while requests.len() < 100 {
        match played(play, &query, &replies) {
            Ok((run, _)) => {
                let ids: Vec<&str> =
                    replies.iter().flat_map(|reply: &Reply| &reply.tool_calls).map(|call| &*call.id).collect();
                assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "equal ids of calls: {ids:?}");
                return (run, requests);
            }
            Err(asking) => {
                replies.push(reply(&asking, &gold));
                requests.push(*asking);
            }
        }
    }
    panic!("{} goes on and on: {:?}", utterance.text, replies.last());
}

/// An utterance of our own.
pub(super) fn utterance(text: &str, domain: &str, intent: &str, slots: &str) -> Utterance {
    Utterance {
        iid: "4711".to_owned(),
        text: text.to_owned(),
        intent: intent.to_owned(),
        slots: slots.to_owned(),
        domain: domain.to_owned(),
    }
}

/// Members that were asked, in order.
pub(super) fn members(requests: &[ChatRequest]) -> Vec<&str> {
    requests.iter().map(|request| request.member.as_ref().map_or("", |member| member.as_str())).collect()
}

/// A reply that calls tools.
pub(super) fn calling(calls: &[(&str, &str)]) -> Reply {
    let call = |(at, (name, arguments)): (usize, &(&str, &str))| ToolCall {
        id: format!("c{at}").into(),
        name: (*name).into(),
        arguments: (*arguments).into(),
    };
    Reply::calling(None, calls.iter().enumerate().map(call).collect())
}

/// Role and content of messages.
pub(super) fn contents(messages: &[ChatMessage]) -> Vec<(String, String)> {
    messages.iter().map(|message| (format!("{:?}", message.role).to_lowercase(), message.content.to_string())).collect()
}

/// The folder with logs of the real frameworks beside the project, if there is one.
pub(super) fn framework_logs() -> Option<PathBuf> {
    Some(regatta_benchmark_testing::shared("autoslurp")?.join("golden/framework_logs"))
}

/// A recorded reply of the wire.
pub(super) fn recorded(reply: &Value) -> Reply {
    let calls = reply["tool_calls"].as_array().cloned().unwrap_or_default();
    let calls = calls.iter().map(|call| ToolCall {
        id: call["id"].as_str().unwrap().into(),
        name: call["function"]["name"].as_str().unwrap().into(),
        arguments: call["function"]["arguments"].as_str().unwrap().into(),
    });
    Reply { text: reply["content"].as_str().map(Into::into), ..Reply::calling(None, calls.collect()) }
}

/// Any reply, of `words` that mean something and of others.
pub(super) fn any_reply(
    words: &'static [&'static str],
    tools: &'static [&'static str],
) -> impl Strategy<Value = Reply> {
    const ARGUMENTS: [&str; 12] = [
        "{}",
        "",
        "null",
        "{bad",
        "[1]",
        "5",
        "{\"url\":\"http://127.0.0.1:3000/alarm?intent=alarm_set&time=07:00\"}",
        "{\"url\":7}",
        "{\"url\":\"no address\"}",
        "{\"next\":\"intent\"}",
        "{\"next\":\"request\"}",
        "{\"next\":\"FINISH\"}",
    ];
    let text = prop_oneof![4 => proptest::sample::select(words).prop_map(str::to_owned), 1 => any::<String>()];
    let name = prop_oneof![4 => proptest::sample::select(tools).prop_map(str::to_owned), 1 => any::<String>()];
    let arguments =
        prop_oneof![6 => proptest::sample::select(&ARGUMENTS[..]).prop_map(str::to_owned), 1 => any::<String>()];
    let call = (any::<String>(), name, arguments).prop_map(|(id, name, arguments)| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    });
    (proptest::option::weighted(0.8, text), proptest::collection::vec(call, 0..3))
        .prop_map(|(text, calls)| Reply { text: text.map(Into::into), ..Reply::calling(None, calls) })
}

/// However far it is played, the same is asked at the same place, and once it has ended more replies change nothing.
pub(super) fn assert_stable(play: Play, replies: &[Reply]) {
    let mut ended: Option<(Run, usize)> = None;
    let mut asked: Vec<ChatRequest> = Vec::new();
    for length in 0..=replies.len() {
        match (played(play, &QUERY, &replies[..length]), &ended) {
            (Ok(now), Some(before)) => assert_eq!(&now, before),
            (Ok(now), None) => {
                assert_eq!(now.1, length, "the last reply was asked for");
                ended = Some(now);
            }
            (Err(now), None) => asked.push(*now),
            (Err(now), Some(_)) => panic!("asks again: {now:?}"),
        }
    }
    // Nothing of an earlier request is taken back: each member hears what it has heard before, and more.
    for (at, later) in asked.iter().enumerate() {
        let earlier = asked[..at].iter().rev().find(|earlier| earlier.member == later.member);
        let is_shared = |earlier: &&ChatRequest| earlier.messages.first() == later.messages.first();
        assert!(earlier.is_none_or(|earlier| is_shared(&earlier)), "other instructions for {:?}", later.member);
    }
}

/// Utterances of our own, one for each way through a team.
pub(super) fn utterances() -> Vec<Utterance> {
    [
        ("set an alarm for seven am", "alarm_set", "['time:seven am']", "alarm"),
        ("what is on tomorrow", "calendar_query", "['date:tomorrow']", "calendar"),
        ("how warm is it in my city", "weather_query", "['place_name:my city']", "weather"),
        ("read my lists", "lists_query", "[]", "lists"),
        ("what is a pound in dollars", "qa_currency", "['currency_name:pound','currency_name:dollar']", "currency"),
        ("price of blue corp", "qa_stock", "['business_name:blue corp']", "stock"),
        ("hello there", "general_greet", "[]", "general"),
        ("put \"salt's end\" on the list", "lists_createoradd", "[\"item_name:salt's end\"]", "lists"),
    ]
    .map(|(text, intent, slots, domain)| Utterance {
        iid: "1".to_owned(),
        text: text.to_owned(),
        intent: intent.to_owned(),
        slots: slots.to_owned(),
        domain: domain.to_owned(),
    })
    .into()
}
