//! Parsers neither panic on any input nor accept requests that they cannot carry.

use proptest::prelude::*;
use regatta_proto::{Finish, Reasoning, Reply, TokenLogprob, ToolCall, Usage};
use serde_json::{Value, json};

use crate::{Answer, ChatCall, Format, Reading, Stamp, Streaming};

/// Words of the formats, so that generated values pass the first checks.
const WORDS: [&str; 26] = [
    "model",
    "messages",
    "role",
    "content",
    "user",
    "assistant",
    "tool",
    "system",
    "type",
    "text",
    "tool_calls",
    "id",
    "function",
    "name",
    "arguments",
    "tool_call_id",
    "input",
    "max_tokens",
    "tools",
    "tool_use",
    "tool_result",
    "tool_use_id",
    "function_call",
    "function_call_output",
    "call_id",
    "thinking",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![4 => prop::sample::select(&WORDS[..]).prop_map(str::to_owned), 1 => ".{0,6}"]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..6).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn all_readings(body: &[u8]) {
    for format in Format::ALL {
        for reading in [Reading::Whole, Reading::Gist] {
            if let Err(error) = ChatCall::parse(format, body, reading) {
                assert_eq!(error.status, 400);
            }
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    ".{0,12}"
}

fn reply() -> impl Strategy<Value = Reply> {
    let call = (text(), text()).prop_map(|(name, arguments)| (name, arguments));
    let calls = prop::collection::vec(call, 0..3);
    let reasoning = prop::option::of((text(), prop::option::of(".{1,9}")));
    let logprobs = prop::option::of(prop::collection::vec((text(), -9.0..0.0f64), 0..3));
    (prop::option::of(text()), calls, reasoning, logprobs).prop_map(|(text, calls, reasoning, logprobs)| Reply {
        text: text.map(Into::into),
        finish: if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls },
        tool_calls: (0..)
            .zip(calls)
            .map(|(number, (name, arguments))| ToolCall {
                id: format!("c{number}").into(),
                name: name.into(),
                arguments: arguments.into(),
            })
            .collect(),
        reasoning: reasoning.map(|(text, opaque): (String, Option<String>)| Reasoning {
            text: text.into(),
            opaque: opaque.map(Into::into),
        }),
        logprobs: logprobs.map(|tokens| {
            tokens.into_iter().map(|(token, logprob)| TokenLogprob { token, logprob, top: Vec::new() }).collect()
        }),
    })
}

/// The message with which a client sends `answer` back.
fn given_back(format: Format, answer: &Value) -> Value {
    let user = json!({"role": "user", "content": "x"});
    match format {
        Format::Chat => json!({"model": "m", "messages": [user, answer["choices"][0]["message"]]}),
        Format::Messages => {
            let said = json!({"role": "assistant", "content": answer["content"]});
            json!({"model": "m", "max_tokens": 9, "messages": [user, said]})
        }
        Format::Responses => {
            let items = answer["output"].as_array().unwrap().iter().cloned();
            let input: Vec<Value> = std::iter::once(user).chain(items).collect();
            json!({"model": "m", "input": input})
        }
    }
}

proptest! {
    #[test]
    fn made_up_values_are_read_or_refused(value in value()) {
        all_readings(value.to_string().as_bytes());
    }

    #[test]
    fn made_up_messages_are_read_or_refused(messages in prop::collection::vec(value(), 1..3), other in value()) {
        let body = json!({"model": "m", "max_tokens": 9, "messages": messages, "input": messages, "tools": other});
        all_readings(body.to_string().as_bytes());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        all_readings(&bytes);
    }

    #[test]
    fn an_answer_comes_back_as_it_was_given(reply in reply()) {
        let stamp = Stamp { id: "1".into(), created: 0, cost: None, fingerprint: None };
        let usage = Usage::default();
        let answer = Answer { model: "m", reply: &reply, usage: &usage, stamp: &stamp, forms: None };
        for format in Format::ALL {
            let whole: Value = serde_json::from_slice(&answer.whole(format)).unwrap();
            let body = given_back(format, &whole).to_string();
            let call = ChatCall::parse(format, body.as_bytes(), Reading::Whole).unwrap();
            let said = call.request.messages.last().unwrap();
            prop_assert_eq!(&*said.content, reply.text.as_deref().unwrap_or_default());
            let is_object = |text: &str| matches!(serde_json::from_str(text), Ok(Value::Object(_)));
            for (said, told) in said.tool_calls.iter().zip(&reply.tool_calls) {
                prop_assert_eq!((&said.id, &said.name), (&told.id, &told.name));
                if format != Format::Messages || !told.arguments.trim().is_empty() && !is_object(&told.arguments) {
                    prop_assert_eq!(&said.arguments, &told.arguments);
                }
            }
            prop_assert_eq!(said.tool_calls.len(), reply.tool_calls.len());
            let opaque = |reasoning: &Option<Reasoning>| reasoning.as_ref().and_then(|reasoning| reasoning.opaque.clone());
            prop_assert_eq!(opaque(&said.reasoning), opaque(&reply.reasoning));
            let thought = |reasoning: &Option<Reasoning>| reasoning.as_ref().map(|reasoning| reasoning.text.clone()).unwrap_or_default();
            prop_assert_eq!(thought(&said.reasoning), thought(&reply.reasoning));
            // A stream consists of the same pieces.
            let told = answer.streamed(format, Streaming { include_usage: true });
            let told = String::from_utf8(told.to_vec()).unwrap();
            for data in told.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]") {
                prop_assert!(serde_json::from_str::<Value>(data).is_ok());
            }
        }
    }
}

#[test]
fn deeply_nested_bodies_are_refused_or_ignored_without_a_stack_overflow() {
    let depth = 200_000;
    let nested = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    for field in ["messages", "input", "tools", "metadata", "tool_choice", "response_format", "system", "anything"] {
        all_readings(
            format!(r#"{{"model": "m", "max_tokens": 9, "messages": [{{"role": "user", "content": {nested}}}], "{field}": {nested}}}"#)
                .as_bytes(),
        );
    }
    let tools =
        format!(r#"[{{"type": "function", "name": "f", "function": {{"name": "f", "parameters": {nested}}}}}]"#);
    all_readings(
        format!(
            r#"{{"model": "m", "input": "x", "messages": [{{"role": "user", "content": "x"}}], "tools": {tools}}}"#
        )
        .as_bytes(),
    );
}
