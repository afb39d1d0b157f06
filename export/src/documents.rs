//! The documents of a run, as far as exports need them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use regatta_proto::{
    AttemptId, BenchmarkName, Evaluator, Flags, ItemId, ModelRef, Money, Setting, SweepId, SweepState, Usage,
};
use serde::Deserialize;

/// A line of `results.jsonl`.
#[derive(Debug, Clone, Deserialize)]
pub struct ResultLine {
    /// Position of the cell in the grid.
    pub cell: u32,
    /// Benchmark.
    pub benchmark: BenchmarkName,
    /// Setting of the benchmark.
    pub setting: Setting,
    /// Model under test.
    pub model: ModelRef,
    /// Repetition, from 0.
    pub trial: u16,
    /// The item.
    pub item: ItemId,
    /// Task of the benchmark that it belongs to.
    pub task: String,
    /// `measured`, `model_failure`, `not_measured` or `not_run`.
    pub outcome: String,
    /// Cause for which it was not measured, or of the model's failure.
    pub cause: Option<String>,
    /// Endings of the model's answers.
    pub flags: Flags,
    /// Values by evaluator and name; `None` without a score.
    pub scores: Option<BTreeMap<Evaluator, BTreeMap<String, f64>>>,
}

/// A line of `attempts.jsonl`.
#[derive(Debug, Clone, Deserialize)]
pub struct AttemptLine {
    /// Position of the cell in the grid.
    pub cell: u32,
    /// The item, if the data set still has it.
    pub item: Option<ItemId>,
    /// Number of the attempt within its session.
    pub attempt: u32,
    /// The attempt.
    pub id: AttemptId,
    /// `recorded`, `open`, `lost` and so on.
    pub state: String,
    /// State at the end.
    pub outcome: Option<String>,
    /// Cause of the outcome.
    pub cause: Option<String>,
    /// `true` if the money was wasted: the attempt was lost, or another one counts in its place.
    pub wasted: bool,
    /// Worker that tried.
    pub worker: String,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Tokens; `None` where those of a call are unknown.
    pub usage: Option<Usage>,
    /// The part of the tokens that is known, if `usage` is `None`.
    pub known_usage: Option<Usage>,
    /// `None` where the price of a call is unknown.
    pub cost_nanodollars: Option<Money>,
    /// The part of the cost that is known.
    pub known_cost_nanodollars: Money,
    /// Calls without a known price.
    pub unpriced_calls: u64,
    /// On top, at most, for failed tries.
    #[serde(default)]
    pub maybe_spent_nanodollars: Money,
    /// On top, at most, for a call in flight.
    pub at_most_nanodollars: Option<Money>,
    /// Answered calls.
    pub calls: u32,
    /// Part of `calls` that was answered from the response cache; `None` where they were not counted.
    #[serde(default)]
    pub cached_calls: Option<u32>,
    /// Failed tries.
    pub retries: u32,
    /// Time in calls, in microseconds; `None` where no call was answered, or all of them from the response cache.
    pub latency_us: Option<u64>,
    /// Models that answered; of the attempt that counts only.
    pub served: Option<Vec<String>>,
    /// Segment of its transcript.
    pub segment: Option<String>,
    /// Line in it, from 0.
    pub line: Option<u32>,
}

/// `summary.json`, as far as logs repeat it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Summary {
    pub(crate) sweep: SweepId,
    pub(crate) state: SweepState,
    pub(crate) created_at: Timestamp,
    pub(crate) ended_at: Timestamp,
    pub(crate) rows: Vec<SummaryRow>,
}

impl Summary {
    /// Checks what somebody else may have written: no row and no metric has more sessions with a score than sessions.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (at, row) in self.rows.iter().enumerate() {
            let of_metrics = (0..).zip(&row.metrics).map(|(metric, of)| (Some(metric), of.scored, of.total));
            let of_row = (None, row.sessions.scored(), row.sessions.total);
            let refused = std::iter::once(of_row).chain(of_metrics).find(|(_, scored, total)| scored > total);
            if let Some((metric, scored, total)) = refused {
                let metric = metric.map(|metric: usize| format!(".metrics[{metric}]")).unwrap_or_default();
                return Err(format!("rows[{at}]{metric} has {scored} sessions with a score, of {total}"));
            }
        }
        Ok(())
    }
}

/// A benchmark, setting and model.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SummaryRow {
    pub(crate) benchmark: BenchmarkName,
    pub(crate) setting: Setting,
    pub(crate) model: ModelRef,
    pub(crate) simulated: bool,
    pub(crate) judge: Option<ModelRef>,
    pub(crate) items: u32,
    pub(crate) sessions: SessionCounts,
    pub(crate) coverage: f64,
    pub(crate) metrics: Vec<SummaryMetric>,
}

/// Sessions by how they ended.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct SessionCounts {
    pub(crate) total: u64,
    pub(crate) measured: u64,
    pub(crate) model_failures: u64,
    pub(crate) not_run: u64,
}

impl SessionCounts {
    pub(crate) const fn scored(&self) -> u64 {
        self.measured + self.model_failures
    }
}

/// A metric over all items and trials.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SummaryMetric {
    pub(crate) evaluator: Evaluator,
    pub(crate) metric: String,
    #[serde(default)]
    pub(crate) of_sums: bool,
    pub(crate) headline: bool,
    pub(crate) value: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) n: u32,
    pub(crate) scored: u64,
    pub(crate) total: u64,
    pub(crate) bound_low: Option<f64>,
    pub(crate) bound_high: Option<f64>,
    /// Too little was measured for the value to be shown among results: then its bounds are.
    #[serde(default)]
    pub(crate) withheld: bool,
}
