//! Differential tests: the released code of a benchmark beside ours, on cases of a seeded generator
//! (`tests/differential`).

use std::path::{Path, PathBuf};
use std::process::Command;

use regatta_benchmarks::Benchmark;

use crate::score_cases;

/// Generates cases with the seed and number of items that `REGATTA_DIFFERENTIAL_SEED` (default 1) and
/// `REGATTA_DIFFERENTIAL_ITEMS` (default 2,000) give, runs the released code on them, and compares every value.
/// `REGATTA_OFFICIAL_` followed by the benchmark's name in capitals gives the checkout of that code; without it the
/// test is skipped with a printed note. `REGATTA_PYTHON` names the interpreter (default `python3`), which needs the
/// packages that the released code imports.
///
/// # Panics
/// If any value differs (all differences are listed), or a driver fails.
pub fn differ(benchmark: &dyn Benchmark, data: &Path) {
    let name = benchmark.name();
    let variable = format!("REGATTA_OFFICIAL_{}", name.as_str().to_uppercase());
    let Some(official) = std::env::var_os(&variable) else {
        println!("skipped: {variable} gives no checkout of the released code of {name}");
        return;
    };
    let or = |variable: &str, default: &str| std::env::var(variable).unwrap_or_else(|_| default.to_owned());
    let place = tempfile::tempdir().unwrap();
    let golden = place.path().join("golden");
    let run = |command: &str, arguments: &[&Path], options: &[&str]| {
        let driver = drivers().join(format!("{name}.py"));
        let mut python = Command::new(or("REGATTA_PYTHON", "python3"));
        python.arg(driver).arg(command).args(arguments).args(options).arg("--data").arg(data);
        if command == "expect" {
            python.arg("--official").arg(&official);
        }
        let output = python.output().unwrap();
        assert!(output.status.success(), "{python:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let (seed, items) = (or("REGATTA_DIFFERENTIAL_SEED", "1"), or("REGATTA_DIFFERENTIAL_ITEMS", "2000"));
    run("generate", &[&golden], &["--seed", &seed, "--count", &items]);
    let cases: Vec<PathBuf> = std::fs::read_dir(&golden).unwrap().map(|entry| entry.unwrap().path()).collect();
    run("expect", &cases.iter().map(PathBuf::as_path).collect::<Vec<_>>(), &[]);
    let files = score_cases(benchmark, data, &golden);
    println!("{name}, seed {seed}, {items} items: {files} files equal");
}

fn drivers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/differential")
}
