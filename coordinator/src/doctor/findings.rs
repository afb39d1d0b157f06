//! From the state of a deployment to what is wrong with it.

use regatta_proto::{Money, SweepState};

use super::{Diagnosis, Finding, SweepDiagnosis};

/// A pool that uses less than this part of its limits is a finding.
const FACTOR_LOW: f64 = 0.5;

impl Diagnosis {
    /// Writes the findings down.
    pub(super) fn conclude(&mut self) {
        let mut findings = Vec::new();
        if let Some(reason) = &self.stalled {
            findings.push(finding(
                "coordinator",
                format!("its last look at the sweeps failed: {reason}"),
                "bring that store back; it is tried again every few seconds (docs/runbooks/RegattaTicksFailing.md)",
            ));
        }
        if self.reports_set_aside > 0 {
            findings.push(finding(
                "reports",
                format!("{} reports are set aside because their sweep cannot be read", self.reports_set_aside),
                "bring back the lock or data set that the sweep's finding, or a scorer's warning, names: they are recorded within a minute",
            ));
        }
        if self.dead_letters > 0 {
            findings.push(finding(
                "dead letters",
                format!("{} messages were delivered too often, or cannot be read", self.dead_letters),
                "see docs/runbooks/RegattaDeadLetters.md for where they come from; purge the queue when their sweeps have ended",
            ));
        }
        findings.extend(self.sweeps.iter().flat_map(of_sweep));
        self.findings = findings;
    }
}

fn of_sweep(sweep: &SweepDiagnosis) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |problem: String, next_step: &str| findings.push(finding(sweep.id.as_str(), problem, next_step));
    if let Some(reason) = &sweep.unreadable {
        found(
            format!("it cannot be read: {reason}"),
            "restore what is missing from a backup, or run the version that planned it; else cancel it",
        );
    }
    if sweep.doubtful_shards > 0 {
        found(
            format!("{} shards are in doubt: a coordinator ended while it published their jobs", sweep.doubtful_shards),
            match sweep.is_paused {
                true => "go on with it: regatta resume SWEEP; a minute later what is missing is dispatched again",
                false => {
                    "wait: what is missing is dispatched again when the queues have been empty and quiet for a minute"
                }
            },
        );
    }
    if sweep.running == Some(0) {
        found(
            format!(
                "{} sessions are outstanding, but no job waits and no worker tells of one: their jobs may be lost",
                sweep.outstanding
            ),
            match sweep.is_paused {
                true => {
                    "go on with it: regatta resume SWEEP; three minutes later they are dispatched again by themselves"
                }
                false => {
                    "wait three minutes: they are dispatched again by themselves, if a scorer runs and can reach its stores"
                }
            },
        );
    }
    if sweep.budget.as_ref().is_some_and(|budget| budget.left == Money::ZERO) {
        found(
            "its budget is used up".to_owned(),
            "raise it: regatta resume SWEEP --budget DOLLARS, all that it may cost",
        );
    }
    for queue in &sweep.queues {
        if queue.ready > 0 && queue.consumers == 0 && !sweep.is_paused {
            found(
                format!("{} jobs of endpoint {} wait, and no worker consumes them", queue.ready, queue.endpoint),
                "start a worker that has this endpoint's key and whose policy allows it (docs/runbooks/RegattaQueueNotDraining.md)",
            );
        }
        if let Some(pool) = queue.pool.as_ref().filter(|pool| pool.factor < FACTOR_LOW) {
            let (endpoint, part) = (&queue.endpoint, (pool.factor * 100.0).round());
            found(
                format!("endpoint {endpoint} uses {part} % of its limits since {}: {}", pool.at, pool.reason),
                "ask the provider what it allows, and set `limits` to that (docs/runbooks/RegattaLimitsLowered.md)",
            );
        }
    }
    match sweep.state {
        SweepState::Incomplete => found(
            format!("it has ended, and {} of its {} sessions are not measured", sweep.not_measured, sweep.sessions),
            "look for the cause in report.md, then run the same command again: measured sessions are not repeated",
        ),
        SweepState::StoppedByBudget => found(
            "its budget has stopped it".to_owned(),
            "raise it: regatta resume SWEEP --budget +DOLLARS (SWEEP is the directory of a run); what was paid for is not paid for again",
        ),
        SweepState::Running | SweepState::Tabulating | SweepState::Complete | SweepState::Cancelled => {}
    }
    findings
}

fn finding(about: &str, problem: String, next_step: &str) -> Finding {
    Finding { about: about.to_owned(), problem, next_step: next_step.to_owned() }
}
