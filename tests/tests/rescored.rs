//! A coordinator's sweep is scored again, priced again and exported as a run of this machine is.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::Output;

use regatta_tests::regatta::{Process, finish, regatta, workspace};
use regatta_tests::{Deployment, unique_name};
use serde_json::Value;

/// The judge has a price: how many requests embed the texts depends on which sessions end together, and unpriced ones are counted.
const SPEC: &str = "
name: NAME
seed: 3
benchmarks:
  worfbench: { data: DATA, settings: [zero-shot], limit: 12, evaluators: [official, paper], judge: sim/JUDGE,
    judge_price: { input_per_mtok: 1, output_per_mtok: 2 } }
endpoints:
  sim: { kind: openai, base_url: \"SERVER\", api_key_env: none, identify_sessions: true }
models:
  - { id: sim/noisy-0.4, price: { input_per_mtok: 1, output_per_mtok: 2 } }
";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn read(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap()
}

fn written(folder: &Path, name: &str, judge: &str, server: &Process) -> PathBuf {
    let data = workspace().join("examples/data/worfbench").display().to_string();
    let spec = SPEC.replace("NAME", name).replace("DATA", &data).replace("JUDGE", judge);
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, spec.replace("SERVER", &server.first_line)).unwrap();
    path
}

/// Standard output and standard error of a command that must have ended with `code`.
fn said(output: &Output, code: i32) -> (String, String) {
    let (printed, noted) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{printed}{noted}");
    (printed, noted)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinators_sweep_is_rescored_repriced_and_exported_like_a_run_of_this_machine() {
    let deployment = Deployment::new().await.unwrap();
    let folder = deployment.folder.path();
    let data = workspace().join("examples/data/worfbench");
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0"]);
    simulate.args(["--data", &format!("worfbench={}", data.display())]);
    let server = Process::start_and_read(simulate).await.unwrap();
    let _roles = [
        deployment.start("coordinator").await.unwrap(),
        deployment.start("worker").await.unwrap(),
        deployment.start("scorer").await.unwrap(),
    ];
    let spec = written(folder, &unique_name("judged"), "lexical", &server);
    let sweep = deployment.submit(&spec).await.unwrap();
    assert_eq!(deployment.finish(&sweep).await.unwrap().0, Some(0));
    let local = folder.join("local");
    let local = local.to_str().unwrap();
    let mut run = regatta().unwrap();
    run.args(["run", spec.to_str().unwrap(), "--output", local]);
    said(&finish(run).await.unwrap(), 0);
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();

    // Another evaluator, whose verdicts the coordinator has.
    let rescored = async |run: &str, to: &str| {
        let arguments = ["rescore", run, "--evaluator", "paper", "--output", &at(to), "--json"];
        let (printed, noted) = said(&deployment.run(&arguments).await.unwrap(), 0);
        assert!(noted.contains("verdicts are known, and nothing has to be asked"), "{noted}");
        printed
    };
    assert_eq!(rescored(&sweep, "of-sweep").await, rescored(local, "of-run").await);
    let (of_sweep, of_run) = (folder.join("of-sweep"), folder.join("of-run"));
    assert_eq!(read(&of_sweep, "results.jsonl"), read(&of_run, "results.jsonl"));
    assert!(read(&of_sweep, "results.jsonl").lines().all(|line| line.contains("\"paper\"")), "each has a score");

    // Tables, verdicts among them, and pages.
    let exported = async |run: &str, to: &str| {
        let arguments = ["export", run, "--output", &at(to), "--format", "csv,eval,site"];
        said(&deployment.run(&arguments).await.unwrap(), 0);
        folder.join(to)
    };
    let (tables, expected) = (exported(&sweep, "tables").await, exported(local, "expected").await);
    assert_eq!(read(&tables, "verdicts.csv"), read(&expected, "verdicts.csv"));
    assert!(read(&tables, "verdicts.csv").lines().count() > 12);
    assert_eq!(read(&tables, "sessions.csv").lines().count(), 13);
    assert!(read(&tables, "site/index.html").contains(&sweep));

    // Prices.
    let repriced = async |run: &str| {
        let (printed, _) = said(&deployment.run(&["reprice", run, "--json"]).await.unwrap(), 0);
        let found: Value = serde_json::from_str(&printed).unwrap();
        (found["recorded"].clone(), found["models"].clone())
    };
    let of_sweep = repriced(&sweep).await;
    assert_eq!(of_sweep, repriced(local).await);
    assert!(of_sweep.0["known"].as_u64().unwrap() > 0, "{of_sweep:?}");
    assert_eq!(of_sweep.0["unknown_calls"], 0, "{of_sweep:?}");
    for verb in ["rescore", "reprice"] {
        let (_, noted) = said(&deployment.run(&[verb, "never-submitted"]).await.unwrap(), 78);
        assert!(noted.contains("there is no directory never-submitted"), "{noted}");
    }

    // What a judge did not answer is asked of another, and nobody under test is.
    let unjudged = written(folder, &unique_name("unjudged"), "unheard-of", &server);
    let unjudged = deployment.submit(&unjudged).await.unwrap();
    assert_eq!(deployment.finish(&unjudged).await.unwrap().0, Some(4));
    let arguments = ["rescore", &unjudged, "--judge", "sim/lexical", "--output", &at("judged")];
    // Whoever submitted it may be anybody, so it reaches no address of this machine unless it is trusted.
    let (_, noted) = said(&deployment.run(&arguments).await.unwrap(), 78);
    assert!(noted.contains("give --trust") && !folder.join("judged").exists(), "{noted}");
    let (_, noted) = said(&deployment.run(&[&arguments[..], &["--trust"]].concat()).await.unwrap(), 2);
    assert!(noted.contains("nothing was asked") && !folder.join("judged").exists(), "{noted}");
    said(&deployment.run(&[&arguments[..], &["--yes"]].concat()).await.unwrap(), 0);
    let scores = |directory: &Path| -> Vec<Value> {
        let lines = read(directory, "results.jsonl");
        lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["scores"].clone()).collect()
    };
    assert_eq!(scores(&folder.join("judged")), scores(Path::new(local)));
}
