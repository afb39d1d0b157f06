//! Classification of errors.

use std::time::Duration;

use regatta_proto::ErrorClass;

use super::*;

fn error(code: u16, status: &str, message: &str) -> String {
    format!(r#"{{"error":{{"code":{code},"message":"{message}","status":"{status}"}}}}"#)
}

#[test]
fn every_error_of_the_documentation_has_its_class() {
    for (code, status, message, class) in [
        (400, "INVALID_ARGUMENT", "contents is not specified", ErrorClass::BadRequest),
        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", ErrorClass::Auth),
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            ErrorClass::ContextLength,
        ),
        (400, "FAILED_PRECONDITION", "User location is not supported", ErrorClass::BadRequest),
        (401, "UNAUTHENTICATED", "who?", ErrorClass::Auth),
        (403, "PERMISSION_DENIED", "no", ErrorClass::Auth),
        (404, "NOT_FOUND", "models/x is not found", ErrorClass::NotFound),
        (
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details.",
            ErrorClass::RateLimited,
        ),
        (500, "INTERNAL", "An internal error has occurred", ErrorClass::Server),
        (503, "UNAVAILABLE", "The model is overloaded.", ErrorClass::Server),
        (504, "DEADLINE_EXCEEDED", "too slow", ErrorClass::Server),
    ] {
        let body = error(code, status, message);
        for body in [body.clone(), format!("[{body}]")] {
            let failure = answer(code, &body).unwrap_err();
            assert_eq!((failure.class, failure.status, &*failure.detail), (class, Some(code), message));
        }
        assert_eq!(answer(200, &body).unwrap_err().class, class, "{message} in a 200");
        assert_eq!(stream(&[&body]).1.unwrap_err().class, class, "{message} in a stream");
    }
}

#[test]
fn the_wait_that_is_asked_for_is_in_the_details() {
    let body = r#"{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED","details":[
{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"RequestsPerMinute"}]},
{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}"#;
    let wait = Some(Duration::from_millis(34_500));
    assert_eq!(answer(429, body).unwrap_err().retry_after, wait);
    assert_eq!(answer(429, &format!("[{body}]")).unwrap_err().retry_after, wait);
    assert_eq!(answer(200, body).unwrap_err().retry_after, wait);
    assert_eq!(stream(&[body]).1.unwrap_err().retry_after, wait);
    assert_eq!(answer(429, &body.replace("34.5s", "soon")).unwrap_err().retry_after, None);
}

#[test]
fn a_200_without_candidates_is_a_bad_response_that_may_be_billed() {
    for body in ["{}", "[]", r#"{"candidates":[]}"#, r#"{"candidates":null}"#] {
        let failure = answer(200, body).unwrap_err();
        assert_eq!((failure.class, failure.maybe_billed), (ErrorClass::BadResponse, true), "{body}");
    }
}
