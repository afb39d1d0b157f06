//! Requests and tokens of the last sixty seconds.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Length of the window.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// Requests that arrived within the last minute.
#[derive(Debug)]
pub(crate) struct SlidingMinute {
    grain: Duration,
    entries: VecDeque<Entry>,
    requests: u64,
    tokens: u64,
}

#[derive(Debug)]
struct Entry {
    at: Instant,
    requests: u64,
    tokens: u64,
}

impl SlidingMinute {
    /// Stores the moment of every request.
    pub(crate) const fn exact() -> Self {
        Self::with_grain(Duration::ZERO)
    }

    /// Merges requests that arrive within `grain` of the first of them, which bounds the memory by the number of grains in a minute. It may
    /// count less than an exact one, never more.
    pub(crate) const fn with_grain(grain: Duration) -> Self {
        Self { grain, entries: VecDeque::new(), requests: 0, tokens: 0 }
    }

    /// Removes requests that arrived a minute before `now` or earlier.
    pub(crate) fn forget(&mut self, now: Instant) {
        while let Some(first) = self.entries.front().filter(|first| now.duration_since(first.at) >= MINUTE) {
            self.requests -= first.requests;
            self.tokens -= first.tokens;
            self.entries.pop_front();
        }
    }

    /// Counts a request of `tokens` at `now`.
    pub(crate) fn add(&mut self, now: Instant, tokens: u64) {
        self.requests += 1;
        self.tokens += tokens;
        match self.entries.back_mut() {
            Some(last) if now.duration_since(last.at) < self.grain => {
                last.requests += 1;
                last.tokens += tokens;
            }
            _ => self.entries.push_back(Entry { at: now, requests: 1, tokens }),
        }
    }

    pub(crate) const fn requests(&self) -> u64 {
        self.requests
    }

    pub(crate) const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Time until `is_enough` holds for the remaining requests and tokens, if none arrives meanwhile; `None` if it does not even hold for
    /// zero.
    pub(crate) fn time_until(&self, now: Instant, is_enough: impl Fn(u64, u64) -> bool) -> Option<Duration> {
        let (mut requests, mut tokens) = (self.requests, self.tokens);
        if is_enough(requests, tokens) {
            return Some(Duration::ZERO);
        }
        for entry in &self.entries {
            requests -= entry.requests;
            tokens -= entry.tokens;
            if is_enough(requests, tokens) {
                return Some(MINUTE.saturating_sub(now.duration_since(entry.at)));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_is_forgotten_a_minute_after_it_came() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let mut minute = SlidingMinute::exact();
        minute.add(at(0), 10);
        minute.add(at(20), 5);
        minute.forget(at(59));
        assert_eq!((minute.requests(), minute.tokens()), (2, 15));
        minute.forget(at(60));
        assert_eq!((minute.requests(), minute.tokens()), (1, 5));
    }

    #[test]
    fn the_time_until_there_is_room_is_that_until_enough_is_forgotten() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let mut minute = SlidingMinute::exact();
        minute.add(at(0), 10);
        minute.add(at(20), 5);
        assert_eq!(minute.time_until(at(30), |requests, _| requests <= 2), Some(Duration::ZERO));
        assert_eq!(minute.time_until(at(30), |requests, _| requests <= 1), Some(Duration::from_secs(30)));
        assert_eq!(minute.time_until(at(30), |_, tokens| tokens <= 4), Some(Duration::from_secs(50)));
        assert_eq!(minute.time_until(at(30), |_, _| false), None);
    }

    proptest! {
        #[test]
        fn an_exact_minute_counts_what_it_should_and_a_coarse_one_no_more(
            steps in proptest::collection::vec((0u64..9_000, 0u64..100), 1..80),
        ) {
            let mut now = Instant::now();
            let mut all = Vec::new();
            let (mut exact, mut coarse) = (SlidingMinute::exact(), SlidingMinute::with_grain(Duration::from_secs(2)));
            for (milliseconds, tokens) in steps {
                now += Duration::from_millis(milliseconds);
                all.push((now, tokens));
                for minute in [&mut exact, &mut coarse] {
                    minute.forget(now);
                    minute.add(now, tokens);
                }
                let recent = all.iter().filter(|(at, _)| now.duration_since(*at) < MINUTE);
                let expected = recent.fold((0, 0), |(requests, sum), (_, tokens)| (requests + 1, sum + tokens));
                prop_assert_eq!((exact.requests(), exact.tokens()), expected);
                prop_assert!(coarse.requests() <= expected.0 && coarse.tokens() <= expected.1);
                prop_assert!(coarse.entries.len() <= 31);
            }
        }
    }
}
