//! `regatta run` as a newcomer uses it: one process, no service, no key, no network beyond loopback.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use regatta_tests::http::{self, Request};
use regatta_tests::referee::{CONCURRENCY, Referee};
use regatta_tests::regatta::{Process, ended, finish, free_address, regatta, workspace};
use regatta_tests::waiting::{in_time, until};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

const SPEC: &str = "
name: NAME
seed: 3
trials: 2
benchmarks:
  worfbench: { data: DATA, settings: [two-shot], judge: sim/lexical }
endpoints:
  sim:
    kind: simulated
    retries: { attempts: 12, base_delay_ms: 5, max_delay_ms: 50 }
    simulation: SIMULATION
models:
  - { id: sim/oracle, price: { input_per_mtok: 1, output_per_mtok: 2 } }
  - sim/noisy-0.4
";

fn spec(folder: &Path, name: &str, simulation: &str) -> std::path::PathBuf {
    let data = workspace().join("examples/data/worfbench");
    let text =
        SPEC.replace("NAME", name).replace("DATA", &data.display().to_string()).replace("SIMULATION", simulation);
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, text).unwrap();
    path
}

async fn run(spec: &Path, output: &Path) -> Output {
    let mut command = regatta().unwrap();
    command.arg("run").arg(spec).arg("--output").arg(output);
    finish(command).await.unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn lines(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn results(run: &Path) -> String {
    std::fs::read_to_string(run.join("results.jsonl")).unwrap()
}

#[tokio::test]
async fn the_quickstart_ends_complete_with_a_leaderboard_and_a_run_directory() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&workspace().join("examples/quickstart.yaml"), folder.path()).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for model in ["sim/oracle", "sim/noisy-0.2", "sim/noisy-0.5"] {
        assert!(shown.contains(model), "{shown}");
    }
    let results = lines(&folder.path().join("results.jsonl"));
    assert!(results.len() >= 24 * 3 * 3 && results.len().is_multiple_of(9));
    assert!(results.iter().all(|line| line["outcome"] == "measured"));
    for name in ["sweep.lock.yaml", "metrics.json", "metrics.csv", "attempts.jsonl", "report.md", "report.html"] {
        assert!(std::fs::metadata(folder.path().join(name)).unwrap().len() > 0, "{name}");
    }
    assert!(folder.path().join("transcripts").read_dir().unwrap().count() > 0);
    // The terminal says what the first card of the report says; everything else is asked for.
    assert!(shown.contains("sim/noisy-0.5, against sim/oracle: worse by ") && shown.contains(" group "), "{shown}");
    assert!(!shown.contains("Main table") && !shown.contains("compared in pairs"), "{shown}");
    let html = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(html.len() <= 150_000, "the report has {} bytes", html.len());
    let card = &html[html.find("id=\"ranking\"").unwrap()..html.find("id=\"leaderboards\"").unwrap()];
    assert!(card.contains("sim/noisy-0.5, against sim/oracle: worse by "), "{card}");
}

#[tokio::test]
async fn all_tables_are_printed_where_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = regatta().unwrap();
    command
        .arg("run")
        .arg(workspace().join("examples/quickstart.yaml"))
        .arg("--tables")
        .arg("--output")
        .arg(folder.path());
    let output = finish(command).await.unwrap();
    let shown = text(&output.stdout);
    for part in ["Main table", "compared in pairs", "sim/noisy-0.5, against sim/oracle: worse by "] {
        assert!(shown.contains(part), "{part} is missing in {shown}");
    }
}

