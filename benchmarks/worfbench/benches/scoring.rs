//! Time to score the golden predictions with both evaluators, similarities recorded: parsing, matching, metrics and the
//! item's JSON. One thread; a throughput of items.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use regatta_benchmarks::{Benchmark, RecordedVerdicts, Scoring, Suite};
use regatta_proto::{Evaluator, FileSet};

const CASES: [&str; 6] =
    ["perfect_gold", "function_call_mixed", "embodied_mixed", "lumos_sql_mixed", "wikihow_mixed", "tie_heavy"];

type Failure = Box<dyn std::error::Error>;

#[expect(clippy::print_stdout, reason = "who runs the bench must see that nothing was measured")]
fn scoring(criterion: &mut Criterion) {
    let root = std::env::var_os("REGATTA_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let folder = root.join("benchmarks/worfbench");
    if let Err(failure) = worfbench(criterion, &folder) {
        println!("skipped: golden predictions of {}: {failure}", folder.display());
    }
}

fn worfbench(criterion: &mut Criterion, folder: &Path) -> Result<(), Failure> {
    let suite = load(&folder.join("data"))?;
    let mut group = criterion.benchmark_group("worfbench");
    for case in CASES {
        let read = |file: &str| std::fs::read(folder.join("golden").join(case).join(file));
        let predictions = suite.read_predictions(case, &read("predictions.jsonl")?)?;
        let verdicts = RecordedVerdicts::read(case, &read("judge.jsonl")?)?;
        group.throughput(Throughput::Elements(predictions.len() as u64));
        group.bench_function(case, |bencher| {
            bencher.iter(|| {
                for (item, transcript) in &predictions {
                    let scoring = suite.score(*item, &[Evaluator::Official, Evaluator::Paper], transcript, &verdicts);
                    assert!(matches!(black_box(scoring), Scoring::Scored(_)), "a recorded verdict is missing");
                }
            });
        });
    }
    group.finish();
    Ok(())
}

fn load(data: &Path) -> Result<Arc<dyn Suite>, Failure> {
    let benchmark = regatta_worfbench::WorfBench;
    let mut files = FileSet::from_origin(data.display().to_string());
    for task in std::fs::read_dir(data.join("gold_traj"))? {
        let task = task?;
        let path = format!("gold_traj/{}/graph_eval.json", task.file_name().to_string_lossy());
        files.insert(path, std::fs::read(task.path().join("graph_eval.json"))?);
    }
    Ok(benchmark.load(&files)?)
}

criterion_group!(benches, scoring);
criterion_main!(benches);
