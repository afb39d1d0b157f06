//! Requests as they are sent.

use std::sync::Arc;

use regatta_proto::{OutputSchema, Sampling, Thinking, Tool, ToolCall, ToolChoice};
use serde_json::{Value, json};

use super::*;
use crate::wire::gemini::signatures::Signatures;

fn sent(model: &str, request: &ChatRequest) -> Value {
    serde_json::from_slice(&Gemini.request(model, request, false).unwrap().body).unwrap()
}

fn refusal(request: &ChatRequest) -> String {
    Gemini.request("gemini-3-flash", request, false).unwrap_err()
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

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
}

fn result(id: &str, content: &str) -> ChatMessage {
    ChatMessage { tool_call_id: Some(id.into()), ..message(ChatRole::Tool, content) }
}

#[test]
fn the_model_and_the_way_to_answer_stand_in_the_path() {
    let path = |model: &str, stream| Gemini.request(model, &hi(), stream).unwrap().path;
    assert_eq!(path("gemini-3-flash", false), "/models/gemini-3-flash:generateContent");
    assert_eq!(path("gemini-3-flash", true), "/models/gemini-3-flash:streamGenerateContent?alt=sse");
    assert_eq!(path("tunedModels/mine", false), "/tunedModels/mine:generateContent");
    assert_eq!(path("a b?c", false), "/models/a%20b%3Fc:generateContent");
}

