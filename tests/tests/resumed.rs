//! A run goes on with a spec that was changed: nothing is paid for again that was asked the same.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use regatta_tests::referee::{CONCURRENCY, Referee};
use regatta_tests::regatta::{Process, ended, finish, free_address, get_json, regatta, skipped, workspace};
use regatta_tests::waiting::in_time;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};

const SESSIONS: u64 = 24;
/// A second model in the specs of the referee.
const FURTHER: (&str, &str) =
    ("models:\n", "models:\n  - { id: main/n, price: { input_per_mtok: 1, output_per_mtok: 2 } }\n");

async fn run(spec: &Path, output: &Path) -> Output {
    let mut command = regatta().unwrap();
    command.arg("run").arg(spec).arg("--output").arg(output);
    finish(command).await.unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Standard error of a run that must have ended with `code`.
async fn run_to(code: i32, spec: &Path, output: &Path) -> String {
    let ended = run(spec, output).await;
    assert_eq!(ended.status.code(), Some(code), "{}", said(&ended));
    said(&ended)
}

fn results(run: &Path) -> String {
    std::fs::read_to_string(run.join("results.jsonl")).unwrap()
}

fn known_cost(run: &Path) -> u64 {
    let summary: Value = serde_json::from_str(&std::fs::read_to_string(run.join("summary.json")).unwrap()).unwrap();
    summary["spending"]["cost"]["known"].as_u64().unwrap()
}

/// A copy of `spec` beside it, with `to` in the place of `from`.
fn changed(spec: &Path, name: &str, (from, to): (&str, &str)) -> PathBuf {
    let text = std::fs::read_to_string(spec).unwrap();
    assert!(text.contains(from), "{from} is missing in {text}");
    let path = spec.with_file_name(format!("{name}.yaml"));
    std::fs::write(&path, text.replace(from, to)).unwrap();
    path
}

#[tokio::test]
async fn prices_limits_addresses_and_budgets_may_change_and_nothing_is_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let spec = referee.spec(folder.path(), "first", SESSIONS, "").unwrap();
    let directory = folder.path().join("run");
    run_to(0, &spec, &directory).await;
    let (before, cost) = (results(&directory), known_cost(&directory));
    for (name, change, line) in [
        ("price", ("input_per_mtok: 1", "input_per_mtok: 3"), "input_per_mtok: 1.0 → 3.0"),
        ("limit", ("concurrency: 8", "concurrency: 2"), "endpoints.main, limits, concurrency: 8 → 2"),
        ("address", ("//127.0.0.1:", "//localhost:"), "endpoints.main, base_url"),
        ("budget", ("name: first", "name: first\nbudget_usd: 1"), "budget_usd: none → 1.0"),
    ] {
        let told = run_to(0, &changed(&spec, name, change), &directory).await;
        assert!(told.contains(&format!("kept {SESSIONS} sessions")), "{name}: {told}");
        assert!(told.contains(line), "{line} is missing in {told}");
        assert_eq!((results(&directory), known_cost(&directory)), (before.clone(), cost), "{name}");
    }
    // Back to what it was at first.
    run_to(0, &spec, &directory).await;
    assert_eq!(referee.calls(), SESSIONS, "each session was asked once");
    let again = run_to(0, &spec, &directory).await;
    assert!(!again.contains("has changed"), "{again}");
    let fresh = folder.path().join("fresh");
    run_to(0, &spec, &fresh).await;
    assert_eq!(results(&directory), results(&fresh));
}

