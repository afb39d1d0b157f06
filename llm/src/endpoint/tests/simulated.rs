//! Round trips of tool calls: a simulated model's calls arrive unchanged, in every format.

use futures::FutureExt;
use regatta_memory::ByteBudget;
use regatta_proto::{Finish, Image, Lane, Reply, SessionSeed, ToolCall, Trial};
use regatta_simulator::{Config, Script, SimulatedEndpoint};

use super::*;
use crate::{BatchCall, BatchState, SessionTag};

/// One rule each: several calls, Korean text, arguments that are no JSON, none, and not an object.
const SCRIPT: [&str; 5] = [
    r#"{"match": {"contains": "calls"}, "tool_calls": [
        {"name": "예약_조회", "arguments": {"날짜": "2026-01-01", "인원": 2.50, "b": null, "a": [true, "줄\n바꿈"]}},
        {"name": "look", "arguments": {}, "id": "toolu_x"}]}"#,
    r#"{"match": {"contains": "both"}, "reply": "먼저 찾아볼게요.", "tool_calls": [
        {"name": "look", "arguments": {"at": "문"}}]}"#,
    r#"{"match": {"contains": "broken"}, "tool_calls": [
        {"name": "look", "arguments": "{\"at\": 문"},
        {"name": "take", "arguments": ""},
        {"name": "drop", "arguments": "[1, 2]"}]}"#,
    r#"{"match": {"contains": "nothing"}, "reply": ""}"#,
    r#"{"reply": "그냥 말할게요."}"#,
];

const ASKED: [&str; 5] = ["calls", "both", "broken", "nothing", "text"];

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
}

