//! Reads for viewers of sweeps.

use regatta_backends::ledger::{
    AttemptTimes, CellMean, DaySpending, EndingCount, FlagCount, ItemMean, ItemOrder, ItemPage, ItemQuery, RecordState,
    ScoreValue, SessionRecord, Standing,
};
use regatta_proto::{Cause, CellIndex, Evaluator, Flag, Flags, ItemIndex, Outcome, SweepId};
use serde_json::json;

use crate::world::{World, at, cost, key, not_measured, record, waiting};

fn f1() -> ScoreValue {
    ScoreValue { evaluator: Evaluator::Official, name: "f1".to_owned() }
}

fn scored(sweep: &SweepId, cell: u32, item: u32, f1: f64) -> SessionRecord {
    let scores = json!({ "official": { "values": { "f1": f1, "other": 9.0 }, "detail": { "f1": 7 } }, "paper": { "values": { "f1": 5.0 } } });
    let record = record(key(sweep, cell, item), &format!("w{cell}-{}", item + 1));
    SessionRecord { state: RecordState::Settled { scores }, flags: Flags::NONE, ..record }
}

/// Items of two models: in 0 both score alike, in 1 they differ, in 2 they differ the other way and half is unmeasured; 3 waits, 4 was
/// given up by its judge.
async fn looked_at(world: &World) -> SweepId {
    let sweep = world.sweep("s", 3, 6).await;
    let flagged =
        SessionRecord { flags: [Flag::Truncated, Flag::Empty].into_iter().collect(), ..scored(&sweep, 1, 1, 0.125) };
    let records = vec![
        scored(&sweep, 0, 0, 0.5),
        scored(&sweep, 1, 0, 0.5),
        scored(&sweep, 0, 1, 1.0),
        flagged,
        scored(&sweep, 0, 2, 0.25),
        SessionRecord { flags: Flags::NONE, ..not_measured(key(&sweep, 1, 2), "w1-3", Cause::Timeout) },
        SessionRecord { flags: Flags::NONE, ..waiting(key(&sweep, 0, 3), "w0-4", &["q"]) },
        SessionRecord { flags: Flags::NONE, ..not_measured(key(&sweep, 1, 3), "w1-4", Cause::JudgeUnavailable) },
        // Of another benchmark.
        scored(&sweep, 2, 5, 0.0),
    ];
    world.ledger.record(records).await.unwrap();
    sweep
}

fn query() -> ItemQuery {
    ItemQuery { cells: vec![CellIndex(0), CellIndex(1)], value: Some(f1()), limit: 10, ..ItemQuery::default() }
}

async fn found(world: &World, sweep: &SweepId, query: ItemQuery) -> Vec<u32> {
    let page = world.ledger.find_items(sweep, &query).await.unwrap();
    assert_eq!(page.total, page.items.len() as u64);
    page.items.iter().map(|item| item.0).collect()
}

pub(crate) async fn items_are_found_by_what_their_sessions_are(world: World) {
    let sweep = looked_at(&world).await;
    assert_eq!(found(&world, &sweep, query()).await, [0, 1, 2, 3]);
    let standing = |standing| ItemQuery { standing: Some(standing), ..query() };
    assert_eq!(found(&world, &sweep, standing(Standing::Measured)).await, [0, 1, 2]);
    assert_eq!(found(&world, &sweep, standing(Standing::Awaiting)).await, [3]);
    assert_eq!(found(&world, &sweep, standing(Standing::NotMeasured)).await, [2, 3]);
    assert_eq!(found(&world, &sweep, standing(Standing::ModelFailure)).await, [0_u32; 0]);
    let timeout = ItemQuery { cause: Some("timeout".to_owned()), ..query() };
    assert_eq!(found(&world, &sweep, timeout).await, [2]);
    assert_eq!(found(&world, &sweep, ItemQuery { flag: Some(Flag::Empty), ..query() }).await, [1]);
    assert_eq!(found(&world, &sweep, ItemQuery { flag: Some(Flag::Refused), ..query() }).await, [0_u32; 0]);
    assert_eq!(found(&world, &sweep, ItemQuery { score: (Some(0.2), Some(0.6)), ..query() }).await, [0, 2]);
    assert_eq!(found(&world, &sweep, ItemQuery { score: (Some(0.6), None), ..query() }).await, [1]);
    assert_eq!(found(&world, &sweep, ItemQuery { text: "ITEM 2".to_owned(), ..query() }).await, [2]);
    assert_eq!(found(&world, &sweep, ItemQuery { text: "wiki".to_owned(), ..query() }).await, [0, 1, 2, 3]);
    assert_eq!(found(&world, &sweep, ItemQuery { text: "%".to_owned(), ..query() }).await, [0_u32; 0]);
}

