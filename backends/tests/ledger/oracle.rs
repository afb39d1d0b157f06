//! The rules of the ledger, written down as slowly and plainly as possible: no counters, everything recounted.

use std::collections::{BTreeMap, BTreeSet};

use regatta_backends::ledger::{
    AttemptState, CallSums, RecordState, Recorded, Reopened, SessionRecord, Settlement, SettlementResult, ShardState,
    ToldBy,
};
use regatta_proto::{
    Attempt, AttemptTotals, Cause, CostSum, Digest, JudgeOutcome, Money, OpenAttempt, Outcome, SessionKey, Usage,
};
use serde_json::Value;

use crate::laws::{CELLS, ITEMS};

/// An attempt as the ledger should show it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExpectedAttempt {
    pub(crate) number: u32,
    pub(crate) state: AttemptState,
    pub(crate) usage: Usage,
    pub(crate) cost: CostSum,
    pub(crate) maybe_spent: Money,
    pub(crate) in_flight_at_most: Option<Money>,
    pub(crate) calls: u32,
    /// Line of the transcript.
    pub(crate) line: Option<u32>,
    pub(crate) outcome: Option<Outcome>,
}

impl ExpectedAttempt {
    fn without_result(state: AttemptState, number: u32, usage: Usage, cost: CostSum) -> Self {
        Self {
            number,
            state,
            usage,
            cost,
            maybe_spent: Money::ZERO,
            in_flight_at_most: None,
            calls: 0,
            line: None,
            outcome: None,
        }
    }
}

/// A session as the ledger should show it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExpectedSession {
    pub(crate) attempt: String,
    pub(crate) outcome: Outcome,
    pub(crate) scores: Value,
    pub(crate) waits: bool,
    pub(crate) questions: Option<Vec<Digest>>,
}

/// Counters of a cell: dispatched, recorded, settled, measured, model failures, not measured, usage, cost, wasted, possibly spent.
pub(crate) type Counters = (u64, u64, u64, u64, u64, u64, Usage, CostSum, CostSum, Money);

/// Shards of a cell, each of two items.
pub(crate) const SHARDS: u32 = ITEMS.div_ceil(2);

#[derive(Debug, Default)]
pub(crate) struct Oracle {
    /// States of the shards, cell by cell.
    pub(crate) shards: Vec<ShardState>,
    /// Sessions counted as dispatched, by cell.
    dispatched: Vec<u64>,
    /// Number of resumes.
    pub(crate) generation: u32,
    pub(crate) attempts: BTreeMap<(SessionKey, String), ExpectedAttempt>,
    pub(crate) sessions: BTreeMap<SessionKey, ExpectedSession>,
    /// Sums of calls that count, each with its cell.
    calls: Vec<(u32, CallSums)>,
    /// Attempts, by number, whose calls have been or will be counted with another attempt's record.
    handed_on: BTreeSet<(SessionKey, u32)>,
    asked: BTreeSet<Digest>,
    answered: BTreeSet<Digest>,
    judged: BTreeMap<String, (Usage, CostSum)>,
}

impl Oracle {
    /// Of a sweep in which nothing has happened.
    pub(crate) fn new() -> Self {
        let shards = vec![ShardState::Planned; (CELLS * SHARDS) as usize];
        Self { shards, dispatched: vec![0; CELLS as usize], ..Self::default() }
    }

    /// Moves a shard that stands in `from`, and says whether it did.
    fn move_shard(&mut self, shard: u32, from: ShardState, to: ShardState) -> bool {
        let state = &mut self.shards[shard as usize];
        let moves = *state == from;
        if moves {
            *state = to;
        }
        moves
    }

    pub(crate) fn claim_shard(&mut self, shard: u32) -> bool {
        self.move_shard(shard, ShardState::Planned, ShardState::Dispatching)
    }