/// The reply that the script gives; where a format allows only objects as arguments (`in_objects`), others are wrapped.
fn expected(asked: &str, in_objects: bool) -> Reply {
    match asked {
        "calls" => {
            let arguments = r#"{"날짜":"2026-01-01","인원":2.5,"b":null,"a":[true,"줄\n바꿈"]}"#;
            Reply::calling(None, vec![call("call_0", "예약_조회", arguments), call("toolu_x", "look", "{}")])
        }
        "both" => Reply::calling(Some("먼저 찾아볼게요."), vec![call("call_0", "look", r#"{"at":"문"}"#)]),
        "broken" => {
            let [look, take, drop] = match in_objects {
                true => [r#"{"INVALID_JSON":"{\"at\": 문"}"#, "{}", r#"{"INVALID_JSON":"[1, 2]"}"#],
                false => ["{\"at\": 문", "", "[1, 2]"],
            };
            let calls = [("call_0", "look", look), ("call_1", "take", take), ("call_2", "drop", drop)];
            Reply::calling(None, calls.map(|(id, name, arguments)| call(id, name, arguments)).to_vec())
        }
        "nothing" => Reply::said(""),
        _ => Reply::said("그냥 말할게요."),
    }
}

async fn simulator() -> SimulatedEndpoint {
    let lines = SCRIPT.map(|rule| rule.replace('\n', " ")).join("\n");
    let script = Some(Script::parse("script", &lines).unwrap());
    SimulatedEndpoint::start(Config { script, ..Config::on_loopback(Vec::new()) }).await.unwrap()
}

fn speaking(kind: EndpointKind, stream: bool, simulator: &SimulatedEndpoint) -> EndpointSpec {
    EndpointSpec {
        base_url: Some(simulator.url()),
        api_key_env: Some("none".to_owned()),
        stream,
        ..EndpointSpec::of_kind(kind)
    }
}

fn asking(text: &str) -> ChatRequest {
    let sampling = Sampling { max_tokens: Some(1000), ..Sampling::default() };
    ChatRequest::new(vec![ChatMessage::new(ChatRole::User, text)], sampling)
}

const KINDS: [EndpointKind; 3] = [EndpointKind::Openai, EndpointKind::OpenaiResponses, EndpointKind::Anthropic];

#[tokio::test]
async fn what_a_model_wants_to_be_called_arrives_in_every_format_whole_and_streamed() {
    let simulator = simulator().await;
    for (kind, stream) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let bench = open(&speaking(kind, stream, &simulator));
        for asked in ASKED {
            let request = asking(asked);
            let called = bench.endpoint.chat(ChatCall { model: "scripted", ..bench.call(&request) }).await.unwrap();
            // In a stream, arguments are a text without restrictions.
            let mut wanted = expected(asked, kind == EndpointKind::Anthropic && !stream);
            if kind == EndpointKind::Anthropic && stream {
                // An empty text is no JSON object.
                for call in &mut wanted.tool_calls {
                    if call.arguments.is_empty() {
                        call.arguments = "{}".into();
                    }
                }
            }
            let text = called.reply.text.clone().filter(|text| !text.is_empty());
            assert_eq!(text, wanted.text.clone().filter(|text| !text.is_empty()), "{kind:?} {stream} {asked}");
            assert_eq!(called.reply.tool_calls, wanted.tool_calls, "{kind:?} {stream} {asked}");
            assert_eq!(called.reply.finish, wanted.finish, "{kind:?} {stream} {asked}");
            let tokens = |text: &str| text.chars().count().div_ceil(4) as u64;
            let unwrapped = expected(asked, false);
            let calls = unwrapped.tool_calls.iter().map(|call| tokens(&call.name) + tokens(&call.arguments));
            let output = tokens(unwrapped.text.as_deref().unwrap_or_default()) + calls.sum::<u64>();
            assert_eq!((called.usage.input, called.usage.output), (tokens(asked), output), "{kind:?} {stream} {asked}");
        }
    }
    simulator.shutdown().await;
}

#[tokio::test]
async fn calls_and_their_results_go_back_to_the_model_as_they_were() {
    let script = r#"{"match": {"contains": "열쇠"}, "tool_calls": [{"name": "take", "arguments": {}}]}
        {"tool_calls": [{"name": "look", "arguments": {"at": "문"}}, {"name": "look", "arguments": "no object"}]}"#;
    let script = Some(Script::parse("script", script).unwrap());
    let simulator = SimulatedEndpoint::start(Config { script, ..Config::on_loopback(Vec::new()) }).await.unwrap();
    for kind in KINDS {
        let bench = open(&speaking(kind, false, &simulator));
        let mut request = asking("go");
        let first = bench.endpoint.chat(ChatCall { model: "scripted", ..bench.call(&request) }).await.unwrap().reply;
        let said = ChatMessage { tool_calls: first.tool_calls.clone(), ..ChatMessage::new(ChatRole::Assistant, "") };
        request.messages.push(said);
        for (call, found) in first.tool_calls.iter().zip(["a door", "열쇠"]) {
            let result = ChatMessage::new(ChatRole::Tool, found);
            request.messages.push(ChatMessage { tool_call_id: Some(call.id.clone()), ..result });
        }
        let second = bench.endpoint.chat(ChatCall { model: "scripted", ..bench.call(&request) }).await.unwrap().reply;
        // The number follows the two calls that the conversation has already.
        assert_eq!(second, Reply::calling(None, vec![call("call_2", "take", "{}")]), "{kind:?}");
    }
    simulator.shutdown().await;
}

#[tokio::test]
async fn images_reach_the_model_in_every_format_and_are_no_part_of_what_is_recorded() {
    let simulator = simulator().await;
    for kind in KINDS {
        let bench = open(&speaking(kind, false, &simulator));
        let mut request = asking("text");
        for message in &mut request.messages {
            message.images.extend(["iVBORw0KGgo=", "R0lGODlh"].map(|image| Image::of_base64(image).unwrap()));
        }
        let called = bench.endpoint.chat(ChatCall { model: "scripted", ..bench.call(&request) }).await.unwrap();
        // Each counts 256 tokens, and the text one.
        assert_eq!(called.usage.input, 513, "{kind:?}");
        let recorded = serde_json::to_string(&called).unwrap();
        assert!(recorded.contains("\"format\":\"png\"") && !recorded.contains("iVBORw0KGgo"), "{recorded}");
    }
    simulator.shutdown().await;
}

#[tokio::test]
async fn the_body_of_a_call_with_images_is_held_while_it_is_under_way_and_refused_where_there_is_no_room_for_it() {
    let simulator = simulator().await;
    let mut file = b"GIF89a".to_vec();
    file.resize(60_000, 0);
    let mut request = asking("text");
    for message in &mut request.messages {
        message.images.extend(Image::of(file.clone().into()));
    }
    for stream in [false, true] {
        let bench = open(&speaking(EndpointKind::Openai, stream, &simulator));
        let (enough, too_little) = (ByteBudget::new(4 << 20), ByteBudget::new(256 << 10));
        let holder = enough.holder();
        let call = ChatCall { model: "scripted", holder: Some(&holder), ..bench.call(&request) };
        bench.endpoint.chat(call).await.unwrap();
        assert!(enough.held_max() > request.sent_bytes(), "{} beside the answer", enough.held_max());
        assert!(enough.held() < 1000, "{} of the answer alone", enough.held());
        let holder = too_little.holder();
        let call = ChatCall { model: "scripted", holder: Some(&holder), ..bench.call(&request) };
        let tries = bench.tries_of(call).await;
        assert_eq!((tries.len(), tries[0].class), (1, ErrorClass::BadRequest));
        assert!(tries[0].detail.starts_with("the images of the request cannot be held"), "{}", tries[0].detail);
    }
    simulator.shutdown().await;
}

#[tokio::test]
async fn an_answer_that_the_limit_cuts_in_a_call_says_so_and_keeps_what_was_written() {
    let simulator = simulator().await;
    for stream in [false, true] {
        let bench = open(&speaking(EndpointKind::Openai, stream, &simulator));
        let mut request = asking("both");
        request.sampling.max_tokens = Some(5);
        let reply = bench.endpoint.chat(ChatCall { model: "scripted", ..bench.call(&request) }).await.unwrap().reply;
        assert_eq!((reply.finish, reply.tool_calls), (Finish::Length, vec![call("call_0", "look", r#"{"at"#)]));
    }
    simulator.shutdown().await;
}

#[tokio::test]
async fn batches_bring_calls_of_tools_as_live_answers_do() {
    let simulator = simulator().await;
    for kind in [EndpointKind::Openai, EndpointKind::Anthropic] {
        let bench = open(&EndpointSpec { lane: Lane::Batch, ..speaking(kind, false, &simulator) });
        let client = bench.endpoint.batch().unwrap();
        let requests = ASKED.map(asking);
        let (benchmark, setting, item) = ("b".parse().unwrap(), "s".parse().unwrap(), "i".parse().unwrap());
        let calls: Vec<BatchCall<'_>> = requests
            .iter()
            .map(|request| BatchCall {
                model: "scripted",
                role: Role::Agent,
                attempt: 1,
                request,
                price: None,
                cache: CacheMode::Off,
                session: SessionTag {
                    benchmark: &benchmark,
                    setting: &setting,
                    item: &item,
                    trial: Trial(0),
                    role: Role::Agent,
                    seed: SessionSeed(1),
                },
            })
            .collect();
        let prepared = client.prepare("0a1b", &calls).await;
        let id = client.submit("0a1b", prepared, &bench.interrupt, &|| std::future::ready(true).boxed()).await.unwrap();
        while client.poll(&id).await.unwrap().state != BatchState::Ended {
            tokio::task::yield_now().await;
        }
        let collected = client.collect("0a1b", &id, &calls).await.unwrap();
        for (asked, called) in ASKED.iter().zip(collected.calls) {
            let (reply, wanted) = (called.unwrap().reply, expected(asked, kind == EndpointKind::Anthropic));
            assert_eq!((reply.tool_calls, reply.finish), (wanted.tool_calls, wanted.finish), "{kind:?} {asked}");
        }
    }
    simulator.shutdown().await;
}
