//! Benchmarks whose functions a program answers, in one process: played by simulated models, from the cache, within a budget, checked; and
//! programs that misbehave.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use regatta_tests::referee::Referee;
use regatta_tests::regatta::{ended, finish, regatta, skipped, workspace};
use serde_json::Value;

/// `true` if there is `program`; a test that needs it says so and passes otherwise.
fn has(program: &str) -> bool {
    let is_there =
        std::process::Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        skipped("coded", &format!("there is no {program} here"));
    }
    is_there
}

fn folder(name: &str) -> PathBuf {
    workspace().join("examples/benchmarks").join(name)
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
async fn the_example_runs_without_key_or_network_and_again_from_its_cache() {
    if !has("python3") || !has("node") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (first, again, cache) = (place.path().join("first"), place.path().join("again"), place.path().join("cache"));
    let spec = workspace().join("examples/coded.yaml").display().to_string();
    let run_into = async |directory: &Path, mode: &str| {
        let (directory, cache) = (directory.to_str().unwrap(), cache.to_str().unwrap());
        run(&["run", &spec, "--output", directory, "--cache", mode, "--cache-dir", cache]).await
    };
    let (code, said) = run_into(&first, "read_write").await;
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run_into(&again, "replay").await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(read(&first, "results.jsonl"), read(&again, "results.jsonl"));
    let lines = results(&first);
    assert_eq!(lines.len(), 2 * 2 * (8 * 2 + 8 + 6 + 6));
    let mut wrong = 0;
    for line in &lines {
        assert_eq!(line["outcome"], "measured", "{line}");
        let scores = &line["scores"]["declared"];
        let right = scores["solved"].as_f64().or(scores["right"].as_f64()).unwrap();
        let is_oracle = line["model"] == "sim/oracle";
        assert!(right == 1.0 || !is_oracle, "{line}");
        wrong += u32::from(right == 0.0);
    }
    assert!(wrong > 0);
    assert!(read(&first, "metrics.json").contains("solved_in_every_trial"), "its own aggregate is among the metrics");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_ends_a_run_and_a_larger_one_goes_on_from_its_transcripts() {
    if !has("python3") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (spec, directory) = (place.path().join("spec.yaml"), place.path().join("run"));
    let price = "price: { input_per_mtok: 1, output_per_mtok: 2 }";
    let text = format!(
        "name: poor\nbenchmarks: {{ parcels: {{ data: {}, roles: {{ user: {{ id: sim/oracle, {price} }} }} }} }}\n\
             endpoints: {{ sim: {{ kind: simulated, limits: {{ concurrency: 1 }} }} }}\nbudget_usd: 0.004\n\
             models: [{{ id: sim/oracle, {price} }}]\n",
        folder("parcels").display()
    );
    std::fs::write(&spec, text).unwrap();
    let arguments = ["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()];
    let (code, said) = run(&arguments).await;
    assert_eq!(code, Some(3), "{said}");
    let measured = |lines: Vec<Value>| lines.iter().filter(|line| line["outcome"] == "measured").count();
    let before = measured(results(&directory));
    let (code, said) = run(&["resume", directory.to_str().unwrap(), "--budget", "+5"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(before < 8 && measured(results(&directory)) == 8, "{before} before");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_loads_and_shows_the_first_prompt_or_says_what_the_program_said() {
    if !has("python3") {
        return;
    }
    let (code, said) = run(&["check", folder("parcels").to_str().unwrap()]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("8 items, 3 tasks, settings rules=short, rules=long, metrics solved, replies"), "{said}");
    assert!(said.contains("first prompt (item move-101, rules=short):\n  --- system\n  You are a customer"), "{said}");
    let broken = Misbehaving::new("raise KeyError('tasks')", "return {'right': 1}");
    let (code, said) = run(&["check", broken.folder()]).await;
    assert_eq!(code, Some(78), "{said}");
    assert!(
        said.contains("benchmark.yaml, line 2, program: load: KeyError: 'tasks' (benchmark.py, line 5, in load)"),
        "{said}"
    );
    let silent = Misbehaving::program("import sys\nsys.exit('no licence')\n");
    let (code, said) = run(&["check", silent.folder()]).await;
    assert_eq!(code, Some(78), "{said}");
    assert!(said.contains("program: load: the program ended with exit code 1\nno licence"), "{said}");
}

/// A benchmark in Python, of twenty items unless said otherwise, with a spec that runs it.
struct Misbehaving {
    place: tempfile::TempDir,
}

impl Misbehaving {
    /// One whose `load` and `score` begin with these lines.
    fn new(load: &str, score: &str) -> Self {
        Self::of(20, load, score)
    }

    /// The same of so many items.
    fn of(items: u64, load: &str, score: &str) -> Self {
        Self::program(&format!(
            "import os, random, subprocess, sys, time\nfrom regatta_benchmark import *\nclass B(Benchmark):\n    def load(self, data):\n        \
             {load}\n        return [Item(id=f'item-{{n}}', task=str(n % 2)) for n in range({items})]\n    def next(self, item, setting, \
             transcript):\n        return done() if transcript else ask(item.id)\n    def score(self, item, setting, transcript, \
             verdicts):\n        {score}\n        return {{'right': 1}}\n    def simulate(self, item, setting, role, noise, seed, \
             messages):\n        return 'yes'\nB().serve()\n"
        ))
    }

    /// One whose program is this.
    fn program(text: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
        write(
            "benchmark.yaml",
            "v: 1\nprogram: [python3, benchmark.py]\nfiles: [regatta_benchmark.py]\nvalues: { right: {} }\nlimits: { call_s: 2, answer_mb: 1 }\n",
        );
        write("benchmark.py", text);
        let helper = std::fs::read(folder("parcels").join("regatta_benchmark.py")).unwrap();
        std::fs::write(place.path().join("regatta_benchmark.py"), helper).unwrap();
        write(
            "spec.yaml",
            "name: bad\nbenchmarks: { bad: { data: . } }\nendpoints: { sim: { kind: simulated } }\nmodels: [sim/oracle]\n",
        );
        Self { place }
    }

    fn folder(&self) -> &str {
        self.place.path().to_str().unwrap()
    }

    /// Runs it: the exit code, what was said, and the run's directory.
    async fn run(&self) -> (Option<i32>, String, PathBuf) {
        let directory = self.place.path().join("run");
        let spec = self.place.path().join("spec.yaml");
        let (code, said) = run(&["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()]).await;
        (code, said, directory)
    }

    /// Runs one that fails in item 7 alone: all others are right, and the report says why that one is not there.
    async fn costs_one_session(&self, why: &str) {
        let (code, said, directory) = self.run().await;
        assert_eq!(code, Some(4), "{said}");
        for line in results(&directory) {
            if line["item"] == "item-7" {
                assert_eq!(
                    (&line["outcome"], &line["cause"]),
                    (&"not_measured".into(), &"benchmark_failed".into()),
                    "{line}"
                );
                assert!(line["scores"].is_null() || line["scores"] == serde_json::json!({}), "{line}");
            } else {
                assert_eq!(line["outcome"], "measured", "{line}");
                assert_eq!(line["scores"]["declared"]["right"], 1.0, "{line}");
            }
        }
        let report = read(&directory, "report.md");
        assert!(report.contains(why), "{why} is not in {report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_costs_its_session_alone_and_the_report_quotes_standard_error() {
    if has("python3") {
        let crash = Misbehaving::new("pass", "if item.id == 'item-7': os.write(2, b'out of cheese'), os._exit(9)");
        crash
            .costs_one_session(
                "score of item item-7 in default: the program ended with exit code 9 (stderr: out of cheese)",
            )
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_the_program_fails_to_play_is_never_scored_also_not_from_a_cache() {
    if !has("python3") {
        return;
    }
    let failing = Misbehaving::program(
        "from regatta_benchmark import *\nclass B(Benchmark):\n    def load(self, data):\n        \
         return [Item(id=f'item-{n}') for n in range(20)]\n    def next(self, item, setting, transcript):\n        \
         return done() if transcript else ask(item.id)\n    def score(self, item, setting, transcript, verdicts):\n        \
         return {'right': transcript[-1].text == 'yes'}\n    def simulate(self, item, setting, role, noise, seed, messages):\n        \
         return [][0] if item.id == 'item-7' else 'yes'\nB().serve()\n",
    );
    let spec = failing.place.path().join("spec.yaml");
    let cached = format!("{}cache: read_write\n", std::fs::read_to_string(&spec).unwrap());
    std::fs::write(&spec, cached).unwrap();
    for time in ["first", "again"] {
        let (code, said, directory) = failing.run().await;
        assert_eq!(code, Some(4), "{time}: {said}");
        for line in results(&directory) {
            let expected = if line["item"] == "item-7" { "not_measured" } else { "measured" };
            assert_eq!(line["outcome"], expected, "{time}: {line}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exception_costs_its_session_alone() {
    if has("python3") {
        let raising = Misbehaving::new("pass", "if item.id == 'item-7': [][0]");
        raising.costs_one_session("score of item item-7 in default: IndexError: list index out of range (benchmark.py, line 10, in score)").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_hangs_costs_its_session_alone() {
    if has("python3") {
        let hanging = Misbehaving::new("pass", "while item.id == 'item-7': time.sleep(1000)");
        hanging.costs_one_session("score of item item-7 in default: no answer came within 2 s").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_floods_costs_its_session_alone() {
    if has("python3") {
        let flooding = Misbehaving::new("pass", "if item.id == 'item-7': return {'right': 1}, 'x' * (2 << 20)");
        flooding.costs_one_session("its answer has more than 1048576 bytes").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_takes_too_much_memory_costs_its_session_alone() {
    if has("python3") {
        let greedy = Misbehaving::new("pass", "if item.id == 'item-7': x = bytearray(4 << 30)");
        greedy.costs_one_session("score of item item-7 in default: MemoryError").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_is_not_as_declared_costs_its_session_and_is_no_score() {
    if has("python3") {
        let wrong = Misbehaving::new("pass", "if item.id == 'item-7': return {'right': 7}");
        wrong.costs_one_session("gave right = 7, outside of its range 0..=1").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_leaves_children_leaves_none_after_the_run() {
    if has("python3") {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("children");
        let start = format!(
            "p = subprocess.Popen(['sleep', '1000'], start_new_session=True); open('{}', 'a').write(str(p.pid) + '\\n')",
            file.display()
        );
        let (code, said, _) = Misbehaving::new("pass", &format!("if item.id == 'item-7': {start}")).run().await;
        assert_eq!(code, Some(0), "{said}");
        let children = std::fs::read_to_string(file).unwrap();
        assert!(children.lines().count() > 0);
        for child in children.lines() {
            let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            assert!(state.is_empty() || state.contains(") Z "), "{state}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_uses_time_is_caught_and_nothing_more_is_asked_of_it() {
    if has("python3") {
        let impure = Misbehaving::new("pass", "return {'right': time.time_ns() % 2}, time.time_ns()");
        let (code, said, directory) = impure.run().await;
        assert_eq!(code, Some(4), "{said}");
        let lines = results(&directory);
        let failed = lines.iter().filter(|line| line["cause"] == "benchmark_failed").count();
        assert_eq!(failed, 20, "{said}");
        assert!(said.contains("a benchmark's program is not pure"), "{said}");
        let report = read(&directory, "report.md");
        assert!(
            report.contains("score of item item-") && report.contains("the program is not pure: one process answered"),
            "{report}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_speaks_another_version_is_told() {
    if has("python3") {
        let other = "import json, sys\nfor line in sys.stdin: print(json.dumps({'v': 2, 'id': json.loads(line)['id'], 'answer': {}}), flush=True)\n";
        let (code, said) = run(&["check", Misbehaving::program(other).folder()]).await;
        assert_eq!(code, Some(78), "{said}");
        assert!(said.contains("it speaks version 2 of the protocol; this build speaks 1"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_judges_a_benchmark_with_a_program_by_the_metric_that_its_file_declares() {
    if !has("python3") {
        return;
    }
    let judged = Misbehaving::program(
        "import random\nfrom regatta_benchmark import *\nclass B(Benchmark):\n    def load(self, data):\n        \
         return [Item(id=f'item-{n}') for n in range(20)]\n    def next(self, item, setting, transcript):\n        \
         return done() if transcript else ask(item.id)\n    def score(self, item, setting, transcript, verdicts):\n        \
         return {'right': transcript[-1].text == 'yes'}\n    def simulate(self, item, setting, role, noise, seed, messages):\n        \
         return 'no' if random.Random(seed).random() < noise else 'yes'\nB().serve()\n",
    );
    let write = |name: &str, text: &str| {
        let path = judged.place.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    write(
        "benchmark.yaml",
        "v: 1\nprogram: [python3, benchmark.py]\nfiles: [regatta_benchmark.py]\nvalues: { right: {} }\n\
         metrics: { accuracy: { mean: right, unit: percent } }\n",
    );
    write(
        "spec.yaml",
        "name: judged\ntrials: 3\nbenchmarks: { judged: { data: . } }\nendpoints: { sim: { kind: simulated } }\n\
         models: [sim/oracle, sim/noisy-0.9]\n",
    );
    let (code, said, directory) = judged.run().await;
    assert_eq!(code, Some(0), "{said}");
    let policy = write("policy.yaml", "metrics: { accuracy: { margin: 60pp } }\n");
    let strict = write("strict.yaml", "metrics: { accuracy: { margin: 5pp } }\n");
    let directory = directory.to_str().unwrap();
    let gate = async |policy: &str, model: &str| {
        let models = ["--model", model, "--baseline-model", "sim/oracle"];
        run(&[&["gate", directory, "--baseline", directory, "--policy", policy][..], &models].concat()).await
    };
    let (code, said) = gate(&policy, "sim/oracle").await;
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = gate(&strict, "sim/noisy-0.9").await;
    assert_eq!(code, Some(1), "{said}");
}

/// A run is left while answers that were paid for wait to be scored, more than are scored in the time that it takes itself to leave.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_paid_for_and_waits_for_a_slow_score_when_a_run_is_left_is_scored_by_the_next_one() {
    const SESSIONS: u64 = 500;
    if !has("python3") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let is_slow = place.path().join("slow");
    std::fs::write(&is_slow, "").unwrap();
    let score = format!("time.sleep(0.1 * os.path.exists('{}'))", is_slow.display());
    let slow = Misbehaving::of(SESSIONS, "pass", &score);
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let spec = slow.place.path().join("paid.yaml");
    let text = format!("name: paid\nbenchmarks: {{ bad: {{ data: . }} }}\n{}", referee.endpoint());
    std::fs::write(&spec, text).unwrap();
    let directory = slow.place.path().join("run");
    let arguments = ["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()];

    let mut command = regatta().unwrap();
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
    let leaving = command.spawn().unwrap();
    let process = leaving.id().unwrap().to_string();
    referee.has_read(SESSIONS).await;
    // The second signal waits for nothing more.
    for _ in 0..2 {
        let told = tokio::process::Command::new("kill").args(["-INT", &process]).status().await.unwrap();
        assert!(told.success());
    }
    let output = ended(leaving).await.unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));

    std::fs::remove_file(&is_slow).unwrap();
    let (code, said) = run(&arguments).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!((referee.calls(), referee.repeated()), (SESSIONS, 0), "each call once: {said}");
    assert_eq!(results(&directory).len() as u64, SESSIONS);
    let summary: Value = serde_json::from_str(&read(&directory, "summary.json")).unwrap();
    assert_eq!(summary["spending"]["cost"]["known"], referee.billed());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_line_of_a_log_about_a_session_has_sweep_cell_session_and_attempt_as_fields() {
    if !has("python3") {
        return;
    }
    // Item 3 fails in a worker, item 7 in a scorer.
    let failing = Misbehaving::program(
        "from regatta_benchmark import *\nclass B(Benchmark):\n    def load(self, data):\n        return [Item(id=f'item-{n}', task='t') \
         for n in range(9)]\n    def next(self, item, setting, transcript):\n        if item.id == 'item-3' and transcript: [][0]\n        return done() if \
         transcript else ask(item.id)\n    def score(self, item, setting, transcript, verdicts):\n        if item.id == 'item-7': [][0]\n        \
         return {'right': 1}\n    def simulate(self, item, setting, role, noise, seed, messages):\n        return 'yes'\nB().serve()\n",
    );
    let (directory, spec) = (failing.place.path().join("run"), failing.place.path().join("spec.yaml"));
    let arguments = ["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap(), "--log-format", "json"];
    let (code, said) = run(&arguments).await;
    assert_eq!(code, Some(4), "{said}");
    let lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let failures = lines.filter(|line| line["fields"]["message"] == "the benchmark's program failed");
    let mut sessions: Vec<String> = failures
        .map(|line| {
            let about = &line["span"];
            assert_eq!(
                (&about["name"], &about["cell"], &about["attempt"]),
                (&"session".into(), &0.into(), &1.into()),
                "{line}"
            );
            let (sweep, session) = (about["sweep"].as_str().unwrap(), about["session"].as_str().unwrap());
            session.strip_prefix(sweep).unwrap().to_owned()
        })
        .collect();
    sessions.sort();
    assert_eq!(sessions, ["/c0/i3", "/c0/i7"], "{said}");
}
