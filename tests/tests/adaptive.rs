//! Sweeps with a question, as people run them: they stop when the answer is known, say what it is, and buy the same sessions everywhere.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

use regatta_tests::regatta::{Process, finish, free_address, regatta, workspace};
use regatta_tests::viewing::{ask, view};
use regatta_tests::waiting::until;
use regatta_tests::{Deployment, unique_name};
use serde_json::Value;

const DECIDE: &str = "decide: { question: best, margin: 2pp, confidence: 0.8, rounds: 10 }";

/// A spec over the miniature of WorFBench; `endpoint` says where its models are.
fn spec(folder: &Path, name: &str, decide: &str, endpoint: &str) -> PathBuf {
    let data = workspace().join("examples/data/worfbench");
    let text = format!(
        "name: {name}\nseed: 7\ntrials: 1\n{decide}\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], judge: sim/lexical, judge_price: {{ input_per_mtok: 0, output_per_mtok: 0 }} }}\n\
         endpoints:\n  sim: {endpoint}\nmodels:\n  - {{ id: sim/oracle, price: {{ input_per_mtok: 1, output_per_mtok: 2 }} }}\n  \
         - {{ id: sim/noisy-0.5, price: {{ input_per_mtok: 1, output_per_mtok: 2 }} }}\n  \
         - {{ id: sim/noisy-0.9, price: {{ input_per_mtok: 1, output_per_mtok: 2 }} }}\n",
        data.display()
    );
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, text).unwrap();
    path
}

const SIMULATED: &str = "{ kind: simulated }";

async fn run(spec: &Path, output: &Path, further: &[&str]) -> Output {
    let mut command = regatta().unwrap();
    command.arg("run").arg(spec).arg("--output").arg(output).args(further);
    finish(command).await.unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn summary(run: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(run.join("summary.json")).unwrap()).unwrap()
}

/// Sessions in the results, by model.
fn sessions(run: &Path) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for line in std::fs::read_to_string(run.join("results.jsonl")).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["outcome"], "measured", "what was not bought is in no result");
        *found.entry(line["model"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    found
}

#[tokio::test]
async fn a_sweep_stops_when_the_best_model_is_known_and_says_what_it_saved() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&spec(folder.path(), "best", DECIDE, SIMULATED), &folder.path().join("run"), &[]).await;
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", text(&output.stderr));
    assert!(shown.contains("decided after $") && shown.contains("sim/oracle is the best by "), "{shown}");
    let (summary, sessions) = (summary(&folder.path().join("run")), sessions(&folder.path().join("run")));
    let decided = &summary["decided"];
    assert_eq!(decided["ended"], "decided");
    assert_eq!(decided["contests"][0]["best"], "sim/oracle");
    let (bought, all) = (decided["sessions"].as_u64().unwrap(), decided["sessions_max"].as_u64().unwrap());
    assert!(bought < all, "{bought} of {all}");
    assert_eq!(sessions.values().sum::<usize>() as u64, bought);
    assert_eq!(summary["sessions"]["total"].as_u64(), Some(bought), "nothing that was not bought is missing");
    assert!(sessions["sim/noisy-0.9"] <= sessions["sim/oracle"], "{sessions:?}");
    for row in summary["rows"].as_array().unwrap() {
        assert_eq!(row["coverage"], 1.0, "{row}");
    }
    let html = std::fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert!(html.contains("Decided after $") && html.contains("class=\"funnel\""));
    let (_viewer, ui) = view(folder.path(), &[]).await.unwrap();
    let page = ask(&format!("{ui}/runs/run"), "").await.unwrap().body;
    for piece in ["What is decided", "decided after $", "sim/oracle is the best by ", "class=\"funnel\""] {
        assert!(page.contains(piece), "{piece} is missing in {page}");
    }
}

