//! FlowBench end to end: conversations of several models, in one process and in a deployment whose workers come and go.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use regatta_tests::regatta::{Process, finish, get_json, regatta, shared, workspace};
use regatta_tests::{Deployment, unique_name};
use serde_json::Value;

fn miniature() -> PathBuf {
    workspace().join("examples/data/flowbench")
}

/// An endpoint for whoever takes part in conversations over `data`.
async fn simulate(data: &Path, median_ms: u32) -> Process {
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data", &format!("flowbench={}", data.display())]);
    simulate.args(["--simulation", &format!("latency: {{ median_ms: {median_ms}, spread: 1.5 }}")]);
    Process::start_and_read(simulate).await.unwrap()
}

/// Variable parts of a sweep's spec.
#[derive(Clone, Copy)]
struct Plan<'a> {
    data: &'a Path,
    settings: &'a str,
    trials: u32,
    /// Items of each role; all when there is none.
    limit: Option<u32>,
    judge: &'a str,
}

/// Both models twice over the miniature.
fn plan<'a>(data: &'a Path, settings: &'a str) -> Plan<'a> {
    Plan { data, settings, trials: 2, limit: None, judge: "judge/oracle" }
}

fn spec(folder: &Path, name: &str, plan: Plan<'_>, players: &Process, judge: &Process) -> PathBuf {
    let endpoint = |server: &Process| {
        format!(
            "{{ kind: openai, base_url: '{}', api_key_env: none, identify_sessions: true, limits: {{ concurrency: 8 }} }}",
            server.first_line
        )
    };
    let Plan { data, settings, trials, limit, judge: judges } = plan;
    let limit = limit.map_or_else(String::new, |limit| format!("    limit: first:{limit}\n"));
    let text = format!(
        "name: {name}\nseed: 4\ntrials: {trials}\nbenchmarks:\n  flowbench:\n    data: {}\n    settings: {settings}\n{limit}    \
         roles: {{ user: sim/oracle, environment: sim/oracle }}\n    judge: {judges}\n\
         endpoints:\n  sim: {}\n  judge: {}\nmodels: [sim/oracle, sim/noisy-0.3]\n",
        data.display(),
        endpoint(players),
        endpoint(judge)
    );
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, text).unwrap();
    path
}

fn read(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap()
}

async fn embedded(folder: &Path, spec: &Path) -> PathBuf {
    let directory = folder.join("embedded");
    let mut command = regatta().unwrap();
    command.arg("run").arg(spec).arg("--output").arg(&directory);
    let output = finish(command).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    directory
}

/// Calls in the transcripts of the attempts that count.
fn recorded_calls(directory: &Path) -> u64 {
    let mut calls = 0;
    for segment in directory.join("transcripts").read_dir().unwrap() {
        let bytes = std::fs::read(segment.unwrap().path()).unwrap();
        for line in String::from_utf8(zstd::decode_all(&bytes[..]).unwrap()).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let events = line["transcript"]["events"].as_array().unwrap();
            calls += events.iter().filter(|event| event.get("call").is_some()).count() as u64;
        }
    }
    calls
}

async fn answered(server: &Process) -> u64 {
    let counters = get_json(&server.first_line.replace("/v1", "/simulator/counters")).await.unwrap();
    counters["answered"].as_object().unwrap().values().filter_map(Value::as_u64).sum()
}

