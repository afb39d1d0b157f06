//! Permits that workers hold, and their demand.

use regatta_proto::{Grant, Party};
use serde::{Deserialize, Serialize};

use super::{DEMAND_VALID_MS, SLOTS_VALID_MS, Unit};

/// A worker, by its last request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Holder {
    pub(super) seen_ms: u64,
    /// Until then it is waited for, because it may not have been able to ask; 0 for one that was.
    #[serde(default)]
    pub(super) returns_until_ms: u64,
    /// The last durable state has it.
    #[serde(default)]
    pub(super) is_durable: bool,
    /// None where it has nothing to do for a moment.
    pub(super) parties: Vec<Held>,
}

impl Holder {
    /// `true` while it may have calls under way, as far as anybody can tell.
    pub(super) fn is_remembered(&self, now_ms: u64) -> bool {
        now_ms < self.returns_until_ms.max(self.seen_ms + SLOTS_VALID_MS)
    }

    /// `true` if it may fill a slot.
    pub(super) fn is_filled(&self) -> bool {
        self.parties.iter().any(|held| held.occupied() > 0)
    }

    /// `true` if the worker has reported recently enough for its demand to count.
    pub(super) const fn is_fresh(&self, now_ms: u64) -> bool {
        now_ms < self.seen_ms + DEMAND_VALID_MS
    }
}

/// Requests and tokens granted at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Units {
    pub(super) bucket: u64,
    pub(super) requests: u32,
    pub(super) tokens: u64,
}

/// A party that waits for more than there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Lacking {
    pub(super) since_ms: u64,
    /// The limited quantity that is short.
    pub(super) unit: Unit,
    /// True if the model's limit is the cause, false if it is the endpoint's.
    pub(super) of_model: bool,
}

/// A party of a worker, by its last request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Held {
    /// Number of its sweep and model.
    pub(super) line: u32,
    /// Slots it may fill.
    pub(super) slots: u32,
    pub(super) in_flight: u32,
    /// Calls that wait for anything.
    pub(super) waiting: u32,
    /// Waiting calls that could be sent soon if requests and tokens were there.
    pub(super) ready: u32,
    /// Tokens of a call that waits. Workers see to it that the first one needs no more.
    pub(super) call_tokens: u64,
    /// Requests of the grant before the last that were used.
    pub(super) used: u32,
    /// The last grant.
    pub(super) granted: Units,
    pub(super) lacking: Option<Lacking>,
}

impl Held {
    pub(super) fn of(line: u32, party: &Party, used: u32, lacking: Option<Lacking>) -> Self {
        let call_tokens = party.waiting_tokens.div_ceil(u64::from(party.waiting.max(1)));
        let (in_flight, waiting) = (party.in_flight, party.waiting);
        let granted = Units::default();
        Self { line, slots: in_flight, in_flight, waiting, ready: 0, call_tokens, used, granted, lacking }
    }

    /// Slots that nobody else may fill.
    pub(super) fn occupied(&self) -> u32 {
        self.slots.max(self.in_flight)
    }

    /// Calls that wait without a request granted for them.
    pub(super) const fn unmet(&self) -> u32 {
        self.waiting.saturating_sub(self.granted.requests)
    }

    /// Calls that may be under way by now.
    pub(super) fn may_be_in_flight(&self) -> u64 {
        u64::from(self.in_flight) + u64::from(self.granted.requests)
    }

    /// Units that a call takes.
    pub(super) const fn cost(&self, unit: Unit) -> u64 {
        match unit {
            Unit::Requests => 1,
            Unit::Tokens => self.call_tokens,
        }
    }

    pub(super) const fn grant(&self) -> Grant {
        Grant { slots: self.slots, requests: self.granted.requests, tokens: self.granted.tokens }
    }
}

/// As it is stored: a list without names, because a pool has hundreds of these.
#[derive(Serialize, Deserialize)]
struct Row(u32, u32, u32, u32, u32, u64, u32, (u64, u32, u64), Option<Lacking>);

impl Serialize for Held {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Units { bucket, requests, tokens } = self.granted;
        let granted = (bucket, requests, tokens);
        let Self { line, slots, in_flight, waiting, ready, call_tokens, used, .. } = *self;
        Row(line, slots, in_flight, waiting, ready, call_tokens, used, granted, self.lacking).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Held {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let row = Row::deserialize(deserializer)?;
        let Row(line, slots, in_flight, waiting, ready, call_tokens, used, (bucket, requests, tokens), lacking) = row;
        let granted = Units { bucket, requests, tokens };
        Ok(Self { line, slots, in_flight, waiting, ready, call_tokens, used, granted, lacking })
    }
}