    pub(crate) fn confirm_shard(&mut self, shard: u32, sessions: u64) -> bool {
        let confirmed = self.move_shard(shard, ShardState::Dispatching, ShardState::Dispatched);
        if confirmed {
            self.dispatched[(shard / SHARDS) as usize] += sessions;
        }
        confirmed
    }

    pub(crate) fn plan_shards_again(&mut self, cell: u32, shards: &[u32], dispatched: u64) -> bool {
        let mut planned = false;
        for shard in shards.iter().filter(|shard| **shard / SHARDS == cell) {
            planned |= self.move_shard(*shard, ShardState::Dispatching, ShardState::Planned);
        }
        if planned {
            self.dispatched[cell as usize] = dispatched;
        }
        planned
    }

    pub(crate) fn reset_dispatch(&mut self) -> u64 {
        self.asked.clear();
        self.plan_again();
        u64::from(CELLS * ITEMS) - self.sessions.len() as u64
    }

    /// Whatever has no result is to be dispatched.
    fn plan_again(&mut self) {
        for cell in 0..CELLS {
            let recorded = self.sessions.keys().filter(|key| key.cell.0 == cell).count() as u64;
            self.dispatched[cell as usize] = recorded;
            if recorded < u64::from(ITEMS) {
                self.shards[(cell * SHARDS) as usize..][..SHARDS as usize].fill(ShardState::Planned);
            }
        }
    }

    pub(crate) fn record(&mut self, record: &SessionRecord) -> Recorded {
        let id = (record.key.clone(), record.attempt.id.to_string());
        let reported = |attempt: &ExpectedAttempt| {
            attempt.outcome.is_some() || [AttemptState::Recorded, AttemptState::Waste].contains(&attempt.state)
        };
        if self.attempts.get(&id).is_some_and(reported) {
            return Recorded::Repeat;
        }
        let (state, result) = if self.sessions.contains_key(&record.key) {
            (AttemptState::Waste, Recorded::Waste)
        } else {
            let (scores, questions) = match &record.state {
                RecordState::Settled { scores } => (scores.clone(), None),
                RecordState::Awaiting { questions, .. } => (Value::Null, Some(questions.clone())),
            };
            let session = ExpectedSession {
                attempt: id.1.clone(),
                outcome: record.outcome.clone(),
                scores,
                waits: questions.is_some(),
                questions,
            };
            self.sessions.insert(record.key.clone(), session);
            (AttemptState::Recorded, Recorded::First)
        };
        for (number, sums) in &record.call_sums {
            if *number == record.attempt.number || self.handed_on.insert((record.key.clone(), *number)) {
                self.calls.push((record.key.cell.0, sums.clone()));
            }
        }
        let attempt = ExpectedAttempt {
            number: record.attempt.number,
            state,
            usage: record.usage,
            cost: record.cost,
            maybe_spent: record.maybe_spent,
            in_flight_at_most: None,
            calls: record.calls,
            line: Some(record.transcript.line),
            outcome: Some(record.outcome.clone()),
        };
        self.attempts.insert(id, attempt);
        result
    }

    pub(crate) fn progress(&mut self, open: &OpenAttempt) {
        let id = (open.key.clone(), open.id.to_string());
        let news = self.attempts.get(&id).is_none_or(|old| {
            // The sweep runs, so a lost attempt is reopened.
            matches!(old.state, AttemptState::Open | AttemptState::Lost)
                && open.totals.usage.input >= old.usage.input
                && open.totals.cost.known >= old.cost.known
                && open.totals.cost.unknown_calls >= old.cost.unknown_calls
                && open.totals.maybe_spent >= old.maybe_spent
        });
        if news {
            let attempt = ExpectedAttempt {
                in_flight_at_most: open.in_flight_at_most,
                maybe_spent: open.totals.maybe_spent,
                calls: open.totals.calls,
                ..ExpectedAttempt::without_result(AttemptState::Open, open.number, open.totals.usage, open.totals.cost)
            };
            self.attempts.insert(id, attempt);
        }
    }

