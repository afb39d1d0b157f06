//! Attempts that run: their progress, handing over, and loss.

use std::time::Duration;

use regatta_backends::ledger::{AttemptState, Recorded, UnderWay};
use regatta_backends::{Quota, ToldBy};
use regatta_proto::{AttemptTotals, CellIndex, CostSum, ItemIndex, Money, OpenAttempt, SweepState};

use crate::world::{World, at, attempt, cost, key, open, record, usage};

pub(crate) async fn a_running_attempt_is_known_until_it_ends(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let place = || key(&sweep, 0, 0);
    world.ledger.record_progress(vec![open(place(), "w-1", 2)]).await.unwrap();
    world.ledger.record_progress(vec![open(place(), "w-1", 4), open(place(), "w-1", 6)]).await.unwrap();
    let attempts = world.ledger.attempts(&sweep).await.unwrap();
    assert_eq!(attempts.len(), 1);
    let running = &attempts[0];
    assert_eq!((running.state, running.ended_at, running.usage), (AttemptState::Open, None, usage(6)));
    assert_eq!((running.at_most, running.started_at), (Some(Money(100)), at(1)));
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.usage, cell.cost, cell.wasted), (usage(6), cost(6), CostSum::default()));
    assert_eq!(world.ledger.record(vec![record(place(), "w-1")]).await.unwrap(), [Recorded::First]);
    let ended = world.ledger.attempts(&sweep).await.unwrap().remove(0);
    assert_eq!((ended.state, ended.ended_at, ended.at_most), (AttemptState::Recorded, Some(at(2)), None));
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.usage, cell.cost), (usage(7), cost(7)));
}

pub(crate) async fn the_attempt_that_runs_for_longest_is_found(world: World) {
    let (sweep, other) = (world.sweep("s", 1, 3).await, world.sweep("t", 1, 1).await);
    assert_eq!(world.ledger.oldest_open(&sweep).await.unwrap(), None);
    let began = |item: u32, second: i64| {
        let (mut open, worker) = open(key(&sweep, 0, item), &format!("w-{item}"), 2);
        open.started_at = at(second);
        (open, worker)
    };
    let reports = vec![began(0, 30), began(1, 10), began(2, 20), open(key(&other, 0, 0), "v-1", 2)];
    world.ledger.record_progress(reports).await.unwrap();
    let oldest = async || world.ledger.oldest_open(&sweep).await.unwrap().map(|attempt| attempt.key.item);
    assert_eq!(oldest().await, Some(ItemIndex(1)));
    world.ledger.record(vec![record(key(&sweep, 0, 1), "w-1")]).await.unwrap();
    assert_eq!(oldest().await, Some(ItemIndex(2)), "what has ended runs no more");
}

pub(crate) async fn an_overtaken_progress_report_is_ignored(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let report = |change: fn(&mut OpenAttempt)| {
        let (mut open, worker) = open(key(&sweep, 0, 0), "w-1", 7);
        open.in_flight_at_most = None;
        change(&mut open);
        (open, worker)
    };
    world.ledger.record_progress(vec![open(key(&sweep, 0, 0), "w-1", 7)]).await.unwrap();
    let older = vec![
        report(|open| open.totals.usage.input -= 1),
        report(|open| open.totals.usage.output -= 1),
        report(|open| open.totals.cost.known.0 -= 1),
        report(|open| open.totals.cost.unknown_calls -= 1),
    ];
    for older in older {
        world.ledger.record_progress(vec![older]).await.unwrap();
        assert_eq!(world.ledger.attempts(&sweep).await.unwrap()[0].at_most, Some(Money(100)));
    }
    assert_eq!((world.cell(&sweep, 0).await.usage, world.cell(&sweep, 0).await.cost), (usage(7), cost(7)));
    world.ledger.record_progress(vec![report(|_| ())]).await.unwrap();
    assert_eq!(world.ledger.attempts(&sweep).await.unwrap()[0].at_most, None);
}

