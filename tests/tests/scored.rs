//! Predictions that need a judge: without one the questions are named or written down, with one they are asked, once.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use regatta_tests::regatta::{Process, finish, regatta, workspace};
use serde_json::{Value, json};

/// Exit code of bad configuration.
const REFUSED: i32 = 78;
/// Exit code where something is missing that can be had.
const INCOMPLETE: i32 = 4;

/// A run of three items, exported as the log that is scored.
struct Predicted {
    folder: tempfile::TempDir,
    log: String,
}

impl Predicted {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (run, logs) = (folder.path().join("run"), folder.path().join("logs"));
        let (run, logs) = (run.to_str().unwrap(), logs.to_str().unwrap());
        let predicted = Self { log: String::new(), folder };
        let (code, _, errors) =
            predicted.regatta(&["run", "examples/quickstart.yaml", "-o", run, "--limit", "3", "--trials", "1"]).await;
        assert_eq!(code, 0, "{errors}");
        let (code, written, errors) = predicted.regatta(&["export", run, "--output", logs, "--format", "eval"]).await;
        assert_eq!(code, 0, "{errors}");
        let log = written.lines().find(|log| log.contains("noisy-0.5")).unwrap().to_owned();
        Self { log, ..predicted }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `regatta` with a response cache of its own: exit code, standard output, standard error.
    async fn regatta(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = regatta().unwrap();
        command.args(arguments).env("XDG_CACHE_HOME", self.folder.path());
        let output = finish(command).await.unwrap();
        let [written, errors] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.code().unwrap(), written, errors)
    }

    async fn score(&self, more: &[&str]) -> (i32, String, String) {
        let out = self.at("scores.json");
        let arguments = ["score", "worfbench", "--data", "examples/data/worfbench", "--predictions", &self.log];
        self.regatta(&[&arguments[..], &["--out", out.to_str().unwrap()], more].concat()).await
    }
}

/// A spec that has a judge at `address`.
fn endpoints(folder: &Path, address: &str) -> String {
    let file = folder.join("endpoints.yaml");
    let data = workspace().join("examples/data/worfbench");
    let text = format!(
        "name: judged\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], judge: near/lexical }}\n\
         endpoints:\n  near: {{ kind: openai, base_url: '{address}', api_key_env: none }}\nmodels: [near/oracle]\n",
        data.display()
    );
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_a_judge_says_how_to_come_by_one() {
    let predicted = Predicted::new().await;
    let (code, _, errors) = predicted.score(&[]).await;
    assert_eq!(code, REFUSED, "{errors}");
    for way in ["--verdicts FILE", "--judge ENDPOINT/MODEL", "--questions FILE"] {
        assert!(errors.contains(way), "{errors}");
    }
    let (code, _, errors) = predicted.score(&["--judge", "nobody/m"]).await;
    assert_eq!(code, REFUSED, "{errors}");
    assert!(errors.contains("there is no endpoint nobody"), "{errors}");
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_that_are_written_down_and_answered_are_verdicts() {
    let predicted = Predicted::new().await;
    let questions = predicted.at("questions.jsonl");
    let (code, _, errors) = predicted.score(&["--questions", questions.to_str().unwrap()]).await;
    assert_eq!(code, INCOMPLETE, "{errors}");
    assert!(errors.contains("nothing is scored") && !predicted.at("scores.json").exists(), "{errors}");
    let mut answered = String::new();
    for line in std::fs::read_to_string(&questions).unwrap().lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let texts = |field: &str| -> Vec<String> { serde_json::from_value(line[field].clone()).unwrap() };
        let (left, right) = (texts("pred_texts"), texts("gold_texts"));
        let row = |a: &String| right.iter().map(|b| if a == b { 1.0 } else { 0.25 }).collect::<Vec<f64>>();
        line["sim"] = json!(left.iter().map(row).collect::<Vec<_>>());
        answered += &format!("{line}\n");
    }
    let verdicts = predicted.at("verdicts.jsonl");
    std::fs::write(&verdicts, answered).unwrap();
    let verdicts = verdicts.to_str().unwrap();
    let (code, written, errors) = predicted.score(&["--verdicts", verdicts]).await;
    assert_eq!(code, 0, "{errors}");
    let (code, again, errors) =
        predicted.score(&["--verdicts", verdicts, "--questions", questions.to_str().unwrap()]).await;
    assert_eq!((code, again), (0, written), "nothing is open any more: {errors}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_is_asked_once_and_its_answers_are_kept() {
    let predicted = Predicted::new().await;
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data", "worfbench=examples/data/worfbench"]);
    let server = Process::start_and_read(simulate).await.unwrap();
    let endpoints = endpoints(predicted.folder.path(), &server.first_line);
    let judged = ["--judge", "near/lexical", "--endpoints", &endpoints];
    let (code, written, errors) = predicted.score(&judged).await;
    assert_eq!(code, 0, "{errors}");
    assert!(errors.contains("near/lexical answered "), "{errors}");
    server.kill().await.unwrap();
    let (code, again, errors) = predicted.score(&judged).await;
    assert_eq!((code, again), (0, written), "the judge is gone: {errors}");
}
