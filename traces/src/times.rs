//! When things of a session happened.

use jiff::{SignedDuration, Timestamp};
use regatta_proto::Event;

/// From when to when something took place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// Beginning.
    pub begun: Timestamp,
    /// End.
    pub ended: Timestamp,
    /// No time was recorded: it stands right after what came before.
    pub is_placed: bool,
}

/// Gives the events of a session their times, in order.
#[derive(Debug)]
pub struct Times {
    latest: Timestamp,
}

impl Times {
    /// For a session that began at `begun`.
    #[must_use]
    pub const fn from(begun: Timestamp) -> Self {
        Self { latest: begun }
    }

    /// The time of the next event. Only calls know when they were sent; one that a cache answered took no time.
    pub fn of(&mut self, event: &Event) -> Placed {
        let (at, microseconds) = match event {
            Event::Call(call) if call.from_cache => (None, 0),
            Event::Call(call) => (call.at, call.latency_us),
            Event::Failed(failed) => (None, failed.tries.iter().map(|failed| failed.latency_us).sum()),
            Event::Recorded(_)
            | Event::Started(_)
            | Event::Exchange(_)
            | Event::Ended(_)
            | Event::BenchmarkFailed(_) => (None, 0),
        };
        let begun = at.unwrap_or(self.latest);
        let lasted = SignedDuration::from_micros(i64::try_from(microseconds).unwrap_or(i64::MAX));
        let ended = begun.saturating_add(lasted).unwrap_or(begun);
        self.latest = self.latest.max(ended);
        Placed { begun, ended, is_placed: at.is_none() }
    }
}
