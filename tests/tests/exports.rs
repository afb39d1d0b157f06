//! A run leaves the house: in each format, read back by the packages that the formats are for, with the numbers of the run.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::Command as Blocking;

use regatta_tests::regatta::{finish, must_run_all, regatta, skipped, workspace};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

/// Packages that read what is exported; `pytz` is what DuckDB gives times with a zone by.
const PACKAGES: [&str; 6] = [
    "inspect-ai==0.3.285",
    "pyarrow==26.0.1",
    "duckdb==2.0.0",
    "pandas==3.1.1",
    "pytz==2026.6",
    "opentelemetry-proto==1.45.2",
];

/// Runs `regatta`, which ends well: what it wrote to standard output.
async fn said(arguments: &[&str]) -> String {
    let mut command = regatta().unwrap();
    let output = finish({
        command.args(arguments);
        command
    })
    .await
    .unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A run of `spec`, and the folder that it is in.
async fn run_of(spec: &str, more: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    said(&[&["run", spec, "--output", run.to_str().unwrap()], more].concat()).await;
    (folder, run)
}

/// Exports `run` into `to`, and names the files.
async fn export(run: &Path, to: &Path, formats: &str) -> Vec<PathBuf> {
    let arguments = ["export", run.to_str().unwrap(), "--output", to.to_str().unwrap(), "--format", formats];
    said(&arguments).await.lines().map(PathBuf::from).collect()
}

/// A Python with the packages. They are large, so they are installed only where that is asked for.
fn python() -> Option<PathBuf> {
    let given = std::env::var_os("REGATTA_EXPORTS_PYTHON").is_some();
    if !given && std::env::var_os("REGATTA_TEST_EXPORTS").is_none() && !must_run_all() {
        skipped(
            "exports",
            "set REGATTA_TEST_EXPORTS to install the packages that read them, or REGATTA_EXPORTS_PYTHON to a Python that has them",
        );
        return None;
    }
    let found =
        Blocking::new(workspace().join("tests/fixtures/python.sh")).arg("exports").args(PACKAGES).output().unwrap();
    if found.status.success() {
        return Some(String::from_utf8(found.stdout).unwrap().trim().into());
    }
    skipped("exports", &String::from_utf8_lossy(&found.stderr));
    None
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_of_the_quick_start_are_read_by_other_packages_with_the_numbers_of_the_run() {
    let (folder, run) = run_of("examples/quickstart.yaml", &[]).await;
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let written = export(&run, &first, "eval,parquet,csv,otlp").await;
    for (one, other) in written.iter().zip(export(&run, &second, "eval,parquet,csv,otlp").await) {
        assert!(
            std::fs::read(one).unwrap() == std::fs::read(&other).unwrap(),
            "{} is not the same twice",
            one.display()
        );
    }
    assert_eq!(written.len(), 12, "four tables in two forms, three logs, one file of traces: {written:?}");

    let Some(python) = python() else { return };
    let mut command = Command::new(python);
    command.arg(workspace().join("tests/fixtures/exports.py")).args([&run, &first]).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = finish(command).await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for piece in ["tables: 315 sessions, 315 attempts, 315 calls", "logs: 3 logs, 315 samples", "traces: 315 sessions"]
    {
        assert!(text.contains(piece), "{piece} is missing in {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_out_of_a_log_are_scored_as_the_run_scored_them() {
    let (folder, run) = run_of("examples/declared.yaml", &["--trials", "1"]).await;
    let logs = export(&run, &folder.path().join("logs"), "eval").await;
    let log = logs.iter().find(|log| {
        let name = log.file_name().unwrap().to_string_lossy();
        name.contains("_arithmetic-shots-0-sim-noisy-0.3_")
    });
    let (log, scores) = (log.unwrap().to_str().unwrap(), folder.path().join("scores.json"));
    let arguments = ["score", "arithmetic", "--data", "examples/benchmarks/arithmetic", "--setting", "shots=0"];
    said(&[&arguments[..], &["--predictions", log, "--out", scores.to_str().unwrap()]].concat()).await;
    let scored: Value = serde_json::from_slice(&std::fs::read(&scores).unwrap()).unwrap();

    let results = std::fs::read_to_string(run.join("results.jsonl")).unwrap();
    let lines: Vec<Value> = results.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_cell = |line: &&Value| {
        line["benchmark"] == "arithmetic" && line["setting"] == "shots=0" && line["model"] == "sim/noisy-0.3"
    };
    let expected: Vec<&Value> = lines.iter().filter(of_cell).collect();
    assert!(!expected.is_empty() && expected.iter().any(|line| line["scores"]["declared"]["correct"] == 0.0));
    for line in expected {
        let item = line["item"].as_str().unwrap();
        assert_eq!(scored["items"][item]["scores"], line["scores"]["declared"], "{item}");
    }

    // The same by a file of lines, whatever its fields are called.
    let (mut text, predictions) = (String::new(), folder.path().join("predictions.jsonl"));
    for line in lines.iter().filter(of_cell) {
        text += &serde_json::json!({"doc": {"id": line["item"]}, "resps": [["no number"]]}).to_string();
        text.push('\n');
    }
    let foreign = folder.path().join("samples.jsonl");
    std::fs::write(&foreign, text).unwrap();
    let arguments = ["import", "predictions", foreign.to_str().unwrap(), "--item", "doc.id", "--answer", "resps.0.0"];
    let told = said(&[&arguments[..], &["--output", predictions.to_str().unwrap()]].concat()).await;
    assert!(told.ends_with("predictions\n"), "{told}");
    let first = std::fs::read_to_string(&predictions).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(serde_json::from_str::<Value>(&first).unwrap()["output"], "no number");
}

/// Every value of an attribute that names a file.
fn links(page: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for attribute in [" href=\"", " src=\""] {
        found.extend(page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()));
    }
    found.retain(|link| !link.starts_with('#'));
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_is_files_that_link_to_files_and_needs_no_server() {
    let (folder, run) = run_of("examples/quickstart.yaml", &["--limit", "3", "--trials", "1"]).await;
    let index = export(&run, folder.path(), "site").await.remove(0);
    let site = index.parent().unwrap();
    let mut wanted = vec![index.clone()];
    let mut seen = std::collections::BTreeSet::new();
    while let Some(path) = wanted.pop() {
        if !seen.insert(path.canonicalize().unwrap()) || path.extension().is_none_or(|suffix| suffix != "html") {
            continue;
        }
        let page = std::fs::read_to_string(&path).unwrap();
        let is_report = path.ends_with("report.html");
        assert!(is_report || !page.contains("<script") && !page.contains("<form"), "{}", path.display());
        for link in links(&page).into_iter().filter(|_| !is_report) {
            assert!(!link.starts_with('/') && !link.contains("://"), "{link} leaves the site, in {}", path.display());
            let target = path.parent().unwrap().join(link.split('#').next().unwrap());
            assert!(target.is_file(), "{link} leads nowhere, in {}", path.display());
            wanted.push(target);
        }
    }
    let results = std::fs::read_to_string(run.join("results.jsonl")).unwrap();
    let sessions = site.canonicalize().unwrap().join("sessions");
    let pages = seen.iter().filter(|path| path.starts_with(&sessions) && path.extension().is_some_and(|s| s == "html"));
    assert_eq!(pages.count(), results.lines().count(), "each session has a page, to which links lead");
}
