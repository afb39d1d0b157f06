//! Time to score plans of doubling length, made of what matchers fear most: the throughput in bytes must stay about the same. One thread.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use regatta_benchmarks::{Benchmark, RecordedVerdicts, Scoring, Suite};
use regatta_proto::{Evaluator, FileSet, ItemIndex, Transcript};

type Failure = Box<dyn std::error::Error>;

/// A name, what a plan begins with, what is repeated, and what it ends with.
const SHAPES: [(&str, &str, &str, &str); 9] = [
    ("calls", "", "A: [a = f(#b='c', #d=a)]\n", ""),
    ("equals", "A: [", "= ", "]"),
    ("words", "A: [", "a = b ", "]"),
    ("open", "A: [r = ", "f(", "]"),
    ("commas", "A: [r = f(", ", ", ")]"),
    ("spaces", "A: [r = f(a=1,", " ", ")]"),
    ("arguments", "A: [r = f(#z='", "x, ", "')]"),
    ("quotes", "A: [r = f(", "a='", ")]"),
    ("keys", "A: [r = f(", "#aa=b,#c=dd, ", ")]"),
];

const SIZES: [usize; 4] = [1 << 13, 1 << 14, 1 << 15, 1 << 16];

fn scoring(criterion: &mut Criterion) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/appbench");
    let measured = load(&folder).and_then(|suite| doubling(criterion, &*suite));
    assert!(measured.is_ok(), "the examples cannot be read: {measured:?}");
}

fn doubling(criterion: &mut Criterion, suite: &dyn Suite) -> Result<(), Failure> {
    let verdicts = RecordedVerdicts::default();
    for evaluator in [Evaluator::Official, Evaluator::Paper, Evaluator::Exec] {
        let mut group = criterion.benchmark_group(format!("appbench/{evaluator}"));
        for (name, start, part, end) in SHAPES {
            for size in SIZES {
                let plan = format!("{start}{}{end}", part.repeat(size / part.len()));
                let transcript = Transcript::of_recorded(Some(&plan));
                group.throughput(Throughput::Bytes(plan.len() as u64));
                group.bench_function(BenchmarkId::new(name, size), |bencher| {
                    bencher.iter(|| {
                        let scoring = suite.score(ItemIndex(0), &[evaluator], &transcript, &verdicts);
                        assert!(matches!(black_box(scoring), Scoring::Scored(_)), "no plan needs a verdict");
                    });
                });
            }
        }
        group.finish();
    }
    Ok(())
}

fn load(folder: &Path) -> Result<Arc<dyn Suite>, Failure> {
    let benchmark = regatta_appbench::AppBench;
    let mut files = FileSet::from_origin(folder.display().to_string());
    let mut folders: Vec<PathBuf> = vec![folder.to_path_buf()];
    while let Some(inner) = folders.pop() {
        for entry in std::fs::read_dir(inner)? {
            let path = entry?.path();
            let name = path.strip_prefix(folder)?.to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if benchmark.wants(&name) {
                files.insert(name, std::fs::read(&path)?);
            }
        }
    }
    Ok(benchmark.load(&files)?)
}

criterion_group!(benches, scoring);
criterion_main!(benches);
