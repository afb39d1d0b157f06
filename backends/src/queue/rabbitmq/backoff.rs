//! Delays between tries to reach the broker.

use std::time::Duration;

use regatta_proto::Digest;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// Delays that double up to a limit, each shortened by up to half at random, so that a fleet does not reconnect at the same moment.
#[derive(Debug, Clone)]
pub(super) struct Backoff {
    seed: u64,
    purpose: String,
    attempt: u32,
    /// Number of all delays returned, so that the jitter does not repeat after a reset.
    drawn: u64,
}

impl Backoff {
    pub(super) fn new(seed: u64, purpose: &str) -> Self {
        Self { seed, purpose: purpose.to_owned(), attempt: 0, drawn: 0 }
    }

    /// The next delay.
    pub(super) fn next(&mut self) -> Duration {
        let full = FIRST.saturating_mul(1 << self.attempt.min(16)).min(LONGEST);
        self.attempt = self.attempt.saturating_add(1);
        self.drawn += 1;
        let (seed, drawn) = (self.seed.to_le_bytes(), self.drawn.to_le_bytes());
        let random = Digest::of_parts([seed.as_slice(), self.purpose.as_bytes(), &drawn]).bytes()[0];
        full - full.mul_f64(f64::from(random) / 512.0)
    }

    /// Resets the delay after a success.
    pub(super) fn reset(&mut self) {
        self.attempt = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn delays_grow_to_a_limit_and_keep_at_least_half_of_it(seed: u64) {
            let mut backoff = Backoff::new(seed, "test");
            for attempt in 0..40_u32 {
                let full = FIRST.saturating_mul(1 << attempt.min(16)).min(LONGEST);
                let delay = backoff.next();
                prop_assert!(delay <= full && delay >= full / 2, "attempt {attempt}: {delay:?}");
            }
            backoff.reset();
            prop_assert!(backoff.next() <= FIRST);
        }
    }

    #[test]
    fn processes_with_different_seeds_do_not_wait_in_step() {
        let delays = |seed| {
            let mut backoff = Backoff::new(seed, "test");
            (0..8).map(|_| backoff.next()).collect::<Vec<_>>()
        };
        assert_ne!(delays(1), delays(2));
        assert_eq!(delays(1), delays(1));
    }
}
