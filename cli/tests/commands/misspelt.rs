//! Messages about names that are misspelt, or of things that are not there yet. Exit code 78: trying again would not help.

use std::path::Path;

use super::{examples, regatta, said, text};

/// Standard error of a command that is refused as configuration, without what no person can use.
fn refused(arguments: &[&str]) -> String {
    let output = regatta(arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{arguments:?}: {error}");
    for strange in ["os error", "error sending request", "tcp connect"] {
        assert!(!error.contains(strange), "{arguments:?}: {error}");
    }
    error
}

/// A spec of the small data set in `folder`, changed by `change`.
fn spec(folder: &Path, change: impl FnOnce(String) -> String) -> String {
    let spec = std::fs::read_to_string(examples().join("quickstart.yaml")).expect("the example");
    let data = examples().join("data/worfbench");
    let spec = spec.replace("data: data/worfbench", &format!("data: {}", data.display()));
    let file = folder.join("spec.yaml");
    std::fs::write(&file, change(spec)).expect("a spec");
    file.to_str().expect("a path").to_owned()
}

#[test]
fn a_misspelt_run_is_guessed_and_no_coordinator_is_spoken_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path();
    std::fs::create_dir(runs.join("tonight")).expect("a run");
    let run = runs.join("tonigth");
    let run = run.to_str().expect("a path");
    let choose = ["subset", "choose", run, "--items", "3", "--output", run];
    for arguments in [&["compare", run, run][..], &["resume", run], &["reprice", run], &["doctor", run], &choose] {
        let error = refused(arguments);
        assert!(!error.contains("coordinator"), "{error}");
        assert!(error.contains("did you mean \"tonight\"?"), "{error}");
    }
}

#[test]
fn a_name_that_could_be_a_sweep_is_one_only_where_a_coordinator_is_named() {
    let alone = refused(&["resume", "nightly-0a1b2c3d"]);
    assert!(alone.contains("there is no directory nightly-0a1b2c3d"), "{alone}");
    assert!(!alone.contains("nor could a coordinator"), "{alone}");
    let named = regatta(&["resume", "nightly-0a1b2c3d", "--coordinator", "http://127.0.0.1:9"]);
    let error = text(&named.stderr);
    assert_eq!(named.status.code(), Some(1), "{error}");
    assert!(error.contains("nor could a coordinator give it: failed to reach the coordinator at"), "{error}");
    assert!(!error.contains("os error") && error.contains("refused"), "{error}");
}

#[test]
fn a_directory_of_something_else_is_no_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let directory = folder.path().to_str().expect("a path");
    for verb in ["resume", "doctor", "show", "reprice"] {
        let error = refused(&[verb, directory]);
        assert!(error.contains("holds no run"), "{error}");
    }
}

#[test]
fn a_run_that_has_not_ended_says_so_and_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("store")).expect("a store");
    std::fs::write(folder.path().join("store/ledger.sqlite"), "").expect("a ledger");
    let run = folder.path().to_str().expect("a path");
    let out = folder.path().join("out");
    let out = out.to_str().expect("a path");
    for arguments in [&["show", run][..], &["compare", run, run], &["export", run, "--format", "csv", "--output", out]]
    {
        let error = refused(arguments);
        assert!(error.contains("has not ended") && error.contains(&format!("regatta resume {run}")), "{error}");
    }
}

#[test]
fn a_run_whose_results_are_gone_is_not_shown_as_blank() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let run = run.to_str().expect("a path");
    let file = spec(folder.path(), |spec| spec);
    said(&["run", &file, "--output", run, "--limit", "3"]);
    std::fs::write(Path::new(run).join("results.jsonl"), "").expect("a file");
    for arguments in [&["show", run][..], &["compare", run, run]] {
        let error = regatta(arguments);
        let error = text(&error.stderr);
        assert!(error.contains(&format!("regatta repair {run}")), "{error}");
    }
}

