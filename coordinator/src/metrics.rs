//! Prometheus metrics of the coordinator.

use prometheus::core::Collector;
use prometheus::{GaugeVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};
use regatta_proto::ScheduleName;

/// The whole system, as the coordinator sees it in the ledger.
#[derive(Clone)]
pub struct CoordinatorMetrics {
    /// Sweeps running.
    pub sweeps_running: IntGauge,
    /// Sessions dispatched and not yet recorded, by queue.
    pub window: IntGaugeVec,
    /// Sessions dispatched by this process.
    pub dispatched: IntCounter,
    /// Warnings that sessions are outstanding while no job waits and no worker tells of one.
    pub missing: IntCounter,
    /// Times that lost or doubtful jobs were dispatched again.
    pub reconciled: IntCounter,
    /// Forecast cost of running sweeps at their end, in dollars, by sweep and bound (`low`, `expected`, `high`).
    pub forecast: GaugeVec,
    /// Money left of budgets, in dollars, by sweep.
    pub budget_left: GaugeVec,
    /// 1 while this process leads, else 0; the sum over all coordinators is 1, or 0 between two leaders.
    pub leads: IntGauge,
    /// Budgets of running sweeps, in dollars, by sweep.
    pub budget: GaugeVec,
    /// Reports that wait for a scorer.
    pub reports_waiting: IntGauge,
    /// Reports that are set aside because their sweep cannot be read.
    pub reports_set_aside: IntGauge,
    /// Messages that were delivered too often, or are unreadable.
    pub dead_letters: IntGauge,
    /// Ticks of schedules by schedule and what became of them (`started`, `ended`, `missed`, `refused`).
    pub schedule_ticks: IntCounterVec,
    /// Age of the oldest tick that waits for its turn, in seconds, by schedule; 0 where none waits.
    pub schedule_waits: GaugeVec,
    /// Tries to send notices about schedules by result (`sent`, `failed`, `given_up`).
    pub notices: IntCounterVec,
    /// Ticks that failed, for instance because the ledger was away; they are repeated.
    pub failed_ticks: IntCounter,
}

impl CoordinatorMetrics {
    /// Registers the metrics with `registry`.
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
        let gauges = |options: Opts, labels: &[&str]| registered(registry, GaugeVec::new(options, labels)?);
        let counters = |options: Opts, labels: &[&str]| registered(registry, IntCounterVec::new(options, labels)?);
        let metrics = Self {
            sweeps_running: gauge("regatta_coordinator_sweeps_running", "Sweeps that are running.")?,
            window: registered(
                registry,
                IntGaugeVec::new(
                    Opts::new(
                        "regatta_coordinator_window_sessions",
                        "Sessions dispatched and not yet recorded, by queue.",
                    ),
                    &["queue"],
                )?,
            )?,
            dispatched: counter("regatta_coordinator_dispatched_total", "Sessions dispatched by this process.")?,
            forecast: gauges(
                Opts::new(
                    "regatta_coordinator_forecast_dollars",
                    "Forecast cost of running sweeps at their end; `low` alone while a model or a judge was not asked enough.",
                ),
                &["sweep", "bound"],
            )?,
            budget_left: gauges(
                Opts::new("regatta_coordinator_budget_left_dollars", "What is left of the budgets of running sweeps."),
                &["sweep"],
            )?,
            leads: gauge(
                "regatta_coordinator_leads",
                "1 while this process leads, else 0; the sum over all coordinators is 1, or 0 between two leaders.",
            )?,
            budget: gauges(Opts::new("regatta_coordinator_budget_dollars", "Budgets of running sweeps."), &["sweep"])?,
            reports_waiting: gauge(
                "regatta_coordinator_reports_waiting",
                "Reports that wait for a scorer; every coordinator counts them.",
            )?,
            reports_set_aside: gauge(
                "regatta_coordinator_reports_set_aside",
                "Reports that are set aside because their sweep cannot be read; every coordinator counts them.",
            )?,
            dead_letters: gauge(
                "regatta_coordinator_dead_letters",
                "Messages that were delivered too often, or are unreadable; every coordinator counts them.",
            )?,
            missing: counter(
                "regatta_coordinator_missing_jobs_total",
                "Warnings that sessions are outstanding while no job waits and no worker tells of one.",
            )?,
            reconciled: counter(
                "regatta_coordinator_reconciled_total",
                "Times that lost or doubtful jobs were dispatched again.",
            )?,
            schedule_ticks: counters(
                Opts::new(
                    "regatta_coordinator_schedule_ticks_total",
                    "Ticks of schedules by what became of them: `started`, `ended`, `missed`, `refused`.",
                ),
                &["schedule", "result"],
            )?,
            schedule_waits: gauges(
                Opts::new(
                    "regatta_coordinator_schedule_waits_seconds",
                    "Age of the oldest tick of a schedule that waits for its turn; 0 where none waits.",
                ),
                &["schedule"],
            )?,
            notices: counters(
                Opts::new(
                    "regatta_coordinator_notices_total",
                    "Tries to send notices about schedules by result: `sent`, `failed` (tried again), `given_up`.",
                ),
                &["result"],
            )?,
            failed_ticks: counter(
                "regatta_coordinator_failed_ticks_total",
                "Ticks that failed, for instance because the ledger was away; they are repeated.",
            )?,
        };
        for result in ["sent", "failed", "given_up"] {
            metrics.notices.with_label_values(&[result]);
        }
        Ok(metrics)
    }

    /// Counts ticks of a schedule.
    pub(crate) fn note_tick(&self, schedule: &ScheduleName, result: &str, ticks: u32) {
        // A series that appears with its first event shows no increase.
        for result in ["started", "ended", "missed", "refused"] {
            self.schedule_ticks.with_label_values(&[schedule.as_str(), result]);
        }
        self.schedule_ticks.with_label_values(&[schedule.as_str(), result]).inc_by(u64::from(ticks));
    }
}
