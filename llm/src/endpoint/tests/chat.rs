//! Requests and results of chat calls.

use futures::future::join_all;
use regatta_proto::{ClientFormat, Finish, Money, Passed, SessionSeed, Trial, Usage};

use super::*;
use crate::SessionTag;
use crate::scripted::Step;

fn price() -> Price {
    Price { cached_input_per_mtok: Some(0.5), ..Price::per_mtok(1.0, 10.0) }
}

async fn answer_to(body: &str) -> Call {
    let server = Server::scripted(vec![Step::ok(body)]).await;
    open(&spec(&server)).chat().await.unwrap()
}

fn completion(content: &str, finish: &str) -> String {
    format!(r#"{{"choices":[{{"message":{{"content":{content}}},"finish_reason":{finish}}}]}}"#)
}

#[tokio::test]
async fn an_answer_comes_back_whole() {
    let headers = "x-request-id: req_1\r\nx-regatta-simulated: 1\r\n";
    let server = Server::scripted(vec![Step::Answer { status: 200, headers, body: HELLO.into() }]).await;
    let bench = open(&spec(&server));
    let request = request();
    let mut call = bench
        .endpoint
        .chat(ChatCall { payer: payer(&bench.sweep, Some(&price())), ..bench.call(&request) })
        .await
        .unwrap();
    assert!(call.latency_us > 0);
    // A busy machine takes its time for a permit, too.
    (call.latency_us, call.waited_us) = (0, 0);
    insta::assert_json_snapshot!(call, @r#"
    {
      "role": "agent",
      "attempt": 2,
      "model": "main/asked-model",
      "request": {
        "messages": [
          {
            "role": "user",
            "content": "hi"
          }
        ],
        "sampling": {}
      },
      "reply": {
        "text": "hello \"you\"",
        "finish": "stop"
      },
      "usage": {
        "input": 10,
        "cached_input": 6,
        "output": 4,
        "reasoning": 1
      },
      "raw_usage": {
        "prompt_tokens": 10,
        "completion_tokens": 4,
        "total_tokens": 14,
        "prompt_tokens_details": {
          "cached_tokens": 6
        },
        "completion_tokens_details": {
          "reasoning_tokens": 1
        }
      },
      "cost": 47000,
      "served": {
        "model": "served-model",
        "fingerprint": "fp_1",
        "request_id": "req_1",
        "simulated": true
      },
      "latency_us": 0,
      "at": "2026-01-01T00:00:00Z"
    }
    "#);
}

#[tokio::test]
async fn a_request_carries_model_messages_and_key() {
    let server = Server::scripted(vec![Step::ok(HELLO)]).await;
    open(&spec(&server)).chat().await.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(seen.body, r#"{"model":"asked-model","messages":[{"role":"user","content":"hi"}]}"#);
    assert!(seen.head.starts_with("post /v1/chat/completions http/1.1"), "{}", seen.head);
    for header in ["content-type: application/json", &format!("authorization: bearer {KEY}"), "user-agent: regatta/"] {
        assert!(seen.head.contains(header), "{header} in {}", seen.head);
    }
    assert!(!seen.head.contains("x-regatta-"));
}

#[tokio::test]
async fn sessions_are_named_only_where_asked_for() {
    let (benchmark, setting, item) =
        ("worfbench".parse().unwrap(), "turn/single".parse().unwrap(), "näh 1%".parse().unwrap());
    let tag = SessionTag {
        benchmark: &benchmark,
        setting: &setting,
        item: &item,
        trial: Trial(3),
        role: Role::Agent,
        seed: SessionSeed(u64::MAX >> 1),
    };
    let server = Server::scripted(vec![Step::ok(HELLO)]).await;
    let (silent, request) = (spec(&server), request());
    let telling = EndpointSpec { identify_sessions: true, ..silent.clone() };
    let simulated = EndpointSpec { kind: EndpointKind::Simulated, ..silent.clone() };
    for spec in [silent, telling, simulated] {
        let bench = open(&spec);
        bench.endpoint.chat(ChatCall { session: Some(tag), ..bench.call(&request) }).await.unwrap();
    }
    let bench = open(&EndpointSpec { identify_sessions: true, ..spec(&server) });
    let user = SessionTag { role: Role::User, ..tag };
    bench.endpoint.chat(ChatCall { session: Some(user), role: Role::User, ..bench.call(&request) }).await.unwrap();
    let of_team = ChatRequest { member: Some("intent".parse().unwrap()), ..request.clone() };
    bench.endpoint.chat(ChatCall { session: Some(tag), ..bench.call(&of_team) }).await.unwrap();
    let named: Vec<Vec<String>> = server
        .seen()
        .iter()
        .map(|seen| {
            let mut named: Vec<String> =
                seen.head.lines().filter(|line| line.starts_with("x-regatta-")).map(str::to_owned).collect();
            named.sort();
            named
        })
        .collect();
    assert!(named[0].is_empty());
    assert_eq!(named[1], named[2]);
    let also: Vec<&String> = named[3].iter().filter(|line| !named[1].contains(line)).collect();
    assert_eq!(also, ["x-regatta-role: user"], "the agent goes without saying");
    let also: Vec<&String> = named[4].iter().filter(|line| !named[1].contains(line)).collect();
    assert_eq!(also, ["x-regatta-member: intent"]);
    insta::assert_snapshot!(named[1].join("\n"), @r#"
    x-regatta-benchmark: worfbench
    x-regatta-item: n%c3%a4h%201%25
    x-regatta-seed: 9223372036854775807
    x-regatta-setting: turn/single
    x-regatta-trial: 3
    "#);
}

#[tokio::test]
async fn a_reply_is_text_null_or_joined_parts() {
    let parts = r#"[{"type":"text","text":"a\n"},"b",{"type":"image_url","image_url":{}},{"text":"c","type":"text"}]"#;
    for (content, expected) in [
        (r#""""#, Some("")),
        (r#""\u00e9\ud83d\ude00""#, Some("é😀")),
        ("null", None),
        ("[]", None),
        (parts, Some("a\nbc")),
    ] {
        assert_eq!(answer_to(&completion(content, "\"stop\"")).await.reply.text.as_deref(), expected, "{content}");
    }
    let missing = r#"{"choices":[{"message":{"role":"assistant"}}]}"#;
    assert_eq!(answer_to(missing).await.reply.text, None);
}

#[tokio::test]
async fn the_reason_to_stop_is_kept() {
    for (word, finish) in [
        ("\"stop\"", Finish::Stop),
        ("\"length\"", Finish::Length),
        ("\"tool_calls\"", Finish::ToolCalls),
        ("null", Finish::Other),
    ] {
        assert_eq!(answer_to(&completion("\"x\"", word)).await.reply.finish, finish, "{word}");
    }
}

#[tokio::test]
async fn fields_nobody_scores_do_not_spoil_an_answer() {
    let body = r#"{"id":7,"model":{"a":[1]},"system_fingerprint":[],"created":"x","choices":[{"message":{"content":"x"},"finish_reason":3}],"usage":"none"}"#;
    let call = answer_to(body).await;
    assert_eq!(call.reply.text.as_deref(), Some("x"));
    assert_eq!(call.served, regatta_proto::Served::default());
}

#[tokio::test]
async fn the_cost_is_known_only_with_a_price_and_with_tokens() {
    let without_usage = completion("\"x\"", "\"stop\"");
    let server =
        Server::with(move |number, _| Step::ok(if number == 2 { without_usage.clone() } else { HELLO.into() })).await;
    let bench = open(&spec(&server));
    let request = request();
    let price = price();
    let priced = ChatCall { payer: payer(&bench.sweep, Some(&price)), ..bench.call(&request) };
    let cost = |call: Result<Call, CallError>| call.unwrap().cost;
    // 4 fresh tokens at 1 $, 6 cached at 0.5 $ and 4 generated at 10 $ per million.
    assert_eq!(cost(bench.endpoint.chat(priced).await), Some(Money(4_000 + 3_000 + 40_000)));
    assert_eq!(cost(bench.chat().await), None);
    let unmetered = bench.endpoint.chat(priced).await.unwrap();
    assert_eq!(
        (unmetered.cost, unmetered.usage, unmetered.raw_usage),
        (None, Usage::default().of_unmetered_call(), None)
    );
}

#[tokio::test]
async fn no_more_requests_are_in_flight_than_allowed() {
    let server = Server::scripted(vec![Step::Gated(HELLO.into())]).await;
    let mut spec = spec(&server);
    spec.limits.concurrency = 3;
    let bench = Arc::new(open(&spec));
    let calls: Vec<_> = (0..12)
        .map(|_| {
            let bench = Arc::clone(&bench);
            tokio::spawn(async move { bench.chat().await })
        })
        .collect();
    server.waiting.clone().wait_for(|waiting| waiting.now == 3).await.unwrap();
    assert_eq!(bench.endpoint.in_flight(), 3);
    server.gate.add_permits(12);
    for call in join_all(calls).await {
        assert!(call.unwrap().is_ok());
    }
    assert_eq!((bench.endpoint.in_flight(), server.seen().len()), (0, 12));
    assert_eq!(server.waiting.borrow().most, 3);
}

#[tokio::test]
async fn an_interrupted_call_still_brings_home_the_answer_in_flight() {
    let server = Server::scripted(vec![Step::Gated(HELLO.into())]).await;
    let bench = Arc::new(open(&spec(&server)));
    let call = tokio::spawn({
        let bench = Arc::clone(&bench);
        async move { bench.chat().await }
    });
    server.waiting.clone().wait_for(|waiting| waiting.now == 1).await.unwrap();
    bench.interrupt.cancel();
    server.gate.add_permits(1);
    assert!(call.await.unwrap().is_ok());
    assert_eq!(bench.endpoint.in_flight(), 0);
}

#[tokio::test]
async fn what_happens_is_counted() {
    let server = Server::scripted(vec![Step::status(503, "busy"), Step::ok(HELLO), Step::status(400, "")]).await;
    let bench = open(&spec(&server));
    let request = request();
    bench.endpoint.chat(ChatCall { payer: payer(&bench.sweep, Some(&price())), ..bench.call(&request) }).await.unwrap();
    bench.tries().await;
    let counted: Vec<String> = bench
        .metrics()
        .lines()
        .filter(|line| !line.starts_with('#') && !line.contains("_bucket") && !line.contains("_sum"))
        .map(str::to_owned)
        .collect();
    insta::assert_snapshot!(counted.join("\n"), @r#"
    regatta_llm_breaker_open{endpoint="main"} 0
    regatta_llm_call_duration_seconds_count{endpoint="main"} 1
    regatta_llm_calls_in_flight{endpoint="main"} 0
    regatta_llm_calls_total{class="bad_request",code="400",endpoint="main"} 1
    regatta_llm_calls_total{class="ok",code="200",endpoint="main"} 1
    regatta_llm_calls_total{class="server",code="503",endpoint="main"} 1
    regatta_llm_cost_nanodollars_total{endpoint="main"} 47000
    regatta_llm_first_token_seconds_count{endpoint="main"} 0
    regatta_llm_permit_wait_seconds_count{endpoint="main"} 3
    regatta_llm_permits_waiting{endpoint="main"} 0
    regatta_llm_pool_factor{endpoint="main"} 1
    regatta_llm_quarantined_total{endpoint="main"} 0
    regatta_llm_retries_total{class="bad_response",endpoint="main"} 0
    regatta_llm_retries_total{class="connection",endpoint="main"} 0
    regatta_llm_retries_total{class="rate_limited",endpoint="main"} 0
    regatta_llm_retries_total{class="server",endpoint="main"} 1
    regatta_llm_retries_total{class="timeout",endpoint="main"} 0
    regatta_llm_tokens_total{endpoint="main",kind="cached_input"} 6
    regatta_llm_tokens_total{endpoint="main",kind="input"} 10
    regatta_llm_tokens_total{endpoint="main",kind="output"} 4
    regatta_llm_tokens_total{endpoint="main",kind="reasoning"} 1
    regatta_llm_unpriced_calls_total{endpoint="main"} 0
    "#);
}

#[tokio::test]
async fn an_endpoint_that_only_judges_refuses_to_chat() {
    let recorded = EndpointSpec { path: Some("judge.jsonl".into()), ..EndpointSpec::of_kind(EndpointKind::Recorded) };
    let endpoint = try_open(&recorded, Path::new("/nowhere"), Some(b""), &Registry::new()).unwrap();
    let server = Server::scripted(vec![Step::ok(HELLO)]).await;
    let bench = Bench { endpoint, ..open(&spec(&server)) };
    let tries = bench.tries().await;
    assert_eq!((tries.len(), tries[0].class), (1, ErrorClass::BadRequest));
}

#[tokio::test]
async fn a_service_tier_of_a_clients_own_is_not_asked_for_unless_it_has_a_price() {
    let server = Server::scripted(vec![Step::ok(HELLO)]).await;
    let bench = open(&spec(&server));
    let fields = [("service_tier".to_owned(), "priority".into())].into();
    let passed = Passed { format: ClientFormat::Chat, fields };
    let request = ChatRequest { passed: Some(passed.into()), ..request() };
    let unpriced = price();
    let priced = Price { variants: [("priority".to_owned(), price())].into(), ..price() };
    let call = |price| ChatCall { payer: payer(&bench.sweep, Some(price)), ..bench.call(&request) };
    let Err(CallError::Failed(failed)) = bench.endpoint.chat(call(&unpriced)).await else { panic!("it was sent") };
    assert_eq!(failed.tries[0].class, ErrorClass::BadRequest);
    assert!(failed.tries[0].detail.starts_with("`service_tier` \"priority\" has no price for asked-model"));
    assert!(server.seen().is_empty());
    bench.endpoint.chat(call(&priced)).await.unwrap();
}