#[test]
fn a_provider_that_is_misspelt_is_no_endpoint_of_ones_own_unless_it_has_an_address() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (file, bench) = (at("first.yaml"), format!("quiz={}", at("quiz")));
    for (model, meant) in
        [("opnai/gpt-4o-mini", "openai"), ("antropic/claude-haiku-4-5", "anthropic"), ("smi/oracle", "sim")]
    {
        let error = refused(&["init", &file, "--model", model, "--benchmark", "quiz", "--data", &bench]);
        let told = format!("; did you mean \"{meant}\"? If ");
        assert!(error.contains("there is no provider ") && error.contains(&told), "{error}");
        assert!(error.contains("give its address: --endpoint "), "{error}");
        assert!(!Path::new(&file).exists() && !Path::new(&at("quiz")).exists(), "nothing is begun");
    }
    let address = "opnai=http://127.0.0.1:9/v1";
    said(&["init", &file, "--model", "opnai/gpt-4o-mini", "--endpoint", address]);
    let written = std::fs::read_to_string(&file).expect("a spec");
    assert!(
        written.contains("  opnai: { kind: openai, base_url: \"http://127.0.0.1:9/v1\", api_key_env: none }"),
        "{written}"
    );
    let error =
        refused(&["init", &at("other.yaml"), "--model", "here/llama", "--endpoint", "heer=http://127.0.0.1:9/v1"]);
    assert!(error.contains("no model is at the endpoint heer (--endpoint); did you mean \"here\"?"), "{error}");
    let two = ["http://127.0.0.1:9/v1", "http://127.0.0.1:10/v1"].map(|url| format!("here={url}"));
    let error =
        refused(&["init", &at("other.yaml"), "--model", "here/llama", "--endpoint", &two[0], "--endpoint", &two[1]]);
    assert!(error.contains("the endpoint here has two addresses (--endpoint); give one"), "{error}");
    for model in ["here/llama", "openai-eu/gpt-4o-mini", "vllm/llama"] {
        said(&["init", &at(&model.replace('/', "-")), "--model", model]);
    }
}

#[test]
fn a_simulated_model_that_there_is_not_is_refused_before_its_sessions_fail_one_by_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run").display().to_string();
    let file = spec(folder.path(), |spec| spec.replace("sim/noisy-0.5", "sim/nosy-0.5"));
    let (file, output) = (file.as_str(), run.as_str());
    for command in [&["check", file][..], &["run", file, "--output", output]] {
        let error = refused(command);
        let told = "models[2]: the model `nosy-0.5` does not exist; a simulated endpoint has ";
        assert!(error.contains(told) && error.contains("did you mean \"noisy-0.5\"?"), "{error}");
    }
    assert!(!Path::new(&run).exists());
}

#[test]
fn a_spec_is_refused_with_its_file_and_the_field_that_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |from: &str, to: &str| {
        let file = spec(folder.path(), |spec| {
            assert!(spec.contains(from), "{spec}");
            spec.replacen(from, to, 1)
        });
        let error = refused(&["check", &file]);
        assert!(error.starts_with(&format!("error: {file}: ")), "{error}");
        error
    };
    let error = check("    data:", "    tasks: [wikihwo]\n    data:");
    assert!(error.contains("benchmarks.worfbench.tasks[0]: ") && error.contains("did you mean"), "{error}");
    let error = check("trials: 3", "trials: three");
    assert!(error.contains("trials: found the text \"three\", expected a whole number"), "{error}");
    let error = check("name: quickstart", "name: quick start");
    assert!(error.contains("name: sweep id \"quick start\" contains ' '"), "{error}");
    assert!(error.contains(" at line 3 column 7"), "{error}");
    let error = check("trials: 3", "trials: [3]");
    assert!(error.contains("trials: found a list, expected a whole number"), "{error}");
    let error = check("trials: 3", "trails: 3");
    assert!(error.contains("unknown field `trails`") && error.contains("did you mean \"trials\"?"), "{error}");
    let error = check("endpoints:", "endpoints:\n  other: openai");
    assert!(error.contains("endpoints.other: found the text \"openai\", expected a mapping of keys"), "{error}");
    let error = check("    data:", "    evaluators: [offical]\n    data:");
    assert!(error.contains("benchmarks.worfbench.evaluators[0]: unknown evaluator \"offical\""), "{error}");
    assert!(error.contains("known: official, paper; did you mean \"official\"?"), "{error}");
    let error = check("  worfbench:", "  worfbnch:");
    assert!(error.contains("did you mean \"worfbench\"?"), "{error}");
}

#[test]
fn a_spec_that_is_no_text_or_no_file_is_refused_in_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("spec.yaml");
    std::fs::write(&file, [0xff, 0xfe, 0x00]).expect("a file");
    let error = refused(&["check", file.to_str().expect("a path")]);
    assert!(error.contains("is not text (UTF-8)"), "{error}");
    let policy = folder.path().join("policy.yaml");
    std::fs::copy(&file, &policy).expect("a file");
    let spec = spec(folder.path(), |spec| spec);
    let error = refused(&["check", &spec, "--policy", policy.to_str().expect("a path")]);
    assert!(error.contains("policy.yaml: it is not text (UTF-8)"), "{error}");
    let error = refused(&["check", folder.path().to_str().expect("a path")]);
    assert!(error.contains("it has no benchmark.yaml"), "{error}");
}