#[tokio::test]
async fn further_models_and_items_are_all_that_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let whole = referee.spec(folder.path(), "whole", SESSIONS, "").unwrap();
    let few = changed(&whole, "few", (" } }\nendpoints", ", limit: 'first:10' } }\nendpoints"));
    let directory = folder.path().join("run");
    run_to(0, &few, &directory).await;
    assert_eq!(referee.calls(), 10);
    let mut resume = regatta().unwrap();
    resume.arg("resume").arg(&directory).arg("--spec").arg(&few).args(["--limit", "first:12"]);
    let resumed = finish(resume).await.unwrap();
    assert_eq!(resumed.status.code(), Some(0), "{}", said(&resumed));
    assert!(said(&resumed).contains("kept 10 sessions"), "{}", said(&resumed));
    assert_eq!(referee.calls(), 12, "a larger limit of the command line");
    let told = run_to(0, &whole, &directory).await;
    assert!(told.contains("kept 12 sessions") && !told.contains("left out"), "{told}");
    assert_eq!(referee.calls(), SESSIONS, "the items that were not there before");
    let two = changed(&whole, "two", FURTHER);
    let mut resume = regatta().unwrap();
    resume.arg("resume").arg(&directory).arg("--spec").arg(&two);
    let resumed = finish(resume).await.unwrap();
    assert_eq!(resumed.status.code(), Some(0), "{}", said(&resumed));
    assert!(said(&resumed).contains("models.main/n is new"), "{}", said(&resumed));
    assert_eq!((referee.calls(), referee.repeated()), (2 * SESSIONS, 0), "the model that was not there before");
    assert_eq!(known_cost(&directory), referee.billed());
    let fresh = folder.path().join("fresh");
    run_to(0, &two, &fresh).await;
    assert_eq!(results(&directory), results(&fresh));
}

#[tokio::test]
async fn sessions_that_were_paid_for_are_not_left_out_by_a_smaller_spec() {
    let folder = tempfile::tempdir().unwrap();
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let one = referee.spec(folder.path(), "one", SESSIONS, "").unwrap();
    let two = changed(&one, "two", FURTHER);
    let directory = folder.path().join("run");
    run_to(0, &two, &directory).await;
    let (before, cost) = (results(&directory), known_cost(&directory));
    let few = vec!["--limit", "first:10"];
    for (spec, further, left_out) in [(&one, Vec::new(), SESSIONS), (&two, few, 2 * (SESSIONS - 10))] {
        let mut command = regatta().unwrap();
        command.arg("run").arg(spec).arg("--output").arg(&directory).args(further);
        let refused = finish(command).await.unwrap();
        let told = said(&refused);
        assert_eq!(refused.status.code(), Some(78), "{told}");
        assert!(told.contains(&format!("the spec lacks {left_out} sessions with a result")), "{told}");
        assert!(told.contains("--output") && told.contains("--leave-out"), "{told}");
    }
    // Nothing of it was lost, and nothing is asked again.
    run_to(0, &two, &directory).await;
    assert_eq!((results(&directory), known_cost(&directory)), (before, cost));
    assert_eq!(referee.calls(), 2 * SESSIONS);
    assert!(!directory.join("before").exists());
}

#[tokio::test]
async fn what_the_spec_has_no_more_is_in_no_result_and_set_aside_when_somebody_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let one = referee.spec(folder.path(), "one", SESSIONS, "").unwrap();
    let two = changed(&one, "two", FURTHER);
    let directory = folder.path().join("run");
    run_to(0, &two, &directory).await;
    let both = results(&directory);
    let mut resume = regatta().unwrap();
    resume.arg("resume").arg(&directory).arg("--spec").arg(&one).arg("--leave-out");
    let resumed = finish(resume).await.unwrap();
    let told = said(&resumed);
    assert_eq!(resumed.status.code(), Some(0), "{told}");
    assert!(told.contains("models.main/n is not in the spec any more"), "{told}");
    assert!(told.contains(&format!("left out {SESSIONS} sessions")), "{told}");
    assert_eq!((referee.calls(), known_cost(&directory)), (2 * SESSIONS, referee.billed() / 2));
    let before: Vec<PathBuf> =
        directory.join("before").read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    let [before] = before.as_slice() else { panic!("{before:?}") };
    assert_eq!(results(before), both);
    assert!(before.join("transcripts").is_dir() && before.join("changed.json").is_file());
    let fresh = folder.path().join("fresh");
    run_to(0, &one, &fresh).await;
    assert_eq!(results(&directory), results(&fresh));
}

#[tokio::test]
async fn other_decoding_of_sessions_with_results_is_refused_by_name_and_nothing_changes() {
    let folder = tempfile::tempdir().unwrap();
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let spec = referee.spec(folder.path(), "warm", SESSIONS, "").unwrap();
    let directory = folder.path().join("run");
    run_to(0, &spec, &directory).await;
    let before = results(&directory);
    let other = changed(&spec, "warmer", ("{ id: main/m,", "{ id: main/m, temperature: 0.7,"));
    let told = run_to(78, &other, &directory).await;
    assert!(told.contains("models.main/m, temperature: none → 0.7"), "{told}");
    assert!(told.contains("choose another directory with --output"), "{told}");
    run_to(0, &spec, &directory).await;
    assert_eq!((results(&directory), referee.calls()), (before, SESSIONS));
}

