//! Pairs in every sweep, `regatta compare` and `regatta gate`, as a person and a pipeline use them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::Output;

use regatta_tests::regatta::{Process, finish, regatta, workspace};
use regatta_tests::{Deployment, unique_name};
use serde_json::Value;

const SPEC: &str = "
name: NAME
seed: 3
trials: 2
benchmarks:
  worfbench: { data: DATA, settings: [two-shot, zero-shot], judge: sim/lexical }
endpoints:
  sim: { kind: simulated }
models: [MODELS]
";

async fn call(arguments: &[&str]) -> Output {
    let mut command = regatta().unwrap();
    command.args(arguments);
    finish(command).await.unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The directory of a run of `models`.
async fn run(folder: &Path, name: &str, models: &str) -> PathBuf {
    let data = workspace().join("examples/data/worfbench");
    let spec = SPEC.replace("NAME", name).replace("DATA", &data.display().to_string()).replace("MODELS", models);
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, spec).unwrap();
    let directory = folder.join(name);
    let output = call(&["run", path.to_str().unwrap(), "--output", directory.to_str().unwrap()]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    directory
}

fn read(run: &Path, name: &str) -> String {
    std::fs::read_to_string(run.join(name)).unwrap()
}

#[tokio::test]
async fn two_sweeps_of_the_same_spec_give_the_same_bytes_and_one_more_model_changes_no_other_line() {
    let folder = tempfile::tempdir().unwrap();
    let one = run(folder.path(), "one", "sim/oracle, sim/noisy-0.4").await;
    let same = run(folder.path(), "same", "sim/oracle, sim/noisy-0.4").await;
    for name in ["results.jsonl", "comparisons.csv", "measures.json", "metrics.csv"] {
        assert_eq!(read(&one, name), read(&same, name), "{name}");
    }
    let more = run(folder.path(), "more", "sim/oracle, sim/noisy-0.4, sim/noisy-0.2").await;
    let (results, with_more) = (read(&one, "results.jsonl"), read(&more, "results.jsonl"));
    let others: Vec<&str> = with_more.lines().filter(|line| !line.contains("noisy-0.2")).collect();
    assert_eq!(results.lines().collect::<Vec<_>>(), others);
    // Of the pair that both have, all but the correction for the size of the family is the same.
    let pair = |run: &Path| -> Vec<String> {
        let csv = read(run, "comparisons.csv");
        let line = csv.lines().find(|line| line.contains("sim/oracle") && line.contains("noisy-0.4")).unwrap();
        line.split(',').take(12).map(str::to_owned).collect()
    };
    assert_eq!(pair(&one), pair(&more));
}

#[tokio::test]
async fn a_gate_tells_its_verdict_by_its_exit_code_and_everything_else_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path(), "nightly", "sim/oracle, sim/noisy-0.4").await;
    let run = run.to_str().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let policy = |name: &str, content: &str| {
        std::fs::write(at(name), content).unwrap();
        at(name)
    };
    let margin = policy("margin.yaml", "metrics: { f1_chain: { margin: 5pp } }\ncoverage_min: 1\n");
    // 35 items without a difference are no proof that there is none of 5 points.
    let wide = policy("wide.yaml", "metrics: { f1_chain: { margin: 15pp } }\ncoverage_min: 1\n");
    let strict = policy("strict.yaml", "metrics: { f1_chain: { margin: 0pp } }\n");
    let wrong = policy("wrong.yaml", "metrics:\n  f1_chain: { margn: 5pp }\n");
    let nights = policy(
        "nights.yaml",
        "metrics: { f1_chain: { margin: 5pp } }\nnights: { method: alpha_spending, ledger: nights.json }\n",
    );
    let gate = async |policy: &str, model: &str| {
        let models = ["--model", model, "--baseline-model", "sim/oracle"];
        let files = ["--junit", &at("gate.xml"), "--markdown", &at("gate.md")];
        call(&[&["gate", run, "--baseline", run, "--policy", policy][..], &models, &files].concat()).await
    };
    assert_eq!(gate(&wide, "sim/oracle").await.status.code(), Some(0));
    assert_eq!(gate(&margin, "sim/oracle").await.status.code(), Some(2));
    assert_eq!(gate(&strict, "sim/oracle").await.status.code(), Some(2));
    let refused = gate(&margin, "sim/noisy-0.4").await;
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
    assert!(text(&refused.stdout).starts_with("NO-GO"));
    assert!(read(folder.path(), "gate.xml").contains("<failure type=\"NO-GO\""));
    assert!(read(folder.path(), "gate.md").starts_with("## Gate: NO-GO"));
    // The same run is the same night, however often it is judged.
    for _ in 0..2 {
        assert_eq!(gate(&nights, "sim/noisy-0.4").await.status.code(), Some(1));
    }
    let ledger: Value = serde_json::from_str(&read(folder.path(), "nights.json")).unwrap();
    assert_eq!(ledger["nights"].as_array().unwrap().len(), 1);
    let mistaken = gate(&wrong, "sim/oracle").await;
    assert_eq!(mistaken.status.code(), Some(78));
    assert!(text(&mistaken.stderr).contains("unknown field `margn`") && text(&mistaken.stderr).contains("line 2"));
    assert_eq!(gate(&margin, "sim/unheard-of").await.status.code(), Some(78));
    assert_eq!(call(&["gate", run]).await.status.code(), Some(64));
    std::fs::create_dir(at("a-directory")).unwrap();
    let unwritable = call(&["gate", run, "--baseline", run, "--policy", &margin, "--junit", &at("a-directory")]).await;
    assert_eq!(unwritable.status.code(), Some(70), "{}", text(&unwritable.stderr));
}

