//! `measures.json`: what a comparison of runs needs beside their `results.jsonl`, so that it needs no data set.

use std::collections::BTreeMap;

use regatta_benchmarks::{Better, Measure, Metric, Unit};
use regatta_catalog::Sweep;
use regatta_proto::{BenchmarkName, Evaluator, ItemId, Setting};
use serde::{Deserialize, Serialize};

use crate::tabulation::GroupResult;

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Version of this document.
    pub v: u32,
    /// Measures by benchmark.
    pub benchmarks: BTreeMap<BenchmarkName, BenchmarkMeasures>,
}

/// Metrics and clusters of a benchmark.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BenchmarkMeasures {
    /// Groups of items that are not independent, as turns of one conversation; an item without one is by itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<ItemId, String>,
    /// Metrics of each setting, those of the benchmark's default evaluator first.
    pub settings: BTreeMap<Setting, Vec<MetricDefinition>>,
}

/// A metric, and how it comes from the values of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricDefinition {
    /// Scoring rule.
    pub evaluator: Evaluator,
    /// Name of the metric.
    pub metric: String,
    /// Formula over the sessions' values.
    pub measure: Measure,
    /// Smallest value; absent where there is none.
    pub low: Option<f64>,
    /// Largest value; absent where there is none.
    pub high: Option<f64>,
    /// Direction in which the metric improves.
    pub better: Better,
    /// Unit in which people read it.
    pub unit: Unit,
    /// Value where there is nothing to divide by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_empty: Option<f64>,
    /// A value that says that nothing can be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void_if: Option<String>,
    /// By a value of `measure`, another that says that the session should have it and has none, so that it is missing in the metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing_if: BTreeMap<String, String>,
    /// `true` if leaderboards show it.
    pub headline: bool,
}

impl Measures {
    /// Version this build writes.
    pub const VERSION: u32 = 1;

    /// Reads `measures.json`.
    ///
    /// # Errors
    /// When the bytes are not the JSON of one.
    pub fn from_json(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    pub(crate) fn of(sweep: &Sweep, groups: &[GroupResult]) -> Self {
        let mut benchmarks: BTreeMap<BenchmarkName, BenchmarkMeasures> = BTreeMap::new();
        for group in groups {
            let benchmark = benchmarks.entry(group.first.benchmark.clone()).or_default();
            if benchmark.settings.contains_key(&group.first.setting) {
                continue;
            }
            let items = group.selected.iter().filter_map(|index| sweep.item(&group.first, *index));
            benchmark.groups.extend(items.filter_map(|item| Some((item.id.clone(), item.group.as_ref()?.to_string()))));
            let definition = |(at, (evaluator, metric)): (usize, &(Evaluator, Metric))| {
                MetricDefinition::new(*evaluator, metric, group.headline.contains(&at))
            };
            let metrics = group.keys.iter().enumerate().map(definition).collect();
            benchmark.settings.insert(group.first.setting.clone(), metrics);
        }
        Self { v: Self::VERSION, benchmarks }
    }
}

impl BenchmarkMeasures {
    /// The definition of a metric of `setting`.
    #[must_use]
    pub fn definition(&self, setting: &Setting, evaluator: Evaluator, metric: &str) -> Option<&MetricDefinition> {
        let of_setting = self.settings.get(setting)?;
        of_setting.iter().find(|of| of.evaluator == evaluator && of.metric == metric)
    }
}

impl MetricDefinition {
    pub(super) fn new(evaluator: Evaluator, metric: &Metric, headline: bool) -> Self {
        let finite = |end: f64| end.is_finite().then_some(end);
        Self {
            evaluator,
            metric: metric.name.clone(),
            measure: metric.measure.clone(),
            low: finite(metric.range.0),
            high: finite(metric.range.1),
            better: metric.better,
            unit: metric.unit,
            if_empty: metric.if_empty,
            void_if: metric.void_if.clone(),
            missing_if: metric.missing_if.clone(),
            headline,
        }
    }

    pub(crate) fn metric(&self) -> Metric {
        Metric {
            name: self.metric.clone(),
            measure: self.measure.clone(),
            range: (self.low.unwrap_or(f64::NEG_INFINITY), self.high.unwrap_or(f64::INFINITY)),
            better: self.better,
            unit: self.unit,
            if_empty: self.if_empty,
            void_if: self.void_if.clone(),
            missing_if: self.missing_if.clone(),
            headline: self.headline,
        }
    }
}
