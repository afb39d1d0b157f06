//! Tests against a scripted server that answers by method and path.

use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use jiff::{SignedDuration, Timestamp};
use prometheus::Registry;
use regatta_proto::{
    AccountId, BenchmarkName, CacheMode, ChatMessage, ChatRequest, ChatRole, ItemId, Money, Price, Retries, Role,
    Sampling, SessionSeed, Setting, Trial,
};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::permits::fake::FakeStore;
use crate::scripted::{Seen, Server, Step};
use crate::{SessionTag, rule};

const MADE: &str = r#"{"id":"batch_1","object":"batch","status":"validating"}"#;
const DONE: &str = r#"{"id":"batch_1","object":"batch","status":"completed","output_file_id":"file-out","created_at":1767225600,"completed_at":1767229200}"#;
const HELLO: &str = r#"{"id":"chatcmpl-1","model":"served-model","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":4}}"#;

fn new_year() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// Names of the session that the calls of a batch belong to.
struct Session {
    benchmark: BenchmarkName,
    setting: Setting,
    item: ItemId,
    price: Price,
    cache: CacheMode,
}

impl Session {
    fn new() -> Self {
        Self {
            benchmark: "b".parse().unwrap(),
            setting: "s".parse().unwrap(),
            item: "i".parse().unwrap(),
            price: Price::per_mtok(1.0, 10.0),
            cache: CacheMode::Off,
        }
    }

    fn call<'a>(&'a self, request: &'a ChatRequest) -> BatchCall<'a> {
        BatchCall {
            model: "m",
            role: Role::Agent,
            attempt: 3,
            request,
            price: Some(&self.price),
            cache: self.cache,
            session: SessionTag {
                benchmark: &self.benchmark,
                setting: &self.setting,
                item: &self.item,
                trial: Trial(0),
                role: Role::Agent,
                seed: SessionSeed(7),
            },
        }
    }
}

fn request() -> ChatRequest {
    let sampling = Sampling { max_tokens: Some(100), ..Sampling::default() };
    ChatRequest::new(vec![ChatMessage::new(ChatRole::User, "hi")], sampling)
}

fn open_with(server: &Server, kind: EndpointKind, store: &FakeStore) -> BatchClient {
    let spec = EndpointSpec {
        base_url: Some(server.base_url.clone()),
        api_key_env: Some("none".to_owned()),
        retries: Retries { attempts: 3, base_delay_ms: 1, max_delay_ms: 5, ..Retries::default() },
        ..EndpointSpec::of_kind(kind)
    };
    BatchClient::open(&"main".parse().unwrap(), &spec, &store.context(&Registry::new(), "worker")).unwrap()
}

fn open(server: &Server) -> BatchClient {
    open_with(server, EndpointKind::Openai, &FakeStore::default())
}

/// The request line, lower-case, without the version.
fn line(seen: &Seen) -> String {
    let line = seen.head.lines().next().unwrap_or_default();
    line.trim_end_matches(" http/1.1").to_owned()
}

/// Answers each request line with `answers`, whose second argument counts the requests of that line from 0.
async fn server(answers: impl Fn(&str, usize) -> Step + Send + Sync + 'static) -> Server {
    let counts = std::sync::Mutex::new(std::collections::HashMap::<String, usize>::new());
    Server::with(move |_, seen| {
        let line = line(seen);
        let mut counts = counts.lock().unwrap();
        let count = counts.entry(line.clone()).or_default();
        *count += 1;
        answers(&line, *count - 1)
    })
    .await
}

fn times(server: &Server, wanted: &str) -> usize {
    server.seen().iter().filter(|seen| line(seen) == wanted).count()
}

async fn submit(client: &BatchClient) -> Result<String, SubmitError> {
    let (session, request) = (Session::new(), request());
    let prepared = client.prepare("0a1b", &[session.call(&request)]).await;
    client.submit("0a1b", prepared, &CancellationToken::new(), &|| ready(true).boxed()).await
}

async fn collect(client: &BatchClient, lines: usize) -> Result<Collected, Try> {
    let (session, request) = (Session::new(), request());
    client.collect("0a1b", "batch_1", &vec![session.call(&request); lines]).await
}

fn result(position: usize) -> String {
    format!(
        r#"{{"id":"r","custom_id":"0a1b-{position}","response":{{"status_code":200,"request_id":"req-{position}","body":{HELLO}}},"error":null}}"#
    )
}

