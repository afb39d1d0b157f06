//! What the endpoint says to this process, for this process and for the fleet.

use std::time::Duration;

use regatta_proto::Signals;
use tokio::time::Instant;

/// The store hears of refusals and holds no more often than this: it takes those of some seconds for one burst.
const TELL_GAP: Duration = Duration::from_millis(250);
/// Shorter holds are over before the fleet has heard of them.
const HOLD_TOLD_MIN: Duration = Duration::from_secs(1);
/// Longest word of an endpoint that is told to the store, in characters.
const REASON_MAX: usize = 120;

/// Shortest wait that concerns all calls: an endpoint that asks for it means the window of a limit.
const LONG_WAIT: Duration = Duration::from_secs(5);
/// So many of the last calls tell whether an endpoint refuses most of what comes.
const RECENT: u32 = 16;

/// Which of the last calls were refused.
#[derive(Debug, Default)]
struct Recent {
    /// The newest is the lowest bit; one means refused.
    refused: u16,
    /// Calls heard of, at most [`RECENT`].
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

/// What was heard of the endpoint.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// What the store does not know yet.
    untold: Signals,
    /// The endpoint asked to be left alone until here, and the store does not know it yet.
    hold_untold: Option<Instant>,
    /// The endpoint asked to be left alone until here.
    held_until: Option<Instant>,
    /// When the store last heard of a refusal or a hold.
    told: Option<Instant>,
    recent: Recent,
}

impl Heard {
    pub(super) fn answered(&mut self) {
        self.untold.answered = self.untold.answered.saturating_add(1);
        self.recent.push(false);
    }

    /// The endpoint turned a call away for a reason that is not its number, and said when to come again.
    pub(super) const fn turned_away(&mut self) {
        self.recent.push(true);
    }

    /// `true` if half of the last calls, or more, were refused or turned away.
    pub(super) const fn is_mostly_refused(&self) -> bool {
        self.recent.are_mostly_refused()
    }

    /// The endpoint refused a call for being one too many.
    pub(super) fn refused(&mut self, reason: &str) {
        self.untold.refused = self.untold.refused.saturating_add(1);
        self.untold.reason = reason.chars().take(REASON_MAX).collect();
        self.recent.push(true);
    }

    /// A call was told to come again after `wait`. A short wait concerns that call alone while the endpoint answers most others: one that
    /// refuses a call in ten, whatever comes, would otherwise be left alone nearly always.
    pub(super) fn told_to_wait(&mut self, wait: Duration, reason: &str, now: Instant) {
        if wait >= LONG_WAIT || self.is_mostly_refused() {
            self.hold(now + wait, reason, now);
        }
    }

    /// The endpoint asked to be left alone until `until`.
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

    /// Until when no call may begin, if not now.
    pub(super) fn held_until(&self, now: Instant) -> Option<Instant> {
        self.held_until.filter(|until| now < *until)
    }

    /// When the store should hear of it, which is not to be asked before `soonest`.
    pub(super) fn due(&self, soonest: Instant) -> Option<Instant> {
        let is_urgent = self.untold.refused > 0 || self.hold_untold.is_some();
        is_urgent.then(|| self.told.map_or(soonest, |told| soonest.max(told + TELL_GAP)))
    }

    /// Tells the store.
    pub(super) fn tell(&mut self, now: Instant) -> Signals {
        let mut signals = std::mem::take(&mut self.untold);
        let hold = self.hold_untold.take().map(|until| until.saturating_duration_since(now));
        signals.hold_ms = hold.map(|hold| u64::try_from(hold.as_millis()).unwrap_or(u64::MAX));
        if signals.refused > 0 || signals.hold_ms.is_some() {
            self.told = Some(now);
        }
        signals
    }

    /// The store may not have heard what it was told: what slows the fleet down must not get lost.
    pub(super) fn tell_again(&mut self, signals: &Signals, told: Instant) {
        self.untold.refused = self.untold.refused.saturating_add(signals.refused);
        if let Some(hold) = signals.hold_ms {
            self.hold_untold = self.hold_untold.max(Some(told + Duration::from_millis(hold)));
        }
    }
}