#[tokio::test]
async fn faults_of_the_endpoint_change_no_result_and_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (calm, stormy) = (folder.path().join("calm"), folder.path().join("stormy"));
    let output = run(&spec(folder.path(), "calm", "{}"), &calm).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let faults = "{ faults: { server_error: 0.05, rate_limited: 0.05, dropped: 0.02, truncated: 0.02 } }";
    let output = run(&spec(folder.path(), "stormy", faults), &stormy).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(results(&calm), results(&stormy));
    let retries =
        |run: &Path| lines(&run.join("attempts.jsonl")).iter().map(|a| a["retries"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(retries(&calm), 0);
    assert!(retries(&stormy) > 0);
}

/// A server of chat completions that takes the key `right` alone, and has no money for the key `spent`: its address, and the calls that it
/// refused and answered so far.
async fn choosy() -> (String, Arc<[AtomicUsize; 2]>) {
    const ANSWER: &str = r#"{"id":"1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Node:\n1: go\nEdges: (START,1)(1,END)"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":9}}"#;
    const REFUSAL: &str = r#"{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","code":"invalid_api_key"}}"#;
    const NO_MONEY: &str = r#"{"error":{"message":"You exceeded your current quota.","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let counts: Arc<[AtomicUsize; 2]> = Arc::default();
    let counting = Arc::clone(&counts);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let counts = Arc::clone(&counting);
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                while let Some(request) = Request::read(&mut stream).await? {
                    let is_right = request.header("authorization") == Some("Bearer right");
                    // A request for its models is no call.
                    let is_call = request.head.starts_with("POST ");
                    counts[usize::from(is_right)].fetch_add(usize::from(is_call), Ordering::SeqCst);
                    let (status, body) = match request.header("authorization") {
                        Some("Bearer right") => ("200 OK", ANSWER),
                        Some("Bearer spent") => ("402 Payment Required", NO_MONEY),
                        _ => ("401 Unauthorized", REFUSAL),
                    };
                    stream.write_all(&http::answer(status, "application/json", body)).await?;
                }
                std::io::Result::Ok(())
            });
        }
    });
    (address, counts)
}

#[tokio::test]
async fn a_key_that_is_refused_is_sent_a_few_times_and_resume_tries_again_with_the_right_one() {
    is_sent_a_few_times_until_the_key_is_right("wrong", "auth", "correct the key that api_key_env names (auth)").await;
}

#[tokio::test]
async fn an_account_without_money_is_asked_a_few_times_and_resume_goes_on_once_there_is_some() {
    let advice = "top up the account of the endpoint's key at its provider (quota)";
    is_sent_a_few_times_until_the_key_is_right("spent", "quota", advice).await;
}

async fn is_sent_a_few_times_until_the_key_is_right(key: &str, cause: &str, advice: &str) {
    let (address, counts) = choosy().await;
    let folder = tempfile::tempdir().unwrap();
    let data = workspace().join("examples/data/worfbench");
    let spec = folder.path().join("spec.yaml");
    let written = format!(
        "name: refused\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], judge: sim/lexical }}\nendpoints:\n  \
         sim: {{ kind: simulated }}\n  choosy: {{ kind: openai, base_url: '{address}', api_key_env: CHOOSY_KEY, limits: {{ concurrency: 2 }} }}\n\
         models: [choosy/m]\n",
        data.display()
    );
    std::fs::write(&spec, written).unwrap();
    let directory = folder.path().join("out");
    let mut command = regatta().unwrap();
    command.env("CHOOSY_KEY", key).args(["run", "--no-preflight"]).arg(&spec).arg("--output").arg(&directory);
    let output = finish(command).await.unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(&format!(" × {cause}, ")), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains(advice), "{}", text(&output.stderr));
    let results = lines(&directory.join("results.jsonl"));
    assert!(results.len() >= 20, "{}", results.len());
    for line in &results {
        assert_eq!((&line["outcome"], &line["cause"]), (&"not_measured".into(), &cause.into()), "{line}");
    }
    let sent = |at: usize| counts[at].load(Ordering::SeqCst);
    // Three refusals hold the endpoint; each of the two calls at once may be under way by then.
    assert!((3..=4).contains(&sent(0)), "{} requests for {} sessions", sent(0), results.len());

    let refused = sent(0);
    let mut resume = regatta().unwrap();
    resume.env("CHOOSY_KEY", "right").arg("resume").arg(&directory);
    let output = finish(resume).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let resumed = lines(&directory.join("results.jsonl"));
    assert!(resumed.iter().all(|line| line["outcome"] == "measured"));
    assert_eq!((sent(0), sent(1), resumed.len()), (refused, results.len(), results.len()), "each is asked once");
}

