//! Resuming a sweep.

use std::collections::BTreeSet;
use std::time::Duration;

use regatta_backends::ledger::{AttemptState, Held, Recorded, Reopened, SessionRecord, ShardState, TranscriptRef};
use regatta_backends::{LedgerError, NewSweep, Quota, StaleQuestions, SweepRow};
use regatta_proto::{
    Cause, CellIndex, CostSum, ItemIndex, Money, Outcome, SessionKey, ShardIndex, SweepId, SweepState,
};

use crate::world::{
    HERE, World, answerer, at, attempt, calls, cost, judge, key, new_sweep, not_measured, open, questions, record,
    scored, unmeasured, usage, waiting,
};

/// Longer than any test.
const LONG: Duration = Duration::from_secs(3600);

async fn dispatch_all(world: &World, sweep: &SweepId) {
    for shard in world.ledger.shards(sweep).await.unwrap() {
        world.dispatch(sweep, shard.index, shard.count).await;
    }
}

async fn planned(world: &World, sweep: &SweepId) -> Vec<ShardIndex> {
    let shards = world.ledger.shards(sweep).await.unwrap();
    shards.into_iter().filter(|shard| shard.state == ShardState::Planned).map(|shard| shard.index).collect()
}

pub(crate) async fn unmeasured_sessions_run_again(world: World) {
    let sweep = world.sweep("s", 2, 4).await;
    let ledger = &world.ledger;
    dispatch_all(&world, &sweep).await;
    world.hand_over(&key(&sweep, 0, 1), "a-1", 2).await;
    let mut records: Vec<_> = (0..4).map(|item| record(key(&sweep, 1, item), &format!("w-{item}"))).collect();
    records.push(record(key(&sweep, 0, 0), "w-10"));
    records.push(not_measured(key(&sweep, 0, 1), "w-11", Cause::EndpointUnavailable));
    records.push(not_measured(key(&sweep, 0, 2), "w-12", Cause::JudgeUnavailable)); // its transcript was never kept
    records.push(record(key(&sweep, 0, 3), "w-13"));
    ledger.record(records).await.unwrap();
    assert_eq!(ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap(), Reopened { to_run: 2, to_judge: 0 });

    let items = ledger.recorded_items(&sweep, CellIndex(0), ItemIndex(0), ItemIndex(9)).await.unwrap();
    assert_eq!(items, [0, 3].map(ItemIndex));
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.dispatched, cell.recorded, cell.settled, cell.not_measured), (2, 2, 2, 0));
    assert_eq!((cell.cost.known, cell.wasted), (Money(30), CostSum { known: Money(16), unknown_calls: 2 }));
    assert_eq!(world.cell(&sweep, 1).await.dispatched, 4);
    assert_eq!(planned(&world, &sweep).await, [0, 1].map(ShardIndex));
    let wasted: Vec<_> = ledger
        .attempts(&sweep)
        .await
        .unwrap()
        .into_iter()
        .filter(|attempt| attempt.state == AttemptState::Waste)
        .map(|attempt| attempt.id.to_string())
        .collect();
    assert_eq!(wasted, ["a-1", "w-11", "w-12"]);
}

pub(crate) async fn a_session_without_a_judge_only_asks_again(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let ledger = &world.ledger;
    dispatch_all(&world, &sweep).await;
    let mut failed = waiting(key(&sweep, 0, 0), "w-1", &["a", "b"]);
    failed.outcome = Outcome::ModelFailure { cause: Cause::ContextLength };
    ledger.record(vec![failed, record(key(&sweep, 0, 1), "w-2")]).await.unwrap();
    let waiting = ledger.awaiting_after(&sweep, None, u32::MAX).await.unwrap();
    ledger.settle(vec![unmeasured(key(&sweep, 0, 0), Cause::JudgeUnavailable)]).await.unwrap();

    assert_eq!(ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap(), Reopened { to_run: 0, to_judge: 1 });
    assert_eq!(ledger.awaiting_after(&sweep, None, u32::MAX).await.unwrap(), waiting);
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.dispatched, cell.recorded, cell.settled, cell.not_measured), (2, 2, 1, 0));
    assert_eq!(cell.wasted, CostSum::default());
    assert_eq!(planned(&world, &sweep).await, []);
    assert_eq!(ledger.settle(vec![scored(key(&sweep, 0, 0), 1)]).await.unwrap(), 1);
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.settled, cell.model_failures, cell.not_measured), (2, 1, 0));
}