#[tokio::test]
async fn a_question_that_the_items_cannot_answer_ends_when_all_are_bought() {
    let folder = tempfile::tempdir().unwrap();
    let decide = "decide: { question: interval, margin: 1pp }";
    let output = run(&spec(folder.path(), "narrow", decide, SIMULATED), &folder.path().join("run"), &[]).await;
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", text(&output.stderr));
    assert!(
        shown.contains("everything was bought and not all is decided") && shown.contains("wider than asked for"),
        "{shown}"
    );
    let decided = &summary(&folder.path().join("run"))["decided"];
    assert_eq!(decided["ended"], "exhausted");
    assert_eq!(decided["sessions"], decided["sessions_max"]);
}

#[tokio::test]
async fn what_the_rounds_will_take_is_told_before_anything_is_spent() {
    let folder = tempfile::tempdir().unwrap();
    let output =
        run(&spec(folder.path(), "before", DECIDE, SIMULATED), &folder.path().join("run"), &["--dry-run"]).await;
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", text(&output.stderr));
    assert!(shown.contains("answered with a probability of ") && shown.contains(", never more than 105 ($"), "{shown}");
}

#[tokio::test]
async fn a_pilot_in_which_a_model_is_far_ahead_foretells_fewer_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let pilot = folder.path().join("pilot");
    let output = run(&spec(folder.path(), "pilot", "", SIMULATED), &pilot, &[]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let asked = spec(folder.path(), "asked", DECIDE, SIMULATED);
    let further = ["--dry-run", "--json", "--pilot", pilot.to_str().unwrap()];
    let mut expected = Vec::new();
    for further in [&further[..2], &further[..]] {
        let output = run(&asked, &folder.path().join("run"), further).await;
        let shown = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{shown}{}", text(&output.stderr));
        let found: Value = serde_json::from_str(&shown).unwrap();
        let rounds = &found["rounds"][0];
        let of_pilot = rounds["of_pilot"].as_array().map_or(0, Vec::len);
        assert_eq!(of_pilot, if further.len() == 2 { 0 } else { 3 }, "{rounds}");
        expected.push(rounds["sessions"].as_u64().unwrap());
    }
    assert!(expected[1] < expected[0], "{expected:?}");
    let plain = spec(folder.path(), "plain", "", SIMULATED);
    for (spec, further, problem) in [
        (&asked, ["--dry-run", "--pilot", "nowhere"], "nowhere"),
        (&plain, ["--dry-run", "--pilot", pilot.to_str().unwrap()], "decide"),
    ] {
        let output = run(spec, &folder.path().join("run"), &further).await;
        assert_eq!(output.status.code(), Some(78), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(problem), "{}", text(&output.stderr));
    }
}

#[tokio::test]
async fn a_question_that_cannot_be_asked_is_refused_with_its_field() {
    let folder = tempfile::tempdir().unwrap();
    for (name, decide, problem) in [
        ("baseline", "decide: { question: against sim/orcle, margin: 2pp }", "did you mean \"sim/oracle\"?"),
        ("metric", "decide: { question: best, margin: 2pp, metric: nothing }", "decide.metric"),
        (
            "trials",
            "decide: { question: best, margin: 2pp, over: grid, at_most: { trials: 3 } }",
            "decide.at_most.trials",
        ),
        ("margin", "decide: { question: best, margin: 2 }", "2pp"),
    ] {
        let output = run(&spec(folder.path(), name, decide, SIMULATED), &folder.path().join(name), &[]).await;
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(78), "{name}: {said}");
        assert!(said.contains(problem), "{name}: {said}");
    }
}

