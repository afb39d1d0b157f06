//! The speed of a sweep in the last minute, and the time that is left at that speed.

use std::collections::VecDeque;
use std::time::Duration;

use regatta_proto::Money;

/// Time over which a speed is measured: long enough for sessions of some seconds, short enough to tell that something has changed.
const OVER: Duration = Duration::from_secs(60);
/// Time without which a speed would be that of a moment.
const OVER_MIN: Duration = Duration::from_secs(3);

/// Sessions and money at the looks of the last minute, oldest first.
#[derive(Debug, Default)]
pub(super) struct Pace(VecDeque<Look>);

#[derive(Debug, Clone, Copy)]
struct Look {
    at: Duration,
    settled: u64,
    spent: Money,
}

impl Pace {
    /// Takes in that `settled` sessions have ended and `spent` was spent, `at` this time since the first look.
    pub(super) fn note(&mut self, at: Duration, settled: u64, spent: Money) {
        self.0.push_back(Look { at, settled, spent });
        // One of before the last minute stays, so that the whole minute is measured.
        while self.0.get(1).is_some_and(|second| second.at + OVER <= at) {
            self.0.pop_front();
        }
    }

    /// Sessions that end each second; `None` for the first moments.
    pub(super) fn sessions_per_second(&self) -> Option<f64> {
        self.over().map(|(first, last, seconds)| last.settled.saturating_sub(first.settled) as f64 / seconds)
    }

    /// Money that is spent each hour; `None` for the first moments.
    pub(super) fn spent_per_hour(&self) -> Option<Money> {
        let (first, last, seconds) = self.over()?;
        let spent = last.spent.0.saturating_sub(first.spent.0);
        Some(Money((spent as f64 * 3600.0 / seconds).round() as u64))
    }

    /// Time after which `left` more sessions have ended; `None` while none end.
    pub(super) fn time_left(&self, left: u64) -> Option<Duration> {
        let seconds = left as f64 / self.sessions_per_second()?;
        Duration::try_from_secs_f64(seconds).ok()
    }

    fn over(&self) -> Option<(&Look, &Look, f64)> {
        let (first, last) = (self.0.front()?, self.0.back()?);
        let time = last.at.saturating_sub(first.at);
        (time >= OVER_MIN).then_some((first, last, time.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(looks: &[(u64, u64, u64)]) -> Pace {
        let mut pace = Pace::default();
        for (seconds, settled, spent) in looks {
            pace.note(Duration::from_secs(*seconds), *settled, Money(*spent));
        }
        pace
    }

    #[test]
    fn the_speed_is_that_of_the_last_minute() {
        let steady = pace(&[(0, 0, 0), (30, 300, 3_000), (60, 600, 6_000), (90, 630, 6_300), (120, 660, 6_600)]);
        assert_eq!(steady.sessions_per_second(), Some(1.0), "of the first 60 seconds nothing counts any more");
        assert_eq!(steady.spent_per_hour(), Some(Money(36_000)));
        assert_eq!(steady.time_left(340), Some(Duration::from_secs(340)));
    }

    #[test]
    fn a_moment_has_no_speed_and_no_end_is_foreseen_of_what_stands_still() {
        assert_eq!(pace(&[(0, 0, 0), (1, 50, 0)]).sessions_per_second(), None);
        let still = pace(&[(0, 5, 0), (10, 5, 0)]);
        assert_eq!((still.sessions_per_second(), still.time_left(3)), (Some(0.0), None));
        assert_eq!(still.time_left(0), None);
    }

    #[test]
    fn sessions_that_are_run_again_make_no_speed_below_zero() {
        assert_eq!(pace(&[(0, 9, 0), (10, 4, 0)]).sessions_per_second(), Some(0.0));
    }
}
