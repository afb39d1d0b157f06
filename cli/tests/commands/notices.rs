//! The end of a run, told to a command.

use std::path::Path;

use serde_json::Value;

use super::{examples, json, regatta, said, text};

/// A spec of a run that takes no time.
fn spec(folder: &Path) -> String {
    let text = format!(
        "name: small
benchmarks:
  worfbench: {{ data: {}, settings: [zero-shot], limit: 2, judge: sim/lexical }}
endpoints:
  sim: {{ kind: simulated, simulation: {{ latency: {{ median_ms: 1, spread: 1.1 }} }} }}
models: [sim/oracle]
",
        examples().join("data/worfbench").display()
    );
    let spec = folder.join("spec.yaml");
    std::fs::write(&spec, text).expect("it can be written");
    spec.display().to_string()
}

#[test]
fn the_end_of_a_run_and_of_a_resumed_one_is_told_to_a_command_as_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let (spec, run, told) = (spec(folder.path()), folder.path().join("run"), folder.path().join("told.json"));
    let (directory, notify) = (run.display().to_string(), format!("/bin/cat > {}", told.display()));
    said(&["run", &spec, "--output", &directory, "--notify", &notify]);
    let first = json(&told);
    assert_eq!(first["type"], "run.ended");
    assert_eq!((&first["state"], &first["exit_code"]), (&Value::from("complete"), &Value::from(0)));
    assert_eq!((&first["sessions"], &first["not_measured"]), (&Value::from(2), &Value::from(0)));
    assert_eq!(first["directory"], directory.as_str());
    std::fs::remove_file(&told).expect("it is there");
    said(&["resume", &directory, "--notify", &notify]);
    assert_eq!(json(&told)["state"], "complete");
}

#[test]
fn a_notice_that_nobody_takes_is_a_warning_and_no_other_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let (spec, directory) = (spec(folder.path()), folder.path().join("run").display().to_string());
    let (_, notes) = said(&["run", &spec, "--output", &directory, "--notify", "exit 3"]);
    assert!(notes.contains("warning: the notice of the run's end was not taken (--notify)"), "{notes}");
    assert!(!notes.contains('\u{7}'), "nobody looks at a terminal");
}

#[test]
fn a_receiver_that_is_none_is_refused_before_anything_is_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let (spec, run) = (spec(folder.path()), folder.path().join("run"));
    let output = regatta(&["run", &spec, "--output", &run.display().to_string(), "--notify", "ftp://x.example/hook"]);
    assert_eq!(output.status.code(), Some(78), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("--notify, REGATTA_NOTIFY"), "{}", text(&output.stderr));
    assert!(!run.exists());
}
