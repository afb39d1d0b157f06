//! Pace of the live sweep: answers are delayed so that it lasts, and its limit by the minute is below what it would send.

use std::time::Duration;

use crate::workload::CONCURRENCY;

/// Time of a call without a delay: the simulator's median is 200 ms.
const CALL_MS: u64 = 225;
/// Part of the requests in a minute, in percent, that the limit allows: the sweep would exceed it in every minute without faults. What is not
/// allowed is sent a quarter of a minute later, within which nothing may be recorded.
const ALLOWED_PERCENT: u64 = 75;

/// A delay, and the limit that goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Delay of each answer.
    pub(crate) delay: Duration,
    /// Requests in a minute that the spec allows.
    pub(crate) requests_per_minute: u64,
}

impl Pace {
    /// Pace at which `calls` take `length`, or as long as they need, when as many are under way as the spec allows.
    pub(crate) fn over(calls: u64, length: Duration) -> Self {
        let at_once = u64::from(CONCURRENCY);
        let length_ms = (length.as_millis() as u64).max(calls * CALL_MS / at_once).max(1);
        let of_call_ms = length_ms * at_once / calls.max(1);
        Self {
            delay: Duration::from_millis(of_call_ms.saturating_sub(CALL_MS)),
            requests_per_minute: (calls * 60_000 * ALLOWED_PERCENT / 100 / length_ms).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_without_faults_would_exceed_its_limit_in_its_first_minute() {
        for calls in [400, 2_000, 16_000] {
            let Pace { delay, requests_per_minute } = Pace::over(calls, Duration::from_secs(75));
            let call_ms = CALL_MS + delay.as_millis() as u64;
            let in_minute = (60_000 * u64::from(CONCURRENCY) / call_ms).min(calls);
            assert!(
                in_minute * 4 > requests_per_minute * 5,
                "{in_minute} in a minute, and {requests_per_minute} allowed"
            );
        }
    }

    #[test]
    fn more_calls_than_fit_into_the_time_take_longer() {
        let of_many = Pace::over(16_000, Duration::from_secs(75));
        assert_eq!((of_many.delay, of_many.requests_per_minute), (Duration::ZERO, 3_200));
    }
}
