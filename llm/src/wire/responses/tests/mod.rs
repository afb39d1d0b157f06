//! Golden tests with the formats of OpenAI's documentation and made-up values.

mod requests;

use regatta_proto::{ErrorClass, Usage};

use super::Responses;
use crate::wire::golden::{shown, streamed, whole};

macro_rules! answers {
    ($($name:ident $file:literal),* $(,)?) => {$(
        #[test]
        fn $name() {
            insta::assert_json_snapshot!(shown(&whole(&Responses, 200, include_str!(concat!("shapes/", $file))).unwrap()));
        }
    )*};
}

answers!(
    text_and_thoughts_of_a_response "text.http",
    calls_of_a_response "tools.http",
    a_response_that_was_cut_off "incomplete.http",
    a_response_that_refuses "refusal.http",
);

macro_rules! streams {
    ($($name:ident $file:literal),* $(,)?) => {$(
        #[test]
        fn $name() {
            let text = include_str!(concat!("shapes/", $file));
            let at_once = streamed(&Responses, text, usize::MAX).unwrap();
            assert!(at_once.first_token.is_some());
            for chunk_bytes in [1, 7, 64] {
                assert_eq!(shown(&streamed(&Responses, text, chunk_bytes).unwrap()), shown(&at_once));
            }
            insta::assert_json_snapshot!(shown(&at_once));
        }
    )*};
}

streams!(a_streamed_text "text.sse", streamed_calls_that_the_whole_leaves_out "tools.sse");

#[test]
fn parts_beyond_their_whole_make_the_usage_unknown() {
    for (input, output) in [
        (r#""cached_tokens":50"#, ""),
        (r#""cached_tokens":8,"cache_write_tokens":3"#, ""),
        ("", r#""reasoning_tokens":6"#),
    ] {
        let body = format!(
            r#"{{"id":"r","status":"completed","output":[{{"type":"message","content":[{{"type":"output_text","text":"Hi"}}]}}],"usage":{{"input_tokens":10,"input_tokens_details":{{{input}}},"output_tokens":5,"output_tokens_details":{{{output}}}}}}}"#
        );
        let read = whole(&Responses, 200, &format!("a: b\n\n{body}")).unwrap();
        let wholes = Usage { input: 10, output: 5, ..Usage::default() }.of_unmetered_call();
        assert_eq!((read.usage, read.usage_is_known), (wholes, false), "{body}");
    }
}

fn failure(body: &str) -> crate::errors::Failure {
    whole(&Responses, 200, &format!("a: b\n\n{body}")).unwrap_err()
}

#[test]
fn a_response_that_failed_is_classified_by_the_error_table() {
    for (code, class) in [
        ("server_error", ErrorClass::Server),
        ("rate_limit_exceeded", ErrorClass::RateLimited),
        ("invalid_prompt", ErrorClass::ContentFilter),
    ] {
        let body = format!(
            r#"{{"id":"r","status":"failed","error":{{"code":"{code}","message":"m"}},"output":[],"service_tier":"flex","usage":{{"input_tokens":9,"output_tokens":0}}}}"#
        );
        let failed = failure(&body);
        assert_eq!((failed.class, failed.status), (class, Some(200)), "{code}");
        assert_eq!(failed.usage, Some(Usage { input: 9, ..Usage::default() }));
        assert_eq!(failed.tier.as_deref(), Some("flex"));
        let event =
            format!("a: b\n\nevent: response.failed\ndata: {{\"type\":\"response.failed\",\"response\":{body}}}\n\n");
        let failed = streamed(&Responses, &event, 9).unwrap_err();
        assert_eq!((failed.class, failed.usage), (class, Some(Usage { input: 9, ..Usage::default() })), "{code}");
        assert_eq!(failed.tier.as_deref(), Some("flex"));
        let event = format!(
            "a: b\n\nevent: error\ndata: {{\"type\":\"error\",\"code\":\"{code}\",\"message\":\"m\",\"param\":null}}\n\n"
        );
        assert_eq!(streamed(&Responses, &event, 9).unwrap_err().class, class, "{code}");
    }
}

#[test]
fn a_response_that_is_not_over_or_holds_nothing_is_no_answer() {
    for (body, class) in [
        (r#"{"status":"in_progress","output":[]}"#, ErrorClass::BadResponse),
        (r#"{"status":"queued","output":[]}"#, ErrorClass::BadResponse),
        (r#"{"status":"cancelled","output":[]}"#, ErrorClass::Server),
        (r#"{"status":"completed"}"#, ErrorClass::BadResponse),
        ("[]", ErrorClass::BadResponse),
        ("", ErrorClass::BadResponse),
    ] {
        let failed = failure(body);
        assert_eq!((failed.class, failed.status), (class, Some(200)), "{body}");
    }
}

#[test]
fn a_stream_that_ends_too_early_is_a_bad_response_that_may_be_billed() {
    let whole = include_str!("shapes/text.sse");
    let cut = &whole[..whole.find("event: response.completed").unwrap()];
    let failed = streamed(&Responses, cut, 50).unwrap_err();
    assert_eq!((failed.class, failed.maybe_billed), (ErrorClass::BadResponse, true));
    assert_eq!(*failed.detail, *"the stream ended before the response did");
}
