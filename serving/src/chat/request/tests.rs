use super::*;

fn refusal(body: &str) -> String {
    parse(body.as_bytes()).unwrap_err().message
}

#[test]
fn every_way_to_write_a_message_is_read() {
    let body = r#"{"model": "m", "messages": [
        {"role": "developer", "content": "be\nbrief"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\": 1}"}}
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": "a key"},
        {"role": "assistant"}
    ], "temperature": 0.5, "max_tokens": 9, "max_completion_tokens": 7, "seed": 3, "user": "x", "stream": false,
    "tools": [{"type": "function"}], "tool_choice": "auto"}"#;
    let call = parse(body.as_bytes()).unwrap();
    let look = ToolCall { id: "c1".into(), name: "look".into(), arguments: "{\"at\": 1}".into() };
    assert_eq!(
        call.request,
        ChatRequest::new(
            vec![
                ChatMessage::new(ChatRole::System, "be\nbrief"),
                ChatMessage::new(ChatRole::User, "ab"),
                ChatMessage { tool_calls: vec![look], ..ChatMessage::new(ChatRole::Assistant, "") },
                ChatMessage { tool_call_id: Some("c1".into()), ..ChatMessage::new(ChatRole::Tool, "a key") },
                ChatMessage::new(ChatRole::Assistant, ""),
            ],
            Sampling { temperature: Some(0.5), top_p: None, max_tokens: Some(7), seed: Some(3) },
        )
    );
    assert_eq!((call.streaming, call.tool_tokens), (None, 6));
    // Tokens: be brief (2), ab (1), the call (1 + 3), its result (2), and the tools.
    assert_eq!(call.prompt_tokens(), 2 + 1 + 4 + 2 + 6);
}

#[test]
fn a_stream_may_be_asked_for_with_usage_and_without() {
    let streaming = |options: &str| {
        let body = format!(r#"{{"model": "m", "messages": [{{"role": "user", "content": "x"}}], {options}}}"#);
        parse(body.as_bytes()).unwrap().streaming.map(|streaming| streaming.include_usage)
    };
    assert_eq!(streaming(r#""stream": true"#), Some(false));
    assert_eq!(streaming(r#""stream": true, "stream_options": {"include_usage": true}"#), Some(true));
    assert_eq!(streaming(r#""stream": null, "stream_options": null"#), None);
}

#[test]
fn what_cannot_be_simulated_is_refused_with_a_reason() {
    let with = |field: &str| format!(r#"{{"model": "m", "messages": [{{"role": "user", "content": "x"}}], {field}}}"#);
    let image = r#"{"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}"#;
    let critic = r#"{"model": "m", "messages": [{"role": "critic", "content": "x"}]}"#;
    insta::assert_snapshot!(
        [
            refusal(&with("\"n\": 2")),
            refusal(&with("\"max_tokens\": 0")),
            refusal(r#"{"model": "m", "messages": []}"#),
            refusal(image),
            refusal(critic),
            refusal("{"),
        ]
        .join("\n")
    );
}
