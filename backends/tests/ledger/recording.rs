//! Attempts that ended, and sessions.

use std::collections::BTreeMap;

use regatta_backends::ledger::{
    AttemptRow, AttemptState, CallSums, CostMoments, RecordState, Recorded, SessionRecord, SessionRow, TranscriptRef,
};
use regatta_backends::{LedgerError, ToldBy};
use regatta_proto::{AttemptTotals, Cause, CellIndex, CostSum, Flag, ItemId, ItemIndex, Money, Outcome, Usage};
use serde_json::{Value, json};

use crate::world::{
    HERE, World, answerer, at, attempt, calls, cost, key, lost_agent, not_measured, open, record, usage, waiting,
};

pub(crate) async fn the_first_attempt_counts_and_later_ones_are_waste(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let first = record(key(&sweep, 0, 0), "a-2");
    let late =
        SessionRecord { usage: usage(3), cost: cost(3), ..not_measured(key(&sweep, 0, 0), "b-1", Cause::Timeout) };
    assert_eq!(world.ledger.record(vec![first]).await.unwrap(), [Recorded::First]);
    assert_eq!(world.ledger.record(vec![late]).await.unwrap(), [Recorded::Waste]);
    let sessions = world.ledger.sessions(&sweep, CellIndex(0)).await.unwrap();
    assert_eq!(
        sessions.iter().map(|session| (session.attempt, &session.outcome)).collect::<Vec<_>>(),
        [(2, &Outcome::Measured)]
    );
    let waste_and_recorded = [("b-1".to_owned(), AttemptState::Waste), ("a-2".to_owned(), AttemptState::Recorded)];
    assert_eq!(world.states(&sweep).await, waste_and_recorded);
    let cell = world.cell(&sweep, 0).await;
    assert_eq!((cell.recorded, cell.settled, cell.measured, cell.not_measured), (1, 1, 1, 0));
    assert_eq!(cell.usage, usage(10));
    assert_eq!(cell.cost, CostSum { known: Money(10), unknown_calls: 2 });
    assert_eq!(cell.wasted, cost(3));
}

pub(crate) async fn a_repeated_report_changes_nothing(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    world.ledger.record(vec![record(key(&sweep, 0, 0), "a-1"), record(key(&sweep, 0, 0), "b-2")]).await.unwrap();
    let before = (world.cell(&sweep, 0).await, world.ledger.attempts(&sweep).await.unwrap());
    let other = |id| SessionRecord { usage: usage(99), ..not_measured(key(&sweep, 0, 0), id, Cause::Timeout) };
    let repeated = world.ledger.record(vec![other("a-1"), other("b-2")]).await.unwrap();
    assert_eq!(repeated, [Recorded::Repeat, Recorded::Repeat]);
    assert_eq!((world.cell(&sweep, 0).await, world.ledger.attempts(&sweep).await.unwrap()), before);
}

pub(crate) async fn first_waste_and_repeat_are_told_apart_within_a_batch(world: World) {
    let sweep = world.sweep("s", 2, 3).await;
    let batch = vec![
        record(key(&sweep, 1, 0), "a-1"),
        record(key(&sweep, 0, 0), "a-2"),
        record(key(&sweep, 1, 0), "a-1"),
        record(key(&sweep, 1, 0), "b-1"),
        record(key(&sweep, 0, 1), "a-3"),
        record(key(&sweep, 1, 0), "b-1"),
    ];
    let results = world.ledger.record(batch).await.unwrap();
    use Recorded::{First, Repeat, Waste};
    assert_eq!(results, [First, First, Repeat, Waste, First, Repeat]);
    assert_eq!((world.cell(&sweep, 0).await.recorded, world.cell(&sweep, 1).await.recorded), (2, 1));
    assert_eq!(world.cell(&sweep, 1).await.wasted, cost(7));
}

