//! Sweeps of simulated models of which the truth is known: equal ones are told apart no more often than the level says, and a difference is
//! found as often as `plan` foretold. Every sweep is one of the product, with a seed of its own, so that a count is the same in every run.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed; the counts are its result"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use futures::{StreamExt, stream};
use regatta_tests::regatta::{finish, regatta};
use serde_json::Value;

/// Items, each a cluster by itself.
const ITEMS: usize = 60;
/// Probability of a false claim that a sweep may have: one less the level.
const ALPHA: f64 = 0.05;
/// Probability with which chance alone breaks a limit of these tests.
const BY_CHANCE: f64 = 0.001;
/// Four models that are right in 70 % of their sessions. Each has its own name, and so its own errors.
const EQUAL: [&str; 4] = ["noisy-0.3", "noisy-0.30", "noisy-0.300", "noisy-0.3000"];
/// A fifth like them.
const FIFTH: &str = "noisy-0.30000";
/// A fifth that is right in 90 %.
const BETTER: &str = "noisy-0.1";
/// Difference of the two in the scale of `--detect`.
const APART: &str = "20pp";
/// Largest distance of the rate that was foretold from the one that is found.
const TOLERANCE: f64 = 0.05;

const BENCHMARK: &str = r#"
v: 1
data: { test: test.jsonl }
items: { id: id }
prompt:
  turns: [user: "{{ question }}"]
  sampling: { temperature: 0, max_tokens: 50 }
scorers:
  correct: { exact: { gold: "{{ answer }}" } }
metrics:
  accuracy: { mean: correct, unit: percent }
simulate: { reply: "{{ answer }}" }
"#;

/// A folder with the benchmark and the runs of one study.
struct Study(tempfile::TempDir);

/// A run that has ended.
struct Run {
    spec: PathBuf,
    directory: PathBuf,
    /// The first card, as the terminal has it.
    card: String,
    summary: Value,
}

impl Study {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let benchmark = folder.path().join("bench");
        std::fs::create_dir(&benchmark).unwrap();
        std::fs::write(benchmark.join("benchmark.yaml"), BENCHMARK).unwrap();
        let mut items = String::new();
        for item in 0..ITEMS {
            // Answers of several lengths, so that a wrong one, which is another item's, costs more or less.
            let answer = format!("answer {item}{}", " and on".repeat(item % 5));
            let line = serde_json::json!({ "id": format!("i{item:02}"), "question": format!("Question {item}?"), "answer": answer });
            writeln!(items, "{line}").unwrap();
        }
        std::fs::write(benchmark.join("test.jsonl"), items).unwrap();
        Self(folder)
    }

    /// A sweep of the four and `fifth`.
    async fn sweep(&self, name: &str, seed: u64, fifth: &str) -> Run {
        let folder = self.0.path();
        let price = "price: { input_per_mtok: 1, output_per_mtok: 10 }";
        let models: String =
            EQUAL.iter().chain([&fifth]).map(|model| format!("  - {{ id: sim/{model}, {price} }}\n")).collect();
        let text = format!(
            "name: {name}\nseed: {seed}\ntrials: 2\nbenchmarks: {{ known: {{ data: {} }} }}\nendpoints:\n  sim: {{ kind: simulated }}\nmodels:\n{models}",
            folder.join("bench").display()
        );
        let (spec, directory) = (folder.join(format!("{name}.yaml")), folder.join(name));
        std::fs::write(&spec, text).unwrap();
        let card = said(&["run", path(&spec), "--output", path(&directory)]).await;
        let summary = std::fs::read(directory.join("summary.json")).unwrap();
        Run { spec, directory, card, summary: serde_json::from_slice(&summary).unwrap() }
    }
}

fn path(of: &Path) -> &str {
    of.to_str().unwrap()
}

