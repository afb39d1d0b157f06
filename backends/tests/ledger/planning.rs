//! Sweeps, shards and metrics.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use regatta_backends::ledger::{Created, MetricRow, NewSweep, ShardState, SweepRow};
use regatta_backends::{LedgerError, PageMark, Quota};
use regatta_proto::{CellIndex, CostSum, Digest, Evaluator, Money, ShardIndex, SweepId, SweepState, Usage};

use crate::world::{BUDGET, HERE, World, answerer, at, judge, judged, key, new_sweep, questions, record, waiting};

pub(crate) async fn a_sweep_is_created_once_and_left_alone_afterwards(world: World) {
    let sweep = world.sweep("s", 2, 3).await;
    let expected = SweepRow {
        id: sweep.clone(),
        name: "s".to_owned(),
        lock: Digest::of(b"s"),
        state: SweepState::Running,
        budget: Some(BUDGET),
        created_at: at(0),
        ended_at: None,
        generation: 0,
        echo: 0,
        owner: None,
        granted: None,
        is_paused: false,
        concurrency: BTreeMap::new(),
        tabulated: None,
    };
    assert_eq!(world.ledger.sweep(&sweep).await.unwrap(), Some(expected.clone()));
    let again = NewSweep { name: "other".to_owned(), budget: None, created_at: at(9), ..new_sweep("s", 5, 5) };
    assert_eq!(world.ledger.create_sweep(again).await.unwrap(), Created::AlreadyThere);
    assert_eq!(world.ledger.sweep(&sweep).await.unwrap(), Some(expected));
    let cells = world.ledger.cell_progress(&sweep).await.unwrap();
    assert_eq!(cells.iter().map(|cell| (cell.index.0, cell.items)).collect::<Vec<_>>(), [(0, 3), (1, 3)]);
    assert_eq!(cells[0].queue, "q0");
    assert_eq!((cells[1].usage, cells[1].cost), (Usage::default(), CostSum::default()));
    let shards = world.ledger.shards(&sweep).await.unwrap();
    let places: Vec<_> = shards.iter().map(|shard| (shard.index.0, shard.cell.0, shard.first, shard.count)).collect();
    assert_eq!(places, [(0, 0, 0, 2), (1, 0, 2, 1), (2, 1, 0, 2), (3, 1, 2, 1)]);
}

pub(crate) async fn of_several_who_create_a_sweep_at_once_one_does(world: World) {
    let others = [world.open().await, world.open().await];
    let all = [&world.ledger, &others[0], &others[1]];
    for round in 0..10 {
        let sweep = new_sweep(&format!("s{round}"), 3, 4);
        let created = join_all(all.iter().map(|ledger| ledger.create_sweep(sweep.clone()))).await;
        assert_eq!(created.iter().filter(|created| *created.as_ref().unwrap() == Created::New).count(), 1);
        assert_eq!(world.ledger.shards(&sweep.id).await.unwrap().len(), 6);
    }
}

pub(crate) async fn a_shard_of_an_unknown_cell_is_refused_and_nothing_is_kept(world: World) {
    let mut sweep = new_sweep("s", 2, 2);
    sweep.shards[1].cell = CellIndex(7);
    let error = world.ledger.create_sweep(sweep.clone()).await.unwrap_err();
    assert!(matches!(&error, LedgerError::UnknownCell { cell: CellIndex(7), .. }), "{error}");
    assert_eq!(world.ledger.sweep(&sweep.id).await.unwrap(), None);
}

pub(crate) async fn sweeps_are_listed_newest_first(world: World) {
    for (name, second) in [("b", 5), ("a", 9), ("c", 1), ("d", 9)] {
        let sweep = NewSweep { created_at: at(second), ..new_sweep(name, 1, 1) };
        world.ledger.create_sweep(sweep).await.unwrap();
    }
    let names: Vec<_> = world.ledger.sweeps().await.unwrap().into_iter().map(|sweep| sweep.name).collect();
    assert_eq!(names, ["d", "a", "b", "c"]);
}

