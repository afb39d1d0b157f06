//! Judges of one name at two addresses, over one ledger: what answers is the address, not the name.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use regatta_tests::http::{self, Request};
use regatta_tests::{Deployment, unique_name};
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const ITEMS: usize = 3;
const BENCHMARK: &str = "v: 1
data: { test: test.jsonl }
prompt:
  turns: [user: \"{{ request }}\"]
scorers:
  polite: { judge: { rubric: Is the answer polite?, grades: { no: 0, yes: 1 } } }
simulate: { reply: Gladly. }
";

/// An endpoint that says the same to everybody, and counts how often it was asked.
struct Endpoint {
    address: String,
    asked: Arc<AtomicUsize>,
}

impl Endpoint {
    async fn that_says(reply: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, reply, count.clone()));
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// Answers the requests of a connection until its client closes it.
async fn answer(stream: TcpStream, reply: &str, asked: Arc<AtomicUsize>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(Request { body, .. }) = Request::read(&mut stream).await? {
        let request: Value = serde_json::from_slice(&body).unwrap();
        assert_ne!(request["stream"], true, "it is not asked for a stream");
        asked.fetch_add(1, Ordering::SeqCst);
        let said = json!({
            "id": "1", "object": "chat.completion", "created": 1, "model": request["model"],
            "choices": [{ "index": 0, "message": { "role": "assistant", "content": reply }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12 },
        })
        .to_string();
        stream.write_all(&http::answer("200 OK", "application/json", &said)).await?;
    }
    Ok(())
}

/// A sweep of the same sessions, judged by `judge/strict` at `judge`.
fn spec(folder: &Path, seed: u32, model: &Endpoint, judge: &Endpoint) -> PathBuf {
    let name = unique_name("judged");
    let text = format!(
        "name: {name}\nseed: {seed}\nbenchmarks: {{ polite: {{ data: {}, judge: judge/strict }} }}\nendpoints:\n  \
         model: {{ kind: openai, base_url: '{}', api_key_env: none }}\n  judge: {{ kind: openai, base_url: '{}', api_key_env: none }}\n\
         models: [model/plain]\n",
        folder.join("polite").display(),
        model.address,
        judge.address
    );
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, text).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sweeps_with_a_judge_of_one_name_at_two_addresses_each_ask_their_own() {
    let deployment = Deployment::new().await.unwrap();
    let folder = deployment.folder.path();
    std::fs::create_dir(folder.join("polite")).unwrap();
    std::fs::write(folder.join("polite/benchmark.yaml"), BENCHMARK).unwrap();
    let items = (0..ITEMS).map(|item| format!("{{\"request\": \"Say it kindly, {item} times.\"}}\n"));
    std::fs::write(folder.join("polite/test.jsonl"), items.collect::<String>()).unwrap();
    let model = Endpoint::that_says("Gladly.").await;
    let kind = Endpoint::that_says("It thanks.\nGrade: yes").await;
    let stern = Endpoint::that_says("It grovels.\nGrade: no").await;
    let _roles = [
        deployment.start("coordinator").await.unwrap(),
        deployment.start("scorer").await.unwrap(),
        deployment.start("worker").await.unwrap(),
    ];
    // The judge of each sweep, what it grades, and how often both have been asked by then. The last one's verdicts are known.
    let sweeps = [(&kind, 1.0, (ITEMS, 0)), (&stern, 0.0, (ITEMS, ITEMS)), (&kind, 1.0, (ITEMS, ITEMS))];
    for (seed, (judge, grade, asked)) in (1..).zip(sweeps) {
        let sweep = deployment.submit(&spec(folder, seed, &model, judge)).await.unwrap();
        let (code, directory) = deployment.finish(&sweep).await.unwrap();
        assert_eq!(code, Some(0));
        let results = std::fs::read_to_string(directory.join("results.jsonl")).unwrap();
        let lines = results.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let grades: Vec<f64> = lines.map(|line| line["scores"]["declared"]["polite"].as_f64().unwrap()).collect();
        assert_eq!(grades, [grade; ITEMS], "sweep {seed}");
        assert_eq!((kind.asked(), stern.asked()), asked, "sweep {seed}");
        assert_eq!(model.asked(), ITEMS * seed as usize, "every sweep runs its own sessions");
    }
}
