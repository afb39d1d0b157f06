//! Single tries against a scripted server, whole and streamed, with correct and incorrect answers.

use prometheus::Registry;
use regatta_memory::ByteBudget;
use regatta_proto::{ChatMessage, ChatRole, Finish, Lane, Sampling, Thinking, Timeouts, Usage};
use serde_json::json;

use super::*;
use crate::permits::fake::FakeStore;
use crate::scripted::{Server, Step};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const ROLE: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
const TEXT: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"héllo\"}}]}\n\n";
const STOP: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\n";
const DONE: &str = "data: [DONE]\n\n";
const BILLED: Usage =
    Usage { input: 9, cached_input: 0, cache_write: 0, cache_write_1h: 0, output: 2, reasoning: 0, unmetered_calls: 0 };

fn spec(kind: EndpointKind, server: &Server) -> EndpointSpec {
    EndpointSpec {
        base_url: Some(server.base_url.clone()),
        api_key_env: Some("KEY".into()),
        ..EndpointSpec::of_kind(kind)
    }
}

fn streaming(server: &Server) -> EndpointSpec {
    EndpointSpec { stream: true, ..spec(EndpointKind::Openai, server) }
}

fn open(spec: &EndpointSpec) -> HttpClient {
    let env = |name: &str| (name == "KEY").then(|| "sk-secret".to_owned());
    let context = OpenContext { env: &env, ..FakeStore::default().context(&Registry::new(), "worker") };
    HttpClient::open(&"main".parse().unwrap(), spec, &context).unwrap()
}

fn request() -> ChatRequest {
    ChatRequest::new(vec![ChatMessage::new(ChatRole::User, "hi")], Sampling::default())
}