pub(crate) async fn sweeps_come_in_pages_whatever_is_added_and_removed_meanwhile(world: World) {
    let ledger = &world.ledger;
    let submit = async |name: &str, second: i64| {
        let sweep = NewSweep { created_at: at(second), ..new_sweep(name, 1, 1) };
        ledger.create_sweep(sweep).await.unwrap();
    };
    for (name, second) in [("b", 5), ("a", 9), ("c", 1), ("d", 9), ("e", 3)] {
        submit(name, second).await;
    }
    let page = async |after: Option<&PageMark>| {
        let rows = ledger.sweeps_after(after, 2).await.unwrap();
        let names: Vec<_> = rows.iter().map(|row| row.name.clone()).collect();
        (names, rows.last().map(PageMark::from))
    };
    let (names, first) = page(None).await;
    assert_eq!(names, ["d", "a"]);
    // A newer one belongs before the first page, and the one that ended it may go.
    submit("f", 20).await;
    let gone: SweepId = "a".parse().unwrap();
    assert!(ledger.transition(&gone, &[SweepState::Running], SweepState::Cancelled, at(30)).await.unwrap());
    assert!(ledger.drop_sweep(&gone).await.unwrap());
    let (names, second) = page(first.as_ref()).await;
    assert_eq!(names, ["b", "e"]);
    let (names, last) = page(second.as_ref()).await;
    assert_eq!(names, ["c"]);
    assert_eq!(page(last.as_ref()).await, (vec![], None));
}

pub(crate) async fn a_state_changes_only_from_the_states_named(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let ledger = &world.ledger;
    let change = async |from: &[SweepState], to| ledger.transition(&sweep, from, to, at(1)).await.unwrap();
    assert!(!change(&[SweepState::Tabulating, SweepState::Complete], SweepState::Cancelled).await);
    assert!(!change(&[], SweepState::Cancelled).await);
    assert!(change(&[SweepState::Cancelled, SweepState::Running], SweepState::Tabulating).await);
    assert_eq!(ledger.sweep(&sweep).await.unwrap().unwrap().state, SweepState::Tabulating);
}

pub(crate) async fn of_several_who_change_a_state_at_once_one_does(world: World) {
    let other = world.open().await;
    for round in 0..10 {
        let sweep = world.sweep(&format!("s{round}"), 1, 1).await;
        let change = |ledger: &regatta_backends::Ledger| {
            let (ledger, sweep) = (ledger.clone(), sweep.clone());
            async move { ledger.transition(&sweep, &[SweepState::Running], SweepState::Tabulating, at(1)).await.unwrap() }
        };
        let changed = join_all([change(&world.ledger), change(&other), change(&world.ledger), change(&other)]).await;
        assert_eq!(changed.into_iter().filter(|changed| *changed).count(), 1);
    }
}

pub(crate) async fn an_end_is_kept_and_forgotten_by_a_resume(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let enter = async |state| {
        assert!(world.ledger.transition(&sweep, &SweepState::ALL, state, at(3)).await.unwrap());
        let row = world.ledger.sweep(&sweep).await.unwrap().unwrap();
        assert_eq!((row.state, row.ended_at), (state, state.is_end().then_some(at(3))));
    };
    for end in [SweepState::Complete, SweepState::StoppedByBudget, SweepState::Incomplete] {
        enter(SweepState::Tabulating).await;
        enter(end).await;
        enter(SweepState::Running).await;
    }
    enter(SweepState::Cancelled).await;
    enter(SweepState::Running).await;
}

pub(crate) async fn documents_that_are_written_are_those_of_a_generation(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let tabulated = async || world.ledger.sweep(&sweep).await.unwrap().unwrap().tabulated;
    assert_eq!(tabulated().await, None);
    for (written, noted) in [(0, 0), (2, 2), (1, 2)] {
        world.ledger.note_tabulated(&sweep, written).await.unwrap();
        assert_eq!(tabulated().await, Some(noted));
    }
}

pub(crate) async fn a_budget_is_only_ever_raised(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let ledger = &world.ledger;
    let budget = async || ledger.sweep(&sweep).await.unwrap().unwrap().budget;
    let resume = async |sweep: &SweepId, budget| {
        ledger.transition(sweep, &[SweepState::Running], SweepState::Cancelled, at(1)).await.unwrap();
        ledger.resume(sweep, SweepState::Cancelled, Some(budget), Quota::default()).await
    };
    resume(&sweep, Money(7_000_000_000)).await.unwrap();
    assert_eq!(budget().await, Some(Money(7_000_000_000)));
    resume(&sweep, Money(7_000_000_000)).await.unwrap();
    let error = resume(&sweep, Money(6_999_999_999)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to set the budget of the sweep s to $7.00: it is $7.00, and can only be raised"
    );
    assert!(
        matches!(
            error,
            LedgerError::BudgetNotRaised { present: Some(Money(7_000_000_000)), wanted: Money(6_999_999_999), .. }
        ),
        "{error}"
    );
    assert_eq!(budget().await, Some(Money(7_000_000_000)));
    assert!(matches!(resume(&sweep, Money(u64::MAX)).await, Err(LedgerError::OutOfRange { .. })));
    let free = NewSweep { budget: None, ..new_sweep("free", 1, 1) };
    ledger.create_sweep(free.clone()).await.unwrap();
    let error = resume(&free.id, Money(1)).await.unwrap_err();
    assert!(matches!(error, LedgerError::BudgetNotRaised { present: None, .. }), "{error}");
    assert_eq!(ledger.sweep(&free.id).await.unwrap().unwrap().budget, None);
}