/// Whoever takes up a copy of a batch's intent does not know yet that its provider has the batch.
pub(crate) async fn what_a_line_of_a_batch_may_cost_is_told_of_by_whoever_knows_of_the_most(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let told = async |item: u32, id: &str, bounds: &[Option<u64>]| {
        for at_most in bounds {
            let open = OpenAttempt {
                key: key(&sweep, 0, item),
                id: id.parse().unwrap(),
                number: 1,
                started_at: at(1),
                totals: AttemptTotals::default(),
                in_flight_at_most: at_most.map(Money),
            };
            world.ledger.record_progress(vec![(open, "w".parse().unwrap())]).await.unwrap();
        }
        let attempts = world.ledger.attempts(&sweep).await.unwrap();
        attempts.into_iter().find(|attempt| attempt.id.as_str() == id).unwrap().at_most
    };
    let (line, live) = ("0123456789abcdef0123-0", "w-7");
    assert_eq!(told(0, line, &[Some(0), Some(5)]).await, Some(Money(5)), "it is at its provider");
    assert_eq!(told(0, line, &[Some(0)]).await, Some(Money(5)));
    world.ledger.close_open_attempts(&sweep, at(8)).await.unwrap();
    assert_eq!(told(0, line, &[Some(0)]).await, Some(Money(5)), "it was not lost");
    assert_eq!(told(0, line, &[None, Some(0)]).await, None, "without a price nobody knows");
    assert_eq!(told(1, live, &[Some(5), Some(0)]).await, Some(Money(0)), "a live call that was refused costs nothing");
}

pub(crate) async fn progress_never_touches_an_attempt_that_ended(world: World) {
    let sweep = world.sweep("s", 1, 4).await;
    let ledger = &world.ledger;
    ledger.record(vec![record(key(&sweep, 0, 0), "a-1"), record(key(&sweep, 0, 0), "b-2")]).await.unwrap();
    world.hand_over(&key(&sweep, 0, 1), "c-3", 2).await;
    ledger.record_progress(vec![open(key(&sweep, 0, 2), "d-4", 1)]).await.unwrap();
    ledger.close_open_attempts(&sweep, at(9)).await.unwrap();
    let before = (world.cell(&sweep, 0).await, ledger.attempts(&sweep).await.unwrap());
    let late = [(0, "a-1"), (0, "b-2"), (1, "c-3"), (2, "d-4")];
    let late = late.map(|(item, id)| open(key(&sweep, 0, item), id, 50)).to_vec();
    ledger.record_progress(late).await.unwrap();
    assert_eq!((world.cell(&sweep, 0).await, ledger.attempts(&sweep).await.unwrap()), before);
}

pub(crate) async fn a_hand_over_counts_once_and_is_not_waste(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let place = key(&sweep, 0, 0);
    world.ledger.record_progress(vec![open(place.clone(), "a-1", 2)]).await.unwrap();
    for _ in 0..2 {
        world.hand_over(&place, "a-1", 3).await;
    }
    assert_eq!(world.ledger.record(vec![record(place, "b-2")]).await.unwrap(), [Recorded::First]);
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.usage, cell.cost.known, cell.wasted), (usage(10), Money(10), CostSum::default()));
    assert_eq!(cell.maybe_spent, Money(3 + 3));
    let handed_over = world.ledger.attempts(&sweep).await.unwrap().remove(0);
    assert_eq!((handed_over.state, handed_over.usage), (AttemptState::HandedOver, usage(3)));
    assert_eq!(handed_over.calls, 1, "the call that it was handed over with");
    assert_eq!((handed_over.at_most, handed_over.ended_at, handed_over.outcome), (None, Some(at(2)), None));
}

pub(crate) async fn an_attempt_knows_better_than_its_successor_what_it_has_spent(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let (first, second) = (key(&sweep, 0, 0), key(&sweep, 0, 1));
    for place in [&first, &second] {
        world.ledger.record_progress(vec![open(place.clone(), "a-1", 2)]).await.unwrap();
    }
    world.take_over(&first, "a-1", 3).await;
    world.hand_over(&first, "a-1", 5).await;
    world.hand_over(&second, "a-1", 5).await;
    world.take_over(&second, "a-1", 3).await;
    let attempts = world.ledger.attempts(&sweep).await.unwrap();
    assert_eq!(attempts.len(), 2);
    for attempt in attempts {
        assert_eq!((attempt.state, attempt.usage), (AttemptState::HandedOver, usage(5)));
    }
    assert_eq!(world.cell(&sweep, 0).await.cost.known, Money(10));
}

pub(crate) async fn an_attempt_that_is_taken_over_has_spent_the_more_of_checkpoint_and_progress(world: World) {
    let sweep = world.sweep("s", 1, 3).await;
    let running: Vec<_> = (0..3).map(|item| open(key(&sweep, 0, item), "a-1", 4)).collect();
    let in_flight = running[0].0.in_flight_at_most.unwrap();
    world.ledger.record_progress(running).await.unwrap();
    // Behind, equal, and ahead of what the attempt itself has told.
    for (item, units) in [(0, 3), (1, 4), (2, 5)] {
        world.take_over(&key(&sweep, 0, item), "a-1", units).await;
        world.take_over(&key(&sweep, 0, item), "a-1", 9).await;
    }
    let spent: Vec<_> = world
        .ledger
        .attempts(&sweep)
        .await
        .unwrap()
        .into_iter()
        .map(|attempt| (attempt.key.item.0, attempt.state, attempt.usage, attempt.maybe_spent))
        .collect();
    let over = AttemptState::HandedOver;
    let maybe = |units| Money(units).max(in_flight);
    assert_eq!(spent, [(0, over, usage(4), in_flight), (1, over, usage(4), maybe(4)), (2, over, usage(5), Money(5))]);
    assert_eq!(world.cell(&sweep, 0).await.wasted, CostSum::default(), "its calls are not wasted");
}