#[tokio::test]
async fn two_runs_are_compared_item_by_item_with_what_changed_between_them() {
    let folder = tempfile::tempdir().unwrap();
    let before = run(folder.path(), "before", "sim/oracle").await;
    let after = run(folder.path(), "after", "sim/noisy-0.4").await;
    let (before, after) = (before.to_str().unwrap(), after.to_str().unwrap());
    let shown = call(&["compare", before, after]).await;
    assert_eq!(shown.status.code(), Some(0), "{}", text(&shown.stderr));
    assert!(text(&shown.stdout).contains("sim/oracle → sim/noisy-0.4 (simulated)"), "{}", text(&shown.stdout));
    let output = call(&["compare", before, after, "--json"]).await;
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (cell, changes) = (&found["cells"][0], found["changes"].as_array().unwrap());
    let metric = &cell["metrics"][0];
    assert!(metric["difference"]["value"].as_f64().unwrap() < 0.0 && metric["p_holm"].as_f64().unwrap() < 0.05);
    let count = |what: &str| cell["flips"][what].as_array().unwrap().len() as u64;
    let n = metric["difference"]["n"].as_u64().unwrap();
    assert_eq!(count("better") + count("worse") + cell["flips"]["same"].as_u64().unwrap(), n);
    assert!(count("worse") > count("better"));
    // The models differ, and nothing else: both were asked the same.
    let names: Vec<&str> = changes.iter().map(|change| change["what"].as_str().unwrap()).collect();
    assert_eq!(names, ["model", "sim/noisy-0.4: served as"]);
    let same = call(&["compare", before, before]).await;
    assert!(text(&same.stdout).contains("Nothing that a result can depend on has changed"), "{}", text(&same.stdout));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinators_sweep_is_compared_with_a_directory_and_judged_like_one() {
    let deployment = Deployment::new().await.unwrap();
    let folder = deployment.folder.path();
    let data = workspace().join("examples/data/worfbench");
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0"]);
    simulate.args(["--data", &format!("worfbench={}", data.display())]);
    let server = Process::start_and_read(simulate).await.unwrap();
    let spec = |name: &str, model: &str| {
        let endpoint = format!(
            "sim: {{ kind: openai, base_url: \"{}\", api_key_env: none, identify_sessions: true }}",
            server.first_line
        );
        let text = SPEC.replace("NAME", name).replace("DATA", &data.display().to_string()).replace("MODELS", model);
        let path = folder.join(format!("{name}.yaml"));
        std::fs::write(&path, text.replace("sim: { kind: simulated }", &endpoint)).unwrap();
        path
    };
    let _roles = [
        deployment.start("coordinator").await.unwrap(),
        deployment.start("worker").await.unwrap(),
        deployment.start("scorer").await.unwrap(),
    ];
    let before = deployment.submit(&spec(&unique_name("before"), "sim/oracle")).await.unwrap();
    let after = deployment.submit(&spec(&unique_name("after"), "sim/noisy-0.4")).await.unwrap();
    let mut directories = Vec::new();
    for sweep in [&before, &after] {
        let (code, directory) = deployment.finish(sweep).await.unwrap();
        assert_eq!(code, Some(0));
        directories.push(directory.to_str().unwrap().to_owned());
    }
    let [before_in, after_in] = directories.as_slice() else { panic!("two sweeps") };
    let compared = async |a: &str, b: &str| {
        let output = deployment.run(&["compare", a, b, "--json"]).await.unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        (found["cells"].clone(), found["changes"].as_array().unwrap().clone())
    };
    let (cells, changes) = compared(before_in, after_in).await;
    assert!(cells[0]["metrics"][0]["difference"]["value"].as_f64().unwrap() < 0.0);
    for (a, b) in [(&before, &after), (before_in, &after), (&before, after_in)] {
        let (of_sweeps, more) = compared(a, b).await;
        assert_eq!(of_sweeps, cells, "{a} {b}");
        // A coordinator gives no transcripts, so nobody can say whether both were asked the same.
        assert_eq!((&more[..changes.len()], more.len()), (changes.as_slice(), changes.len() + 1), "{a} {b}");
        assert_eq!(more[changes.len()]["what"], "prompts", "{a} {b}");
    }
    let policy = folder.join("policy.yaml");
    std::fs::write(&policy, "metrics: { f1_chain: { margin: 5pp } }\n").unwrap();
    let gate = ["gate", &after, "--baseline", &before, "--policy", policy.to_str().unwrap()];
    assert_eq!(deployment.run(&gate).await.unwrap().status.code(), Some(1));
    let pilot = spec(&unique_name("pilot"), "sim/oracle, sim/noisy-0.4");
    let sweep = deployment.submit(&pilot).await.unwrap();
    let (code, exported) = deployment.finish(&sweep).await.unwrap();
    assert_eq!(code, Some(0));
    let planned = async |run: &str| {
        let plan = ["plan", pilot.to_str().unwrap(), "--detect", "10pp", "--pilot", run, "--json"];
        let output = deployment.run(&plan).await.unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let of_sweep = planned(&sweep).await;
    assert_eq!(of_sweep[0]["basis"]["pilot"]["sweep"], sweep.as_str());
    assert_eq!(of_sweep, planned(exported.to_str().unwrap()).await);
    let unknown = deployment.run(&["compare", &before, "never-submitted"]).await.unwrap();
    assert_eq!(unknown.status.code(), Some(78), "{}", text(&unknown.stderr));
}