pub(crate) async fn sessions_that_never_ran_are_planned_again(world: World) {
    let sweep = world.sweep("s", 2, 4).await;
    let ledger = &world.ledger;
    world.dispatch(&sweep, ShardIndex(0), 2).await;
    assert!(ledger.claim_shard(&sweep, ShardIndex(1), 0, world.term().await).await.unwrap());
    ledger.record(vec![record(key(&sweep, 0, 0), "w-1")]).await.unwrap();
    assert_eq!(ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap(), Reopened { to_run: 7, to_judge: 0 });
    assert_eq!(planned(&world, &sweep).await, [0, 1, 2, 3].map(ShardIndex));
    assert_eq!(world.cell(&sweep, 0).await.dispatched, 1);
}

pub(crate) async fn a_complete_sweep_has_nothing_to_resume(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    dispatch_all(&world, &sweep).await;
    world.ledger.record((0..2).map(|item| record(key(&sweep, 0, item), &format!("w-{item}"))).collect()).await.unwrap();
    let before = (world.cell(&sweep, 0).await, world.ledger.shards(&sweep).await.unwrap());
    assert_eq!(world.ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap(), Reopened::default());
    assert_eq!((world.cell(&sweep, 0).await, world.ledger.shards(&sweep).await.unwrap()), before);
}

pub(crate) async fn a_session_that_runs_again_has_one_result(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let ledger = &world.ledger;
    let place = || key(&sweep, 0, 0);
    let failed = not_measured(place(), "a-1", Cause::Timeout);
    ledger.record(vec![failed.clone()]).await.unwrap();
    ledger.record_progress(vec![open(place(), "c-2", 1)]).await.unwrap();
    ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap();
    assert_eq!(ledger.record(vec![failed]).await.unwrap(), [Recorded::Repeat]);
    assert_eq!(ledger.sessions(&sweep, CellIndex(0)).await.unwrap(), []);
    assert_eq!(ledger.record(vec![record(place(), "b-3")]).await.unwrap(), [Recorded::First]);
    assert_eq!(ledger.record(vec![record(place(), "c-2")]).await.unwrap(), [Recorded::Waste]);
    let sessions = ledger.sessions(&sweep, CellIndex(0)).await.unwrap();
    assert_eq!(sessions.iter().map(|session| session.attempt).collect::<Vec<_>>(), [3]);
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.recorded, cell.measured, cell.not_measured), (1, 1, 0));
    assert_eq!((cell.cost.known, cell.wasted.known), (Money(21), Money(14)));
}

/// The transcripts to continue from, by item.
async fn continuations(world: &World, sweep: &SweepId) -> Vec<(u32, u32)> {
    let items: Vec<_> = (0..20).map(ItemIndex).collect();
    let found = world.ledger.continuations(sweep, CellIndex(0), &items).await.unwrap();
    found.into_iter().map(|(item, transcript)| (item.0, transcript.line)).collect()
}

/// A session that the budget ended after the calls of `of_attempts`, the last of them its own; its transcript is on line `line`.
fn stopped(key: SessionKey, id: &str, of_attempts: &[(u32, u32)], line: u32) -> SessionRecord {
    let own = attempt(id).number;
    SessionRecord {
        calls: of_attempts.iter().filter(|(attempt, _)| *attempt == own).map(|(_, count)| count).sum(),
        call_sums: calls(of_attempts),
        transcript: TranscriptRef { segment: "transcripts/001.zst".to_owned(), line },
        ..not_measured(key, id, Cause::Budget)
    }
}

