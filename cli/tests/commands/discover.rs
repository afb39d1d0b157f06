//! Commands that tell what there is, and begin a spec.

use serde_json::Value;

use super::{examples, regatta, said, text};

#[test]
fn the_benchmarks_are_listed_with_their_evaluators() {
    insta::assert_snapshot!(said(&["list", "benchmarks"]).0);
    let (settings, _) = said(&["list", "settings", "worfbench"]);
    assert!(settings.contains("two-shot") && !settings.contains("flowbench"), "{settings}");
    let (evaluators, _) = said(&["list", "evaluators", "appbench"]);
    assert!(evaluators.contains("exec"), "{evaluators}");
    let (models, _) = said(&["list", "models", "GPT-4o-mini"]);
    assert!(models.contains("gpt-4o-mini") && !models.contains("claude"), "{models}");
}

#[test]
fn a_misspelt_benchmark_is_guessed() {
    let output = regatta(&["list", "settings", "worfbnech"]);
    assert_eq!(output.status.code(), Some(78));
    let error = text(&output.stderr);
    assert!(error.contains("did you mean \"worfbench\"?"), "{error}");
}

#[test]
fn a_spec_of_init_is_planned_and_never_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("first.yaml");
    let file = file.to_str().expect("a path");
    let data = format!("worfbench={}", examples().join("data/worfbench").display());
    let (_, notes) = said(&["init", file, "--data", &data, "-m", "sim/oracle", "-m", "sim/noisy-0.3", "--limit", "8"]);
    assert!(notes.contains("--dry-run"), "{notes}");
    said(&["run", file, "--dry-run"]);
    let again = regatta(&["init", file]);
    assert_eq!(again.status.code(), Some(78));
    assert!(text(&again.stderr).contains("is there already"), "{}", text(&again.stderr));
}

#[test]
fn init_begins_a_benchmark_of_ones_own_that_runs_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (spec, again, out) = (at("quiz.yaml"), at("again.yaml"), at("run"));
    let data = format!("quiz={}", at("quiz"));
    let alone = regatta(&["init", &spec, "--benchmark", "quiz"]);
    assert_eq!(alone.status.code(), Some(78));
    assert!(text(&alone.stderr).contains("--data quiz=DIR"), "{}", text(&alone.stderr));
    let beside = regatta(&["init", &spec, "--benchmark", "quiz", "--benchmark", "worfbnech", "--data", &data]);
    assert_eq!(beside.status.code(), Some(78));
    assert!(text(&beside.stderr).contains("did you mean \"worfbench\"?"), "{}", text(&beside.stderr));
    assert!(!folder.path().join("quiz").exists(), "nothing is begun for a spec that is refused");
    said(&["init", &spec, "--benchmark", "quiz", "--data", &data, "-m", "sim/oracle", "-m", "sim/noisy-0.3"]);
    assert!(said(&["check", &at("quiz")]).0.contains("8 items"));
    said(&["run", &spec, "--output", &out]);
    let results = std::fs::read_to_string(folder.path().join("run/results.jsonl")).expect("results");
    let lines: Vec<Value> = results.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 16);
    for line in lines.iter().filter(|line| line["model"] == "sim/oracle") {
        assert_eq!(line["scores"]["declared"]["correct"], 1.0, "{line}");
    }
    // What is there is taken as it is.
    let file = folder.path().join("quiz/benchmark.yaml");
    let changed =
        std::fs::read_to_string(&file).expect("a file").replace("v: 1", "settings: { tone: [plain, kind] }\nv: 1");
    std::fs::write(&file, &changed).expect("a file");
    said(&["init", &again, "--benchmark", "quiz", "--data", &data]);
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), changed);
    let written = std::fs::read_to_string(&again).expect("a spec");
    assert!(written.contains("settings: [tone=plain]"), "{written}");
}

#[test]
fn the_schema_is_that_of_specs() {
    let schema: Value = serde_json::from_str(&said(&["schema"]).0).expect("JSON");
    assert!(schema["properties"]["benchmarks"].is_object(), "{schema}");
}

#[test]
fn shells_complete_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let (script, _) = said(&["completions", shell]);
        assert!(script.contains("regatta") && script.contains("resume"), "{shell}");
    }
}

#[test]
fn a_run_that_is_not_there_is_not_looked_for_in_silence() {
    let output = regatta(&["show", "nowhere"]);
    assert_eq!(output.status.code(), Some(78));
    let error = text(&output.stderr);
    assert!(error.contains("there is no directory nowhere, and none in runs/"), "{error}");
}
