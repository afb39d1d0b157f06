//! A cheap judge on everything and an expensive one on a random part: from the spec to the report, in one process.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use regatta_tests::regatta::{ended, finish, regatta};
use serde_json::Value;

const ITEMS: usize = 200;
const SHARE: f64 = 0.2;
const BENCHMARK: &str = "v: 1
data: { test: test.jsonl }
items: { id: id, task: kind }
prompt:
  turns: [user: \"{{ request }}\"]
scorers:
  polite:
    judge:
      rubric: Does the answer say the same as the reference?
      question: \"{{ request }}\"
      reference: \"{{ example }}\"
      grades: { no: 0, yes: 1 }
simulate: { reply: \"{{ example }}\" }
";

/// The same where no judge decides the first metric on leaderboards.
const COUNTED_FIRST: &str = "scorers:
  same: { exact: { gold: \"{{ example }}\" } }
  polite:";

/// The judge of the benchmark errs in a third of its verdicts, the audit's in none.
const SPEC: &str = "
name: NAME
seed: 3
trials: 2
benchmarks:
  polite:
    data: polite
    judge: cheap/noisy-0.3
    judge_price: { input_per_mtok: 1, output_per_mtok: 1 }
    AUDIT
endpoints:
  sim: { kind: simulated }
  cheap: { kind: simulated }
  dear: { kind: simulated }
  gone: { kind: recorded, path: nothing.jsonl }
models: [sim/oracle, sim/noisy-0.4]
";
const AUDIT: &str =
    "audit: { judge: { id: dear/oracle, price: { input_per_mtok: 100, output_per_mtok: 100 } }, share: 0.2 }";

/// An audit whose judge has no verdict on anything.
const GONE: &str = "audit: { judge: gone/verdicts, share: 0.2 }";

fn written(folder: &Path, name: &str, audit: &str) -> PathBuf {
    std::fs::create_dir_all(folder.join("polite")).unwrap();
    std::fs::write(folder.join("polite/benchmark.yaml"), BENCHMARK).unwrap();
    std::fs::write(folder.join("nothing.jsonl"), "").unwrap();
    let item = |at: usize| {
        let kind = if at.is_multiple_of(2) { "short" } else { "long" };
        format!(
            "{{\"id\": \"i{at}\", \"kind\": \"{kind}\", \"request\": \"Say number {at}.\", \"example\": \"left{at} right{at}\"}}\n"
        )
    };
    std::fs::write(folder.join("polite/test.jsonl"), (0..ITEMS).map(item).collect::<String>()).unwrap();
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, SPEC.replace("NAME", name).replace("AUDIT", audit)).unwrap();
    path
}

/// Runs regatta with `arguments`, which must succeed; what it said.
async fn run(arguments: &[&str]) -> String {
    let mut command = regatta().unwrap();
    command.args(arguments);
    let output = finish(command).await.unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    said
}

fn read(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap()
}

fn document(directory: &Path, name: &str) -> Value {
    serde_json::from_str(&read(directory, name)).unwrap()
}

/// The headline of `model` over all trials and tasks.
fn headline<'d>(summary: &'d Value, model: &str) -> &'d Value {
    let row = summary["rows"].as_array().unwrap().iter().find(|row| row["model"] == model).unwrap();
    row["metrics"].as_array().unwrap().iter().find(|metric| metric["headline"] == true).unwrap()
}

/// Nanodollars as reports show them.
fn dollars(nanodollars: f64) -> String {
    regatta_proto::Money(nanodollars as u64).to_string()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// The value of `model` when the judge that is right everywhere judges everything.
async fn truth(folder: &Path) -> Value {
    let spec = written(folder, "truth", "");
    std::fs::write(&spec, read(folder, "truth.yaml").replace("cheap/noisy-0.3", "dear/oracle")).unwrap();
    let directory = folder.join("truth");
    run(&["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()]).await;
    document(&directory, "summary.json")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_corrects_a_biased_judge_says_its_bias_and_what_it_saved() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let truth = truth(folder).await;
    let spec = written(folder, "audited", AUDIT);
    let directory = folder.join("audited");
    run(&["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()]).await;
    let summary = document(&directory, "summary.json");
    for model in ["sim/oracle", "sim/noisy-0.4"] {
        let (found, truth) = (headline(&summary, model), number(&headline(&truth, model)["value"]));
        let audited = &found["audited"];
        assert!(number(&audited["low"]) <= truth && truth <= number(&audited["high"]), "{model}: {truth}, {audited}");
        assert_eq!(number(&audited["items"]), ITEMS as f64 * SHARE);
        let (alone, bias) = (&audited["alone"], &audited["bias"]);
        assert!(
            number(&audited["high"]) - number(&audited["low"])
                <= number(&alone["high"]) - number(&alone["low"]) + 1e-12
        );
        let error = number(&found["value"]) - truth;
        assert!(number(&bias["low"]) <= error && error <= number(&bias["high"]), "{model}: {error}, {bias}");
    }
    // Of the model that is always right the cheap judge is far from the truth, and its interval does not know.
    assert!(number(&headline(&summary, "sim/oracle")["high"]) < 0.8);
    let audit = &summary["audits"][0];
    assert_eq!(audit["judge"], "dear/oracle");
    assert_eq!((number(&audit["audited"]), number(&audit["sessions"])), (160.0, 800.0));
    let (cost, all) = (number(&audit["cost"]["known"]), number(&audit["cost_of_all"]));
    let spent: Vec<&Value> =
        summary["judges"].as_array().unwrap().iter().filter(|of| of["judge"] == "dear/oracle").collect();
    assert_eq!(cost, number(&spent[0]["cost"]["known"]));
    assert!(cost > 0.0 && (all / cost - 5.0).abs() < 1e-6, "{cost}, {all}");
    // One pair of models, whose true difference is that of the truth.
    let difference = &audit["differences"][0];
    let values = ["one", "other"].map(|side| number(&headline(&truth, difference[side].as_str().unwrap())["value"]));
    let expected = values[0] - values[1];
    assert!(number(&difference["low"]) <= expected && expected <= number(&difference["high"]), "{difference}");

    let report = read(&directory, "report.md");
    for words in [
        "## Audit of the judge",
        "dear/oracle judged 160 of 800 measured sessions",
        "Values corrected by the audit",
        "short",
    ] {
        assert!(report.contains(words), "{words} is missing in {report}");
    }
    // The bias of the cheap judge, of each model by task, and what its audit has saved.
    let biases = report.split("How much higher the cheaper judge").nth(1).unwrap();
    for model in ["sim/oracle", "sim/noisy-0.4"] {
        for task in ["short", "long"] {
            let is_of = |line: &str| line.contains(model) && line.contains(task) && line.contains("polite");
            assert!(biases.lines().any(is_of), "{model} {task}: {biases}");
        }
    }
    let bill = format!("for {}. To judge all of them would have cost about {}", dollars(cost), dollars(all));
    assert!(report.contains(&bill), "{bill} is missing in {report}");
    let csv = read(&directory, "metrics.csv");
    assert!(
        csv.lines()
            .next()
            .unwrap()
            .ends_with("audited,audited_low,audited_high,judge_bias,judge_bias_low,judge_bias_high")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn results_have_the_judges_scores_alone_and_do_not_depend_on_the_audit() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let mut results = Vec::new();
    for (name, audit) in [("plain", ""), ("audited", AUDIT)] {
        let (spec, directory) = (written(folder, name, audit), folder.join(name));
        run(&["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()]).await;
        results.push(read(&directory, "results.jsonl"));
    }
    assert_eq!(results[0], results[1]);
    let metrics = document(&folder.join("plain"), "metrics.json").to_string();
    assert!(!metrics.contains("audited"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_counts_the_questions_of_the_audit() {
    let place = tempfile::tempdir().unwrap();
    let mut calls = Vec::new();
    for (name, audit) in [("plain", ""), ("audited", AUDIT)] {
        let spec = written(place.path(), name, audit);
        let said = run(&["run", spec.to_str().unwrap(), "--dry-run", "--json"]).await;
        let found: Value = serde_json::from_str(&said[..=said.rfind('}').unwrap()]).unwrap();
        calls.push(found["cells"].as_array().unwrap().iter().map(|cell| number(&cell["judges"]["calls"])).sum::<f64>());
    }
    assert_eq!(calls, [800.0, 960.0]);

    let growing = AUDIT.replace("share: 0.2", "share: 0.2, until: 2pp, at_most: 0.5");
    let said = run(&["run", written(place.path(), "growing", &growing).to_str().unwrap(), "--dry-run"]).await;
    let grows =
        "audits are counted as they begin, and may grow: that of polite until ±2pp, to 50 % of the items at most";
    assert!(said.contains(grows), "{said}");
}

/// A sweep with a question buys what scores make it buy, and so it would be with audits: neither is estimated.
#[tokio::test(flavor = "multi_thread")]
async fn an_audit_of_a_sweep_with_a_question_is_refused_before_anything_is_estimated() {
    let place = tempfile::tempdir().unwrap();
    let spec = written(place.path(), "audited", AUDIT);
    let question = "decide: { question: ranking, margin: 2pp }\nbenchmarks:";
    std::fs::write(&spec, read(place.path(), "audited.yaml").replace("benchmarks:", question)).unwrap();
    for command in [vec!["check"], vec!["run", "--dry-run"]] {
        let mut regatta = regatta().unwrap();
        regatta.args(&command).arg(&spec);
        let output = finish(regatta).await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{command:?}: {said}");
        assert!(said.contains("does not go with `decide`"), "{command:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_ended_is_audited_by_rescoring_it_and_only_the_audit_is_paid() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let (spec, directory) = (written(folder, "plain", ""), folder.join("plain"));
    run(&["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()]).await;
    let audited = written(folder, "audited", AUDIT);
    let (from, to) = (directory.to_str().unwrap(), folder.join("again"));
    let arguments = ["rescore", from, "--spec", audited.to_str().unwrap(), "--output", to.to_str().unwrap(), "--yes"];
    let said = run(&arguments).await;
    assert!(said.contains("questions are to be asked"), "{said}");
    let summary = document(&to, "summary.json");
    let asked: BTreeSet<&str> = summary["judges"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|of| number(&of["cost"]["known"]) > 0.0)
        .map(|of| of["judge"].as_str().unwrap())
        .collect();
    assert_eq!(asked, BTreeSet::from(["dear/oracle"]));
    assert_eq!(number(&summary["audits"][0]["audited"]), 160.0);
    assert_eq!(read(&to, "results.jsonl"), read(&directory, "results.jsonl"));

    // A larger audit later has half of its bill there.
    let (further, larger) = (folder.join("further"), AUDIT.replace("share: 0.2", "share: 0.4"));
    rescore(&to, &written(folder, "larger", &larger), &further, &[]).await;
    let (part, further) = (&summary["audits"][0], &document(&further, "summary.json")["audits"][0]);
    assert_eq!(number(&further["audited"]), 320.0);
    assert!(part.get("cost_of_all").is_some() && further.get("cost_of_all").is_none(), "{further}");
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_that_no_judge_decides_are_not_audited_and_do_not_stand_for_the_judged_ones() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let (spec, directory) = (written(folder, "audited", AUDIT), folder.join("audited"));
    std::fs::write(folder.join("polite/benchmark.yaml"), BENCHMARK.replace("scorers:\n  polite:", COUNTED_FIRST))
        .unwrap();
    run(&["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()]).await;
    let summary = document(&directory, "summary.json");
    let metrics = summary["rows"][0]["metrics"].as_array().unwrap();
    let audited = |name: &str| metrics.iter().find(|metric| metric["metric"] == name).unwrap().get("audited").is_some();
    assert!(audited("polite") && !audited("same"), "{metrics:?}");
    let differences = summary["audits"][0]["differences"].as_array().unwrap();
    assert_eq!(differences.iter().map(|of| &of["metric"]).collect::<Vec<_>>(), ["polite"]);
    let report = read(&directory, "report.md");
    let section = report.split("## Audit of the judge").nth(1).unwrap().split("\n## ").next().unwrap();
    assert!(section.contains("polite (declared)") && !section.contains("same (declared)"), "{section}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audits_judge_that_is_away_takes_nothing_from_the_run_and_rescoring_asks_for_what_is_missing() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    for (name, audit) in [("plain", ""), ("gone", GONE)] {
        let spec = written(folder, name, audit);
        run(&["run", spec.to_str().unwrap(), "--output", folder.join(name).to_str().unwrap()]).await;
    }
    let (plain, gone) = (folder.join("plain"), folder.join("gone"));
    assert_eq!(read(&plain, "results.jsonl"), read(&gone, "results.jsonl"));
    let summary = document(&gone, "summary.json");
    assert_eq!(summary["audits"][0]["audited"], 0);
    let words = "160 of 160 sampled sessions were not audited";
    assert!(summary["notes"].to_string().contains(words), "{}", summary["notes"]);
    assert!(read(&gone, "report.md").contains(words));

    let audited = written(folder, "audited", AUDIT);
    let to = folder.join("again");
    let arguments = [gone.to_str().unwrap(), "--spec", audited.to_str().unwrap(), "--output", to.to_str().unwrap()];
    run(&[&["rescore", "--yes"], arguments.as_slice()].concat()).await;
    let again = document(&to, "summary.json");
    assert_eq!(again["audits"][0]["audited"], 160);
    assert!(again["audits"][0].get("missing").is_none());
    assert_eq!(read(&to, "results.jsonl"), read(&plain, "results.jsonl"));
}

/// Runs `spec`, whose audit grows, into the directory `run`; what it said, and the directories of the run and of its further rounds.
async fn run_and_audit(spec: &Path, directory: &Path) -> (String, Vec<PathBuf>) {
    let said = run(&["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()]).await;
    let later = (2..20).map(|round| directory.with_file_name(format!("run-audited-{round}")));
    (said, std::iter::once(directory.to_owned()).chain(later.take_while(|later| later.exists())).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_with_larger_audits_until_its_values_are_known_as_well_as_its_spec_asks() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let spec = written(folder, "growing", &AUDIT.replace("share: 0.2", "share: 0.2, until: 8pp"));
    let (said, rounds) = run_and_audit(&spec, &folder.join("run")).await;
    let words = format!("every corrected value is known to ±8pp; {} rounds, cost $", rounds.len());
    assert!(said.contains(&words), "{words}: {said}");
    let summaries: Vec<Value> = rounds.iter().map(|round| document(round, "summary.json")).collect();
    let [first, .., last] = summaries.as_slice() else { unreachable!("fifty items are too few: {said}") };
    assert_eq!(number(&first["audits"][0]["audited"]), 200.0, "fifty items, though the share is of forty");
    assert!(widest(first) > 0.08 && widest(last) <= 0.08, "{} {}", widest(first), widest(last));
    for round in &rounds {
        assert_eq!(
            read(round, "results.jsonl"),
            read(&rounds[0], "results.jsonl"),
            "the sessions are those of the run"
        );
    }

    // Two models in two trials.
    let items = number(&last["audits"][0]["audited"]) / 4.0;
    let share = format!("share: {}", (items - 0.5) / ITEMS as f64);
    let whole = written(folder, "whole", &AUDIT.replace("share: 0.2", &share));
    run(&["run", whole.to_str().unwrap(), "--output", folder.join("whole").to_str().unwrap()]).await;
    let whole = document(&folder.join("whole"), "summary.json");
    for model in ["sim/oracle", "sim/noisy-0.4"] {
        assert_eq!(headline(&whole, model)["audited"], headline(last, model)["audited"], "{model}");
    }
    assert_eq!(last["judging"]["cost"], whole["judging"]["cost"], "nothing was asked twice");

    // The same command finds everything done, and says so again.
    let before: Vec<String> = rounds.iter().map(|round| read(round, "summary.json")).collect();
    let (again, found) = run_and_audit(&spec, &folder.join("run")).await;
    assert!(again.contains(&words), "{words}: {again}");
    assert_eq!(found, rounds);
    assert_eq!(rounds.iter().map(|round| read(round, "summary.json")).collect::<Vec<_>>(), before);

    // Whoever was interrupted before the last round makes the same one.
    let gone = &rounds[rounds.len() - 1];
    std::fs::remove_dir_all(gone).unwrap();
    let (again, found) = run_and_audit(&spec, &folder.join("run")).await;
    assert!(again.contains(&words), "{words}: {again}");
    assert_eq!(found, rounds);
    let made = document(gone, "summary.json");
    for model in ["sim/oracle", "sim/noisy-0.4"] {
        assert_eq!(headline(&made, model), headline(last, model), "{model}");
    }
    for part in ["audits", "judging"] {
        assert_eq!(made[part], last[part], "{part}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_that_grows_ends_where_a_larger_one_is_not_allowed_or_would_tell_nothing_and_says_so() {
    let growing = |further: &str| AUDIT.replace("share: 0.2", &format!("share: 0.25, until: 1pp, {further}"));
    let exhausted = "not every corrected value is known to ±1pp, and no larger audit would tell more";
    for (audit, words, rounds) in [
        (growing("at_most: 0.25"), exhausted.to_owned(), 1),
        (growing("at_most: 0.5"), format!("{exhausted}; 2 rounds, cost $"), 2),
        // Its judge answers nothing.
        (
            GONE.replace("share: 0.2", "share: 0.2, until: 1pp"),
            "the audit corrects no value on leaderboards".to_owned(),
            1,
        ),
    ] {
        let place = tempfile::tempdir().unwrap();
        let spec = written(place.path(), "growing", &audit);
        let (said, made) = run_and_audit(&spec, &place.path().join("run")).await;
        assert!(said.contains(&words), "{words}: {said}");
        assert_eq!(made.len(), rounds, "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn audits_of_a_run_whose_budget_was_raised_have_the_raised_one() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let spec = written(folder, "poor", &AUDIT.replace("share: 0.2", "share: 0.2, until: 8pp"));
    let price = "price: { input_per_mtok: 1, output_per_mtok: 1 }";
    let models = format!("models: [{{ id: sim/oracle, {price} }}, {{ id: sim/noisy-0.4, {price} }}]");
    let text = read(folder, "poor.yaml").replace("models: [sim/oracle, sim/noisy-0.4]", &models);
    // Less than one call may cost.
    std::fs::write(&spec, text + "budget_usd: 0.001\n").unwrap();
    std::fs::create_dir_all(folder.join("runs")).unwrap();
    let directory = folder.join("runs/run");
    let mut poor = regatta().unwrap();
    poor.args(["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()]);
    let stopped = finish(poor).await.unwrap();
    assert_eq!(stopped.status.code(), Some(3), "{}", String::from_utf8_lossy(&stopped.stderr));
    let said = run(&["resume", directory.to_str().unwrap(), "--budget", "1000"]).await;
    assert!(said.contains("every corrected value is known to ±8pp; "), "{said}");
    // Whoever repeats the command of the beginning finds the same rounds.
    let (_, rounds) = run_and_audit(&spec, &directory).await;
    assert!(said.contains(&format!("; {} rounds, cost $", rounds.len())), "{said}");
    let last = document(&rounds[rounds.len() - 1], "summary.json");
    assert!(widest(&last) <= 0.08, "{}", widest(&last));
}

#[tokio::test(flavor = "multi_thread")]
async fn rounds_go_on_with_a_spec_that_asks_for_more_and_pay_for_nothing_twice() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let growing = |further: &str| AUDIT.replace("share: 0.2", &format!("share: 0.2, until: 8pp{further}"));
    let directory = folder.join("changed/run");
    std::fs::create_dir_all(folder.join("changed")).unwrap();
    let (said, rounds) = run_and_audit(&written(folder, "growing", &growing(", at_most: 0.3")), &directory).await;
    assert_eq!(rounds.len(), 2, "{said}");
    let (said, changed) = run_and_audit(&written(folder, "growing", &growing("")), &directory).await;
    assert!(said.contains("every corrected value is known to ±8pp; "), "{said}");

    std::fs::create_dir_all(folder.join("at-once")).unwrap();
    let (_, whole) = run_and_audit(&written(folder, "growing", &growing("")), &folder.join("at-once/run")).await;
    assert_eq!(changed.len(), whole.len());
    let [changed, whole] = [changed, whole].map(|rounds| document(&rounds[rounds.len() - 1], "summary.json"));
    for model in ["sim/oracle", "sim/noisy-0.4"] {
        assert_eq!(headline(&changed, model)["audited"], headline(&whole, model)["audited"], "{model}");
    }
    assert_eq!(changed["judging"]["cost"], whole["judging"]["cost"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_of_an_audit_that_is_interrupted_says_so_and_the_same_command_ends_it() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let growing = AUDIT.replace("share: 0.2", "share: 0.2, until: 1pp");
    let slow = |name: &str| {
        let spec = written(folder, name, &growing);
        let latency = "dear: { kind: simulated, simulation: { latency: { median_ms: 20 } } }";
        let text = read(folder, &format!("{name}.yaml")).replace("dear: { kind: simulated }", latency);
        std::fs::write(&spec, text).unwrap();
        std::fs::create_dir_all(folder.join("runs").join(name)).unwrap();
        (spec, folder.join("runs").join(name).join("run"))
    };
    let (spec, directory) = slow("interrupted");
    let mut command = regatta().unwrap();
    command.args(["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id().unwrap().to_string();
    let second = directory.with_file_name("run-audited-2").join("store/ledger.sqlite");
    let begun = async {
        while !second.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), begun).await.unwrap();
    let told = tokio::process::Command::new("kill").args(["-TERM", &id]).status().await.unwrap();
    assert!(told.success(), "it ended before it could be told to");
    let left = ended(child).await.unwrap();
    let said = String::from_utf8_lossy(&left.stderr);
    assert_eq!(left.status.code(), Some(4), "{said}");
    assert!(said.contains("interrupted; the same command continues where it stopped"), "{said}");

    let (_, rounds) = run_and_audit(&spec, &directory).await;
    let (spec, directory) = slow("left-alone");
    let (_, whole) = run_and_audit(&spec, &directory).await;
    assert_eq!(rounds.len(), whole.len());
    let [interrupted, whole] = [rounds, whole].map(|rounds| document(&rounds[rounds.len() - 1], "summary.json"));
    assert_eq!(interrupted["audits"], whole["audits"]);
    assert_eq!(interrupted["judging"]["cost"], whole["judging"]["cost"], "nothing was asked twice");
}

/// Half of the longest interval of a corrected headline in a run.
fn widest(summary: &Value) -> f64 {
    let half = |model: &str| {
        let audited = &headline(summary, model)["audited"];
        (number(&audited["high"]) - number(&audited["low"])) / 2.0
    };
    half("sim/oracle").max(half("sim/noisy-0.4"))
}

/// Scores the run in the directory `run_of` again, by the judges of `spec`.
async fn rescore(run_of: &Path, spec: &Path, to: &Path, further: &[&str]) -> String {
    let [run_of, spec, to] = [run_of, spec, to].map(|path| path.to_str().unwrap());
    let arguments = ["rescore", run_of, "--spec", spec, "--output", to, "--yes"];
    run(&[&arguments[..], further].concat()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_grows_until_its_values_are_known_well_enough_and_buys_what_one_of_the_last_size_would_have_bought() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let (spec, directory) = (written(folder, "plain", ""), folder.join("plain"));
    let of_another_judge = read(folder, "plain.yaml").replace("cheap/noisy-0.3", "cheap/noisy-0.1");
    std::fs::write(&spec, of_another_judge).unwrap();
    run(&["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()]).await;
    let said =
        rescore(&directory, &written(folder, "audited", AUDIT), &folder.join("again"), &["--until", "8pp"]).await;
    assert!(said.contains("every corrected value is known to ±8pp; "), "{said}");
    let later = (2..20).map(|round| folder.join(format!("again-{round}"))).take_while(|directory| directory.exists());
    let rounds: Vec<PathBuf> = std::iter::once(folder.join("again")).chain(later).collect();
    assert!(said.contains(&format!("{} rounds, cost $", rounds.len())), "{said}");
    let summaries: Vec<Value> = rounds.iter().map(|round| document(round, "summary.json")).collect();
    assert!(summaries.len() > 1, "fifty items are too few: {}", widest(&summaries[0]));
    let last = &summaries[summaries.len() - 1];
    assert!(widest(last) <= 0.08, "{}", widest(last));

    // Two models in two trials.
    let items = number(&last["audits"][0]["audited"]) / 4.0;
    let share = format!("share: {}", (items - 0.5) / ITEMS as f64);
    let at_once = folder.join("at-once");
    rescore(&directory, &written(folder, "whole", &AUDIT.replace("share: 0.2", &share)), &at_once, &[]).await;
    let whole = document(&at_once, "summary.json");
    for model in ["sim/oracle", "sim/noisy-0.4"] {
        assert_eq!(headline(&whole, model)["audited"], headline(last, model)["audited"], "{model}");
    }
    for part in ["judging", "audits"] {
        assert_eq!(last[part], whole[part], "the bill of the last round is that of all of them");
    }
    let spent = dollars(number(&last["judging"]["cost"]["known"]));
    assert!(said.contains(&format!("rounds, cost {spent}; ")), "{said}");
    let (last, whole) = (&rounds[rounds.len() - 1], document(&at_once, "rescored.json"));
    assert_eq!(document(last, "rescored.json"), whole, "changes are those from the run that was there before");
}