#[test]
fn a_misspelt_model_is_guessed_wherever_it_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = refused(&["prices", "show", "openai/gpt-4oo"]);
    assert!(error.contains("did you mean \"gpt-4o\"?"), "{error}");
    let file = folder.path().join("first.yaml");
    let file = file.to_str().expect("a path");
    let (_, notes) = said(&["init", file, "--model", "openai/gpt-4o-mni"]);
    assert!(notes.contains("did you mean \"gpt-4o-mini\"?"), "{notes}");
    let (models, _) = said(&["list", "models", "openai/gpt-4o-mini"]);
    assert!(models.contains("1 model with a price"), "{models}");
    let alone = regatta(&["init", file, "--model", "gpt-4o-mini"]);
    assert!(text(&alone.stderr).contains("openai/gpt-4o-mini"), "{}", text(&alone.stderr));
}

#[test]
fn a_misspelt_benchmark_is_guessed_wherever_it_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let worfbench = examples().join("data/worfbench");
    let (worfbench, nowhere) = (worfbench.to_str().expect("a path"), at("nowhere"));
    for data in [worfbench, &nowhere] {
        let file = spec(folder.path(), |spec| spec.replace("  worfbench:", "  worfbnch:").replace(worfbench, data));
        let of_data = format!("worfbnch={data}");
        for arguments in [
            &["check", &file][..],
            &["score", "worfbnch", "--data", data, "--predictions", &file, "--out", &at("out.json")],
            &["simulate", "llm", "--data", &of_data],
        ] {
            let error = refused(arguments);
            assert!(error.contains("unknown benchmark \"worfbnch\""), "{error}");
            assert!(error.contains("did you mean \"worfbench\"?"), "{error}");
        }
    }
    let file = spec(folder.path(), |spec| spec);
    let error = refused(&["check", &file, "--data", &format!("worfbnch={worfbench}")]);
    assert!(error.contains("does not run worfbnch; it runs worfbench; did you mean \"worfbench\"?"), "{error}");
    std::fs::create_dir(at("case")).expect("a case");
    let case = serde_json::json!({ "benchmark": "worfbnch", "kind": "predictions", "outputs": {} });
    std::fs::write(at("case/case.json"), case.to_string()).expect("a file");
    let error = refused(&["score", "--case", &at("case"), "--data", worfbench, "--out", &at("out")]);
    assert!(error.contains("case.json, field benchmark: \"worfbnch\" is unknown"), "{error}");
    assert!(error.contains("did you mean \"worfbench\"?"), "{error}");
    // A data set of one's own that is not where it was said to be is not taken for a misspelt one.
    let error = refused(&["score", "mine", "--data", &nowhere, "--predictions", &file, "--out", &at("out.json")]);
    assert!(error.contains("is not a directory") && !error.contains("unknown benchmark"), "{error}");
}

#[test]
fn items_without_a_prediction_are_noted_beside_the_means() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let data = examples().join("benchmarks/arithmetic");
    let items = std::fs::read_to_string(data.join("test.jsonl")).expect("the items");
    let items: Vec<serde_json::Value> = items.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let ids = items.iter().filter_map(|item| item["id"].as_str());
    let predictions: Vec<String> =
        ids.skip(1).map(|id| serde_json::json!({ "item": id, "output": "2" }).to_string()).collect();
    std::fs::write(at("some.jsonl"), predictions.join("\n")).expect("a file");
    let data = data.to_str().expect("a path");
    let (_, notes) =
        said(&["score", "mine", "--data", data, "--predictions", &at("some.jsonl"), "--out", &at("out.json")]);
    assert!(notes.contains("1 item has no prediction and no part in these means: "), "{notes}");
}

#[test]
fn lines_that_are_misspelt_or_repeated_are_all_counted_before_predictions_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let data = examples().join("benchmarks/arithmetic");
    let items = std::fs::read_to_string(data.join("test.jsonl")).expect("the items");
    let first: serde_json::Value = serde_json::from_str(items.lines().next().expect("an item")).expect("JSON");
    let line = |item: &str| serde_json::json!({ "item": item, "output": "2" }).to_string();
    let known = line(first["id"].as_str().expect("an id"));
    let mut lines: Vec<String> = (1..=7).map(|number| line(&format!("none-{number}"))).collect();
    lines.extend([known.clone(), known, "{".to_owned()]);
    std::fs::write(at("bad.jsonl"), lines.join("\n")).expect("a file");
    let data = data.to_str().expect("a path");
    let error =
        refused(&["score", "mine", "--data", data, "--predictions", &at("bad.jsonl"), "--out", &at("out.json")]);
    for piece in [
        "9 lines cannot be scored, so none is",
        "7 lines are of no item of the data set:",
        "line 5, field item: \"none-5\"",
        "… and 2 more",
        "1 line is of an item that was predicted before:",
        "line 9, field item: was predicted before, in line 8",
        "1 line cannot be read:",
        "line 10, column 1",
    ] {
        assert!(error.contains(piece), "{piece} is missing in {error}");
    }
    assert!(!error.contains("none-6"), "{error}");
    assert!(!Path::new(&at("out.json")).exists());
}
