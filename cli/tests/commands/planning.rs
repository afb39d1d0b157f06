//! Plans and dry runs: nothing is spent, and no key is needed.

use std::path::Path;

use super::{examples, regatta, text};

/// Standard output of a command that succeeds.
fn said(arguments: &[&str]) -> String {
    super::said(arguments).0
}

/// A spec of two models behind keys that are judged by a third, and what changes in it.
fn spec(folder: &Path, benchmark: &str, more: &str) -> String {
    let text = format!(
        "name: dry
benchmarks:
  {benchmark}
endpoints:
  embed: {{ kind: openai }}
models:
  - {{ id: openai/gpt-5, price: {{ input_per_mtok: 1, output_per_mtok: 8 }} }}
  - {{ id: openai/gpt-5-mini, price: {{ input_per_mtok: 0.25, output_per_mtok: 2 }} }}
{more}"
    );
    let path = folder.join("spec.yaml");
    std::fs::write(&path, text).expect("it can be written");
    path.display().to_string()
}

fn worfbench() -> String {
    format!(
        "worfbench: {{ data: {}, settings: [zero-shot], judge: embed/text-embedding-3-small, judge_price: {{ input_per_mtok: 0.02, \
         output_per_mtok: 0 }} }}",
        examples().join("data/worfbench").display()
    )
}

#[test]
fn a_dry_run_needs_no_keys_counts_judges_and_says_what_can_be_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    insta::assert_snapshot!(said(&["run", &spec(folder.path(), &worfbench(), ""), "--dry-run"]));
}

#[test]
fn a_dry_run_counts_the_starts_of_external_agents() {
    let folder = tempfile::tempdir().expect("a folder");
    let autoslurp = format!(
        "autoslurp: {{ data: {}, settings: [external/mine, camelai], judge: openai/gpt-5 }}",
        examples().join("data/autoslurp").display()
    );
    let spec = spec(folder.path(), &autoslurp, "agents:\n  mine: { command: [\"true\"] }\ntrials: 2\n");
    insta::assert_snapshot!(said(&["run", &spec, "--dry-run"]));
}

#[test]
fn in_a_conversation_each_turn_of_an_external_agent_is_a_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let benchmark = format!(
        "orchestrationbench: {{ data: {}, settings: [end-to-end, external/mine/end-to-end], judge: openai/gpt-5 }}",
        examples().join("data/orchestrationbench").display()
    );
    let spec = spec(folder.path(), &benchmark, "agents:\n  mine: { command: [\"true\"] }\n");
    let told: serde_json::Value =
        serde_json::from_str(&said(&["run", &spec, "--dry-run", "--json"])).expect("a description");
    let of = |setting: &str, field: &str| {
        let cell = told["cells"].as_array()?.iter().find(|cell| cell["cell"]["setting"] == setting)?;
        cell[field].as_u64()
    };
    let calls = of("end-to-end", "calls");
    assert!(calls > Some(1), "{told}");
    assert_eq!(of("external/mine/end-to-end", "agent_starts"), calls);
}

#[test]
fn running_without_a_key_is_still_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = regatta(&["run", &spec(folder.path(), &worfbench(), "")]);
    assert_eq!(output.status.code(), Some(78));
    assert!(text(&output.stderr).contains("OPENAI_API_KEY"));
}

#[test]
fn all_missing_keys_are_told_at_once_and_a_wrong_spec_before_any() {
    let folder = tempfile::tempdir().expect("a folder");
    let spec = spec(folder.path(), &worfbench(), "");
    for verb in ["run", "check"] {
        let error = text(&regatta(&[verb, &spec]).stderr);
        assert!(error.contains("2 endpoints cannot be used:"), "{error}");
        for endpoint in ["embed", "openai"] {
            assert!(error.contains(&format!("endpoint {endpoint} needs a key: set OPENAI_API_KEY")), "{error}");
        }
    }
    let right = std::fs::read_to_string(&spec).expect("the spec");
    std::fs::write(&spec, right.replace("zero-shot", "zero-shto")).expect("it can be written");
    for verb in ["run", "check"] {
        let output = regatta(&[verb, &spec]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(78), "{error}");
        assert!(error.contains("did you mean \"zero-shot\"?") && !error.contains("needs a key"), "{error}");
    }
}

