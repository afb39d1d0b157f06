//! Agents that are services.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::serve::ListenerExt as _;
use regatta_llm::http_client;
use regatta_proto::{Cause, Event, ExternalAgent, Outcome, Simulation};
use regatta_worker::{Policy, PolicyFile};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Barrier;

use super::office::{Office, output, replies, service, story};

const LOST: Outcome = Outcome::NotMeasured { cause: Cause::AgentLost };

/// An agent that begins when `together` of them are there, asks twice, uses a tool, and tells what it heard.
#[derive(Clone)]
struct Asker {
    client: Client,
    together: Arc<Barrier>,
    running: Arc<AtomicU32>,
    most: Arc<AtomicU32>,
}

impl Asker {
    fn new(together: usize) -> Self {
        let open = std::sync::Arc::new(regatta_llm::EgressRules::open());
        let client = http_client(&"http://127.0.0.1/".parse().unwrap(), Duration::from_secs(60), open).unwrap();
        Self { client, together: Arc::new(Barrier::new(together)), running: Arc::default(), most: Arc::default() }
    }

    async fn serve(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let router = Router::new().route("/", post(Self::run)).with_state(self);
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }

    async fn run(State(asker): State<Self>, body: Bytes) -> (StatusCode, String) {
        let errand: Value = serde_json::from_slice(&body).unwrap();
        let told = |name: &str| errand[name].as_str().unwrap().to_owned();
        asker.most.fetch_max(asker.running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        asker.together.wait().await;
        let mut heard = Vec::new();
        for text in ["first ", "second "] {
            let text = format!("{text}{}", told("task"));
            let body = json!({"model": told("model"), "messages": [{"role": "user", "content": text}]});
            let url = format!("{}/chat/completions", told("base_url"));
            let request = asker.client.post(url).header("content-type", "application/json").body(body.to_string());
            let answer: Value = serde_json::from_slice(&request.send().await.unwrap().bytes().await.unwrap()).unwrap();
            heard.push(answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned());
        }
        let tool = asker.client.get(format!("{}/proxy/http/host:80/x", told("tools_url")));
        heard.push(tool.send().await.unwrap().text().await.unwrap());
        asker.running.fetch_sub(1, Ordering::SeqCst);
        (StatusCode::OK, heard.join("\n"))
    }
}

#[tokio::test]
async fn its_answer_is_its_output() {
    let office = Office::of(service(&Asker::new(1).serve().await)).await;
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    insta::assert_snapshot!(story(&outcome.transcript).join("\n"));
    let said = replies(&outcome.transcript);
    assert_eq!(output(&outcome.transcript), format!("{}\n{}\nGET for item-0-", said[0], said[1]));
}

#[tokio::test]
async fn no_more_of_it_run_at_once_than_it_says() {
    let asker = Asker::new(2);
    let agent = ExternalAgent { concurrency: 2, ..service(&asker.clone().serve().await) };
    let office = Office::with(6, agent, Simulation::default(), |_| {}).await;
    office.stage.publish((0..6).map(|item| office.stage.job(0, item))).await;
    let mut reports = office.stage.reports().await;
    let worker = office.stage.start("w", |_| {}).await;
    for _ in 0..6 {
        assert_eq!(reports.outcome().await.outcome, Outcome::Measured);
    }
    worker.leave().await;
    assert_eq!(asker.most.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_sessions_at_once_stay_apart() {
    const SESSIONS: u32 = 1000;
    let agent = ExternalAgent {
        concurrency: SESSIONS,
        deadline_s: 900,
        ..service(&Asker::new(SESSIONS as usize).serve().await)
    };
    let office = Office::with(SESSIONS, agent, Simulation::default(), |lock| {
        lock.endpoints.values_mut().for_each(|endpoint| endpoint.limits.concurrency = SESSIONS);
    })
    .await;
    office.stage.publish((0..SESSIONS as usize).map(|item| office.stage.job(0, item))).await;
    let mut reports = office.stage.reports().await;
    let worker = office.stage.start("w", |_| {}).await;
    for _ in 0..SESSIONS {
        let outcome = reports.outcome().await;
        assert_eq!(outcome.outcome, Outcome::Measured);
        let own = format!("item-{}-", outcome.key.item);
        let asked = [format!("attempt 1 asks first {own}"), format!("attempt 1 asks second {own}")];
        let story = story(&outcome.transcript);
        assert_eq!(story[1..3], asked);
        assert_eq!(story[3..], [format!("GET 200 GET for {own}"), "ends: Exited(200)".to_owned()]);
        assert!(replies(&outcome.transcript).iter().all(|said| said.starts_with(&own)), "{own}");
        assert_eq!(output(&outcome.transcript).matches("item-").count(), 5);
        assert_eq!(output(&outcome.transcript).matches(&own).count(), 5);
    }
    worker.leave().await;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("memory is not told here");
    eprintln!("{SESSIONS} sessions at once, with endpoint and agents in the same process: {peak}");
}

#[tokio::test]
async fn one_that_is_not_there_is_lost() {
    let office = Office::of(service("http://127.0.0.1:9/")).await;
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, LOST);
    assert_eq!(story(&outcome.transcript), ["attempt 1 starts mine", "ends: NotStarted"]);
}

#[tokio::test]
async fn one_whose_answers_break_off_is_lost_after_its_starts() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            let _ = connection.read(&mut [0; 4096]).await;
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nbegun").await.unwrap();
        }
    });
    let office = Office::of(service(&url)).await;
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, LOST);
    let ends = outcome.transcript.events.iter().filter(|event| matches!(event, Event::Ended(_))).count();
    assert_eq!(ends, 3);
    assert_eq!(output(&outcome.transcript), "begun");
}

