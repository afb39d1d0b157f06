//! Signals of the endpoint to this process, which also go to the fleet.

use std::time::Duration;

use regatta_proto::Signals;
use tokio::time::Instant;

/// Shortest time between two reports of refusals or holds; the store counts those of some seconds as one burst.
const TELL_GAP: Duration = Duration::from_millis(250);
/// Shortest hold that is reported; a shorter one is over before the fleet has heard of it.
const HOLD_TOLD_MIN: Duration = Duration::from_secs(1);
/// Longest reason that is reported to the store, in characters.
const REASON_MAX: usize = 120;

/// Shortest wait that applies to all calls, because it indicates the window of a limit.
const LONG_WAIT: Duration = Duration::from_secs(5);
/// Number of recent calls that decide whether an endpoint refuses most of them.
const RECENT: u32 = 16;

/// The results of recent calls.
#[derive(Debug, Default)]
struct Recent {
    /// One bit for each call, the newest lowest; 1 means refused.
    refused: u16,
    /// Number of calls recorded, at most [`RECENT`].
    calls: u32,
}

impl Recent {
    const fn push(&mut self, is_refused: bool) {
        self.refused = self.refused << 1 | is_refused as u16;
        if self.calls < RECENT {
            self.calls += 1;
        }
    }

    const fn are_mostly_refused(&self) -> bool {
        self.calls > 0 && self.refused.count_ones() * 2 >= self.calls
    }
}

/// Signals received from the endpoint.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Signals that have not been reported to the store.
    untold: Signals,
    /// End of a hold that has not been reported to the store.
    hold_untold: Option<Instant>,
    /// End of the hold that the endpoint asked for.
    held_until: Option<Instant>,
    /// Time of the last report of a refusal or a hold.
    told: Option<Instant>,
    recent: Recent,
}

impl Heard {
    pub(super) fn answered(&mut self) {
        self.untold.answered = self.untold.answered.saturating_add(1);
        self.recent.push(false);
    }

    /// Records that the endpoint turned a call away for another reason than a rate limit, and said when to retry.
    pub(super) const fn turned_away(&mut self) {
        self.recent.push(true);
    }

    /// `true` if at least half of the recent calls were refused or turned away.
    pub(super) const fn is_mostly_refused(&self) -> bool {
        self.recent.are_mostly_refused()
    }

    /// Records that the endpoint refused a call because of a rate limit.
    pub(super) fn refused(&mut self, reason: &str) {
        self.untold.refused = self.untold.refused.saturating_add(1);
        self.untold.reason = reason.chars().take(REASON_MAX).collect();
        self.recent.push(true);
    }

    /// Records that a call was told to retry after `wait`. A short wait applies to that call alone while the endpoint answers most others;
    /// otherwise an endpoint that refuses a tenth of all calls would be held nearly always.
    pub(super) fn told_to_wait(&mut self, wait: Duration, reason: &str, now: Instant) {
        if wait >= LONG_WAIT || self.is_mostly_refused() {
            self.hold(now + wait, reason, now);
        }
    }

    /// Records that the endpoint asked not to be called until `until`.
    pub(super) fn hold(&mut self, until: Instant, reason: &str, now: Instant) {
        if self.held_until.is_some_and(|held| until <= held) {
            return;
        }
        self.held_until = Some(until);
        if now + HOLD_TOLD_MIN <= until {
            self.hold_untold = Some(until);
            self.untold.reason = reason.chars().take(REASON_MAX).collect();
        }
    }

    /// End of the hold; `None` if calls may begin now.
    pub(super) fn held_until(&self, now: Instant) -> Option<Instant> {
        self.held_until.filter(|until| now < *until)
    }

    /// Time at which the store should be told, not before `soonest`.
    pub(super) fn due(&self, soonest: Instant) -> Option<Instant> {
        let is_urgent = self.untold.refused > 0 || self.hold_untold.is_some();
        is_urgent.then(|| self.told.map_or(soonest, |told| soonest.max(told + TELL_GAP)))
    }

    /// Takes the signals to report to the store.
    pub(super) fn tell(&mut self, now: Instant) -> Signals {
        let mut signals = std::mem::take(&mut self.untold);
        let hold = self.hold_untold.take().map(|until| until.saturating_duration_since(now));
        signals.hold_ms = hold.map(|hold| u64::try_from(hold.as_millis()).unwrap_or(u64::MAX));
        if signals.refused > 0 || signals.hold_ms.is_some() {
            self.told = Some(now);
        }
        signals
    }

    /// Queues signals for another report, because the store may not have received them, and those that slow the fleet down must not get
    /// lost.
    pub(super) fn tell_again(&mut self, signals: &Signals, told: Instant) {
        self.untold.refused = self.untold.refused.saturating_add(signals.refused);
        if let Some(hold) = signals.hold_ms {
            self.hold_untold = self.hold_untold.max(Some(told + Duration::from_millis(hold)));
        }
    }
}