pub(crate) async fn a_session_that_the_budget_ended_is_continued(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let ledger = &world.ledger;
    let place = || key(&sweep, 0, 0);
    dispatch_all(&world, &sweep).await;
    world.hand_over(&place(), "a-1", 2).await;
    let stopped_once = stopped(place(), "b-2", &[(1, 3), (2, 4)], 5);
    ledger.record(vec![stopped_once.clone()]).await.unwrap();
    assert_eq!(continuations(&world, &sweep).await, [], "it has a result until the sweep is resumed");
    assert_eq!(ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap(), Reopened { to_run: 1, to_judge: 0 });
    assert_eq!(continuations(&world, &sweep).await, [(0, 5)]);
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.recorded, cell.not_measured, cell.dispatched), (0, 0, 0));
    assert_eq!((cell.cost.known, cell.wasted), (Money(9), CostSum::default()), "its calls go on to count");

    // Its report is repeated, and the next worker is stopped too.
    assert_eq!(ledger.record(vec![stopped_once]).await.unwrap(), [Recorded::Repeat]);
    assert_eq!(continuations(&world, &sweep).await, [(0, 5)]);
    let stopped_again = stopped(place(), "c-3", &[(1, 3), (2, 4), (3, 1)], 6);
    assert_eq!(ledger.record(vec![stopped_again]).await.unwrap(), [Recorded::First]);
    ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap();
    assert_eq!(continuations(&world, &sweep).await, [(0, 6)]);

    // A lost attempt leaves the transcript unchanged.
    ledger.record_progress(vec![open(place(), "d-4", 1)]).await.unwrap();
    ledger.close_open_attempts(&sweep, at(9)).await.unwrap();
    assert_eq!(continuations(&world, &sweep).await, [(0, 6)]);
    let last = SessionRecord { call_sums: calls(&[(1, 3), (2, 4), (3, 1), (5, 2)]), ..record(place(), "e-5") };
    assert_eq!(ledger.record(vec![last]).await.unwrap(), [Recorded::First]);
    assert_eq!(continuations(&world, &sweep).await, []);
    assert_eq!(world.calls(&sweep, 0).await.calls, 3 + 4 + 1 + 2);
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.recorded, cell.measured, cell.not_measured), (1, 1, 0));
    assert_eq!((cell.usage, cell.cost.known), (usage(2 + 7 + 7 + 1 + 7), Money(24)));
    assert_eq!((cell.wasted, cell.maybe_spent), (cost(1), Money(2 + 3 + 3 + 100 + 3)), "only what was lost is wasted");
    let states: Vec<_> = ledger.attempts(&sweep).await.unwrap().into_iter().map(|attempt| attempt.state).collect();
    use AttemptState::{HandedOver, Lost, Recorded as Counts};
    assert_eq!(states, [HandedOver, HandedOver, HandedOver, Lost, Counts]);
}

pub(crate) async fn a_session_that_the_budget_ended_before_any_answer_begins_anew(world: World) {
    let sweep = world.sweep("s", 1, 3).await;
    let ledger = &world.ledger;
    // The second one had been handed an answer; the third was ended by another cause.
    world.hand_over(&key(&sweep, 0, 1), "a-1", 2).await;
    let timed_out = SessionRecord {
        outcome: Outcome::NotMeasured { cause: Cause::Timeout },
        ..stopped(key(&sweep, 0, 2), "d-1", &[(1, 3)], 3)
    };
    let records =
        vec![stopped(key(&sweep, 0, 0), "b-1", &[], 1), stopped(key(&sweep, 0, 1), "c-2", &[(1, 3)], 2), timed_out];
    ledger.record(records).await.unwrap();
    assert_eq!(ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap(), Reopened { to_run: 3, to_judge: 0 });
    assert_eq!(continuations(&world, &sweep).await, [(1, 2)]);
    assert_eq!(world.cell(&sweep, 0).await.wasted, CostSum { known: Money(14), unknown_calls: 2 });
}

pub(crate) async fn a_continued_session_that_fails_otherwise_begins_anew(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let ledger = &world.ledger;
    ledger.record(vec![stopped(key(&sweep, 0, 0), "a-1", &[(1, 3)], 1)]).await.unwrap();
    ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap();
    let failed = SessionRecord {
        call_sums: calls(&[(1, 3), (2, 1)]),
        ..not_measured(key(&sweep, 0, 0), "b-2", Cause::EndpointUnavailable)
    };
    ledger.record(vec![failed]).await.unwrap();
    ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap();
    assert_eq!(continuations(&world, &sweep).await, []);
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.cost.known, cell.wasted.known), (Money(14), Money(14)));
    assert_eq!(world.calls(&sweep, 0).await.calls, 4);
}

