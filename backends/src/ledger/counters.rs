//! The rules by which attempts and sessions change a cell's counters; both databases use them.

use regatta_proto::{Attempt, AttemptId, AttemptTotals, Cause, CostSum, OpenAttempt, Outcome, Usage, WorkerId};

use super::columns::{Place, cost, large, stored, stored_money, stored_time};
use super::rows::{Recorded, SessionRecord, TranscriptRef};
use super::{AttemptState, LedgerError, ToldBy};

/// Tokens and money as stored, in the order of the columns in every statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Spent {
    pub(super) input: i64,
    pub(super) cached_input: i64,
    pub(super) cache_write: i64,
    pub(super) cache_write_1h: i64,
    pub(super) output: i64,
    pub(super) reasoning: i64,
    pub(super) known: i64,
    pub(super) unknown_calls: i64,
    /// Calls whose tokens are unknown.
    pub(super) unmetered_calls: i64,
}

impl Spent {
    pub(super) fn of(usage: Usage, cost: CostSum) -> Result<Self, LedgerError> {
        Ok(Self {
            input: stored(usage.input, "input")?,
            cached_input: stored(usage.cached_input, "cached_input")?,
            cache_write: stored(usage.cache_write, "cache_write")?,
            cache_write_1h: stored(usage.cache_write_1h, "cache_write_1h")?,
            output: stored(usage.output, "output")?,
            reasoning: stored(usage.reasoning, "reasoning")?,
            known: stored(cost.known.0, "cost")?,
            unknown_calls: stored(cost.unknown_calls, "unknown_calls")?,
            unmetered_calls: stored(usage.unmetered_calls, "unmetered_calls")?,
        })
    }

    pub(super) fn usage(&self) -> Result<Usage, LedgerError> {
        Ok(Usage {
            input: large(self.input, "input")?,
            cached_input: large(self.cached_input, "cached_input")?,
            cache_write: large(self.cache_write, "cache_write")?,
            cache_write_1h: large(self.cache_write_1h, "cache_write_1h")?,
            output: large(self.output, "output")?,
            reasoning: large(self.reasoning, "reasoning")?,
            unmetered_calls: large(self.unmetered_calls, "unmetered_calls")?,
        })
    }

    pub(super) fn cost(&self) -> Result<CostSum, LedgerError> {
        cost([self.known, self.unknown_calls])
    }

    /// Adds `by`, or takes it away where `sign` is -1.
    fn changed(&self, by: &Self, sign: i128) -> Result<Self, LedgerError> {
        let sum = |amount: i64, by: i64, field| changed(amount, sign * i128::from(by), field);
        Ok(Self {
            input: sum(self.input, by.input, "input")?,
            cached_input: sum(self.cached_input, by.cached_input, "cached_input")?,
            cache_write: sum(self.cache_write, by.cache_write, "cache_write")?,
            cache_write_1h: sum(self.cache_write_1h, by.cache_write_1h, "cache_write_1h")?,
            output: sum(self.output, by.output, "output")?,
            reasoning: sum(self.reasoning, by.reasoning, "reasoning")?,
            known: sum(self.known, by.known, "cost")?,
            unknown_calls: sum(self.unknown_calls, by.unknown_calls, "unknown_calls")?,
            unmetered_calls: sum(self.unmetered_calls, by.unmetered_calls, "unmetered_calls")?,
        })
    }

    /// Progress reports may arrive out of order; one with smaller totals than those stored is the older one.
    fn is_behind(&self, stored: &Self) -> bool {
        self.input < stored.input
            || self.output < stored.output
            || self.known < stored.known
            || self.unknown_calls < stored.unknown_calls
            || self.unmetered_calls < stored.unmetered_calls
    }
}

/// `amount`, changed by `by`. A sum that no column holds is refused, and so is what was to be recorded: it must not begin anew.
fn changed(amount: i64, by: i128, field: &'static str) -> Result<i64, LedgerError> {
    let value = i128::from(amount) + by;
    i64::try_from(value).map_err(|_| LedgerError::OutOfRange { field, value })
}

