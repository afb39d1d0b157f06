use std::sync::Arc;

use regatta_proto::{OutputSchema, Reasoning, Thinking, Tool, ToolCall, ToolChoice};
use serde_json::json;

use super::*;
use crate::{Format, Reading};

fn parse(body: &str, reading: Reading) -> Result<ChatCall<'_>, ApiError> {
    ChatCall::parse(Format::Responses, body.as_bytes(), reading)
}

const CONVERSATION: &str = r#"{"model": "m", "instructions": "be brief", "max_output_tokens": 9, "store": false, "input": [
    {"role": "user", "content": [{"type": "input_text", "text": "one"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "s"},
    {"type": "message", "id": "m", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "a key"},
    {"type": "function_call", "id": "fc", "call_id": "c2", "name": "take", "arguments": "{}"}
]"#;

fn messages(thought: bool) -> Vec<ChatMessage> {
    let tool = |id: &str, name: &str| ToolCall { id: id.into(), name: name.into(), arguments: "{}".into() };
    let reasoning = thought.then(|| Reasoning { text: "hm".into(), opaque: Some("s".into()) });
    vec![
        ChatMessage::new(ChatRole::System, "be brief"),
        ChatMessage::new(ChatRole::User, "one"),
        ChatMessage {
            tool_calls: vec![tool("c1", "look")],
            reasoning,
            ..ChatMessage::new(ChatRole::Assistant, "I look.")
        },
        ChatMessage { tool_call_id: Some("c1".into()), ..ChatMessage::new(ChatRole::Tool, "a key") },
        ChatMessage { tool_calls: vec![tool("c2", "take")], ..ChatMessage::new(ChatRole::Assistant, "") },
    ]
}

#[test]
fn messages_calls_and_their_results_are_read() {
    for reading in [Reading::Whole, Reading::Gist] {
        let body = format!("{CONVERSATION}}}");
        let call = parse(&body, reading).unwrap();
        assert_eq!(call.request.messages, messages(reading == Reading::Whole));
        assert_eq!((call.request.sampling.max_tokens, call.streaming), (Some(9), None));
    }
}

#[test]
fn what_a_request_says_about_its_answer_is_carried() {
    let body = r#"{"model": "m", "input": "x", "stream": true, "temperature": 0.5, "truncation": "disabled",
        "tools": [{"type": "function", "name": "look", "description": "d", "parameters": {"type": "object"}, "strict": true}],
        "tool_choice": {"type": "function", "name": "look"}, "parallel_tool_calls": true, "top_logprobs": 3,
        "text": {"format": {"type": "json_schema", "name": "a", "schema": {"type": "object"}, "strict": true}, "verbosity": "medium"},
        "reasoning": {"effort": "minimal", "summary": "auto"},
        "include": ["reasoning.encrypted_content", "message.output_text.logprobs"]}"#;
    let call = parse(body, Reading::Whole).unwrap();
    let schema = Arc::new(json!({"type": "object"}));
    let look = Tool { name: "look".into(), description: Some("d".into()), parameters: Arc::clone(&schema) };
    let sampling = Sampling { temperature: Some(0.5), ..Sampling::default() };
    assert_eq!(
        call.request,
        ChatRequest {
            tools: vec![look],
            tool_choice: ToolChoice::Named("look".into()),
            parallel_tool_calls: Some(true),
            output: Some(OutputSchema { name: "a".into(), schema }),
            thinking: Some(Thinking::Off),
            logprobs: Some(3),
            ..ChatRequest::new(vec![ChatMessage::new(ChatRole::User, "x")], sampling)
        }
    );
    assert_eq!(call.left_out, ["reasoning.summary", "tools.strict"]);
    assert!(call.streaming.is_some());
}

#[test]
fn what_cannot_be_carried_is_refused_by_name() {
    let refusal = |fields: &str| {
        let body = format!(r#"{{"model": "m", {fields}}}"#);
        parse(&body, Reading::Whole).unwrap_err().message
    };
    insta::assert_snapshot!(
        [
            refusal(r#""input": []"#),
            refusal(r#""input": 1"#),
            refusal(r#""input": [{"role": "critic", "content": "x"}]"#),
            refusal(r#""input": [{"type": "item_reference", "id": "i"}]"#),
            refusal(r#""input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]"#),
            refusal(r#""input": [{"type": "reasoning", "summary": []}]"#),
            refusal(r#""input": "x", "max_output_tokens": 0"#),
            refusal(r#""input": "x", "previous_response_id": "r""#),
            refusal(r#""input": "x", "background": true"#),
            refusal(r#""input": "x", "tools": [{"type": "file_search"}]"#),
            refusal(r#""input": "x", "tools": [{"type": "local_shell"}]"#),
            refusal(r#""input": "x", "include": ["anything"]"#),
        ]
        .join("\n")
    );
}
