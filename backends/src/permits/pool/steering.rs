//! Rate adaptation of a pool's share of its limits: additive increase and multiplicative decrease (Chiu and Jain, "Analysis of the Increase
//! and Decrease Algorithms for Congestion Avoidance", 1989), driven by the endpoint's signals to the whole fleet.
//!
//! Refusals that load does not cause (an endpoint that refuses one call in ten whatever comes) are no reason to send less, so each decrease
//! is a trial: when afterwards the same share is refused and fewer calls are answered, it is taken back, and that share is taken for what
//! the endpoint refuses anyway. Decisions are made once an epoch, which is at least a round trip: what calls meet that were sent before a
//! decrease says nothing about it.

use std::collections::VecDeque;

use regatta_proto::Signals;
use serde::{Deserialize, Serialize};

/// Never less than this part of the limits.
const FACTOR_MIN: f64 = 0.05;
/// Part of the factor that a decrease leaves.
const DECREASE: f64 = 0.7;
/// Multiplies the factor after an epoch without too many refusals, while it is well below where refusals began.
const RECOVERY: f64 = 2.0;
/// Well below: less than this part of it.
const RECOVERED: f64 = 0.9;
/// Multiplies the factor after such an epoch from there on.
const INCREASE: f64 = 1.1;
/// An epoch is a round trip, but never shorter or longer than this, in milliseconds.
const EPOCH_MS: (u64, u64) = (2_000, 60_000);
/// With fewer calls than `ENOUGH` an epoch lasts this long at least, in milliseconds.
const PATIENCE_MS: u64 = 10_000;
/// Calls that say something about the share that is refused.
const ENOUGH: u64 = 20;
/// So many epochs without refusals are a quiet time.
const QUIET: u32 = 2;
/// Weight of an epoch in which less is refused than the share that is refused anyway.
const FORGETTING: f64 = 0.2;
/// A share that is refused whatever comes is borne up to here.
const UNEXPLAINED_MAX: f64 = 0.5;
/// Beyond the share that is refused anyway, and twice its standard error, so much more is the work of load.
const EXCESS_MIN: f64 = 0.03;
/// A decrease has helped when the share that is refused fell below this part of what it was.
const HELPED: f64 = 0.85;
/// Longest hold that an endpoint may ask for, in milliseconds.
const HOLD_MAX_MS: u64 = 600_000;
/// A hold that is longer than the present one by no more than this is the same hold, told by somebody else.
pub(super) const SAME_HOLD_MS: u64 = 1_000;
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

/// Answers and refusals of one epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Epoch {
    since_ms: u64,
    answered: u64,
    refused: u64,
}

impl Epoch {
    const fn calls(&self) -> u64 {
        self.answered + self.refused
    }

    /// Part of the calls that was refused.
    fn refused_share(&self) -> f64 {
        self.refused as f64 / self.calls().max(1) as f64
    }

    /// Answers in a millisecond.
    fn goodput(&self, now_ms: u64) -> f64 {
        self.answered as f64 / now_ms.saturating_sub(self.since_ms).max(1) as f64
    }
}

/// A decrease whose effect is not known yet, and how it was before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Trial {
    factor: f64,
    refused_share: f64,
    goodput: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Steering {
    factor: f64,
    /// The factor at which refusals began.
    ceiling: f64,
    /// Part of the calls that is refused whatever comes, 0..=0.5.
    unexplained: f64,
    /// Last measured duration of a call in milliseconds, by Little's law: calls in flight / calls answered in a millisecond.
    round_trip_ms: u64,
    epoch: Epoch,
    /// Epochs without refusals before this one, up to `QUIET`.
    quiet_epochs: u32,
    trial: Option<Trial>,
    /// The last change was a decrease.
    is_searching: bool,
    hold_until_ms: u64,
    changes: VecDeque<Change>,
}

