//! Prometheus metrics of a worker.

use prometheus::core::Collector;
use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts, Registry};

/// Sessions of this process. The calls they make are measured by the `llm` crate.
#[derive(Clone)]
pub struct WorkerMetrics {
    /// Sessions ended, by outcome (`measured`, `model_failure`, `not_measured`, `handed_over`, `dropped`, `stale`).
    pub sessions: IntCounterVec,
    /// Sessions running.
    pub in_flight: IntGauge,
    /// Jobs that had been delivered before, to a worker that did not finish them.
    pub redeliveries: IntCounter,
    /// Batches of reports that could not be published and were left to redelivery.
    pub reports_lost: IntCounter,
    /// Steps of batches, by what they came to (`gathered`, `submitted`, `found` after a doubt, `collected`, `refused`, `lost`, `cancelled`).
    pub batches: IntCounterVec,
    /// Batches that this process is handing in or following.
    pub open_batches: IntGauge,
    /// Endpoints that this process failed to open or to consume the queue of, and tries again.
    pub endpoints_unserved: IntGauge,
}

impl WorkerMetrics {
    /// Registers the metrics with `registry`, every series at zero.
    ///
    /// # Errors
    /// When they are registered there already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        fn registered<C: Collector + Clone + 'static>(registry: &Registry, metric: C) -> Result<C, prometheus::Error> {
            registry.register(Box::new(metric.clone()))?;
            Ok(metric)
        }
        let gauge = |name: &str, help: &str| registered(registry, IntGauge::new(name, help)?);
        let counter = |name: &str, help: &str| registered(registry, IntCounter::new(name, help)?);
        let sessions = IntCounterVec::new(
            Opts::new("regatta_worker_sessions_total", "Sessions ended in this process, by outcome."),
            &["outcome"],
        )?;
        for outcome in ["measured", "model_failure", "not_measured", "handed_over", "dropped", "stale"] {
            sessions.with_label_values(&[outcome]);
        }
        let batches = IntCounterVec::new(
            Opts::new("regatta_worker_batches_total", "Batches of sessions, by what they came to in this process."),
            &["state"],
        )?;
        for state in ["gathered", "submitted", "found", "collected", "refused", "lost", "cancelled"] {
            batches.with_label_values(&[state]);
        }
        Ok(Self {
            batches: registered(registry, batches)?,
            open_batches: gauge(
                "regatta_worker_batches_open",
                "Batches that this process is handing in or following.",
            )?,
            endpoints_unserved: gauge(
                "regatta_worker_endpoints_unserved",
                "Endpoints that this process cannot serve: they could not be opened, or their queue not be consumed, and are tried again.",
            )?,
            sessions: registered(registry, sessions)?,
            in_flight: gauge("regatta_worker_sessions_in_flight", "Sessions running in this process.")?,
            redeliveries: counter(
                "regatta_worker_redeliveries_total",
                "Jobs received that an earlier worker had not finished.",
            )?,
            reports_lost: counter(
                "regatta_worker_report_batches_lost_total",
                "Batches of reports that could not be published; their jobs are delivered again.",
            )?,
        })
    }
}
