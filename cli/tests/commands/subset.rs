//! Subsets of items that estimate the whole: chosen from runs, refused where these are too thin, and estimated by.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{json, regatta, said, text};

const MODELS: [&str; 5] = ["oracle", "noisy-1.0", "noisy-0.3", "noisy-0.5", "noisy-0.7"];

/// A folder with a benchmark of 12 items that are right or wrong, in groups of two.
struct Quiz {
    folder: tempfile::TempDir,
}

impl Quiz {
    fn new() -> Self {
        let quiz = Self { folder: tempfile::tempdir().expect("a folder") };
        let items: Vec<String> = (0..12).map(|at| format!("i{at:02}")).collect();
        quiz.write("bench", &items);
        quiz
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn path(&self, name: &str) -> String {
        self.at(name).display().to_string()
    }

    /// Writes the benchmark with some of its items.
    fn write(&self, name: &str, items: &[String]) {
        let line = |item: &String| {
            let number: u32 = item.trim_start_matches('i').parse().expect("a number");
            let group = number / 2;
            format!(
                "{{\"id\": \"{item}\", \"group\": \"g{group}\", \"question\": \"{number}?\", \"answer\": \"{number}\"}}\n"
            )
        };
        let benchmark = "v: 1
data: { test: test.jsonl }
items: { id: id, group: group }
prompt: { turns: [user: \"{{ question }}\"], sampling: { temperature: 0, max_tokens: 50 } }
scorers: { correct: { exact: { gold: \"{{ answer }}\" } } }
metrics: { accuracy: { mean: correct, unit: percent } }
simulate: { reply: \"{{ answer }}\" }
";
        std::fs::create_dir(self.at(name)).expect("a folder");
        std::fs::write(self.at(name).join("test.jsonl"), items.iter().map(line).collect::<String>()).expect("items");
        std::fs::write(self.at(name).join("benchmark.yaml"), benchmark).expect("a benchmark");
    }

    /// Runs `models` over the benchmark in the folder `bench`.
    fn run(&self, name: &str, bench: &str, models: &[&str], more: &[&str]) -> String {
        let listed: String = models.iter().map(|model| format!("  - id: sim/{model}\n")).collect();
        let spec = format!(
            "name: {name}\ntrials: 2\nbenchmarks: {{ quiz: {{ data: {} }} }}\nendpoints: {{ sim: {{ kind: simulated }} }}\nmodels:\n{listed}",
            self.path(bench)
        );
        let (file, run) = (self.path(&format!("{name}.yaml")), self.path(name));
        std::fs::write(&file, spec).expect("a spec");
        said(&[&["run", &file, "--output", &run][..], more].concat());
        run
    }
}

fn choose(runs: &[&str], items: &str, output: &str, more: &[&str]) -> (String, String) {
    said(&[&["subset", "choose"][..], runs, &["--items", items, "--output", output], more].concat())
}

/// Standard error of a command that is refused as configuration.
fn refused(arguments: &[&str]) -> String {
    let output = regatta(arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{arguments:?}: {error}");
    error
}

fn items(subset: &Path) -> Vec<String> {
    let name = |item: &Value| item["item"].as_str().expect("an id").to_owned();
    json(subset)["items"].as_array().expect("items").iter().map(name).collect()
}

#[test]
fn a_subset_has_weights_for_all_items_errors_of_held_out_models_and_the_runs_it_comes_from() {
    let quiz = Quiz::new();
    // Two runs are one history.
    let (one, other) = (quiz.run("one", "bench", &MODELS[..3], &[]), quiz.run("other", "bench", &MODELS[3..], &[]));
    let file = quiz.path("subset.json");
    let (shown, notes) = choose(&[&one, &other], "4", &file, &["--seed", "7"]);
    assert!(shown.starts_with("4 of 12 items stand for all of them:\nquiz default, accuracy (declared)\n"), "{shown}");
    assert!(shown.contains("about once in 6.") && shown.contains(" of 6 groups;"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    assert!(notes.contains("no run and no report uses it by itself"), "{notes}");
    let way = format!("as `items` of benchmarks.quiz with the setting default: jq -c '[.items[].item]' {file} writes");
    assert!(notes.contains(&way), "{notes}");
    let subset = json(Path::new(&file));
    let weights =
        subset["items"].as_array().expect("items").iter().map(|item| item["weight"].as_f64().expect("a weight"));
    assert!((weights.sum::<f64>() - 12.0).abs() < 1e-9, "{subset}");
    assert_eq!(items(Path::new(&file)).len(), 4);
    assert_eq!(subset["held_out"].as_array().expect("models").len(), 5);
    assert_eq!((&subset["trials"], &subset["errors"]["different_models"]), (&Value::from(2), &Value::from(5)));
    assert_eq!(subset["runs"][1]["run"], other);
    assert_eq!(subset["runs"][1]["results"].as_str().expect("a digest").len(), 64);
    let of_oracle = subset["held_out"].as_array().expect("models").iter().find(|of| of["model"] == "sim/oracle");
    let of_oracle = of_oracle.expect("a model");
    // Of a model that is always right, every subset says so.
    assert_eq!((&of_oracle["whole"], &of_oracle["error"]), (&Value::from(1.0), &Value::from(0.0)));
    for name in ["mean", "worst", "random_mean", "random_worst"] {
        assert!(subset["errors"][name].as_f64().is_some_and(|error| (0.0..=1.0).contains(&error)), "{subset}");
    }
    let mode = std::fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = quiz.path("again.json");
    choose(&[&one, &other], "4", &again, &["--seed", "7"]);
    assert_eq!(std::fs::read(&file).expect("a file"), std::fs::read(&again).expect("a file"));
}

#[test]
fn histories_that_are_too_thin_are_refused_and_nothing_is_written() {
    let quiz = Quiz::new();
    let four = quiz.run("four", "bench", &MODELS[..4], &[]);
    let five = quiz.run("five", "bench", &MODELS, &[]);
    let fewer = quiz.run("fewer", "bench", &MODELS[4..], &["--limit", "6"]);
    let file = quiz.path("subset.json");
    let choose = |runs: &[&str], items: &str, more: &[&str]| {
        refused(&[&["subset", "choose"][..], runs, &["--items", items, "--output", &file], more].concat())
    };
    let error = choose(&[&four], "4", &[]);
    assert!(error.contains("a history of 4 models is too thin"), "{error}");
    let error = choose(&[&four, &fewer], "4", &[]);
    assert!(error.contains("were asked different items"), "{error}");
    let error = choose(&[&five], "12", &[]);
    assert!(error.contains("a subset of 12 items cannot be chosen: the models have 12 in common"), "{error}");
    let error = choose(&[&five, &five], "4", &[]);
    assert!(error.contains("name each run once"), "{error}");
    let error = choose(&[&five], "4", &["--metric", "acuracy"]);
    assert!(error.contains("did you mean \"accuracy\"?"), "{error}");
    assert!(!quiz.at("subset.json").exists());
}

#[test]
fn runs_of_different_data_are_no_history() {
    let quiz = Quiz::new();
    let some: Vec<String> = (0..11).map(|at| format!("i{at:02}")).collect();
    quiz.write("shorter", &some);
    let one = quiz.run("one", "bench", &MODELS[..3], &[]);
    let other = quiz.run("other", "shorter", &MODELS[3..], &[]);
    let error = refused(&["subset", "choose", &one, &other, "--items", "4", "--output", &quiz.path("subset.json")]);
    assert!(error.contains("the runs have different data sets of quiz"), "{error}");
}

#[test]
fn a_run_of_the_chosen_items_alone_estimates_the_whole_and_says_that_it_is_an_estimate() {
    let quiz = Quiz::new();
    let history = quiz.run("history", "bench", &MODELS, &[]);
    let file = quiz.path("subset.json");
    choose(&[&history], "4", &file, &[]);
    quiz.write("chosen", &items(Path::new(&file)));
    let run = quiz.run("tonight", "chosen", &["oracle", "noisy-0.9"], &[]);
    let (shown, _) = said(&["subset", "estimate", &file, &run]);
    assert!(shown.starts_with("An estimate, not a measurement, from 4 of 12 items:\n"), "{shown}");
    assert!(shown.contains("The run has another data set than the subset"), "{shown}");
    let (estimates, _) = said(&["subset", "estimate", &file, &run, "--json"]);
    let estimates: Value = serde_json::from_str(&estimates).expect("JSON");
    assert_eq!(estimates["is_estimate"], true);
    assert_eq!(estimates["errors"], json(Path::new(&file))["errors"]);
    let of = |model: &str| {
        let models = estimates["models"].as_array().expect("models");
        models.iter().find(|of| of["model"] == model).expect("a model").clone()
    };
    assert_eq!(
        (&of("sim/oracle")["estimate"], &of("sim/oracle")["in_history"]),
        (&Value::from(1.0), &Value::from(true))
    );
    assert_eq!(of("sim/noisy-0.9")["in_history"], false);
    // A run of all items has those of the subset, too.
    let (whole, _) = said(&["subset", "estimate", &file, &history]);
    assert!(!whole.contains("another data set"), "{whole}");
}

#[test]
fn a_run_that_lacks_an_item_of_the_subset_is_refused() {
    let quiz = Quiz::new();
    let history = quiz.run("history", "bench", &MODELS, &[]);
    let file = quiz.path("subset.json");
    choose(&[&history], "4", &file, &[]);
    let chosen = items(Path::new(&file));
    quiz.write("three", &chosen[1..]);
    let run = quiz.run("tonight", "three", &["oracle"], &[]);
    let error = refused(&["subset", "estimate", &file, &run]);
    let why = format!(
        "lacks 1 of the 4 items of the subset for sim/oracle, so that there is no estimate; {} was not run",
        chosen[0]
    );
    assert!(error.contains(&why), "{error}");
}

#[test]
fn a_subset_that_somebody_has_changed_is_refused() {
    let quiz = Quiz::new();
    let history = quiz.run("history", "bench", &MODELS, &[]);
    let file = quiz.path("subset.json");
    choose(&[&history], "4", &file, &[]);
    let mut subset = json(Path::new(&file));
    subset["items"].as_array_mut().expect("items").pop();
    std::fs::write(&file, subset.to_string()).expect("it can be written");
    let error = refused(&["subset", "estimate", &file, &history]);
    assert!(error.contains("the weights sum to"), "{error}");
}

/// A spec of the built-in benchmark with the miniature data, of `models`, and `more` of the benchmark.
fn worfbench(folder: &Path, name: &str, models: &[&str], more: &str) -> String {
    let data = super::examples().join("data/worfbench").display().to_string();
    let listed: String = models.iter().map(|model| format!("  - id: sim/{model}\n")).collect();
    let spec = format!(
        "name: {name}\nseed: 7\nbenchmarks:\n  worfbench: {{ data: \"{data}\", settings: [two-shot], judge: sim/lexical{more} }}\n\
         endpoints: {{ sim: {{ kind: simulated }} }}\nmodels:\n{listed}"
    );
    let file = folder.join(format!("{name}.yaml"));
    std::fs::write(&file, spec).expect("a spec");
    file.display().to_string()
}

/// Runs `spec` into a folder beside it.
fn run(spec: &str) -> String {
    let folder = spec.trim_end_matches(".yaml").to_owned();
    said(&["run", spec, "--output", &folder]);
    folder
}

/// Scores of a run's sessions, by model and item.
fn scores(run: &str) -> BTreeMap<(String, String), Value> {
    let text = std::fs::read_to_string(Path::new(run).join("results.jsonl")).expect("results");
    let line = |line: &str| -> ((String, String), Value) {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let name = |field: &str| line[field].as_str().expect("a name").to_owned();
        ((name("model"), name("item")), line["scores"].clone())
    };
    text.lines().map(line).collect()
}

#[test]
fn a_subset_of_a_built_in_benchmark_is_run_alone_and_its_sessions_are_those_of_a_run_of_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let history = run(&worfbench(folder.path(), "history", &MODELS, ""));
    let file = folder.path().join("subset.json").display().to_string();
    choose(&[&history], "6", &file, &[]);
    let chosen = items(Path::new(&file));
    let list = |ids: &[String]| format!(", items: {}", serde_json::to_string(ids).expect("JSON"));
    let tonight = run(&worfbench(folder.path(), "tonight", &["oracle", "noisy-0.5"], &list(&chosen)));
    let (all, alone) = (scores(&history), scores(&tonight));
    assert_eq!(alone.len(), 2 * 6);
    for (session, score) in &alone {
        assert_eq!(all.get(session), Some(score), "{session:?}");
    }
    let (shown, _) = said(&["subset", "estimate", &file, &tonight]);
    assert!(shown.starts_with("An estimate, not a measurement, from 6 of "), "{shown}");
    assert!(!shown.contains("another data set"), "{shown}");
    // The same list in another order is the same sweep.
    let print =
        |ids: &[String]| said(&["check", "--print", &worfbench(folder.path(), "tonight", &["oracle"], &list(ids))]).0;
    let backwards: Vec<String> = chosen.iter().rev().cloned().collect();
    assert_eq!(print(&chosen), print(&backwards));
    assert!(print(&chosen).contains("listed:\n"), "{}", print(&chosen));
    assert!(
        std::fs::read_to_string(Path::new(&tonight).join("report.md")).expect("a report").contains("6 by their ids")
    );
}

#[test]
fn a_list_of_items_is_checked_before_anything_is_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let spec = |more: &str| worfbench(folder.path(), "listed", &["oracle"], more);
    let error = refused(&["check", &spec(", items: [lumos_mini1, lumos_mni2]")]);
    assert!(
        error.contains("benchmarks.worfbench.items[1]: the data has no item \"lumos_mni2\"; did you mean"),
        "{error}"
    );
    let error = refused(&["check", &spec(", tasks: [lumos], items: [os_mini1]")]);
    assert!(error.contains("two-shot selects no items"), "{error}");
    let error = refused(&["check", &spec(", tasks: [lumos], items: [lumos_mini1, os_mini1]")]);
    let problem = "benchmarks.worfbench.items[1]: \"os_mini1\" is in none of the settings and tasks that are run";
    assert!(error.contains(problem), "{error}");
    let listed = spec(", items: [lumos_mini1]");
    let error = refused(&["check", &listed, "--limit", "3"]);
    assert!(error.contains("benchmarks.worfbench.limit: does not go with `items`"), "{error}");
    let error = refused(&["check", &listed, "--sessions", "3"]);
    assert!(error.contains("--sessions draws items, and benchmarks.worfbench.items lists them"), "{error}");
    said(&["check", &listed]);
}