async fn once(spec: &EndpointSpec) -> Result<Completion, Failure> {
    let client = open(spec);
    Ok(client.once(&client.prepare("m", &request(), None).unwrap(), client.bytes.holder().read()).await?.value)
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// A server that streams these events correctly.
async fn streams(events: &[&str]) -> Server {
    Server::scripted(vec![Step::Chunks(events.iter().map(|event| event.as_bytes().to_vec()).collect())]).await
}

#[tokio::test]
async fn a_streamed_answer_is_read_to_its_end_and_its_first_token_timed() {
    let server = streams(&[": ping\n\n", ROLE, TEXT, STOP, USAGE, DONE]).await;
    let begun = std::time::Instant::now();
    let completion = once(&streaming(&server)).await.unwrap();
    assert_eq!((completion.reply.text.as_deref(), completion.reply.finish), (Some("héllo"), Finish::Stop));
    assert_eq!((completion.usage, completion.usage_is_known), (BILLED, true));
    let first_token = completion.first_token.unwrap();
    assert!(!first_token.is_zero() && first_token <= begun.elapsed());
    assert!(server.seen()[0].body.ends_with(r#""stream":true,"stream_options":{"include_usage":true}}"#));
}

#[tokio::test]
async fn a_connection_serves_one_stream_after_another() {
    let server = streams(&[ROLE, TEXT, STOP, DONE]).await;
    let client = open(&streaming(&server));
    let prepared = client.prepare("m", &request(), None).unwrap();
    for _ in 0..10 {
        client.once(&prepared, client.bytes.holder().read()).await.unwrap();
    }
    assert_eq!((server.seen().len(), server.connections()), (10, 1));
}

#[tokio::test]
async fn of_a_stream_only_the_parts_of_the_answer_count() {
    // Providers pad events, so that their lengths tell nothing.
    let padding = "o".repeat(100_000);
    let padded = format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"x\"}}}}],\"obfuscation\":\"{padding}\"}}\n\n"
    );
    let events: Vec<&str> = [ROLE].into_iter().chain([&*padded; 40]).chain([STOP, USAGE, DONE]).collect();
    let server = streams(&events).await;
    let client = open(&streaming(&server));
    let budget = ByteBudget::new(4 << 20);
    assert!(budget.largest() < 40 * padding.len() as u64);
    let received = client.once(&client.prepare("m", &request(), None).unwrap(), budget.holder().read()).await.unwrap();
    assert_eq!(received.value.reply.text.as_deref().map(str::len), Some(40));
    assert!(budget.held_max() < budget.largest(), "{}", budget.held_max());
}

#[tokio::test]
async fn a_stream_that_trickles_for_ever_ends_with_the_calls_time() {
    for again in ["6\r\n: ping\r\n", "1\r\n\n\r\n", "7\r\n: ping\n\r\n"] {
        let server =
            Server::scripted(vec![Step::Trickle([HEAD, &chunk(TEXT)].concat().into(), again.as_bytes())]).await;
        let timeouts = Timeouts { total_ms: 120, first_byte_ms: 60_000, ..Timeouts::default() };
        let failure = once(&EndpointSpec { timeouts, ..streaming(&server) }).await.unwrap_err();
        assert_eq!((failure.class, failure.status, failure.maybe_billed), (ErrorClass::Timeout, Some(200), true));
        assert_eq!(*failure.detail, *"the answer was not complete within 120 ms");
    }
}

#[tokio::test]
async fn a_whole_body_that_trickles_for_ever_ends_with_the_calls_time() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999\r\n\r\n{".to_vec();
    let server = Server::scripted(vec![Step::Trickle(head, b" ")]).await;
    let timeouts = Timeouts { total_ms: 120, ..Timeouts::default() };
    for stream in [false, true] {
        let failure =
            once(&EndpointSpec { timeouts, stream, ..spec(EndpointKind::Openai, &server) }).await.unwrap_err();
        assert_eq!((failure.class, failure.status, failure.maybe_billed), (ErrorClass::Timeout, Some(200), true));
    }
}

#[tokio::test]
async fn a_stream_that_stands_still_is_given_up_with_what_it_billed_so_far() {
    let begun = [HEAD, &chunk(TEXT), &chunk(USAGE)].concat();
    let server = Server::scripted(vec![Step::Hang(begun.into())]).await;
    let timeouts = Timeouts { first_byte_ms: 60, ..Timeouts::default() };
    let failure = once(&EndpointSpec { timeouts, ..streaming(&server) }).await.unwrap_err();
    assert_eq!((failure.class, &*failure.detail), (ErrorClass::Timeout, "the endpoint sent nothing for 60 ms"));
    assert_eq!(failure.usage, Some(BILLED));
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_is_a_failure_with_what_it_billed() {
    let error = "data: {\"error\":{\"message\":\"sk-secret is over its limit\",\"code\":429}}\n\n";
    let server = streams(&[ROLE, TEXT, USAGE, error]).await;
    let failure = once(&streaming(&server)).await.unwrap_err();
    assert_eq!((failure.class, failure.status, failure.usage), (ErrorClass::RateLimited, Some(200), Some(BILLED)));
    assert_eq!(*failure.detail, *"[key] is over its limit");
}

#[tokio::test]
async fn a_stream_that_is_cut_off_is_a_bad_response_that_may_be_billed() {
    let cut = [HEAD, &chunk(TEXT), "40\r\ndata: {\"cho"].concat();
    let ended = [HEAD, &chunk(TEXT), "0\r\n\r\n"].concat();
    for (bytes, detail) in [(cut, "the body broke off after "), (ended, "the stream ended before the answer did")] {
        let server = Server::scripted(vec![Step::Raw(bytes.into())]).await;
        let failure = once(&streaming(&server)).await.unwrap_err();
        assert_eq!((failure.class, failure.status, failure.maybe_billed), (ErrorClass::BadResponse, Some(200), true));
        assert!(failure.detail.starts_with(detail), "{}", failure.detail);
    }
}

#[tokio::test]
async fn an_answer_that_was_complete_stays_one_whatever_becomes_of_the_connection() {
    let complete = [HEAD, &chunk(TEXT), &chunk(STOP), &chunk(USAGE)].concat();
    let timeouts = Timeouts { first_byte_ms: 60, ..Timeouts::default() };
    for step in [Step::Raw(complete.clone().into()), Step::Hang(complete.into())] {
        let server = Server::scripted(vec![step]).await;
        let completion = once(&EndpointSpec { timeouts, ..streaming(&server) }).await.unwrap();
        assert_eq!((completion.reply.text.as_deref(), completion.usage), (Some("héllo"), BILLED));
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood_and_so_is_one_that_fails() {
    let whole = r#"{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}"#;
    for headers in ["content-type: application/json\r\n", "content-type: text/event-stream\r\n", ""] {
        let server = Server::scripted(vec![Step::Answer { status: 200, headers, body: whole.into() }]).await;
        let completion = once(&streaming(&server)).await.unwrap();
        assert_eq!((completion.reply.text.as_deref(), completion.first_token), (Some("x"), None), "{headers}");
    }
    let server = Server::scripted(vec![Step::status(503, r#"{"error":{"message":"overloaded"}}"#)]).await;
    let failure = once(&streaming(&server)).await.unwrap_err();
    assert_eq!((failure.class, failure.status, &*failure.detail), (ErrorClass::Server, Some(503), "overloaded"));
}

#[tokio::test]
async fn a_stream_is_read_up_to_the_limit_and_no_byte_further() {
    let line = [b": ".as_slice(), &vec![b'x'; (1 << 20) - 3], b"\n"].concat();
    let server = Server::scripted(vec![Step::Chunks(vec![line; 65])]).await;
    let failure = once(&streaming(&server)).await.unwrap_err();
    assert_eq!((failure.class, &*failure.detail), (ErrorClass::BadResponse, "the body is larger than 67108864 bytes"));
}

#[tokio::test]
async fn each_kind_sends_its_path_and_its_key() {
    let server = Server::scripted(vec![Step::status(500, "")]).await;
    for kind in [EndpointKind::Openai, EndpointKind::OpenaiResponses, EndpointKind::Azure, EndpointKind::Anthropic] {
        let _ = once(&spec(kind, &server)).await;
    }
    let heads: Vec<String> = server
        .seen()
        .iter()
        .map(|seen| {
            let wanted =
                |line: &&str| line.starts_with("post ") || line.contains("secret") || line.starts_with("anthropic");
            let mut lines: Vec<&str> = seen.head.lines().filter(wanted).collect();
            lines[1..].sort_unstable();
            lines.join(" · ")
        })
        .collect();
    insta::assert_snapshot!(heads.join("\n"), @r"
    post /v1/chat/completions http/1.1 · authorization: bearer sk-secret
    post /v1/responses http/1.1 · authorization: bearer sk-secret
    post /v1/openai/deployments/m/chat/completions?api-version=2024-10-21 http/1.1 · api-key: sk-secret
    post /v1/messages http/1.1 · anthropic-version: 2023-06-01 · x-api-key: sk-secret
    ");
}

#[tokio::test]
async fn headers_and_fields_of_the_spec_go_with_every_request() {
    let server = Server::scripted(vec![Step::status(500, "")]).await;
    let body = [("service_tier".to_owned(), json!("flex")), ("model".to_owned(), json!("other"))];
    let spec = EndpointSpec {
        headers: [("X-Title".to_owned(), "regatta".to_owned())].into(),
        body: body.into(),
        ..spec(EndpointKind::Openai, &server)
    };
    let _ = once(&spec).await;
    let seen = &server.seen()[0];
    assert!(seen.head.contains("x-title: regatta"));
    assert_eq!(seen.body, r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"service_tier":"flex"}"#);
}

#[tokio::test]
async fn what_a_format_cannot_say_is_a_bad_request_that_is_not_sent() {
    let server = Server::scripted(vec![Step::ok("")]).await;
    let client = open(&spec(EndpointKind::Openai, &server));
    let failure =
        client.prepare("m", &ChatRequest { thinking: Some(Thinking::Tokens(9)), ..request() }, None).unwrap_err();
    assert_eq!((failure.class, failure.status, failure.maybe_billed), (ErrorClass::BadRequest, None, false));
    let claude = open(&spec(EndpointKind::Anthropic, &server));
    let failure = claude.prepare_embeddings("m", &["x"]).unwrap_err();
    assert_eq!(*failure.detail, *"an endpoint of this kind has no embeddings");
    assert!(server.seen().is_empty());
}

/// A request with fields that a client of chat completions wrote.
fn passing(fields: Value) -> ChatRequest {
    let passed = Passed { format: ClientFormat::Chat, fields: serde_json::from_value(fields).unwrap() };
    ChatRequest { passed: Some(Arc::new(passed)), ..request() }
}

#[tokio::test]
async fn what_a_client_wrote_goes_to_an_endpoint_of_its_format_as_it_is_and_to_no_other() {
    let server = Server::scripted(vec![Step::ok("")]).await;
    let asked = passing(json!({"top_k": 5, "service_tier": "priority", "messages": [{"role": "user", "content": []}]}));
    let prepared = open(&spec(EndpointKind::Openai, &server)).prepare("m", &asked, None).unwrap();
    let sent: Value = serde_json::from_slice(&prepared.body).unwrap();
    assert_eq!((&sent["top_k"], &sent["service_tier"]), (&json!(5), &json!("priority")));
    assert_eq!((&sent["model"], &sent["messages"][0]["content"]), (&json!("m"), &json!([])));
    for kind in [EndpointKind::OpenaiResponses, EndpointKind::Anthropic] {
        let failure = open(&spec(kind, &server)).prepare("m", &asked, None).unwrap_err();
        assert_eq!((failure.class, failure.maybe_billed), (ErrorClass::BadRequest, false));
        let told = "`messages`, `service_tier`, `top_k` of the request can only be sent to an endpoint that has OpenAI's chat completions";
        assert!(failure.detail.starts_with(told), "{}", failure.detail);
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn fields_of_the_spec_count_whatever_a_client_wrote() {
    let server = Server::scripted(vec![Step::ok("")]).await;
    let body = [("service_tier".to_owned(), json!("flex"))].into();
    let client = open(&EndpointSpec { body, ..spec(EndpointKind::Openai, &server) });
    let prepared = client.prepare("m", &passing(json!({"service_tier": "priority", "top_k": 5})), None).unwrap();
    let sent: Value = serde_json::from_slice(&prepared.body).unwrap();
    assert_eq!((&sent["service_tier"], &sent["top_k"]), (&json!("flex"), &json!(5)), "who pays chose the tier");
}

#[tokio::test]
async fn lines_of_a_batch_are_not_streamed() {
    let server = Server::scripted(vec![Step::ok("")]).await;
    let client = open(&EndpointSpec { lane: Lane::Batch, ..streaming(&server) });
    let body = client.prepare("m", &request(), None).unwrap().body;
    assert!(!String::from_utf8_lossy(&body).contains("stream"));
}

/// The seed in the body of a request from a session with seed 7.
fn seed_sent(spec: &EndpointSpec, request: &ChatRequest) -> Value {
    let told = Told::Judgement(SessionSeed(7));
    let body = open(spec).prepare("m", request, Some(&told)).unwrap().body;
    let body: Value = serde_json::from_slice(&body).unwrap();
    body.pointer("/generationConfig/seed").or(body.get("seed")).cloned().unwrap_or(Value::Null)
}

#[tokio::test]
async fn a_provider_that_takes_a_seed_is_sent_the_sessions() {
    let key = |kind| EndpointSpec { api_key_env: Some("KEY".into()), ..EndpointSpec::of_kind(kind) };
    let azure = EndpointSpec {
        base_url: Some("https://us.openai.azure.com".into()),
        api_version: Some("2024-10-21".into()),
        ..key(EndpointKind::Azure)
    };
    for spec in [key(EndpointKind::Openai), key(EndpointKind::Gemini), azure] {
        assert_eq!(seed_sent(&spec, &request()), 7, "{:?}", spec.kind);
        assert_eq!(seed_sent(&EndpointSpec { send_seed: Some(false), ..spec }, &request()), Value::Null);
    }
    for kind in [EndpointKind::OpenaiResponses, EndpointKind::Anthropic] {
        assert_eq!(seed_sent(&key(kind), &request()), Value::Null, "{kind:?} has no field for it");
    }
}

#[tokio::test]
async fn a_server_that_resembles_a_provider_is_sent_a_seed_when_the_spec_says_so() {
    let spec = EndpointSpec {
        base_url: Some("http://127.0.0.1:1/v1".into()),
        api_key_env: Some("KEY".into()),
        ..EndpointSpec::of_kind(EndpointKind::Openai)
    };
    assert_eq!(seed_sent(&spec, &request()), Value::Null);
    let asked = EndpointSpec { send_seed: Some(true), ..spec };
    assert_eq!(seed_sent(&asked, &request()), 7);
    let mut own = request();
    own.sampling.seed = Some(1);
    assert_eq!(seed_sent(&asked, &own), 1, "a benchmark's own seed goes before the session's");
}

#[tokio::test]
async fn nothing_shows_the_key() {
    let spec = EndpointSpec {
        base_url: Some("http://127.0.0.1:1/v1".into()),
        api_key_env: Some("KEY".into()),
        ..EndpointSpec::of_kind(EndpointKind::Openai)
    };
    let client = open(&spec);
    let prepared = client.prepare("m", &request(), None).unwrap();
    assert!(!format!("{client:?} {prepared:?} {:?}", client.transport().headers()).contains("sk-secret"));
}
