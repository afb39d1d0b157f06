//! An outage as a loop lives through it that tries again and again: its pauses, and the lines in the log that it is worth.

use std::time::Duration;

use tokio::time::Instant;

/// Time of an outage after which it is told of once more; each further line comes when that time has doubled.
const TOLD_AGAIN_AFTER: Duration = Duration::from_secs(10);
/// Longest time between two lines about an outage.
const TOLD_AT_LEAST_EVERY: Duration = Duration::from_secs(600);

/// Failures of a loop since its last success.
#[derive(Debug)]
pub struct Outage {
    first_pause: Duration,
    longest_pause: Duration,
    state: Option<State>,
}

#[derive(Debug)]
struct State {
    since: Instant,
    tries: u32,
    pause: Duration,
    told_at: Instant,
    told_again_after: Duration,
}

/// A failed try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedTry {
    /// Pause before the next try; twice the one before.
    pub pause: Duration,
    /// Number of failed tries in a row, this one included.
    pub tries: u32,
    /// Time since the first of them.
    pub lasts: Duration,
    /// `true` if a line in the log is due: after the first failure, and then less and less often.
    pub is_told: bool,
}

impl Outage {
    /// No outage yet. Pauses grow from `first_pause` to `longest_pause`.
    #[must_use]
    pub const fn new(first_pause: Duration, longest_pause: Duration) -> Self {
        Self { first_pause, longest_pause, state: None }
    }

    /// The same for a loop with pauses of its own.
    #[cfg(feature = "cluster")]
    pub(crate) const fn with_own_pauses() -> Self {
        Self::new(Duration::ZERO, Duration::ZERO)
    }

    /// Notes a failed try.
    pub fn fails(&mut self) -> FailedTry {
        let now = Instant::now();
        let Some(state) = &mut self.state else {
            let (pause, told_again_after) = (self.first_pause, TOLD_AGAIN_AFTER);
            self.state = Some(State { since: now, tries: 1, pause, told_at: now, told_again_after });
            return FailedTry { pause, tries: 1, lasts: Duration::ZERO, is_told: true };
        };
        state.tries = state.tries.saturating_add(1);
        state.pause = (state.pause * 2).clamp(self.first_pause, self.longest_pause);
        let is_told = now.duration_since(state.told_at) >= state.told_again_after;
        if is_told {
            state.told_at = now;
            state.told_again_after = (state.told_again_after * 2).min(TOLD_AT_LEAST_EVERY);
        }
        FailedTry { pause: state.pause, tries: state.tries, lasts: now.duration_since(state.since), is_told }
    }

    /// Notes that a part was done before the next failure: tries are counted anew, and pauses begin with the first one. Lines stay as rare.
    pub const fn goes_on(&mut self) {
        if let Some(state) = &mut self.state {
            state.tries = 0;
            state.pause = Duration::ZERO;
        }
    }

    /// Notes a success. Returns the time since the first failure, if the last try had failed.
    pub fn ends(&mut self) -> Option<Duration> {
        self.state.take().map(|state| state.since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_the_longest_and_begin_anew_after_a_success() {
        let mut outage = Outage::new(SECOND, SECOND * 5);
        let mut pauses = |tries| (0..tries).map(|_| outage.fails().pause.as_secs()).collect::<Vec<_>>();
        assert_eq!(pauses(5), [1, 2, 4, 5, 5]);
        assert_eq!(outage.ends(), Some(Duration::ZERO));
        assert_eq!(outage.ends(), None, "it is told of once");
        assert_eq!(outage.fails().pause, SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_part_that_was_done_pauses_and_tries_begin_anew_and_lines_stay_rare() {
        let mut outage = Outage::new(SECOND, SECOND * 5);
        assert!(outage.fails().is_told);
        outage.fails();
        outage.goes_on();
        let failed = outage.fails();
        assert_eq!((failed.pause, failed.tries, failed.is_told), (SECOND, 1, false));
        assert_eq!(outage.fails().pause, SECOND * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn an_hour_of_failures_every_second_is_worth_a_dozen_lines() {
        let mut outage = Outage::new(SECOND, SECOND);
        let mut told = Vec::new();
        for _ in 0..3600 {
            let failed = outage.fails();
            if failed.is_told {
                told.push(failed.lasts.as_secs());
            }
            tokio::time::advance(SECOND).await;
        }
        assert_eq!(told, [0, 10, 30, 70, 150, 310, 630, 1230, 1830, 2430, 3030]);
        assert_eq!(outage.ends(), Some(SECOND * 3600));
    }
}
