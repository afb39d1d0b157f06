//! The rules by which attempts and sessions move a cell's counters; both databases obey these and no others.

use std::ops::{AddAssign, SubAssign};

use regatta_proto::{Attempt, AttemptId, Cause, CostSum, OpenAttempt, Outcome, Usage, WorkerId};

use super::columns::{Place, cost, stored, stored_money, stored_time, usage};
use super::rows::{Recorded, SessionRecord, TranscriptRef};
use super::{AttemptState, LedgerError};

/// Tokens and money as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Spent {
    pub(super) input: i64,
    pub(super) cached_input: i64,
    pub(super) output: i64,
    pub(super) reasoning: i64,
    pub(super) known: i64,
    pub(super) unknown_calls: i64,
}

impl Spent {
    pub(super) fn of(usage: Usage, cost: CostSum) -> Result<Self, LedgerError> {
        Ok(Self {
            input: stored(usage.input, "input")?,
            cached_input: stored(usage.cached_input, "cached_input")?,
            output: stored(usage.output, "output")?,
            reasoning: stored(usage.reasoning, "reasoning")?,
            known: stored(cost.known.0, "cost")?,
            unknown_calls: stored(cost.unknown_calls, "unknown_calls")?,
        })
    }

    pub(super) fn usage(&self) -> Result<Usage, LedgerError> {
        usage([self.input, self.cached_input, self.output, self.reasoning])
    }

    pub(super) fn cost(&self) -> Result<CostSum, LedgerError> {
        cost([self.known, self.unknown_calls])
    }

    /// Progress reports overtake each other; one that knows less than what is stored is the older one.
    fn is_behind(&self, stored: &Self) -> bool {
        self.input < stored.input
            || self.output < stored.output
            || self.known < stored.known
            || self.unknown_calls < stored.unknown_calls
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.cached_input += other.cached_input;
        self.output += other.output;
        self.reasoning += other.reasoning;
        self.known += other.known;
        self.unknown_calls += other.unknown_calls;
    }
}

impl SubAssign for Spent {
    fn sub_assign(&mut self, other: Self) {
        self.input -= other.input;
        self.cached_input -= other.cached_input;
        self.output -= other.output;
        self.reasoning -= other.reasoning;
        self.known -= other.known;
        self.unknown_calls -= other.unknown_calls;
    }
}

/// What is stored about an attempt before a report of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    pub(super) state: AttemptState,
    pub(super) spent: Spent,
}

/// An attempt's row as it will be.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttemptWrite<'a> {
    pub(super) place: Place,
    pub(super) id: &'a AttemptId,
    pub(super) number: u32,
    pub(super) worker: &'a WorkerId,
    pub(super) state: AttemptState,
    pub(super) started_at: i64,
    pub(super) ended_at: Option<i64>,
    pub(super) outcome: Option<&'a Outcome>,
    pub(super) spent: Spent,
    pub(super) at_most: Option<i64>,
    pub(super) calls: u32,
    pub(super) retries: u32,
    pub(super) latency_us: i64,
    pub(super) transcript: Option<&'a TranscriptRef>,
}

impl<'a> AttemptWrite<'a> {
    /// The row of a session's report.
    pub(super) fn reported(place: Place, state: AttemptState, record: &'a SessionRecord) -> Result<Self, LedgerError> {
        Ok(Self {
            outcome: Some(&record.outcome),
            calls: record.calls,
            retries: record.retries,
            latency_us: stored(record.latency_us, "latency_us")?,
            transcript: Some(&record.transcript),
            ..Self::ended(place, state, &record.attempt, record.usage, record.cost)?
        })
    }

    /// The row of an attempt that ended without a result of its own.
    pub(super) fn ended(
        place: Place,
        state: AttemptState,
        attempt: &'a Attempt,
        usage: Usage,
        cost: CostSum,
    ) -> Result<Self, LedgerError> {
        Ok(Self {
            place,
            id: &attempt.id,
            number: attempt.number,
            worker: &attempt.worker,
            state,
            started_at: stored_time(attempt.started_at, "started_at")?,
            ended_at: Some(stored_time(attempt.ended_at, "ended_at")?),
            outcome: None,
            spent: Spent::of(usage, cost)?,
            at_most: None,
            calls: 0,
            retries: 0,
            latency_us: 0,
            transcript: None,
        })
    }

    /// The row of a running attempt, or `None` when what is stored is newer.
    pub(super) fn open(
        place: Place,
        before: Option<Before>,
        open: &'a OpenAttempt,
        worker: &'a WorkerId,
    ) -> Result<Option<Self>, LedgerError> {
        let spent = Spent::of(open.usage, open.cost)?;
        if before.is_some_and(|before| before.state != AttemptState::Open || spent.is_behind(&before.spent)) {
            return Ok(None);
        }
        Ok(Some(Self {
            place,
            id: &open.id,
            number: open.number,
            worker,
            state: AttemptState::Open,
            started_at: stored_time(open.started_at, "started_at")?,
            ended_at: None,
            outcome: None,
            spent,
            at_most: stored_money(open.in_flight_at_most, "at_most")?,
            calls: 0,
            retries: 0,
            latency_us: 0,
            transcript: None,
        }))
    }

    pub(super) fn as_before(&self) -> Before {
        Before { state: self.state, spent: self.spent }
    }
}

/// What becomes of a report, from what is stored before it.
pub(super) fn classify(before: Option<Before>, session_is_there: bool) -> Recorded {
    match before {
        Some(before) if before.state.is_reported() => Recorded::Repeat,
        _ if session_is_there => Recorded::Waste,
        _ => Recorded::First,
    }
}

/// Whether a hand-over says something new. One that comes after the attempt's result, or again, does not.
pub(super) fn hands_over(before: Option<Before>) -> bool {
    before.is_none_or(|before| matches!(before.state, AttemptState::Open | AttemptState::Lost))
}

/// What is to be added to a cell's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Delta {
    pub(super) recorded: i64,
    pub(super) settled: i64,
    pub(super) measured: i64,
    pub(super) model_failures: i64,
    pub(super) not_measured: i64,
    pub(super) spent: Spent,
    pub(super) wasted_known: i64,
    pub(super) wasted_unknown_calls: i64,
}

impl Delta {
    /// An attempt's row changed.
    pub(super) fn attempt(&mut self, before: Option<Before>, after: Before) {
        if let Some(before) = before {
            self.spent -= before.spent;
            if before.state.is_wasted() {
                self.wasted_known -= before.spent.known;
                self.wasted_unknown_calls -= before.spent.unknown_calls;
            }
        }
        self.spent += after.spent;
        if after.state.is_wasted() {
            self.wasted_known += after.spent.known;
            self.wasted_unknown_calls += after.spent.unknown_calls;
        }
    }

    /// A session was settled with `outcome`.
    pub(super) fn settled(&mut self, outcome: &Outcome) {
        self.settled += 1;
        match outcome {
            Outcome::Measured => self.measured += 1,
            Outcome::ModelFailure { .. } => self.model_failures += 1,
            Outcome::NotMeasured { .. } => self.not_measured += 1,
        }
    }
}

/// Whether a session that ends with `cause` keeps its transcript, so that only its questions need to be asked again.
pub(super) fn keeps_transcript(cause: Cause) -> bool {
    cause == Cause::JudgeUnavailable
}
