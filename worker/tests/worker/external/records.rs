//! Events that are recorded of an agent: their order, and the limit on their size.

use std::path::PathBuf;

use axum::Router;
use axum::body::Bytes;
use regatta_proto::{Cause, Event, ExternalAgent, Outcome, Simulation};
use serde_json::{Value, json};

use super::office::{Office, output, python, replies, story};

const SEND: &str = "\
def send(method, url, body=None):
    return json.loads(fetch(errand['tools_url'] + '/request', json.dumps({'method': method, 'url': url, 'body': body}).encode()))
";

fn sending(script: &str) -> ExternalAgent {
    python(&format!("{SEND}{script}"))
}

#[tokio::test]
async fn calls_are_recorded_in_the_order_in_which_they_were_asked_whoever_is_answered_first() {
    let folder = tempfile::tempdir().unwrap();
    let (asked, said) = (folder.path().join("asked"), folder.path().join("said"));
    let url = repeating(asked.clone(), said.clone()).await;
    let mut agent = python(
        "from concurrent.futures import ThreadPoolExecutor\n\
         slow = ThreadPoolExecutor(1).submit(ask, 'slow')\n\
         while not os.path.exists(os.environ['ASKED']): pass\n\
         quick = ask('quick'); fetch(errand['tools_url'] + '/proxy/http/host:80/x')\n\
         open(os.environ['SAID'], 'w').close()\n\
         print(slow.result(), quick)",
    );
    agent.env = [("ASKED", &asked), ("SAID", &said)]
        .map(|(name, path)| (name.to_owned(), path.to_str().unwrap().to_owned()))
        .into();
    let office = Office::with(1, agent, Simulation::default(), |lock| {
        lock.endpoints.values_mut().for_each(|endpoint| endpoint.base_url = Some(url.clone()));
    })
    .await;
    let outcome = office.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    assert_eq!(
        story(&outcome.transcript),
        [
            "attempt 1 starts mine",
            "attempt 1 asks slow",
            "attempt 1 asks quick",
            "GET 200 GET for item-0-",
            "ends: Exited(0)"
        ]
    );
    assert_eq!(replies(&outcome.transcript), ["slow", "quick"]);
}

/// A model that repeats what it hears: `slow` when there is a file `said`, after it has made the file `asked`.
async fn repeating(asked: PathBuf, said: PathBuf) -> String {
    let answer = async move |body: Bytes| {
        let request: Value = serde_json::from_slice(&body).unwrap();
        let text = request["messages"][0]["content"].clone();
        if text == "slow" {
            std::fs::write(&asked, "").unwrap();
            while !said.exists() {
                tokio::task::yield_now().await;
            }
        }
        let choice = json!({"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}});
        let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
        let answer = json!({"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage});
        ([("content-type", "application/json")], answer.to_string())
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    url
}

#[tokio::test]
async fn a_method_or_a_url_beyond_all_measure_is_refused_and_not_recorded() {
    let agent = sending(
        "print(send('X' * 33, 'http://h/')['status'], send('GET', 'http://h/' + 'x' * 65536)['status'])\n\
         print(send('GET', 'http://h/')['status'])",
    );
    let outcome = Office::of(agent).await.outcome().await;
    assert_eq!(output(&outcome.transcript), "400 414\n200\n");
    assert_eq!(story(&outcome.transcript)[1..], ["GET 200 GET for item-0-", "ends: Exited(0)"]);
}

#[tokio::test]
async fn a_session_that_records_too_much_is_refused_more_of_it_and_is_measured() {
    let agent = sending(
        "url, body = 'http://h/' + 'x' * 65000, 'x' * 65536\n\
         seen = [send('POST', url, body)['status'] for _ in range(600)]\n\
         print(seen.count(200) + seen.count(429), seen[0], seen[-1], ask('a'))",
    );
    let outcome = Office::of(agent).await.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    assert_eq!(output(&outcome.transcript), "600 200 429 refused 429\n");
    let bytes: usize = outcome.transcript.events.iter().map(|event| serde_json::to_vec(event).unwrap().len()).sum();
    assert!((60 << 20..65 << 20).contains(&bytes), "{bytes}");
}

/// An agent that posts `body` to `route` and prints what comes of it; `after` is what it does then.
fn posting(route: &str, body: &str, after: &str) -> ExternalAgent {
    python(&format!(
        "body = {body}\nprint(fetch(os.environ['OPENAI_BASE_URL'] + '{route}', json.dumps(body).encode()))\n{after}"
    ))
}

const REFUSED: Outcome = Outcome::NotMeasured { cause: Cause::RequestRefused };

#[tokio::test]
async fn an_agent_that_asks_otherwise_after_a_refusal_is_measured_and_one_that_does_not_is_not() {
    let spoken = "{'model': 'm', 'messages': [{'role': 'user', 'content': 'x'}], 'audio': {'voice': 'alloy'}}";
    let outcome = Office::of(posting("/chat/completions", spoken, "print(ask('a'))")).await.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    let told = story(&outcome.transcript);
    assert_eq!((&*told[1], told[2].ends_with(" asks a")), ("fails: bad_request", true));
    let Event::Failed(failed) = &outcome.transcript.events[1] else { panic!() };
    assert!(
        failed.tries[0].detail.starts_with("`audio` asks for an answer in a form"),
        "the transcript has the reason"
    );
    for after in ["", "sys.exit(1)"] {
        let outcome = Office::of(posting("/chat/completions", spoken, after)).await.outcome().await;
        assert_eq!(outcome.outcome, REFUSED, "{after}");
    }
}

#[tokio::test]
async fn a_route_of_the_provider_that_is_not_served_is_no_measured_failure() {
    let outcome = Office::of(posting("/embeddings", "{'input': 'x'}", "print(ask('a'))")).await.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured, "it did without");
    let outcome = Office::of(posting("/embeddings", "{'input': 'x'}", "")).await.outcome().await;
    assert_eq!(outcome.outcome, REFUSED);
}

#[tokio::test]
async fn fields_that_nobody_here_knows_are_recorded_with_their_call() {
    let body = "{'model': 'm', 'messages': [{'role': 'user', 'content': 'x'}], 'top_k': 5}";
    let outcome = Office::of(posting("/chat/completions", body, "")).await.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    let call = outcome.transcript.calls().next().unwrap();
    assert_eq!(call.request.passed.as_ref().unwrap().names(), "`top_k`");
}

#[tokio::test]
async fn a_call_that_cannot_be_passed_on_is_never_the_agents_failure() {
    let agent = python(
        "image = {'type': 'image_url', 'image_url': {'url': 'http://h/x.png'}}\n\
         body = {'model': 'm', 'messages': [{'role': 'user', 'content': [image]}]}\n\
         print(fetch(os.environ['OPENAI_BASE_URL'] + '/chat/completions', json.dumps(body).encode()))",
    );
    let outcome = Office::of(agent).await.outcome().await;
    assert_eq!(outcome.outcome, REFUSED);
    let [_, Event::Failed(failed), Event::Ended(_)] = &outcome.transcript.events[..] else { panic!() };
    assert!(!failed.tries[0].detail.is_empty());
    assert_eq!(story(&outcome.transcript)[1], "fails: bad_request");
}