    pub(crate) fn handover(&mut self, key: &SessionKey, attempt: &Attempt, totals: AttemptTotals, told_by: ToldBy) {
        let id = (key.clone(), attempt.id.to_string());
        let told = ExpectedAttempt {
            maybe_spent: totals.maybe_spent,
            calls: totals.calls,
            ..ExpectedAttempt::without_result(AttemptState::HandedOver, attempt.number, totals.usage, totals.cost)
        };
        let Some(old) = self.attempts.get_mut(&id) else {
            self.attempts.insert(id, told);
            return;
        };
        let in_flight = old.in_flight_at_most.unwrap_or_default();
        match (told_by, old.state) {
            (ToldBy::Itself, AttemptState::Open | AttemptState::Lost) => *old = told,
            (ToldBy::Itself, AttemptState::HandedOver) if old.outcome.is_none() => *old = told,
            (ToldBy::Successor, AttemptState::Open | AttemptState::Lost) => {
                // Counters only grow, but those of these tests may have fewer unknown calls beside more tokens.
                let is_behind = told.usage.input < old.usage.input || told.cost.unknown_calls < old.cost.unknown_calls;
                let is_equal = told.usage.input == old.usage.input;
                let maybe = old.maybe_spent + in_flight;
                *old = if is_behind {
                    ExpectedAttempt { maybe_spent: maybe, calls: old.calls, usage: old.usage, cost: old.cost, ..told }
                } else if is_equal {
                    ExpectedAttempt { maybe_spent: told.maybe_spent.max(maybe), ..told }
                } else {
                    told
                };
            }
            (_, AttemptState::Recorded | AttemptState::Waste | AttemptState::HandedOver) => {}
        }
    }

    pub(crate) fn settle(&mut self, settlement: &Settlement) -> u64 {
        let Some(session) = self.sessions.get_mut(&settlement.key).filter(|session| session.waits) else { return 0 };
        if let SettlementResult::Waits(questions) = &settlement.result {
            session.questions = Some(questions.clone());
            return 0;
        }
        session.waits = false;
        match &settlement.result {
            SettlementResult::Waits(_) => {}
            SettlementResult::Scored(scores) => {
                session.scores = scores.clone();
                session.questions = None;
            }
            SettlementResult::NotMeasured(cause) => {
                session.outcome = Outcome::NotMeasured { cause: *cause };
                if *cause != Cause::JudgeUnavailable {
                    session.questions = None;
                }
            }
        }
        1
    }

    pub(crate) fn claim(&mut self, questions: &[Digest]) -> Vec<Digest> {
        let open = questions.iter().filter(|question| !self.answered.contains(*question));
        open.filter(|question| self.asked.insert(**question)).copied().collect()
    }

    pub(crate) fn judged(&mut self, outcome: &JudgeOutcome) {
        if self.judged.insert(outcome.attempt.to_string(), (outcome.usage, outcome.cost)).is_none() {
            for (question, _) in &outcome.verdicts {
                self.asked.remove(question);
                self.answered.insert(*question);
            }
        }
    }

    pub(crate) fn judge_costs(&self) -> (Usage, CostSum) {
        sum(self.judged.values().copied())
    }

    pub(crate) fn close(&mut self) -> u64 {
        let open = self.attempts.values_mut().filter(|attempt| attempt.state == AttemptState::Open);
        open.map(|attempt| attempt.state = AttemptState::Lost).count() as u64
    }