#[tokio::test]
async fn a_file_is_uploaded_as_often_as_it_takes_and_a_batch_made_of_it_once() {
    let server = server(|line, count| match (line, count) {
        ("post /v1/files", 0) => Step::status(500, "out of order"),
        ("post /v1/files", _) => Step::ok(r#"{"id":"file-1","object":"file"}"#),
        _ => Step::ok(MADE),
    })
    .await;
    assert_eq!(submit(&open(&server)).await.unwrap(), "batch_1");
    assert_eq!((times(&server, "post /v1/files"), times(&server, "post /v1/batches")), (2, 1));
    let seen = server.seen();
    let body: serde_json::Value = serde_json::from_str(&seen.last().unwrap().body).unwrap();
    assert_eq!((&body["input_file_id"], &body["metadata"]["regatta_batch"]), (&"file-1".into(), &"0a1b".into()));
}

#[tokio::test]
async fn a_batch_that_may_have_been_made_is_never_asked_for_again() {
    for step in [Step::status(502, "bad gateway"), Step::Close, Step::ok("<html>")] {
        let answer = step.clone();
        let server = server(move |line, _| match line {
            "post /v1/files" => Step::ok(r#"{"id":"file-1"}"#),
            _ => answer.clone(),
        })
        .await;
        let submitted = submit(&open(&server)).await;
        assert!(matches!(submitted, Err(SubmitError::Unclear(_))), "{step:?}: {submitted:?}");
        assert_eq!(times(&server, "post /v1/batches"), 1, "{step:?}");
    }
}

#[tokio::test]
async fn a_batch_that_was_refused_for_now_is_handed_in_again_and_one_that_was_refused_for_good_is_not() {
    for (status, tries) in [(429, 3), (400, 1), (401, 1)] {
        let server = server(move |line, _| match line {
            "post /v1/files" => Step::ok(r#"{"id":"file-1"}"#),
            _ => Step::status(status, "{}"),
        })
        .await;
        let submitted = submit(&open(&server)).await;
        assert!(matches!(submitted, Err(SubmitError::NotTaken(_))), "{status}: {submitted:?}");
        assert_eq!(times(&server, "post /v1/batches"), tries, "{status}");
    }
}

#[tokio::test]
async fn interrupted_before_it_is_handed_in_nothing_is() {
    let server = server(|_, _| Step::ok(r#"{"id":"file-1"}"#)).await;
    let (client, session, request) = (open(&server), Session::new(), request());
    let prepared = client.prepare("0a1b", &[session.call(&request)]).await;
    let interrupt = CancellationToken::new();
    interrupt.cancel();
    assert_eq!(
        client.submit("0a1b", prepared, &interrupt, &|| ready(true).boxed()).await,
        Err(SubmitError::Interrupted)
    );
    assert_eq!(times(&server, "post /v1/batches"), 0);
}

#[tokio::test]
async fn a_batch_is_asked_for_only_as_long_as_it_may_be_made() {
    for asks in [0, 1] {
        let server = server(|line, _| match line {
            "post /v1/files" => Step::ok(r#"{"id":"file-1"}"#),
            _ => Step::status(429, "{}"),
        })
        .await;
        let (client, session, request) = (open(&server), Session::new(), request());
        let prepared = client.prepare("0a1b", &[session.call(&request)]).await;
        let asked = AtomicUsize::new(0);
        let may_create = || ready(asked.fetch_add(1, Ordering::SeqCst) < asks).boxed();
        let submitted = client.submit("0a1b", prepared, &CancellationToken::new(), &may_create).await;
        assert_eq!(submitted, Err(SubmitError::Interrupted));
        assert_eq!((times(&server, "post /v1/files"), times(&server, "post /v1/batches")), (1, asks));
    }
}

#[tokio::test]
async fn results_that_break_off_are_read_again_from_their_beginning() {
    let whole = format!("{}\n{}\n", result(1), result(0));
    let server = server(move |line, count| match (line, count) {
        ("get /v1/files/file-out/content", 0) => {
            let head = format!("HTTP/1.1 200 X\r\ncontent-length: {}\r\n\r\n", whole.len());
            Step::Raw(format!("{head}{}", &whole[..whole.len() - 10]).into())
        }
        ("get /v1/files/file-out/content", _) => Step::Chunks(whole.bytes().map(|byte| vec![byte]).collect()),
        _ => Step::ok(DONE),
    })
    .await;
    let collected = collect(&open(&server), 2).await.unwrap();
    for (position, call) in collected.calls.iter().enumerate() {
        let call = call.as_ref().unwrap();
        assert_eq!(call.served.request_id, Some(format!("req-{position}")));
        assert_eq!((call.cost, call.attempt, call.latency_us), (Some(Money(50_000)), 3, 3_600_000_000));
    }
}

#[tokio::test]
async fn an_answer_that_a_filter_withheld_is_one_in_a_batch_too() {
    let filtered = result(0).replace(r#""finish_reason":"stop""#, r#""finish_reason":"content_filter""#);
    let server = server(move |line, _| match line {
        "get /v1/files/file-out/content" => Step::ok(filtered.clone()),
        _ => Step::ok(DONE),
    })
    .await;
    let collected = collect(&open(&server), 1).await.unwrap();
    let failed = collected.calls[0].as_ref().unwrap_err();
    assert_eq!(failed.tries[0].class, ErrorClass::ContentFilter, "what is left of it is not the model's answer");
    assert_eq!(
        (failed.tries[0].cost, failed.tries[0].at_most),
        (Some(Money(50_000)), None),
        "it was billed all the same"
    );
}

#[tokio::test]
async fn a_line_whose_tokens_are_not_told_has_unknown_ones_and_an_unknown_cost() {
    let untold =
        result(0).replace(r#""prompt_tokens":10,"completion_tokens":4"#, r#""prompt_tokens":0,"completion_tokens":0"#);
    let server = server(move |line, _| match line {
        "get /v1/files/file-out/content" => Step::ok(untold.clone()),
        _ => Step::ok(DONE),
    })
    .await;
    let collected = collect(&open(&server), 1).await.unwrap();
    let call = collected.calls[0].as_ref().unwrap();
    assert_eq!((call.usage.unmetered_calls, call.cost), (1, None));
}

#[tokio::test]
async fn a_line_that_cannot_be_read_is_as_good_as_missing_and_strangers_are_left_out() {
    let server = server(|line, _| match line {
        "get /v1/files/file-out/content" => {
            Step::ok(format!("{{\n{}\n{}\n", result(0).replace("0a1b", "else"), result(7)))
        }
        _ => Step::ok(DONE),
    })
    .await;
    let collected = collect(&open(&server), 1).await.unwrap();
    let failed = collected.calls[0].as_ref().unwrap_err();
    assert_eq!((failed.tries[0].class, failed.tries[0].at_most), (ErrorClass::BadResponse, Some(Money(1_018_000))));
}

#[tokio::test]
async fn no_answer_leads_a_request_elsewhere() {
    let server = server(|line, _| match line {
        "get /v1/batches/batch_1" => Step::ok(DONE.replace("file-out", "../../v2/secrets?x=")),
        _ => Step::ok("{}"),
    })
    .await;
    let client = open(&server);
    assert_eq!(collect(&client, 1).await.unwrap_err().class, ErrorClass::BadResponse);
    assert_eq!(client.poll("../files").await.unwrap_err().class, ErrorClass::BadResponse);
    assert_eq!(client.poll("..").await.unwrap_err().class, ErrorClass::BadResponse);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn our_batch_is_found_by_its_name_on_whatever_page_before_one_that_was_refused() {
    let server = server(|line, _| match line {
        "get /v1/batches?limit=100" => Step::ok(
            r#"{"data":[{"id":"b1","status":"failed","created_at":1767225660,"metadata":{"regatta_batch":"0a1b"}},
            {"id":"b2","status":"in_progress","created_at":1767225650,"metadata":{}}],"has_more":true}"#,
        ),
        "get /v1/batches?limit=100&after=b2" => Step::ok(
            r#"{"data":[{"id":"b3","status":"in_progress","created_at":1767225640,"metadata":{"regatta_batch":"0a1b"}}],"has_more":true}"#,
        ),
        _ => Step::status(404, "{}"),
    })
    .await;
    let client = open(&server);
    assert_eq!(client.find("0a1b", new_year()..=new_year(), 1).await.unwrap(), Found::Exactly("b3".to_owned()));
}

#[tokio::test]
async fn a_refused_batch_is_found_where_there_is_no_other_of_its_name() {
    let page = r#"{"data":[
        {"id":"b1","status":"failed","created_at":1767225660,"metadata":{"regatta_batch":"0a1b"}},
        {"id":"b2","status":"failed","created_at":1767225650,"metadata":{"regatta_batch":"0a1b"}},
        {"id":"b3","status":"in_progress","created_at":1767225640,"metadata":{"regatta_batch":"2c3d"}}],"has_more":false}"#;
    let server = server(move |_, _| Step::ok(page)).await;
    let found = open(&server).find("0a1b", new_year()..=new_year(), 1).await.unwrap();
    assert_eq!(found, Found::Exactly("b1".to_owned()), "the newest");
}

#[tokio::test]
async fn the_search_ends_where_batches_are_older_than_the_intent() {
    let server = server(|line, _| match line {
        "get /v1/batches?limit=100" => Step::ok(
            r#"{"data":[{"id":"b1","status":"in_progress","created_at":1767225000,"metadata":{}}],"has_more":true}"#,
        ),
        _ => Step::status(404, "{}"),
    })
    .await;
    assert_eq!(open(&server).find("0a1b", new_year()..=new_year(), 1).await.unwrap(), Found::Nothing);
    assert_eq!(server.seen().len(), 1);
}

/// To say that it is nowhere would have it paid for again.
#[tokio::test]
async fn a_list_without_an_end_does_not_say_that_a_batch_is_nowhere() {
    let page = r#"{"data":[{"id":"b1","status":"in_progress","created_at":1767225650,"metadata":{}}],"has_more":true}"#;
    let server = server(move |_, _| Step::ok(page)).await;
    let error = open(&server).find("0a1b", new_year()..=new_year(), 1).await.unwrap_err();
    assert!(rule(error.class).retried && error.detail.contains("longer than 200 pages"), "{error:?}");
    assert_eq!(server.seen().len(), 200);
}

#[tokio::test]
async fn candidates_are_batches_of_the_same_number_of_requests_made_at_about_that_time() {
    let batch = |id: &str, at: &str, requests: u32| {
        format!(
            r#"{{"id":"{id}","processing_status":"in_progress","created_at":"{at}","request_counts":{{"processing":{requests}}}}}"#
        )
    };
    let data = [
        batch("next_day", "2026-01-02T00:00:00Z", 2),
        batch("ours", "2026-01-01T00:00:30Z", 2),
        batch("larger", "2026-01-01T00:00:20Z", 3),
        batch("day_before", "2025-12-31T00:00:00Z", 2),
    ];
    let page = format!(r#"{{"data":[{}],"has_more":false}}"#, data.join(","));
    let server = server(move |_, _| Step::ok(page.clone())).await;
    let client = open_with(&server, EndpointKind::Anthropic, &FakeStore::default());
    let found = client.find("0a1b", new_year()..=new_year(), 2).await.unwrap();
    assert_eq!(found, Found::Perhaps(vec!["ours".to_owned()]));
    // Of several intents, the last a day later.
    let found = client.find("0a1b", new_year()..=new_year() + SignedDuration::from_hours(24), 2).await.unwrap();
    assert_eq!(found, Found::Perhaps(vec!["next_day".to_owned(), "ours".to_owned()]));
    assert!(server.seen()[0].head.contains("anthropic-version: 2023-06-01"));
}

#[tokio::test]
async fn what_the_format_has_no_words_for_is_left_out_and_said() {
    let server = server(|_, _| Step::status(404, "{}")).await;
    let client = open_with(&server, EndpointKind::Anthropic, &FakeStore::default());
    let (session, request) = (Session::new(), request());
    let unsayable = ChatRequest { logprobs: Some(3), ..request.clone() };
    let calls = [session.call(&unsayable), session.call(&request)];
    assert_eq!(client.prepare("0a1b", &calls).await.lines, 1);
    let refusals = calls.map(|call| client.refusal(&call).map(|refusal| refusal.class));
    assert_eq!(refusals, [Some(ErrorClass::BadRequest), None]);
}

#[tokio::test]
async fn answers_of_a_batch_are_kept_for_the_next_time() {
    let server = server(|line, _| match line {
        "get /v1/files/file-out/content" => Step::ok(result(0)),
        _ => Step::ok(DONE),
    })
    .await;
    let client = open(&server);
    let (session, request) = (Session { cache: CacheMode::ReadWrite, ..Session::new() }, request());
    let call = session.call(&request);
    assert!(client.kept(&call).await.is_none());
    let collected = client.collect("0a1b", "batch_1", &[call]).await.unwrap();
    let kept = client.kept(&call).await.unwrap();
    assert_eq!(kept.saved, collected.calls[0].as_ref().unwrap().cost, "what it would have cost again");
    assert_eq!((kept.reply.text.as_deref(), kept.cost, kept.from_cache), (Some("hello"), Some(Money::ZERO), true));
}

#[tokio::test]
async fn a_batchs_money_is_reserved_once_and_settled_once_however_often_it_is_said() {
    let server = server(|_, _| Step::status(404, "{}")).await;
    let (store, sweep) = (FakeStore::default(), AccountId { sweep: "s".parse().unwrap(), model: None });
    store.budget(&sweep, Money(100));
    let client = open_with(&server, EndpointKind::Openai, &store);
    let (accounts, claim) = (std::slice::from_ref(&sweep), "w-1".parse().unwrap());
    for _ in 0..2 {
        assert_eq!(client.reserve("0a1b", accounts, Money(60), &claim).await.unwrap(), Funding::Reserved);
    }
    let short = client.reserve("2c3d", accounts, Money(60), &claim).await.unwrap();
    assert!(matches!(short, Funding::Short { left: Money(40), .. }), "{short:?}");
    let spending = Spending { spent: Money(7), maybe_spent: Money(3), in_flight: Money::ZERO };
    for _ in 0..2 {
        client.tell("0a1b", accounts, &spending, None).await.unwrap();
    }
    assert_eq!(store.account(&sweep), (Money(7), Money(3), Money::ZERO));
    assert_eq!(client.reserve("2c3d", accounts, Money(60), &claim).await.unwrap(), Funding::Reserved);
}