pub(crate) async fn shards_come_in_order_by_queue_until_they_are_dispatched(world: World) {
    let sweep = world.sweep("s", 3, 4).await; // shards 0, 1 | 2, 3 | 4, 5 on q0, q1, q0
    let ledger = &world.ledger;
    let next = async |queue: &str, limit| -> Vec<u32> {
        let shards = ledger.next_shards(&sweep, queue, limit).await.unwrap();
        shards.into_iter().map(|shard| shard.index.0).collect()
    };
    assert_eq!(next("q0", 10).await, [0, 1, 4, 5]);
    assert_eq!(next("q0", 3).await, [0, 1, 4]);
    assert_eq!(next("q1", 10).await, [2, 3]);
    assert!(next("q9", 10).await.is_empty());
    let term = world.term().await;
    assert!(ledger.claim_shard(&sweep, ShardIndex(0), 0, term).await.unwrap());
    assert_eq!(next("q0", 10).await, [0, 1, 4, 5]);
    assert_eq!(ledger.next_shards(&sweep, "q0", 1).await.unwrap()[0].state, ShardState::Dispatching);
    assert!(ledger.confirm_shard(&sweep, ShardIndex(0), 2, term).await.unwrap());
    assert_eq!(next("q0", 10).await, [1, 4, 5]);
    assert_eq!(ledger.reset_dispatch(&sweep, Duration::ZERO, term).await.unwrap(), Some(12));
    assert_eq!(next("q0", 2).await, [0, 1]);
}

pub(crate) async fn confirming_a_shard_counts_what_was_dispatched(world: World) {
    let sweep = world.sweep("s", 2, 4).await;
    for (shard, dispatched) in [(0, 2), (1, 1), (2, 2)] {
        world.dispatch(&sweep, ShardIndex(shard), dispatched).await;
    }
    assert_eq!([world.cell(&sweep, 0).await.dispatched, world.cell(&sweep, 1).await.dispatched], [3, 2]);
    let term = world.term().await;
    let error = world.ledger.claim_shard(&sweep, ShardIndex(9), 0, term).await.unwrap_err();
    assert!(matches!(error, LedgerError::UnknownShard { shard: ShardIndex(9), .. }), "{error}");
    let nobody = SweepId::new("nobody").unwrap();
    let error = world.ledger.claim_shard(&nobody, ShardIndex(0), 0, term).await.unwrap_err();
    assert!(matches!(error, LedgerError::UnknownSweep { .. }), "{error}");
}

pub(crate) async fn shards_in_doubt_are_planned_again_and_no_others(world: World) {
    let sweep = world.sweep("s", 2, 6).await; // shards 0, 1, 2 | 3, 4, 5
    let (ledger, term) = (&world.ledger, world.term().await);
    for shard in [0, 3] {
        world.dispatch(&sweep, ShardIndex(shard), 2).await;
    }
    for shard in [1, 4] {
        assert!(ledger.claim_shard(&sweep, ShardIndex(shard), 0, term).await.unwrap());
    }
    let all = [0, 1, 2, 3, 4, 5].map(ShardIndex);
    // A session of the shard in doubt has a result.
    assert!(ledger.plan_shards_again(&sweep, CellIndex(0), &all, 3, term).await.unwrap());
    let states: Vec<_> = ledger.shards(&sweep).await.unwrap().into_iter().map(|shard| shard.state).collect();
    use ShardState::{Dispatched, Dispatching, Planned};
    assert_eq!(states, [Dispatched, Planned, Planned, Dispatched, Dispatching, Planned]);
    assert_eq!([world.cell(&sweep, 0).await.dispatched, world.cell(&sweep, 1).await.dispatched], [3, 2]);

    assert!(!ledger.plan_shards_again(&sweep, CellIndex(0), &all, 9, term).await.unwrap(), "none is in doubt");
    assert_eq!(world.cell(&sweep, 0).await.dispatched, 3);
    world.dispatch(&sweep, ShardIndex(1), 1).await;
    assert_eq!(world.cell(&sweep, 0).await.dispatched, 4);
}

