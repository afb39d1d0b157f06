//! Traces of streamed answers.

use regatta_proto::{ErrorClass, Finish, Usage};

use super::*;

const TRACE: [&str; 6] = [
    r#"{"candidates":[{"content":{"parts":[{"text":"Both ","thought":true}],"role":"model"},"index":0}],
"usageMetadata":{"promptTokenCount":31,"thoughtsTokenCount":12,"totalTokenCount":43},"modelVersion":"gemini-3-flash","responseId":"r1"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"at once.","thought":true}],"role":"model"},"index":0}],"responseId":"r1"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"Let me "}],"role":"model"},"index":0}],"responseId":"r1"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"look."},{"functionCall":{"name":"get_weather","args":{"city":"Bern"}},"thoughtSignature":"Q0E="}],"role":"model"},"index":0}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"get_weather","args":{"city":"Graz"}}}],"role":"model"},"index":0}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"VA=="}],"role":"model"},"finishReason":"STOP","index":0}],
"usageMetadata":{"promptTokenCount":31,"candidatesTokenCount":22,"thoughtsTokenCount":14,"totalTokenCount":67,"serviceTier":"standard"}}"#,
];

#[test]
fn a_stream_is_read_as_the_whole_answer_would_be() {
    let (parts, done) = stream(&TRACE);
    let done = done.unwrap();
    assert_eq!(parts, [Part::Answer, Part::Answer, Part::Answer, Part::Answer, Part::Answer, Part::Other]);
    insta::assert_json_snapshot!(done.reply, @r#"
    {
      "text": "Let me look.",
      "finish": "tool_calls",
      "tool_calls": [
        {
          "id": "call_0",
          "name": "get_weather",
          "arguments": "{\"city\":\"Bern\"}"
        },
        {
          "id": "call_1",
          "name": "get_weather",
          "arguments": "{\"city\":\"Graz\"}"
        }
      ],
      "reasoning": {
        "text": "Both at once.",
        "opaque": "{\"text\":\"VA==\",\"calls\":{\"0\":\"Q0E=\"}}"
      }
    }
    "#);
    assert_eq!(done.reply.finish, Finish::ToolCalls);
    assert_eq!(done.usage, Usage { input: 31, output: 36, reasoning: 14, ..Usage::default() });
    assert_eq!(done.served.request_id.as_deref(), Some("r1"));
}

#[test]
fn wherever_a_stream_ends_early_it_is_no_answer() {
    for count in 0..TRACE.len() {
        let failure = stream(&TRACE[..count]).1.unwrap_err();
        assert_eq!((failure.class, failure.maybe_billed), (ErrorClass::BadResponse, true), "after {count} chunks");
    }
}

#[test]
fn what_was_billed_is_known_once_the_answer_is_complete() {
    let mut reader = Gemini.stream();
    let known: Vec<Option<Usage>> = with_context(|context| {
        let mut read = |chunk: &&str| {
            reader.event(&crate::wire::ServerEvent { name: "", data: chunk }, context).unwrap();
            reader.usage()
        };
        TRACE.iter().map(&mut read).collect()
    });
    assert_eq!(known[..5], [None; 5]);
    assert_eq!(known[5].unwrap().output, 36);
}

#[test]
fn a_blocked_prompt_ends_a_stream_regularly() {
    let reply = stream(&[r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":3}}"#])
        .1
        .unwrap()
        .reply;
    assert_eq!((reply.text, reply.finish), (None, Finish::ContentFilter));
}

#[test]
fn an_event_that_is_no_json_is_a_bad_response() {
    assert_eq!(stream(&["<html>"]).1.unwrap_err().class, ErrorClass::BadResponse);
}