#[test]
fn a_plain_request_says_no_more_than_it_must() {
    insta::assert_snapshot!(sent("gemini-3-flash", &hi()), @r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#);
}

#[test]
fn everything_that_shapes_the_answer_is_sent() {
    let request = ChatRequest {
        sampling: Sampling { temperature: Some(0.0), top_p: Some(0.9), max_tokens: Some(77), seed: Some(u64::MAX) },
        stop: vec!["\nObservation:".into()],
        output: Some(OutputSchema { name: "verdict".into(), schema: Arc::new(json!({"type": "object"})) }),
        thinking: Some(Thinking::Low),
        logprobs: Some(3),
        ..hi()
    };
    insta::assert_json_snapshot!(sent("gemini-2.5-flash", &request)["generationConfig"], @r#"
    {
      "temperature": 0.0,
      "topP": 0.9,
      "maxOutputTokens": 77,
      "seed": 2147483647,
      "stopSequences": [
        "\nObservation:"
      ],
      "responseMimeType": "application/json",
      "responseJsonSchema": {
        "type": "object"
      },
      "responseLogprobs": true,
      "logprobs": 3,
      "thinkingConfig": {
        "thinkingBudget": 1024,
        "includeThoughts": true
      }
    }
    "#);
    let own = sent("gemini-2.5-flash", &ChatRequest { logprobs: Some(0), ..hi() });
    assert_eq!(own["generationConfig"], json!({"responseLogprobs": true}));
}

#[test]
fn a_conversation_with_tools_and_signatures_has_all_its_parts() {
    let signatures = Signatures { text: Some("T==".into()), calls: [(0, "C==".to_owned())].into() };
    let asks = ChatMessage {
        tool_calls: vec![call("call_0", "get_weather", r#"{"city":"Bern"}"#), call("fc-7", "now", "")],
        reasoning: signatures.with("two things".to_owned()),
        ..message(ChatRole::Assistant, "Let me look.")
    };
    let request = ChatRequest {
        messages: vec![
            message(ChatRole::System, "Be brief."),
            message(ChatRole::System, "Use tools."),
            message(ChatRole::User, "Weather in Bern, and the time?"),
            asks,
            result("call_0", r#"{"sky": "blue"}"#),
            result("fc-7", "noon"),
            message(ChatRole::Assistant, ""),
            message(ChatRole::User, "Well?"),
        ],
        tools: vec![weather()],
        tool_choice: ToolChoice::Named("get_weather".into()),
        parallel_tool_calls: Some(true),
        ..ChatRequest::default()
    };
    insta::assert_json_snapshot!(sent("gemini-3-flash", &request), @r#"
    {
      "systemInstruction": {
        "parts": [
          {
            "text": "Be brief."
          },
          {
            "text": "Use tools."
          }
        ]
      },
      "contents": [
        {
          "role": "user",
          "parts": [
            {
              "text": "Weather in Bern, and the time?"
            }
          ]
        },
        {
          "role": "model",
          "parts": [
            {
              "text": "Let me look.",
              "thoughtSignature": "T=="
            },
            {
              "functionCall": {
                "name": "get_weather",
                "args": {
                  "city": "Bern"
                }
              },
              "thoughtSignature": "C=="
            },
            {
              "functionCall": {
                "id": "fc-7",
                "name": "now",
                "args": {}
              }
            }
          ]
        },
        {
          "role": "user",
          "parts": [
            {
              "functionResponse": {
                "name": "get_weather",
                "response": {
                  "output": "{\"sky\": \"blue\"}"
                }
              }
            },
            {
              "functionResponse": {
                "id": "fc-7",
                "name": "now",
                "response": {
                  "output": "noon"
                }
              }
            }
          ]
        },
        {
          "role": "user",
          "parts": [
            {
              "text": "Well?"
            }
          ]
        }
      ],
      "tools": [
        {
          "functionDeclarations": [
            {
              "name": "get_weather",
              "description": "Weather of a city",
              "parametersJsonSchema": {
                "type": "object",
                "properties": {
                  "city": {
                    "type": "string"
                  }
                }
              }
            }
          ]
        }
      ],
      "toolConfig": {
        "functionCallingConfig": {
          "mode": "ANY",
          "allowedFunctionNames": [
            "get_weather"
          ]
        }
      }
    }
    "#);
}

#[test]
fn a_result_belongs_to_the_newest_call_of_its_id() {
    let turn =
        |name: &str| ChatMessage { tool_calls: vec![call("call_0", name, "{}")], ..message(ChatRole::Assistant, "") };
    let messages = vec![turn("first"), result("call_0", "1"), turn("second"), result("call_0", "2")];
    let sent = sent("m", &ChatRequest { messages, ..ChatRequest::default() });
    let answered = |index: usize| sent["contents"][index]["parts"][0]["functionResponse"].clone();
    assert_eq!(answered(1), json!({"name": "first", "response": {"output": "1"}}));
    assert_eq!(answered(3), json!({"name": "second", "response": {"output": "2"}}));
}

#[test]
fn every_choice_of_tools_has_its_word() {
    let choice = |tool_choice| {
        let sent = sent("m", &ChatRequest { tools: vec![weather()], tool_choice, ..hi() });
        sent["toolConfig"]["functionCallingConfig"].clone()
    };
    assert_eq!(choice(ToolChoice::Auto), json!(null));
    assert_eq!(choice(ToolChoice::None), json!({"mode": "NONE"}));
    assert_eq!(choice(ToolChoice::Required), json!({"mode": "ANY"}));
    assert_eq!(choice(ToolChoice::Named("f".into())), json!({"mode": "ANY", "allowedFunctionNames": ["f"]}));
}

#[test]
fn the_wish_for_one_call_at_a_time_is_left_out() {
    let one = ChatRequest { tools: vec![weather()], parallel_tool_calls: Some(false), ..hi() };
    let any = ChatRequest { parallel_tool_calls: None, ..one.clone() };
    assert_eq!(sent("m", &one), sent("m", &any));
}

#[test]
fn what_cannot_be_said_is_refused_by_name() {
    let late = ChatRequest { messages: vec![message(ChatRole::User, "a"), message(ChatRole::System, "b")], ..hi() };
    assert!(refusal(&late).contains("instructions"));
    for (orphan, problem) in [(message(ChatRole::Tool, "x"), "does not name"), (result("c9", "x"), "c9")] {
        assert!(refusal(&ChatRequest { messages: vec![orphan], ..hi() }).contains(problem));
    }
}
