use super::*;

#[test]
fn messages_calls_and_their_results_are_read() {
    let body = r#"{"model": "m", "instructions": "be brief", "max_output_tokens": 9, "store": false, "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "one"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "a key"},
        {"type": "function_call", "call_id": "c2", "name": "take", "arguments": "{}"}
    ], "tools": [{"type": "function", "name": "look"}]}"#;
    let call = parse(body.as_bytes()).unwrap();
    let tool = |id: &str, name: &str| ToolCall { id: id.into(), name: name.into(), arguments: "{}".into() };
    assert_eq!(
        call.request.messages,
        [
            ChatMessage::new(ChatRole::System, "be brief"),
            ChatMessage::new(ChatRole::User, "one"),
            ChatMessage { tool_calls: vec![tool("c1", "look")], ..ChatMessage::new(ChatRole::Assistant, "I look.") },
            ChatMessage { tool_call_id: Some("c1".into()), ..ChatMessage::new(ChatRole::Tool, "a key") },
            ChatMessage { tool_calls: vec![tool("c2", "take")], ..ChatMessage::new(ChatRole::Assistant, "") },
        ]
    );
    assert_eq!((call.request.sampling.max_tokens, call.streaming), (Some(9), None));
}

#[test]
fn what_cannot_be_read_is_refused_with_a_reason() {
    let refusal = |input: &str| parse(format!(r#"{{"model": "m", {input}}}"#).as_bytes()).unwrap_err().message;
    insta::assert_snapshot!(
        [
            refusal(r#""input": []"#),
            refusal(r#""input": 1"#),
            refusal(r#""input": [{"role": "critic", "content": "x"}]"#),
            refusal(r#""input": [{"type": "computer_call"}]"#),
            refusal(r#""input": [{"role": "user", "content": [{"type": "input_image"}]}]"#),
            refusal(r#""input": "x", "max_output_tokens": 0"#),
        ]
        .join("\n")
    );
}
