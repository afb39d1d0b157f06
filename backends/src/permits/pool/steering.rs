//! How much of its limits a pool uses: additive increase and multiplicative decrease (Chiu and Jain, "Analysis of the Increase and
//! Decrease Algorithms for Congestion Avoidance", 1989), by what the endpoint says to the whole fleet.

use std::collections::VecDeque;

use regatta_proto::Signals;
use serde::{Deserialize, Serialize};

/// Never less than this part of the limits.
const FACTOR_MIN: f64 = 0.05;
/// What a refusal leaves of the factor.
const DECREASE: f64 = 0.7;
/// What a quiet time adds to it.
const INCREASE: f64 = 0.05;
/// Refusals within this time after a decrease belong to it: several workers tell of the same burst.
const DECREASE_PAUSE_MS: u64 = 5_000;
/// Time without refusals that makes an increase, in milliseconds.
const QUIET_MS: u64 = 10_000;
/// Longest hold that an endpoint may ask for, in milliseconds.
const HOLD_MAX_MS: u64 = 600_000;
/// A hold that is longer than the present one by no more than this is the same hold, told by somebody else.
const SAME_HOLD_MS: u64 = 1_000;
/// Changes that are remembered.
const CHANGES_MAX: usize = 100;
/// Longest reason that is remembered, in bytes.
const REASON_MAX: usize = 200;

/// A change of the factor, or a hold (then the factor stays).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// Milliseconds since 1970, by the store's clock.
    pub(crate) at_ms: u64,
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Steering {
    factor: f64,
    /// When the factor was last decreased.
    decreased_ms: Option<u64>,
    /// Since when nothing was refused and nothing changed.
    quiet_since_ms: u64,
    /// Whether anything was answered since.
    has_answered: bool,
    hold_until_ms: u64,
    changes: VecDeque<Change>,
}

impl Default for Steering {
    fn default() -> Self {
        Self {
            factor: 1.0,
            decreased_ms: None,
            quiet_since_ms: 0,
            has_answered: false,
            hold_until_ms: 0,
            changes: VecDeque::new(),
        }
    }
}

impl Steering {
    /// The part of the limits in use, 0.05..=1.
    pub(super) const fn factor(&self) -> f64 {
        self.factor
    }

    /// How long no request may be granted, in milliseconds.
    pub(super) const fn held_for_ms(&self, now_ms: u64) -> u64 {
        self.hold_until_ms.saturating_sub(now_ms)
    }

    /// The last changes, oldest first.
    pub(super) const fn changes(&self) -> &VecDeque<Change> {
        &self.changes
    }

    /// Hears what the endpoint said. `clock_ms` is for the record. Returns how many changes that made.
    pub(super) fn hear(&mut self, now_ms: u64, clock_ms: u64, signals: &Signals) -> usize {
        let mut made = 0;
        if signals.refused > 0 {
            let is_same_burst = self.decreased_ms.is_some_and(|at| now_ms < at + DECREASE_PAUSE_MS);
            if !is_same_burst {
                self.decreased_ms = Some(now_ms);
                let reason = format!("{} refused{}", signals.refused, quoted(&signals.reason));
                made += usize::from(self.set((self.factor * DECREASE).max(FACTOR_MIN), clock_ms, reason));
            }
            (self.quiet_since_ms, self.has_answered) = (now_ms, false);
        } else {
            self.has_answered |= signals.answered > 0;
            if self.has_answered && now_ms >= self.quiet_since_ms + QUIET_MS {
                let reason = format!("nothing refused for {} s", QUIET_MS / 1000);
                made += usize::from(self.set((self.factor + INCREASE).min(1.0), clock_ms, reason));
                (self.quiet_since_ms, self.has_answered) = (now_ms, false);
            }
        }
        if let Some(hold) = signals.hold_ms {
            made += usize::from(self.hold(now_ms, clock_ms, hold, &quoted(&signals.reason)));
        }
        made
    }

    /// Grants nothing for `hold_ms`. Returns whether that was news.
    pub(super) fn hold(&mut self, now_ms: u64, clock_ms: u64, hold_ms: u64, why: &str) -> bool {
        let hold_ms = hold_ms.min(HOLD_MAX_MS);
        let until = now_ms + hold_ms;
        let is_news = until > self.hold_until_ms.max(now_ms) + SAME_HOLD_MS;
        if is_news {
            let reason = format!("held for {:.1} s{why}", hold_ms as f64 / 1000.0);
            self.record(Change { at_ms: clock_ms, from: self.factor, to: self.factor, reason });
        }
        self.hold_until_ms = self.hold_until_ms.max(until);
        is_news
    }