/// Standard output of a command that succeeds.
async fn said(arguments: &[&str]) -> String {
    let mut command = regatta().unwrap();
    command.args(arguments);
    let output: Output = finish(command).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

impl Run {
    fn pairs(&self) -> impl Iterator<Item = &Value> {
        self.summary["pairs"].as_array().unwrap().iter().flat_map(|family| family["pairs"].as_array().unwrap())
    }

    /// Corrected p-values of the pairs that `model` is in.
    fn p_of(&self, model: &str) -> Vec<f64> {
        self.pairs().filter(|pair| is_of(pair, model)).map(|pair| pair["p_holm"].as_f64().unwrap()).collect()
    }
}

/// `true` if `pair` has `sim/model`, in `summary.json` and in what `plan` says.
fn is_of(pair: &Value, model: &str) -> bool {
    let name = format!("sim/{model}");
    [&pair["one"], &pair["other"]].iter().any(|of| of.as_str().or(of["model"].as_str()) == Some(&name))
}

fn claims(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// The largest count that `rate` explains: more of `of` happens by chance with at most [`BY_CHANCE`].
fn most(of: u32, rate: f64) -> u32 {
    let (mut mass, mut sum) = ((1.0 - rate).powi(of as i32), 0.0);
    for count in 0..of {
        sum += mass;
        if 1.0 - sum <= BY_CHANCE {
            return count;
        }
        mass *= f64::from(of - count) / f64::from(count + 1) * rate / (1.0 - rate);
    }
    of
}

/// Runs `of` things, two at a time.
async fn both_cores<T>(of: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    stream::iter(of).buffered(2).collect().await
}

/// Sweeps of five equal models, and every second compared with the one before.
async fn equal_ones_are_not_told_apart(sweeps: u32) {
    let study = Study::new();
    let study = &study;
    // By kind of claim: sweeps, or comparisons, that make one.
    let (mut quality, mut card, mut speed, mut cost) = (0, 0, 0, 0);
    let (mut moved, mut dearer) = (0, 0);
    let pairs_of_sweeps = both_cores((0..sweeps / 2).map(async |at| {
        let [one, other] = [2 * at + 1, 2 * at + 2]
            .map(|seed| async move { study.sweep(&format!("equal-{seed}"), u64::from(seed), FIFTH).await });
        let (one, other) = (one.await, other.await);
        let compared = said(&["compare", path(&one.directory), path(&other.directory), "--json"]).await;
        for run in [&one, &other] {
            std::fs::remove_dir_all(&run.directory).unwrap();
        }
        (one, other, serde_json::from_str::<Value>(&compared).unwrap())
    }))
    .await;
    for (one, other, compared) in &pairs_of_sweeps {
        for run in [one, other] {
            assert_eq!(run.pairs().count(), 10);
            quality += u32::from(run.pairs().any(|pair| pair["p_holm"].as_f64().unwrap() <= ALPHA));
            card += u32::from(claims(&run.card, &["better by", "worse by"]));
            speed += u32::from(claims(&run.card, &["faster", "slower"]));
            cost += u32::from(claims(&run.card, &["cheaper", "dearer", "× the cost"]));
        }
        let cells = compared["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 5);
        let is_shown = |of: &Value| of["p_holm"].as_f64().is_some_and(|p| p <= ALPHA);
        let metrics = |cell: &Value| cell["metrics"].as_array().unwrap().clone();
        moved += u32::from(cells.iter().flat_map(metrics).any(|metric| is_shown(&metric)));
        dearer += u32::from(cells.iter().any(|cell| is_shown(&cell["cost"])));
        // Neither run is called faster: there is nothing to say it with.
        assert!(cells.iter().all(|cell| cell["seconds"]["difference"].is_null()), "{compared}");
    }
    let counts = [
        ("a difference of quality, corrected over all pairs", quality, sweeps),
        ("better or worse on the first card", card, sweeps),
        ("cheaper or dearer on the first card", cost, sweeps),
        ("a difference of quality, by `compare` of two sweeps", moved, sweeps / 2),
        ("a difference of money, by `compare` of two sweeps", dearer, sweeps / 2),
    ];
    println!("five equal models, {ITEMS} items × 2 trials:");
    for (what, count, of) in counts {
        println!("  {count} of {of} claim {what} (at most {} are by chance)", most(of, ALPHA));
    }
    println!("  {speed} of {sweeps} call a model faster or slower");
    for (what, count, of) in counts {
        assert!(count <= most(of, ALPHA), "{count} of {of} claim {what}");
    }
    assert_eq!(speed, 0);
    assert_eq!(quality, card, "the first card says what the comparisons say");
}

/// Sweeps in which the fifth model is better, and the plan that each of them, as a pilot, makes for the next.
async fn a_difference_is_found_as_often_as_foretold(sweeps: u32) {
    let study = Study::new();
    let study = &study;
    let seen = both_cores((1..=sweeps).map(async |seed| {
        let run = study.sweep(&format!("apart-{seed}"), u64::from(seed), BETTER).await;
        let (spec, pilot) = (path(&run.spec), path(&run.directory));
        let plan = said(&["plan", spec, "--detect", APART, "--pilot", pilot, "--json"]).await;
        std::fs::remove_dir_all(&run.directory).unwrap();
        let plan: Value = serde_json::from_str(&plan).unwrap();
        let of_better = plan[0]["need"]["pairs"].as_array().unwrap().iter().filter(|pair| is_of(pair, BETTER));
        let foretold: Vec<f64> = of_better.map(|pair| pair["power"].as_f64().unwrap()).collect();
        (run.p_of(BETTER), foretold)
    }))
    .await;
    let mean = |of: Vec<f64>| of.iter().sum::<f64>() / of.len() as f64;
    assert!(seen.iter().all(|(p, foretold)| p.len() == EQUAL.len() && foretold.len() == EQUAL.len()));
    let found = mean(seen.iter().flat_map(|(p, _)| p).map(|p| f64::from(u8::from(*p <= ALPHA))).collect());
    let foretold = mean(seen.iter().flat_map(|(_, foretold)| foretold).copied().collect());
    // Pairs of a sweep share a model, so that they count as one.
    let error = (found * (1.0 - found) / f64::from(sweeps)).sqrt();
    println!(
        "a true difference of {APART}: foretold {:.1} %, found in {:.1} % (± {:.1}) of {} pairs of {sweeps} sweeps",
        100.0 * foretold,
        100.0 * found,
        100.0 * error,
        EQUAL.len() as u32 * sweeps
    );
    // Neither sure nor hopeless, which any plan could foretell.
    assert!((0.5..0.95).contains(&foretold), "{foretold}");
    assert!(
        (foretold - found).abs() <= TOLERANCE + 2.0 * error,
        "{foretold:.3} foretold, {found:.3} ± {error:.3} found"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_models_are_told_apart_no_more_often_than_the_level_says() {
    equal_ones_are_not_told_apart(12).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_true_difference_is_found_at_the_rate_that_a_plan_foretells() {
    a_difference_is_found_as_often_as_foretold(12).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "200 sweeps: some minutes"]
async fn over_200_sweeps_equal_models_are_told_apart_no_more_often_than_the_level_says() {
    equal_ones_are_not_told_apart(200).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "200 sweeps and their plans: some minutes"]
async fn over_200_sweeps_a_true_difference_is_found_at_the_rate_that_a_plan_foretells() {
    a_difference_is_found_as_often_as_foretold(200).await;
}