pub(crate) async fn a_session_whose_judge_the_budget_ended_keeps_its_answers(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let ledger = &world.ledger;
    ledger.record(vec![waiting(key(&sweep, 0, 0), "a-1", &["q"])]).await.unwrap();
    ledger.settle(vec![unmeasured(key(&sweep, 0, 0), Cause::Budget)]).await.unwrap();
    assert_eq!(ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap(), Reopened { to_run: 1, to_judge: 0 });
    assert_eq!(continuations(&world, &sweep).await, [(0, 3)]);
    // Nothing was left to ask, so the next attempt makes no call of its own.
    let done = SessionRecord { call_sums: calls(&[(1, 2)]), ..record(key(&sweep, 0, 0), "b-2") };
    ledger.record(vec![done]).await.unwrap();
    assert_eq!(world.calls(&sweep, 0).await.calls, 2);
    assert_eq!(world.cell(&sweep, 0).await.wasted, CostSum::default());
}

pub(crate) async fn a_sweep_runs_again_with_its_new_budget_or_nothing_of_it_is_changed(world: World) {
    let (ledger, owner) = (&world.ledger, "alice".parse().unwrap());
    ledger.create_sweep(NewSweep { owner: Some(owner), ..new_sweep("s", 1, 1) }).await.unwrap();
    let sweep: SweepId = "s".parse().unwrap();
    ledger.record(vec![not_measured(key(&sweep, 0, 0), "w-1", Cause::Timeout)]).await.unwrap();
    let row = async || ledger.sweep(&sweep).await.unwrap().unwrap();
    let (raised, from) = (Money(6_000_000_000), SweepState::Cancelled);
    let resume = async |quota| ledger.resume(&sweep, from, Some(raised), quota).await;
    let before = row().await;
    assert_eq!(resume(Quota::default()).await.unwrap(), None, "it runs");
    assert_eq!(row().await, before);
    ledger.transition(&sweep, &[SweepState::Running], from, at(9)).await.unwrap();
    let ended = row().await;
    let quota = Quota { sessions: Some(1), ..Quota::default() };
    assert!(matches!(resume(quota).await, Err(LedgerError::QuotaExceeded { .. })));
    assert_eq!(row().await, ended);
    assert_eq!(resume(Quota::default()).await.unwrap(), Some(Reopened { to_run: 1, to_judge: 0 }));
    let running = SweepRow { generation: 1, budget: Some(raised), ..before };
    assert_eq!(row().await, running);
    assert_eq!(resume(Quota::default()).await.unwrap(), None, "once");
    assert_eq!(row().await, running);
}

/// A worker tells of questions of `sweep`, of which the first is of this generation.
async fn tell_of_questions(world: &World, sweep: &SweepId, generation: u32) {
    let questions = Held::Questions { sweep: sweep.clone(), worker: "w".parse().unwrap(), generation, is_named: true };
    world.ledger.record_held(BTreeSet::from([questions])).await.unwrap();
}

pub(crate) async fn questions_stay_claimed_until_nobody_waits_for_their_answers(world: World) {
    let (sweep, other) = (world.sweep("s", 1, 1).await, world.sweep("t", 1, 1).await);
    let ledger = &world.ledger;
    let claim =
        async |texts| ledger.claim_questions(&sweep, &judge(), answerer(HERE), &questions(texts)).await.unwrap();
    let stale = async |within| ledger.stale_questions(&sweep, within).await.unwrap();
    let of_before = claim(&["a", "b"]).await;
    assert_eq!((of_before.generation, &of_before.questions), (0, &questions(&["a", "b"])));
    tell_of_questions(&world, &sweep, 0).await;
    assert_eq!(stale(LONG).await, StaleQuestions::None, "the sweep was not resumed");

    ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap();
    let fresh = claim(&["a", "c"]).await;
    assert_eq!((fresh.generation, fresh.questions), (1, questions(&["c"])));
    assert_eq!(stale(LONG).await, StaleQuestions::UnderWay);
    assert_eq!(stale(Duration::ZERO).await, StaleQuestions::Lost, "a worker that is gone tells nothing");
    tell_of_questions(&world, &other, 0).await;
    tell_of_questions(&world, &sweep, 1).await;
    assert_eq!(stale(LONG).await, StaleQuestions::Lost, "it waits for later ones alone");

    let over = ledger.lead(&"before".parse().unwrap(), Duration::ZERO).await.unwrap().unwrap();
    let term = world.term().await;
    assert!(!ledger.release_stale_questions(&sweep, over).await.unwrap());
    assert_eq!(stale(LONG).await, StaleQuestions::Lost);
    assert!(ledger.release_stale_questions(&sweep, term).await.unwrap());
    assert_eq!(stale(LONG).await, StaleQuestions::None);
    assert_eq!(
        claim(&["a", "b", "c"]).await.questions,
        questions(&["a", "b"]),
        "what was claimed since is in progress"
    );
    ledger.release_questions(&sweep, &judge(), &of_before).await.unwrap();
    assert_eq!(claim(&["a"]).await.questions, [], "somebody else has claimed it since");
}

