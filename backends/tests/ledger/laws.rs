//! The ledger equals the oracle after any sequence of calls.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use regatta_backends::ledger::{SessionRecord, Settlement, ToldBy, TranscriptRef};
use regatta_backends::{Judged, Ledger, Quota};
use regatta_proto::{Answerer, AttemptTotals, Cause, CellIndex, ItemIndex, Money, Outcome, ShardIndex, SweepId};

use crate::oracle::{ExpectedAttempt, Oracle, SHARDS};
use crate::world::{
    World, answerer, at, attempt, calls, cost, judge, judged, key, not_measured, open, question, record, scored,
    totals, unmeasured, usage, waiting,
};

pub(crate) const CELLS: u32 = 2;
pub(crate) const ITEMS: u32 = 3;
const QUESTIONS: [&str; 3] = ["a", "b", "c"];

/// A session, an attempt, and its spending.
type Who = (u32, u32, String, u64);

#[derive(Debug, Clone)]
enum Step {
    Record(Vec<(Who, Ending)>),
    Progress(Vec<Who>),
    HandOver(Who, ToldBy),
    Settle(Vec<(u32, u32, Option<Cause>)>),
    Claim(Vec<&'static str>),
    Judged(String, Vec<&'static str>),
    Close,
    Reopen,
    ClaimShard(u32),
    ConfirmShard(u32, u32),
    PlanShardsAgain(u32, Vec<u32>, u64),
    ResetDispatch,
}

#[derive(Debug, Clone)]
enum Ending {
    Scored,
    ModelFailure,
    NotMeasured(Cause),
    Waits(Vec<&'static str>),
}

fn who() -> impl Strategy<Value = Who> {
    // Few attempts, so that they meet.
    (0..CELLS, 0..ITEMS, 0..3u32, 1..3u32, 0..20u64)
        .prop_map(|(cell, item, worker, number, units)| (cell, item, format!("w{worker}-{number}"), units))
}

fn cause() -> impl Strategy<Value = Cause> {
    prop_oneof![Just(Cause::JudgeUnavailable), Just(Cause::Timeout), Just(Cause::Budget)]
}

fn asked() -> impl Strategy<Value = Vec<&'static str>> {
    proptest::collection::vec(proptest::sample::select(QUESTIONS.to_vec()), 0..4)
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        2 => Just(Ending::Scored),
        1 => Just(Ending::ModelFailure),
        2 => cause().prop_map(Ending::NotMeasured),
        3 => asked().prop_map(Ending::Waits),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let settlement = (0..CELLS, 0..ITEMS, proptest::option::of(cause()));
    let shard = || 0..CELLS * SHARDS;
    prop_oneof![
        6 => proptest::collection::vec((who(), ending()), 0..6).prop_map(Step::Record),
        3 => proptest::collection::vec(who(), 0..5).prop_map(Step::Progress),
        1 => who().prop_map(|who| Step::HandOver(who, ToldBy::Itself)),
        1 => who().prop_map(|who| Step::HandOver(who, ToldBy::Successor)),
        4 => proptest::collection::vec(settlement, 0..5).prop_map(Step::Settle),
        1 => asked().prop_map(Step::Claim),
        1 => ("[xy]-[12]", asked()).prop_map(|(id, asked)| Step::Judged(id, asked)),
        1 => Just(Step::Close),
        2 => Just(Step::Reopen),
        3 => shard().prop_map(Step::ClaimShard),
        3 => (shard(), 0..3u32).prop_map(|(shard, sessions)| Step::ConfirmShard(shard, sessions)),
        1 => (0..CELLS, proptest::collection::vec(shard(), 0..3), 0..u64::from(ITEMS))
            .prop_map(|(cell, shards, dispatched)| Step::PlanShardsAgain(cell, shards, dispatched)),
        1 => Just(Step::ResetDispatch),
    ]
}

fn session_record(sweep: &SweepId, (cell, item, id, units): &Who, ending: &Ending) -> SessionRecord {
    let key = key(sweep, *cell, *item);
    let record = match ending {
        Ending::Scored => record(key, id),
        Ending::ModelFailure => {
            SessionRecord { outcome: Outcome::ModelFailure { cause: Cause::ContextLength }, ..record(key, id) }
        }
        Ending::NotMeasured(cause) => not_measured(key, id, *cause),
        Ending::Waits(questions) => waiting(key, id, questions),
    };
    let number = record.attempt.number;
    let own = *units as u32 % 3;
    // Every second attempt continues the earlier ones.
    let brought = (1..number).filter(|_| units % 2 == 0).map(|earlier| (earlier, 2));
    let of_attempts: Vec<_> = brought.chain((own > 0).then_some((number, own))).collect();
    SessionRecord {
        usage: usage(*units),
        cost: cost(*units),
        maybe_spent: Money(units / 2),
        calls: own,
        call_sums: calls(&of_attempts),
        transcript: TranscriptRef { segment: "transcripts/000.zst".to_owned(), line: *units as u32 },
        ..record
    }
}

async fn take(world: &World, oracle: &mut Oracle, sweep: &SweepId, step: &Step) {
    let ledger = &world.ledger;
    match step {
        Step::ClaimShard(shard) => {
            let (term, generation) = (world.term().await, oracle.generation);
            let claimed = ledger.claim_shard(sweep, ShardIndex(*shard), generation, term).await.unwrap();
            assert_eq!(claimed, oracle.claim_shard(*shard));
        }
        Step::ConfirmShard(shard, sessions) => {
            let term = world.term().await;
            let confirmed = ledger.confirm_shard(sweep, ShardIndex(*shard), *sessions, term).await.unwrap();
            assert_eq!(confirmed, oracle.confirm_shard(*shard, u64::from(*sessions)));
        }
        Step::PlanShardsAgain(cell, shards, dispatched) => {
            let (cell, term) = (CellIndex(*cell), world.term().await);
            let indices: Vec<_> = shards.iter().copied().map(ShardIndex).collect();
            let planned = ledger.plan_shards_again(sweep, cell, &indices, *dispatched, term).await.unwrap();
            assert_eq!(planned, oracle.plan_shards_again(cell.0, shards, *dispatched));
        }
        Step::ResetDispatch => {
            let term = world.term().await;
            let planned = ledger.reset_dispatch(sweep, Duration::ZERO, term).await.unwrap();
            assert_eq!(planned, Some(oracle.reset_dispatch()));
        }
        Step::Record(reports) => {
            let records: Vec<_> = reports.iter().map(|(who, ending)| session_record(sweep, who, ending)).collect();
            let expected: Vec<_> = records.iter().map(|record| oracle.record(record)).collect();
            assert_eq!(ledger.record(records).await.unwrap(), expected);
        }
        Step::Progress(running) => {
            let running: Vec<_> = running
                .iter()
                .map(|(cell, item, id, units)| {
                    let (mut open, worker) = open(key(sweep, *cell, *item), id, *units);
                    (open.totals.maybe_spent, open.totals.calls) = (Money(units / 5), *units as u32);
                    (open, worker)
                })
                .collect();
            running.iter().for_each(|(open, _)| oracle.progress(open));
            ledger.record_progress(running).await.unwrap();
        }
        Step::HandOver((cell, item, id, units), told_by) => {
            let key = key(sweep, *cell, *item);
            let totals = AttemptTotals { maybe_spent: Money(units / 3), calls: *units as u32, ..totals(*units) };
            oracle.handover(&key, &attempt(id), totals, *told_by);
            ledger.record_handover(&key, attempt(id), totals, *told_by).await.unwrap();
        }
        Step::Settle(sessions) => {
            let settlements: Vec<Settlement> = sessions
                .iter()
                .enumerate()
                .map(|(score, (cell, item, cause))| match cause {
                    Some(cause) => unmeasured(key(sweep, *cell, *item), *cause),
                    None => scored(key(sweep, *cell, *item), score as i64),
                })
                .collect();
            let expected: u64 = settlements.iter().map(|settlement| oracle.settle(settlement)).sum();
            assert_eq!(ledger.settle(settlements).await.unwrap(), expected);
        }
        Step::Claim(texts) => {
            let digests: Vec<_> = texts.iter().map(|text| question(text)).collect();
            let claimed =
                ledger.claim_questions(sweep, &judge(), answerer_of(sweep), &digests).await.unwrap().questions;
            assert_eq!(claimed, oracle.claim(&digests));
        }
        Step::Judged(id, texts) => {
            let verdicts: Vec<_> = texts.iter().map(|text| (*text, 1)).collect();
            let outcome = Judged { answerer: answerer_of(sweep), ..judged(sweep, id, &verdicts) };
            oracle.judged(&outcome.outcome);
            ledger.save_judged(vec![outcome]).await.unwrap();
        }
        Step::Close => assert_eq!(ledger.close_open_attempts(sweep, at(9)).await.unwrap(), oracle.close()),
        Step::Reopen => {
            let expected = oracle.reopen(u64::from(CELLS * ITEMS));
            assert_eq!(ledger.reopen_unmeasured(sweep, Quota::default()).await.unwrap(), expected);
        }
    }
}

/// Whoever answers the questions of `sweep` alone: all sweeps of a ledger share the answers of one.
fn answerer_of(sweep: &SweepId) -> Answerer {
    answerer(&format!("http://{sweep}/v1"))
}

async fn compare(ledger: &Ledger, oracle: &Oracle, sweep: &SweepId) {
    for (cell, found) in ledger.cell_progress(sweep).await.unwrap().into_iter().enumerate() {
        let counters = (
            found.dispatched,
            found.recorded,
            found.settled,
            found.measured,
            found.model_failures,
            found.not_measured,
            found.usage,
            found.cost,
            found.wasted,
            found.maybe_spent,
        );
        let cell = cell as u32;
        assert_eq!(counters, oracle.counters(cell), "cell {cell}");
        let items: Vec<_> = (0..ITEMS).map(ItemIndex).collect();
        let found = ledger.continuations(sweep, CellIndex(cell), &items).await.unwrap();
        let found: BTreeMap<_, _> = found.into_iter().map(|(item, transcript)| (item.0, transcript.line)).collect();
        assert_eq!(found, oracle.continuations(cell), "cell {cell}");
    }
    let found: Vec<_> = ledger.shards(sweep).await.unwrap().into_iter().map(|shard| shard.state).collect();
    assert_eq!(found, oracle.shards);
    let found: BTreeMap<_, _> = ledger
        .attempts(sweep)
        .await
        .unwrap()
        .into_iter()
        .map(|row| {
            let attempt = ExpectedAttempt {
                number: row.number,
                state: row.state,
                usage: row.usage,
                cost: row.cost,
                maybe_spent: row.maybe_spent,
                in_flight_at_most: row.at_most,
                calls: row.calls,
                line: row.transcript.map(|transcript| transcript.line),
                outcome: row.outcome,
            };
            ((row.key, row.id.to_string()), attempt)
        })
        .collect();
    assert_eq!(found, oracle.attempts);
    let sums: BTreeMap<_, _> = ledger.call_sums(sweep).await.unwrap().into_iter().collect();
    for cell in 0..CELLS {
        assert_eq!(sums.get(&CellIndex(cell)).cloned().unwrap_or_default(), oracle.calls(cell), "cell {cell}");
        let found = ledger.sessions(sweep, CellIndex(cell)).await.unwrap();
        let found: Vec<_> = found.into_iter().map(|row| (row.item.0, row.outcome, row.scores)).collect();
        let expected: Vec<_> = oracle
            .sessions
            .iter()
            .filter(|(key, session)| key.cell.0 == cell && !session.waits)
            .map(|(key, session)| (key.item.0, session.outcome.clone(), session.scores.clone()))
            .collect();
        assert_eq!(found, expected);
    }
    let expected = |asked: Option<&str>| -> Vec<_> {
        let waits = oracle.sessions.iter().filter(|(_, session)| session.waits);
        waits
            .map(|(key, session)| (key.clone(), session.outcome.clone(), session.questions.clone().unwrap()))
            .filter(|(_, _, questions)| asked.is_none_or(|text| questions.contains(&question(text))))
            .collect()
    };
    let plain = |sessions: Vec<regatta_backends::ledger::AwaitingSession>| -> Vec<_> {
        sessions.into_iter().map(|session| (session.key, session.outcome, session.questions)).collect()
    };
    assert_eq!(plain(ledger.awaiting_after(sweep, None, u32::MAX).await.unwrap()), expected(None));
    for text in QUESTIONS {
        assert_eq!(plain(ledger.awaiting(sweep, &judge(), &[question(text)]).await.unwrap()), expected(Some(text)));
    }
    assert_eq!(ledger.judge_costs(sweep).await.unwrap(), oracle.judge_costs());
}

pub(crate) async fn counters_equal_a_recount_whatever_happens(world: World) {
    let cases = AtomicU32::new(0);
    let runtime = tokio::runtime::Handle::current();
    let mut runner = TestRunner::new(Config { cases: 60, failure_persistence: None, ..Config::default() });
    let case = |steps: Vec<Step>| {
        // A sweep of its own for each case, in one store.
        let name = format!("case-{}", cases.fetch_add(1, Ordering::Relaxed));
        runtime.block_on(async {
            let sweep = world.sweep(&name, CELLS, ITEMS).await;
            let mut oracle = Oracle::new();
            for step in &steps {
                take(&world, &mut oracle, &sweep, step).await;
                compare(&world.ledger, &oracle, &sweep).await;
            }
        });
        Ok(())
    };
    let law = tokio::task::block_in_place(|| runner.run(&proptest::collection::vec(step(), 1..25), case));
    if let Err(failure) = law {
        panic!("{failure}");
    }
}