#[tokio::test]
async fn a_dead_endpoint_ends_incomplete_and_resume_completes_it_once_it_is_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let address = free_address().await.unwrap();
    let spec = folder.path().join("dead.yaml");
    let data = workspace().join("examples/data/worfbench");
    let text_of_spec = format!(
        "name: dead\nbenchmarks:\n  worfbench: {{ data: {}, settings: [zero-shot], judge: there/lexical }}\nendpoints:\n  there:\n    \
         kind: openai\n    base_url: http://{address}/v1\n    api_key_env: none\n    identify_sessions: true\n    \
         retries: {{ attempts: 3, base_delay_ms: 1, max_delay_ms: 5 }}\nmodels: [there/oracle]\n",
        data.display()
    );
    std::fs::write(&spec, text_of_spec).unwrap();
    let directory = folder.path().join("run");
    let output = run(&spec, &directory).await;
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let broken = lines(&directory.join("results.jsonl"));
    assert!(!broken.is_empty());
    // Why nothing was measured is said at once, with the words of who refused it.
    let shown = text(&output.stdout);
    let failed = format!("failed: there/oracle: {} × endpoint_unavailable, ", broken.len());
    assert!(shown.contains(&failed), "{shown}");
    for line in &broken {
        assert_eq!((&line["outcome"], &line["cause"]), (&"not_measured".into(), &"endpoint_unavailable".into()));
        assert!(line["scores"].is_null(), "nothing is scored as wrong: {line}");
    }

    let mut simulate = regatta().unwrap();
    let worfbench = format!("worfbench={}", data.display());
    simulate.args(["simulate", "llm", "--listen", &address.to_string(), "--data", &worfbench]);
    let server = Process::start_and_read(simulate).await.unwrap();
    assert_eq!(server.first_line, format!("http://{address}/v1"));
    let mut resume = regatta().unwrap();
    resume.arg("resume").arg(&directory);
    let output = finish(resume).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let repaired = lines(&directory.join("results.jsonl"));
    assert_eq!(repaired.len(), broken.len());
    assert!(repaired.iter().all(|line| line["outcome"] == "measured"));
    server.kill().await.unwrap();
}

#[tokio::test]
async fn a_run_that_was_killed_continues_and_ends_as_if_nothing_had_happened() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, torn) = (folder.path().join("whole"), folder.path().join("torn"));
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let spec = referee.spec(folder.path(), "kill", 96, "").unwrap();
    assert_eq!(run(&spec, &whole).await.status.code(), Some(0));
    referee.begin_new_books(Duration::ZERO);
    referee.answer(20);
    let mut command = regatta().unwrap();
    command.arg("run").arg(&spec).arg("--output").arg(&torn).stdout(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    // The first transcripts are there, so some sessions are recorded and some are not.
    let segments = torn.join("store/blobs/sweeps");
    let recorded = until("the first transcripts", async || {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be killed");
        if holds_a_segment(&segments) { Ok(()) } else { Err(format!("{} calls", referee.calls())) }
    });
    recorded.await.unwrap();
    child.kill().await.unwrap();
    referee.answer_all();
    let output = run(&spec, &torn).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(results(&whole), results(&torn));
    assert_eq!(referee.calls(), 96 + referee.repeated(), "a call that nobody needs was made");
}

fn holds_a_segment(sweeps: &Path) -> bool {
    let Ok(mut sweeps) = sweeps.read_dir() else { return false };
    let Some(Ok(sweep)) = sweeps.next() else { return false };
    sweep.path().join("transcripts").read_dir().is_ok_and(|mut segments| segments.next().is_some())
}

#[tokio::test]
async fn a_finished_run_is_shown_again_and_another_seed_is_refused_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let spec = spec(folder.path(), "again", "{}");
    let first = run(&spec, &directory).await;
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    let again = run(&spec, &directory).await;
    assert_eq!((again.status.code(), text(&again.stdout)), (Some(0), text(&first.stdout)));
    let mut other = regatta().unwrap();
    other.arg("run").arg(&spec).args(["--seed", "99", "--output"]).arg(&directory);
    let output = finish(other).await.unwrap();
    assert_eq!(output.status.code(), Some(78));
    assert!(text(&output.stderr).contains("choose another directory with --output"), "{}", text(&output.stderr));
}

