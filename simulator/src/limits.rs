//! Limits of concurrent requests, and of requests and tokens per minute.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use regatta_proto::Simulation;
use tokio::time::Instant;

use crate::api_error::ApiError;
use crate::sliding_minute::{MINUTE, SlidingMinute};

/// Advised wait after too many concurrent requests, because the end of a request is not known in advance.
const CONCURRENCY_PAUSE: Duration = Duration::from_secs(1);

/// The limits of an endpoint, and their current use. Refused requests use nothing.
#[derive(Debug)]
pub(crate) struct Limits {
    requests: Option<u64>,
    tokens: Option<u64>,
    concurrency: Option<u32>,
    minute: Mutex<SlidingMinute>,
    in_flight: AtomicU32,
    most_in_flight: AtomicU32,
}

/// One of the limits; the names are the fields of [`Simulation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Requests,
    Tokens,
    Concurrency,
}

/// Reason why a request is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Excess {
    pub(crate) limit: Limit,
    /// Time until a request like this one would be admitted; `None` if none ever is.
    pub(crate) wait: Option<Duration>,
}

/// The remaining parts of the limits per minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) requests: Option<Meter>,
    pub(crate) tokens: Option<Meter>,
}

/// The remaining part of one limit per minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meter {
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    /// Time until the whole limit is available again, if no request arrives meanwhile.
    pub(crate) reset: Duration,
}

impl Limit {
    pub(crate) const ALL: [Self; 3] = [Self::Requests, Self::Tokens, Self::Concurrency];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests_per_minute",
            Self::Tokens => "tokens_per_minute",
            Self::Concurrency => "concurrency",
        }
    }
}

impl Limits {
    pub(crate) fn new(simulation: &Simulation) -> Self {
        Self {
            requests: simulation.requests_per_minute.map(u64::from),
            tokens: simulation.tokens_per_minute,
            concurrency: simulation.concurrency,
            minute: Mutex::new(SlidingMinute::exact()),
            in_flight: AtomicU32::new(0),
            most_in_flight: AtomicU32::new(0),
        }
    }

    /// Admits a request of `tokens` at `now`; the caller must call [`Self::leave`] at its end.
    ///
    /// # Errors
    /// The limit that is exceeded.
    pub(crate) fn admit(&self, now: Instant, tokens: u64) -> Result<(), Excess> {
        let mut minute = (self.requests.is_some() || self.tokens.is_some()).then(|| self.minute());
        if let Some(minute) = &mut minute {
            minute.forget(now);
            let has_request = |used: u64| self.requests.is_none_or(|limit| used < limit);
            let has_tokens = |used: u64| self.tokens.is_none_or(|limit| used.saturating_add(tokens) <= limit);
            let limit = match (has_request(minute.requests()), has_tokens(minute.tokens())) {
                (true, true) => None,
                (false, _) => Some(Limit::Requests),
                (true, false) => Some(Limit::Tokens),
            };
            if let Some(limit) = limit {
                let wait = minute.time_until(now, |requests, tokens| has_request(requests) && has_tokens(tokens));
                return Err(Excess { limit, wait });
            }
        }
        let has_place = |places: u32| self.concurrency.is_none_or(|limit| places < limit).then(|| places + 1);
        match self.in_flight.fetch_update(Ordering::Relaxed, Ordering::Relaxed, has_place) {
            Ok(before) => self.most_in_flight.fetch_max(before + 1, Ordering::Relaxed),
            Err(_) => return Err(Excess { limit: Limit::Concurrency, wait: Some(CONCURRENCY_PAUSE) }),
        };
        if let Some(minute) = &mut minute {
            minute.add(now, tokens);
        }
        Ok(())
    }