pub(crate) async fn of_two_scorers_one_records_a_session_first(world: World) {
    const ITEMS: u32 = 60;
    let sweep = world.sweep("s", 3, ITEMS).await;
    let batch = |worker: &str, items: std::ops::Range<u32>| -> Vec<SessionRecord> {
        let places = items.flat_map(|item| [0, 1, 2].map(|cell| (cell, item)));
        places
            .map(|(cell, item)| record(key(&sweep, cell, item), &format!("{worker}-{}", cell * ITEMS + item)))
            .collect()
    };
    let (one, other) = (world.open().await, world.open().await);
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for first in (0..ITEMS).step_by(3) {
        // The same sessions at the same moment, in opposite orders.
        let there = batch("a", first..first + 3);
        let back = batch("b", first..first + 3).into_iter().rev().collect();
        let (there, back) = tokio::join!(one.record(there), other.record(back));
        for result in there.unwrap().into_iter().chain(back.unwrap()) {
            let name = match result {
                Recorded::First => "first",
                Recorded::Waste => "waste",
                Recorded::Repeat => "repeat",
            };
            *counts.entry(name).or_default() += 1;
        }
    }
    assert_eq!(counts, BTreeMap::from([("first", 3 * ITEMS), ("waste", 3 * ITEMS)]));
    for cell in 0..3 {
        let progress = world.cell(&sweep, cell).await;
        assert_eq!((progress.recorded, progress.measured), (u64::from(ITEMS), u64::from(ITEMS)));
        assert_eq!(progress.wasted.known, Money(7 * u64::from(ITEMS)));
        assert_eq!(progress.cost.known, Money(14 * u64::from(ITEMS)));
        assert_eq!(world.ledger.sessions(&sweep, CellIndex(cell)).await.unwrap().len(), ITEMS as usize);
    }
}

pub(crate) async fn a_session_is_read_back_as_it_was_recorded(world: World) {
    let sweep = world.sweep("s", 2, 5).await;
    let failed = SessionRecord {
        outcome: Outcome::ModelFailure { cause: Cause::ContextLength },
        ..record(key(&sweep, 1, 1), "w-12")
    };
    let records = vec![
        record(key(&sweep, 1, 4), "w-11"),
        failed,
        not_measured(key(&sweep, 1, 2), "w-13", Cause::RateLimited),
        waiting(key(&sweep, 1, 3), "w-14", &["q"]),
        record(key(&sweep, 0, 0), "w-15"),
    ];
    world.ledger.record(records).await.unwrap();
    let row = |item: u32, attempt, outcome, scores| SessionRow {
        item: ItemIndex(item),
        item_id: ItemId::new(format!("item {item}")).unwrap(),
        task: "wikihow".to_owned(),
        outcome,
        scores,
        usage: usage(7),
        cost: cost(7),
        attempt,
        transcript: TranscriptRef { segment: "transcripts/000.zst".to_owned(), line: 3 },
        calls: 2,
        cached_calls: Some(1),
        retries: 1,
        latency_us: 1_234_567,
        served: vec!["model-2026".to_owned()],
        flags: [Flag::Truncated].into_iter().collect(),
        agent_end: Some(lost_agent()),
    };
    let scores = json!({"official": {"f1": 0.1, "a": [1, 2]}});
    let expected = [
        row(1, 12, Outcome::ModelFailure { cause: Cause::ContextLength }, scores.clone()),
        row(2, 13, Outcome::NotMeasured { cause: Cause::RateLimited }, Value::Null),
        row(4, 11, Outcome::Measured, scores),
    ];
    assert_eq!(world.ledger.sessions(&sweep, CellIndex(1)).await.unwrap(), expected);
    let cell = world.cell(&sweep, 1).await;
    assert_eq!((cell.recorded, cell.settled), (4, 3));
    assert_eq!((cell.measured, cell.model_failures, cell.not_measured), (1, 1, 1));
}

