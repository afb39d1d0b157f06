//! Answers to similarity questions, by each kind of endpoint.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;

use regatta_proto::{CostSum, Money, Question, Timeouts, Usage, Verdict};
use serde_json::{Value, json};

use super::*;
use crate::Encoders;
use crate::scripted::Step;

fn asked(left: &[&str], right: &[&str]) -> AskedQuestion {
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    let question = Question::Similarity { left: texts(left), right: texts(right) };
    AskedQuestion { digest: question.digest(), question }
}

fn judge(model: &str) -> ModelSpec {
    ModelSpec::from(format!("main/{model}").parse::<ModelRef>().unwrap())
}

fn micro(answers: &Answers) -> Vec<Vec<Vec<i32>>> {
    let micro = |(_, verdict): &(_, Verdict)| match verdict {
        Verdict::Similarity { micro } => micro.clone(),
        other => panic!("not similarities: {other:?}"),
    };
    answers.verdicts.iter().map(micro).collect()
}

fn input(body: &str) -> Vec<String> {
    serde_json::from_value(serde_json::from_str::<Value>(body).unwrap()["input"].clone()).unwrap()
}

/// A server that embeds a text by its numbers of `a` and `b`, and refuses a request with an empty text.
async fn counting_server() -> Server {
    Server::with(|_, seen| {
        let texts = input(&seen.body);
        if texts.iter().any(String::is_empty) {
            return Step::status(400, r#"{"error": {"message": "input cannot be an empty string"}}"#);
        }
        let row = |(index, text): (usize, &String)| {
            let count = |letter| text.matches(letter).count();
            json!({"object": "embedding", "index": index, "embedding": [count('a'), count('b')]})
        };
        // In reverse order, because `index` counts, not the position.
        let data: Vec<Value> = texts.iter().enumerate().rev().map(row).collect();
        let usage = json!({"prompt_tokens": texts.len(), "total_tokens": texts.len()});
        Step::ok(json!({"data": data, "model": "embedder-1", "usage": usage}).to_string())
    })
    .await
}

async fn answer(bench: &Bench, questions: &[AskedQuestion]) -> Answers {
    let price = Price::per_mtok(1.0, 0.0);
    bench
        .endpoint
        .answer(&judge("embedder"), questions, payer(&bench.sweep, Some(&price)), &bench.interrupt)
        .await
        .unwrap()
}

#[tokio::test]
async fn questions_are_answered_by_embeddings_of_their_distinct_texts() {
    let server = counting_server().await;
    let bench = open(&spec(&server));
    let answers = answer(&bench, &[asked(&["a", "b"], &["ab", "a"]), asked(&["ab"], &["b"])]).await;
    assert_eq!(micro(&answers), [vec![vec![707_107, 1_000_000], vec![707_107, 0]], vec![vec![707_107]]]);
    assert_eq!((answers.served.as_str(), answers.usage.input), ("embedder-1", 3));
    assert_eq!(answers.cost, CostSum { known: Money(3_000), unknown_calls: 0 });
    let body = &server.seen()[0].body;
    assert_eq!(body, r#"{"model":"embedder","input":["a","b","ab"],"encoding_format":"float"}"#);
}

#[tokio::test]
async fn a_text_is_embedded_once_however_often_it_is_asked_about() {
    let server = counting_server().await;
    let bench = open(&spec(&server));
    let first = answer(&bench, &[asked(&["a"], &["b"])]).await;
    let again = answer(&bench, &[asked(&["b"], &["a"])]).await;
    assert_eq!((server.seen().len(), again.usage, again.cost), (1, Usage::default(), CostSum::default()));
    assert_eq!((micro(&again), again.served), (micro(&first), first.served));
}

/// Calls may wait for their permits for long where a limit binds.
#[tokio::test]
async fn a_text_that_another_call_asks_for_is_not_asked_for_again() {
    let server = counting_server().await;
    let bench = open(&spec(&server));
    let (one, other, third) = ([asked(&["a"], &["b"])], [asked(&["b"], &["ab"])], [asked(&["ab"], &["a"])]);
    let answers = tokio::join!(answer(&bench, &one), answer(&bench, &other), answer(&bench, &third));
    let inputs: Vec<Vec<String>> = server.seen().iter().map(|seen| input(&seen.body)).collect();
    assert_eq!(inputs, [vec!["a", "b"], vec!["ab"]]);
    assert_eq!([&answers.0, &answers.1, &answers.2].map(|answers| micro(answers)[0][0][0]), [0, 707_107, 707_107]);
    assert_eq!(answers.2.cost, CostSum::default(), "others have paid for it");
}

#[tokio::test]
async fn a_text_that_another_call_got_no_vector_of_is_asked_for_again() {
    let server = Server::with(|_, _| Step::status(400, r#"{"error": {"message": "no"}}"#)).await;
    let bench = open(&spec(&server));
    let questions = [asked(&["a"], &["a"])];
    let (one, other) = tokio::join!(answer(&bench, &questions), answer(&bench, &questions));
    assert_eq!((one.unanswered.len(), other.unanswered.len(), server.seen().len()), (1, 1, 2));
}

#[tokio::test]
async fn what_is_answered_after_an_interrupt_is_used_and_nothing_more_is_asked_for() {
    let interrupt = CancellationToken::new();
    let fires = interrupt.clone();
    let server = Server::with(move |_, seen| {
        fires.cancel();
        let row = |index| json!({"object": "embedding", "index": index, "embedding": [1, index]});
        let data: Vec<Value> = (0..input(&seen.body).len()).map(row).collect();
        Step::ok(json!({"data": data, "model": "embedder-1"}).to_string())
    })
    .await;
    let bench = open(&spec(&server));
    let ask = async |questions: &[AskedQuestion]| {
        bench.endpoint.answer(&judge("embedder"), questions, payer(&bench.sweep, None), &interrupt).await
    };
    assert_eq!(micro(&ask(&[asked(&["a"], &["b"])]).await.unwrap()), [[[707_107]]]);
    assert!(ask(&[asked(&["b"], &["c"])]).await.is_err());
    assert_eq!(micro(&ask(&[asked(&["b"], &["a"])]).await.unwrap()), [[[707_107]]], "these are known");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn many_texts_go_out_in_bounded_requests() {
    let server = counting_server().await;
    let texts: Vec<String> = (1..=250).map(|count| "a".repeat(count)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let answers = answer(&open(&spec(&server)), &[asked(&texts, &["a", "b"])]).await;
    assert!(micro(&answers)[0].iter().all(|row| row[0] == 1_000_000 && row[1] == 0));
    let sizes: Vec<usize> = server.seen().iter().map(|seen| input(&seen.body).len()).collect();
    assert_eq!((sizes.len(), sizes.iter().sum::<usize>(), sizes.iter().max()), (3, 251, Some(&96)));
}

#[tokio::test]
async fn a_text_the_endpoint_refuses_spoils_only_its_own_questions() {
    let server = counting_server().await;
    let questions = [asked(&["a"], &["b"]), asked(&["a", "ab"], &["", "aab"]), asked(&["aab"], &["abb"])];
    let answers = answer(&open(&spec(&server)), &questions).await;
    assert_eq!(
        answers.verdicts.iter().map(|(digest, _)| *digest).collect::<Vec<_>>(),
        [questions[0].digest, questions[2].digest]
    );
    let unanswered = &answers.unanswered[0];
    assert_eq!((&unanswered.asked, unanswered.class), (&questions[1], ErrorClass::BadRequest));
    assert_eq!(unanswered.reason, "HTTP 400: input cannot be an empty string");
}

#[tokio::test]
async fn an_endpoint_that_fails_leaves_questions_unanswered_with_class_and_reason() {
    let server = Server::scripted(vec![Step::status(429, "slow down")]).await;
    let answers = answer(&open(&spec(&server)), &[asked(&["a"], &["b"])]).await;
    assert_eq!((server.seen().len(), answers.verdicts.len()), (3, 0));
    assert_eq!(answers.unanswered[0].class, ErrorClass::RateLimited);
    assert_eq!(answers.unanswered[0].reason, "HTTP 429: slow down");
}

#[tokio::test]
async fn embeddings_that_do_not_match_their_texts_are_a_bad_response() {
    for data in [
        "[]",
        r#"[{"index": 0, "embedding": [1]}]"#,
        r#"[{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]"#,
        r#"[{"index": 0, "embedding": [1]}, {"index": 2, "embedding": [1]}]"#,
        r#"[{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]"#,
        r#"[{"index": 0, "embedding": [1]}, {"index": 1, "embedding": []}]"#,
        r#"[{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [0]}]"#,
        r#"[{"index": 0, "embedding": [1]}, {"index": 1, "embedding": "AACAPw=="}]"#,
    ] {
        let server = Server::scripted(vec![Step::ok(format!(r#"{{"data": {data}}}"#))]).await;
        let answers = answer(&open(&spec(&server)), &[asked(&["a"], &["b"])]).await;
        assert_eq!(answers.unanswered[0].class, ErrorClass::BadResponse, "{data}");
    }
}

#[tokio::test]
async fn a_simulated_embedder_says_so() {
    let body = r#"{"data": [{"embedding": [1]}, {"embedding": [2]}], "model": "lexical"}"#;
    let step = Step::Answer { status: 200, headers: "x-regatta-simulated: true\r\n", body: body.into() };
    let answers = answer(&open(&spec(&Server::scripted(vec![step]).await)), &[asked(&["a"], &["b"])]).await;
    assert_eq!((answers.served.as_str(), answers.cost.unknown_calls), ("lexical (simulated)", 1));
}

#[tokio::test]
async fn answering_ends_when_cancelled() {
    let server = Server::scripted(vec![Step::Gated(vec![])]).await;
    // Requests in flight are awaited, but not for ever.
    let timeouts = Timeouts { first_byte_ms: 200, ..Timeouts::default() };
    let bench = Arc::new(open(&EndpointSpec { timeouts, ..spec(&server) }));
    let answering = tokio::spawn({
        let bench = Arc::clone(&bench);
        async move {
            bench
                .endpoint
                .answer(&judge("m"), &[asked(&["a"], &["b"])], payer(&bench.sweep, None), &bench.interrupt)
                .await
        }
    });
    server.waiting.clone().wait_for(|waiting| waiting.now == 1).await.unwrap();
    bench.interrupt.cancel();
    assert!(answering.await.unwrap().is_err());
}

#[tokio::test]
async fn recorded_verdicts_come_from_the_file_or_from_the_caller() {
    let spec = EndpointSpec { path: Some("judge.jsonl".into()), ..EndpointSpec::of_kind(EndpointKind::Recorded) };
    let lines = br#"{"item": "i", "pred_texts": ["a"], "gold_texts": ["b"], "sim": [[0.5]]}"#;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("judge.jsonl"), lines).unwrap();
    for (base_dir, given) in [(dir.path(), None), (Path::new("/nowhere"), Some(lines.as_slice()))] {
        let endpoint = try_open(&spec, base_dir, given, &Registry::new()).unwrap();
        let questions = [asked(&["b"], &["a", "b"]), asked(&["a"], &["c"])];
        let answers =
            endpoint.answer(&judge("any"), &questions, payer(&sweep(), None), &CancellationToken::new()).await.unwrap();
        assert_eq!(micro(&answers), [[[500_000, 1_000_000]]]);
        assert_eq!(answers.unanswered[0].reason, r#"no similarity of "a" and "c" is recorded"#);
        assert!(answers.served.starts_with("verdicts recorded in judge.jsonl ("), "{}", answers.served);
        assert_eq!(answers.cost, CostSum::default());
    }
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named_with_their_endpoint() {
    let spec = |kind| EndpointSpec { path: Some("judge".into()), ..EndpointSpec::of_kind(kind) };
    let error_in =
        |dir: &Path, spec: &EndpointSpec| try_open(spec, dir, None, &Registry::new()).unwrap_err().to_string();
    let error = |spec: &EndpointSpec| error_in(Path::new("/nowhere"), spec);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("judge"), "{}").unwrap();
    let malformed = error_in(dir.path(), &spec(EndpointKind::Recorded));
    insta::assert_snapshot!(
        [
            error(&spec(EndpointKind::Recorded)),
            malformed.replace(dir.path().to_str().unwrap(), "/somewhere"),
            error(&spec(EndpointKind::Encoder)),
            error(&EndpointSpec::of_kind(EndpointKind::Encoder)),
        ]
        .join("\n"),
        @r"
    failed to read /nowhere/judge of endpoint main: No such file or directory (os error 2)
    failed to open endpoint main: failed to read verdicts of /somewhere/judge, line 1: a line holds either `text` and `embedding`, or `pred_texts`, `gold_texts` and `sim`, or `kind` and `responses`
    failed to open endpoint main: failed to read /nowhere/judge/config.json: No such file or directory (os error 2); point to a sentence-transformers directory (config.json, tokenizer.json, model.safetensors)
    endpoint main has no path: name the directory of the encoder, or the file of the verdicts
    "
    );
}

/// Opens an endpoint whose file lies in `dir` as a deployed worker does.
fn open_deployed(spec: &EndpointSpec, dir: &Path, recorded: Option<&[u8]>) -> Result<Endpoint, String> {
    let store = FakeStore::default();
    let policy = std::sync::Arc::new(crate::OutboundPolicy::closed());
    let parse = |bytes| std::sync::Arc::new(RecordedVerdicts::parse("judge.jsonl", bytes).unwrap());
    let recorded = recorded.map(parse);
    let context = OpenContext { base_dir: dir, recorded, policy, ..store.context(&Registry::new(), "worker") };
    Endpoint::open(&"main".parse().unwrap(), spec, &context).map_err(|error| error.to_string())
}

#[tokio::test]
async fn no_file_that_a_spec_names_is_read_for_specs_of_others() {
    let lines = br#"{"item": "i", "pred_texts": ["a"], "gold_texts": ["b"], "sim": [[0.5]]}"#;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("judge.jsonl"), lines).unwrap();
    let spec = |kind| EndpointSpec { path: Some("judge.jsonl".into()), ..EndpointSpec::of_kind(kind) };
    for kind in [EndpointKind::Recorded, EndpointKind::Encoder] {
        let error = open_deployed(&spec(kind), dir.path(), None).unwrap_err();
        assert!(error.contains("endpoint main") && error.contains("judge.jsonl"), "{error}");
        assert!(error.contains("a file of this machine") || error.contains("a directory of this machine"), "{error}");
    }
    assert!(open_deployed(&spec(EndpointKind::Recorded), dir.path(), Some(lines)).is_ok());
}

#[tokio::test]
async fn an_encoder_is_chosen_by_the_name_that_the_policy_has_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let open = |name: &str| {
        let mut policy = crate::OutboundPolicy::closed();
        policy.encoders.insert("minilm".parse().unwrap(), dir.path().to_owned());
        let store = FakeStore::default();
        let context = OpenContext { policy: std::sync::Arc::new(policy), ..store.context(&Registry::new(), "worker") };
        let registered = Some(name.parse().unwrap());
        let spec = EndpointSpec { registered, ..EndpointSpec::of_kind(EndpointKind::Encoder) };
        Endpoint::open(&"main".parse().unwrap(), &spec, &context).unwrap_err().to_string()
    };
    // It looks there, and finds an empty directory.
    assert!(open("minilm").contains(&format!("{}/config.json", dir.path().display())));
    let unknown = open("other");
    assert!(unknown.contains("chooses the encoder other") && unknown.contains("it has: minilm"), "{unknown}");
}

#[tokio::test]
async fn only_regular_files_are_read_as_verdicts() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/null", dir.path().join("judge.jsonl")).unwrap();
    let spec = EndpointSpec { path: Some("judge.jsonl".into()), ..EndpointSpec::of_kind(EndpointKind::Recorded) };
    let error = try_open(&spec, dir.path(), None, &Registry::new()).unwrap_err().to_string();
    assert!(error.contains("is no regular file"), "{error}");
}

#[tokio::test]
async fn an_encoder_is_loaded_once_whatever_the_names_of_its_endpoints() {
    let Some(dir) = minilm() else { return };
    let store = FakeStore::default();
    let encoders = Encoders::default();
    let open = |name: &str| {
        let context = OpenContext { encoders: encoders.clone(), ..store.context(&Registry::new(), "worker") };
        let spec = EndpointSpec { path: Some(dir.clone()), ..EndpointSpec::of_kind(EndpointKind::Encoder) };
        Endpoint::open(&name.parse().unwrap(), &spec, &context).unwrap()
    };
    let endpoints = [open("one"), open("another")];
    let [Service::Encoder(one), Service::Encoder(another)] = endpoints.each_ref().map(|endpoint| &endpoint.0.service)
    else {
        panic!("they are encoders");
    };
    assert!(Arc::ptr_eq(one, another));
    let before = Arc::downgrade(one);
    drop(endpoints);
    assert!(before.upgrade().is_none(), "it is kept no longer than it is used");
}

/// The small encoder, if its files are available.
fn minilm() -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/minilm.sh");
    let output = Command::new("sh").arg(script).output().ok()?;
    if !output.status.success() {
        println!("skipped: no sentence encoder: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(String::from_utf8(output.stdout).unwrap().trim().into())
}

#[tokio::test]
async fn calls_can_move_between_threads() {
    // A compile-time check: the futures must be `Send`.
    fn movable<T: Send>(_: T) {}
    let bench = open(&spec(&counting_server().await));
    let judge = judge("m");
    movable(bench.endpoint.chat(bench.call(&request())));
    movable(bench.endpoint.answer(&judge, &[], payer(&bench.sweep, None), &bench.interrupt));
}

#[tokio::test]
async fn an_encoder_answers_in_this_process_as_it_would_by_hand() {
    let Some(dir) = minilm() else { return };
    let spec = EndpointSpec { path: Some(dir.clone()), ..EndpointSpec::of_kind(EndpointKind::Encoder) };
    let endpoint = try_open(&spec, Path::new("/nowhere"), None, &Registry::new()).unwrap();
    let texts: Vec<String> = (0..40).map(|number| format!("take item {number} to the fridge")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let questions = [asked(&texts[..3], &texts), asked(&["open the door", texts[0]], &["close the door"])];
    let interrupt = CancellationToken::new();
    let answers = endpoint.answer(&judge("minilm"), &questions, payer(&sweep(), None), &interrupt).await.unwrap();

    let encoder = regatta_encoder::SentenceEncoder::open(&dir).unwrap();
    let vectors: HashMap<&str, Vec<f32>> = texts
        .iter()
        .copied()
        .chain(["open the door", "close the door"])
        .map(|text| (text, encoder.encode(text).unwrap()))
        .collect();
    let by_hand: Vec<Vec<Vec<i32>>> = questions
        .iter()
        .map(|asked| {
            let Question::Similarity { left, right } = &asked.question else { panic!("no question for similarities") };
            let row = |a: &String| {
                right.iter().map(|b| regatta_encoder::cosine_micro(&vectors[&**a], &vectors[&**b])).collect()
            };
            left.iter().map(row).collect()
        })
        .collect();
    assert_eq!(micro(&answers), by_hand);
    assert!(answers.served.starts_with("all-MiniLM-L6-v2 ("), "{}", answers.served);
    assert_eq!((answers.cost, endpoint.in_flight()), (CostSum::default(), 0));

    interrupt.cancel();
    let new = [asked(&["never seen"], &["before"])];
    assert!(endpoint.answer(&judge("minilm"), &new, payer(&sweep(), None), &interrupt).await.is_err());
}
