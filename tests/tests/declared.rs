//! Benchmarks that are declared in files: the same bytes from one process and from a deployment, from the cache, and what is wrong in them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use regatta_tests::regatta::{Process, finish, regatta, workspace};
use regatta_tests::{Deployment, unique_name};
use serde_json::Value;

/// The miniatures, each with the settings that are run; empty for those that have one alone.
const MINIATURES: [(&str, &str); 4] = [
    ("arithmetic", "shots=0, shots=4"),
    ("knowledge", "style=letter/shots=3, style=reason/shots=0"),
    ("instructions", ""),
    ("functions", ""),
];

fn folder(name: &str) -> String {
    workspace().join("examples/benchmarks").join(name).display().to_string()
}

async fn simulate() -> Process {
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--simulation", "latency: { median_ms: 200 }"]);
    for (name, _) in MINIATURES {
        simulate.args(["--data", &format!("{name}={}", folder(name))]);
    }
    Process::start_and_read(simulate).await.unwrap()
}

fn spec(place: &Path, server: &Process) -> PathBuf {
    let mut text = format!("name: {}\nseed: 3\ntrials: 2\nbenchmarks:\n", unique_name("declared"));
    for (name, settings) in MINIATURES {
        text.push_str(&format!("  {name}: {{ data: {}, settings: [{settings}] }}\n", folder(name)));
    }
    text.push_str(&format!(
        "endpoints:\n  sim: {{ kind: openai, base_url: '{}', api_key_env: none, identify_sessions: true, limits: {{ concurrency: 16 }} }}\n\
         models: [sim/oracle, sim/noisy-0.3]\n",
        server.first_line
    ));
    let path = place.join("declared.yaml");
    std::fs::write(&path, text).unwrap();
    path
}

/// Runs regatta with `arguments`; its exit code, and what it said.
async fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = regatta().unwrap();
    command.args(arguments);
    let output = finish(command).await.unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code(), said.concat())
}

fn read(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap()
}