/// One cell of a cheap benchmark, whose model may write `max_tokens`.
async fn limited_to(max_tokens: u32) -> (Vec<Value>, String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = spec(folder.path(), "limited", "{}");
    let written = std::fs::read_to_string(&path).unwrap();
    let limited =
        written.replace("  - sim/noisy-0.4", &format!("  - {{ id: sim/noisy-0.4, max_tokens: {max_tokens} }}"));
    std::fs::write(&path, limited).unwrap();
    let out = folder.path().join("out");
    let output = run(&path, &out).await;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let metrics = serde_json::from_slice(&std::fs::read(out.join("metrics.json")).unwrap()).unwrap();
    (lines(&out.join("results.jsonl")), text(&output.stdout), metrics)
}

#[tokio::test]
async fn a_model_that_its_token_limit_cuts_off_is_seen_at_a_glance_and_a_higher_limit_helps() {
    let is_cut = |line: &Value| line["flags"].as_array().unwrap().contains(&"truncated".into());
    let (results, shown, metrics) = limited_to(5).await;
    let (noisy, oracle): (Vec<_>, Vec<_>) = results.iter().partition(|line| line["model"] == "sim/noisy-0.4");
    assert!(noisy.iter().all(|line| is_cut(line)) && !oracle.iter().any(|line| is_cut(line)));
    assert!(shown.contains("sessions are truncated (the token limit cut an answer off; raise `max_tokens`"), "{shown}");
    let rate = metrics["flags"].as_array().unwrap().iter().find(|row| row["flag"] == "truncated").unwrap();
    assert_eq!((&rate["model"], &rate["rate"], &rate["trial"]), (&"sim/noisy-0.4".into(), &1.0.into(), &Value::Null));
    let (results, shown, _) = limited_to(4096).await;
    assert!(!results.iter().any(is_cut) && !shown.contains("truncated"), "{shown}");
}

#[tokio::test]
async fn of_two_runs_in_one_directory_the_second_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let referee = Referee::start(0, Duration::ZERO).await.unwrap();
    let spec = referee.spec(folder.path(), "shared", 40, "").unwrap();
    let mut command = regatta().unwrap();
    command.arg("run").arg(&spec).arg("--output").arg(&directory).env("REGATTA_LOG", "info");
    let first = command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap();
    referee.has_read(1).await;
    let second = run(&spec, &directory).await;
    assert_eq!(second.status.code(), Some(78));
    let said = text(&second.stderr);
    let holder = first.id().unwrap();
    assert!(said.contains(&format!("another regatta (process {holder}) is at work in")), "{said}");
    referee.answer_all();
    let first = ended(first).await.unwrap();
    assert_eq!(first.status.code(), Some(0));
    assert_eq!(lines(&directory.join("results.jsonl")).len(), 40);
    assert_eq!((referee.calls(), referee.repeated()), (40, 0), "one call a session");
}