pub(crate) async fn a_result_after_a_hand_over_of_the_same_attempt_still_counts(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let place = key(&sweep, 0, 0);
    world.hand_over(&place, "a-1", 3).await;
    assert_eq!(world.ledger.record(vec![record(place.clone(), "a-1")]).await.unwrap(), [Recorded::First]);
    world.hand_over(&place, "a-1", 3).await;
    assert_eq!(world.states(&sweep).await, [("a-1".to_owned(), AttemptState::Recorded)]);
    assert_eq!(world.cell(&sweep, 0).await.usage, usage(7));
}

pub(crate) async fn attempts_that_never_ended_are_lost_and_wasted(world: World) {
    let sweep = world.sweep("s", 2, 2).await;
    let other = world.sweep("other", 1, 1).await;
    let running = vec![
        open(key(&sweep, 0, 0), "a-1", 2),
        open(key(&sweep, 1, 0), "b-2", 3),
        open(key(&sweep, 1, 1), "c-3", 4),
        open(key(&other, 0, 0), "d-4", 5),
    ];
    world.ledger.record_progress(running).await.unwrap();
    world.ledger.record(vec![record(key(&sweep, 0, 0), "e-5")]).await.unwrap();
    assert_eq!(world.ledger.close_open_attempts(&sweep, at(8)).await.unwrap(), 3);
    assert_eq!(world.ledger.close_open_attempts(&sweep, at(9)).await.unwrap(), 0);
    let lost = world.ledger.attempts(&sweep).await.unwrap().remove(0);
    assert_eq!((lost.state, lost.ended_at, lost.at_most), (AttemptState::Lost, Some(at(8)), Some(Money(100))));
    assert_eq!(world.cell(&sweep, 0).await.wasted, cost(2));
    let cell = world.cell(&sweep, 1).await;
    assert_eq!((cell.wasted, cell.cost), (CostSum { known: Money(7), unknown_calls: 1 }, cell.wasted));
    assert_eq!(world.cell(&other, 0).await.wasted, CostSum::default());
}

pub(crate) async fn a_call_of_unknown_price_that_was_in_flight_is_an_unknown_call_and_no_free_one(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let (mut open, worker) = open(key(&sweep, 0, 0), "a-1", 2);
    open.in_flight_at_most = None;
    let totals = open.totals;
    world.ledger.record_progress(vec![(open, worker)]).await.unwrap();
    let with = |unknown_calls| CostSum { unknown_calls, ..cost(2) };
    assert_eq!(world.cell(&sweep, 0).await.cost, cost(2), "somebody waits for its answer");
    world.ledger.close_open_attempts(&sweep, at(8)).await.unwrap();
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.cost, cell.maybe_spent), (with(1), Money::ZERO));
    let told_by = ToldBy::Successor;
    world.ledger.record_handover(&key(&sweep, 0, 0), attempt("a-1"), totals, told_by).await.unwrap();
    let cell = world.cell(&sweep, 0).await;
    assert_eq!(
        (cell.cost, cell.maybe_spent),
        (with(1), Money::ZERO),
        "its successor does not know what it cost either"
    );
    world.ledger.record_handover(&key(&sweep, 0, 0), attempt("a-1"), totals, ToldBy::Itself).await.unwrap();
    assert_eq!(world.cell(&sweep, 0).await.cost, cost(2), "it knows itself");
}

pub(crate) async fn an_attempt_of_a_closed_sweep_of_which_nobody_had_heard_is_lost(world: World) {
    let sweep = world.sweep("s", 1, 3).await;
    let ledger = &world.ledger;
    let told = async |item, id, known| {
        ledger.record_progress(vec![open(key(&sweep, 0, item), id, known)]).await.unwrap();
        let attempts = ledger.attempts(&sweep).await.unwrap();
        attempts.into_iter().find(|attempt| attempt.id.as_str() == id).unwrap().state
    };
    assert!(ledger.transition(&sweep, &[SweepState::Running], SweepState::Cancelled, at(7)).await.unwrap());
    assert_eq!(told(0, "a-1", 2).await, AttemptState::Open, "whoever writes its documents closes it");
    ledger.note_tabulated(&sweep, 0).await.unwrap();
    assert_eq!(ledger.close_open_attempts(&sweep, at(7)).await.unwrap(), 1);
    assert_eq!(told(1, "b-1", 3).await, AttemptState::Lost, "nobody would");
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.wasted, cell.maybe_spent), (cost(5), Money(100 + 100)), "both count as what is lost");
    assert_eq!(ledger.record(vec![record(key(&sweep, 0, 1), "b-1")]).await.unwrap(), [Recorded::First]);

    assert!(ledger.resume(&sweep, SweepState::Cancelled, None, Quota::default()).await.unwrap().is_some());
    assert_eq!(told(2, "c-1", 1).await, AttemptState::Open, "the sweep was resumed");
    assert_eq!(told(0, "a-1", 2).await, AttemptState::Open);
}