/// The stored state of an attempt before a report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    pub(super) state: AttemptState,
    /// It has an outcome.
    pub(super) has_result: bool,
    pub(super) spent: Spent,
    pub(super) maybe_spent: i64,
    pub(super) at_most: Option<i64>,
    pub(super) calls: u32,
    /// `None` in rows of a version that did not count them.
    pub(super) cached_calls: Option<u32>,
    pub(super) retries: u32,
    pub(super) latency_us: i64,
}

impl Before {
    /// `true` if no report can change the attempt any more. A resume may since have handed its result over.
    const fn is_reported(&self) -> bool {
        self.has_result || self.state.is_reported()
    }

    /// Possible cost in addition to the known cost, and the number of calls whose cost has no known bound. The call in flight counts only
    /// once no process waits for its answer any more.
    fn in_doubt(&self) -> (i128, i64) {
        let (in_flight, unbounded) = if self.state == AttemptState::Lost { in_flight(self.at_most) } else { (0, 0) };
        (i128::from(self.maybe_spent) + i128::from(in_flight), unbounded)
    }
}

/// Worst cases of calls in flight: their bound, and the number of calls without one, of which a stored `NULL` tells that there is one.
const fn in_flight(at_most: Option<i64>) -> (i64, i64) {
    match at_most {
        Some(at_most) => (at_most, 0),
        None => (0, 1),
    }
}

/// The new row of an attempt.
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
    pub(super) maybe_spent: i64,
    pub(super) at_most: Option<i64>,
    pub(super) calls: u32,
    /// `None` in rows of a version that did not count them.
    pub(super) cached_calls: Option<u32>,
    pub(super) retries: u32,
    pub(super) latency_us: i64,
    pub(super) transcript: Option<&'a TranscriptRef>,
}

/// Part of a sweep's life in which its attempts are told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Sessions of the sweep run.
    Running,
    /// It was ended, and its open attempts are still to be closed.
    Ending,
    /// The sweep has no open attempt any more.
    Closed,
}

impl Phase {
    /// Of a sweep that runs, or was tabulated since it did.
    pub(super) const fn of(runs: bool, is_tabulated: bool) -> Self {
        match (runs, is_tabulated) {
            (true, _) => Self::Running,
            (false, false) => Self::Ending,
            (false, true) => Self::Closed,
        }
    }
}

impl<'a> AttemptWrite<'a> {
    /// The row for a session's report.
    pub(super) fn reported(place: Place, state: AttemptState, record: &'a SessionRecord) -> Result<Self, LedgerError> {
        Ok(Self {
            outcome: Some(&record.outcome),
            transcript: Some(&record.transcript),
            ..Self::ended(place, state, &record.attempt, record.totals())?
        })
    }

