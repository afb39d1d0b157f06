//! Attempts and times of an ended sweep, read from the documents that it left in the blob store.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use regatta_backends::{AttemptState, BlobError, Blobs};
use regatta_catalog::Reported;
use regatta_proto::{AttemptId, AttemptTotals, Cause, CostSum, ItemId, Money, Outcome, SweepId, Usage, WorkerId};
use regatta_report::{JudgeSpending, Summary};
use serde::Deserialize;

/// Knowledge about a sweep that is in its documents, and not in its transcripts. Documents that are missing say nothing.
#[derive(Debug, Default)]
pub struct Past {
    /// When the sweep was planned.
    pub created_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    pub(super) attempts: BTreeMap<AttemptId, Line>,
    pub(super) judges: Vec<JudgeSpending>,
    /// `true` if there is a summary that cannot be read: what judges were paid is unknown, and not nothing.
    pub(super) judges_are_unknown: bool,
}

/// A line of `attempts.jsonl`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Line {
    pub(super) cell: u32,
    pub(super) item: Option<ItemId>,
    pub(super) attempt: u32,
    id: AttemptId,
    state: String,
    outcome: Option<String>,
    cause: Option<Cause>,
    worker: WorkerId,
    pub(super) started_at: Timestamp,
    ended_at: Option<Timestamp>,
    usage: Option<Usage>,
    known_usage: Option<Usage>,
    known_cost_nanodollars: Money,
    unpriced_calls: u64,
    #[serde(default)]
    maybe_spent_nanodollars: Money,
    pub(super) at_most_nanodollars: Option<Money>,
    calls: u32,
    #[serde(default)]
    cached_calls: Option<u32>,
    retries: u32,
    latency_us: Option<u64>,
    segment: Option<String>,
}

impl Past {
    /// Reads the documents of `sweep`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn read(blobs: &Blobs, sweep: &SweepId) -> Result<Self, BlobError> {
        let stored = blobs.get(&format!("sweeps/{sweep}/summary.json")).await?;
        let summary = stored.as_ref().and_then(|bytes| Summary::from_json(bytes).ok());
        let lines = blobs.get(&format!("sweeps/{sweep}/attempts.jsonl")).await?.unwrap_or_default();
        let lines = lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Line>(line).ok());
        Ok(Self {
            created_at: summary.as_ref().map(|summary| summary.created_at),
            ended_at: summary.as_ref().map(|summary| summary.ended_at),
            judges_are_unknown: stored.is_some() && summary.is_none(),
            attempts: lines.map(|line| (line.id.clone(), line)).collect(),
            judges: summary.map(|summary| summary.judges).unwrap_or_default(),
        })
    }

    /// The attempts that counted.
    pub(super) fn counted(&self) -> BTreeSet<AttemptId> {
        let is_counted = |line: &&Line| line.state == AttemptState::Recorded.as_str();
        self.attempts.values().filter(is_counted).map(|line| line.id.clone()).collect()
    }

    /// Circumstances of an attempt whose transcript does not have them.
    pub(super) fn reported(&self, id: &AttemptId) -> Option<Reported> {
        let line = self.attempts.get(id)?;
        let outcome = match (line.outcome.as_deref()?, line.cause) {
            ("measured", None) => Outcome::Measured,
            ("model_failure", Some(cause)) => Outcome::ModelFailure { cause },
            ("not_measured", Some(cause)) => Outcome::NotMeasured { cause },
            _ => return None,
        };
        let (worker, started_at) = (line.worker.clone(), line.started_at);
        Some(Reported { worker, started_at, ended_at: line.ended_at?, outcome })
    }
}

impl Line {
    pub(super) fn totals(&self) -> AttemptTotals {
        AttemptTotals {
            calls: self.calls,
            // An attempt without a transcript is in no statistic of time.
            cached_calls: self.cached_calls.unwrap_or(0),
            retries: self.retries,
            latency_us: self.latency_us.unwrap_or(0),
            usage: Usage::of_fields(self.usage, self.known_usage),
            cost: CostSum { known: self.known_cost_nanodollars, unknown_calls: self.unpriced_calls },
            maybe_spent: self.maybe_spent_nanodollars,
        }
    }

    /// `true` if it left no transcript: what it cost is known from nowhere else.
    pub(super) const fn is_without_transcript(&self) -> bool {
        self.segment.is_none() && self.outcome.is_none()
    }

    pub(super) fn worker(&self) -> &WorkerId {
        &self.worker
    }

    /// When it was handed over; `None` when it never ended.
    pub(super) fn handed_over_at(&self) -> Option<Timestamp> {
        let never_ended = [AttemptState::Open, AttemptState::Lost].iter().any(|state| self.state == state.as_str());
        if never_ended { None } else { self.ended_at }
    }
}