#[tokio::test]
async fn items_of_which_none_was_there_before_are_refused_and_what_was_paid_stays() {
    let folder = tempfile::tempdir().unwrap();
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let whole = referee.spec(folder.path(), "whole", SESSIONS, "").unwrap();
    let [first, drawn] = [("first", "'first:1'"), ("drawn", "1")]
        .map(|(name, limit)| changed(&whole, name, (" } }\nendpoints", &format!(", limit: {limit} }} }}\nendpoints"))));
    let (directory, other) = (folder.path().join("run"), folder.path().join("other"));
    run_to(0, &first, &directory).await;
    run_to(0, &drawn, &other).await;
    assert_eq!((referee.calls(), referee.repeated()), (2, 0), "the sample has another item");
    let before = results(&directory);
    let told = run_to(78, &drawn, &directory).await;
    assert!(told.contains("none of its sessions with a result is in the spec now"), "{told}");
    run_to(0, &first, &directory).await;
    assert_eq!((results(&directory), referee.calls()), (before, 2));
}

#[tokio::test]
async fn results_that_only_transcripts_know_keep_other_decoding_out_too() {
    let folder = tempfile::tempdir().unwrap();
    let referee = Referee::start(0, Duration::ZERO).await.unwrap();
    let spec = referee.spec(folder.path(), "lost", SESSIONS, "").unwrap();
    let directory = folder.path().join("run");
    let mut command = regatta().unwrap();
    command.arg("run").arg(&spec).arg("--output").arg(&directory).stdout(Stdio::null()).stderr(Stdio::null());
    let mut killed = command.spawn().unwrap();
    referee.has_read(1).await;
    killed.kill().await.unwrap();
    // The ledger as it was before the first result.
    let files = ["ledger.sqlite", "ledger.sqlite-wal"].map(|name| directory.join("store").join(name));
    let early = files.clone().map(|path| std::fs::read(path).ok());
    referee.answer_all();
    run_to(0, &spec, &directory).await;
    let (paid, before) = (referee.calls(), results(&directory));
    let _ = std::fs::remove_file(directory.join("store/ledger.sqlite-shm"));
    for (path, content) in files.iter().zip(early) {
        match content {
            Some(content) => std::fs::write(path, content).unwrap(),
            None => drop(std::fs::remove_file(path)),
        }
    }
    let other = changed(&spec, "warmer", ("{ id: main/m,", "{ id: main/m, temperature: 0.7,"));
    let told = run_to(78, &other, &directory).await;
    assert!(told.contains("models.main/m, temperature: none → 0.7"), "{told}");
    run_to(0, &spec, &directory).await;
    assert_eq!((results(&directory), referee.calls()), (before, paid), "nothing is lost, and nothing asked again");
}

#[tokio::test]
async fn sessions_that_the_response_cache_answered_become_no_canaries() {
    let folder = tempfile::tempdir().unwrap();
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let spec = referee.spec(folder.path(), "cached", SESSIONS, "cache: read_write\n").unwrap();
    let with_canaries = changed(&spec, "canaries", (" } }\nendpoints", ", canaries: 4 } }\nendpoints"));
    let cache = folder.path().join("cache");
    let run_cached = async |spec: &Path, output: &str| {
        let mut command = regatta().unwrap();
        command.arg("run").arg(spec).arg("--output").arg(folder.path().join(output)).arg("--cache-dir").arg(&cache);
        let ended = finish(command).await.unwrap();
        (ended.status.code(), said(&ended))
    };
    for output in ["asked", "cached"] {
        let (code, told) = run_cached(&spec, output).await;
        assert_eq!((code, referee.calls()), (Some(0), SESSIONS), "{output}: {told}");
    }
    let (code, told) = run_cached(&with_canaries, "cached").await;
    assert_eq!(code, Some(78), "{told}");
    assert!(told.contains("sessions of it are canaries now"), "{told}");
    let (code, told) = run_cached(&with_canaries, "asked").await;
    assert_eq!((code, referee.calls()), (Some(0), SESSIONS), "{told}");
    assert!(told.contains(&format!("kept {SESSIONS} sessions")), "{told}");
}

