//! The Python package: what it reads of a run is what the run's files say, and its parts work without anything installed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::Output;

use regatta_tests::regatta::{binary, finish, skipped, workspace};
use tokio::process::Command;

/// Runs `script` with the package of this checkout; `None`, with a sentence, where there is no Python.
async fn python(script: &str, arguments: &[&Path]) -> Option<Output> {
    if Command::new("python3").arg("--version").output().await.is_err() {
        skipped("python", "there is no python3; `apt-get install python3` brings it");
        return None;
    }
    let mut command = Command::new("python3");
    command
        .arg("-c")
        .arg(script)
        .args(arguments)
        .current_dir(workspace())
        .env("PYTHONPATH", workspace().join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("REGATTA_BINARY", binary().unwrap());
    Some(finish(command).await.unwrap())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const READS_WHAT_THE_FILES_SAY: &str = r#"
import json, sys
import regatta
out = sys.argv[1]
run = regatta.run("examples/declared.yaml", out)
lines = [json.loads(line) for line in open(f"{out}/results.jsonl")]
assert len(run.sessions) == len(lines) > 0
for row, line in zip(run.sessions, lines):
    assert [row[name] for name in ("cell", "item", "outcome", "flags")] == [line[name] for name in ("cell", "item", "outcome", "flags")]
    for evaluator, values in line["scores"].items():
        for name, value in values.items():
            assert row[f"{evaluator}.{name}"] == value
summary = json.load(open(f"{out}/summary.json"))
assert run.summary == summary
for row, of in zip(run.leaderboard(), summary["rows"]):
    for metric in of["metrics"]:
        if metric["headline"]:
            assert row[f"{metric['evaluator']}.{metric['metric']}"] == metric["value"]
assert len(run.attempts) == summary["spending"]["attempts"]
assert sum(run.attempts.column("calls")) == summary["spending"]["calls"] == len(run.calls)
assert sum(run.calls.column("usage.output")) == summary["spending"]["usage"]["output"]
assert sum(run.calls.column("cost_nanodollars")) == summary["spending"]["cost"]["known"]
assert len(run.metrics) == len(json.load(open(f"{out}/metrics.json"))["metrics"])
transcripts = list(run.transcripts())
assert {(one["cell"], one["item"]) for one in transcripts} == {(one["cell"], one["item"]) for one in lines}
assert run.verdicts == [] and run.verdicts.columns == ["answerer", "question", "verdict"]
assert run.sessions.where(model="sim/oracle").column("declared.correct")[0] == 1.0
page = run._repr_html_()
assert "<table>" in page and "sim/noisy-0.3" in page
for rows in (run.sessions, run.attempts, run.metrics, run.calls):
    try: assert rows.to_pandas().shape == (len(rows), len(rows.columns))
    except ImportError: pass
    try: assert rows.to_polars().shape == (len(rows), len(rows.columns))
    except ImportError: pass
print("read", len(lines))
"#;

#[tokio::test(flavor = "multi_thread")]
async fn frames_have_the_numbers_of_the_files() {
    let place = tempfile::tempdir().unwrap();
    let Some(output) = python(READS_WHAT_THE_FILES_SAY, &[&place.path().join("run")]).await else { return };
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "read 480\n");
}

const SAYS_WHAT_WENT_WRONG: &str = r#"
import sys
import regatta
out = sys.argv[1]
try:
    regatta.run({"name": "bad", "benchmarks": {"nobench": {}}, "endpoints": {"sim": {"kind": "simulated"}}, "models": ["sim/oracle"]}, out + "/bad")
except regatta.RunFailed as failed:
    assert failed.code == 78 and "nobench" in failed.said, failed
else:
    raise SystemExit("not refused")
try:
    regatta.load(out)
except FileNotFoundError as missing:
    assert "summary.json" in str(missing)
else:
    raise SystemExit("not refused")
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_spec_is_an_exception_with_what_was_said() {
    let place = tempfile::tempdir().unwrap();
    let Some(output) = python(SAYS_WHAT_WENT_WRONG, &[place.path()]).await else { return };
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_helper_copies_itself_beside_a_benchmark() {
    let place = tempfile::tempdir().unwrap();
    let script = "import runpy, sys; sys.argv = ['benchmark', sys.argv[1]]; runpy.run_module('regatta.benchmark', run_name='__main__')";
    let Some(output) = python(script, &[place.path()]).await else { return };
    assert!(output.status.success(), "{}", text(&output.stderr));
    let read = |path: &Path| std::fs::read(path).unwrap();
    let helper = read(&workspace().join("python/regatta/benchmark.py"));
    assert!(read(&place.path().join("regatta_benchmark.py")) == helper);
}

/// Minutes: `scripts/wheel --test` is the whole of it; here it packs the binary of these tests.
#[tokio::test(flavor = "multi_thread")]
async fn a_wheel_is_installed_into_a_clean_environment_and_runs_the_quick_start() {
    if std::env::var_os("REGATTA_TEST_WHEEL").is_none() {
        skipped("a wheel", "set REGATTA_TEST_WHEEL to build and install one");
        return;
    }
    let mut command = Command::new("scripts/wheel");
    command.arg("--binary").arg(binary().unwrap()).arg("--test").current_dir(workspace());
    let output = finish(command).await.unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("Run('runs/first', complete)"), "{}", text(&output.stdout));
}
