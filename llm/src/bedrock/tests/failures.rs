//! Classification of errors.

use std::time::Duration;

use regatta_proto::Timeouts;

use super::*;

async fn failed(status: u16, headers: &'static str, body: &str) -> Failure {
    ask_one(Step::Answer { status, headers, body: body.into() }).await.0.unwrap_err()
}

#[tokio::test]
async fn every_exception_of_the_documentation_has_its_class() {
    for (status, headers, message, class) in [
        (429, "x-amzn-errortype: ThrottlingException\r\n", "Too many requests", ErrorClass::RateLimited),
        (400, "x-amzn-errortype: ServiceQuotaExceededException\r\n", "Quota", ErrorClass::RateLimited),
        (429, "x-amzn-errortype: ModelNotReadyException\r\n", "Not ready", ErrorClass::Server),
        (408, "x-amzn-errortype: ModelTimeoutException\r\n", "Too long", ErrorClass::Server),
        (424, "x-amzn-errortype: ModelErrorException\r\n", "Oops", ErrorClass::Server),
        (500, "x-amzn-errortype: InternalServerException\r\n", "Oops", ErrorClass::Server),
        (503, "x-amzn-errortype: ServiceUnavailableException\r\n", "Later", ErrorClass::Server),
        (403, "x-amzn-errortype: AccessDeniedException\r\n", "No access", ErrorClass::Auth),
        (403, "x-amzn-errortype: UnrecognizedClientException\r\n", "Who?", ErrorClass::Auth),
        (404, "x-amzn-errortype: ResourceNotFoundException\r\n", "No model", ErrorClass::NotFound),
        (400, "x-amzn-errortype: ValidationException\r\n", "Malformed input request", ErrorClass::BadRequest),
        (
            400,
            "x-amzn-errortype: ValidationException\r\n",
            "Input is too long for requested model.",
            ErrorClass::ContextLength,
        ),
        (
            400,
            "x-amzn-errortype: ValidationException\r\n",
            "prompt is too long: 9 tokens > 8 maximum",
            ErrorClass::ContextLength,
        ),
        (418, "x-amzn-errortype: SomethingNewException\r\n", "Tea", ErrorClass::BadRequest),
        (502, "", "bad gateway", ErrorClass::Server),
    ] {
        let failure = failed(status, headers, &format!(r#"{{"message":"{message}"}}"#)).await;
        assert_eq!((failure.class, failure.status), (class, Some(status)), "{headers}{message}");
        assert!(failure.detail.contains(message), "{failure:?}");
    }
}

#[tokio::test]
async fn it_is_asked_once_and_the_wait_that_is_asked_for_is_kept() {
    let headers = "x-amzn-errortype: ThrottlingException\r\nretry-after: 7\r\n";
    let step =
        Step::Answer { status: 429, headers, body: br#"{"message":"wJalrXUtnFEMI-secret is too fast"}"#.to_vec() };
    let (result, seen) = ask_one(step).await;
    let failure = result.unwrap_err();
    assert_eq!((seen.len(), failure.retry_after), (1, Some(Duration::from_secs(7))));
    assert_eq!(*failure.detail, *"ThrottlingException: [key] is too fast");
}

#[tokio::test]
async fn a_200_without_a_message_is_a_bad_response_that_may_be_billed() {
    for body in ["{}", "<html>", r#"{"stopReason":"end_turn","output":{}}"#] {
        let failure = failed(200, "", body).await;
        assert_eq!((failure.class, failure.status), (ErrorClass::BadResponse, Some(200)), "{body}: {failure:?}");
        assert!(failure.maybe_billed, "{body}");
    }
    let body = r#"{"stopReason":"end_turn","output":{},"usage":{"inputTokens":5,"outputTokens":2,"totalTokens":7},
        "serviceTier":{"type":"flex"}}"#;
    let billed = failed(200, "", body).await;
    assert_eq!((billed.usage.unwrap().input, billed.tier.as_deref()), (5, Some("flex")));
}

#[tokio::test]
async fn an_endpoint_that_is_gone_is_not_reached() {
    let server = Server::scripted(vec![Step::Close]).await;
    let gone = EndpointSpec { base_url: Some("http://127.0.0.1:1".to_owned()), ..spec(&server) };
    let failure = ask(&open(&gone), &hi()).await.unwrap_err();
    assert_eq!(
        (failure.class, failure.reach.is_unreached(), failure.maybe_billed),
        (ErrorClass::Connection, true, false),
        "{failure:?}"
    );
    let failure = ask(&open(&spec(&server)), &hi()).await.unwrap_err();
    assert_eq!(failure.class, ErrorClass::Connection, "{failure:?}");
}

#[tokio::test]
async fn an_answer_that_does_not_come_in_time_may_be_billed() {
    let head = b"HTTP/1.1 200 X\r\ncontent-length: 100\r\n\r\n{".to_vec();
    for (step, first_byte_ms, total_ms) in [(Step::Hang(Vec::new()), 30, 10_000), (Step::Hang(head), 10_000, 60)] {
        let server = Server::scripted(vec![step]).await;
        let timeouts = Timeouts { connect_ms: 5_000, first_byte_ms, total_ms };
        let failure = ask(&open(&EndpointSpec { timeouts, ..spec(&server) }), &hi()).await.unwrap_err();
        assert_eq!((failure.class, failure.maybe_billed), (ErrorClass::Timeout, true), "{failure:?}");
    }
}

#[tokio::test]
async fn what_converse_cannot_say_is_a_bad_request() {
    let server = Server::scripted(vec![Step::Close]).await;
    let failure = ask(&open(&spec(&server)), &ChatRequest { logprobs: Some(2), ..hi() }).await.unwrap_err();
    assert_eq!(failure.class, ErrorClass::BadRequest);
    assert!(server.seen().is_empty());
}