#[test]
fn a_plan_without_a_pilot_says_what_it_assumes_and_where_no_number_of_trials_suffices() {
    let folder = tempfile::tempdir().expect("a folder");
    insta::assert_snapshot!(said(&["plan", &spec(folder.path(), &worfbench(), ""), "--detect", "5pp"]));
}

#[test]
fn a_plan_takes_variance_and_usage_of_its_pilot() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(examples().join("quickstart.yaml")).expect("the example");
    let data = examples().join("data").display().to_string();
    let text = text.replace("data: data/", &format!("data: {data}/")).replace("median_ms: 20", "median_ms: 1");
    let (spec, run) = (folder.path().join("pilot.yaml"), folder.path().join("run"));
    std::fs::write(&spec, text).expect("it can be written");
    let (spec, run) = (spec.display().to_string(), run.display().to_string());
    said(&["run", &spec, "--output", &run]);
    let shown = said(&["plan", &spec, "--detect", "10pp", "--pilot", &run]);
    // The sweep's id has a digest of everything that it was planned from, defaults included.
    let (before, id) = shown.split_once("quickstart-").expect("the pilot's id");
    let json = said(&["plan", &spec, "--detect", "10pp", "--pilot", &run, "--json"]);
    let answers: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(answers[0]["need"]["effect"], 0.1);
    // The judge is asked for more or fewer texts at once, as they come, so that its part of the tokens is not the same in every run.
    let tokens = answers[0]["advice"]["tokens"].as_u64().expect("tokens");
    assert!((100_000..130_000).contains(&tokens), "{tokens}");
    let shown = format!("{before}quickstart-[digest]{}", &id[8..]).replace(&tokens.to_string(), "[each]");
    insta::assert_snapshot!(shown);
    assert!(answers[0]["variance"]["knows_trials"].as_bool().expect("a flag"));
    // Without its ledger, as of a run that was exported, the documents say the same.
    std::fs::remove_dir_all(folder.path().join("run/store")).expect("a store");
    assert_eq!(json, said(&["plan", &spec, "--detect", "10pp", "--pilot", &run, "--json"]));
}

#[test]
fn a_pilot_that_is_neither_a_directory_nor_a_coordinators_sweep_is_refused_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let spec = spec(folder.path(), &worfbench(), "");
    let nowhere = ["--pilot", "no-such-run", "--coordinator", "http://127.0.0.1:9"];
    let unknown = regatta(&[&["plan", &spec, "--detect", "10pp"][..], &nowhere].concat());
    assert_eq!(unknown.status.code(), Some(78), "{}", text(&unknown.stderr));
    assert!(text(&unknown.stderr).contains("no-such-run"), "{}", text(&unknown.stderr));
}

#[test]
fn plans_and_dry_runs_go_by_the_level_of_the_spec() {
    let folder = tempfile::tempdir().expect("a folder");
    let strict = spec(folder.path(), &worfbench(), "level: 0.99\n");
    for arguments in [&["plan", strict.as_str(), "--detect", "5pp"][..], &["run", strict.as_str(), "--dry-run"]] {
        let shown = said(arguments);
        assert!(shown.contains("at 1 % after Holm's correction"), "{shown}");
    }
    assert!(said(&["plan", &strict, "--detect", "5pp", "--level", "0.05"]).contains("at 5 % after Holm's correction"));
}