pub(crate) async fn a_lost_attempt_that_reports_after_all_counts(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let running = vec![open(key(&sweep, 0, 0), "a-1", 2), open(key(&sweep, 0, 1), "b-2", 3)];
    world.ledger.record_progress(running).await.unwrap();
    world.ledger.close_open_attempts(&sweep, at(8)).await.unwrap();
    assert_eq!(world.ledger.record(vec![record(key(&sweep, 0, 0), "a-1")]).await.unwrap(), [Recorded::First]);
    world.hand_over(&key(&sweep, 0, 1), "b-2", 4).await;
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.usage, cell.wasted), (usage(11), CostSum::default()));
}

pub(crate) async fn a_lost_attempt_that_is_heard_of_runs_if_its_sweep_does(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let (ledger, told) = (&world.ledger, || vec![open(key(&sweep, 0, 0), "a-1", 2)]);
    ledger.record_progress(told()).await.unwrap();
    let change = async |from, to| ledger.transition(&sweep, &[from], to, at(7)).await.unwrap();
    assert!(change(SweepState::Running, SweepState::Cancelled).await);
    ledger.close_open_attempts(&sweep, at(8)).await.unwrap();
    let state = async || ledger.attempts(&sweep).await.unwrap().remove(0).state;
    ledger.record_progress(told()).await.unwrap();
    assert_eq!(state().await, AttemptState::Lost, "a cancelled sweep has no attempts that run");

    ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap();
    assert!(change(SweepState::Cancelled, SweepState::Running).await);
    ledger.record_progress(told()).await.unwrap();
    assert_eq!(state().await, AttemptState::Open);
    let found = ledger.under_way(&sweep, CellIndex(0), &[ItemIndex(0)], Duration::from_secs(600)).await.unwrap();
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [(ItemIndex(0), UnderWay::Told)], "nobody dispatches it again");
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.cost, cell.wasted, cell.maybe_spent), (cost(2), CostSum::default(), Money(0)));
}

pub(crate) async fn what_may_have_been_spent_is_counted_beside_what_was(world: World) {
    let sweep = world.sweep("s", 1, 4).await;
    let ledger = &world.ledger;
    let place = |item| key(&sweep, 0, item);
    let maybe = async || world.cell(&sweep, 0).await.maybe_spent;
    ledger.record(vec![record(place(0), "a-1"), record(place(0), "b-2"), record(place(0), "a-1")]).await.unwrap();
    assert_eq!(maybe().await, Money(3 + 3), "waste may have cost as much as what counts; a repeat nothing");
    world.hand_over(&place(1), "c-1", 5).await;
    assert_eq!(maybe().await, Money(6 + 5));
    let unpriced = OpenAttempt { in_flight_at_most: None, ..open(place(2), "f-1", 1).0 };
    let running = vec![open(place(2), "d-1", 1), open(place(3), "e-1", 1), (unpriced, attempt("f-1").worker)];
    ledger.record_progress(running).await.unwrap();
    assert_eq!(maybe().await, Money(11), "a call in flight may still be answered");
    let (mut doubtful, worker) = open(place(3), "e-1", 1);
    doubtful.totals.maybe_spent = Money(4);
    ledger.record_progress(vec![(doubtful, worker), open(place(3), "e-1", 1)]).await.unwrap();
    assert_eq!(maybe().await, Money(11 + 4), "a try that failed stays in doubt, and an older report says nothing");
    ledger.close_open_attempts(&sweep, at(8)).await.unwrap();
    assert_eq!(maybe().await, Money(11 + 100 + 4 + 100));
    ledger.record(vec![record(place(2), "d-1")]).await.unwrap();
    world.hand_over(&place(3), "e-1", 7).await;
    assert_eq!(maybe().await, Money(11 + 3 + 7), "an attempt that reports after all has no call in flight");
    let attempts = ledger.attempts(&sweep).await.unwrap();
    assert_eq!(attempts.iter().map(|attempt| attempt.maybe_spent).sum::<Money>(), Money(21));
}