#[tokio::test]
async fn a_program_of_a_run_that_somebody_else_began_is_not_started_to_go_on_with_another_spec() {
    if tokio::process::Command::new("python3").arg("--version").output().await.is_err() {
        skipped("a program of somebody else", "there is no python3; `apt-get install python3` brings it");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("parcels")).unwrap();
    for entry in workspace().join("examples/benchmarks/parcels").read_dir().unwrap() {
        let from = entry.unwrap().path();
        if from.is_file() {
            std::fs::copy(&from, at("parcels").join(from.file_name().unwrap())).unwrap();
        }
    }
    let program = std::fs::read_to_string(at("parcels/benchmark.py")).unwrap();
    let leaving_a_mark = format!("open({:?}, 'a').write('x')\nimport ", at("started").display().to_string());
    std::fs::write(at("parcels/benchmark.py"), program.replacen("import ", &leaving_a_mark, 1)).unwrap();
    let starts = || std::fs::read_to_string(at("started")).map_or(0, |marks| marks.len());
    let write = |name: &str, benchmark: String| {
        let text = format!(
            "name: {name}\nbenchmarks: {{ {benchmark} }}\nendpoints: {{ sim: {{ kind: simulated }} }}\nmodels: [sim/oracle]\n"
        );
        std::fs::write(at(&format!("{name}.yaml")), text).unwrap();
    };
    let data = workspace().join("examples/data/worfbench").display().to_string();
    write("mine", format!("worfbench: {{ data: {data}, settings: [zero-shot], limit: 1, judge: sim/lexical }}"));
    let data = at("parcels").display().to_string();
    let user = "roles: { user: sim/oracle }";
    write("theirs", format!("parcels: {{ data: {data}, settings: [rules=short], limit: 1, {user} }}"));
    let run_of = async |user: &str, spec: &str| {
        let mut command = regatta().unwrap();
        command.env("XDG_STATE_HOME", at(user)).arg("run").arg(at(spec)).arg("--output").arg(at("run"));
        let ended = finish(command).await.unwrap();
        (ended.status.code(), said(&ended))
    };
    let (code, told) = run_of("them", "theirs.yaml").await;
    assert_eq!(code, Some(0), "{told}");
    let before = starts();
    assert!(before > 0);
    let (code, told) = run_of("me", "mine.yaml").await;
    assert_eq!((code, starts()), (Some(78), before), "{told}");
    assert!(told.contains("a program of its benchmark parcels may be started") && told.contains("--trust"), "{told}");
    let (code, told) = run_of("them", "mine.yaml").await;
    assert_eq!(code, Some(78), "{told}");
    assert!(told.contains("none of its sessions with a result is in the spec now") && starts() > before, "{told}");
}

#[tokio::test]
async fn a_budget_that_the_spec_raises_is_spent_on_what_was_left() {
    let folder = tempfile::tempdir().unwrap();
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let little = referee.spec(folder.path(), "little", SESSIONS, "budget_usd: 0.003\n").unwrap();
    let directory = folder.path().join("run");
    run_to(3, &little, &directory).await;
    let paid = referee.calls();
    assert!(0 < paid && paid < SESSIONS, "{paid} calls");
    let told = run_to(0, &changed(&little, "enough", ("0.003", "1")), &directory).await;
    assert!(told.contains(&format!("kept {paid} session")), "{told}");
    assert_eq!((referee.calls(), referee.repeated()), (SESSIONS, 0), "each session was asked once");
    assert_eq!(known_cost(&directory), referee.billed());
}

#[tokio::test]
async fn calls_that_died_with_a_process_are_held_against_a_budget_that_the_spec_has_later() {
    let folder = tempfile::tempdir().unwrap();
    let referee = Referee::start(0, Duration::ZERO).await.unwrap();
    let spec = referee.spec(folder.path(), "killed", SESSIONS, "").unwrap();
    let directory = folder.path().join("run");
    let mut command = regatta().unwrap();
    command.arg("run").arg(&spec).arg("--output").arg(&directory).stdout(Stdio::null()).stderr(Stdio::null());
    let mut killed = command.spawn().unwrap();
    referee.has_read(CONCURRENCY).await;
    killed.kill().await.unwrap();
    referee.answer_all();
    run_to(0, &spec, &directory).await;
    let paid = referee.calls();
    assert_eq!(paid, CONCURRENCY + SESSIONS);
    // What is known to be spent, what the killed calls generate at most, and less than one more call.
    let two = changed(&spec, "two", FURTHER);
    let capped = changed(&two, "capped", ("name: killed", "name: killed\nbudget_usd: 0.012"));
    let told = run_to(3, &capped, &directory).await;
    assert!(told.contains(&format!("kept {SESSIONS} sessions")), "{told}");
    assert_eq!(referee.calls(), paid, "there is no money for another call");
}

