//! Requests as they are sent.

use std::sync::Arc;

use regatta_proto::{OutputSchema, Reasoning, Sampling, Thinking, Tool, ToolCall, ToolChoice};
use serde_json::{Value, json};

use super::*;

fn sent(model: &str, request: &ChatRequest) -> Value {
    let outgoing = Anthropic.request(model, request, false).unwrap();
    serde_json::from_slice(&outgoing.body).unwrap()
}

fn refusal(request: &ChatRequest) -> String {
    Anthropic.request("claude-sonnet-4-5", request, false).unwrap_err()
}

fn hi() -> ChatRequest {
    ChatRequest::new(vec![message(ChatRole::User, "hi")], Sampling::default())
}

fn weather() -> Tool {
    Tool {
        name: "get_weather".into(),
        description: Some("Weather of a city".into()),
        parameters: Arc::new(json!({"type": "object", "properties": {"city": {"type": "string"}}})),
    }
}

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "get_weather".into(), arguments: arguments.into() }
}

fn result(id: &str, content: &str) -> ChatMessage {
    ChatMessage { tool_call_id: Some(id.into()), ..message(ChatRole::Tool, content) }
}

#[test]
fn a_plain_request_says_no_more_than_it_must() {
    let outgoing = Anthropic.request("claude-sonnet-4-5", &hi(), false).unwrap();
    assert_eq!(outgoing.path, "/messages");
    assert_eq!(outgoing.headers["anthropic-version"], "2023-06-01");
    insta::assert_snapshot!(std::str::from_utf8(&outgoing.body).unwrap(), @r#"{"model":"claude-sonnet-4-5","max_tokens":4096,"messages":[{"role":"user","content":"hi"}]}"#);
}

#[test]
fn sampling_stops_and_streaming_are_sent_as_asked_for_and_a_seed_is_left_out() {
    let sampling = Sampling { temperature: Some(0.0), top_p: Some(0.9), max_tokens: Some(77), seed: Some(1) };
    let request = ChatRequest { stop: vec!["\nObservation:".into()], sampling, ..hi() };
    let outgoing = Anthropic.request("claude-sonnet-4-5", &request, true).unwrap();
    insta::assert_snapshot!(std::str::from_utf8(&outgoing.body).unwrap(), @r#"{"model":"claude-sonnet-4-5","max_tokens":77,"messages":[{"role":"user","content":"hi"}],"temperature":0.0,"top_p":0.9,"stop_sequences":["\nObservation:"],"stream":true}"#);
}

#[test]
fn a_conversation_with_tools_and_thoughts_has_all_its_blocks() {
    let opaque = r#"[{"type":"thinking","thinking":"two cities","signature":"Eq=="},{"type":"redacted_thinking","data":"Em=="}]"#;
    let asks = ChatMessage {
        tool_calls: vec![call("toolu_1", r#"{"city":"Bern"}"#), call("toolu_2", r#" {"city": "Graz"}"#)],
        reasoning: Some(Reasoning { text: "two cities".into(), opaque: Some(opaque.into()) }),
        ..message(ChatRole::Assistant, "Let me look.")
    };
    let request = ChatRequest {
        messages: vec![
            message(ChatRole::System, "Be brief."),
            message(ChatRole::System, "Use tools."),
            message(ChatRole::User, "Weather in Bern and Graz?"),
            asks,
            result("toolu_1", "sun"),
            ChatMessage { cache_until_here: true, ..result("toolu_2", "") },
            message(ChatRole::User, "Well?"),
            message(ChatRole::System, "Speak German."),
        ],
        tools: vec![weather()],
        tool_choice: ToolChoice::Named("get_weather".into()),
        parallel_tool_calls: Some(false),
        ..ChatRequest::default()
    };
    insta::assert_json_snapshot!(sent("claude-opus-4-8", &request), @r#"
    {
      "model": "claude-opus-4-8",
      "max_tokens": 4096,
      "system": [
        {
          "type": "text",
          "text": "Be brief."
        },
        {
          "type": "text",
          "text": "Use tools.",
          "cache_control": {
            "type": "ephemeral"
          }
        }
      ],
      "messages": [
        {
          "role": "user",
          "content": "Weather in Bern and Graz?"
        },
        {
          "role": "assistant",
          "content": [
            {
              "type": "thinking",
              "thinking": "two cities",
              "signature": "Eq=="
            },
            {
              "type": "redacted_thinking",
              "data": "Em=="
            },
            {
              "type": "text",
              "text": "Let me look."
            },
            {
              "type": "tool_use",
              "id": "toolu_1",
              "name": "get_weather",
              "input": {
                "city": "Bern"
              }
            },
            {
              "type": "tool_use",
              "id": "toolu_2",
              "name": "get_weather",
              "input": {
                "city": "Graz"
              }
            }
          ]
        },
        {
          "role": "user",
          "content": [
            {
              "type": "tool_result",
              "tool_use_id": "toolu_1",
              "content": "sun"
            },
            {
              "type": "tool_result",
              "tool_use_id": "toolu_2",
              "content": "",
              "cache_control": {
                "type": "ephemeral"
              }
            }
          ]
        },
        {
          "role": "user",
          "content": "Well?"
        },
        {
          "role": "system",
          "content": "Speak German."
        }
      ],
      "tools": [
        {
          "name": "get_weather",
          "description": "Weather of a city",
          "input_schema": {
            "type": "object",
            "properties": {
              "city": {
                "type": "string"
              }
            }
          }
        }
      ],
      "tool_choice": {
        "type": "tool",
        "name": "get_weather",
        "disable_parallel_tool_use": true
      }
    }
    "#);
}

#[test]
fn what_is_called_back_is_always_an_object() {
    let with = |arguments: &str| {
        let asks = ChatMessage { tool_calls: vec![call("t", arguments)], ..message(ChatRole::Assistant, " ") };
        let request = ChatRequest { messages: vec![asks, result("t", "no")], ..ChatRequest::default() };
        sent("m", &request)["messages"][0]["content"].clone()
    };
    let block = |input: Value| json!([{"type": "tool_use", "id": "t", "name": "get_weather", "input": input}]);
    assert_eq!(with(r#"{"city":"B"}"#), block(json!({"city": "B"})));
    assert_eq!(with(""), block(json!({})));
    assert_eq!(with("[1]"), block(json!({"INVALID_JSON": "[1]"})));
    assert_eq!(with(r#"{"city":"B"#), block(json!({"INVALID_JSON": r#"{"city":"B"#})));
}

#[test]
fn an_empty_turn_of_the_assistant_is_left_out() {
    let messages = ["a", "b"].map(|text| message(ChatRole::User, text));
    let [first, second] = messages.clone();
    let request =
        ChatRequest { messages: vec![first, message(ChatRole::Assistant, ""), second], ..ChatRequest::default() };
    assert_eq!(
        sent("m", &request)["messages"],
        json!([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])
    );
}

#[test]
fn the_last_marks_are_sent_and_the_systems_own() {
    let marked = |role, text: &str| ChatMessage { cache_until_here: true, ..message(role, text) };
    let count = |messages: Vec<ChatMessage>| {
        let sent = sent("m", &ChatRequest { messages, ..ChatRequest::default() });
        let marks = |value: &Value| value.to_string().matches(r#""cache_control":{"type":"ephemeral"}"#).count();
        (marks(&sent["system"]), sent["messages"].as_array().unwrap().iter().map(marks).collect::<Vec<_>>())
    };
    let users = || (0..6).map(|number| marked(ChatRole::User, &number.to_string()));
    assert_eq!(count(users().collect()), (0, vec![0, 0, 1, 1, 1, 1]));
    let system = [message(ChatRole::System, "s"), message(ChatRole::System, "t")];
    assert_eq!(count(system.into_iter().chain(users()).collect()), (1, vec![0, 0, 0, 1, 1, 1]));
}

#[test]
fn every_choice_of_tools_has_its_word() {
    let choice = |tool_choice, parallel_tool_calls| {
        let request = ChatRequest { tools: vec![weather()], tool_choice, parallel_tool_calls, ..hi() };
        sent("m", &request).get("tool_choice").cloned().unwrap_or_default()
    };
    assert_eq!(choice(ToolChoice::Auto, None), json!(null));
    assert_eq!(choice(ToolChoice::Auto, Some(true)), json!(null));
    assert_eq!(choice(ToolChoice::Auto, Some(false)), json!({"type": "auto", "disable_parallel_tool_use": true}));
    assert_eq!(choice(ToolChoice::None, Some(false)), json!({"type": "none"}));
    assert_eq!(choice(ToolChoice::Required, None), json!({"type": "any"}));
    assert_eq!(choice(ToolChoice::Named("f".into()), None), json!({"type": "tool", "name": "f"}));
    let without_tools = ChatRequest { tool_choice: ToolChoice::None, ..hi() };
    assert_eq!(sent("m", &without_tools).get("tool_choice"), None);
}

#[test]
fn schema_and_effort_share_a_field() {
    let schema = Arc::new(json!({"type": "object"}));
    let request = ChatRequest {
        output: Some(OutputSchema { name: "verdict".into(), schema }),
        thinking: Some(Thinking::Low),
        ..hi()
    };
    let sent = sent("claude-sonnet-5", &request);
    assert_eq!(
        sent["output_config"],
        json!({"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}})
    );
    assert_eq!(sent["thinking"], json!({"type": "adaptive", "display": "summarized"}));
}

#[test]
fn a_budget_of_thoughts_counts_into_the_limit() {
    let sent = sent("claude-sonnet-4-5", &ChatRequest { thinking: Some(Thinking::Tokens(3000)), ..hi() });
    assert_eq!(
        (&sent["thinking"], &sent["max_tokens"]),
        (&json!({"type": "enabled", "budget_tokens": 3000}), &json!(7096))
    );
}

#[test]
fn what_cannot_be_said_is_refused_by_name() {
    assert!(refusal(&ChatRequest { logprobs: Some(0), ..hi() }).contains("log-probabilities"));
    let hot = Sampling { temperature: Some(0.3), ..Sampling::default() };
    assert!(refusal(&ChatRequest { thinking: Some(Thinking::High), sampling: hot, ..hi() }).contains("0.3"));
    let orphan = ChatRequest { messages: vec![message(ChatRole::Tool, "x")], ..ChatRequest::default() };
    assert!(refusal(&orphan).contains("does not name its call"));
}