#[tokio::test]
async fn one_that_says_that_it_cannot_is_lost_unless_it_did_something() {
    for status in [408, 429, 500, 503] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let router = Router::new().fallback(move || async move { StatusCode::from_u16(status).unwrap() });
        tokio::spawn(async move { axum::serve(listener, router).await });
        let outcome = Office::of(service(&url)).await.outcome().await;
        assert_eq!((outcome.outcome, &story(&outcome.transcript)[1][..]), (LOST, "ends: NotStarted"), "{status}");
    }
}

#[tokio::test]
async fn sessions_one_after_another_share_connections_to_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicU32::new(0));
    let seen = connections.clone();
    let listener = listener.tap_io(move |_| {
        seen.fetch_add(1, Ordering::SeqCst);
    });
    let router = Router::new().fallback(async || "an answer by rules");
    tokio::spawn(async move { axum::serve(listener, router).await });
    let agent = ExternalAgent { concurrency: 1, ..service(&url) };
    let office = Office::with(8, agent, Simulation::default(), |_| {}).await;
    for outcome in office.outcomes(8).await {
        assert_eq!(outcome.outcome, Outcome::Measured);
    }
    // One that is not yet free again when the next session begins is not shared with it.
    assert!(connections.load(Ordering::SeqCst) < 8);
}

/// A listener that counts its connections and answers each with `answer`.
async fn counting(answer: String) -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (url, connections) = (format!("http://{}/", listener.local_addr().unwrap()), Arc::new(AtomicU32::new(0)));
    let seen = connections.clone();
    tokio::spawn(async move {
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            seen.fetch_add(1, Ordering::SeqCst);
            let _ = connection.read(&mut [0; 4096]).await;
            let _ = connection.write_all(answer.as_bytes()).await;
        }
    });
    (url, connections)
}

#[tokio::test]
async fn one_at_a_private_address_is_not_asked_unless_the_policy_names_it() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\ndone";
    let (url, connections) = counting(answer.to_owned()).await;
    let run = async |url: &str, policy: Policy| {
        let mut office = Office::of(service(url)).await;
        office.stage.policy = policy;
        // The simulated endpoint is one of the environment, which may be anywhere.
        office.stage.variables.insert("OPENAI_BASE_URL".to_owned(), office.server.url());
        office.outcome().await
    };
    // This machine's own name is no address: only resolving it tells where it leads.
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    let found = tokio::net::lookup_host((host.as_str(), 0)).await;
    let leads_here = found.is_ok_and(|mut found| found.any(|address| address.ip().is_loopback()));
    let by_name = leads_here.then(|| url.replace("127.0.0.1", &host));
    if by_name.is_none() {
        regatta_tests::regatta::skipped("services", "this machine's own name does not resolve to loopback");
    }
    for url in by_name.into_iter().chain([url]) {
        let before = connections.load(Ordering::SeqCst);
        let refused = run(&url, Policy::closed()).await;
        assert_eq!((refused.outcome, connections.load(Ordering::SeqCst)), (LOST, before), "{url}");
        assert_eq!(story(&refused.transcript), ["attempt 1 starts mine", "ends: NotStarted"]);
        let named = PolicyFile::from_yaml("egress: { private: [127.0.0.1] }").unwrap();
        let asked = run(&url, Policy::closed().with(named)).await;
        assert_eq!((asked.outcome, connections.load(Ordering::SeqCst)), (Outcome::Measured, before + 1), "{url}");
    }
}

#[tokio::test]
async fn a_redirection_of_one_is_not_followed() {
    let (elsewhere, reached) = counting("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned()).await;
    for status in ["301 Moved Permanently", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let answer =
            format!("HTTP/1.1 {status}\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        let (url, asked) = counting(answer).await;
        Office::of(service(&url)).await.outcome().await;
        assert!(asked.load(Ordering::SeqCst) > 0, "{status}");
        assert_eq!(reached.load(Ordering::SeqCst), 0, "{status}");
    }
}