pub(crate) async fn an_attempt_is_read_back_as_it_was_recorded(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    world.ledger.record(vec![not_measured(key(&sweep, 0, 1), "w-x-12", Cause::Auth)]).await.unwrap();
    let expected = AttemptRow {
        key: key(&sweep, 0, 1),
        id: attempt("w-x-12").id,
        number: 12,
        worker: attempt("w-x-12").worker,
        state: AttemptState::Recorded,
        started_at: at(1),
        ended_at: Some(at(2)),
        outcome: Some(Outcome::NotMeasured { cause: Cause::Auth }),
        usage: usage(7),
        cost: cost(7),
        maybe_spent: Money(3),
        at_most: None,
        calls: 2,
        cached_calls: Some(1),
        retries: 1,
        latency_us: 1_234_567,
        transcript: Some(TranscriptRef { segment: "transcripts/000.zst".to_owned(), line: 3 }),
    };
    assert_eq!(world.ledger.attempts(&sweep).await.unwrap(), [expected]);
}

pub(crate) async fn what_endpoints_say_is_kept_to_the_letter(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let scores =
        json!({"z": 0.1, "a": [1e-7, 12345678.125, 0.1234567890123456, -0.0, 1e300], "Ü\u{0}": "\u{1F3C1} '\"\\"});
    let strange = SessionRecord {
        flags: Flag::ALL.into_iter().collect(),
        served: vec!["nul \u{0} 'quote' \"é\" \u{1F3C1}".to_owned(), String::new()],
        item_id: ItemId::new("'; DROP TABLE sessions; -- ü").unwrap(),
        task: "{a,\"b\"}".to_owned(),
        state: RecordState::Settled { scores: scores.clone() },
        ..record(key(&sweep, 0, 0), "w-1")
    };
    world.ledger.record(vec![strange.clone()]).await.unwrap();
    let row = world.ledger.sessions(&sweep, CellIndex(0)).await.unwrap().remove(0);
    assert_eq!(row.flags, strange.flags);
    assert_eq!((row.served, row.item_id, row.task), (strange.served, strange.item_id, strange.task));
    // As text, because the order of keys is kept too.
    assert_eq!(row.scores.to_string(), scores.to_string());
}

pub(crate) async fn a_batch_with_an_unknown_cell_is_refused_as_a_whole(world: World) {
    let sweep = world.sweep("s", 2, 2).await;
    let batch = vec![record(key(&sweep, 0, 0), "w-1"), record(key(&sweep, 5, 0), "w-2")];
    let error = world.ledger.record(batch).await.unwrap_err();
    assert!(matches!(&error, LedgerError::UnknownCell { cell: CellIndex(5), .. }), "{error}");
    assert_eq!(world.ledger.attempts(&sweep).await.unwrap(), []);
    assert_eq!(world.cell(&sweep, 0).await.recorded, 0);
}

pub(crate) async fn what_is_told_of_sweeps_and_cells_that_do_not_exist_is_left_out(world: World) {
    let (sweep, gone) = (world.sweep("s", 2, 2).await, "nobody".parse().unwrap());
    let ledger = &world.ledger;
    let told = vec![
        open(key(&gone, 0, 0), "w-1", 1),
        open(key(&sweep, 1, 1), "w-2", 1),
        open(key(&sweep, 6, 0), "w-3", 1),
        open(key(&gone, 0, 1), "w-4", 1),
    ];
    let left_out = ledger.record_progress(told).await.unwrap();
    assert_eq!(left_out, [gone.clone(), sweep.clone()].into());
    assert_eq!(world.states(&sweep).await, [("w-2".to_owned(), AttemptState::Open)]);
    for key in [key(&gone, 0, 0), key(&sweep, 6, 0)] {
        let totals = AttemptTotals::default();
        assert!(!ledger.record_handover(&key, attempt("w-5"), totals, ToldBy::Itself).await.unwrap());
    }
    let totals = AttemptTotals::default();
    assert!(ledger.record_handover(&key(&sweep, 1, 1), attempt("w-2"), totals, ToldBy::Itself).await.unwrap());
    assert_eq!(world.states(&sweep).await, [("w-2".to_owned(), AttemptState::HandedOver)]);
}

