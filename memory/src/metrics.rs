//! Metrics of the budget: `regatta_memory_…`.

use std::time::Duration;

use prometheus::{Counter, IntCounter, IntGauge, Registry};

/// Metrics of the one budget of a process.
#[derive(Debug, Clone)]
pub struct ByteMetrics {
    /// The budget.
    pub(crate) limit: IntGauge,
    held: IntGauge,
    held_max: IntGauge,
    waiting: IntGauge,
    waits: IntCounter,
    waited_seconds: Counter,
    refused: IntCounter,
}

impl ByteMetrics {
    /// Registers the metrics with `registry`, at zero.
    ///
    /// # Errors
    /// When they are registered there already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            limit: IntGauge::new(
                "regatta_memory_budget_bytes",
                "Bytes that this process may hold on behalf of sessions (`--memory-budget`).",
            )?,
            held: IntGauge::new("regatta_memory_held_bytes", "Bytes held on behalf of sessions.")?,
            held_max: IntGauge::new(
                "regatta_memory_held_max_bytes",
                "Most bytes held on behalf of sessions at once since the process began.",
            )?,
            waiting: IntGauge::new(
                "regatta_memory_waiting",
                "Reads, messages and sessions that wait until bytes are free; nothing is read for them meanwhile.",
            )?,
            waits: IntCounter::new(
                "regatta_memory_waits_total",
                "Reads, messages and sessions that had to wait until bytes were free.",
            )?,
            waited_seconds: Counter::new(
                "regatta_memory_waited_seconds_total",
                "Time for which they have waited, all together, in seconds.",
            )?,
            refused: IntCounter::new(
                "regatta_memory_refused_total",
                "Answers and requests refused because one session or request may not hold so many bytes.",
            )?,
        };
        for gauge in [&metrics.limit, &metrics.held, &metrics.held_max, &metrics.waiting] {
            registry.register(Box::new(gauge.clone()))?;
        }
        registry.register(Box::new(metrics.waits.clone()))?;
        registry.register(Box::new(metrics.waited_seconds.clone()))?;
        registry.register(Box::new(metrics.refused.clone()))?;
        Ok(metrics)
    }

    pub(crate) fn show(&self, held: u64, held_max: u64, waiting: usize) {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.held.set(number(held));
        self.held_max.set(number(held_max));
        self.waiting.set(number(waiting as u64));
    }

    pub(crate) fn waited(&self, time: Duration) {
        self.waits.inc();
        self.waited_seconds.inc_by(time.as_secs_f64());
    }

    pub(crate) fn refuse(&self) {
        self.refused.inc();
    }
}
