//! Prometheus metrics of traces.

use prometheus::{IntCounter, IntCounterVec, Opts, Registry};

/// Spans of this process.
#[derive(Debug, Clone)]
pub struct TraceMetrics {
    /// Spans that the collector has taken.
    pub exported: IntCounter,
    /// Spans that were dropped, by reason (`full`, `collector`).
    pub dropped: IntCounterVec,
}

impl TraceMetrics {
    /// Registers the metrics with `registry`, every series at zero.
    ///
    /// # Errors
    /// When they are registered there already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let dropped = IntCounterVec::new(
            Opts::new(
                "regatta_traces_spans_dropped_total",
                "Spans that were dropped: `full`, because the collector is slower than they come; `collector`, because it is away or refused them.",
            ),
            &["reason"],
        )?;
        for reason in ["full", "collector"] {
            dropped.with_label_values(&[reason]);
        }
        let metrics = Self {
            exported: IntCounter::new("regatta_traces_spans_exported_total", "Spans that the collector has taken.")?,
            dropped,
        };
        registry.register(Box::new(metrics.exported.clone()))?;
        registry.register(Box::new(metrics.dropped.clone()))?;
        Ok(metrics)
    }
}