pub(crate) async fn a_number_no_column_can_hold_is_refused(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let huge = Usage { output: u64::MAX, ..Usage::default() };
    let batch =
        vec![record(key(&sweep, 0, 0), "w-1"), SessionRecord { usage: huge, ..record(key(&sweep, 0, 1), "w-2") }];
    let error = world.ledger.record(batch).await.unwrap_err();
    assert_eq!(error.to_string(), "failed to store output: 18446744073709551615 is out of range");
    assert_eq!(world.ledger.attempts(&sweep).await.unwrap(), []);
}

pub(crate) async fn empty_batches_are_nothing(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let judge = crate::world::judge();
    assert_eq!(world.ledger.record(vec![]).await.unwrap(), []);
    world.ledger.record_progress(vec![]).await.unwrap();
    assert_eq!(world.ledger.settle(vec![]).await.unwrap(), 0);
    world.ledger.save_judged(vec![]).await.unwrap();
    world.ledger.save_metrics(&sweep, vec![]).await.unwrap();
    assert_eq!(world.ledger.claim_questions(&sweep, &judge, answerer(HERE), &[]).await.unwrap().questions, []);
    assert_eq!(world.ledger.awaiting(&sweep, &judge, &[]).await.unwrap(), []);
    assert!(world.ledger.verdicts(crate::world::answerer(crate::world::HERE), &[]).await.unwrap().is_empty());
    assert!(world.ledger.highest_attempt(&sweep, CellIndex(0), &[]).await.unwrap().is_empty());
}

pub(crate) async fn each_call_is_counted_once(world: World) {
    let sweep = world.sweep("s", 2, 4).await;
    let ledger = &world.ledger;
    let after = |item, id: &str, of_attempts: &[(u32, u32)]| SessionRecord {
        call_sums: calls(of_attempts),
        ..record(key(&sweep, 0, item), id)
    };
    let count = async || world.calls(&sweep, 0).await.calls;
    assert_eq!(ledger.call_sums(&sweep).await.unwrap(), []);
    // Attempt 1 was handed over after three calls, and two workers continued it.
    let first = after(0, "a-2", &[(1, 3), (2, 4)]);
    ledger.record(vec![first.clone()]).await.unwrap();
    assert_eq!(count().await, 7);
    assert_eq!(ledger.record(vec![first.clone(), first]).await.unwrap(), [Recorded::Repeat; 2]);
    assert_eq!(count().await, 7);
    assert_eq!(ledger.record(vec![after(0, "b-3", &[(1, 3), (3, 1)])]).await.unwrap(), [Recorded::Waste]);
    assert_eq!(count().await, 8, "what waste did itself happened too");
    // The same in one batch.
    let both = vec![after(1, "a-2", &[(1, 3), (2, 1)]), after(1, "b-3", &[(1, 3), (3, 1)])];
    ledger.record(both).await.unwrap();
    assert_eq!(count().await, 8 + 5);
    // Two workers that started again with the same number did not make the same calls.
    ledger.record(vec![after(2, "a-1", &[(1, 2)]), after(2, "b-1", &[(1, 2)])]).await.unwrap();
    assert_eq!(count().await, 13 + 4);
    ledger.record(vec![after(3, "a-1", &[])]).await.unwrap();
    let sums = ledger.call_sums(&sweep).await.unwrap();
    assert_eq!(sums.iter().map(|(cell, sums)| (cell.0, sums.calls)).collect::<Vec<_>>(), [(0, 17)]);
    let mut expected = CallSums::default();
    let of_attempts = [(1, 3), (2, 4), (3, 1), (1, 3), (2, 1), (3, 1), (1, 2), (1, 2)];
    of_attempts.iter().for_each(|one| expected.merge(&calls(&[*one])[&one.0]));
    assert_eq!(sums[0].1, expected);
}

