use regatta_proto::{
    ChatMessage, ChatRequest, ChatRole, OutputSchema, Reasoning, Sampling, Thinking, Tool, ToolCall, ToolChoice,
};
use serde_json::{Value, json};

use crate::wire::Format;
use crate::wire::responses::Responses;

fn sent(model: &str, request: &ChatRequest) -> Value {
    let outgoing = Responses.request(model, request, false).unwrap();
    assert_eq!(outgoing.path, "/responses");
    serde_json::from_slice(&outgoing.body).unwrap()
}

fn user(text: &str) -> ChatRequest {
    ChatRequest::new(vec![ChatMessage::new(ChatRole::User, text)], Sampling::default())
}

#[test]
fn what_is_not_asked_for_is_not_sent() {
    insta::assert_snapshot!(sent("gpt-4o", &user("hi")), @r#"{"model":"gpt-4o","input":[{"type":"message","role":"user","content":"hi"}],"store":false}"#);
}

#[test]
fn everything_that_can_be_asked_for_is_said() {
    let opaque = r#"[{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gA"}]"#;
    let thought = Reasoning { text: "hm".into(), opaque: Some(opaque.into()) };
    let call = ToolCall { id: "call_1".into(), name: "find".into(), arguments: "{}".into() };
    let parameters = json!({"type": "object"});
    let request = ChatRequest {
        member: None,
        messages: vec![
            ChatMessage::new(ChatRole::System, "be brief"),
            ChatMessage::new(ChatRole::System, "be kind"),
            ChatMessage::new(ChatRole::User, "where is the mug?"),
            ChatMessage {
                tool_calls: vec![call],
                reasoning: Some(thought),
                ..ChatMessage::new(ChatRole::Assistant, "")
            },
            ChatMessage { tool_call_id: Some("call_1".into()), ..ChatMessage::new(ChatRole::Tool, "table") },
            ChatMessage::new(ChatRole::System, "hurry"),
        ],
        sampling: Sampling { temperature: Some(0.5), top_p: Some(0.9), max_tokens: Some(64), seed: Some(7) },
        stop: vec![],
        tools: vec![Tool { name: "find".into(), description: Some("Finds.".into()), parameters: parameters.into() }],
        tool_choice: ToolChoice::Named("find".into()),
        parallel_tool_calls: Some(false),
        output: Some(OutputSchema { name: "place".into(), schema: json!({"type": "object"}).into() }),
        thinking: Some(Thinking::High),
        logprobs: Some(3),
        passed: None,
    };
    insta::assert_json_snapshot!(sent("gpt-5", &request));
}

#[test]
fn texts_that_end_the_answer_are_refused_by_name() {
    let request = ChatRequest { stop: vec!["END".into()], ..user("hi") };
    let problem = Responses.request("gpt-5", &request, false).unwrap_err();
    assert_eq!(problem, "OpenAI's responses know no texts that end an answer; use chat completions");
}

#[test]
fn encrypted_thoughts_are_asked_for_where_there_are_thoughts() {
    let asks = |model, thinking| {
        let include = sent(model, &ChatRequest { thinking, ..user("hi") })["include"].clone();
        include == json!(["reasoning.encrypted_content"])
    };
    assert!(asks("gpt-5.4-mini", None));
    assert!(asks("openai/o3", Some(Thinking::Off)));
    assert!(asks("new-thinker", Some(Thinking::Low)));
    assert!(!asks("gpt-5-chat-latest", None));
    assert!(!asks("gpt-4o", None));
    assert!(!asks("gpt-4.1", Some(Thinking::Off)));
}
