//! Metrics of calls: `regatta_llm_…`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prometheus::core::Collector;
use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry,
};
use regatta_proto::{AccountId, EndpointName, Money, Usage};

use crate::errors::{Failure, TABLE, rule};

/// Statuses with a series of their own; others share `other`, so that no endpoint can create series.
const CODES: [u16; 16] = [200, 400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 524, 529];
/// Upper bounds of the latency histogram in seconds, from a simulated endpoint to a slow reasoning model.
const BUCKETS: [f64; 14] = [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 90.0, 300.0];

/// Upper bounds of the histogram of waits for permits in seconds, from no wait to more than a minute's window.
const WAIT_BUCKETS: [f64; 10] = [0.0001, 0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0];

/// Metrics of one process, shared by all its endpoints. The label `endpoint` is an endpoint's name in the spec.
#[derive(Debug, Clone)]
pub struct CallMetrics {
    /// Requests sent, by HTTP status (`none` without an answer) and class (`ok` or the error class). Failed tries count.
    calls: IntCounterVec,
    /// Tokens billed, by kind: `input`, `cached_input` (part of input), `output`, `reasoning` (part of output).
    tokens: IntCounterVec,
    /// Cost of calls with a known price, in nano-dollars, including failed tries as far as reported.
    cost: IntCounterVec,
    /// Answered calls whose cost is unknown.
    unpriced: IntCounterVec,
    /// From sending a request to the last byte of its answer, answered calls only, in seconds.
    latency: HistogramVec,
    /// From sending a request to the first token of its answer, streamed answers only, in seconds.
    first_token: HistogramVec,
    /// Requests sent and not yet answered.
    in_flight: IntGaugeVec,
    /// Retries, by error class.
    retries: IntCounterVec,
    /// Calls that wait for permits.
    waiting: IntGaugeVec,
    /// Seconds from asking for a permit to having it.
    wait: HistogramVec,
    /// Part of its limits that an endpoint's pool uses at present, 0 to 1.
    factor: GaugeVec,
    /// Circuit breakers that are open: their calls wait for an endpoint that cannot be reached, or make one last try.
    breaker_open: IntGaugeVec,
    /// Calls that ended because their request had failed too often in the whole fleet.
    quarantined: IntCounterVec,
    /// Unreserved money of accounts, in nano-dollars. The label `model` is empty for the account of a whole sweep.
    budget_left: IntGaugeVec,
}

impl CallMetrics {
    /// Creates the metrics and registers them.
    ///
    /// # Errors
    /// When `registry` has them already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        fn registered<C: Collector + Clone + 'static>(registry: &Registry, metric: C) -> Result<C, prometheus::Error> {
            registry.register(Box::new(metric.clone()))?;
            Ok(metric)
        }
        let counter = |name: &str, help: &str, labels: &[&str]| {
            registered(registry, IntCounterVec::new(Opts::new(name, help), labels)?)
        };
        let gauge = |name: &str, help: &str, labels: &[&str]| {
            registered(registry, IntGaugeVec::new(Opts::new(name, help), labels)?)
        };
        let histogram = |name: &str, help: &str, buckets: &[f64]| {
            let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
            registered(registry, HistogramVec::new(options, &["endpoint"])?)
        };
        Ok(Self {
            calls: counter(
                "regatta_llm_calls_total",
                "Requests sent, by HTTP status and class of error.",
                &["endpoint", "code", "class"],
            )?,
            tokens: counter("regatta_llm_tokens_total", "Tokens billed, by kind.", &["endpoint", "kind"])?,
            cost: counter(
                "regatta_llm_cost_nanodollars_total",
                "Cost of calls with a known price, in nano-dollars; that of failed tries included, as far as told.",
                &["endpoint"],
            )?,
            unpriced: counter(
                "regatta_llm_unpriced_calls_total",
                "Answered calls whose cost is unknown.",
                &["endpoint"],
            )?,
            latency: histogram(
                "regatta_llm_call_duration_seconds",
                "Time from request to last byte of answered calls.",
                &BUCKETS,
            )?,
            first_token: histogram(
                "regatta_llm_first_token_seconds",
                "Time from request to first token of streamed answers.",
                &BUCKETS,
            )?,
            in_flight: gauge("regatta_llm_calls_in_flight", "Requests sent and not yet answered.", &["endpoint"])?,
            retries: counter("regatta_llm_retries_total", "Tries that were tried again.", &["endpoint", "class"])?,
            waiting: gauge("regatta_llm_permits_waiting", "Calls that wait for permits.", &["endpoint"])?,
            wait: histogram(
                "regatta_llm_permit_wait_seconds",
                "Time from asking for a permit to having it.",
                &WAIT_BUCKETS,
            )?,
            factor: registered(
                registry,
                GaugeVec::new(
                    Opts::new(
                        "regatta_llm_pool_factor",
                        "Part of its limits that the endpoint's pool uses at present; less than 1 after refusals.",
                    ),
                    &["endpoint"],
                )?,
            )?,
            breaker_open: gauge(
                "regatta_llm_breaker_open",
                "Breakers of the endpoint that are open: it cannot be reached from this process, and its calls wait.",
                &["endpoint"],
            )?,
            quarantined: counter(
                "regatta_llm_quarantined_total",
                "Calls that ended because their request had failed too often in the whole fleet.",
                &["endpoint"],
            )?,
            budget_left: gauge(
                "regatta_llm_budget_left_nanodollars",
                "Money of a sweep, or of one of its models, that nobody has reserved or spent, in nano-dollars.",
                &["sweep", "model"],
            )?,
        })
    }

    /// The series of one account.
    pub(crate) fn budget_left(&self, account: &AccountId) -> IntGauge {
        let model = account.model.as_ref().map(ToString::to_string).unwrap_or_default();
        self.budget_left.with_label_values(&[account.sweep.as_str(), &model])
    }

    /// Removes the series of an account without calls, so that the number of series stays bounded.
    pub(crate) fn forget_budget(&self, account: &AccountId) {
        let model = account.model.as_ref().map(ToString::to_string).unwrap_or_default();
        // There is no series if the account was never used.
        let _ = self.budget_left.remove_label_values(&[account.sweep.as_str(), &model]);
    }
}