pub(crate) async fn an_ended_sweep_is_removed_with_all_that_is_its_own(world: World) {
    let (gone, kept) = (world.sweep("gone", 2, 2).await, world.sweep("kept", 1, 1).await);
    let ledger = &world.ledger;
    for sweep in [&gone, &kept] {
        ledger.record(vec![record(key(sweep, 0, 0), "w-1")]).await.unwrap();
        ledger.save_judged(vec![judged(sweep, "w-3", &[("a", 1)])]).await.unwrap();
    }
    ledger.record(vec![waiting(key(&gone, 1, 1), "w-2", &["b"])]).await.unwrap();
    ledger.claim_questions(&gone, &judge(), answerer(HERE), &questions(&["b"])).await.unwrap();
    assert!(!ledger.drop_sweep(&gone).await.unwrap(), "it runs");
    ledger.transition(&gone, &[SweepState::Running], SweepState::Cancelled, at(1)).await.unwrap();
    assert!(ledger.drop_sweep(&gone).await.unwrap());
    assert!(!ledger.drop_sweep(&gone).await.unwrap(), "it is gone");
    assert_eq!(ledger.sweep(&gone).await.unwrap(), None);
    assert_eq!(ledger.sessions(&kept, CellIndex(0)).await.unwrap().len(), 1);
    assert_eq!(ledger.verdicts(answerer(HERE), &questions(&["a"])).await.unwrap().len(), 1, "others share it");
    // Nothing of it appears in a sweep that gets its number.
    let again = world.sweep("another", 2, 2).await;
    assert!(ledger.attempts(&again).await.unwrap().is_empty());
    assert!(ledger.awaiting_after(&again, None, u32::MAX).await.unwrap().is_empty());
    assert_eq!(
        ledger.claim_questions(&again, &judge(), answerer(HERE), &questions(&["b"])).await.unwrap().questions,
        questions(&["b"])
    );
}

pub(crate) async fn a_sweep_whose_removal_has_begun_is_not_resumed_and_its_id_is_not_used_again(world: World) {
    let (sweep, kept) = (world.sweep("s", 1, 2).await, world.sweep("kept", 1, 1).await);
    let ledger = &world.ledger;
    let removed = async || ledger.removed(&[sweep.clone(), kept.clone()].into()).await.unwrap();
    assert!(!ledger.begin_removal(&sweep, 0).await.unwrap(), "it runs");
    assert!(!ledger.begin_removal(&"nobody".parse().unwrap(), 0).await.unwrap());
    assert_eq!(removed().await, [].into());
    ledger.transition(&sweep, &[SweepState::Running], SweepState::Cancelled, at(1)).await.unwrap();
    assert!(ledger.resume(&sweep, SweepState::Cancelled, None, Quota::default()).await.unwrap().is_some());
    ledger.transition(&sweep, &[SweepState::Running], SweepState::Cancelled, at(1)).await.unwrap();
    assert!(!ledger.begin_removal(&sweep, 0).await.unwrap(), "it was resumed, and has ended again");
    for _ in 0..2 {
        assert!(ledger.begin_removal(&sweep, 1).await.unwrap());
    }
    assert_eq!(removed().await, [sweep.clone()].into());
    let before = ledger.sweep(&sweep).await.unwrap().unwrap();
    let refused = async || {
        let errors = [
            ledger.check_reopening(&sweep, Quota::default()).await.err(),
            ledger.reopen_unmeasured(&sweep, Quota::default()).await.err(),
            ledger.transition(&sweep, &[SweepState::Cancelled], SweepState::Running, at(2)).await.err(),
            ledger.create_sweep(new_sweep("s", 1, 2)).await.err(),
        ];
        errors.map(|error| matches!(error, Some(LedgerError::Removed { sweep: named }) if named == sweep))
    };
    assert_eq!(refused().await, [true; 4]);
    assert_eq!(ledger.sweep(&sweep).await.unwrap(), Some(before));
    assert!(ledger.drop_sweep(&sweep).await.unwrap());
    assert_eq!(removed().await, [sweep.clone()].into(), "for ever");
    let error = ledger.create_sweep(new_sweep("s", 1, 2)).await.unwrap_err();
    assert!(matches!(error, LedgerError::Removed { .. }), "{error}");
    assert_eq!(ledger.sweep(&sweep).await.unwrap(), None, "nothing of it is kept");
}