pub(crate) async fn a_filter_is_about_one_session_with_all_that_it_asks_for(world: World) {
    let sweep = looked_at(&world).await;
    // Item 2 has a timeout and a value below 0.3, but in two sessions.
    let both = ItemQuery { cause: Some("timeout".to_owned()), score: (None, Some(0.3)), ..query() };
    assert_eq!(found(&world, &sweep, both).await, [0_u32; 0]);
    let of_one = ItemQuery { cells: vec![CellIndex(0)], score: (None, Some(0.3)), ..query() };
    assert_eq!(found(&world, &sweep, of_one).await, [2]);
}

pub(crate) async fn items_are_ordered_and_paged(world: World) {
    let sweep = looked_at(&world).await;
    let order = |order| ItemQuery { order, ..query() };
    assert_eq!(found(&world, &sweep, order(ItemOrder::Disagreement)).await, [1, 0, 2, 3]);
    assert_eq!(found(&world, &sweep, order(ItemOrder::Lowest)).await, [2, 0, 1, 3]);
    assert_eq!(found(&world, &sweep, order(ItemOrder::Highest)).await, [1, 0, 2, 3]);
    let page = |offset| ItemQuery { offset, limit: 3, ..order(ItemOrder::Lowest) };
    let items = |numbers: &[u32]| numbers.iter().map(|number| ItemIndex(*number)).collect();
    let first = world.ledger.find_items(&sweep, &page(0)).await.unwrap();
    assert_eq!(first, ItemPage { total: 4, items: items(&[2, 0, 1]) });
    let last = world.ledger.find_items(&sweep, &page(3)).await.unwrap();
    assert_eq!(last, ItemPage { total: 4, items: items(&[3]) });
    assert_eq!(world.ledger.find_items(&sweep, &page(u64::MAX)).await.unwrap(), ItemPage::default());
}

pub(crate) async fn sessions_are_listed_with_one_value(world: World) {
    let sweep = looked_at(&world).await;
    let (cells, items) = ([CellIndex(1), CellIndex(0)], [ItemIndex(1), ItemIndex(3), ItemIndex(4)]);
    let value = f1();
    let listed = world.ledger.listed_sessions(&sweep, &cells, &items, Some(&value)).await.unwrap();
    let told: Vec<_> = listed
        .iter()
        .map(|session| (session.item.0, session.cell.0, session.score, session.is_awaiting, session.flags.to_string()))
        .collect();
    let none = String::new();
    assert_eq!(
        told,
        [
            (1, 0, Some(1.0), false, none.clone()),
            (1, 1, Some(0.125), false, "truncated,empty".to_owned()),
            (3, 0, None, true, none.clone()),
            (3, 1, None, false, none),
        ]
    );
    let without = world.ledger.listed_sessions(&sweep, &cells, &items, None).await.unwrap();
    assert!(without.len() == 4 && without.iter().all(|session| session.score.is_none()));
}

pub(crate) async fn items_have_the_mean_of_the_sessions_that_have_the_value(world: World) {
    let sweep = looked_at(&world).await;
    let (cells, value) = ([CellIndex(0), CellIndex(1)], f1());
    let of = |means: Vec<ItemMean>| means.iter().map(|mean| (mean.item.0, mean.mean)).collect::<Vec<_>>();
    let one = world.ledger.item_means(&sweep, &cells[..1], &value).await.unwrap();
    assert_eq!(of(one), [(0, Some(0.5)), (1, Some(1.0)), (2, Some(0.25)), (3, None)]);
    let both = world.ledger.item_means(&sweep, &cells, &value).await.unwrap();
    let listed = world.ledger.listed_sessions(&sweep, &cells, &[ItemIndex(2)], None).await.unwrap();
    assert_eq!(both[2].item_id, listed[0].item_id);
    assert_eq!(of(both), [(0, Some(0.5)), (1, Some(0.5625)), (2, Some(0.25)), (3, None)]);
    assert_eq!(world.ledger.item_means(&sweep, &[], &value).await.unwrap(), []);
}