#[test]
fn the_lock_says_how_the_items_were_chosen() {
    let spec = examples().join("quickstart.yaml").display().to_string();
    let lock = |limit: &str| said(&["check", &spec, "--print", "--limit", limit]);
    let (sample, first) = (lock("8"), lock("first:2"));
    assert!(
        sample.contains("sample: 8\n") && sample.contains("two-shot: 8\n") && !sample.contains("limit: "),
        "{sample}"
    );
    assert!(first.contains("limit: 2\n") && !first.contains("sample: "), "{first}");
    let output = regatta(&["check", &spec, "--limit", "last:2"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("write a number from 1"));
}

#[test]
fn a_number_of_sessions_over_all_cells_becomes_the_sample_in_the_lock() {
    let spec = examples().join("quickstart.yaml").display().to_string();
    // Three models in three trials run each item nine times.
    let lock = said(&["check", &spec, "--print", "--sessions", "30"]);
    assert!(lock.contains("sample: 3\n") && lock.contains("two-shot: 3\n"), "{lock}");
    assert_eq!(lock, said(&["check", &spec, "--print", "--limit", "3"]), "resume and replay need no other number");
    let few = regatta(&["check", &spec, "--sessions", "8"]);
    assert_eq!(few.status.code(), Some(78));
    let why = "--sessions 8 is too few: one item in every setting, for 3 models and 3 trials, makes 9 sessions";
    assert!(text(&few.stderr).contains(why), "{}", text(&few.stderr));
    assert_eq!(regatta(&["check", &spec, "--sessions", "30", "--limit", "3"]).status.code(), Some(64));
}

#[test]
fn a_number_of_sessions_counts_canaries_and_lifts_no_limit_of_the_spec() {
    let folder = tempfile::tempdir().expect("a folder");
    let quickstart = std::fs::read_to_string(examples().join("quickstart.yaml")).expect("the example");
    let quickstart = quickstart.replace("data: data/", &format!("data: {}/", examples().join("data").display()));
    let with = |name: &str, more: &str| {
        let path = folder.path().join(name);
        let text = quickstart.replace("    settings: [two-shot]\n", &format!("    settings: [two-shot]\n    {more}\n"));
        std::fs::write(&path, text).expect("it can be written");
        path.display().to_string()
    };
    let limited = with("limited.yaml", "limit: 2");
    let lock = said(&["check", &limited, "--print", "--sessions", "10000"]);
    assert!(lock.contains("sample: 2\n") && lock.contains("two-shot: 2\n"), "{lock}");
    assert!(said(&["check", &limited, "--print", "--sessions", "9"]).contains("two-shot: 1\n"));
    // Four canaries in three trials of three models are 36 sessions, whatever the sample.
    let few = regatta(&["check", &with("canaries.yaml", "canaries: 4"), "--sessions", "18"]);
    assert_eq!(few.status.code(), Some(78));
    let why =
        "--sessions 18 is too few: one item in every setting with the canaries, for 3 models and 3 trials, makes ";
    assert!(text(&few.stderr).contains(why), "{}", text(&few.stderr));
}

#[test]
fn a_run_says_what_it_takes_before_it_begins() {
    let folder = tempfile::tempdir().expect("a folder");
    let spec = examples().join("quickstart.yaml").display().to_string();
    let run = folder.path().join("run").display().to_string();
    let output = regatta(&["run", &spec, "--output", &run, "--sessions", "9"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let notes = text(&output.stderr);
    // Three models in three trials.
    let planned = notes.lines().find(|line| line.starts_with("9 cells, 9 sessions, 9 calls: about $"));
    assert!(planned.is_some_and(|line| line.contains("at most $")), "{notes}");
    assert!(notes.contains("time: about 1 s, at 9 calls at once of sim"), "{notes}");
}

#[test]
fn a_dry_run_without_prices_calls_the_cost_unknown_and_with_some_at_least() {
    let folder = tempfile::tempdir().expect("a folder");
    let priced = spec(folder.path(), &worfbench(), "");
    let text = std::fs::read_to_string(&priced).expect("the spec");
    let total = |text: &str| {
        std::fs::write(&priced, text).expect("it can be written");
        let shown = said(&["run", &priced, "--dry-run"]);
        shown.lines().find(|line| line.contains(" cells, ")).expect("the totals").to_owned()
    };
    let [one, other] =
        [", price: { input_per_mtok: 1, output_per_mtok: 8 }", ", price: { input_per_mtok: 0.25, output_per_mtok: 2 }"];
    // Names that no price table knows.
    let text = text.replace("gpt-5", "my-own");
    let some = total(&text.replace(other, ""));
    assert!(
        some.contains(": at least about $")
            && some.contains(", with no upper bound; no price is known of openai/my-own-mini: give it as `price`"),
        "{some}"
    );
    let none = total(&text.replace(one, "").replace(other, ""));
    let unknown =
        ": cost unknown; no price is known of openai/my-own, openai/my-own-mini: give it as `price` in the spec";
    assert!(none.contains(unknown) && !none.contains('$'), "{none}");
}

#[test]
fn a_difference_beyond_the_metrics_range_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let spec = spec(folder.path(), &worfbench(), "");
    for detect in ["--detect=150pp", "--detect=2"] {
        let output = regatta(&["plan", &spec, detect]);
        assert_eq!(output.status.code(), Some(78), "{detect}: {}", text(&output.stdout));
        assert!(text(&output.stderr).contains("no two models can differ by"), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("as 2pp for 2 percentage points"), "{}", text(&output.stderr));
    }
}

#[test]
fn a_pilot_whose_models_agree_everywhere_leaves_the_variance_assumed() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(examples().join("quickstart.yaml")).expect("the example");
    let data = examples().join("data").display().to_string();
    let text = text.replace("data: data/", &format!("data: {data}/")).replace("median_ms: 20", "median_ms: 1");
    // Both write the gold.
    let (text, _) = text.split_once("  - id: sim/noisy-0.2").expect("the second model");
    let text = format!("{text}  - id: sim/noisy-0\n");
    let (spec, run) = (folder.path().join("pilot.yaml"), folder.path().join("run"));
    std::fs::write(&spec, text).expect("it can be written");
    let (spec, run) = (spec.display().to_string(), run.display().to_string());
    said(&["run", &spec, "--output", &run]);
    let shown = said(&["plan", &spec, "--detect", "2pp", "--pilot", &run]);
    assert!(shown.contains("agreed in every session of") && shown.contains("assumed are two models"), "{shown}");
    assert!(!shown.contains("100 % ("), "{shown}");
}

/// A benchmark of 12 items that are right or wrong, its simulated models, and a run of these.
fn pilot_of(folder: &Path, models: &[&str]) -> (String, String) {
    let bench = folder.join("bench");
    std::fs::create_dir(&bench).expect("a folder");
    let items: String = (0..12)
        .map(|at| format!("{{\"id\": \"i{at:02}\", \"question\": \"{at}?\", \"answer\": \"{at}\"}}\n"))
        .collect();
    std::fs::write(bench.join("test.jsonl"), items).expect("it can be written");
    let benchmark = "v: 1
data: { test: test.jsonl }
items: { id: id }
prompt: { turns: [user: \"{{ question }}\"], sampling: { temperature: 0, max_tokens: 50 } }
scorers: { correct: { exact: { gold: \"{{ answer }}\" } } }
metrics: { accuracy: { mean: correct, unit: percent } }
simulate: { reply: \"{{ answer }}\" }
";
    std::fs::write(bench.join("benchmark.yaml"), benchmark).expect("it can be written");
    let models: String = models.iter().map(|model| format!("  - id: sim/{model}\n")).collect();
    let text = format!(
        "name: pilot\ntrials: 2\nbenchmarks: {{ known: {{ data: {} }} }}\nendpoints: {{ sim: {{ kind: simulated }} }}\nmodels:\n{models}",
        bench.display()
    );
    let (spec, run) = (folder.join("pilot.yaml"), folder.join("run"));
    std::fs::write(&spec, text).expect("it can be written");
    let (spec, run) = (spec.display().to_string(), run.display().to_string());
    said(&["run", &spec, "--output", &run]);
    (spec, run)
}

#[test]
fn models_of_which_one_is_always_right_and_the_other_always_wrong_do_not_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    let (spec, run) = pilot_of(folder.path(), &["oracle", "noisy-1.0"]);
    let plan = || said(&["plan", &spec, "--detect", "20pp", "--pilot", &run]);
    let shown = plan();
    assert!(!shown.contains("agreed"), "{shown}");
    assert!(shown.contains("each two models differed by the same in every session"), "{shown}");
    // Without its ledger, the documents say the same.
    std::fs::remove_dir_all(folder.path().join("run/store")).expect("a store");
    assert_eq!(shown, plan());
}

#[test]
fn models_that_are_both_right_in_every_session_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    let (spec, run) = pilot_of(folder.path(), &["oracle", "noisy-0"]);
    let plan = || said(&["plan", &spec, "--detect", "20pp", "--pilot", &run]);
    let shown = plan();
    assert!(shown.contains("the models agreed in every session"), "{shown}");
    std::fs::remove_dir_all(folder.path().join("run/store")).expect("a store");
    assert_eq!(shown, plan());
}

#[test]
fn a_pilot_of_one_model_is_no_missing_pilot() {
    let folder = tempfile::tempdir().expect("a folder");
    let (spec, run) = pilot_of(folder.path(), &["oracle"]);
    let text = std::fs::read_to_string(&spec).expect("the spec");
    let two = folder.path().join("two.yaml");
    std::fs::write(&two, format!("{text}  - id: sim/noisy-0.5\n")).expect("it can be written");
    let shown = said(&["plan", &two.display().to_string(), "--detect", "20pp", "--pilot", &run]);
    assert!(!shown.contains("no pilot") && shown.contains("no two models of pilot-"), "{shown}");
    assert!(shown.contains("differences are seen only from"), "{shown}");
}

#[test]
fn a_model_that_the_pilot_has_no_session_of_is_planned_as_estimated_and_the_plan_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let (spec, run) = pilot_of(folder.path(), &["oracle"]);
    let text = std::fs::read_to_string(&spec).expect("the spec");
    let two = folder.path().join("two.yaml").display().to_string();
    std::fs::write(&two, format!("{text}  - id: sim/noisy-0.5\n")).expect("it can be written");
    let plan = |spec: &str, more: &[&str]| {
        said(&[&["plan", spec, "--detect", "90pp", "--pilot", run.as_str()][..], more].concat())
    };
    let note = "no session of sim/noisy-0.5 in pilot-";
    let shown = plan(&two, &[]);
    assert!(shown.contains(note) && shown.contains("are estimated as by --dry-run"), "{shown}");
    let answers: serde_json::Value = serde_json::from_str(&plan(&two, &["--json"])).expect("JSON");
    assert_eq!(answers[0]["advice"]["estimated"], serde_json::json!(["sim/noisy-0.5"]), "{answers}");
    assert!(answers[0]["advice"]["tokens"].as_u64().expect("tokens") > 0, "{answers}");
}

#[test]
fn of_a_pilot_with_many_pairs_the_deciding_ones_are_listed_and_unknown_ones_come_last() {
    let folder = tempfile::tempdir().expect("a folder");
    // Seven that never err agree in 21 pairs, more than are listed.
    let right = ["oracle", "noisy-0", "noisy-0.0", "noisy-0.00", "noisy-0.000", "noisy-0.0000", "noisy-0.00000"];
    let models = [&right[..], &["noisy-0.5"]].concat();
    let (spec, run) = pilot_of(folder.path(), &models);
    let shown = said(&["plan", &spec, "--detect", "20pp", "--pilot", &run]);
    let pairs = shown.split("pair of the pilot").nth(1).expect("a table of pairs");
    let first = pairs.lines().nth(2).expect("a pair");
    assert!(first.contains("against sim/noisy-0.5") && first.contains('%'), "{shown}");
    assert!(shown.contains("the power of 8 more pairs is unknown; --json has all"), "{shown}");
}

#[test]
fn judges_of_one_benchmark_are_no_cost_of_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let (spec, _) = pilot_of(folder.path(), &["oracle", "noisy-0.5"]);
    let judged = folder.path().join("judged");
    std::fs::create_dir(&judged).expect("a folder");
    let items: String = (0..12).map(|at| format!("{{\"request\": \"Say it kindly, {at} times.\"}}\n")).collect();
    std::fs::write(judged.join("test.jsonl"), items).expect("it can be written");
    let benchmark = "v: 1
data: { test: test.jsonl }
prompt: { turns: [user: \"{{ request }}\"], sampling: { max_tokens: 50 } }
scorers: { polite: { judge: { rubric: Is the answer polite?, grades: { no: 0, yes: 1 } } } }
simulate: { reply: Gladly. }
";
    std::fs::write(judged.join("benchmark.yaml"), benchmark).expect("it can be written");
    // The models are free, so that all money is the judge's.
    let text = std::fs::read_to_string(&spec).expect("the spec");
    let with_judge = format!(
        " }}, polite: {{ data: {}, judge: sim/noisy-0.3, judge_price: {{ input_per_mtok: 1, output_per_mtok: 1 }} }} }}\n\
         endpoints",
        judged.display()
    );
    let text = text.replace(" } }\nendpoints", &with_judge);
    let text = ["oracle", "noisy-0.5"].iter().fold(text, |text, model| {
        text.replace(
            &format!("sim/{model}\n"),
            &format!("sim/{model}\n    price: {{ input_per_mtok: 0, output_per_mtok: 0 }}\n"),
        )
    });
    let run = folder.path().join("both").display().to_string();
    std::fs::write(&spec, text).expect("it can be written");
    said(&["run", &spec, "--output", &run]);
    let plan = || {
        let shown = said(&["plan", &spec, "--detect", "60pp", "--pilot", &run, "--json"]);
        let answers: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        let of = |benchmark: &str| {
            let is_of = |answer: &&serde_json::Value| answer["benchmark"] == benchmark;
            answers.as_array().expect("answers").iter().find(is_of).expect("the benchmark")["advice"].clone()
        };
        (of("known"), of("polite"))
    };
    let (known, polite) = plan();
    assert_eq!(known["nanodollars"], 0, "{known}");
    let judging =
        super::json(&Path::new(&run).join("summary.json"))["judging"]["cost"]["known"].as_u64().expect("money");
    let sessions = polite["sessions"].as_f64().expect("sessions");
    // The pilot has 12 items in two trials of two models.
    let planned = polite["nanodollars"].as_f64().expect("money");
    assert!((planned - judging as f64 / 48.0 * sessions).abs() <= 1.0, "{judging} for 48 sessions: {polite}");
    // Without its ledger, the documents say the same.
    std::fs::remove_dir_all(Path::new(&run).join("store")).expect("a store");
    assert_eq!(plan(), (known, polite));
    // What judges take of a model that the pilot does not have is not what they took of others.
    let text = std::fs::read_to_string(&spec).expect("the spec");
    let third = "  - id: sim/noisy-0.7\n    price: { input_per_mtok: 0, output_per_mtok: 0 }\n";
    std::fs::write(&spec, text + third).expect("it can be written");
    let (_, polite) = plan();
    assert_eq!(polite["estimated"], serde_json::json!(["sim/noisy-0.7"]), "{polite}");
    let (planned, sessions) = (polite["nanodollars"].as_f64().expect("money"), polite["sessions"].as_f64());
    let of_others = judging as f64 / 48.0 * sessions.expect("sessions");
    assert!((planned - of_others).abs() > 1.0, "{judging} for 48 sessions: {polite}");
}