pub(crate) async fn of_who_removes_a_sweep_and_who_resumes_it_at_once_one_succeeds(world: World) {
    for round in 0..20 {
        let sweep = world.sweep(&format!("s-{round}"), 1, 2).await;
        let (ledger, other) = (&world.ledger, world.open().await);
        ledger.transition(&sweep, &[SweepState::Running], SweepState::Cancelled, at(1)).await.unwrap();
        let resume = async {
            other.reopen_unmeasured(&sweep, Quota::default()).await?;
            other.transition(&sweep, &[SweepState::Cancelled], SweepState::Running, at(2)).await
        };
        let (begun, resumed) = tokio::join!(ledger.begin_removal(&sweep, 0), resume);
        let state = ledger.sweep(&sweep).await.unwrap().unwrap().state;
        match (begun.unwrap(), resumed) {
            (true, Err(LedgerError::Removed { .. })) => assert_eq!(state, SweepState::Cancelled),
            (false, Ok(true)) => assert_eq!(state, SweepState::Running),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) async fn metrics_of_a_cell_are_replaced_as_a_whole(world: World) {
    let sweep = world.sweep("s", 2, 1).await;
    let metric = |cell, evaluator, metric: &str, value| MetricRow {
        cell: CellIndex(cell),
        evaluator,
        metric: metric.to_owned(),
        value,
        low: value.map(|value| value - 0.1),
        high: value.map(|value| value + 0.1),
        n: 7,
    };
    let first = vec![
        metric(1, Evaluator::Official, "z", Some(0.1 + 0.2)),
        metric(1, Evaluator::Official, "a", None),
        metric(0, Evaluator::OfficialFixed, "f1", Some(0.5)),
        metric(0, Evaluator::Paper, "f1", Some(-1e-300)),
    ];
    world.ledger.save_metrics(&sweep, first.clone()).await.unwrap();
    let in_order = [&first[2], &first[3], &first[0], &first[1]].map(Clone::clone);
    assert_eq!(world.ledger.metrics(&sweep).await.unwrap(), in_order);
    let second = metric(1, Evaluator::Paper, "new", Some(1.0));
    world.ledger.save_metrics(&sweep, vec![second.clone()]).await.unwrap();
    assert_eq!(world.ledger.metrics(&sweep).await.unwrap(), [first[2].clone(), first[3].clone(), second.clone()]);
    let twice = vec![second.clone(), second.clone()];
    assert!(world.ledger.save_metrics(&sweep, twice).await.is_err());
    assert_eq!(world.ledger.metrics(&sweep).await.unwrap().len(), 3);
}

pub(crate) async fn shards_beyond_what_is_released_are_not_dispatched_until_it_is(world: World) {
    let mut planned = new_sweep("s", 2, 4);
    planned.cells[0].items = 2;
    planned.cells[1].items = 0;
    world.ledger.create_sweep(planned.clone()).await.unwrap();
    let (sweep, term) = (planned.id, world.term().await);
    let ledger = &world.ledger;
    let next = async |queue| {
        let shards = ledger.next_shards(&sweep, queue, 10).await.unwrap();
        shards.iter().map(|shard| (shard.cell.0, shard.first)).collect::<Vec<_>>()
    };
    assert_eq!(next("q0").await, [(0, 0)]);
    assert_eq!(next("q1").await, []);
    assert!(ledger.release(&sweep, &[(CellIndex(1), 2), (CellIndex(0), 4)], 0, term).await.unwrap());
    assert!(ledger.release(&sweep, &[(CellIndex(1), 2), (CellIndex(0), 3)], 0, term).await.unwrap(), "twice is once");
    assert_eq!(next("q0").await, [(0, 0), (0, 2)]);
    assert_eq!(next("q1").await, [(1, 0)]);
    let items: Vec<u64> = ledger.cell_progress(&sweep).await.unwrap().iter().map(|cell| cell.items).collect();
    assert_eq!(items, [4, 2], "a cell never loses sessions");
    let error = ledger.release(&sweep, &[(CellIndex(0), 4), (CellIndex(7), 1)], 0, term).await.unwrap_err();
    assert!(matches!(&error, LedgerError::UnknownCell { cell: CellIndex(7), .. }), "{error}");
    assert!(ledger.begin_tabulating(&sweep, 0, Some(BUDGET), Some(Money(77)), term).await.unwrap());
    assert_eq!(ledger.sweep(&sweep).await.unwrap().unwrap().granted, Some(Money(77)));
    ledger.set_granted(&sweep, None).await.unwrap();
    assert_eq!(ledger.sweep(&sweep).await.unwrap().unwrap().granted, None);
    assert!(!ledger.release(&sweep, &[(CellIndex(1), 4)], 0, term).await.unwrap(), "it does not run any more");
}
