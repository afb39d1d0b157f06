//! Runs made by hand.

use std::collections::BTreeMap;

use regatta_benchmarks::{Better, Measure, Unit};
use regatta_proto::{Digest, Evaluator, SweepLock};
use regatta_report::{BenchmarkMeasures, Measures, MetricDefinition, Summary};
use serde_json::json;

use super::{AttemptLine, EndedRun};
use crate::results::ResultLine;

/// A run of one model over items that are right (1) or wrong (0), or have no score; every item is a cluster by itself.
pub(crate) struct Made<'a> {
    pub(crate) model: &'a str,
    pub(crate) regatta: &'a str,
    /// By item, `item-000` on.
    pub(crate) scores: Vec<Option<f64>>,
    pub(crate) nanodollars: u64,
    pub(crate) latency_us: u64,
    pub(crate) output_tokens: u64,
    pub(crate) served: &'a str,
    /// Items, the first ones, whose session the response cache answered.
    pub(crate) cached: usize,
}

impl Default for Made<'_> {
    fn default() -> Self {
        Self {
            model: "openai/gpt-5",
            regatta: "0.1.0",
            scores: Vec::new(),
            nanodollars: 2_000_000,
            latency_us: 1_500_000,
            output_tokens: 200,
            served: "gpt-5-2026-01-01",
            cached: 0,
        }
    }
}

impl Made<'_> {
    pub(crate) fn run(self, name: &str) -> EndedRun {
        let items = self.scores.len();
        let id = |at: usize| format!("item-{at:03}");
        let scored = self.scores.iter().flatten().count();
        let lock: SweepLock = serde_json::from_value(json!({
            "v": 1, "regatta": self.regatta, "name": "nightly", "seed": 7, "trials": 1,
            "benchmarks": { "worfbench": {
                "dataset": "0".repeat(64), "settings": ["two-shot"], "evaluators": ["official"], "items": { "two-shot": items },
            } },
            "endpoints": { "openai": { "kind": "openai" } },
            "models": [{ "id": self.model }],
            "price_sources": ["unknown"],
        }))
        .unwrap();
        let line = |(at, score): (usize, &Option<f64>)| -> ResultLine {
            serde_json::from_value(json!({
                "cell": 0, "benchmark": "worfbench", "setting": "two-shot", "model": self.model, "trial": 0, "item": id(at),
                "outcome": if score.is_some() { "measured" } else { "not_measured" }, "cause": null,
                "scores": score.map(|score| json!({ "official": { "success": score } })),
            }))
            .unwrap()
        };
        let attempt = |at: usize| -> AttemptLine {
            serde_json::from_value(json!({
                "id": format!("w1-0-{at}-1"), "cell": 0, "item": id(at), "wasted": false, "cost_nanodollars": self.nanodollars,
                "calls": 1, "cached_calls": u32::from(at < self.cached), "retries": 0,
                "latency_us": (at >= self.cached).then_some(self.latency_us),
                "usage": { "input": 900, "output": self.output_tokens }, "served": [self.served],
            }))
            .unwrap()
        };
        let value = self.scores.iter().flatten().sum::<f64>() / scored.max(1) as f64;
        let coverage = scored as f64 / items.max(1) as f64;
        let none = json!({ "known": 0, "unknown_calls": 0 });
        let spending = json!({
            "attempts": 0, "calls": 0, "retries": 0, "usage": { "input": 0, "output": 0 }, "cost": none, "wasted_attempts": 0,
            "wasted_usage": { "input": 0, "output": 0 }, "wasted": none, "lost_calls_at_most": 0, "unmeasured": none,
        });
        let sessions = json!({ "total": items, "measured": scored, "model_failures": 0, "not_measured": items - scored, "not_run": 0 });
        let summary: Summary = serde_json::from_value(json!({
            "v": 1, "sweep": name.rsplit('/').next(), "state": "complete", "regatta": self.regatta, "created_at": "2026-01-01T00:00:00Z",
            "ended_at": "2026-01-01T01:00:00Z", "wall_seconds": 3600.0, "trials": 1, "sessions": sessions,
            "spending": spending, "judging": { "usage": { "input": 0, "output": 0 }, "cost": none }, "notes": [],
            "rows": [{
                "benchmark": "worfbench", "setting": "two-shot", "model": self.model, "simulated": false, "items": items,
                "sessions": sessions, "coverage": coverage, "spending": spending,
                "metrics": [{
                    "evaluator": "official", "metric": "success", "unit": "percent", "headline": true, "value": value, "low": null,
                    "high": null, "n": scored, "scored": scored, "total": items, "coverage": coverage, "bound_low": null,
                    "bound_high": null,
                }],
            }],
        }))
        .unwrap();
        let definition = MetricDefinition {
            evaluator: Evaluator::Official,
            metric: "success".to_owned(),
            measure: Measure::Mean { value: "success".to_owned() },
            low: Some(0.0),
            high: Some(1.0),
            better: Better::Higher,
            unit: Unit::Percent,
            if_empty: None,
            void_if: None,
            missing_if: BTreeMap::new(),
            headline: true,
        };
        let of_benchmark = BenchmarkMeasures {
            groups: BTreeMap::new(),
            settings: BTreeMap::from([("two-shot".parse().unwrap(), vec![definition])]),
        };
        EndedRun {
            name: name.to_owned(),
            lock,
            summary,
            results: self.scores.iter().enumerate().map(line).collect(),
            results_digest: Digest::of(name.as_bytes()),
            attempts: (0..items).map(attempt).collect(),
            measures: Measures {
                v: Measures::VERSION,
                benchmarks: BTreeMap::from([("worfbench".parse().unwrap(), of_benchmark)]),
            },
            directory: None,
        }
    }
}

/// `count` items of which the first `right` are right.
pub(crate) fn right(right: usize, count: usize) -> Vec<Option<f64>> {
    (0..count).map(|at| Some(f64::from(u8::from(at < right)))).collect()
}
