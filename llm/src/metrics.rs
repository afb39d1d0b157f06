//! What operators see of calls: `regatta_llm_…`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry};
use regatta_proto::{EndpointName, Money, Usage};

use crate::errors::{Failure, word};

/// Statuses with a series of their own; the rest share `other`, so that no endpoint can make up series.
const CODES: [u16; 16] = [200, 400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 524, 529];
/// Upper bounds of the latency histogram, in seconds: from a simulated endpoint to a slow reasoning model.
const BUCKETS: [f64; 14] = [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 90.0, 300.0];

/// Counters of one process, shared by all its endpoints. The label `endpoint` is an endpoint's name in the spec.
#[derive(Debug, Clone)]
pub struct CallMetrics {
    /// Requests sent, by HTTP status (`none` without an answer) and class (`ok` or the error class). Failed tries count.
    calls: IntCounterVec,
    /// Tokens billed, by kind: `input`, `cached_input` (part of input), `output`, `reasoning` (part of output).
    tokens: IntCounterVec,
    /// Cost of answered calls with a known price, in nano-dollars.
    cost: IntCounterVec,
    /// Answered calls whose cost is unknown.
    unpriced: IntCounterVec,
    /// From sending a request to the last byte of its answer, answered calls only, in seconds.
    latency: HistogramVec,
    /// Requests sent and not yet answered.
    in_flight: IntGaugeVec,
    /// Tries that were tried again, by class of error.
    retries: IntCounterVec,
}

impl CallMetrics {
    /// Creates the metrics and registers them.
    ///
    /// # Errors
    /// When `registry` holds them already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            let counter = IntCounterVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(counter.clone()))?;
            Ok::<_, prometheus::Error>(counter)
        };
        let latency = HistogramVec::new(
            HistogramOpts::new(
                "regatta_llm_call_duration_seconds",
                "Time from request to last byte of answered calls.",
            )
            .buckets(BUCKETS.to_vec()),
            &["endpoint"],
        )?;
        registry.register(Box::new(latency.clone()))?;
        let in_flight = IntGaugeVec::new(
            Opts::new("regatta_llm_calls_in_flight", "Requests sent and not yet answered."),
            &["endpoint"],
        )?;
        registry.register(Box::new(in_flight.clone()))?;
        Ok(Self {
            calls: counter(
                "regatta_llm_calls_total",
                "Requests sent, by HTTP status and class of error.",
                &["endpoint", "code", "class"],
            )?,
            tokens: counter("regatta_llm_tokens_total", "Tokens billed, by kind.", &["endpoint", "kind"])?,
            cost: counter(
                "regatta_llm_cost_nanodollars_total",
                "Cost of answered calls with a known price, in nano-dollars.",
                &["endpoint"],
            )?,
            unpriced: counter(
                "regatta_llm_unpriced_calls_total",
                "Answered calls whose cost is unknown.",
                &["endpoint"],
            )?,
            latency,
            in_flight,
            retries: counter("regatta_llm_retries_total", "Tries that were tried again.", &["endpoint", "class"])?,
        })
    }
}

/// The metrics of one endpoint.
#[derive(Debug)]
pub(crate) struct EndpointMetrics {
    all: Arc<CallMetrics>,
    endpoint: String,
    in_flight: AtomicUsize,
}

/// One request in flight.
#[derive(Debug)]
pub(crate) struct InFlight<'a>(&'a EndpointMetrics);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.0.all.in_flight.with_label_values(&[&self.0.endpoint]).dec();
    }
}

impl EndpointMetrics {
    /// Starts the endpoint's series at zero: a missing series is not zero.
    pub(crate) fn new(all: Arc<CallMetrics>, endpoint: &EndpointName) -> Self {
        let name = endpoint.as_str();
        let _ = all.calls.with_label_values(&[name, "200", "ok"]);
        for kind in ["input", "cached_input", "output", "reasoning"] {
            let _ = all.tokens.with_label_values(&[name, kind]);
        }
        let _ = all.cost.with_label_values(&[name]);
        let _ = all.unpriced.with_label_values(&[name]);
        let _ = all.latency.with_label_values(&[name]);
        let _ = all.in_flight.with_label_values(&[name]);
        Self { endpoint: name.to_owned(), all, in_flight: AtomicUsize::new(0) }
    }

    pub(crate) fn begin(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        self.all.in_flight.with_label_values(&[&self.endpoint]).inc();
        InFlight(self)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(crate) fn answered(&self, latency: Duration) {
        self.all.calls.with_label_values(&[self.endpoint.as_str(), "200", "ok"]).inc();
        self.all.latency.with_label_values(&[&self.endpoint]).observe(latency.as_secs_f64());
    }

    pub(crate) fn failed(&self, failure: &Failure, is_retried: bool) {
        let status = failure.status.filter(|status| CODES.contains(status)).map(|status| status.to_string());
        let code = match (failure.status, &status) {
            (None, _) => "none",
            (Some(_), Some(code)) => code,
            (Some(_), None) => "other",
        };
        let class = word(failure.class);
        self.all.calls.with_label_values(&[self.endpoint.as_str(), code, class]).inc();
        if is_retried {
            self.all.retries.with_label_values(&[self.endpoint.as_str(), class]).inc();
        }
        if let Some(usage) = &failure.usage {
            self.tokens(usage);
        }
    }

    pub(crate) fn spent(&self, usage: &Usage, cost: Option<Money>) {
        self.tokens(usage);
        match cost {
            Some(cost) => self.all.cost.with_label_values(&[&self.endpoint]).inc_by(cost.0),
            None => self.all.unpriced.with_label_values(&[&self.endpoint]).inc(),
        }
    }

    fn tokens(&self, usage: &Usage) {
        for (kind, count) in [
            ("input", usage.input),
            ("cached_input", usage.cached_input),
            ("output", usage.output),
            ("reasoning", usage.reasoning),
        ] {
            if count > 0 {
                self.all.tokens.with_label_values(&[self.endpoint.as_str(), kind]).inc_by(count);
            }
        }
    }
}