    /// The row of an attempt that ended without a result.
    pub(super) fn ended(
        place: Place,
        state: AttemptState,
        attempt: &'a Attempt,
        totals: AttemptTotals,
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
            spent: Spent::of(totals.usage, totals.cost)?,
            maybe_spent: stored(totals.maybe_spent.0, "maybe_spent")?,
            at_most: None,
            calls: totals.calls,
            cached_calls: Some(totals.cached_calls),
            retries: totals.retries,
            latency_us: stored(totals.latency_us, "latency_us")?,
            transcript: None,
        })
    }

    /// The row of an attempt that another worker continues; `None` if its end is known already, or better.
    pub(super) fn handed_over(
        place: Place,
        before: Option<Before>,
        attempt: &'a Attempt,
        totals: AttemptTotals,
        told_by: ToldBy,
    ) -> Result<Option<Self>, LedgerError> {
        let told = Self::ended(place, AttemptState::HandedOver, attempt, totals)?;
        let Some(before) = before else { return Ok(Some(told)) };
        Ok(match (told_by, before.state) {
            (ToldBy::Itself, AttemptState::Open | AttemptState::Lost) => Some(told),
            // Told by its successor so far.
            (ToldBy::Itself, AttemptState::HandedOver) if !before.has_result => Some(told),
            (ToldBy::Successor, AttemptState::Open | AttemptState::Lost) => Some(told.with_progress(before)?),
            (_, AttemptState::Recorded | AttemptState::Waste | AttemptState::HandedOver) => None,
        })
    }

    /// This row, as a checkpoint knows of it, with what is stored of the running attempt where that is ahead.
    fn with_progress(self, before: Before) -> Result<Self, LedgerError> {
        let (in_flight, unbounded) = in_flight(before.at_most);
        let with_unbounded = |spent: Spent| {
            let unknown_calls = changed(spent.unknown_calls, unbounded.into(), "unknown_calls")?;
            Ok::<_, LedgerError>(Spent { unknown_calls, ..spent })
        };
        let in_doubt = changed(before.maybe_spent, in_flight.into(), "maybe_spent")?;
        if before.spent == self.spent {
            let maybe_spent = self.maybe_spent.max(in_doubt);
            return Ok(Self { maybe_spent, spent: with_unbounded(self.spent)?, ..self });
        }
        if !self.spent.is_behind(&before.spent) {
            return Ok(self);
        }
        Ok(Self {
            spent: with_unbounded(before.spent)?,
            maybe_spent: in_doubt,
            calls: before.calls,
            cached_calls: before.cached_calls,
            retries: before.retries,
            latency_us: before.latency_us,
            ..self
        })
    }

    /// The row of a running attempt; `None` if a newer one is stored. A lost attempt is reopened if its sweep runs, because a cancel may
    /// have closed it before the sweep was resumed and before its worker learned of the cancel. One of a closed sweep, of which nobody had
    /// heard, is lost: a worker that was cut off tells of it late, and nobody would close it.
    pub(super) fn open(
        place: Place,
        before: Option<Before>,
        open: &'a OpenAttempt,
        worker: &'a WorkerId,
        phase: Phase,
    ) -> Result<Option<Self>, LedgerError> {
        let totals = open.totals;
        let spent = Spent::of(totals.usage, totals.cost)?;
        let maybe_spent = stored(totals.maybe_spent.0, "maybe_spent")?;
        let is_old = |before: Before| spent.is_behind(&before.spent) || maybe_spent < before.maybe_spent;
        let may_run = |before: Before| match before.state {
            AttemptState::Open => true,
            AttemptState::Lost => phase == Phase::Running,
            AttemptState::Recorded | AttemptState::Waste | AttemptState::HandedOver => false,
        };
        if before.is_some_and(|before| !may_run(before) || is_old(before)) {
            return Ok(None);
        }
        let started_at = stored_time(open.started_at, "started_at")?;
        let is_lost = before.is_none() && phase == Phase::Closed;
        Ok(Some(Self {
            place,
            id: &open.id,
            number: open.number,
            worker,
            state: if is_lost { AttemptState::Lost } else { AttemptState::Open },
            started_at,
            // Nothing is known of it after that.
            ended_at: is_lost.then_some(started_at),
            outcome: None,
            spent,
            maybe_spent,
            at_most: Self::highest(before, open)?,
            calls: totals.calls,
            cached_calls: Some(totals.cached_calls),
            retries: totals.retries,
            latency_us: stored(totals.latency_us, "latency_us")?,
            transcript: None,
        }))
    }

    /// Worst case of the calls of a running attempt: as told, and of a line of a batch the highest that was told. Several workers may tell of a
    /// line, and who has a copy of its batch's intent does not know yet that its provider has the batch.
    fn highest(before: Option<Before>, open: &OpenAttempt) -> Result<Option<i64>, LedgerError> {
        let told = stored_money(open.in_flight_at_most, "at_most")?;
        Ok(match before {
            Some(before) if open.id.is_line() => told.zip(before.at_most).map(|(told, before)| told.max(before)),
            _ => told,
        })
    }

    pub(super) fn as_before(&self) -> Before {
        Before {
            state: self.state,
            has_result: self.outcome.is_some(),
            spent: self.spent,
            maybe_spent: self.maybe_spent,
            at_most: self.at_most,
            calls: self.calls,
            cached_calls: self.cached_calls,
            retries: self.retries,
            latency_us: self.latency_us,
        }
    }
}

/// Classifies a report by the state that is stored before it.
pub(super) fn classify(before: Option<Before>, session_is_there: bool) -> Recorded {
    match before {
        Some(before) if before.is_reported() => Recorded::Repeat,
        _ if session_is_there => Recorded::Waste,
        _ => Recorded::First,
    }
}