#[tokio::test]
async fn a_gate_goes_by_the_answers_of_a_runs_own_question() {
    let folder = tempfile::tempdir().unwrap();
    let decide = "decide: { question: against sim/noisy-0.5, margin: 10pp, confidence: 0.8, rounds: 10 }";
    let directory = folder.path().join("run");
    let output = run(&spec(folder.path(), "against", decide, SIMULATED), &directory, &[]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut command = regatta().unwrap();
    command.arg("gate").arg(&directory).args(["--decided", "--json"]);
    let output = finish(command).await.unwrap();
    let judged: Value = serde_json::from_slice(&output.stdout).unwrap();
    let codes = BTreeMap::from([("go", 0), ("no_go", 1), ("inconclusive", 2)]);
    assert_eq!(output.status.code(), codes.get(judged["verdict"].as_str().unwrap()).copied(), "{judged}");
    assert_eq!(judged["baseline"], "sim/noisy-0.5");
    assert_eq!(judged["confidence"], 0.8);
    let checks = judged["checks"].as_array().unwrap();
    let of_oracle = checks.iter().find(|check| check["cell"].as_str().unwrap().ends_with("sim/oracle")).unwrap();
    assert_eq!(checks.len(), 2, "{judged}");
    assert_eq!(of_oracle["verdict"], "go", "{judged}");
}

/// Results and every sequence after every round: all of a run that does not say what it cost.
fn found(run: &Path) -> (String, Value) {
    let results = std::fs::read_to_string(run.join("results.jsonl")).unwrap();
    (results, summary(run)["decided"]["contests"].clone())
}

async fn resume(run: &Path, further: &[&str]) -> Output {
    let mut command = regatta().unwrap();
    command.arg("resume").arg(run).args(further);
    finish(command).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_ends_within_a_round_is_said_and_a_larger_one_ends_as_if_there_had_been_none() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, poor) = (folder.path().join("whole"), folder.path().join("poor"));
    let endpoint = "{ kind: simulated, limits: { concurrency: 1 } }";
    let output = run(&spec(folder.path(), "whole", DECIDE, endpoint), &whole, &[]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let cost = summary(&whole)["decided"]["cost"]["known"].as_u64().unwrap();
    let decide = format!("{DECIDE}\nbudget_usd: {}", 0.6 * cost as f64 / 1e9);
    let output = run(&spec(folder.path(), "poor", &decide, endpoint), &poor, &[]).await;
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{shown}{}", text(&output.stderr));
    assert!(shown.contains("stopped by the budget before all was decided"), "{shown}");
    let stopped = summary(&poor);
    assert_eq!(stopped["decided"]["ended"], "budget");
    let spent = stopped["decided"]["cost"]["known"].as_u64().unwrap();
    assert!(spent > 0 && 10 * spent <= 6 * cost + 10, "{spent} of {cost}");
    let output = resume(&poor, &["--budget", "+5"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(found(&poor), found(&whole));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_or_a_judge_that_is_away_for_a_round_ends_it_undecided_and_a_resume_ends_as_if_it_had_been_there() {
    let data = workspace().join("examples/data/worfbench");
    for away in ["sim/noisy-0.9", "sim/lexical"] {
        let folder = tempfile::tempdir().unwrap();
        let address = free_address().await.unwrap();
        let spec = spec(folder.path(), "away", DECIDE, SIMULATED);
        let there = format!(
            "  there: {{ kind: openai, base_url: 'http://{address}/v1', api_key_env: none, identify_sessions: true, \
             retries: {{ attempts: 3, base_delay_ms: 1, max_delay_ms: 5 }} }}\nmodels:\n"
        );
        let written = std::fs::read_to_string(&spec).unwrap();
        let written = written.replace(away, &away.replace("sim/", "there/")).replace("models:\n", &there);
        std::fs::write(&spec, written).unwrap();
        let (torn, whole) = (folder.path().join("torn"), folder.path().join("whole"));
        let output = run(&spec, &torn, &[]).await;
        let shown = text(&output.stdout);
        assert_eq!(output.status.code(), Some(4), "{away}: {shown}{}", text(&output.stderr));
        assert!(shown.contains("stopped because too little was measured"), "{away}: {shown}");
        let stopped = summary(&torn);
        assert_eq!(stopped["decided"]["ended"], "unmeasured", "{away}");
        assert_eq!(stopped["decided"]["contests"][0]["decided"], false, "{away}");

        let mut simulate = regatta().unwrap();
        let worfbench = format!("worfbench={}", data.display());
        simulate.args(["simulate", "llm", "--listen", &address.to_string(), "--data", &worfbench]);
        let server = Process::start_and_read(simulate).await.unwrap();
        let output = resume(&torn, &[]).await;
        assert_eq!(output.status.code(), Some(0), "{away}: {}", text(&output.stderr));
        let output = run(&spec, &whole, &[]).await;
        assert_eq!(output.status.code(), Some(0), "{away}: {}", text(&output.stderr));
        assert_eq!(found(&torn), found(&whole), "{away}");
        server.kill().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_buys_the_same_sessions_and_ends_with_the_same_sequences() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(folder.path(), "replayed", DECIDE, SIMULATED);
    let cache = folder.path().join("cache");
    let place = |name: &str| folder.path().join(name);
    for (name, mode) in [("first", "read_write"), ("again", "replay")] {
        let further = ["--cache", mode, "--cache-dir", cache.to_str().unwrap()];
        let output = run(&spec, &place(name), &further).await;
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
    }
    assert_eq!(found(&place("first")), found(&place("again")));
}

/// Starts models that are simulated over the miniature of WorFBench, at `address`.
async fn simulate(address: &str) -> Process {
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", address]);
    simulate.args(["--data", &format!("worfbench={}", workspace().join("examples/data/worfbench").display())]);
    Process::start_and_read(simulate).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_that_lacks_money_or_a_model_for_a_round_says_so_and_a_resume_ends_as_one_process_would() {
    let deployment = Deployment::new().await.unwrap();
    let folder = deployment.folder.path();
    let server = simulate("127.0.0.1:0").await;
    let endpoint = |limits: &str| {
        let url = &server.first_line;
        format!("{{ kind: openai, base_url: '{url}', api_key_env: none, identify_sessions: true{limits} }}")
    };
    let one_at_once = endpoint(", limits: { concurrency: 1 }");
    let whole = folder.join("whole");
    let output = run(&spec(folder, "whole", DECIDE, &one_at_once), &whole, &[]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let cost = summary(&whole)["decided"]["cost"]["known"].as_u64().unwrap();
    let _coordinator = deployment.start("coordinator").await.unwrap();
    let _worker = deployment.start("worker").await.unwrap();
    let _scorer = deployment.start("scorer").await.unwrap();

    let budget = format!("{DECIDE}\nbudget_usd: {}", 0.6 * cost as f64 / 1e9);
    let id = deployment.submit(&spec(folder, &unique_name("poor"), &budget, &one_at_once)).await.unwrap();
    let (code, stopped) = deployment.finish(&id).await.unwrap();
    assert_eq!((code, summary(&stopped)["decided"]["ended"].as_str()), (Some(3), Some("budget")));
    let spent = summary(&stopped)["decided"]["cost"]["known"].as_u64().unwrap();
    assert!(spent > 0 && 10 * spent <= 6 * cost + 10, "{spent} of {cost}");
    let resumed = deployment.run(&["resume", &id, "--budget", "+5"]).await.unwrap();
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    let (code, ended) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    assert_eq!(found(&ended), found(&whole));

    let address = free_address().await.unwrap().to_string();
    let torn = spec(folder, &unique_name("torn"), DECIDE, &endpoint(""));
    let there = format!(
        "  there: {{ kind: openai, base_url: 'http://{address}/v1', api_key_env: none, identify_sessions: true, \
         retries: {{ attempts: 3, base_delay_ms: 1, max_delay_ms: 5 }} }}\nmodels:\n"
    );
    let written = std::fs::read_to_string(&torn).unwrap();
    let written = written.replace("sim/noisy-0.9", "there/noisy-0.9").replace("models:\n", &there);
    std::fs::write(&torn, written).unwrap();
    let id = deployment.submit(&torn).await.unwrap();
    let (code, stopped) = deployment.finish(&id).await.unwrap();
    assert_eq!((code, summary(&stopped)["decided"]["ended"].as_str()), (Some(4), Some("unmeasured")));
    let _there = simulate(&address).await;
    deployment.resume(&id).await.unwrap();
    let (code, ended) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    let embedded = folder.join("embedded");
    let output = run(&torn, &embedded, &[]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(found(&ended), found(&embedded));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_whose_roles_are_killed_between_rounds_buys_the_same_sessions_as_one_process() {
    let deployment = Deployment::new().await.unwrap();
    let folder = deployment.folder.path();
    let data = workspace().join("examples/data/worfbench");
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0"]);
    simulate.args(["--data", &format!("worfbench={}", data.display())]);
    simulate.args(["--simulation", "latency: { median_ms: 50, spread: 1.5 }"]);
    let server = Process::start_and_read(simulate).await.unwrap();
    let endpoint =
        format!("{{ kind: openai, base_url: '{}', api_key_env: none, identify_sessions: true }}", server.first_line);
    let spec = spec(folder, &unique_name("rounds"), DECIDE, &endpoint);
    let coordinator = deployment.start("coordinator").await.unwrap();
    let worker = deployment.start("worker").await.unwrap();
    let scorer = deployment.start("scorer").await.unwrap();
    let id = deployment.submit(&spec).await.unwrap();
    deployment.wait_for(&id, 8).await.unwrap();
    coordinator.kill().await.unwrap();
    worker.kill().await.unwrap();
    let _coordinator = deployment.start("coordinator").await.unwrap();
    let _worker = deployment.start("worker").await.unwrap();
    deployment.wait_for(&id, 16).await.unwrap();
    scorer.kill().await.unwrap();
    let _scorer = deployment.start("scorer").await.unwrap();
    let (code, distributed) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    let embedded = folder.join("embedded");
    let output = run(&spec, &embedded, &[]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let results = |run: &Path| std::fs::read_to_string(run.join("results.jsonl")).unwrap();
    assert_eq!(results(&embedded), results(&distributed));
    let decided = |run: &Path| summary(run)["decided"]["contests"].clone();
    assert_eq!(decided(&embedded), decided(&distributed), "every sequence after every round");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_sweep_runs_its_status_has_the_sequences_that_its_report_has_of_the_same_round() {
    let deployment = Deployment::new().await.unwrap();
    let folder = deployment.folder.path();
    let data = workspace().join("examples/data/worfbench");
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0"]);
    simulate.args(["--data", &format!("worfbench={}", data.display())]);
    simulate.args(["--simulation", "latency: { median_ms: 300, spread: 1.5 }"]);
    let server = Process::start_and_read(simulate).await.unwrap();
    let endpoint =
        format!("{{ kind: openai, base_url: '{}', api_key_env: none, identify_sessions: true }}", server.first_line);
    // No number of these items answers it, so that all rounds are bought.
    let decide = "decide: { question: interval, margin: 1pp, rounds: 5 }";
    let spec = spec(folder, &unique_name("closing"), decide, &endpoint);
    let _coordinator = deployment.start("coordinator").await.unwrap();
    let _worker = deployment.start("worker").await.unwrap();
    let _scorer = deployment.start("scorer").await.unwrap();
    let id = deployment.submit(&spec).await.unwrap();
    let seen = until("the second round of a sweep that runs", async || {
        let status = deployment.status(&id).await.map_err(|error| error.to_string())?;
        let so_far = &status["deciding"];
        let is_later = so_far["contests"][0]["round"].as_u64().is_some_and(|round| round >= 2);
        if is_later { Ok(so_far.clone()) } else { Err(status.to_string()) }
    });
    let seen = seen.await.unwrap();
    let (code, run) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    assert!(seen["sessions"].as_u64() < seen["sessions_max"].as_u64(), "{seen}");
    let last = seen["contests"][0]["round"].as_u64().unwrap() - 1;
    let then = &seen["contests"][0]["answers"]["sequences"];
    let told = &summary(&run)["decided"]["contests"][0]["sequences"];
    assert_eq!(then.as_array().unwrap().len(), 3);
    for (then, told) in then.as_array().unwrap().iter().zip(told.as_array().unwrap()) {
        let mut points = told["points"].as_array().unwrap().iter();
        let point = points.rfind(|point| point["round"].as_u64().unwrap() <= last).unwrap();
        assert_eq!(then["one"], told["one"]);
        for end in ["low", "high"] {
            let (then, told) = (then[end].as_f64().unwrap(), point[end].as_f64().unwrap());
            assert!((then - told).abs() < 1e-12, "{end} after round {last}: {then} and {told}");
        }
        assert_eq!(then["points"], serde_json::json!([]), "a status is asked for every second");
    }
    let ended = deployment.status(&id).await.unwrap();
    assert_eq!(ended["deciding"], Value::Null, "its report has the answers");
}