#[tokio::test]
async fn a_run_that_was_left_in_its_midst_goes_on_with_the_changed_spec_from_its_last_calls() {
    const CONVERSATIONS: (u64, u64) = (48, 4);
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let referee = Referee::start(2 * CONCURRENCY, Duration::from_millis(50)).await.unwrap();
    let spec = referee.conversations(folder.path(), "leaving", CONVERSATIONS, "").unwrap();
    let mut command = regatta().unwrap();
    command.arg("run").arg(&spec).arg("--output").arg(&directory).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut leaving = command.spawn().unwrap();
    referee.has_read(3 * CONCURRENCY).await;
    let process = leaving.id().unwrap().to_string();
    let told = tokio::process::Command::new("kill").args(["-TERM", &process]).status().await.unwrap();
    assert!(told.success());
    // Nothing is answered before it has heard of the signal.
    let mut lines = BufReader::new(leaving.stderr.take().unwrap()).lines();
    while let Some(line) = in_time("a line of the run", lines.next_line()).await.unwrap().unwrap() {
        if line.starts_with("leaving: ") {
            referee.answer_all();
        }
    }
    assert_eq!(ended(leaving).await.unwrap().status.code(), Some(4));
    let all = CONVERSATIONS.0 * CONVERSATIONS.1;
    assert!(referee.calls() < all, "it left before it had ended");
    let slower = changed(&spec, "slower", ("concurrency: 8", "concurrency: 4"));
    run_to(0, &slower, &directory).await;
    assert_eq!((referee.calls(), referee.repeated()), (all, 0), "each call once");
    assert_eq!(known_cost(&directory), referee.billed());
    let fresh = folder.path().join("fresh");
    run_to(0, &slower, &fresh).await;
    assert_eq!(results(&directory), results(&fresh));
}

#[tokio::test]
async fn a_judge_that_was_at_a_wrong_address_is_asked_at_the_right_one_and_no_model_is_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let data = workspace().join("examples/data/worfbench").display().to_string();
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data", &format!("worfbench={data}")]);
    simulate.args(["--simulation", "{ prices: { oracle: { input_per_mtok: 1, output_per_mtok: 2 } } }"]);
    let server = Process::start_and_read(simulate).await.unwrap();
    let billed = async || {
        let counters = get_json(&server.first_line.replace("/v1", "/simulator/counters")).await.unwrap();
        counters["billed_nanodollars"]["oracle"]["delivered"].as_u64().unwrap()
    };
    let nowhere = format!("http://{}/v1", free_address().await.unwrap());
    let text = format!(
        "name: judged\nbenchmarks:\n  worfbench: {{ data: {data}, settings: [two-shot], judge: judge/lexical }}\nendpoints:\n  \
         main: {{ kind: openai, base_url: '{}', api_key_env: none, identify_sessions: true }}\n  \
         judge: {{ kind: openai, base_url: '{nowhere}', api_key_env: none, retries: {{ attempts: 2, base_delay_ms: 1, max_delay_ms: 5 }} }}\n\
         models:\n  - {{ id: main/oracle, price: {{ input_per_mtok: 1, output_per_mtok: 2 }} }}\n",
        server.first_line
    );
    let wrong = folder.path().join("wrong.yaml");
    std::fs::write(&wrong, text).unwrap();
    let directory = folder.path().join("run");
    run_to(4, &wrong, &directory).await;
    assert!(results(&directory).lines().all(|line| line.contains("judge_unavailable")), "{}", results(&directory));
    let paid = billed().await;
    assert!(paid > 0 && paid == known_cost(&directory));
    let right = changed(&wrong, "right", (nowhere.as_str(), server.first_line.as_str()));
    let told = run_to(0, &right, &directory).await;
    assert!(told.contains("endpoints.judge, base_url"), "{told}");
    assert_eq!((billed().await, known_cost(&directory)), (paid, paid), "nothing is paid for again");
    let fresh = folder.path().join("fresh");
    run_to(0, &right, &fresh).await;
    assert_eq!(results(&directory), results(&fresh));
}
