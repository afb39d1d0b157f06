//! Lines of segments, as they are read.

use jiff::Timestamp;
use regatta_proto::{
    Attempt, AttemptId, CellIndex, Digest, ItemId, ItemIndex, Outcome, SessionKey, SessionOutcome, SweepId, Transcript,
    WorkerId,
};
use serde::Deserialize;

/// One line of a segment. `cell`, `item` and `attempt` are those of `results.jsonl` and `attempts.jsonl`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Line")]
pub struct StoredTranscript {
    /// The cell's position in the grid.
    pub cell: u32,
    /// The item's position in its data set.
    pub position: u32,
    /// Number of the attempt that reported it.
    pub attempt: u32,
    /// Id of the attempt.
    pub attempt_id: AttemptId,
    /// Circumstances of the attempt; `None` in lines of older versions.
    pub reported: Option<Reported>,
    /// The record of the session.
    pub transcript: Transcript,
}

/// Circumstances of an attempt, as its worker reported them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// The worker that made the attempt.
    pub worker: WorkerId,
    /// Start of the attempt.
    pub started_at: Timestamp,
    /// End of the attempt.
    pub ended_at: Timestamp,
    /// The result of the attempt.
    pub outcome: Outcome,
}

impl StoredTranscript {
    /// The report that the line was written from, for the sweep whose lock has the digest `lock`. `reported` comes from the line itself or,
    /// for a line of an older version, from `attempts.jsonl`.
    #[must_use]
    pub fn into_outcome(self, sweep: SweepId, lock: Digest, reported: Reported) -> SessionOutcome {
        let Reported { worker, started_at, ended_at, outcome } = reported;
        SessionOutcome {
            key: SessionKey { sweep, cell: CellIndex(self.cell), item: ItemIndex(self.position) },
            lock,
            attempt: Attempt { id: self.attempt_id, number: self.attempt, worker, started_at, ended_at },
            outcome,
            transcript: self.transcript,
        }
    }
}

#[derive(Deserialize)]
struct Line {
    cell: u32,
    item: ItemKey,
    position: Option<u32>,
    attempt: u32,
    attempt_id: AttemptId,
    worker: Option<WorkerId>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    outcome: Option<Outcome>,
    transcript: Transcript,
}

/// Identifies the item of a line. Lines of older versions have the benchmark's id instead of a `position`.
#[derive(Deserialize)]
#[serde(untagged)]
enum ItemKey {
    Position(u32),
    Id(ItemId),
}

impl TryFrom<Line> for StoredTranscript {
    type Error = String;
    fn try_from(line: Line) -> Result<Self, String> {
        let Line { cell, item, position, attempt, attempt_id, worker, started_at, ended_at, outcome, transcript } =
            line;
        let position = match (item, position) {
            (_, Some(position)) | (ItemKey::Position(position), None) => position,
            (ItemKey::Id(item), None) => return Err(format!("item {item} has no position")),
        };
        let reported = match (worker, started_at, ended_at, outcome) {
            (Some(worker), Some(started_at), Some(ended_at), Some(outcome)) => {
                Some(Reported { worker, started_at, ended_at, outcome })
            }
            (None, None, None, None) => None,
            _ => return Err("it says only in part how its attempt ended".to_owned()),
        };
        Ok(Self { cell, position, attempt, attempt_id, reported, transcript })
    }
}