pub(crate) async fn calls_that_several_scorers_add_at_once_all_count(world: World) {
    let sweep = world.sweep("s", 2, 40).await;
    let other = world.open().await;
    for first in (0..40).step_by(4) {
        let batch = |items: std::ops::Range<u32>| -> Vec<SessionRecord> {
            let places = items.flat_map(|item| [(0, item), (1, item)]);
            places.map(|(cell, item)| record(key(&sweep, cell, item), &format!("w-{item}"))).collect()
        };
        let (one, two) = (batch(first..first + 2), batch(first + 2..first + 4).into_iter().rev().collect());
        let (one, two) = tokio::join!(world.ledger.record(one), other.record(two));
        one.unwrap();
        two.unwrap();
    }
    assert_eq!([world.calls(&sweep, 0).await.calls, world.calls(&sweep, 1).await.calls], [80, 80]);
}

pub(crate) async fn what_sessions_cost_is_told_of_those_whose_price_is_known_and_was_paid(world: World) {
    let sweep = world.sweep("s", 3, 7).await;
    let ledger = &world.ledger;
    let costing = |record: SessionRecord, nanos| SessionRecord { cost: cost(nanos), cached_calls: 0, ..record };
    let place = |item| key(&sweep, 1, item);
    let failed = Outcome::ModelFailure { cause: Cause::ContextLength };
    world.hand_over(&place(0), "h-1", 4).await;
    let records = vec![
        costing(record(place(0), "a-2"), 6),
        costing(record(place(0), "late-3"), 100),
        costing(waiting(place(1), "a-1", &["q"]), 20),
        costing(record(place(2), "a-1"), 7), // of an odd cost, the price of one call is unknown
        costing(not_measured(place(3), "a-1", Cause::Timeout), 1000),
        costing(SessionRecord { outcome: failed, ..record(place(4), "a-1") }, 2),
        SessionRecord { cost: cost(0), cached_calls: 1, ..record(place(6), "a-1") },
    ];
    ledger.record(records).await.unwrap();
    ledger.record_progress(vec![open(place(5), "a-1", 50)]).await.unwrap();
    let expected = CostMoments { sessions: 3, sum: 10.0 + 20.0 + 2.0, squares: 100.0 + 400.0 + 4.0 };
    assert_eq!(ledger.cost_moments(&sweep).await.unwrap(), [(CellIndex(1), "wikihow".to_owned(), expected)]);
}

pub(crate) async fn recorded_items_and_highest_attempts_are_found(world: World) {
    let sweep = world.sweep("s", 2, 20).await;
    let ledger = &world.ledger;
    let records = [(0, 3, "a-1"), (0, 12, "a-5"), (0, 7, "a-3"), (1, 8, "a-9"), (0, 7, "b-4")];
    let records = records.map(|(cell, item, id)| record(key(&sweep, cell, item), id)).to_vec();
    ledger.record(records).await.unwrap();
    ledger.record(vec![waiting(key(&sweep, 0, 8), "a-2", &["q"])]).await.unwrap();
    ledger.record_progress(vec![open(key(&sweep, 0, 5), "a-6", 1)]).await.unwrap();
    let among =
        ledger.recorded_among(&sweep, CellIndex(0), &[ItemIndex(4), ItemIndex(3), ItemIndex(99)]).await.unwrap();
    assert_eq!(among, [ItemIndex(3)]);
    let items = ledger.recorded_items(&sweep, CellIndex(0), ItemIndex(4), ItemIndex(12)).await.unwrap();
    assert_eq!(items, [7, 8, 12].map(ItemIndex));
    let asked = [12, 5, 7, 1].map(ItemIndex);
    let highest = ledger.highest_attempt(&sweep, CellIndex(0), &asked).await.unwrap();
    assert_eq!(highest, BTreeMap::from([(ItemIndex(5), 6), (ItemIndex(7), 4), (ItemIndex(12), 5)]));
}
