//! Classification of errors.

use std::time::Duration;

use regatta_proto::ErrorClass;

use super::*;

fn error(kind: &str, message: &str) -> String {
    format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#)
}

#[test]
fn every_error_of_the_documentation_has_its_class() {
    for (status, kind, message, class) in [
        (400, "invalid_request_error", "messages: at least one is needed", ErrorClass::BadRequest),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ErrorClass::ContextLength),
        (400, "invalid_request_error", "Your credit balance is too low to access the API.", ErrorClass::Quota),
        (401, "authentication_error", "invalid x-api-key", ErrorClass::Auth),
        (402, "billing_error", "payment needed", ErrorClass::Quota),
        (403, "permission_error", "not yours", ErrorClass::Auth),
        (404, "not_found_error", "model: claude-nope", ErrorClass::NotFound),
        (413, "request_too_large", "Request exceeds the maximum size", ErrorClass::BadRequest),
        (429, "rate_limit_error", "slow down", ErrorClass::RateLimited),
        (500, "api_error", "Internal server error", ErrorClass::Server),
        (504, "timeout_error", "took too long", ErrorClass::Server),
        (529, "overloaded_error", "Overloaded", ErrorClass::Server),
    ] {
        let failure = answer(status, &error(kind, message)).unwrap_err();
        assert_eq!((failure.class, failure.status), (class, Some(status)), "{kind}: {message}");
        assert!(failure.detail.ends_with(message), "{}", failure.detail);
    }
}

#[test]
fn the_same_errors_inside_a_200_have_the_same_classes() {
    for (kind, message, class) in [
        ("overloaded_error", "Overloaded", ErrorClass::Server),
        ("rate_limit_error", "slow down", ErrorClass::RateLimited),
        ("billing_error", "pay", ErrorClass::Quota),
        ("authentication_error", "who?", ErrorClass::Auth),
        ("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", ErrorClass::ContextLength),
        ("invalid_request_error", "no", ErrorClass::BadRequest),
        ("api_error", "oops", ErrorClass::Server),
    ] {
        assert_eq!(answer(200, &error(kind, message)).unwrap_err().class, class, "{kind}");
        let (_, streamed) = stream(&format!("event: error\ndata: {}\n\n", error(kind, message)));
        assert_eq!(streamed.unwrap_err().class, class, "{kind} in a stream");
    }
}

#[test]
fn the_wait_that_is_asked_for_is_kept_and_the_key_is_not() {
    let head = headers(&[("retry-after", "9")]);
    let failure = answer_with(429, head, &error("rate_limit_error", "key sk-ant-secret is too fast")).unwrap_err();
    assert_eq!(failure.retry_after, Some(Duration::from_secs(9)));
    assert_eq!(*failure.detail, *"key [key] is too fast");
}

#[test]
fn a_200_without_content_is_a_bad_response_that_may_be_billed() {
    for body in ["{}", "[]", r#"{"content":"x"}"#, r#"{"content":null}"#] {
        let failure = answer(200, body).unwrap_err();
        assert_eq!((failure.class, failure.maybe_billed), (ErrorClass::BadResponse, true), "{body}");
    }
    let billed =
        answer(200, r#"{"usage":{"input_tokens":5,"output_tokens":2,"service_tier":"priority"}}"#).unwrap_err();
    assert_eq!((billed.usage.unwrap().input, billed.tier.as_deref()), (5, Some("priority")));
}
