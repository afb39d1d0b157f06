//! Benchmarks of the scoring of OrchestrationBench plans: the whole of it (parsing, both graphs, official and exact
//! edit distances, JSON of the item), and the distances of the golden pairs alone. One thread; throughput in plans.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use regatta_benchmarks::{Benchmark, RecordedVerdicts, Scoring, Suite};
use regatta_proto::{Evaluator, FileSet, ItemIndex, Transcript};

const CASES: [&str; 4] = ["en_gold_yaml", "ko_gold_json", "en_mixed_judge", "ko_mixed_skip"];
const PAIRS: &str = "unit_ged";

type Failure = Box<dyn std::error::Error>;

#[expect(clippy::print_stdout, reason = "who runs the bench must see that nothing was measured")]
fn plans(criterion: &mut Criterion) {
    let root = std::env::var_os("REGATTA_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let folder = root.join("benchmarks/orchestrationbench");
    if let Err(failure) = orchestrationbench(criterion, &folder) {
        println!("skipped: golden plans of {}: {failure}", folder.display());
    }
}

fn orchestrationbench(criterion: &mut Criterion, folder: &Path) -> Result<(), Failure> {
    let benchmark = regatta_orchestrationbench::OrchestrationBench;
    let data = files(&folder.join("data"), |path| benchmark.wants(path))?;
    let suite = benchmark.load(&data)?;
    let mut group = criterion.benchmark_group("plans");
    for case in CASES {
        let predictions = std::fs::read(folder.join("golden").join(case).join("predictions.jsonl"))?;
        let plans = plans_of(&suite, suite.read_predictions(case, &predictions)?);
        group.throughput(Throughput::Elements(plans.len() as u64));
        group.bench_function(case, |bencher| {
            bencher.iter(|| {
                for (item, transcript) in &plans {
                    black_box(score(&suite, *item, transcript));
                }
            });
        });
    }
    let pairs = files(&folder.join("golden").join(PAIRS), |_| true)?;
    let lines = pairs.get("pairs.jsonl").map_or(0, |content| content.split(|byte| *byte == b'\n').count() - 1);
    group.throughput(Throughput::Elements(lines as u64));
    group.bench_function(PAIRS, |bencher| bencher.iter(|| black_box(benchmark.score_case(&pairs, &data))));
    group.finish();
    Ok(())
}

fn score(suite: &Arc<dyn Suite>, item: ItemIndex, transcript: &Transcript) -> Scoring {
    suite.score(item, &[Evaluator::Official, Evaluator::Paper], transcript, &RecordedVerdicts::default())
}

/// Keeps the predictions that are plans; these need no verdicts.
fn plans_of(suite: &Arc<dyn Suite>, predictions: Vec<(ItemIndex, Transcript)>) -> Vec<(ItemIndex, Transcript)> {
    let is_plan = |(item, transcript): &(ItemIndex, Transcript)| {
        let scoring = score(suite, *item, transcript);
        matches!(scoring, Scoring::Scored(scores) if scores.values().any(|score| score.detail["kind"] == "plan"))
    };
    predictions.into_iter().filter(is_plan).collect()
}

/// Reads the wanted files below a folder, by their paths within it.
fn files(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<FileSet, Failure> {
    let mut files = FileSet::from_origin(folder.display().to_string());
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next)? {
            let path = entry?.path();
            let name = path.strip_prefix(folder)?.to_string_lossy().replace('\\', "/");
            if path.is_dir() {
                folders.push(path);
            } else if is_wanted(&name) {
                files.insert(name, std::fs::read(path)?);
            }
        }
    }
    Ok(files)
}

criterion_group!(benches, plans);
criterion_main!(benches);