fn results(directory: &Path) -> Vec<Value> {
    read(directory, "results.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn declared_benchmarks_give_the_same_bytes_in_a_deployment_also_when_a_worker_is_killed() {
    let deployment = Deployment::new().await.unwrap();
    let server = simulate().await;
    let spec = spec(deployment.folder.path(), &server);
    let _roles = [
        deployment.start("coordinator").await.unwrap(),
        deployment.start("scorer").await.unwrap(),
        deployment.start("worker").await.unwrap(),
    ];
    let killed = deployment.start("worker").await.unwrap();
    let id = deployment.submit(&spec).await.unwrap();
    deployment.wait_for(&id, 30).await.unwrap();
    killed.kill().await.unwrap();
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    let alone = deployment.folder.path().join("embedded");
    let (code, said) = run(&["run", spec.to_str().unwrap(), "--output", alone.to_str().unwrap()]).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(read(&directory, "results.jsonl"), read(&alone, "results.jsonl"));
    let lines = results(&directory);
    assert_eq!(lines.len(), 2 * 2 * (12 * 2 + 12 * 2 + 10 + 6));
    for line in lines.iter().filter(|line| line["model"] == "sim/oracle") {
        assert_eq!(line["outcome"], "measured", "{line}");
        let scores = line["scores"]["declared"].as_object().unwrap();
        let right = ["correct", "accuracy", "strict"].iter().find_map(|name| scores.get(*name)?.as_f64());
        assert_eq!(right, Some(1.0), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_runs_without_key_or_network_and_again_from_its_cache() {
    let place = tempfile::tempdir().unwrap();
    let (first, again, cache) = (place.path().join("first"), place.path().join("again"), place.path().join("cache"));
    let spec = workspace().join("examples/declared.yaml").display().to_string();
    let run_into = async |directory: &Path, mode: &str| {
        let (directory, cache) = (directory.to_str().unwrap(), cache.to_str().unwrap());
        run(&["run", &spec, "--output", directory, "--cache", mode, "--cache-dir", cache]).await
    };
    let (code, said) = run_into(&first, "read_write").await;
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run_into(&again, "replay").await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(read(&first, "results.jsonl"), read(&again, "results.jsonl"));
    let (mut wrong, mut unreadable) = (0, 0);
    for line in results(&first).iter().filter(|line| line["model"] == "sim/noisy-0.3") {
        assert_eq!(line["outcome"], "measured", "{line}");
        if line["scores"]["declared"]["accuracy"] == 0.0 {
            let is_flagged = line["flags"].as_array().is_some_and(|flags| flags.contains(&"invalid_format".into()));
            (wrong, unreadable) = (wrong + u32::from(!is_flagged), unreadable + u32::from(is_flagged));
        }
    }
    assert!(wrong > 0 && unreadable > 0, "{wrong} wrong answers and {unreadable} that could not be read");
    let report = read(&first, "report.md");
    for words in ["arithmetic", "knowledge", "instructions", "functions"] {
        assert!(report.contains(words), "{words} is missing in {report}");
    }
}

const JUDGED: &str = "v: 1
data: { test: test.jsonl }
prompt:
  turns: [user: \"{{ request }}\"]
scorers:
  polite:
    judge:
      rubric: Is the answer polite, and does it say the same as the reference?
      question: \"{{ request }}\"
      reference: \"{{ example }}\"
      grades: { no: 0, partly: 0.5, yes: 1 }
simulate: { reply: \"{{ example }}\" }
";

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_grades_by_a_rubric_and_a_benchmark_without_one_is_told_before_anything_runs() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("benchmark.yaml"), JUDGED).unwrap();
    let records: String = ["Thank you, gladly.", "I am sorry, I cannot.", "Good morning to you."]
        .iter()
        .map(|example| format!("{{\"request\": \"Say it kindly ({example})\", \"example\": \"{example}\"}}\n"))
        .collect();
    std::fs::write(place.path().join("test.jsonl"), records).unwrap();
    let spec = place.path().join("spec.yaml");
    let write = |judge: &str| {
        let text = format!(
            "name: polite\nbenchmarks: {{ polite: {{ data: .{judge} }} }}\nendpoints: {{ sim: {{ kind: simulated }} }}\n\
             models: [sim/oracle, sim/noisy-1]\n"
        );
        std::fs::write(&spec, text).unwrap();
    };
    write("");
    let (code, said) = run(&["check", spec.to_str().unwrap()]).await;
    assert_eq!(code, Some(78), "{said}");
    assert!(said.contains("benchmarks.polite.judge: is missing"), "{said}");
    write(", judge: sim/oracle");
    let directory = place.path().join("run");
    let (code, said) = run(&["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()]).await;
    assert_eq!(code, Some(0), "{said}");
    let grades: Vec<f64> =
        results(&directory).iter().map(|line| line["scores"]["declared"]["polite"].as_f64().unwrap()).collect();
    assert_eq!(grades, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn check_shows_the_first_prompt_or_the_line_of_what_is_wrong() {
    let (code, said) = run(&["check", &folder("arithmetic")]).await;
    assert_eq!(code, Some(0), "{said}");
    let expected = "12 items, 1 tasks, settings shots=0, shots=4, metrics accuracy\nfirst prompt (item bakery-1, shots=0):\n  --- system\n  \
                    Solve the problem step by step. End with a line \"#### \" and the number alone.\n  --- user\n  Mara bakes 4 trays of 12 \
                    rolls and sells 31 of them. How many rolls are left?\n";
    assert!(said.ends_with(expected), "{said}");
    let place = tempfile::tempdir().unwrap();
    let broken = JUDGED.replace("{{ request }}", "{{ requset }}");
    std::fs::write(place.path().join("benchmark.yaml"), broken).unwrap();
    std::fs::write(place.path().join("test.jsonl"), "{\"request\": \"a\", \"example\": \"b\"}\n").unwrap();
    let (code, said) = run(&["check", place.path().join("benchmark.yaml").to_str().unwrap()]).await;
    assert_eq!(code, Some(78), "{said}");
    assert!(
        said.contains("benchmark.yaml, line 8, scorers.polite.judge.question: ") && said.contains("requset"),
        "{said}"
    );
    // What is neither a benchmark of this build nor a folder that declares one is told both.
    let (code, said) = run(&["check", &folder("../data")]).await;
    assert_eq!(code, Some(78), "{said}");
}
