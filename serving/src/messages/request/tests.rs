use regatta_proto::{ChatMessage, ChatRole, Reasoning, Tool, ToolCall};
use serde_json::json;

use super::*;
use crate::{Format, Reading};

fn parse(body: &str, reading: Reading) -> Result<ChatCall<'_>, ApiError> {
    ChatCall::parse(Format::Messages, body.as_bytes(), reading)
}

fn with(fields: &str) -> String {
    format!(r#"{{"model": "m", "max_tokens": 9, "messages": [{{"role": "user", "content": "x"}}], {fields}}}"#)
}

fn whole(fields: &str) -> ChatRequest {
    let body = with(fields);
    parse(&body, Reading::Whole).unwrap().request
}

const CONVERSATION: &str = r#"{"model": "m", "max_tokens": 9, "temperature": 0.5, "stream": true,
    "system": [{"type": "text", "text": "be\nbrief", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": "one\n"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
            {"type": "tool_use", "id": "c2", "name": "look", "input": {"INVALID_JSON": "at 1"}}
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a key"}]},
            {"type": "text", "text": "go on"}
        ]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2", "content": "nothing", "is_error": true}]}
    ], "tools": [{"name": "look", "description": "d", "input_schema": {"type": "object"}}],
    "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
    "thinking": {"type": "enabled", "budget_tokens": 2000}, "stop_sequences": ["x"], "metadata": {"user_id": "u"}}"#;

fn messages(thought: bool) -> Vec<ChatMessage> {
    let call = |id: &str, arguments: &str| ToolCall { id: id.into(), name: "look".into(), arguments: arguments.into() };
    let result =
        |id: &str, text| ChatMessage { tool_call_id: Some(id.into()), ..ChatMessage::new(ChatRole::Tool, text) };
    let reasoning = thought.then(|| Reasoning { text: "hm".into(), opaque: Some("s".into()) });
    vec![
        ChatMessage { cache_until_here: thought, ..ChatMessage::new(ChatRole::System, "be\nbrief") },
        ChatMessage::new(ChatRole::User, "one\n"),
        ChatMessage {
            tool_calls: vec![call("c1", r#"{"at": 1}"#), call("c2", "at 1")],
            reasoning,
            ..ChatMessage::new(ChatRole::Assistant, "I look.")
        },
        result("c1", "a key"),
        ChatMessage::new(ChatRole::User, "go on"),
        result("c2", "nothing"),
    ]
}

#[test]
fn texts_blocks_and_the_results_of_tools_are_read() {
    let call = parse(CONVERSATION, Reading::Whole).unwrap();
    let parameters = Arc::new(json!({"type": "object"}));
    let sampling = Sampling { temperature: Some(0.5), top_p: None, max_tokens: Some(9), seed: None };
    assert_eq!(
        call.request,
        ChatRequest {
            tools: vec![Tool { name: "look".into(), description: Some("d".into()), parameters }],
            tool_choice: ToolChoice::Required,
            parallel_tool_calls: Some(false),
            thinking: Some(Thinking::Tokens(2000)),
            stop: vec!["x".into()],
            ..ChatRequest::new(messages(true), sampling)
        }
    );
    assert_eq!(call.left_out, ["messages.content.is_error"]);
    assert_eq!(call.metadata.unwrap().get(), "\"u\"");
    assert!(call.streaming.is_some());
    let gist = parse(CONVERSATION, Reading::Gist).unwrap().request;
    assert_eq!(ChatRequest { tools: Vec::new(), ..gist }, ChatRequest::new(messages(false), sampling));
}

#[test]
fn several_signed_thoughts_of_a_message_are_one_that_has_their_places() {
    let body = r#"{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "a", "signature": "s"},
        {"type": "text", "text": "é"},
        {"type": "tool_use", "id": "c", "name": "look", "input": {}},
        {"type": "thinking", "thinking": "", "signature": "[{\"type\":\"redacted_thinking\",\"data\":\"r\"}]"},
        {"type": "text", "text": "z"}
    ]}]}"#;
    let call = parse(body, Reading::Whole).unwrap();
    let message = &call.request.messages[1];
    assert_eq!((&*message.content, message.tool_calls.len()), ("éz", 1));
    let reasoning = message.reasoning.clone().unwrap();
    let blocks: serde_json::Value = serde_json::from_str(&reasoning.opaque.unwrap()).unwrap();
    let expected = json!([
        {"type": "thinking", "thinking": "a", "signature": "s"}, {"type": "text", "bytes": 2}, {"type": "tool_use"},
        {"type": "redacted_thinking", "data": "r"},
    ]);
    assert_eq!((&*reasoning.text, blocks), ("a", expected));
}

#[test]
fn what_a_request_says_about_its_answer_is_carried() {
    assert_eq!(whole(r#""tool_choice": {"type": "tool", "name": "f"}"#).tool_choice, ToolChoice::Named("f".into()));
    assert_eq!(whole(r#""thinking": {"type": "disabled"}"#).thinking, Some(Thinking::Off));
    assert_eq!(whole(r#""thinking": {"type": "adaptive"}"#).thinking, Some(Thinking::High));
    let low = whole(r#""thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}"#);
    assert_eq!(low.thinking, Some(Thinking::Low));
    let output = Some(OutputSchema { name: "output".into(), schema: Arc::new(json!({"type": "object"})) });
    let format = r#"{"type": "json_schema", "schema": {"type": "object"}}"#;
    assert_eq!(whole(&format!(r#""output_config": {{"format": {format}}}"#)).output, output);
    assert_eq!(whole(&format!(r#""output_format": {format}"#)).output, output);
}

#[test]
fn what_cannot_be_carried_is_refused_by_name() {
    let refusal = |body: &str| parse(body, Reading::Whole).unwrap_err().message;
    let content = |content: &str| {
        format!(r#"{{"model": "m", "max_tokens": 1, "messages": [{{"role": "user", "content": {content}}}]}}"#)
    };
    insta::assert_snapshot!(
        [
            refusal(r#"{"model": "m", "messages": [{"role": "user", "content": "x"}]}"#),
            refusal(r#"{"model": "m", "max_tokens": 1, "messages": []}"#),
            refusal(r#"{"model": "m", "max_tokens": 0, "messages": [{"role": "user", "content": "x"}]}"#),
            refusal(r#"{"model": "m", "max_tokens": 1, "messages": [{"role": "critic", "content": "x"}]}"#),
            refusal(&content(r#"[{"type": "image", "source": {"type": "file", "file_id": "f"}}]"#)),
            refusal(&content(r#"[{"text": "x"}]"#)),
            refusal(&content("1")),
            refusal(&with(r#""tools": [{"type": "web_search_20250305", "name": "web_search"}]"#)),
            refusal(&with(r#""mcp_servers": [{"name": "x"}]"#)),
            refusal(&with(r#""thinking": {"type": "enabled"}"#)),
        ]
        .join("\n")
    );
}
