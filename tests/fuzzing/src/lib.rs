//! Bodies of the fuzz targets: functions from bytes to nothing that panic when a law is broken.
//!
//! `fuzz/` has libFuzzer call them; `tests/fuzz_inputs.rs` calls them with every seed and every input that was ever found. The first byte of an
//! input chooses among the parsers of its target, so a new parser is a further arm of the target that it belongs to, and a seed.
#![expect(clippy::unwrap_used, clippy::panic, reason = "only fuzzers and tests use it; a panic is what they look for")]

mod answers;
mod batches;
mod benchmarks;
mod documents;
mod edits;
mod files;
mod input;
mod origins;
mod pages;
mod providers;
mod python;
mod requests;
mod runs;
mod runtime;
mod transcripts;

use std::sync::LazyLock;

/// A fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name of the target and of its folders of inputs.
    pub name: &'static str,
    /// Runs one input.
    ///
    /// # Panics
    /// When a parser panics, or breaks a law that it must obey.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 7] = [
    Target { name: "answers", run: answers::run },
    Target { name: "documents", run: documents::run },
    Target { name: "files", run: files::run },
    Target { name: "providers", run: providers::run },
    Target { name: "python", run: python::run },
    Target { name: "requests", run: requests::run },
    Target { name: "transcripts", run: transcripts::run },
];

/// Loads all data that targets read inputs with. A fuzzer does it before the first input, which would be called too slow for it otherwise.
pub fn load() {
    LazyLock::force(&answers::LOADED);
    LazyLock::force(&files::BENCHMARKS);
    LazyLock::force(&files::DECLARED);
    LazyLock::force(&requests::SUBMISSION);
    LazyLock::force(&runs::SUMMARIES);
    LazyLock::force(&transcripts::RIGHT);
    LazyLock::force(&transcripts::COMPACT);
}

/// Runs one input of the target `name`.
///
/// # Panics
/// When there is no such target, or the input breaks a law.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.unwrap_or_else(|| panic!("no target {name}")).run)(data);
}
