//! Bad input gets a message that says where and what to do, and an exit code that says not to retry.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use regatta_tests::regatta::{Process, finish, free_address, regatta, workspace};

const GOOD: &str = "\
name: bad
benchmarks:
  worfbench: { data: DATA, judge: sim/lexical }
endpoints:
  sim: { kind: simulated }
models: [sim/oracle]
";

/// Runs the good spec with `from` replaced by `to`, and returns exit code and message without the temporary folder's name.
async fn complaint(from: &str, to: &str) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let data = workspace().join("examples/data/worfbench").display().to_string();
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replace(from, to).replace("DATA", &data).replace("FOLDER", &folder.path().display().to_string());
    std::fs::write(folder.path().join("spec.yaml"), text).unwrap();
    std::fs::write(folder.path().join("verdicts.jsonl"), "{\"item\": \"x\"\n").unwrap();
    copy_with_a_broken_record(Path::new(&data), &folder.path().join("broken"));
    let mut command = regatta().unwrap();
    command.arg("run").arg(folder.path().join("spec.yaml")).arg("--output").arg(folder.path().join("run"));
    let output = finish(command).await.unwrap();
    let message = String::from_utf8_lossy(&output.stderr).replace(&folder.path().display().to_string(), "FOLDER");
    (output.status.code().unwrap(), message)
}

fn copy_with_a_broken_record(from: &Path, to: &Path) {
    for entry in from.read_dir().unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_with_a_broken_record(&entry.path(), &target);
        } else {
            std::fs::create_dir_all(to).unwrap();
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let broken = if to.ends_with("gold_traj/wikihow") { text.replacen("\"id\"", "\"idd\"", 1) } else { text };
            std::fs::write(target, broken).unwrap();
        }
    }
}

async fn complains(from: &str, to: &str, parts: &[&str]) {
    let (code, message) = complaint(from, to).await;
    assert_eq!(code, 78, "{message}");
    for part in parts {
        assert!(message.contains(part), "{part:?} is missing in:\n{message}");
    }
}

#[tokio::test]
async fn an_unknown_key_is_named_with_its_line() {
    complains("models:", "trails: 3\nmodels:", &["FOLDER/spec.yaml", "unknown field `trails`", "`trials`", "line 6"])
        .await;
}

#[tokio::test]
async fn an_unknown_benchmark_is_named_with_those_there_are() {
    complains("worfbench:", "worfbnch:", &["benchmarks.worfbnch", "known: ", "appbench, ", "flowbench, ", "worfbench"])
        .await;
}

#[tokio::test]
async fn a_missing_data_directory_is_named_with_the_option_that_gives_it() {
    complains("DATA", "FOLDER/nowhere", &["benchmarks.worfbench.data", "nowhere", "--data worfbench=DIR"]).await;
    complains("data: DATA, ", "", &["benchmarks.worfbench.data is missing", "--data worfbench=DIR"]).await;
}

#[tokio::test]
async fn a_malformed_record_is_named_with_file_and_place_and_never_skipped() {
    complains("DATA", "FOLDER/broken", &["gold_traj/wikihow/graph_eval.json", "record", "id"]).await;
}

#[tokio::test]
async fn a_missing_key_is_named_with_its_variable() {
    let endpoint = "{ kind: openai, base_url: 'https://api.example.com/v1', api_key_env: MY_KEY }";
    complains("{ kind: simulated }", endpoint, &["endpoint sim", "MY_KEY"]).await;
}

#[tokio::test]
async fn a_budget_with_an_unknown_price_is_refused() {
    let judge = "benchmarks.worfbench.judge_price";
    complains("name: bad", "name: bad\nbudget_usd: 5", &[judge, "sim/lexical", "price", "budget_usd"]).await;
    let (from, to) = (
        "judge: sim/lexical }\n",
        "judge: sim/lexical, judge_price: { input_per_mtok: 0, output_per_mtok: 0 } }\nbudget_usd: 5\n",
    );
    complains(from, to, &["models[0]", "sim/oracle", "price", "budget_usd"]).await;
}

#[tokio::test]
async fn unreadable_verdicts_are_named_with_file_and_line() {
    let recorded = "{ kind: simulated }\n  rec: { kind: recorded, path: verdicts.jsonl }";
    complains("{ kind: simulated }", recorded, &["endpoints.rec.path", "verdicts.jsonl", "line 1"]).await;
}

#[tokio::test]
async fn a_missing_judge_is_asked_for() {
    complains(", judge: sim/lexical", "", &["benchmarks.worfbench.judge: is missing"]).await;
}

#[tokio::test]
async fn a_port_in_use_is_named_with_what_to_do() {
    let address = free_address().await.unwrap().to_string();
    let data = format!("worfbench={}", workspace().join("examples/data/worfbench").display());
    let simulate = || {
        let mut command = regatta().unwrap();
        command.args(["simulate", "llm", "--listen", &address, "--data", &data]);
        command
    };
    let first = Process::start_and_read(simulate()).await.unwrap();
    let output = finish(simulate()).await.unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78), "{message}");
    assert!(message.contains(&address) && message.contains("port"), "{message}");
    first.kill().await.unwrap();
}

#[tokio::test]
async fn a_wrong_command_line_is_64() {
    let mut command = regatta().unwrap();
    command.args(["run", "--no-such-flag"]);
    assert_eq!(finish(command).await.unwrap().status.code(), Some(64));
}
