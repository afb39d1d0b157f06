//! The retry schedule of a call, pure.

use std::time::Duration;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use regatta_proto::Retries;

/// The retries of one call. Delays double from the base, with full jitter; an endpoint's Retry-After takes precedence, up to the longest
/// delay. After a refusal by the rate limit, a delay is at least half its bound, because such limits mostly count by the minute, and the
/// tries of the default settings then last longer than that. Waiting for our own permits does not count towards the deadline; only the
/// endpoint's failures do.
#[derive(Debug)]
pub(crate) struct Schedule {
    retries: Retries,
    rng: ChaCha8Rng,
    failed: u32,
}

impl Schedule {
    /// A schedule with jitter derived from `seed`.
    pub(crate) fn new(retries: Retries, seed: u64) -> Self {
        Self { retries, rng: regatta_proto::rng(seed, "llm/retry"), failed: 0 }
    }

    /// Called after each failed try with the time spent on the call so far. Returns the delay before the next try, or `None` to give up.
    pub(crate) fn next_delay(
        &mut self,
        spent: Duration,
        was_refused: bool,
        retry_after: Option<Duration>,
    ) -> Option<Duration> {
        self.failed += 1;
        if self.failed >= self.retries.attempts {
            return None;
        }
        let longest = Duration::from_millis(self.retries.max_delay_ms);
        let delay = match retry_after {
            // All calls are told the same moment; a little jitter keeps them from returning at once.
            Some(asked) => asked.saturating_add(self.jitter(self.retries.base_delay_ms)).min(longest),
            None if was_refused => {
                let half = self.bound_ms(2) / 2;
                Duration::from_millis(half) + self.jitter(half)
            }
            None => self.jitter(self.bound_ms(1)),
        };
        let deadline = Duration::from_millis(self.retries.deadline_ms);
        (spent.saturating_add(delay) <= deadline).then_some(delay)
    }

    /// Upper bound of the next delay, doubled for each failure.
    fn bound_ms(&self, factor: u64) -> u64 {
        let doublings = (self.failed - 1).min(62);
        self.retries.base_delay_ms.saturating_mul(factor << doublings).min(self.retries.max_delay_ms)
    }

    fn jitter(&mut self, bound_ms: u64) -> Duration {
        Duration::from_micros(self.rng.random_range(0..=bound_ms.saturating_mul(1000)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RETRIES: Retries =
        Retries { attempts: 8, base_delay_ms: 500, max_delay_ms: 60_000, deadline_ms: 600_000, quarantine_after: 16 };

    fn millis(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn attempts_count_the_first_try() {
        let mut schedule = Schedule::new(Retries { attempts: 3, ..RETRIES }, 1);
        let next: Vec<bool> = (0..3).map(|_| schedule.next_delay(millis(0), false, None).is_some()).collect();
        assert_eq!(next, [true, true, false]);
    }

    #[test]
    fn equal_seeds_give_equal_delays_and_others_differ() {
        let delays = |seed| {
            let mut schedule = Schedule::new(RETRIES, seed);
            std::iter::from_fn(move || schedule.next_delay(millis(0), false, None)).collect::<Vec<_>>()
        };
        assert_eq!(delays(1), delays(1));
        assert_ne!(delays(1), delays(2));
    }

    #[test]
    fn a_retry_after_is_waited_for_in_full() {
        let delay = Schedule::new(RETRIES, 1).next_delay(millis(0), false, Some(millis(20_000))).unwrap();
        assert!((millis(20_000)..=millis(20_500)).contains(&delay), "{delay:?}");
    }

    #[test]
    fn a_retry_after_beyond_the_longest_delay_is_cut_to_it() {
        let delay = Schedule::new(RETRIES, 1).next_delay(millis(0), false, Some(Duration::from_secs(86_400)));
        assert_eq!(delay, Some(millis(60_000)));
    }

    #[test]
    fn a_rate_limit_by_the_minute_is_outlasted_whatever_the_jitter() {
        for seed in 0..1_000 {
            let mut schedule = Schedule::new(Retries::default(), seed);
            let delays: Vec<Duration> = std::iter::from_fn(|| schedule.next_delay(millis(0), true, None)).collect();
            assert!(delays.iter().sum::<Duration>() > Duration::from_secs(60), "{seed}: {delays:?}");
        }
    }

    #[test]
    fn no_try_begins_after_the_deadline() {
        let asked = Some(millis(59_999));
        assert!(Schedule::new(RETRIES, 1).next_delay(millis(540_000), false, asked).is_some());
        assert!(Schedule::new(RETRIES, 1).next_delay(millis(540_002), false, asked).is_none());
    }

    proptest! {
        #[test]
        fn every_delay_is_within_its_doubled_bound(seed: u64, base in 0u64..5_000, max in 0u64..100_000, attempts in 1u32..100) {
            let retries = Retries { attempts, base_delay_ms: base, max_delay_ms: max, deadline_ms: u64::MAX, quarantine_after: 16 };
            let mut schedule = Schedule::new(retries, seed);
            let mut delays = 0;
            while let Some(delay) = schedule.next_delay(Duration::ZERO, false, None) {
                let bound = base.saturating_mul(1 << delays.min(62)).min(max);
                prop_assert!(delay <= millis(bound));
                delays += 1;
            }
            prop_assert_eq!(delays, attempts - 1);
        }
    }
}
