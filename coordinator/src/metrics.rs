//! What the coordinator measures.

use prometheus::{GaugeVec, IntCounter, IntGauge, IntGaugeVec, Opts, Registry};

/// The whole system, as the coordinator sees it in the ledger.
#[derive(Clone)]
pub struct CoordinatorMetrics {
    /// Sweeps running.
    pub sweeps_running: IntGauge,
    /// Sessions dispatched and not yet recorded, by queue.
    pub window: IntGaugeVec,
    /// Sessions dispatched by this process.
    pub dispatched: IntCounter,
    /// Times that lost or doubtful jobs were dispatched again.
    pub reconciled: IntCounter,
    /// Forecast cost of running sweeps at their end, in dollars, by sweep and bound (`low`, `expected`, `high`).
    pub forecast: GaugeVec,
    /// What is left of budgets, in dollars, by sweep.
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
    /// Ticks that failed, for instance because the ledger was away; they are repeated.
    pub failed_ticks: IntCounter,
}

impl CoordinatorMetrics {
    /// Registers the metrics with `registry`.
    ///
    /// # Errors
    /// When they are registered there already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            sweeps_running: IntGauge::new("regatta_coordinator_sweeps_running", "Sweeps that are running.")?,
            window: IntGaugeVec::new(
                Opts::new("regatta_coordinator_window_sessions", "Sessions dispatched and not yet recorded, by queue."),
                &["queue"],
            )?,
            dispatched: IntCounter::new(
                "regatta_coordinator_dispatched_total",
                "Sessions dispatched by this process.",
            )?,
            forecast: GaugeVec::new(
                Opts::new("regatta_coordinator_forecast_dollars", "Forecast cost of running sweeps at their end."),
                &["sweep", "bound"],
            )?,
            budget_left: GaugeVec::new(
                Opts::new("regatta_coordinator_budget_left_dollars", "What is left of the budgets of running sweeps."),
                &["sweep"],
            )?,
            leads: IntGauge::new(
                "regatta_coordinator_leads",
                "1 while this process leads, else 0; the sum over all coordinators is 1, or 0 between two leaders.",
            )?,
            budget: GaugeVec::new(
                Opts::new("regatta_coordinator_budget_dollars", "Budgets of running sweeps."),
                &["sweep"],
            )?,
            reports_waiting: IntGauge::new(
                "regatta_coordinator_reports_waiting",
                "Reports that wait for a scorer; every coordinator counts them.",
            )?,
            reports_set_aside: IntGauge::new(
                "regatta_coordinator_reports_set_aside",
                "Reports that are set aside because their sweep cannot be read; every coordinator counts them.",
            )?,
            dead_letters: IntGauge::new(
                "regatta_coordinator_dead_letters",
                "Messages that were delivered too often, or are unreadable; every coordinator counts them.",
            )?,
            reconciled: IntCounter::new(
                "regatta_coordinator_reconciled_total",
                "Times that lost or doubtful jobs were dispatched again.",
            )?,
            failed_ticks: IntCounter::new(
                "regatta_coordinator_failed_ticks_total",
                "Ticks that failed, for instance because the ledger was away; they are repeated.",
            )?,
        };
        registry.register(Box::new(metrics.sweeps_running.clone()))?;
        registry.register(Box::new(metrics.window.clone()))?;
        registry.register(Box::new(metrics.dispatched.clone()))?;
        registry.register(Box::new(metrics.forecast.clone()))?;
        registry.register(Box::new(metrics.budget_left.clone()))?;
        registry.register(Box::new(metrics.leads.clone()))?;
        registry.register(Box::new(metrics.budget.clone()))?;
        registry.register(Box::new(metrics.reports_waiting.clone()))?;
        registry.register(Box::new(metrics.reports_set_aside.clone()))?;
        registry.register(Box::new(metrics.dead_letters.clone()))?;
        registry.register(Box::new(metrics.reconciled.clone()))?;
        registry.register(Box::new(metrics.failed_ticks.clone()))?;
        Ok(metrics)
    }
}