/// A signal lets what is in flight end, and begins nothing else; a second one would not wait for sessions.
#[tokio::test]
async fn a_run_that_is_told_to_leave_does_so_without_an_error_and_the_same_command_goes_on_and_pays_for_nothing_twice()
{
    const CONVERSATIONS: (u64, u64) = (48, 4);
    for signal in ["TERM", "INT"] {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("run");
        let referee = Referee::start(2 * CONCURRENCY, Duration::from_millis(50)).await.unwrap();
        let spec = referee.conversations(folder.path(), "leaving", CONVERSATIONS, "").unwrap();
        let mut command = regatta().unwrap();
        command.arg("run").arg(&spec).arg("--output").arg(&directory).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut leaving = command.spawn().unwrap();
        referee.has_read(3 * CONCURRENCY).await;
        let process = leaving.id().unwrap().to_string();
        let told = tokio::process::Command::new("kill").args([&format!("-{signal}"), &process]).status().await.unwrap();
        assert!(told.success());
        // Nothing is answered before it has heard of the signal.
        let mut lines = BufReader::new(leaving.stderr.take().unwrap()).lines();
        let mut said = String::new();
        while let Some(line) = in_time("a line of the run", lines.next_line()).await.unwrap().unwrap() {
            if line.starts_with("leaving: ") {
                referee.answer_all();
            }
            said += &format!("{line}\n");
        }
        let status = ended(leaving).await.unwrap().status;
        assert_eq!(status.code(), Some(4), "SIG{signal}: {said}");
        assert!(said.contains("leaving: "), "{said}");
        assert!(said.contains("interrupted; the same command continues where it stopped"), "{said}");
        assert!(!said.contains("ERROR") && !said.contains("failed to"), "SIG{signal}: {said}");
        let all = CONVERSATIONS.0 * CONVERSATIONS.1;
        assert!(referee.calls() < all, "it left before it had ended");
        let output = run(&spec, &directory).await;
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!((referee.calls(), referee.repeated()), (all, 0), "SIG{signal}: each call once");
        let summary: Value =
            serde_json::from_str(&std::fs::read_to_string(directory.join("summary.json")).unwrap()).unwrap();
        assert_eq!(summary["spending"]["cost"]["known"], referee.billed());
    }
}

#[tokio::test]
async fn what_an_ended_run_has_lost_of_its_outputs_is_made_again_and_nothing_is_paid_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, directory) = (spec(folder.path(), "again", "{}"), folder.path().join("run"));
    assert_eq!(run(&spec, &directory).await.status.code(), Some(0));
    let log = std::fs::metadata(directory.join("store/ledger.sqlite-wal")).map_or(0, |log| log.len());
    assert_eq!(log, 0, "nothing hangs on the ledger's log");
    let before = results(&directory);
    let stored = std::fs::read_dir(directory.join("store/blobs/sweeps")).unwrap().next().unwrap().unwrap().path();
    for name in ["results.jsonl", "report.html"] {
        std::fs::remove_file(directory.join(name)).unwrap();
        std::fs::remove_file(stored.join(name)).unwrap();
    }
    let segments = std::fs::read_dir(stored.join("transcripts")).unwrap().map(|entry| entry.unwrap().path());
    let segments: Vec<_> = segments.collect();
    let [missing, damaged, ..] = &segments[..] else { panic!("{segments:?}") };
    std::fs::remove_file(missing).unwrap();
    let mut bytes = std::fs::read(damaged).unwrap();
    bytes[40] ^= 4;
    std::fs::write(damaged, bytes).unwrap();
    let again = run(&spec, &directory).await;
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert_eq!(results(&directory), before);
    assert!(directory.join("report.html").is_file());
    let said = text(&again.stderr);
    assert!(
        said.contains("is made again from the ledger") && said.contains("files of transcripts are missing"),
        "{said}"
    );
    let damaged = damaged.file_name().unwrap().to_string_lossy();
    assert!(said.contains("damaged since they were written") && said.contains(&*damaged), "{said}");
}

#[tokio::test]
async fn a_run_whose_ledger_is_gone_or_damaged_does_not_begin_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, directory) = (spec(folder.path(), "gone", "{}"), folder.path().join("run"));
    assert_eq!(run(&spec, &directory).await.status.code(), Some(0));
    let ledger = directory.join("store/ledger.sqlite");
    let mut bytes = std::fs::read(&ledger).unwrap();
    let middle = bytes.len() / 2;
    bytes[4096..middle].fill(0x5a);
    std::fs::write(&ledger, bytes).unwrap();
    let damaged = run(&spec, &directory).await;
    assert_ne!(damaged.status.code(), Some(0));
    assert!(text(&damaged.stderr).contains("the file is damaged"), "{}", text(&damaged.stderr));
    for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"] {
        let _ = std::fs::remove_file(directory.join("store").join(name));
    }
    let gone = run(&spec, &directory).await;
    assert_eq!(gone.status.code(), Some(78), "{}", text(&gone.stderr));
    assert!(text(&gone.stderr).contains("the ledger has been removed or emptied"), "{}", text(&gone.stderr));
}