#[tokio::test]
async fn every_level_and_format_runs_and_the_papers_tables_are_filled() {
    let folder = tempfile::tempdir().unwrap();
    let data = miniature();
    let (players, judge) = (simulate(&data, 0).await, simulate(&data, 0).await);
    let settings = "[turn/single/text, turn/single/flowchart, turn/cross/flowchart, session/single/text, \
                    session/single/none_wo_tool, session/cross/flowchart, session/cross/text/code-limits]";
    let spec = spec(folder.path(), "levels", plan(&data, settings), &players, &judge);
    let directory = embedded(folder.path(), &spec).await;
    for line in read(&directory, "results.jsonl").lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["outcome"], "measured", "{line}");
    }
    let report = read(&directory, "report.md");
    for table in ["Table 3", "Table 4", "Table 5", "Table 7", "Table 9", "Figure 3", "Figures 4 and 6"] {
        assert!(report.contains(table), "{table} is missing in {report}");
    }
    assert!(report.contains("Synthetic data"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_is_handed_over_goes_on_elsewhere_and_no_call_is_made_twice() {
    let deployment = Deployment::new().await.unwrap();
    let data = miniature();
    let (players, judge) = (simulate(&data, 60).await, simulate(&data, 0).await);
    let settings = "[session/single/flowchart, session/cross/text]";
    let spec = spec(deployment.folder.path(), &unique_name("talk"), plan(&data, settings), &players, &judge);
    let _roles = [deployment.start("coordinator").await.unwrap(), deployment.start("scorer").await.unwrap()];
    let leaving = deployment.start("worker").await.unwrap();
    let id = deployment.submit(&spec).await.unwrap();
    // Conversations are under way, and the first of them are over.
    deployment.wait_for(&id, 2).await.unwrap();
    assert_eq!(leaving.terminate().await.unwrap(), Some(0));
    let before = answered(&players).await;
    let _workers = [deployment.start("worker").await.unwrap(), deployment.start("worker").await.unwrap()];
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));

    let attempts: Vec<Value> =
        read(&directory, "attempts.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let handed_over = attempts.iter().filter(|attempt| attempt["state"] == "handed_over").count();
    assert!(handed_over > 0, "the worker left in the middle of conversations");
    assert!(before > 0 && before < recorded_calls(&directory));
    assert_eq!(answered(&players).await, recorded_calls(&directory), "what was asked once is never asked again");

    let embedded = embedded(deployment.folder.path(), &spec).await;
    assert_eq!(read(&directory, "results.jsonl"), read(&embedded, "results.jsonl"));
}

/// An endpoint's own counters: its answers by model, and the tokens that it read and wrote for them.
async fn own_books(server: &Process) -> (Value, Value) {
    let counters = get_json(&server.first_line.replace("/v1", "/simulator/counters")).await.unwrap();
    (counters["answered"].clone(), counters["delivered"].clone())
}

/// Sweeps over one ledger that differ in the address behind their judge's name alone. By its own books each address is asked all that its
/// sweep needs to know, and nothing by a third sweep whose judge is where the first one's was.
#[tokio::test(flavor = "multi_thread")]
async fn judges_of_one_name_at_two_addresses_are_each_asked_for_their_own_sweep() {
    let deployment = Deployment::new().await.unwrap();
    let data = miniature();
    let (players, one, two) = (simulate(&data, 0).await, simulate(&data, 0).await, simulate(&data, 0).await);
    let _roles = [
        deployment.start("coordinator").await.unwrap(),
        deployment.start("scorer").await.unwrap(),
        deployment.start("worker").await.unwrap(),
    ];
    let (mut results, mut of_one, mut of_two) = (Vec::new(), Vec::new(), Vec::new());
    for judge in [&one, &two, &one] {
        let plan = Plan { trials: 1, limit: Some(1), ..plan(&data, "[session/single/flowchart]") };
        let spec = spec(deployment.folder.path(), &unique_name("judged"), plan, &players, judge);
        let (code, directory) = deployment.finish(&deployment.submit(&spec).await.unwrap()).await.unwrap();
        assert_eq!(code, Some(0));
        results.push(read(&directory, "results.jsonl"));
        of_one.push(own_books(&one).await);
        of_two.push(own_books(&two).await);
    }
    let (answered, tokens) = &of_one[0];
    assert!(answered["oracle"].as_u64().unwrap() > 0 && tokens["input"].as_u64().unwrap() > 0, "{answered} {tokens}");
    assert_eq!(of_two[0].0["oracle"].as_u64().unwrap_or(0), 0, "the other address is asked nothing by the first sweep");
    assert_eq!(of_two[1], of_one[0], "it is asked the same for its own");
    assert_eq!(of_one[1], of_one[0], "for which the first is asked nothing");
    assert_eq!(
        (&of_one[2], &of_two[2]),
        (&of_one[0], &of_two[1]),
        "what an address has answered it is not asked again"
    );
    assert!(results[0] == results[1] && results[0] == results[2], "equal judges give equal verdicts");
}

/// Every role of the published scenarios, with a judge that sees comparisons in both orders.
#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_gives_the_same_bytes_as_one_process_over_every_role() {
    let Some(shared) = shared("a_deployment_gives_the_same_bytes_as_one_process_over_every_role") else { return };
    let data = shared.join("benchmarks/flowbench/data");
    let deployment = Deployment::new().await.unwrap();
    let (players, judge) = (simulate(&data, 0).await, simulate(&data, 0).await);
    let settings =
        "[turn/single/flowchart, turn/cross/text, session/single/flowchart, session/cross/ensemble/all-lengths]";
    let judges = "{ panel: [judge/noisy-0.2], rule: majority, repeats: 2, swap: true }";
    let plan = Plan { data: &data, settings, trials: 1, limit: Some(1), judge: judges };
    let spec = spec(deployment.folder.path(), &unique_name("roles"), plan, &players, &judge);
    let _roles = [
        deployment.start("coordinator").await.unwrap(),
        deployment.start("worker").await.unwrap(),
        deployment.start("worker").await.unwrap(),
        deployment.start("scorer").await.unwrap(),
    ];
    let id = deployment.submit(&spec).await.unwrap();
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    let results = read(&directory, "results.jsonl");
    assert_eq!(results.lines().count(), 4 * 22 * 2, "one item of each of 22 roles in four settings by two models");
    for line in results.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["outcome"], "measured", "{line}");
    }
    let embedded = embedded(deployment.folder.path(), &spec).await;
    assert_eq!(results, read(&embedded, "results.jsonl"));
}
