//! Time to encode one text, by its length, and of two texts at once on two threads, which shows what callers' threads gain in addition to
//! those of the matrix products. `RAYON_NUM_THREADS=1` measures without the latter.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "a bench fails and reports on a terminal")]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use regatta_encoder::SentenceEncoder;
use std::path::{Path, PathBuf};
use std::process::Command;

fn encode(criterion: &mut Criterion) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/minilm.sh");
    let output = Command::new(script).output().expect("the script runs");
    if !output.status.success() {
        println!("skipped: no MiniLM: {}", String::from_utf8_lossy(&output.stderr).trim());
        return;
    }
    let dir = PathBuf::from(String::from_utf8(output.stdout).expect("a path in UTF-8").trim());
    let encoder = SentenceEncoder::open(&dir).expect("the model opens");

    let mut group = criterion.benchmark_group("encode");
    for words in [3, 8, 16, 32, 64, 128, 254] {
        let text = "drawer ".repeat(words);
        group.bench_with_input(BenchmarkId::new("words", words), &text, |bencher, text| {
            bencher.iter(|| encoder.encode(text));
        });
    }
    let text = "drawer ".repeat(16);
    group.bench_function("words/16 on each of 2 threads", |bencher| {
        bencher.iter_custom(|turns| {
            let start = std::time::Instant::now();
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        for _ in 0..turns {
                            assert!(encoder.encode(&text).is_ok());
                        }
                    });
                }
            });
            start.elapsed()
        });
    });
    group.finish();
}

criterion_group!(benches, encode);
criterion_main!(benches);
