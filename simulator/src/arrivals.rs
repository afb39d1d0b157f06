//! Times of requests.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::sliding_minute::{MINUTE, SlidingMinute};

/// Most seconds stored for the endpoint and for each model, the latest ones: an hour of steady load.
const MAX_SECONDS: usize = 3600;
/// Resolution of times; a minute has at most 60,000 distinct ones.
const GRAIN: Duration = Duration::from_millis(1);

/// Requests that arrived within one second. Serialised as a list: `[second, requests, tokens]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u64, u64)", into = "(u32, u64, u64)")]
pub struct Arrivals {
    /// Whole seconds since the first request to the endpoint.
    pub second: u32,
    /// Number of requests, with any outcome.
    pub requests: u64,
    /// Tokens of the prompts, and of the answers, even of those that were not sent.
    pub tokens: u64,
}

/// The maximum within any sliding minute, with a resolution of a millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BusiestMinute {
    /// Maximum number of requests.
    pub requests: u64,
    /// Maximum number of prompt and generated tokens, not necessarily in the same minute.
    pub tokens: u64,
}

impl From<(u32, u64, u64)> for Arrivals {
    fn from((second, requests, tokens): (u32, u64, u64)) -> Self {
        Self { second, requests, tokens }
    }
}

impl From<Arrivals> for (u32, u64, u64) {
    fn from(Arrivals { second, requests, tokens }: Arrivals) -> Self {
        (second, requests, tokens)
    }
}

/// The arrivals of an endpoint.
#[derive(Debug)]
pub(crate) struct ArrivalLog {
    first: Option<Instant>,
    minute: SlidingMinute,
    busiest: BusiestMinute,
    seconds: Seconds,
}

impl Default for ArrivalLog {
    fn default() -> Self {
        Self {
            first: None,
            minute: SlidingMinute::with_grain(GRAIN),
            busiest: BusiestMinute::default(),
            seconds: Seconds::default(),
        }
    }
}

impl ArrivalLog {
    /// Counts a request of `tokens`; returns the second of its arrival.
    pub(crate) fn add(&mut self, now: Instant, tokens: u64) -> u32 {
        let first = *self.first.get_or_insert(now);
        self.minute.forget(now);
        self.minute.add(now, tokens);
        self.busiest.requests = self.busiest.requests.max(self.minute.requests());
        self.busiest.tokens = self.busiest.tokens.max(self.minute.tokens());
        let second = u32::try_from(now.duration_since(first).as_secs()).unwrap_or(u32::MAX);
        self.seconds.add(second, tokens);
        second
    }

    /// `true` if the first request arrived at least a minute before `now`.
    pub(crate) fn is_after_first_minute(&self, now: Instant) -> bool {
        self.first.is_some_and(|first| now.duration_since(first) >= MINUTE)
    }

    pub(crate) const fn busiest(&self) -> BusiestMinute {
        self.busiest
    }

    pub(crate) fn seconds(&self) -> Vec<Arrivals> {
        self.seconds.list()
    }
}

/// Arrivals by second; seconds without any are left out.
#[derive(Debug, Default)]
pub(crate) struct Seconds(VecDeque<Arrivals>);

impl Seconds {
    pub(crate) fn add(&mut self, second: u32, tokens: u64) {
        match self.0.back_mut() {
            // Two requests may be counted in the reverse order of their arrival.
            Some(last) if last.second >= second => {
                last.requests += 1;
                last.tokens += tokens;
            }
            _ => {
                if self.0.len() == MAX_SECONDS {
                    self.0.pop_front();
                }
                self.0.push_back(Arrivals { second, requests: 1, tokens });
            }
        }
    }

    pub(crate) fn list(&self) -> Vec<Arrivals> {
        self.0.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_counted_by_second_since_the_first_and_by_the_busiest_minute() {
        let start = Instant::now();
        let mut log = ArrivalLog::default();
        for (milliseconds, tokens) in [(0, 5), (900, 5), (1_000, 1), (59_999, 1), (60_000, 1), (200_000, 1)] {
            log.add(start + Duration::from_millis(milliseconds), tokens);
        }
        let seconds: Vec<(u32, u64, u64)> = log.seconds().into_iter().map(Into::into).collect();
        assert_eq!(seconds, [(0, 2, 10), (1, 1, 1), (59, 1, 1), (60, 1, 1), (200, 1, 1)]);
        assert_eq!(log.busiest(), BusiestMinute { requests: 4, tokens: 12 });
    }

    #[test]
    fn the_first_minute_begins_with_the_first_request() {
        let start = Instant::now();
        let mut log = ArrivalLog::default();
        assert!(!log.is_after_first_minute(start + Duration::from_secs(100)));
        log.add(start, 1);
        assert!(!log.is_after_first_minute(start + Duration::from_millis(59_999)));
        assert!(log.is_after_first_minute(start + Duration::from_secs(60)));
    }

    #[test]
    fn only_the_latest_seconds_are_remembered() {
        let mut seconds = Seconds::default();
        for second in 0..MAX_SECONDS as u32 + 2 {
            seconds.add(second, 1);
        }
        let list = seconds.list();
        assert_eq!((list.len(), list[0].second), (MAX_SECONDS, 2));
    }

    #[test]
    fn arrivals_are_three_numbers_on_the_wire() {
        let arrivals = Arrivals { second: 3, requests: 2, tokens: 40 };
        assert_eq!(serde_json::to_string(&arrivals).unwrap(), "[3,2,40]");
        assert_eq!(serde_json::from_str::<Arrivals>("[3,2,40]").unwrap(), arrivals);
    }
}