/// Amounts to add to a cell's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Delta {
    pub(super) recorded: i64,
    pub(super) settled: i64,
    pub(super) measured: i64,
    pub(super) model_failures: i64,
    pub(super) not_measured: i64,
    pub(super) spent: Spent,
    pub(super) maybe_spent: i64,
    pub(super) wasted_known: i64,
    pub(super) wasted_unknown_calls: i64,
}

impl Delta {
    /// Applies a change of an attempt's row.
    pub(super) fn attempt(&mut self, before: Option<Before>, after: Before) -> Result<(), LedgerError> {
        for (sign, attempt) in before.map(|before| (-1, before)).into_iter().chain([(1, after)]) {
            let (maybe_spent, unbounded) = attempt.in_doubt();
            self.spent = self.spent.changed(&attempt.spent, sign)?;
            self.doubt(sign * maybe_spent, sign * i128::from(unbounded))?;
            if attempt.state.is_wasted() {
                let Spent { known, unknown_calls, .. } = attempt.spent;
                self.waste(sign * i128::from(known), sign * i128::from(unknown_calls))?;
            }
        }
        Ok(())
    }

    /// Counts what is in the cell already as wasted.
    pub(super) fn waste(&mut self, known: i128, unknown_calls: i128) -> Result<(), LedgerError> {
        self.wasted_known = changed(self.wasted_known, known, "wasted_known")?;
        self.wasted_unknown_calls = changed(self.wasted_unknown_calls, unknown_calls, "wasted_unknown_calls")?;
        Ok(())
    }

    /// Counts possible cost in addition to the known cost, and calls whose cost has no known bound.
    pub(super) fn doubt(&mut self, maybe_spent: i128, unbounded: i128) -> Result<(), LedgerError> {
        self.maybe_spent = changed(self.maybe_spent, maybe_spent, "maybe_spent")?;
        self.spent.unknown_calls = changed(self.spent.unknown_calls, unbounded, "unknown_calls")?;
        Ok(())
    }

    /// Counts a session that was settled with `outcome`.
    pub(super) fn settled(&mut self, outcome: &Outcome) {
        self.settled += 1;
        match outcome {
            Outcome::Measured => self.measured += 1,
            Outcome::ModelFailure { .. } => self.model_failures += 1,
            Outcome::NotMeasured { .. } => self.not_measured += 1,
        }
    }
}

/// `true` if a session that ends with `cause` keeps its transcript, so that only its questions need to be asked again.
pub(super) fn keeps_transcript(cause: Cause) -> bool {
    cause == Cause::JudgeUnavailable
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(state: AttemptState, known: i64, at_most: i64) -> Before {
        Before {
            state,
            has_result: false,
            spent: Spent { known, ..Spent::default() },
            maybe_spent: at_most,
            at_most: Some(at_most),
            calls: 1,
            cached_calls: Some(0),
            retries: 0,
            latency_us: 0,
        }
    }

    #[test]
    fn amounts_that_no_column_holds_together_are_refused_with_the_field() {
        let most = attempt(AttemptState::Recorded, i64::MAX, 0);
        let mut delta = Delta::default();
        delta.attempt(None, most).unwrap();
        let error = delta.attempt(None, most).unwrap_err();
        let sum = 2 * i128::from(i64::MAX);
        assert!(matches!(error, LedgerError::OutOfRange { field: "cost", value } if value == sum), "{error}");
        // Where its call in flight may have been billed too.
        let lost = attempt(AttemptState::Lost, 0, i64::MAX);
        let error = Delta::default().attempt(None, lost).unwrap_err();
        assert!(matches!(error, LedgerError::OutOfRange { field: "maybe_spent", value } if value == sum), "{error}");
    }

    #[test]
    fn an_attempt_that_is_told_of_again_counts_once() {
        let mut delta = Delta::default();
        for before in [None, Some(attempt(AttemptState::Open, 5, 2))] {
            delta.attempt(before, attempt(AttemptState::Open, 5, 2)).unwrap();
        }
        delta.attempt(Some(attempt(AttemptState::Open, 5, 2)), attempt(AttemptState::Lost, 5, 2)).unwrap();
        assert_eq!((delta.spent.known, delta.maybe_spent, delta.wasted_known), (5, 4, 5));
    }
}
