use regatta_proto::EndpointKind;

use super::*;
use crate::scripted::{Server, Step};

const LIST: &str = r#"{"object": "list", "data": [{"id": "small"}]}"#;

fn spec(server: &Server) -> EndpointSpec {
    EndpointSpec {
        base_url: Some(server.base_url.clone()),
        api_key_env: Some("OWN_KEY".to_owned()),
        ..EndpointSpec::of_kind(EndpointKind::Openai)
    }
}

fn open(spec: &EndpointSpec) -> Option<Probe> {
    let env = |name: &str| (name == "OWN_KEY").then(|| "own-key-0123456789".to_owned());
    Probe::open(&"main".parse().unwrap(), spec, &env, &OutboundPolicy::trusting()).unwrap()
}

async fn probed(step: Step) -> Probed {
    let server = Server::scripted(vec![step]).await;
    open(&spec(&server)).unwrap().ask().await
}

#[tokio::test]
async fn a_list_is_asked_for_once_with_the_key() {
    let server = Server::scripted(vec![Step::ok(LIST)]).await;
    let Probed::Listed(list) = open(&spec(&server)).unwrap().ask().await else { panic!("it is listed") };
    assert!(!list.lacks("small") && list.lacks("large"));
    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    assert!(seen[0].head.starts_with("get /v1/models http/1.1"), "{}", seen[0].head);
    assert!(seen[0].head.contains("authorization: bearer own-key-0123456789"), "{}", seen[0].head);
}

#[tokio::test]
async fn a_key_that_is_refused_is_told_from_one_that_may_not_list_models() {
    let refusal = r#"{"error": {"message": "Incorrect API key provided: own-key-0123456789"}}"#;
    let told = "HTTP 401: Incorrect API key provided: [key]".to_owned();
    assert_eq!(probed(Step::status(401, refusal)).await, Probed::KeyRefused(told));
    assert_eq!(probed(Step::status(401, "")).await, Probed::KeyRefused("HTTP 401".to_owned()));
    let of_gemini = r#"{"error": {"message": "API key not valid. Please pass a valid API key."}}"#;
    assert!(matches!(probed(Step::status(400, of_gemini)).await, Probed::KeyRefused(_)));
    let scopes = r#"{"error": {"message": "You have insufficient permissions. Missing scopes: api.model.read."}}"#;
    for step in [Step::status(403, refusal), Step::status(401, scopes)] {
        assert!(matches!(probed(step.clone()).await, Probed::NoList(_)), "{step:?}");
    }
}

#[tokio::test]
async fn an_endpoint_without_a_list_says_nothing_about_its_key() {
    for step in [Step::status(404, "no such page"), Step::status(429, ""), Step::status(503, ""), Step::ok("{}")] {
        assert!(matches!(probed(step.clone()).await, Probed::NoList(_)), "{step:?}");
    }
    let huge = probed(Step::ok(vec![b' '; LIST_BYTES_MAX + 1])).await;
    assert_eq!(huge, Probed::NoList(format!("its list of models is larger than {LIST_BYTES_MAX} bytes")));
}

#[tokio::test]
async fn a_page_for_browsers_is_not_repeated_and_refuses_no_key() {
    const PAGE: &str = "\n<!DOCTYPE html><html><title>Log in</title></html>";
    for status in [401, 404, 405] {
        let told = format!("HTTP {status}: a page for browsers");
        assert_eq!(probed(Step::status(status, PAGE)).await, Probed::NoList(told));
    }
}

#[tokio::test]
async fn an_endpoint_that_breaks_off_has_not_answered() {
    let cut = b"HTTP/1.1 200 X\r\ncontent-length: 9\r\n\r\n{".to_vec();
    for step in [Step::Close, Step::Raw(cut)] {
        assert!(matches!(probed(step.clone()).await, Probed::NoAnswer(_)), "{step:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_is_silent_is_not_waited_for() {
    let server = Server::scripted(vec![Step::Hang(Vec::new())]).await;
    let mut spec = spec(&server);
    // Time goes by of itself here, also while a connection is made.
    spec.timeouts.connect_ms = 86_400_000;
    let waited = Probed::NoAnswer("it did not answer within 10 s".to_owned());
    assert_eq!(open(&spec).unwrap().ask().await, waited);
}

#[tokio::test]
async fn kinds_without_such_a_list_are_not_asked() {
    for kind in [EndpointKind::Bedrock, EndpointKind::Simulated, EndpointKind::Encoder, EndpointKind::Recorded] {
        assert!(open(&EndpointSpec::of_kind(kind)).is_none(), "{kind:?}");
    }
}