    fn set(&mut self, factor: f64, clock_ms: u64, reason: String) -> bool {
        // Six decimals keep sums of increases from drifting.
        let to = (factor * 1e6).round() / 1e6;
        let from = std::mem::replace(&mut self.factor, to);
        let is_change = (from - to).abs() > 1e-9;
        if is_change {
            self.record(Change { at_ms: clock_ms, from, to, reason });
        }
        is_change
    }

    fn record(&mut self, change: Change) {
        if self.changes.len() >= CHANGES_MAX {
            self.changes.pop_front();
        }
        self.changes.push_back(change);
    }
}

/// The endpoint's words, cut to a bounded length.
fn quoted(reason: &str) -> String {
    match &reason[..reason.floor_char_boundary(REASON_MAX)] {
        "" => String::new(),
        words => format!(": {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Signals {
        Signals { refused: 3, reason: "slow down".to_owned(), ..Signals::default() }
    }

    fn answered() -> Signals {
        Signals { answered: 1, ..Signals::default() }
    }

    fn hold(hold_ms: u64) -> Signals {
        Signals { hold_ms: Some(hold_ms), reason: "reset".to_owned(), ..Signals::default() }
    }

    #[test]
    fn a_burst_of_refusals_decreases_once() {
        let mut steering = Steering::default();
        assert_eq!([0, 10, 4_999].map(|now| steering.hear(now, now, &refused())), [1, 0, 0]);
        assert_eq!(steering.factor(), 0.7);
        steering.hear(5_000, 5_000, &refused());
        assert_eq!(steering.factor(), 0.49);
    }

    #[test]
    fn quiet_times_increase_step_by_step_up_to_all() {
        let mut steering = Steering::default();
        steering.hear(0, 0, &refused());
        steering.hear(9_999, 9_999, &answered());
        assert_eq!(steering.factor(), 0.7);
        let factors: Vec<f64> = (1..=8)
            .map(|step| {
                steering.hear(step * 10_000, 0, &answered());
                steering.factor()
            })
            .collect();
        assert_eq!(factors, [0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.0, 1.0]);
        assert_eq!(steering.changes().len(), 7, "what stays is no change");
    }

    #[test]
    fn silence_is_no_good_sign() {
        let mut steering = Steering::default();
        steering.hear(0, 0, &refused());
        steering.hear(60_000, 0, &Signals::default());
        assert_eq!(steering.factor(), 0.7);
    }

    #[test]
    fn refusals_never_decrease_below_a_twentieth() {
        let mut steering = Steering::default();
        for burst in 0..100 {
            steering.hear(burst * 5_000, 0, &refused());
        }
        assert_eq!(steering.factor(), 0.05);
    }

    #[test]
    fn the_longest_hold_counts_and_is_told_once() {
        let mut steering = Steering::default();
        let made = [(0, 30_000), (100, 30_000), (200, 5_000), (300, 60_000)]
            .map(|(now, for_ms)| steering.hear(now, 0, &hold(for_ms)));
        assert_eq!(made, [1, 0, 0, 1]);
        assert_eq!(steering.held_for_ms(300), 60_000);
        assert_eq!(steering.held_for_ms(60_300), 0);
        steering.hear(60_300, 0, &hold(u64::MAX));
        assert_eq!(steering.held_for_ms(60_300), HOLD_MAX_MS);
        assert_eq!(steering.factor(), 1.0);
    }

    #[test]
    fn changes_are_remembered_with_their_reasons_and_are_bounded() {
        let mut steering = Steering::default();
        steering.hear(0, 77, &refused());
        let change = Change { at_ms: 77, from: 1.0, to: 0.7, reason: "3 refused: slow down".to_owned() };
        assert_eq!(steering.changes().iter().collect::<Vec<_>>(), [&change]);
        let long = Signals { reason: "ü".repeat(5_000), ..hold(2_000) };
        for burst in 1..300 {
            steering.hear(burst * 10_000, burst, &long);
        }
        assert_eq!(steering.changes().len(), CHANGES_MAX);
        assert!(steering.changes().iter().all(|change| change.reason.len() < REASON_MAX + 30));
    }
}