    /// Ends an admitted request.
    pub(crate) fn leave(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// Most admitted requests at the same time so far.
    pub(crate) fn most_in_flight(&self) -> u32 {
        self.most_in_flight.load(Ordering::Relaxed)
    }

    /// The remaining limits at `now`.
    pub(crate) fn standing(&self, now: Instant) -> Standing {
        let mut minute = self.minute();
        minute.forget(now);
        let reset = minute.time_until(now, |requests, _| requests == 0).unwrap_or(MINUTE);
        let meter = |limit: u64, used: u64| Meter { limit, remaining: limit.saturating_sub(used), reset };
        Standing {
            requests: self.requests.map(|limit| meter(limit, minute.requests())),
            tokens: self.tokens.map(|limit| meter(limit, minute.tokens())),
        }
    }

    fn minute(&self) -> MutexGuard<'_, SlidingMinute> {
        self.minute.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Excess {
    /// The error for the client.
    pub(crate) fn into_error(self) -> ApiError {
        let seconds = self.wait.map(|wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
        let (kind, what) = match self.limit {
            Limit::Requests => ("requests", "too many requests in the last minute"),
            Limit::Tokens => ("tokens", "too many tokens in the last minute"),
            Limit::Concurrency => ("requests", "too many requests at once"),
        };
        let message = match seconds {
            Some(seconds) => format!("{what}; try again in {seconds} s"),
            None => "this request alone has more tokens than the limit of a minute; send a shorter one".to_owned(),
        };
        ApiError { kind, ..ApiError::rate_limited(seconds, message) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limits(requests: Option<u32>, tokens: Option<u64>, concurrency: Option<u32>) -> Limits {
        let limits = Simulation {
            requests_per_minute: requests,
            tokens_per_minute: tokens,
            concurrency,
            ..Simulation::default()
        };
        Limits::new(&limits)
    }

    fn refused(limit: Limit, seconds: u64) -> Result<(), Excess> {
        Err(Excess { limit, wait: Some(Duration::from_secs(seconds)) })
    }

    #[test]
    fn a_place_becomes_free_a_minute_after_it_was_taken() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let limits = limits(Some(2), None, None);
        assert_eq!(limits.admit(at(0), 1), Ok(()));
        assert_eq!(limits.admit(at(20), 1), Ok(()));
        assert_eq!(limits.admit(at(30), 1), refused(Limit::Requests, 30));
        assert_eq!(limits.admit(at(60), 1), Ok(()));
        assert_eq!(limits.admit(at(61), 1), refused(Limit::Requests, 19));
    }

    #[test]
    fn the_wait_for_tokens_lasts_until_there_are_enough_for_this_request() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let limits = limits(None, Some(100), None);
        assert_eq!(limits.admit(at(0), 40), Ok(()));
        assert_eq!(limits.admit(at(10), 40), Ok(()));
        assert_eq!(limits.admit(at(20), 60), refused(Limit::Tokens, 40));
        assert_eq!(limits.admit(at(20), 61), refused(Limit::Tokens, 50));
        assert_eq!(limits.admit(at(20), 101), Err(Excess { limit: Limit::Tokens, wait: None }));
        assert_eq!(limits.admit(at(20), 20), Ok(()));
    }

    #[test]
    fn whoever_leaves_makes_room_for_another() {
        let now = Instant::now();
        let limits = limits(None, None, Some(2));
        assert_eq!((limits.admit(now, 1), limits.admit(now, 1)), (Ok(()), Ok(())));
        assert_eq!(limits.admit(now, 1), refused(Limit::Concurrency, 1));
        limits.leave();
        assert_eq!(limits.admit(now, 1), Ok(()));
        assert_eq!(limits.most_in_flight(), 2);
    }

    #[test]
    fn a_request_that_finds_no_place_uses_nothing_of_the_minute() {
        let now = Instant::now();
        let limits = limits(Some(10), Some(100), Some(1));
        assert_eq!(limits.admit(now, 30), Ok(()));
        assert!(limits.admit(now, 30).is_err());
        let Standing { requests, tokens } = limits.standing(now + Duration::from_secs(15));
        assert_eq!(requests, Some(Meter { limit: 10, remaining: 9, reset: Duration::from_secs(45) }));
        assert_eq!(tokens, Some(Meter { limit: 100, remaining: 70, reset: Duration::from_secs(45) }));
    }

    proptest! {
        #[test]
        fn no_minute_holds_more_than_the_limits_and_a_wait_is_as_long_as_said(
            (requests, tokens) in (1u32..5, 1u64..200),
            steps in proptest::collection::vec((0u64..40, 0u64..80), 1..60),
        ) {
            let mut now = Instant::now();
            let (limits, mut admitted) = (limits(Some(requests), Some(tokens), None), Vec::new());
            for (step, wanted) in steps {
                now += Duration::from_secs(step);
                match limits.admit(now, wanted) {
                    Ok(()) => admitted.push((now, wanted)),
                    Err(Excess { wait: Some(wait), .. }) => {
                        now += wait;
                        prop_assert_eq!(limits.admit(now, wanted), Ok(()));
                        admitted.push((now, wanted));
                    }
                    Err(Excess { wait: None, .. }) => prop_assert!(wanted > tokens),
                }
                let recent = admitted.iter().filter(|(at, _)| now.duration_since(*at) < MINUTE);
                let used = recent.fold((0, 0), |(requests, sum), (_, tokens)| (requests + 1, sum + tokens));
                prop_assert!(used.0 <= requests && used.1 <= tokens);
            }
        }
    }
}
