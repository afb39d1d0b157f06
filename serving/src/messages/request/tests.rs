use super::*;

#[test]
fn texts_blocks_and_the_results_of_tools_are_read() {
    let body = r#"{"model": "m", "max_tokens": 9, "temperature": 0.5, "stream": true,
        "system": [{"type": "text", "text": "be\nbrief", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "one\n"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}}
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a key"}]},
                {"type": "text", "text": "go on"}
            ]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2", "content": "nothing"}]}
        ], "tools": [{"name": "look"}], "tool_choice": {"type": "auto"}, "thinking": {"type": "enabled"}}"#;
    let call = parse(body.as_bytes()).unwrap();
    let look = ToolCall { id: "c1".into(), name: "look".into(), arguments: r#"{"at": 1}"#.into() };
    let result =
        |id: &str, text| ChatMessage { tool_call_id: Some(id.into()), ..ChatMessage::new(ChatRole::Tool, text) };
    let tools: Vec<&str> = call.request.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(tools, ["look"]);
    assert_eq!(
        ChatRequest { tools: Vec::new(), ..call.request },
        ChatRequest::new(
            vec![
                ChatMessage::new(ChatRole::System, "be\nbrief"),
                ChatMessage::new(ChatRole::User, "one\n"),
                ChatMessage { tool_calls: vec![look], ..ChatMessage::new(ChatRole::Assistant, "I look.") },
                result("c1", "a key"),
                ChatMessage::new(ChatRole::User, "go on"),
                result("c2", "nothing"),
            ],
            Sampling { temperature: Some(0.5), top_p: None, max_tokens: Some(9), seed: None },
        )
    );
    assert!(call.streaming.is_some());
    assert_eq!(call.tool_tokens, 5);
}

#[test]
fn what_cannot_be_read_is_refused_with_a_reason() {
    let refusal = |body: &str| parse(body.as_bytes()).unwrap_err().message;
    let with = |content: &str| {
        format!(r#"{{"model": "m", "max_tokens": 1, "messages": [{{"role": "user", "content": {content}}}]}}"#)
    };
    insta::assert_snapshot!(
        [
            refusal(r#"{"model": "m", "messages": [{"role": "user", "content": "x"}]}"#),
            refusal(r#"{"model": "m", "max_tokens": 1, "messages": []}"#),
            refusal(r#"{"model": "m", "max_tokens": 0, "messages": [{"role": "user", "content": "x"}]}"#),
            refusal(r#"{"model": "m", "max_tokens": 1, "messages": [{"role": "system", "content": "x"}]}"#),
            refusal(&with(r#"[{"type": "image"}]"#)),
            refusal(&with(r#"[{"text": "x"}]"#)),
            refusal(&with("1")),
        ]
        .join("\n")
    );
}
