//! Sweeps with their cells and shards, as they are planned and as they are read.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use regatta_proto::{Cell, CellIndex, Digest, EndpointName, Money, OwnerName, ShardIndex, SweepId, SweepState};
use serde::{Deserialize, Serialize};

use super::identity::Quota;
use super::states::ShardState;

/// A sweep as planned; it starts in [`SweepState::Running`].
#[derive(Debug, Clone, PartialEq)]
pub struct NewSweep {
    /// Id of the sweep; a second sweep with the same id is not created.
    pub id: SweepId,
    /// Name of the sweep, for people.
    pub name: String,
    /// Digest of the lock.
    pub lock: Digest,
    /// Budget; `None` is without limit.
    pub budget: Option<Money>,
    /// Time of submission.
    pub created_at: Timestamp,
    /// All cells of the grid.
    pub cells: Vec<NewCell>,
    /// All shards of all cells.
    pub shards: Vec<NewShard>,
    /// The owner; `None` in an embedded run.
    pub owner: Option<OwnerName>,
    /// Largest grant to its owner; the ledger may have a lower quota.
    pub quota: Quota,
    /// Keys of its inputs in the blob store, all of which the ledger must know; empty in an embedded run, which keeps no record of objects.
    pub inputs: BTreeSet<String>,
}

impl NewSweep {
    /// Sessions of all shards, including those that later rounds of an adaptive sweep may release.
    pub(super) fn sessions(&self) -> u64 {
        self.shards.iter().map(|shard| u64::from(shard.count)).sum()
    }

    /// Money charged to its owner's quota.
    pub(super) fn charged(&self) -> Money {
        self.budget.filter(|_| self.owner.is_some()).unwrap_or(Money::ZERO)
    }
}

/// A cell as planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCell {
    /// The cell's position in the grid.
    pub cell: Cell,
    /// Number of sessions; for an adaptive sweep that of its first round, and [`Ledger::release`](super::Ledger::release) adds others.
    pub items: u32,
    /// Queue of the endpoint that serves the cell's model.
    pub queue: String,
}

/// A shard as planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewShard {
    /// Position of the shard in the sweep.
    pub index: ShardIndex,
    /// The cell that it belongs to.
    pub cell: CellIndex,
    /// Position of its first item among the cell's selected items.
    pub first: u32,
    /// Number of items.
    pub count: u32,
}

/// Result of creating a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// The sweep was created.
    New,
    /// A sweep with this id existed and was left unchanged.
    AlreadyThere,
}

/// Number of a period during which one coordinator leads. A leader's changes carry its term, and have no effect under a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term(pub u64);

/// A sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepRow {
    /// Id of the sweep.
    pub id: SweepId,
    /// Name of the sweep, for people.
    pub name: String,
    /// Digest of the lock.
    pub lock: Digest,
    /// State of the sweep.
    pub state: SweepState,
    /// Budget; `None` is without limit.
    pub budget: Option<Money>,
    /// Time of submission.
    pub created_at: Timestamp,
    /// Time of the end; `None` before it, also after a resume.
    pub ended_at: Option<Timestamp>,
    /// Number of resumes. Jobs of an earlier generation are void.
    #[serde(default)]
    pub generation: u32,
    /// Number of a question; all reports before it have been recorded.
    #[serde(default)]
    pub echo: u64,
    /// The owner; `None` for sweeps of embedded runs and of versions before owners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerName>,
    /// Total that its account had granted when the sweep last ended; see [`SweepCost`](super::SweepCost).
    #[serde(default)]
    pub granted: Option<Money>,
    /// While it runs: `true` if somebody has paused it, so that nothing more of it is dispatched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_paused: bool,
    /// Calls at once of each endpoint that somebody has lowered below those of the spec.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub concurrency: BTreeMap<EndpointName, u32>,
    /// Generation of which a scorer has written what the sweep leaves behind; the leader's affair alone.
    #[serde(skip)]
    pub tabulated: Option<u32>,
}

/// A shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardRow {
    /// Position of the shard in the sweep.
    pub index: ShardIndex,
    /// The cell that it belongs to.
    pub cell: CellIndex,
    /// Position of its first item among the cell's selected items.
    pub first: u32,
    /// Number of items.
    pub count: u32,
    /// State of the shard.
    pub state: ShardState,
}