pub(crate) async fn other_sweeps_are_not_touched(world: World) {
    let (sweep, other) = (world.sweep("s", 1, 2).await, world.sweep("other", 1, 2).await);
    let ledger = &world.ledger;
    for sweep in [&sweep, &other] {
        let records =
            vec![not_measured(key(sweep, 0, 0), "a-1", Cause::Timeout), waiting(key(sweep, 0, 1), "a-2", &["q"])];
        ledger.record(records).await.unwrap();
        ledger.settle(vec![unmeasured(key(sweep, 0, 1), Cause::JudgeUnavailable)]).await.unwrap();
        ledger.claim_questions(sweep, &judge(), answerer(HERE), &questions(&["q"])).await.unwrap();
        dispatch_all(&world, sweep).await;
    }
    let before = (world.cell(&other, 0).await, ledger.attempts(&other).await.unwrap());
    assert_eq!(ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap(), Reopened { to_run: 1, to_judge: 1 });
    assert_eq!((world.cell(&other, 0).await, ledger.attempts(&other).await.unwrap()), before);
    assert_eq!(planned(&world, &other).await, []);
    assert_eq!(
        ledger.claim_questions(&other, &judge(), answerer(HERE), &questions(&["q"])).await.unwrap().questions,
        []
    );
    assert_eq!(ledger.awaiting_after(&other, None, u32::MAX).await.unwrap(), []);
}

pub(crate) async fn sessions_that_begin_anew_are_charged_to_their_owner(world: World) {
    let (ledger, owner) = (&world.ledger, "alice".parse().unwrap());
    ledger.create_sweep(NewSweep { owner: Some(owner), ..new_sweep("s", 1, 6) }).await.unwrap();
    let sweep: SweepId = "s".parse().unwrap();
    dispatch_all(&world, &sweep).await;
    let run = async |round: &str| {
        let records = vec![
            not_measured(key(&sweep, 0, 0), &format!("{round}-0"), Cause::EndpointUnavailable),
            not_measured(key(&sweep, 0, 1), &format!("{round}-1"), Cause::Poison),
            not_measured(key(&sweep, 0, 2), &format!("{round}-2"), Cause::Budget),
            record(key(&sweep, 0, 3), &format!("{round}-3")),
        ];
        ledger.record(records).await.unwrap();
    };
    let granted = async || ledger.owners().await.unwrap()[0].granted_sessions;
    let of = |sessions| Quota { budget: Some(Money::ZERO), sessions: Some(sessions) };
    run("w").await;
    assert_eq!(granted().await, 6, "with the sweep");
    // Two begin anew; one goes on, two never ran, one is measured.
    for refused in
        [ledger.check_reopening(&sweep, of(7)).await, ledger.reopen_unmeasured(&sweep, of(7)).await.map(drop)]
    {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, LedgerError::QuotaExceeded { .. }), "{refused}");
        assert!(refused.to_string().contains("6 are granted to its sweeps, and this one wants 2 more"), "{refused}");
    }
    assert_eq!((granted().await, world.cell(&sweep, 0).await.not_measured), (6, 3), "nothing was changed");
    ledger.check_reopening(&sweep, of(8)).await.unwrap();
    assert_eq!(granted().await, 6);
    assert_eq!(ledger.reopen_unmeasured(&sweep, of(8)).await.unwrap(), Reopened { to_run: 5, to_judge: 0 });
    assert_eq!(granted().await, 8);
    // Nothing ran meanwhile: nothing more is owed, whatever the quota has become.
    ledger.reopen_unmeasured(&sweep, of(0)).await.unwrap();
    assert_eq!(granted().await, 8);
    dispatch_all(&world, &sweep).await;
    run("x").await;
    assert!(ledger.reopen_unmeasured(&sweep, of(9)).await.is_err());
    ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap();
    assert_eq!(granted().await, 10);
}
