use regatta_proto::{Reasoning, Reply, Thinking, Tool, Usage};
use serde_json::json;

use super::*;
use crate::{Answer, Format, Reading, Stamp};

fn parse(body: &str, reading: Reading) -> Result<ChatCall<'_>, ApiError> {
    ChatCall::parse(Format::Chat, body.as_bytes(), reading)
}

fn refusal(body: &str) -> String {
    let error = parse(body, Reading::Whole).unwrap_err();
    assert_eq!(error.status, 400);
    error.message
}

fn with(fields: &str) -> String {
    format!(r#"{{"model": "m", "messages": [{{"role": "user", "content": "x"}}], {fields}}}"#)
}

fn whole(fields: &str) -> ChatRequest {
    let body = with(fields);
    parse(&body, Reading::Whole).unwrap().request
}

const EVERY_WAY: &str = r#"{"model": "m", "messages": [
    {"role": "developer", "content": "be\nbrief"},
    {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "name": "user"},
    {"role": "assistant", "content": null, "refusal": null, "annotations": [], "tool_calls": [
        {"id": "c1", "type": "function", "index": 0, "function": {"name": "look", "arguments": "{\"at\": 1}"}}
    ]},
    {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "a key"},
    {"role": "assistant"}
], "temperature": 0.5, "max_tokens": 9, "max_completion_tokens": 7, "seed": 3, "user": "x", "stream": false,
"metadata": {"a": "b"}, "tool_choice": "auto"}"#;

#[test]
fn every_way_to_write_a_message_is_read() {
    let look = ToolCall { id: "c1".into(), name: "look".into(), arguments: "{\"at\": 1}".into() };
    for reading in [Reading::Whole, Reading::Gist] {
        let call = parse(EVERY_WAY, reading).unwrap();
        assert_eq!(
            call.request,
            ChatRequest::new(
                vec![
                    ChatMessage::new(ChatRole::System, "be\nbrief"),
                    ChatMessage::new(ChatRole::User, "ab"),
                    ChatMessage { tool_calls: vec![look.clone()], ..ChatMessage::new(ChatRole::Assistant, "") },
                    ChatMessage { tool_call_id: Some("c1".into()), ..ChatMessage::new(ChatRole::Tool, "a key") },
                    ChatMessage::new(ChatRole::Assistant, ""),
                ],
                Sampling { temperature: Some(0.5), top_p: None, max_tokens: Some(7), seed: Some(3) },
            )
        );
        assert_eq!((call.streaming, call.metadata.unwrap().get()), (None, r#"{"a": "b"}"#));
        assert_eq!(call.left_out, Vec::<&str>::new());
    }
}

#[test]
fn a_whole_reading_carries_everything_that_a_request_can_say() {
    let request = whole(
        r#""tools": [{"type": "function", "function": {"name": "look", "description": "d", "strict": false,
               "parameters": {"type": "object", "properties": {"at": {"type": "integer"}}}}},
            {"type": "function", "function": {"name": "wait"}}],
        "tool_choice": {"type": "function", "function": {"name": "look"}}, "parallel_tool_calls": false,
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "strict": true, "schema": {"type": "object"}}},
        "stop": ["x", "y"], "reasoning_effort": "low", "logprobs": true, "top_logprobs": 2, "frequency_penalty": 0, "n": 1,
        "presence_penalty": 0.0, "service_tier": "auto", "modalities": ["text"], "logit_bias": {}, "store": true"#,
    );
    let tool = |name: &str, description: Option<&str>, parameters| Tool {
        name: name.into(),
        description: description.map(Into::into),
        parameters: Arc::new(parameters),
    };
    assert_eq!(
        request,
        ChatRequest {
            tools: vec![
                tool("look", Some("d"), json!({"type": "object", "properties": {"at": {"type": "integer"}}})),
                tool("wait", None, json!({"type": "object", "properties": {}})),
            ],
            tool_choice: ToolChoice::Named("look".into()),
            parallel_tool_calls: Some(false),
            output: Some(OutputSchema { name: "a".into(), schema: Arc::new(json!({"type": "object"})) }),
            stop: vec!["x".into(), "y".into()],
            thinking: Some(Thinking::Low),
            logprobs: Some(2),
            ..ChatRequest::new(vec![ChatMessage::new(ChatRole::User, "x")], Sampling::default())
        }
    );
    assert_eq!(whole(r#""stop": "x""#).stop, ["x".into()]);
    assert_eq!(whole(r#""tool_choice": "required""#).tool_choice, ToolChoice::Required);
    assert_eq!(whole(r#""logprobs": true"#).logprobs, Some(0));
}

#[test]
fn a_tool_that_takes_a_text_is_a_function_to_the_model_and_comes_back_in_its_own_form() {
    let body = with(
        r#""tools": [{"type": "function", "function": {"name": "look"}}, {"type": "custom", "custom": {"name": "patch", "description": "d",
               "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: x"}}}}],
        "tool_choice": {"type": "custom", "custom": {"name": "patch"}}"#,
    );
    let call = parse(&body, Reading::Whole).unwrap();
    let names: Vec<&str> = call.request.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["look", "patch"]);
    assert!(call.request.tools[1].description.as_deref().unwrap().ends_with("(lark):\nstart: x"));
    assert_eq!((call.request.tool_choice, call.request.passed), (ToolChoice::Named("patch".into()), None));
    assert_eq!(call.left_out, ["tools.format"]);

    let called =
        |name: &str, arguments: &str| ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into() };
    let calls = vec![called("look", "{}"), called("patch", r#"{"input":"a\nb"}"#)];
    let reply = Reply::calling(None, calls.clone());
    let stamp = Stamp { id: "1".into(), created: 0, cost: None, fingerprint: None };
    let usage = Usage::default();
    let answer = Answer { model: "m", reply: &reply, usage: &usage, stamp: &stamp, forms: Some(&call.forms) };
    let whole: Value = serde_json::from_slice(&answer.whole(Format::Chat)).unwrap();
    let message = &whole["choices"][0]["message"];
    let told = json!([
        {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}},
        {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "a\nb"}},
    ]);
    assert_eq!(message["tool_calls"], told);
    let again = json!({"model": "m", "messages": [message]}).to_string();
    assert_eq!(parse(&again, Reading::Whole).unwrap().request.messages[0].tool_calls, calls);

    let streamed = answer.streamed(Format::Chat, Streaming { include_usage: false });
    let streamed = String::from_utf8(streamed.to_vec()).unwrap();
    let deltas: Vec<Value> = streamed
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
        .filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].get(0).cloned())
        .filter(|call| call["index"] == 1)
        .collect();
    let expected = json!([
        {"index": 1, "id": "c", "type": "custom", "custom": {"name": "patch", "input": ""}},
        {"index": 1, "custom": {"input": "a\nb"}},
    ]);
    assert_eq!(json!(deltas), expected);
}

