//! The level of a spec, in everything that a sweep leaves behind.

use regatta_proto::{Level, SweepLock};
use serde_json::Value;

use super::harness::{all_measured, documents, lock, summary, sweep, text};
use crate::summary::Summary;
use crate::{USUAL_WIDTH, render_decision, render_tables};

const MODELS: [&str; 2] = ["sim/first", "sim/second"];

fn at(level: f64) -> (Value, Summary, Vec<String>) {
    let sweep = sweep(SweepLock { level: Level::new(level).unwrap(), ..lock(&MODELS) });
    let documents = documents(&sweep, &all_measured);
    let summary = summary(&documents);
    let words = ["report.md", "report.html"].map(|name| text(&documents, name)).to_vec();
    let told = [render_tables(&summary, USUAL_WIDTH), render_decision(&summary, USUAL_WIDTH)];
    let metrics = serde_json::from_str(&text(&documents, "metrics.json")).unwrap();
    (metrics, summary, words.into_iter().chain(told).collect())
}

/// Intervals of values, by what they are of.
fn intervals(metrics: &Value) -> Vec<(f64, f64)> {
    let rows = metrics["metrics"].as_array().unwrap().iter();
    let found: Vec<_> = rows.filter_map(|row| Some((row["low"].as_f64()?, row["high"].as_f64()?))).collect();
    assert!(!found.is_empty());
    found
}

#[test]
fn every_document_says_the_level_of_the_spec_and_no_other() {
    let (metrics, summary, words) = at(0.9);
    assert_eq!((&metrics["level"], summary.level.probability()), (&Value::from(0.9), 0.9));
    for text in &words {
        let of_another = ["95 %", "at most 0.05", "p > 0.05"].into_iter().find(|words| text.contains(words));
        assert_eq!(of_another, None, "{text}");
    }
    let saying = |what: &str| words.iter().filter(|text| text.contains(what)).count();
    assert!(saying("90 %") >= 3 && saying("p > 0.1)") >= 2, "{words:?}");
}

#[test]
fn a_higher_level_widens_every_interval_and_moves_no_value() {
    let (usual, strict) = (at(0.95), at(0.99));
    for ((low, high), (wider_low, wider_high)) in intervals(&usual.0).into_iter().zip(intervals(&strict.0)) {
        assert!(wider_low <= low && high <= wider_high && wider_high - wider_low > high - low);
    }
    let values = |metrics: &Value| -> Vec<Value> {
        metrics["metrics"].as_array().unwrap().iter().map(|row| row["value"].clone()).collect()
    };
    assert_eq!(values(&usual.0), values(&strict.0));
    let of_pairs = |summary: &Summary| -> Vec<(f64, f64)> {
        let pairs = summary.pairs.iter().flat_map(|family| &family.pairs);
        pairs.filter_map(|pair| Some((pair.difference.low?, pair.difference.high?))).collect()
    };
    let pairs: Vec<_> = of_pairs(&usual.1).into_iter().zip(of_pairs(&strict.1)).collect();
    assert!(!pairs.is_empty());
    assert!(pairs.iter().all(|((low, high), (wider_low, wider_high))| wider_low <= low && high <= wider_high));
}

#[test]
fn a_sweep_at_the_usual_level_has_the_lock_that_it_had_before_there_was_a_choice() {
    let yaml = |level: f64| SweepLock { level: Level::new(level).unwrap(), ..lock(&MODELS) }.to_yaml().unwrap();
    assert!(!yaml(0.95).contains("level"), "its digest, and so the sweep's id, stays");
    assert!(yaml(0.9).contains("level: 0.9"));
}
