//! Streams, frame by frame as Bedrock sends them.

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use regatta_proto::{Finish, Usage};

use super::*;

fn frame(headers: [(&'static str, &'static str); 3], payload: &str) -> Vec<u8> {
    let mut message = Message::new(payload.as_bytes().to_vec());
    for (name, value) in headers {
        message = message.add_header(Header::new(name, HeaderValue::String(value.into())));
    }
    let mut bytes = Vec::new();
    write_message_to(&message, &mut bytes).unwrap();
    bytes
}

fn event(kind: &'static str, payload: &str) -> Vec<u8> {
    frame([(":message-type", "event"), (":event-type", kind), (":content-type", "application/json")], payload)
}

fn exception(kind: &'static str, message: &str) -> Vec<u8> {
    let headers = [(":message-type", "exception"), (":exception-type", kind), (":content-type", "application/json")];
    frame(headers, &format!(r#"{{"message":"{message}"}}"#))
}

/// A thought, a text and two calls.
fn trace() -> Vec<Vec<u8>> {
    [
        ("messageStart", r#"{"role":"assistant"}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"A "}}}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"city."}}}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"Eq=="}}}"#),
        ("contentBlockStop", r#"{"contentBlockIndex":0}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"AAEC"}}}"#),
        ("contentBlockStop", r#"{"contentBlockIndex":1}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":2,"delta":{"text":"Let me "}}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":2,"delta":{"text":"look."}}"#),
        ("contentBlockStop", r#"{"contentBlockIndex":2}"#),
        ("contentBlockStart", r#"{"contentBlockIndex":3,"start":{"toolUse":{"name":"get_weather","toolUseId":"tooluse_1"}}}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":3,"delta":{"toolUse":{"input":"{\"zone\":\"z\","}}}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":3,"delta":{"toolUse":{"input":"\"city\":\"Bern\"}"}}}"#),
        ("contentBlockStop", r#"{"contentBlockIndex":3}"#),
        ("contentBlockStart", r#"{"contentBlockIndex":4,"start":{"toolUse":{"name":"now","toolUseId":"tooluse_2"}}}"#),
        ("contentBlockStop", r#"{"contentBlockIndex":4}"#),
        ("messageStop", r#"{"stopReason":"tool_use"}"#),
        (
            "metadata",
            r#"{"metrics":{"latencyMs":800},"serviceTier":{"type":"priority"},"usage":{"inputTokens":12,"outputTokens":30,"totalTokens":150,"cacheReadInputTokens":100,"cacheWriteInputTokens":8,"cacheDetails":[{"ttl":"1h","inputTokens":8}]}}"#,
        ),
    ]
    .map(|(kind, payload)| event(kind, payload))
    .to_vec()
}

async fn stream(frames: &[Vec<u8>]) -> Result<Completion, Failure> {
    let headers = "content-type: application/vnd.amazon.eventstream\r\nx-amzn-requestid: 7c-9\r\n";
    let server = Server::scripted(vec![Step::Answer { status: 200, headers, body: frames.concat() }]).await;
    let result = ask(&open(&EndpointSpec { stream: true, ..spec(&server) }), &hi()).await;
    let seen = &server.seen()[0];
    assert!(seen.head.contains("/converse-stream http/1.1"), "{}", seen.head);
    result
}

#[tokio::test]
async fn a_stream_is_read_as_the_whole_answer_would_be() {
    let done = stream(&trace()).await.unwrap();
    insta::assert_json_snapshot!(done.reply, @r#"
    {
      "text": "Let me look.",
      "finish": "tool_calls",
      "tool_calls": [
        {
          "id": "tooluse_1",
          "name": "get_weather",
          "arguments": "{\"zone\":\"z\",\"city\":\"Bern\"}"
        },
        {
          "id": "tooluse_2",
          "name": "now",
          "arguments": "{}"
        }
      ],
      "reasoning": {
        "text": "A city.",
        "opaque": "[{\"type\":\"thinking\",\"thinking\":\"A city.\",\"signature\":\"Eq==\"},{\"type\":\"redacted_thinking\",\"data\":\"AAEC\"}]"
      }
    }
    "#);
    let expected = Usage { input: 120, cached_input: 100, cache_write_1h: 8, output: 30, ..Usage::default() };
    assert_eq!((done.usage, done.usage_is_known), (expected, true));
    assert_eq!(done.raw_usage.unwrap()["cacheDetails"][0]["ttl"], "1h");
    assert!(done.first_token.is_some());
    assert_eq!((done.served.request_id.as_deref(), done.served.tier.as_deref()), (Some("7c-9"), Some("priority")));
}

#[tokio::test]
async fn wherever_a_stream_ends_before_its_reason_to_stop_it_is_no_answer() {
    let frames = trace();
    let stop = frames.len() - 2;
    for count in [0, 1, 5, stop] {
        let failure = stream(&frames[..count]).await.unwrap_err();
        assert_eq!((failure.class, failure.maybe_billed), (ErrorClass::BadResponse, true), "after {count} frames");
    }
    let done = stream(&frames[..=stop]).await.unwrap();
    assert_eq!((done.reply.finish, done.usage_is_known), (Finish::ToolCalls, false), "its meters are missing");
}

#[tokio::test]
async fn an_exception_in_the_middle_ends_the_stream_and_may_be_billed() {
    for (kind, message, class) in [
        ("throttlingException", "slow down", ErrorClass::RateLimited),
        ("modelStreamErrorException", "oops", ErrorClass::Server),
        ("internalServerException", "oops", ErrorClass::Server),
        ("serviceUnavailableException", "later", ErrorClass::Server),
        ("validationException", "no", ErrorClass::BadRequest),
        ("validationException", "Input is too long for requested model.", ErrorClass::ContextLength),
    ] {
        let frames = [&trace()[..3], &[exception(kind, message)]].concat();
        let failure = stream(&frames).await.unwrap_err();
        assert_eq!((failure.class, failure.status), (class, Some(200)), "{kind}: {failure:?}");
        assert!(failure.maybe_billed && failure.detail.contains(message), "{failure:?}");
        let at_once = stream(&[exception(kind, message)]).await.unwrap_err();
        assert_eq!((at_once.class, at_once.maybe_billed), (class, false), "nothing had begun: {kind}");
    }
}

#[tokio::test]
async fn frames_that_are_damaged_are_a_bad_response() {
    let mut frames = trace();
    let last = frames[8].len() - 1;
    frames[8][last] ^= 1;
    assert_eq!(stream(&frames).await.unwrap_err().class, ErrorClass::BadResponse);
    let whole = trace();
    let cut = whole[8][..last].to_vec();
    assert_eq!(stream(&[&whole[..8], &[cut]].concat()).await.unwrap_err().class, ErrorClass::BadResponse);
}

#[tokio::test]
async fn an_error_status_is_one_in_streams_too() {
    let headers = "x-amzn-errortype: AccessDeniedException\r\n";
    let step = Step::Answer { status: 403, headers, body: br#"{"message":"no"}"#.to_vec() };
    let server = Server::scripted(vec![step]).await;
    let failure = ask(&open(&EndpointSpec { stream: true, ..spec(&server) }), &hi()).await.unwrap_err();
    assert_eq!((failure.class, failure.status), (ErrorClass::Auth, Some(403)));
}
