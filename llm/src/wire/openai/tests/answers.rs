use regatta_proto::Finish;

use super::plain;
use crate::wire::golden::{shown, whole};

/// Reads each fixture and compares the result with its snapshot.
macro_rules! shapes {
    ($($name:ident),* $(,)?) => {$(
        #[test]
        fn $name() {
            let text = include_str!(concat!("shapes/", stringify!($name), ".http"));
            insta::assert_json_snapshot!(shown(&whole(&plain(), 200, text).unwrap()));
        }
    )*};
}

shapes!(
    openai,
    openai_tools,
    openai_refusal,
    openai_function_call,
    azure,
    vllm,
    sglang,
    openrouter,
    together,
    deepseek,
    litellm,
);

fn finish(message: &str, reason: &str) -> Finish {
    let body = format!("a: b\n\n{{\"choices\":[{{\"message\":{message},\"finish_reason\":{reason}}}]}}");
    whole(&plain(), 200, &body).unwrap().reply.finish
}

#[test]
fn every_way_to_say_why_it_stopped_is_understood() {
    let text = r#"{"content":"x"}"#;
    for (reason, expected) in [
        ("\"stop\"", Finish::Stop),
        ("\"eos\"", Finish::Stop),
        ("\"stop_sequence\"", Finish::Stop),
        ("\"length\"", Finish::Length),
        ("\"model_length\"", Finish::Length),
        ("\"content_filter\"", Finish::ContentFilter),
        ("\"tool_calls\"", Finish::ToolCalls),
        ("\"function_call\"", Finish::ToolCalls),
        ("\"something new\"", Finish::Other),
        ("null", Finish::Other),
        ("7", Finish::Other),
    ] {
        assert_eq!(finish(text, reason), expected, "{reason}");
    }
}

#[test]
fn calls_of_tools_are_the_reason_to_stop_unless_the_answer_was_cut_off() {
    let calls = r#"{"content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}"#;
    assert_eq!(finish(calls, "\"stop\""), Finish::ToolCalls);
    assert_eq!(finish(calls, "null"), Finish::ToolCalls);
    assert_eq!(finish(calls, "\"length\""), Finish::Length);
}