pub(crate) async fn a_session_is_read_alone_with_its_attempts(world: World) {
    let sweep = looked_at(&world).await;
    world.ledger.record(vec![not_measured(key(&sweep, 0, 1), "late-9", Cause::Auth)]).await.unwrap();
    let session = world.ledger.session(&sweep, CellIndex(0), ItemIndex(1)).await.unwrap().unwrap();
    assert_eq!((session.is_awaiting, &session.row.outcome, session.row.attempt), (false, &Outcome::Measured, 2));
    let settled = world.ledger.sessions(&sweep, CellIndex(0)).await.unwrap();
    assert_eq!(settled.iter().find(|row| row.item == ItemIndex(1)), Some(&session.row));
    let waiting = world.ledger.session(&sweep, CellIndex(0), ItemIndex(3)).await.unwrap().unwrap();
    assert!(waiting.is_awaiting && waiting.row.scores.is_null());
    assert_eq!(world.ledger.session(&sweep, CellIndex(0), ItemIndex(5)).await.unwrap(), None);
    let attempts = world.ledger.session_attempts(&sweep, CellIndex(0), ItemIndex(1)).await.unwrap();
    assert_eq!(attempts.iter().map(|attempt| attempt.number).collect::<Vec<_>>(), [2, 9]);
    let of_all = world.ledger.attempts(&sweep).await.unwrap();
    assert!(attempts.iter().all(|attempt| of_all.contains(attempt)));
}

pub(crate) async fn endings_flags_days_and_means_are_counted_by_cell(world: World) {
    let sweep = looked_at(&world).await;
    let not_measured = |cause| EndingCount { cell: CellIndex(1), outcome: Outcome::NotMeasured { cause }, sessions: 1 };
    assert_eq!(
        world.ledger.endings(&sweep).await.unwrap(),
        [not_measured(Cause::JudgeUnavailable), not_measured(Cause::Timeout)]
    );
    let flags = [Flag::Truncated, Flag::Empty].into_iter().collect();
    assert_eq!(world.ledger.flag_counts(&sweep).await.unwrap(), [FlagCount { cell: CellIndex(1), flags, sessions: 1 }]);
    let mean = |cell, sessions, mean, variance| CellMean { cell: CellIndex(cell), sessions, mean, variance };
    let cells = [CellIndex(0), CellIndex(1)];
    let means = world.ledger.cell_means(&sweep, &cells, &f1()).await.unwrap();
    // Of 0.5, 1 and 0.25; and of 0.5 and 0.125.
    assert!((means[0].variance - 7.0 / 72.0).abs() < 1e-12, "{means:?}");
    assert_eq!(means, [mean(0, 3, 1.75 / 3.0, means[0].variance), mean(1, 2, 0.3125, 0.035_156_25)]);
    let nothing = ScoreValue { evaluator: Evaluator::Exec, name: "f1".to_owned() };
    assert_eq!(world.ledger.cell_means(&sweep, &cells, &nothing).await.unwrap(), []);
    let day = at(2).as_second() / 86_400;
    let spent = |cell, attempts: u64| {
        let each = cost(7);
        let known = regatta_proto::Money(each.known.0 * attempts);
        let cost = regatta_proto::CostSum { known, unknown_calls: each.unknown_calls * attempts };
        DaySpending { cell: CellIndex(cell), day, attempts, cost }
    };
    assert_eq!(world.ledger.spending_by_day(&sweep).await.unwrap(), [spent(0, 4), spent(1, 4), spent(2, 1)]);
    // Each attempt lasted a second.
    let took = |cell, attempts| AttemptTimes {
        cell: CellIndex(cell),
        attempts,
        lasted_us: attempts * 1_000_000,
        answering_us: attempts * 1_234_567,
    };
    assert_eq!(world.ledger.attempt_times(&sweep).await.unwrap(), [took(0, 4), took(1, 4), took(2, 1)]);
}
