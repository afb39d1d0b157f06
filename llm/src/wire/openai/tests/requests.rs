use regatta_proto::{
    ChatMessage, ChatRequest, ChatRole, EndpointKind, EndpointSpec, OutputSchema, Reasoning, Sampling, Thinking, Tool,
    ToolCall, ToolChoice,
};
use serde_json::{Value, json};

use super::plain;
use crate::wire::Format;
use crate::wire::openai::OpenAi;

fn user(text: &str) -> ChatRequest {
    ChatRequest::new(vec![ChatMessage::new(ChatRole::User, text)], Sampling::default())
}

fn tool() -> Tool {
    let parameters = json!({"type": "object", "properties": {"object": {"type": "string"}}});
    Tool { name: "find".into(), description: Some("Finds an object.".into()), parameters: parameters.into() }
}

fn text(format: &OpenAi, model: &str, request: &ChatRequest, stream: bool) -> String {
    String::from_utf8(format.request(model, request, stream).unwrap().body.to_vec()).unwrap()
}

fn sent(format: &OpenAi, model: &str, request: &ChatRequest) -> Value {
    serde_json::from_str(&text(format, model, request, false)).unwrap()
}

#[test]
fn what_is_not_asked_for_is_not_sent() {
    insta::assert_snapshot!(text(&plain(), "m", &user("hé\"llo\n"), false), @r#"{"model":"m","messages":[{"role":"user","content":"hé\"llo\n"}]}"#);
}

#[test]
fn a_stream_is_asked_for_with_its_usage() {
    insta::assert_snapshot!(text(&plain(), "m", &user("hi"), true), @r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}"#);
}

#[test]
fn everything_that_can_be_asked_for_is_said() {
    let call = |id: &str| ToolCall { id: id.into(), name: "find".into(), arguments: "{\"object\":\"mug\"}".into() };
    let result = |id: &str| ChatMessage { tool_call_id: Some(id.into()), ..ChatMessage::new(ChatRole::Tool, "table") };
    let thought = Reasoning { text: "Where is it?".into(), opaque: None };
    let request = ChatRequest {
        member: None,
        messages: vec![
            ChatMessage::new(ChatRole::System, "be brief"),
            ChatMessage::new(ChatRole::User, "where is the mug?"),
            ChatMessage {
                tool_calls: vec![call("a"), call("b")],
                reasoning: Some(thought.clone()),
                ..ChatMessage::new(ChatRole::Assistant, "")
            },
            result("a"),
            result("b"),
            ChatMessage { reasoning: Some(thought), ..ChatMessage::new(ChatRole::Assistant, "On the table.") },
            ChatMessage::new(ChatRole::User, "and the cup?"),
        ],
        sampling: Sampling { temperature: Some(0.0), top_p: Some(0.95), max_tokens: Some(512), seed: Some(u64::MAX) },
        stop: vec!["\n\n".into(), "END".into()],
        tools: vec![tool()],
        tool_choice: ToolChoice::Named("find".into()),
        parallel_tool_calls: Some(false),
        output: Some(OutputSchema { name: "place".into(), schema: json!({"type": "object"}).into() }),
        thinking: Some(Thinking::Low),
        logprobs: Some(5),
        passed: None,
    };
    insta::assert_json_snapshot!(sent(&plain(), "gpt-5-mini", &request));
}

#[test]
fn a_choice_of_tools_is_said_only_where_there_are_tools() {
    let with = |tools: Vec<Tool>, tool_choice| ChatRequest {
        tools,
        tool_choice,
        parallel_tool_calls: Some(true),
        ..user("hi")
    };
    let said = |request: &ChatRequest| sent(&plain(), "m", request)["tool_choice"].clone();
    assert_eq!(said(&with(vec![tool()], ToolChoice::Auto)), Value::Null);
    assert_eq!(said(&with(vec![tool()], ToolChoice::None)), "none");
    assert_eq!(said(&with(vec![tool()], ToolChoice::Required)), "required");
    let none = sent(&plain(), "m", &with(vec![], ToolChoice::None));
    assert!(none.get("tool_choice").is_none() && none.get("parallel_tool_calls").is_none());
    for choice in [ToolChoice::Required, ToolChoice::Named("find".into())] {
        let problem = plain().request("m", &with(vec![], choice), false).unwrap_err();
        assert_eq!(problem, "a tool has to be called, but the request holds none");
    }
}

#[test]
fn what_cannot_be_said_is_refused_and_not_left_out() {
    let problem = |request: &ChatRequest| plain().request("m", request, false).unwrap_err();
    let nan = ChatRequest { sampling: Sampling { temperature: Some(f64::NAN), ..Sampling::default() }, ..user("hi") };
    let orphan = ChatRequest::new(vec![ChatMessage::new(ChatRole::Tool, "table")], Sampling::default());
    let tokens = ChatRequest { thinking: Some(Thinking::Tokens(100)), ..user("hi") };
    insta::assert_snapshot!([problem(&nan), problem(&orphan), problem(&tokens)].join("\n"), @r"
    temperature is NaN; only finite numbers can be sent
    a tool's result does not say which call it belongs to
    this endpoint cannot be told to think at most 100 tokens; say off, low, medium or high, or set the provider's own field in the endpoint's `body`
    ");
}

#[test]
fn reasoning_families_get_their_own_name_for_the_token_limit() {
    let request = ChatRequest { sampling: Sampling { max_tokens: Some(9), ..Sampling::default() }, ..user("hi") };
    for (model, field) in [
        ("gpt-5", "max_completion_tokens"),
        ("gpt-5.4-mini", "max_completion_tokens"),
        ("o3-mini", "max_completion_tokens"),
        ("gpt-4o", "max_tokens"),
        ("o3x", "max_tokens"),
        ("openai/o3", "max_tokens"),
    ] {
        assert_eq!(sent(&plain(), model, &request)[field], 9, "{model}");
    }
}

#[test]
fn no_candidates_are_asked_for_where_only_the_tokens_own_probability_is_wanted() {
    let body = sent(&plain(), "m", &ChatRequest { logprobs: Some(0), ..user("hi") });
    assert_eq!((&body["logprobs"], body.get("top_logprobs")), (&json!(true), None));
}

#[test]
fn a_mark_for_the_cache_goes_to_claude_alone() {
    let marked = ChatMessage { cache_until_here: true, ..ChatMessage::new(ChatRole::System, "long") };
    let request = ChatRequest::new(vec![marked], Sampling::default());
    let content = |model| sent(&plain(), model, &request)["messages"][0]["content"].clone();
    assert_eq!(content("gpt-5"), "long");
    let part = json!([{"type": "text", "text": "long", "cache_control": {"type": "ephemeral"}}]);
    assert_eq!(content("anthropic/claude-sonnet-4.5"), part);
}

#[test]
fn thoughts_before_a_call_go_back_under_the_name_they_are_known_by() {
    let call = ToolCall { id: "a".into(), name: "find".into(), arguments: "{}".into() };
    let request = |opaque: Option<&str>| {
        let thought = Reasoning { text: "hm".into(), opaque: opaque.map(Into::into) };
        let message = ChatMessage {
            tool_calls: vec![call.clone()],
            reasoning: Some(thought),
            ..ChatMessage::new(ChatRole::Assistant, "x")
        };
        ChatRequest::new(vec![message], Sampling::default())
    };
    let names = |base: &str, opaque: Option<&str>| {
        let message = sent(&OpenAi::new(base), "m", &request(opaque))["messages"][0].clone();
        let names = message.as_object().unwrap().keys().filter(|name| name.starts_with("reasoning"));
        names.cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("http://vllm:8000/v1", None), "reasoning_content reasoning");
    assert_eq!(names("https://api.deepseek.com", None), "reasoning_content");
    assert_eq!(names("https://openrouter.ai/api/v1", Some(r#"[{"type":"reasoning.text"}]"#)), "reasoning_details");
    assert_eq!(names("https://api.groq.com/openai/v1", None), "reasoning");
}

#[test]
fn azure_names_the_deployment_in_the_path() {
    let spec = EndpointSpec::of_kind(EndpointKind::Azure);
    let path = |spec: &EndpointSpec, model| {
        OpenAi::azure("https://mine.openai.azure.com", spec).request(model, &user("hi"), false).unwrap().path
    };
    assert_eq!(path(&spec, "gpt-4o"), "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21");
    let preview = EndpointSpec { api_version: Some("2025-04-01-preview".into()), ..spec.clone() };
    let odd = path(&preview, "my model/ü");
    assert_eq!(odd, "/openai/deployments/my%20model%2F%C3%BC/chat/completions?api-version=2025-04-01-preview");
    let embeddings = OpenAi::azure("https://mine.openai.azure.com", &spec).embeddings("ada", &["x"]).unwrap().path;
    assert_eq!(embeddings, "/openai/deployments/ada/embeddings?api-version=2024-10-21");
    let v1 = OpenAi::azure("https://mine.openai.azure.com/openai/v1", &spec);
    assert_eq!(v1.request("gpt-4o", &user("hi"), false).unwrap().path, "/chat/completions");
}