#[test]
fn functions_of_the_first_versions_are_called_as_they_were_then() {
    let body = r#"{"model": "m", "functions": [{"name": "look", "parameters": {"type": "object"}}], "function_call": {"name": "look"},
        "messages": [{"role": "user", "content": "x"},
            {"role": "assistant", "content": null, "function_call": {"name": "look", "arguments": "{}"}},
            {"role": "function", "name": "look", "content": "a key"}]}"#;
    let call = parse(body, Reading::Whole).unwrap();
    let request = &call.request;
    assert_eq!((&*request.tools[0].name, &request.tool_choice), ("look", &ToolChoice::Named("look".into())));
    assert_eq!((request.parallel_tool_calls, &request.passed), (Some(false), &None));
    let [_, asked, told] = &request.messages[..] else { panic!("{request:?}") };
    assert_eq!((asked.tool_calls[0].id.clone(), told.role), ("call00001".into(), ChatRole::Tool));
    assert_eq!(told.tool_call_id.as_ref(), Some(&asked.tool_calls[0].id));

    let take = |id: &str| ToolCall { id: id.into(), name: "look".into(), arguments: r#"{"at":1}"#.into() };
    let reply = Reply::calling(None, vec![take("c1"), take("c2")]);
    let stamp = Stamp { id: "1".into(), created: 0, cost: None, fingerprint: None };
    let usage = Usage::default();
    let answer = Answer { model: "m", reply: &reply, usage: &usage, stamp: &stamp, forms: Some(&call.forms) };
    let whole: Value = serde_json::from_slice(&answer.whole(Format::Chat)).unwrap();
    let choice = &whole["choices"][0];
    let expected =
        json!({"role": "assistant", "content": null, "function_call": {"name": "look", "arguments": r#"{"at":1}"#}});
    assert_eq!((&choice["message"], &choice["finish_reason"]), (&expected, &json!("function_call")));
    let streamed = answer.streamed(Format::Chat, Streaming { include_usage: false });
    let streamed = String::from_utf8(streamed.to_vec()).unwrap();
    let deltas: Vec<Value> = streamed
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
        .filter_map(|chunk| chunk["choices"][0]["delta"].get("function_call").cloned())
        .collect();
    let expected = json!([{"name": "look", "arguments": ""}, {"arguments": r#"{"at":1}"#}]);
    assert_eq!(json!(deltas), expected);
    assert!(!streamed.contains("tool_calls"), "{streamed}");
}

#[test]
fn two_tools_of_one_name_are_refused_where_one_takes_a_text() {
    let function = r#"{"type": "function", "function": {"name": "f"}}"#;
    let custom = r#"{"type": "custom", "custom": {"name": "f"}}"#;
    for (one, other) in [(function, custom), (custom, function), (custom, custom)] {
        assert_eq!(refusal(&with(&format!(r#""tools": [{one}, {other}]"#))), format!("`tools[1]` {SAME_NAME}"));
    }
}

#[test]
fn a_name_that_tells_something_is_said_before_the_text_and_told() {
    let body = r#"{"model": "m", "messages": [
        {"role": "user", "name": "user", "content": "a"},
        {"role": "user", "name": "planner", "content": "b"},
        {"role": "assistant", "name": "coder", "content": "", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": ""}}]}
    ], "tools": [{"type": "function", "function": {"name": "f", "strict": true}}]}"#;
    let call = parse(body, Reading::Whole).unwrap();
    let texts: Vec<&str> = call.request.messages.iter().map(|message| &*message.content).collect();
    assert_eq!(texts, ["a", "planner: b", ""]);
    assert_eq!(call.left_out, ["messages.name", "tools.strict"]);
}

#[test]
fn thoughts_come_back_as_they_were_told_or_as_their_provider_tells_them() {
    let thought = |fields: &str| {
        let body = format!(r#"{{"model": "m", "messages": [{{"role": "assistant", "content": "x", {fields}}}]}}"#);
        parse(&body, Reading::Whole).unwrap().request.messages[0].reasoning.clone()
    };
    let reasoning =
        |text: &str, opaque: Option<&str>| Some(Reasoning { text: text.into(), opaque: opaque.map(Into::into) });
    assert_eq!(thought(r#""reasoning_content": "hm""#), reasoning("hm", None));
    let ours = format!(r#""reasoning": "hm", "reasoning_details": {}"#, thoughts::details("secret"));
    assert_eq!(thought(&ours), reasoning("hm", Some("secret")));
    let theirs = r#"[{"type": "reasoning.text", "text": "hm"}]"#;
    assert_eq!(thought(&format!(r#""reasoning_details": {theirs}"#)), reasoning("", Some(theirs)));
}

#[test]
fn a_stream_may_be_asked_for_with_usage_and_without() {
    let streaming = |options: &str| {
        let body = with(options);
        parse(&body, Reading::Whole).unwrap().streaming.map(|streaming| streaming.include_usage)
    };
    assert_eq!(streaming(r#""stream": true"#), Some(false));
    assert_eq!(streaming(r#""stream": true, "stream_options": {"include_usage": true}"#), Some(true));
    assert_eq!(streaming(r#""stream": null, "stream_options": null"#), None);
}

#[test]
fn a_gist_is_read_whatever_else_a_request_holds() {
    let body =
        with(r#""tools": [{"type": "function"}, {"name": "x"}], "tool_choice": 1, "anything": {"a": 1}, "seed": -1"#);
    let call = parse(&body, Reading::Gist).unwrap();
    assert_eq!(call.request.tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["x"]);
    assert_eq!(call.request.sampling.seed, Some(u64::MAX));
}

#[test]
fn what_cannot_be_carried_is_refused_by_name() {
    let message = |message: &str| format!(r#"{{"model": "m", "messages": [{message}]}}"#);
    insta::assert_snapshot!(
        [
            refusal(&with("\"n\": 2")),
            refusal(&with("\"max_tokens\": 0")),
            refusal(r#"{"model": "m", "messages": []}"#),
            refusal(r#"{"messages": [{"role": "user", "content": "x"}]}"#),
            refusal(&message(r#"{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}"#)),
            refusal(&message(r#"{"role": "critic", "content": "x"}"#)),
            refusal(&message(r#"{"role": "user", "content": 1}"#)),
            refusal(&message(r#"{"role": "tool", "content": "x"}"#)),
            refusal("{"),
            refusal(&with(r#""temperature": "hot""#)),
            refusal(&with(r#""model": "another""#)),
            refusal(&with(r#""audio": {"voice": "alloy"}"#)),
            refusal(&with(r#""tools": [{"type": "local_shell"}]"#)),
            refusal(&with(r#""tools": [{"type": "function", "function": {"name": "f", "parameters": 1}}]"#)),
            refusal(&with(r#""top_logprobs": 2"#)),
            refusal(&with(r#""fallbacks": ["another"]"#)),
            refusal(&with(r#""web_search_options": {"search_context_size": "low"}"#)),
            refusal(&with(r#""api_key": "k""#)),
        ]
        .join("\n")
    );
}
