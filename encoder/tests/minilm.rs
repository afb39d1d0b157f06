//! The real model against numbers that were computed elsewhere. Skipped, with a message, without the model or the benchmark data.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "the helpers of tests fail as tests do")]

use regatta_encoder::{SentenceEncoder, cosine_micro};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};

/// The model, opened once for all tests of this file.
static MINILM: LazyLock<Option<Arc<SentenceEncoder>>> = LazyLock::new(|| {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/minilm.sh");
    let output = Command::new(script).output().unwrap();
    if !output.status.success() {
        println!("skipped: no MiniLM: {}", String::from_utf8_lossy(&output.stderr).trim());
        return None;
    }
    let dir = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    Some(Arc::new(SentenceEncoder::open(&dir).unwrap()))
});

/// The directory of benchmark data: `REGATTA_SHARED`, or beside the workspace.
fn golden() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = std::env::var_os("REGATTA_SHARED").map_or_else(beside, PathBuf::from);
    let golden = shared.join("benchmarks/worfbench/golden");
    if !golden.is_dir() {
        println!("skipped: no benchmark data at {}", golden.display());
        return None;
    }
    Some(golden)
}

/// The lines of every `judge.jsonl`, in the order of the cases.
fn judge_lines(golden: &Path) -> Vec<Value> {
    let mut cases: Vec<_> = std::fs::read_dir(golden).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    let files = cases.iter().map(|case| case.join("judge.jsonl")).filter(|file| file.is_file());
    files
        .flat_map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
        })
        .collect()
}

/// Vectors by text, each computed once.
struct Vectors<'a> {
    encoder: &'a SentenceEncoder,
    known: HashMap<String, Vec<f32>>,
}

impl Vectors<'_> {
    fn of(&mut self, text: &str) -> Vec<f32> {
        if let Some(vector) = self.known.get(text) {
            return vector.clone();
        }
        let vector = self.encoder.encode(text).unwrap();
        self.known.insert(text.to_owned(), vector.clone());
        vector
    }
}

fn texts(line: &Value, key: &str) -> Vec<String> {
    line[key].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
fn published_example_sentences_have_the_published_similarities() {
    let Some(encoder) = MINILM.as_deref() else { return };
    let [lovely, sunny, stadium] =
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
            .map(|text| encoder.encode(text).unwrap());
    // The model's page gives the similarities with four decimals.
    for (a, b, published) in [(&lovely, &sunny, 6660), (&lovely, &stadium, 1046), (&sunny, &stadium, 1411)] {
        let micro = cosine_micro(a, b);
        assert_eq!((f64::from(micro) / 100.0).round() as i32, published, "{micro}");
    }
}

#[test]
fn similarities_equal_those_of_the_golden_files_to_two_millionths() {
    let (Some(encoder), Some(golden)) = (MINILM.as_deref(), golden()) else { return };
    let mut vectors = Vectors { encoder, known: HashMap::new() };
    let lines = judge_lines(&golden);
    let matrices: Vec<_> = lines.iter().filter(|line| line.get("sim").is_some()).collect();
    let (mut pairs, mut worst) = (0, 0);
    for line in matrices.iter().step_by(matrices.len().div_ceil(60)) {
        let (predicted, gold) = (texts(line, "pred_texts"), texts(line, "gold_texts"));
        for (row, a) in predicted.iter().enumerate() {
            for (column, b) in gold.iter().enumerate() {
                let expected = (line["sim"][row][column].as_f64().unwrap() * 1e6).round() as i32;
                let found = cosine_micro(&vectors.of(a), &vectors.of(b));
                assert!((found - expected).abs() <= 2, "{found} instead of {expected} for {a:?} and {b:?}");
                worst = worst.max((found - expected).abs());
                pairs += 1;
            }
        }
    }
    println!("{pairs} pairs of {} texts, largest difference {worst} millionths", vectors.known.len());
    assert!(pairs > 500, "only {pairs} pairs were compared");
}

#[test]
fn vectors_equal_the_golden_embeddings() {
    let (Some(encoder), Some(golden)) = (MINILM.as_deref(), golden()) else { return };
    let lines = judge_lines(&golden);
    let embeddings: Vec<_> = lines.iter().filter(|line| line.get("embedding").is_some()).collect();
    assert!(embeddings.len() > 100);
    for line in embeddings.iter().step_by(3) {
        let found = encoder.encode(line["text"].as_str().unwrap()).unwrap();
        let expected = line["embedding"].as_array().unwrap();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((f64::from(*found) - expected.as_f64().unwrap()).abs() < 2e-6, "{line}");
        }
    }
}

#[test]
fn text_is_cut_after_256_tokens() {
    let Some(encoder) = MINILM.as_deref() else { return };
    let words = |count: usize| "word ".repeat(count);
    let full = encoder.encode(&words(254)).unwrap();
    assert_eq!(encoder.encode(&words(1000)).unwrap(), full);
    assert_ne!(encoder.encode(&words(253)).unwrap(), full);
}

#[test]
fn vector_is_the_same_bit_for_bit_on_every_thread() {
    let Some(encoder) = MINILM.clone() else { return };
    let text = "Open the drawer and take the book";
    let first = encoder.encode(text).unwrap();
    let others: Vec<_> = (0..4)
        .map(|turn| {
            let encoder = Arc::clone(&encoder);
            std::thread::spawn(move || {
                encoder.encode(&"something else ".repeat(turn * 20)).unwrap();
                encoder.encode(text).unwrap()
            })
        })
        .collect();
    for other in others {
        assert!(other.join().unwrap().iter().map(|x| x.to_bits()).eq(first.iter().map(|x| x.to_bits())));
    }
}

#[test]
fn model_says_what_it_is() {
    let Some(encoder) = MINILM.as_deref() else { return };
    assert_eq!(encoder.dimensions(), 384);
    assert_eq!(encoder.digest().len(), 64);
    assert!(!encoder.name().is_empty());
    let length: f64 = encoder.encode("").unwrap().iter().map(|x| f64::from(*x).powi(2)).sum();
    assert!((length - 1.0).abs() < 1e-6, "also an empty text has a unit vector");
}
