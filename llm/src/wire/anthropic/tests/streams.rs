//! Traces of streamed answers.

use regatta_proto::{ErrorClass, Finish, Usage};

use super::*;
use crate::wire::Part;

/// Text, reasoning and a call, as in the guide to streaming.
const TRACE: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_9","type":"message","role":"assistant","content":[],"model":"claude-sonnet-4-5","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":8,"cache_read_input_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":8},"output_tokens":1,"service_tier":"standard"}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"A city"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Let me "}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"look."}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_7","name":"get_weather","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"city\": \"B"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"ern\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_8","name":"now","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":25,"cache_creation_input_tokens":null,"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

"#;

#[test]
fn a_stream_is_read_as_the_whole_answer_would_be() {
    let (parts, done) = stream(TRACE);
    let done = done.unwrap();
    assert_eq!(parts.iter().position(|part| *part == Part::Answer), Some(3), "the first word of the thought");
    assert_eq!(parts.last(), Some(&Part::End));
    insta::assert_json_snapshot!(done.reply, @r#"
    {
      "text": "Let me look.",
      "finish": "tool_calls",
      "tool_calls": [
        {
          "id": "toolu_7",
          "name": "get_weather",
          "arguments": "{\"city\": \"Bern\"}"
        },
        {
          "id": "toolu_8",
          "name": "now",
          "arguments": "{}"
        }
      ],
      "reasoning": {
        "text": "A city.",
        "opaque": "[{\"type\":\"thinking\",\"thinking\":\"A city.\",\"signature\":\"EqQB\"}]"
      }
    }
    "#);
    let expected = Usage { input: 133, cached_input: 100, cache_write_1h: 8, output: 89, ..Usage::default() };
    assert_eq!((done.usage, done.usage_is_known), (expected, true));
    assert_eq!(done.served.request_id.as_deref(), Some("req_stream"));
    assert_eq!(done.served.tier.as_deref(), Some("standard"));
}

#[test]
fn a_call_that_the_limit_cut_off_is_kept_as_it_is() {
    let cut = TRACE
        .replace(r#""partial_json":"ern\"}""#, r#""partial_json":"ern""#)
        .replace(r#""stop_reason":"tool_use""#, r#""stop_reason":"max_tokens""#);
    let reply = stream(&cut).1.unwrap().reply;
    assert_eq!((&*reply.tool_calls[0].arguments, reply.finish), (r#"{"city": "Bern"#, Finish::Length));
}

#[test]
fn wherever_a_stream_ends_early_it_is_no_answer() {
    let events: Vec<&str> = TRACE.split_inclusive("\n\n").collect();
    let complete = events.len() - 1;
    for count in 0..complete - 1 {
        let failure = stream(&events[..count].concat()).1.unwrap_err();
        assert_eq!((failure.class, failure.maybe_billed), (ErrorClass::BadResponse, true), "after {count} events");
    }
    assert!(stream(&events[..complete].concat()).1.is_ok(), "the reason to stop was told");
}

#[test]
fn an_error_in_the_middle_ends_the_stream_and_may_be_billed() {
    let events: Vec<&str> = TRACE.split_inclusive("\n\n").collect();
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let (parts, done) = stream(&[&events[..10].concat(), error, events[10]].concat());
    let failure = done.unwrap_err();
    assert_eq!((parts.len(), failure.class, failure.maybe_billed), (10, ErrorClass::Server, true));
    let failure = stream(error).1.unwrap_err();
    assert!(!failure.maybe_billed, "nothing had begun");
}

#[test]
fn an_event_that_is_no_json_is_a_bad_response() {
    let failure = stream("event: message_start\ndata: <html>\n\n").1.unwrap_err();
    assert_eq!(failure.class, ErrorClass::BadResponse);
    assert!(failure.detail.contains("<html>"), "{}", failure.detail);
}

#[test]
fn what_was_billed_is_known_once_the_last_meters_have_come() {
    let events: Vec<&str> = TRACE.split_inclusive("\n\n").collect();
    let mut reader = Anthropic.stream();
    let known: Vec<Option<u64>> = with_context(|context| {
        let mut read = |text: &&str| {
            let mut event = Events::default();
            event.push(text.as_bytes());
            reader.event(&event.next().unwrap(), context).unwrap();
            reader.usage().map(|usage| usage.output)
        };
        events.iter().map(&mut read).collect()
    });
    assert_eq!(known.iter().filter(|known| known.is_none()).count(), events.len() - 2);
    assert_eq!(known[events.len() - 2..], [Some(89), Some(89)]);
}
