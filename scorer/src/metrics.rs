//! Prometheus metrics of a scorer: results that count, once each, as the ledger recorded them.

use prometheus::{Histogram, HistogramOpts, IntCounter, IntCounterVec, Opts, Registry};

/// Results of this process; the sum over all scorers is the truth of the whole system.
#[derive(Clone)]
pub struct ScorerMetrics {
    /// Sessions recorded, by outcome.
    pub sessions: IntCounterVec,
    /// Attempts that came too late or twice, by kind (`waste`, `repeat`, `handed_over`).
    pub surplus: IntCounterVec,
    /// Tokens of all recorded attempts, by kind (`input`, `cached_input`, `output`, `reasoning`).
    pub tokens: IntCounterVec,
    /// Known cost of all recorded attempts, in nano-dollars.
    pub cost_nanodollars: IntCounter,
    /// Calls whose price is unknown.
    pub unpriced_calls: IntCounter,
    /// Known cost of attempts that did not count, in nano-dollars.
    pub wasted_nanodollars: IntCounter,
    /// Questions sent to judges.
    pub questions: IntCounter,
    /// Reports handled at once.
    pub batch_reports: Histogram,
    /// Reports set aside because their sweep could not be read; a report counts each time.
    pub set_aside: IntCounter,
    /// Batches that failed and were tried again.
    pub failed_batches: IntCounter,
}

impl ScorerMetrics {
    /// Registers the metrics with `registry`, every series at zero.
    ///
    /// # Errors
    /// When they are registered there already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let counter = |name: &str, help: &str| -> Result<IntCounter, prometheus::Error> {
            let counter = IntCounter::new(name, help)?;
            registry.register(Box::new(counter.clone()))?;
            Ok(counter)
        };
        let family =
            |name: &str, help: &str, label: &str, values: &[&str]| -> Result<IntCounterVec, prometheus::Error> {
                let family = IntCounterVec::new(Opts::new(name, help), &[label])?;
                for value in values {
                    family.with_label_values(&[value]);
                }
                registry.register(Box::new(family.clone()))?;
                Ok(family)
            };
        let batch_reports = Histogram::with_opts(
            HistogramOpts::new("regatta_scorer_batch_reports", "Reports handled at once.")
                .buckets(vec![1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]),
        )?;
        registry.register(Box::new(batch_reports.clone()))?;
        Ok(Self {
            sessions: family(
                "regatta_sessions_total",
                "Sessions recorded, by outcome.",
                "outcome",
                &["measured", "model_failure", "not_measured"],
            )?,
            surplus: family(
                "regatta_surplus_attempts_total",
                "Attempts that came too late, twice, or were handed over.",
                "kind",
                &["waste", "repeat", "handed_over", "taken_over"],
            )?,
            tokens: family(
                "regatta_tokens_total",
                "Tokens of all recorded attempts, by kind; cached input is part of input, reasoning of output.",
                "kind",
                &["input", "cached_input", "output", "reasoning"],
            )?,
            cost_nanodollars: counter("regatta_cost_nanodollars_total", "Known cost of all recorded attempts.")?,
            unpriced_calls: counter("regatta_unpriced_calls_total", "Calls whose price is unknown.")?,
            wasted_nanodollars: counter(
                "regatta_wasted_nanodollars_total",
                "Known cost of attempts that did not count.",
            )?,
            questions: counter("regatta_questions_total", "Questions sent to judges.")?,
            batch_reports,
            set_aside: counter(
                "regatta_scorer_set_aside_reports_total",
                "Reports set aside because their sweep could not be read; they come back after a minute, and count each time.",
            )?,
            failed_batches: counter(
                "regatta_scorer_failed_batches_total",
                "Batches that failed and were tried again.",
            )?,
        })
    }
}