/// The metrics of one endpoint. Series that every call updates are looked up once.
#[derive(Debug)]
pub(crate) struct EndpointMetrics {
    all: Arc<CallMetrics>,
    endpoint: String,
    sent: AtomicUsize,
    in_flight: IntGauge,
    answered: IntCounter,
    latency: Histogram,
    first_token: Histogram,
    cost: IntCounter,
    unpriced: IntCounter,
    waiting: IntGauge,
    wait: Histogram,
    factor: Gauge,
    quarantined: IntCounter,
    tokens: [IntCounter; 4],
}

/// One request in flight.
#[derive(Debug)]
pub(crate) struct InFlight<'a>(&'a EndpointMetrics);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.sent.fetch_sub(1, Ordering::Relaxed);
        self.0.in_flight.dec();
    }
}

/// One call that waits for a permit.
#[derive(Debug)]
pub(crate) struct Waiting<'a>(&'a EndpointMetrics);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.dec();
    }
}

impl EndpointMetrics {
    /// Initialises the endpoint's series, because a missing series is not zero.
    pub(crate) fn new(all: Arc<CallMetrics>, endpoint: &EndpointName) -> Self {
        let name = endpoint.as_str();
        let factor = all.factor.with_label_values(&[name]);
        factor.set(1.0);
        for row in TABLE.iter().filter(|row| row.retried) {
            let _ = all.retries.with_label_values(&[name, row.word]);
        }
        Self {
            sent: AtomicUsize::new(0),
            in_flight: all.in_flight.with_label_values(&[name]),
            answered: all.calls.with_label_values(&[name, "200", "ok"]),
            latency: all.latency.with_label_values(&[name]),
            first_token: all.first_token.with_label_values(&[name]),
            cost: all.cost.with_label_values(&[name]),
            unpriced: all.unpriced.with_label_values(&[name]),
            waiting: all.waiting.with_label_values(&[name]),
            wait: all.wait.with_label_values(&[name]),
            factor,
            quarantined: all.quarantined.with_label_values(&[name]),
            tokens: ["input", "cached_input", "output", "reasoning"]
                .map(|kind| all.tokens.with_label_values(&[name, kind])),
            endpoint: name.to_owned(),
            all,
        }
    }

    pub(crate) fn begin(&self) -> InFlight<'_> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.in_flight.inc();
        InFlight(self)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    /// Counts a call as waiting for a permit until the guard is dropped.
    pub(crate) fn wait(&self) -> Waiting<'_> {
        self.waiting.inc();
        Waiting(self)
    }

    /// Records the time that a call waited for its permit.
    pub(crate) fn waited(&self, wait: Duration) {
        self.wait.observe(wait.as_secs_f64());
    }

    /// Gauge of the endpoint's circuit breaker.
    pub(crate) fn breaker_open(&self) -> IntGauge {
        self.all.breaker_open.with_label_values(&[self.endpoint.as_str()])
    }

    pub(crate) fn factor(&self, factor: f64) {
        self.factor.set(factor);
    }

    pub(crate) fn quarantined(&self) {
        self.quarantined.inc();
    }

    pub(crate) fn answered(&self, latency: Duration, first_token: Option<Duration>) {
        self.answered.inc();
        self.latency.observe(latency.as_secs_f64());
        if let Some(first_token) = first_token {
            self.first_token.observe(first_token.as_secs_f64());
        }
    }

    pub(crate) fn failed(&self, failure: &Failure, is_retried: bool) {
        let status = failure.status.filter(|status| CODES.contains(status)).map(|status| status.to_string());
        let code = match (failure.status, &status) {
            (None, _) => "none",
            (Some(_), Some(code)) => code,
            (Some(_), None) => "other",
        };
        let class = rule(failure.class).word;
        self.all.calls.with_label_values(&[self.endpoint.as_str(), code, class]).inc();
        if is_retried {
            self.all.retries.with_label_values(&[self.endpoint.as_str(), class]).inc();
        }
    }

    /// Records the usage and cost of an answered call; `None` is an unknown cost.
    pub(crate) fn spent(&self, usage: &Usage, cost: Option<Money>) {
        if cost.is_none() {
            self.unpriced.inc();
        }
        self.billed(usage, cost);
    }

    /// Records tokens and cost, of an answer or of a failed try.
    pub(crate) fn billed(&self, usage: &Usage, cost: Option<Money>) {
        for (series, count) in self.tokens.iter().zip([usage.input, usage.cached_input, usage.output, usage.reasoning])
        {
            if count > 0 {
                series.inc_by(count);
            }
        }
        if let Some(cost) = cost {
            self.cost.inc_by(cost.0);
        }
    }
}
