//! Answers with tool calls, in every format.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde_json::{Value, json};

use crate::harness::{Format, Harness, config, read, scripted};
use crate::three_items::{PLAIN, gold, look, take};

async fn ask(format: Format, setting: &str, fields: &Value) -> crate::harness::Read {
    let harness = Harness::start(config()).await;
    read(harness.ask_as(format, "oracle", PLAIN, fields).header("x-regatta-setting", setting)).await
}

/// An answer with its ids shortened, which are long and arbitrary.
fn shown(answer: &Value) -> String {
    let text = serde_json::to_string_pretty(answer).unwrap();
    text.lines()
        .filter(|line| !line.trim_start().starts_with(r#""id": "#) || line.contains("call_"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test]
async fn calls_are_told_in_the_manner_of_each_format() {
    for format in Format::ALL {
        let answer = ask(format, "saying-and-calling", &json!({})).await;
        insta::assert_snapshot!(format!("saying_and_calling_{format:?}"), shown(&answer.json()));
    }
}

#[tokio::test]
async fn beside_calls_nothing_said_is_null_or_no_block() {
    let chat = ask(Format::Chat, "calling", &json!({})).await.json();
    assert_eq!(chat["choices"][0]["message"]["content"], Value::Null);
    assert_eq!(chat["choices"][0]["finish_reason"], "tool_calls");
    let messages = ask(Format::Messages, "calling", &json!({})).await.json();
    assert_eq!(messages["content"].as_array().unwrap().len(), 2);
    assert_eq!(messages["stop_reason"], "tool_use");
    let responses = ask(Format::Responses, "calling", &json!({})).await.json();
    assert_eq!(responses["output"].as_array().unwrap().len(), 2);
    assert_eq!(responses["status"], "completed");
}

#[tokio::test]
async fn names_and_arguments_of_calls_are_output_tokens() {
    let chat = ask(Format::Chat, "calling", &json!({})).await.json();
    let tokens = |text: &str| text.chars().count().div_ceil(4);
    let expected: usize = [look(), take()].iter().map(|call| tokens(&call.name) + tokens(&call.arguments)).sum();
    assert_eq!(chat["usage"]["completion_tokens"], expected);
}

#[tokio::test]
async fn streamed_calls_are_told_in_the_manner_of_each_format() {
    for format in Format::ALL {
        let answer = ask(format, "calling", &json!({"stream": true})).await;
        let kinds: Vec<String> = answer
            .events()
            .into_iter()
            .map(|(name, data)| {
                let Ok(data) = serde_json::from_str::<Value>(&data) else { return data };
                let told =
                    ["/choices/0", "/content_block", "/delta", "/item"].iter().find_map(|path| data.pointer(path));
                let told = told.cloned().unwrap_or_default().to_string();
                let index =
                    ["/index", "/output_index"].iter().find_map(|path| data.pointer(path)).cloned().unwrap_or_default();
                format!("{name} {index} {told}")
            })
            .collect();
        insta::assert_snapshot!(format!("streamed_{format:?}"), without_digests(&kinds.join("\n")));
    }
}

/// The text without the digests in ids.
fn without_digests(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\"fc_") {
        let (before, after) = rest.split_at(at + 4);
        out.push_str(before);
        let end = after.find('"').unwrap();
        out.push_str("ID");
        out.push_str(&after[after[..end].rfind('_').unwrap()..end]);
        rest = &after[end..];
    }
    out + rest
}

#[tokio::test]
async fn a_stream_that_is_cut_off_in_a_call_breaks_its_arguments_off() {
    let faults = regatta_proto::Faults { stream_cut: 1.0, ..regatta_proto::Faults::default() };
    let harness = Harness::start(crate::harness::faulty(faults)).await;
    let request = harness.ask_as(Format::Chat, "oracle", PLAIN, &json!({"stream": true}));
    let answer = read(request.header("x-regatta-setting", "calling")).await;
    let told: String = answer
        .events()
        .iter()
        .map(|(_, data)| {
            let data: Value = serde_json::from_str(data).unwrap();
            data["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    let all = format!("{}{}", look().arguments, take().arguments);
    assert_eq!(told.chars().count(), all.chars().count() / 2);
    assert!(all.starts_with(&told) && !answer.text.contains("finish_reason\":\"") && !answer.text.contains("[DONE]"));
}

#[tokio::test]
async fn the_limit_of_tokens_cuts_a_call_off() {
    let answer = ask(Format::Chat, "calling", &json!({"max_tokens": 3})).await.json();
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    let calls = answer["choices"][0]["message"]["tool_calls"].as_array().unwrap().clone();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0]["function"]["arguments"], r#"{"at": ""#);
    assert_eq!(answer["usage"]["completion_tokens"], 3);
}

#[tokio::test]
async fn a_script_calls_tools_and_answers_their_results() {
    let script = r#"{"match": {"contains": "a key"}, "reply": "I have it."}
        {"reply": "Let me see.", "tool_calls": [{"name": "look", "arguments": {"at": "문"}}]}"#;
    let harness = Harness::start(scripted(script)).await;
    let mut messages = vec![json!({"role": "user", "content": "go"})];
    let first = read(harness.post("/chat/completions", &json!({"model": "scripted", "messages": messages}))).await;
    assert_eq!(first.content(), "Let me see.");
    let said = first.json()["choices"][0]["message"].clone();
    let expected =
        json!([{"id": "call_0", "type": "function", "function": {"name": "look", "arguments": r#"{"at":"문"}"#}}]);
    assert_eq!(said["tool_calls"], expected);
    messages.extend([said, json!({"role": "tool", "tool_call_id": "call_0", "content": "a key"})]);
    let second = read(harness.post("/chat/completions", &json!({"model": "scripted", "messages": messages}))).await;
    assert_eq!(second.content(), "I have it.");
}

#[tokio::test]
async fn a_text_before_calls_is_kept() {
    let answer = ask(Format::Chat, "saying-and-calling", &json!({})).await;
    assert_eq!(answer.content(), gold(PLAIN));
}