impl Default for Steering {
    fn default() -> Self {
        Self {
            factor: 1.0,
            ceiling: 1.0,
            unexplained: 0.0,
            round_trip_ms: 0,
            epoch: Epoch::default(),
            quiet_epochs: QUIET,
            trial: None,
            is_searching: false,
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

    /// Remaining time without grants, in milliseconds.
    pub(super) const fn held_for_ms(&self, now_ms: u64) -> u64 {
        self.hold_until_ms.saturating_sub(now_ms)
    }

    /// When grants begin again, or began.
    pub(super) const fn hold_until_ms(&self) -> u64 {
        self.hold_until_ms
    }

    /// The last changes, oldest first.
    pub(super) const fn changes(&self) -> &VecDeque<Change> {
        &self.changes
    }

    /// Hears what the endpoint said while the fleet had `in_flight` calls there. `clock_ms` is for the record. Returns how many changes
    /// that made.
    pub(super) fn hear(&mut self, now_ms: u64, clock_ms: u64, signals: &Signals, in_flight: u64) -> usize {
        let mut made = 0;
        // An epoch begins later than now while the calls are under way that were sent before a decrease.
        if self.epoch.since_ms <= now_ms {
            self.epoch.answered += u64::from(signals.answered);
            self.epoch.refused += u64::from(signals.refused);
            if let Some((factor, reason)) = self.decide(now_ms, in_flight, &signals.reason) {
                made += usize::from(self.set(factor, clock_ms, reason));
            }
        }
        if let Some(hold) = signals.hold_ms {
            made += usize::from(self.hold(now_ms, clock_ms, hold, &quoted(&signals.reason)));
        }
        made
    }

    /// The factor from now on, with the reason, when the epoch has said enough to change it or to begin another one.
    fn decide(&mut self, now_ms: u64, in_flight: u64, words: &str) -> Option<(f64, String)> {
        let epoch = self.epoch;
        let told = || format!("{} of {} refused{}", epoch.refused, epoch.calls(), quoted(words));
        // The first refusal after a quiet time is answered at once.
        if epoch.refused > 0 && self.is_quiet() && self.unexplained < EXCESS_MIN {
            return Some((self.decrease(now_ms), told()));
        }
        let lasted_ms = now_ms - epoch.since_ms;
        let (least_ms, most_ms) = EPOCH_MS;
        let has_lasted = lasted_ms >= self.round_trip_ms.clamp(least_ms, most_ms);
        if epoch.calls() == 0 || !has_lasted || (epoch.calls() < ENOUGH && lasted_ms < PATIENCE_MS) {
            return None;
        }
        let share = epoch.refused_share();
        // Where most is refused, few answers do not mean that they take long.
        if epoch.answered > 0 && share <= UNEXPLAINED_MAX {
            self.round_trip_ms = (in_flight as f64 / epoch.goodput(now_ms)).min(most_ms as f64) as u64;
        }
        self.quiet_epochs = if epoch.refused == 0 { QUIET.min(self.quiet_epochs + 1) } else { 0 };
        if let Some(trial) = self.trial.take().filter(|trial| self.was_in_vain(trial, now_ms)) {
            self.unexplained = f64::midpoint(share, trial.refused_share).min(UNEXPLAINED_MAX);
            self.begin(now_ms + self.settling_ms());
            return Some((trial.factor, format!("{}, as many as with more calls", told())));
        }
        if self.is_excess() {
            return Some((self.decrease(now_ms), told()));
        }
        if share < self.unexplained {
            self.unexplained += FORGETTING * (share - self.unexplained);
        }
        self.begin(now_ms);
        self.is_searching = false;
        if epoch.answered == 0 {
            return None;
        }
        let factor = if self.factor < RECOVERED * self.ceiling {
            (self.factor * RECOVERY).min(RECOVERED * self.ceiling)
        } else {
            self.factor * INCREASE
        };
        self.ceiling = self.ceiling.max(factor).min(1.0);
        let reason = if epoch.refused == 0 {
            format!("nothing refused in {:.0} s", lasted_ms as f64 / 1000.0)
        } else {
            format!("{}, as always", told())
        };
        Some((factor.min(1.0), reason))
    }

    const fn is_quiet(&self) -> bool {
        self.quiet_epochs >= QUIET
    }

    /// More is refused than always, by more than chance.
    fn is_excess(&self) -> bool {
        let (anyway, calls) = (self.unexplained, self.epoch.calls().max(1) as f64);
        let chance = 2.0 * (anyway * (1.0 - anyway) / calls).sqrt();
        // One refusal among few calls is no share of anything.
        let is_told = self.epoch.refused > 1 || self.epoch.answered == 0;
        is_told && self.epoch.refused_share() > anyway + chance + EXCESS_MIN
    }

    /// The decrease made the endpoint answer less and refuse no less: load does not cause what it refuses.
    fn was_in_vain(&self, trial: &Trial, now_ms: u64) -> bool {
        let (share, load) = (self.epoch.refused_share(), self.factor / trial.factor);
        let chance = (trial.refused_share * (1.0 - trial.refused_share) / self.epoch.calls().max(1) as f64).sqrt();
        let refuses_no_less = share + chance > HELPED * trial.refused_share && share <= UNEXPLAINED_MAX;
        let answers_less = self.epoch.goodput(now_ms) < trial.goodput * f64::midpoint(1.0, load);
        self.epoch.calls() >= ENOUGH && refuses_no_less && answers_less
    }

    /// A decreased factor, on trial when it is known how things were before.
    fn decrease(&mut self, now_ms: u64) -> f64 {
        if self.epoch.calls() >= ENOUGH {
            let (refused_share, goodput) = (self.epoch.refused_share(), self.epoch.goodput(now_ms));
            self.trial = Some(Trial { factor: self.factor, refused_share, goodput });
        }
        // Decreases that follow one another are one search for the load that is taken.
        if !self.is_searching {
            self.ceiling = self.factor;
        }
        (self.is_searching, self.quiet_epochs) = (true, 0);
        self.begin(now_ms + self.settling_ms());
        (self.factor * DECREASE).max(FACTOR_MIN)
    }

    const fn begin(&mut self, since_ms: u64) {
        self.epoch = Epoch { since_ms, answered: 0, refused: 0 };
    }

    /// Longest time that calls sent before a change may still be under way, in milliseconds.
    fn settling_ms(&self) -> u64 {
        self.round_trip_ms.clamp(EPOCH_MS.0, EPOCH_MS.1)
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
mod simulation;
#[cfg(test)]
mod tests;
