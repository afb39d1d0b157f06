use std::time::Duration;

use super::plain;
use crate::wire::golden::{shown, streamed};

/// Reads each fixture in chunks of several sizes and compares the result with its snapshot.
macro_rules! shapes {
    ($($name:ident),* $(,)?) => {$(
        #[test]
        fn $name() {
            let text = include_str!(concat!("shapes/", stringify!($name), ".sse"));
            let read = |text: &str, chunk_bytes| shown(&streamed(&plain(), text, chunk_bytes).unwrap());
            let at_once = read(text, usize::MAX);
            for chunk_bytes in [1, 3, 7, 64, 1000] {
                assert_eq!(read(text, chunk_bytes), at_once, "in chunks of {chunk_bytes}");
            }
            let (head, body) = text.split_once("\n\n").unwrap();
            let with_crlf = format!("{head}\n\n{}", body.replace('\n', "\r\n"));
            assert_eq!(read(&with_crlf, 5), at_once, "with CRLF");
            assert_eq!(read(text.trim_end(), 5), at_once, "without the last line's end");
            insta::assert_json_snapshot!(at_once);
        }
    )*};
}

shapes!(openai, openai_tools, azure, vllm, deepseek, openrouter);

fn stream(events: &[&str]) -> String {
    format!("content-type: text/event-stream\n\n{}\n\n", events.join("\n\n"))
}

#[test]
fn the_first_token_is_the_first_piece_of_text_thought_or_call() {
    for piece in [
        r#""content":"x""#,
        r#""reasoning":"x""#,
        r#""refusal":"x""#,
        r#""tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]"#,
    ] {
        let role = r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#;
        let answer = format!(r#"data: {{"choices":[{{"index":0,"delta":{{{piece}}},"finish_reason":"stop"}}]}}"#);
        let text = stream(&[": ping", role, &answer, "data: [DONE]"]);
        let completion = streamed(&plain(), &text, 1).unwrap();
        // One byte each millisecond, so a piece is complete at the end of its event.
        let (_, body) = text.split_once("\n\n").unwrap();
        let event_end = body.find("data: [DONE]").unwrap();
        assert_eq!(completion.first_token, Some(Duration::from_millis(event_end as u64)), "{piece}");
    }
    let empty = r#"data: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]}"#;
    assert_eq!(streamed(&plain(), &stream(&[empty]), 1).unwrap().first_token, None);
}

#[test]
fn what_follows_the_end_of_a_stream_is_no_part_of_it_wherever_it_is_cut() {
    let answer = r#"data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}"#;
    for after in ["data: {\"error\":{\"message\":\"m\"}}", "data: {", "data: [DONE]", "what", ": ping"] {
        let text = stream(&[answer, "data: [DONE]", after]);
        for chunk_bytes in [1, 7, usize::MAX] {
            let read = streamed(&plain(), text.trim_end(), chunk_bytes);
            let read = read.unwrap_or_else(|failure| panic!("{after} in chunks of {chunk_bytes}: {failure:?}"));
            assert_eq!(read.reply.text.as_deref(), Some("x"));
        }
    }
}

#[test]
fn a_stream_without_usage_leaves_it_unknown() {
    let done = r#"data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"usage":null}"#;
    let completion = streamed(&plain(), &stream(&[done]), 9).unwrap();
    assert!(!completion.usage_is_known && completion.raw_usage.is_none());
}

#[test]
fn usage_is_found_wherever_servers_put_it_and_the_last_one_counts() {
    let choice = r#""choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"USAGE}]"#;
    let usage = r#""usage":{"prompt_tokens":9,"completion_tokens":2}"#;
    for event in [
        format!(r#"data: {{{},{usage}}}"#, choice.replace("USAGE", "")),
        format!(r#"data: {{{}}}"#, choice.replace("USAGE", &format!(",{usage}"))),
        format!(r#"data: {{{},"x_groq":{{"id":"r",{usage}}}}}"#, choice.replace("USAGE", "")),
    ] {
        let growing = event.replace("\"completion_tokens\":2", "\"completion_tokens\":1");
        let completion = streamed(&plain(), &stream(&[&growing, &event]), 9).unwrap();
        assert!(completion.usage_is_known && completion.usage.output == 2, "{event}");
    }
}

#[test]
fn calls_are_told_apart_by_index_or_id() {
    let calls = |events: &[&str]| {
        let events: Vec<String> = events
            .iter()
            .map(|call| format!(r#"data: {{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}},"finish_reason":"tool_calls"}}]}}"#))
            .collect();
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let reply = streamed(&plain(), &stream(&events), 9).unwrap().reply;
        reply.tool_calls.iter().map(|call| format!("{} {}({})", call.id, call.name, call.arguments)).collect::<Vec<_>>()
    };
    let interleaved = [
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}"#,
        r#"{"index":1,"id":"b","function":{"name":"g","arguments":"["}}"#,
        r#"{"index":0,"function":{"arguments":"}"}}"#,
        r#"{"index":1,"function":{"arguments":"]"}}"#,
    ];
    assert_eq!(calls(&interleaved), ["a f({})", "b g([])"]);
    // All calls have the index 0.
    let miscounted = [
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#,
        r#"{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}"#,
    ];
    assert_eq!(calls(&miscounted), ["a f({})", "b g({})"]);
    let uncounted = [
        r#"{"id":"a","function":{"name":"f","arguments":"{"}}"#,
        r#"{"function":{"arguments":"}"}}"#,
        r#"{"id":"b","function":{"name":"g","arguments":"{}"}}"#,
    ];
    assert_eq!(calls(&uncounted), ["a f({})", "b g({})"]);
    // Id and name are repeated with every piece.
    let repeated = [
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}"#,
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}"#,
    ];
    assert_eq!(calls(&repeated), ["a f({})"]);
    let nameless =
        [r#"{"index":0,"function":{"name":"f","arguments":"{}"}}"#, r#"{"index":1,"function":{"name":"g"}}"#];
    assert_eq!(calls(&nameless), ["call_0 f({})", "call_1 g()"]);
}

#[test]
fn the_older_function_call_is_a_call() {
    let events = [
        r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null,"function_call":{"name":"f","arguments":""}}}]}"#,
        r#"data: {"choices":[{"index":0,"delta":{"function_call":{"arguments":"{}"}},"finish_reason":"function_call"}]}"#,
    ];
    let reply = streamed(&plain(), &stream(&events), 9).unwrap().reply;
    assert_eq!((&*reply.tool_calls[0].name, &*reply.tool_calls[0].arguments, reply.text), ("f", "{}", None));
}
