//! The same of the simulator: a model that errs, over a benchmark's items, a thousand times each.

use std::fmt::Write as _;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use regatta_appbench::AppBench;
use regatta_benchmark_testing::{drive, miniature};
use regatta_benchmarks::{Benchmark, Measure, Metric, NoVerdicts, Persona, Scoring};
use regatta_proto::{Evaluator, Level};
use regatta_report::Estimate;
use regatta_report::statistics::{Sample, estimate};

/// Trials of each item: what a rerun would give in the end.
const TRIALS: u32 = 1000;
/// The metric that the study looks at: a plan is right as a whole, or not.
const SUCCESS: &str = "succ";
/// Clusters of a sample, drawn from those of the benchmark.
const CLUSTERS: usize = 30;

/// Successes of an item in every trial.
struct Simulated {
    cluster: u32,
    successes: Vec<bool>,
}

impl Simulated {
    fn rate(&self) -> f64 {
        self.successes.iter().filter(|success| **success).count() as f64 / self.successes.len() as f64
    }
}

/// A table: the coverage over new items, and over reruns of the same ones, of models that err more or less.
pub(crate) fn table(replications: u32) -> String {
    let mut text = String::from(
        "| model | true rate | trials | over new items | over reruns of the same |\n| --- | ---: | ---: | ---: | ---: |\n",
    );
    for noise in [0.02, 0.1, 0.3] {
        let items = simulate(noise);
        for trials in [1, 3, 10] {
            let (new_items, reruns) = (over_new_items(&items, trials, replications), over_reruns(&items, trials));
            let reruns = reruns.map_or_else(|| "–".to_owned(), |covered| format!("{:.1}", covered * 100.0));
            writeln!(
                text,
                "| noisy-{noise} | {:.3} | {trials} | {:.1} | {reruns} |",
                items.iter().map(Simulated::rate).sum::<f64>() / items.len() as f64,
                new_items * 100.0
            )
            .unwrap();
        }
    }
    text
}

/// Every item of the miniature, in all its trials; items of one group are one cluster.
fn simulate(noise: f64) -> Vec<Simulated> {
    let suite = AppBench.load(&miniature(&AppBench)).unwrap();
    let setting = AppBench.settings().remove(0);
    let metrics = suite.metrics(&setting, Evaluator::Official);
    let measure = &metrics.iter().find(|metric| metric.name == SUCCESS).unwrap().measure;
    let Measure::Mean { value: success } = measure else { panic!("{SUCCESS} is no mean: {measure:?}") };
    let mut groups: Vec<Option<std::sync::Arc<str>>> = Vec::new();
    let mut simulated = Vec::new();
    for item in suite.select(&setting, &[], None).unwrap() {
        let group = &suite.items()[item.0 as usize].group;
        let known = groups.iter().position(|known| known.is_some() && known == group);
        let cluster = known.unwrap_or_else(|| {
            groups.push(group.clone());
            groups.len() - 1
        });
        let successes = (0..TRIALS).map(|trial| {
            let seed = u64::from(item.0) << 32 | u64::from(trial);
            let transcript = drive(&*suite, item, &setting, Persona::Noisy(noise), seed);
            match suite.score(item, &[Evaluator::Official], &transcript, &NoVerdicts) {
                Scoring::Scored(scores) => {
                    scores[&Evaluator::Official].values.get(success).is_some_and(|right| *right > 0.0)
                }
                Scoring::Needs(_) | Scoring::Unfit(_) | Scoring::Failed(_) => false,
            }
        });
        simulated.push(Simulated { cluster: cluster as u32, successes: successes.collect() });
    }
    simulated
}

fn estimated(trials: &[Vec<bool>], clusters: &[u32]) -> Estimate {
    let sample = |success: &bool| Sample::Scored { top: f64::from(u8::from(*success)), bottom: 1.0 };
    let trials = trials.iter().map(|trial| trial.iter().map(sample).collect()).collect();
    let positions: Vec<usize> = (0..clusters.len()).collect();
    estimate(&Metric::mean(SUCCESS), &[trials], &positions, clusters, Level::USUAL)
}

/// Clusters of items drawn from the benchmark's, each with some of its trials: the truth is the mean over all.
fn over_new_items(items: &[Simulated], trials: usize, replications: u32) -> f64 {
    let clusters = items.iter().map(|item| item.cluster).max().unwrap() + 1;
    let members = |cluster: u32| items.iter().filter(move |item| item.cluster == cluster);
    let truth = items.iter().map(Simulated::rate).sum::<f64>() / items.len() as f64;
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let covered = (0..replications).filter(|_| {
        let (mut drawn, mut numbers) = (vec![Vec::new(); trials], Vec::new());
        for number in 0..CLUSTERS as u32 {
            for item in members(rng.random_range(0..clusters)) {
                drawn.iter_mut().for_each(|trial| trial.push(item.successes[rng.random_range(0..TRIALS as usize)]));
                numbers.push(number);
            }
        }
        let found = estimated(&drawn, &numbers);
        found.low.unwrap() <= truth && truth <= found.high.unwrap()
    });
    covered.count() as f64 / f64::from(replications)
}

/// Consecutive trials of all items, again and again: the truth is the mean over all trials. `None` for single trials.
fn over_reruns(items: &[Simulated], trials: usize) -> Option<f64> {
    let truth = items.iter().map(Simulated::rate).sum::<f64>() / items.len() as f64;
    let clusters: Vec<u32> = items.iter().map(|item| item.cluster).collect();
    let of = |first: usize| {
        let of_trial = |trial: usize| items.iter().map(|item| item.successes[trial]).collect();
        let reruns = estimated(&(first..first + trials).map(of_trial).collect::<Vec<_>>(), &clusters).reruns?;
        Some(reruns.low <= truth && truth <= reruns.high)
    };
    let found: Option<Vec<bool>> = (0..TRIALS as usize / trials).map(|at| of(at * trials)).collect();
    found.map(|found| found.iter().filter(|covered| **covered).count() as f64 / found.len() as f64)
}
