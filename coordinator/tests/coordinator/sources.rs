//! A sweep's inputs and its judges' verdicts over HTTP.

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Method, Request, StatusCode};
use regatta_backends::{Blobs, Judged};
use regatta_catalog::{Catalog, Input, InputKind, Sweep, store_input};
use regatta_coordinator::{ApiConfig, VerdictsPage, router};
use regatta_proto::{Answerer, AttemptId, CostSum, Digest, JudgeOutcome, ModelRef, Usage, Verdict};
use serde_json::json;
use tower::ServiceExt;

use crate::stage::{BENCHMARKS, Process, Stage, spec};

async fn ask(process: &Process, method: Method, path: &str, body: impl Into<Body>) -> (StatusCode, Bytes) {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let router = router(process.coordinator.clone(), ApiConfig::default());
    let response = router.oneshot(request.body(body.into()).unwrap()).await.unwrap();
    let status = response.status();
    (status, to_bytes(response.into_body(), 64 << 20).await.unwrap())
}

async fn get(process: &Process, path: &str) -> (StatusCode, Bytes) {
    ask(process, Method::GET, path, "").await
}

/// Has `judge` of `sweep` answer each of `questions` with `reply`.
async fn judge(stage: &Stage, sweep: &Sweep, judge: &ModelRef, questions: &[Digest], reply: &str) {
    let answerer = Answerer::new(&sweep.lock.endpoints[&judge.endpoint], &judge.model, &sweep.id);
    let verdict = Verdict::Replies { replies: vec![reply.to_owned()] };
    let outcome = JudgeOutcome {
        sweep: sweep.id.clone(),
        lock: sweep.digest,
        judge: judge.clone(),
        served: judge.model.to_string(),
        verdicts: questions.iter().map(|question| (*question, verdict.clone())).collect(),
        unanswered: Vec::new(),
        attempt: AttemptId::new(format!("{}-{}-{}", judge.model, questions[0].short(), sweep.id)).unwrap(),
        usage: Usage::default(),
        cost: CostSum::default(),
    };
    stage.ledger.save_judged(vec![Judged { answerer, outcome }]).await.unwrap();
}

fn questions(count: usize) -> Vec<Digest> {
    (0..count).map(|number| Digest::of(format!("question {number}").as_bytes())).collect()
}

async fn verdicts(process: &Process, sweep: &Sweep, judge: &str, questions: &[Digest]) -> (StatusCode, Bytes) {
    let body = json!({ "judge": judge, "questions": questions }).to_string();
    ask(process, Method::POST, &format!("/v1/sweeps/{}/verdicts", sweep.id), body).await
}

async fn page(process: &Process, sweep: &Sweep, judge: &str, questions: &[Digest]) -> VerdictsPage {
    let (status, body) = verdicts(process, sweep, judge, questions).await;
    assert_eq!(status, StatusCode::OK, "{body:?}");
    serde_json::from_slice(&body).unwrap()
}

#[tokio::test]
async fn whoever_fetches_the_inputs_of_a_sweep_can_read_it_elsewhere() {
    let stage = Stage::set().await;
    let process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 3, "")).await;
    let place = format!("/v1/sweeps/{}/inputs", sweep.id);
    let (status, listed) = get(&process, &place).await;
    assert_eq!(status, StatusCode::OK);
    let inputs: Vec<Input> = serde_json::from_slice(&listed).unwrap();
    assert_eq!((inputs[0].kind, inputs[0].digest), (InputKind::Lock, sweep.digest));
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = Blobs::directory(folder.path()).unwrap();
    for input in &inputs {
        let (status, content) = get(&process, &format!("{place}/{}", input.digest)).await;
        assert_eq!(status, StatusCode::OK, "{input:?}");
        let other = Bytes::from_static(b"{\"files\":[]}");
        assert!(store_input(&elsewhere, input, other).await.is_err(), "{input:?} is not what any bytes are");
        store_input(&elsewhere, input, content).await.unwrap();
    }
    let read = Catalog::new(elsewhere, BENCHMARKS).sweep(&sweep.digest).await.unwrap();
    assert_eq!((&read.id, read.cells().len()), (&sweep.id, sweep.cells().len()));
}

#[tokio::test]
async fn what_a_sweep_is_not_made_of_is_not_served_as_its_input() {
    let stage = Stage::set().await;
    let process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 3, "")).await;
    let other = stage.submit(&process, &spec("t", 3, "")).await;
    let secret = stage.blobs().put_content(Bytes::from_static(b"of nobody yet")).await.unwrap();
    for digest in [secret, other.digest] {
        let (status, body) = get(&process, &format!("/v1/sweeps/{}/inputs/{digest}", sweep.id)).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{body:?}");
    }
    for path in ["/v1/sweeps/none/inputs".to_owned(), format!("/v1/sweeps/none/inputs/{secret}")] {
        assert_eq!(get(&process, &path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn verdicts_are_those_of_the_sweeps_own_judges() {
    let stage = Stage::set().await;
    let process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 3, "")).await;
    let elsewhere = spec("t", 3, "").replace("127.0.0.1:9", "127.0.0.1:8");
    let other = stage.submit(&process, &elsewhere).await;
    let (lexical, oracle): (ModelRef, ModelRef) = ("sim/lexical".parse().unwrap(), "sim/oracle".parse().unwrap());
    let asked = questions(3);
    judge(&stage, &sweep, &lexical, &asked[..2], "yes").await;
    judge(&stage, &other, &lexical, &asked, "no").await;
    judge(&stage, &sweep, &oracle, &asked, "maybe").await;
    let VerdictsPage { mut verdicts, looked_up } = page(&process, &sweep, "sim/lexical", &asked).await;
    verdicts.sort_by_key(|(question, _)| *question);
    let yes = Verdict::Replies { replies: vec!["yes".to_owned()] };
    let mut expected: Vec<_> = asked[..2].iter().map(|question| (*question, yes.clone())).collect();
    expected.sort_by_key(|(question, _)| *question);
    assert_eq!((verdicts, looked_up), (expected, 3));
    // It is a model of the sweep, and gave verdicts; but it is none of its judges.
    let (status, body) = self::verdicts(&process, &sweep, "sim/oracle", &asked).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(body, format!("{{\"error\":\"sweep {} has no judge sim/oracle\"}}", sweep.id));
}

#[tokio::test]
async fn an_answer_with_verdicts_is_bounded_and_says_how_far_it_reaches() {
    let stage = Stage::set().await;
    let process = stage.process();
    let sweep = stage.submit(&process, &spec("s", 3, "")).await;
    let lexical: ModelRef = "sim/lexical".parse().unwrap();
    let asked = questions(200);
    // 64 kB each: 12.8 MB in all.
    for chunk in asked.chunks(20) {
        judge(&stage, &sweep, &lexical, chunk, &"x".repeat(64 << 10)).await;
    }
    let (mut left, mut found, mut pages) = (&asked[..], Vec::new(), 0);
    while !left.is_empty() {
        let page = page(&process, &sweep, "sim/lexical", left).await;
        assert!(page.looked_up > 0 && page.verdicts.len() <= 64, "{} verdicts", page.verdicts.len());
        left = &left[page.looked_up..];
        found.extend(page.verdicts.into_iter().map(|(question, _)| question));
        pages += 1;
    }
    found.sort_unstable();
    let mut expected = asked.clone();
    expected.sort_unstable();
    assert_eq!((found, pages), (expected, 4));
    let (status, body) = verdicts(&process, &sweep, "sim/lexical", &questions(1001)).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(body, "{\"error\":\"1001 questions at once: ask for at most 1000\"}");
}
