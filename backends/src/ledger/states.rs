//! States of the ledger's rows. Each is also a CHECK in both schemas.

use std::collections::BTreeMap;

use regatta_proto::{HeldBatch, ItemIndex, SweepId, WorkerId};

use super::LedgerError;
use super::judging_rows::OpenQuestion;

macro_rules! states {
    ($(#[$doc:meta])* $name:ident, $field:literal, { $($(#[$state_doc:meta])* $state:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$state_doc])* $state),+ }

        impl $name {
            /// All states, in the order in which they follow each other.
            pub const ALL: &'static [Self] = &[$(Self::$state),+];

            /// Name in SQL, files and messages.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$state => $word),+ }
            }

            pub(super) fn read(text: &str) -> Result<Self, LedgerError> {
                Self::ALL
                    .iter()
                    .copied()
                    .find(|state| state.as_str() == text)
                    .ok_or_else(|| LedgerError::Unreadable { field: $field, found: text.to_owned() })
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

states!(
    /// State of a shard. A resume leads back to `planned`, and so does the leader when jobs are in doubt or lost.
    ShardState, "shards.state", {
        /// The jobs of the shard were not published.
        Planned = "planned",
        /// The jobs are being published; after a crash some may have been.
        Dispatching = "dispatching",
        /// The jobs are confirmed by the queue.
        Dispatched = "dispatched",
    }
);

states!(
    /// State of an attempt. `open` → one of the others. A late result turns `handed_over` or `lost` into `recorded` or `waste`. An attempt
    /// that a cancel made `lost` is `open` again when its worker reports it in the resumed sweep. A resume turns an attempt that counted
    /// into `waste`, or into `handed_over` if the budget had ended it.
    AttemptState, "attempts.state", {
        /// The worker reported it as running.
        Open = "open",
        /// It is the session's result.
        Recorded = "recorded",
        /// It ended after another attempt had been recorded, or a resume runs its session again: its cost is wasted.
        Waste = "waste",
        /// Another worker continues from its transcript, or will do so after the resume of a sweep that the budget ended.
        HandedOver = "handed_over",
        /// It never ended: its cost is wasted.
        Lost = "lost",
    }
);

/// Evidence that a session without a result may be under way; the stronger comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnderWay {
    /// A worker has reported an open attempt lately, or the batch that the attempt is a line of.
    Told,
    /// A worker had reported an attempt lately when the end of its sweep closed it, or has handed it over lately. It runs if its sweep was resumed
    /// since and its worker lives, which then reports it once more, or if its job is on its way to another worker, which then reports one.
    Unconfirmed,
    /// An attempt is open that no worker has reported lately: its worker is gone, or its reports wait to be recorded.
    Silent,
}

impl UnderWay {
    /// Evidence by an attempt in `state`; `is_told` if a worker has reported it lately.
    pub(super) const fn of(state: AttemptState, is_told: bool) -> Option<Self> {
        match (state, is_told) {
            (AttemptState::Open, true) => Some(Self::Told),
            (AttemptState::Open, false) => Some(Self::Silent),
            (AttemptState::Lost | AttemptState::HandedOver, true) => Some(Self::Unconfirmed),
            (AttemptState::Lost | AttemptState::HandedOver, false)
            | (AttemptState::Recorded | AttemptState::Waste, _) => None,
        }
    }

    /// Adds `evidence` about a session of `item` to what is `known` of it.
    pub(super) fn add_to(known: &mut BTreeMap<ItemIndex, Self>, item: ItemIndex, evidence: Option<Self>) {
        if let Some(evidence) = evidence {
            known.entry(item).and_modify(|known| *known = (*known).min(evidence)).or_insert(evidence);
        }
    }
}

/// Work that a worker holds and tells of by name, because nothing else is told of it for long.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Held {
    /// A batch of sessions.
    Batch(HeldBatch),
    /// Questions for the judges of a sweep.
    Questions {
        /// The sweep.
        sweep: SweepId,
        /// The worker that waits for the answers.
        worker: WorkerId,
        /// Number of the sweep's resumes when the first of them were claimed.
        generation: u32,
        /// The worker names each that it holds for long, as [`Held::Question`].
        is_named: bool,
    },
    /// A question of a sweep.
    Question(SweepId, OpenQuestion),
}

/// Questions that were claimed before their sweep was last resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleQuestions {
    /// None is left.
    None,
    /// Some, and a worker has told lately that it waits for answers to such.
    UnderWay,
    /// Some, for whose answers nobody waits: their jobs are void, or lost.
    Lost,
}

/// Source of the report that an attempt was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToldBy {
    /// The attempt itself, which knows all that it has spent.
    Itself,
    /// The attempt that continues it from a checkpoint, and knows what it had spent by then.
    Successor,
}

/// State of a recorded session. Sessions that are not recorded have no row; a resume deletes the rows of those that were not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// It waits for verdicts.
    Awaiting,
    /// It is scored, or will never be.
    Settled,
}

impl ShardState {
    /// `true` if `to` may follow; the ledger refuses every other change.
    #[must_use]
    pub const fn may_become(self, to: Self) -> bool {
        match self {
            Self::Planned => matches!(to, Self::Dispatching),
            Self::Dispatching => matches!(to, Self::Dispatched | Self::Planned),
            Self::Dispatched => matches!(to, Self::Planned),
        }
    }
}

impl SessionState {
    /// All states, in the order in which they follow each other.
    pub const ALL: &'static [Self] = &[Self::Awaiting, Self::Settled];

    /// Name in SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Awaiting => "awaiting",
            Self::Settled => "settled",
        }
    }

    /// `true` if `to` may follow; the ledger refuses every other change, and lets a session wait again only if it was not measured.
    #[must_use]
    pub const fn may_become(self, to: Self) -> bool {
        match self {
            Self::Awaiting => matches!(to, Self::Settled),
            Self::Settled => matches!(to, Self::Awaiting),
        }
    }
}

impl AttemptState {
    /// `true` if `to` may follow; the ledger refuses every other change.
    #[must_use]
    pub const fn may_become(self, to: Self) -> bool {
        match self {
            Self::Open => matches!(to, Self::Recorded | Self::Waste | Self::HandedOver | Self::Lost),
            Self::Recorded => matches!(to, Self::Waste | Self::HandedOver),
            Self::HandedOver => matches!(to, Self::Recorded | Self::Waste),
            Self::Lost => matches!(to, Self::Recorded | Self::Waste | Self::HandedOver | Self::Open),
            Self::Waste => false,
        }
    }

    /// `true` if a result was reported, after which no report changes the attempt. For a handed-over attempt, the presence of an outcome
    /// tells.
    #[must_use]
    pub const fn is_reported(self) -> bool {
        matches!(self, Self::Recorded | Self::Waste)
    }

    /// `true` if the cost of such attempts is wasted.
    #[must_use]
    pub const fn is_wasted(self) -> bool {
        matches!(self, Self::Waste | Self::Lost)
    }
}