    pub(crate) fn reopen(&mut self, planned: u64) -> Reopened {
        let unmeasured =
            |session: &ExpectedSession| !session.waits && matches!(session.outcome, Outcome::NotMeasured { .. });
        for (key, session) in &mut self.sessions {
            if unmeasured(session) && session.questions.is_some() {
                let attempt = &self.attempts[&(key.clone(), session.attempt.clone())];
                session.outcome = attempt.outcome.clone().unwrap();
                session.waits = true;
            }
        }
        let gone: Vec<SessionKey> =
            self.sessions.iter().filter(|(_, session)| unmeasured(session)).map(|(key, _)| key.clone()).collect();
        for key in gone {
            let Some(session) = self.sessions.remove(&key) else { continue };
            let has_answers = self.attempts.iter().any(|((of, id), attempt)| {
                let counts = *id == session.attempt && attempt.calls > 0;
                *of == key && (counts || attempt.state == AttemptState::HandedOver)
            });
            if has_answers && session.outcome == (Outcome::NotMeasured { cause: Cause::Budget }) {
                if let Some(attempt) = self.attempts.get_mut(&(key.clone(), session.attempt)) {
                    attempt.state = AttemptState::HandedOver;
                    self.handed_on.insert((key, attempt.number));
                }
                continue;
            }
            for ((of, _), attempt) in &mut self.attempts {
                if *of == key && [AttemptState::Recorded, AttemptState::HandedOver].contains(&attempt.state) {
                    attempt.state = AttemptState::Waste;
                }
            }
        }
        self.generation += 1;
        self.plan_again();
        let to_judge = self.sessions.values().filter(|session| session.waits).count() as u64;
        Reopened { to_run: planned - self.sessions.len() as u64, to_judge }
    }

    /// The transcripts to continue from in a cell: line by item.
    pub(crate) fn continuations(&self, cell: u32) -> BTreeMap<u32, u32> {
        let mut attempts: Vec<_> = self
            .attempts
            .iter()
            .filter(|((key, _), attempt)| key.cell.0 == cell && attempt.state == AttemptState::HandedOver)
            .filter(|((key, _), _)| !self.sessions.contains_key(key))
            .filter_map(|((key, id), attempt)| attempt.line.map(|line| (attempt.number, id, key.item.0, line)))
            .collect();
        attempts.sort();
        attempts.into_iter().map(|(_, _, item, line)| (item, line)).collect()
    }

    pub(crate) fn calls(&self, cell: u32) -> CallSums {
        let mut all = CallSums::default();
        self.calls.iter().filter(|(of, _)| *of == cell).for_each(|(_, sums)| all.merge(sums));
        all
    }

    pub(crate) fn counters(&self, cell: u32) -> Counters {
        let sessions = || self.sessions.iter().filter(|(key, _)| key.cell.0 == cell).map(|(_, session)| session);
        let settled =
            |kind: &str| sessions().filter(|session| !session.waits && session.outcome.as_str() == kind).count();
        let attempts = || self.attempts.iter().filter(|((key, _), _)| key.cell.0 == cell).map(|(_, attempt)| attempt);
        let wasted = attempts().filter(|attempt| [AttemptState::Waste, AttemptState::Lost].contains(&attempt.state));
        let lost = || attempts().filter(|attempt| attempt.state == AttemptState::Lost);
        let in_flight: Money = lost().filter_map(|attempt| attempt.in_flight_at_most).sum();
        let maybe_spent = in_flight + attempts().map(|attempt| attempt.maybe_spent).sum();
        let (usage, mut cost) = sum(attempts().map(|attempt| (attempt.usage, attempt.cost)));
        cost.unknown_calls += lost().filter(|attempt| attempt.in_flight_at_most.is_none()).count() as u64;
        (
            self.dispatched[cell as usize],
            sessions().count() as u64,
            sessions().filter(|session| !session.waits).count() as u64,
            settled("measured") as u64,
            settled("model_failure") as u64,
            settled("not_measured") as u64,
            usage,
            cost,
            sum(wasted.map(|attempt| (attempt.usage, attempt.cost))).1,
            maybe_spent,
        )
    }
}

fn sum(all: impl Iterator<Item = (Usage, CostSum)>) -> (Usage, CostSum) {
    let mut total = (Usage::default(), CostSum::default());
    for (usage, cost) in all {
        total.0 += usage;
        total.1 += cost;
    }
    total
}
