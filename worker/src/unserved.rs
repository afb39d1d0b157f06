//! Endpoints that this process cannot serve: when they are tried again, what is logged of them, and their count.

use std::time::Duration;

use prometheus::IntGauge;
use regatta_backends::Outage;

/// Pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// Longest pause: an endpoint whose key or file is there at last is not waited for much longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Failures of one endpoint since it could last be served. Counted in the gauge from the first one until this is dropped.
pub(crate) struct Unserved {
    queue: String,
    outage: Outage,
    reason: Option<String>,
    gauge: IntGauge,
}

impl Unserved {
    /// No failure yet of the endpoint whose jobs are in `queue`.
    pub(crate) const fn new(queue: String, gauge: IntGauge) -> Self {
        Self { queue, outage: Outage::new(FIRST_PAUSE, LONGEST_PAUSE), reason: None, gauge }
    }

    /// Notes a failure, and returns the pause before the next try. It is logged if its reason is new, and else less and less often: specs of
    /// strangers would fill the log otherwise.
    pub(crate) fn fails(&mut self, reason: String) -> Duration {
        let failed = self.outage.fails();
        if failed.is_told || self.reason.as_ref() != Some(&reason) {
            let (queue, tries, next_s) = (&self.queue, failed.tries, failed.pause.as_secs());
            tracing::error!(error = reason, queue, tries, next_s, "cannot serve this endpoint");
        }
        if self.reason.replace(reason).is_none() {
            self.gauge.inc();
        }
        failed.pause
    }
}

impl Drop for Unserved {
    fn drop(&mut self) {
        if self.reason.is_some() {
            self.gauge.dec();
        }
    }
}
