//! Leadership: one coordinator at a time dispatches, and its term and the sweep's generation are checked in every step.

use std::collections::BTreeSet;
use std::time::Duration;

use regatta_backends::ledger::{Held, ShardState, ToldBy, UnderWay};
use regatta_backends::{LedgerError, Quota};
use regatta_proto::{
    AttemptTotals, CellIndex, HeldBatch, ItemIndex, Partition, ShardIndex, SweepId, SweepState, WorkerId,
};

use crate::world::{BUDGET, World, at, key, open, record};

const LONG: Duration = Duration::from_secs(3600);
/// A lease that is over when the next call is made.
const OVER: Duration = Duration::ZERO;

fn coordinator(name: &str) -> WorkerId {
    name.parse().unwrap()
}

pub(crate) async fn one_coordinator_leads_at_a_time(world: World) {
    let (a, b) = (coordinator("a"), coordinator("b"));
    let term = world.ledger.lead(&a, LONG).await.unwrap().unwrap();
    assert_eq!(world.ledger.lead(&b, LONG).await.unwrap(), None);
    assert_eq!(world.ledger.lead(&a, LONG).await.unwrap(), Some(term), "who leads keeps its term");
}

pub(crate) async fn a_lead_that_is_not_renewed_goes_to_whoever_asks_under_a_higher_term(world: World) {
    let (a, b) = (coordinator("a"), coordinator("b"));
    let first = world.ledger.lead(&a, OVER).await.unwrap().unwrap();
    let second = world.ledger.lead(&b, LONG).await.unwrap().unwrap();
    assert!(second > first);
    assert_eq!(world.ledger.lead(&a, LONG).await.unwrap(), None);
}

pub(crate) async fn who_resigns_is_followed_at_once_and_nobody_else_can_resign_for_it(world: World) {
    let (a, b) = (coordinator("a"), coordinator("b"));
    let first = world.ledger.lead(&a, LONG).await.unwrap().unwrap();
    world.ledger.resign(&b).await.unwrap();
    assert_eq!(world.ledger.lead(&b, LONG).await.unwrap(), None);

    world.ledger.resign(&a).await.unwrap();
    let second = world.ledger.lead(&b, LONG).await.unwrap().unwrap();
    assert!(second > first);
    assert_eq!(world.ledger.lead(&a, LONG).await.unwrap(), None);
}

pub(crate) async fn of_several_who_want_to_lead_at_once_one_does(world: World) {
    let names: Vec<WorkerId> = (0..8).map(|number| coordinator(&format!("c{number}"))).collect();
    let terms = futures::future::join_all(names.iter().map(|name| world.ledger.lead(name, LONG))).await;
    assert_eq!(terms.into_iter().filter(|term| term.as_ref().unwrap().is_some()).count(), 1);
}

pub(crate) async fn a_leader_whose_term_is_over_changes_nothing(world: World) {
    let sweep = world.sweep("s", 1, 4).await;
    let ledger = &world.ledger;
    let old = ledger.lead(&coordinator("a"), OVER).await.unwrap().unwrap();
    assert!(ledger.claim_shard(&sweep, ShardIndex(0), 0, old).await.unwrap());
    let new = ledger.lead(&coordinator("b"), LONG).await.unwrap().unwrap();

    assert!(!ledger.claim_shard(&sweep, ShardIndex(1), 0, old).await.unwrap());
    assert!(!ledger.confirm_shard(&sweep, ShardIndex(0), 2, old).await.unwrap());
    assert_eq!(ledger.reset_dispatch(&sweep, LONG, old).await.unwrap(), None);
    assert!(!ledger.plan_shards_again(&sweep, CellIndex(0), &[ShardIndex(0)], 0, old).await.unwrap());
    assert!(!ledger.release(&sweep, &[(CellIndex(0), 9)], 0, old).await.unwrap());
    assert!(!ledger.begin_tabulating(&sweep, 0, Some(BUDGET), None, old).await.unwrap());
    let states: Vec<_> = ledger.shards(&sweep).await.unwrap().into_iter().map(|shard| shard.state).collect();
    assert_eq!(states, [ShardState::Dispatching, ShardState::Planned]);
    assert_eq!(world.cell(&sweep, 0).await.dispatched, 0);
    assert_eq!(ledger.sweep(&sweep).await.unwrap().unwrap().state, SweepState::Running);

    assert!(ledger.confirm_shard(&sweep, ShardIndex(0), 2, new).await.unwrap(), "its successor goes on from there");
}

pub(crate) async fn a_shard_is_claimed_and_confirmed_once(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let (ledger, term) = (&world.ledger, world.term().await);
    let claim = async || ledger.claim_shard(&sweep, ShardIndex(0), 0, term).await.unwrap();
    let confirm = async || ledger.confirm_shard(&sweep, ShardIndex(0), 2, term).await.unwrap();
    assert!(!confirm().await, "nobody has claimed it");
    assert!(claim().await);
    assert!(!claim().await);
    assert!(confirm().await);
    assert!(!confirm().await);
    assert!(!claim().await);
    assert_eq!(world.cell(&sweep, 0).await.dispatched, 2);
}

pub(crate) async fn no_shard_of_a_cancelled_sweep_is_claimed(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let (ledger, term) = (&world.ledger, world.term().await);
    ledger.transition(&sweep, &[SweepState::Running], SweepState::Cancelled, at(4)).await.unwrap();
    assert!(!ledger.claim_shard(&sweep, ShardIndex(0), 0, term).await.unwrap());
}

pub(crate) async fn a_resume_voids_what_its_coordinator_was_about_to_do(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let (ledger, term) = (&world.ledger, world.term().await);
    ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap();
    assert_eq!(ledger.sweep(&sweep).await.unwrap().unwrap().generation, 1);
    assert!(!ledger.claim_shard(&sweep, ShardIndex(0), 0, term).await.unwrap());
    assert!(!ledger.release(&sweep, &[(CellIndex(0), 9)], 0, term).await.unwrap());
    assert!(!ledger.begin_tabulating(&sweep, 0, Some(BUDGET), None, term).await.unwrap());
    assert!(ledger.claim_shard(&sweep, ShardIndex(0), 1, term).await.unwrap());
    assert!(ledger.begin_tabulating(&sweep, 1, Some(BUDGET), None, term).await.unwrap());
    assert!(!ledger.begin_tabulating(&sweep, 1, Some(BUDGET), None, term).await.unwrap(), "it has begun");
}

pub(crate) async fn sessions_that_a_worker_tells_of_are_known_to_run_until_they_end(world: World) {
    let sweep = world.sweep("s", 2, 4).await;
    let ledger = &world.ledger;
    let items: Vec<ItemIndex> = (0..4).map(ItemIndex).collect();
    let under_way = async |within| {
        let found = ledger.under_way(&sweep, CellIndex(1), &items, within).await.unwrap();
        found.into_iter().map(|(item, evidence)| (item.0, evidence)).collect::<Vec<_>>()
    };
    let told =
        [(0, 1), (1, 1), (1, 2)].map(|(cell, item)| open(key(&sweep, cell, item), &format!("w-{cell}{item}"), 3));
    ledger.record_progress(told.into()).await.unwrap();
    assert_eq!(under_way(LONG).await, [(1, UnderWay::Told), (2, UnderWay::Told)]);
    // Reported again without changes, as during a call that takes long.
    ledger.record_progress(vec![open(key(&sweep, 1, 1), "w-11", 3)]).await.unwrap();
    ledger.record(vec![record(key(&sweep, 1, 2), "w-12")]).await.unwrap();
    assert_eq!(under_way(LONG).await, [(1, UnderWay::Told)]);
    assert_eq!(under_way(Duration::ZERO).await, [(1, UnderWay::Silent)]);
    ledger.close_open_attempts(&sweep, at(9)).await.unwrap();
    assert_eq!(under_way(LONG).await, [(1, UnderWay::Unconfirmed)]);
    assert_eq!(under_way(Duration::ZERO).await, [], "nobody will ever tell of it");
    ledger.record_progress(vec![open(key(&sweep, 1, 1), "v-11", 3)]).await.unwrap();
    assert_eq!(under_way(LONG).await, [(1, UnderWay::Told)], "the stronger evidence counts");
    ledger.record(vec![record(key(&sweep, 1, 1), "v-11")]).await.unwrap();
    assert_eq!(under_way(LONG).await, [], "it has a result");
}

pub(crate) async fn nothing_counts_as_under_way_whose_workers_are_forgotten(world: World) {
    let sweep = world.sweep("s", 1, 3).await;
    let ledger = &world.ledger;
    let keys = [0, 1].map(|item| key(&sweep, 0, item));
    ledger.record_progress(vec![open(keys[0].clone(), "w-1", 3)]).await.unwrap();
    let attempt = record(keys[1].clone(), "w-2").attempt;
    ledger.record_handover(&keys[1], attempt, AttemptTotals::default(), ToldBy::Itself).await.unwrap();
    let items = [ItemIndex(0), ItemIndex(1)];
    let under_way = async || ledger.under_way(&sweep, CellIndex(0), &items, LONG).await.unwrap();
    assert_eq!(under_way().await.len(), 2);
    ledger.forget_workers(&sweep).await.unwrap();
    assert_eq!(
        under_way().await.into_values().collect::<Vec<_>>(),
        [UnderWay::Silent],
        "an open attempt may be told of later"
    );
    ledger.record_progress(vec![open(keys[0].clone(), "w-1", 3)]).await.unwrap();
    assert_eq!(under_way().await.into_values().collect::<Vec<_>>(), [UnderWay::Told]);
}

pub(crate) async fn a_session_that_was_handed_over_may_be_under_way_until_who_has_it_can_have_told_of_it(world: World) {
    let sweep = world.sweep("s", 1, 2).await;
    let ledger = &world.ledger;
    let under_way = async |within| {
        let found = ledger.under_way(&sweep, CellIndex(0), &[ItemIndex(0)], within).await.unwrap();
        found.into_values().collect::<Vec<_>>()
    };
    let key = key(&sweep, 0, 0);
    for (id, was_told) in [("w-1", false), ("w-2", true)] {
        if was_told {
            ledger.record_progress(vec![open(key.clone(), id, 3)]).await.unwrap();
        }
        let attempt = record(key.clone(), id).attempt;
        ledger.record_handover(&key, attempt, AttemptTotals::default(), ToldBy::Itself).await.unwrap();
        assert_eq!(under_way(LONG).await, [UnderWay::Unconfirmed]);
        assert_eq!(under_way(Duration::ZERO).await, [], "its job is lost");
    }
    ledger.record_progress(vec![open(key.clone(), "v-3", 3)]).await.unwrap();
    assert_eq!(under_way(LONG).await, [UnderWay::Told], "who has it tells of it");
    ledger.record(vec![record(key, "v-3")]).await.unwrap();
    assert_eq!(under_way(LONG).await, []);
}

pub(crate) async fn a_batch_that_a_worker_tells_of_tells_of_all_its_sessions(world: World) {
    let (sweep, other) = (world.sweep("s", 1, 4).await, world.sweep("t", 1, 4).await);
    let ledger = &world.ledger;
    let items: Vec<ItemIndex> = (0..4).map(ItemIndex).collect();
    let under_way = async |within| {
        let found = ledger.under_way(&sweep, CellIndex(0), &items, within).await.unwrap();
        found.into_iter().map(|(item, evidence)| (item.0, evidence)).collect::<Vec<_>>()
    };
    let batch =
        |sweep: &SweepId, id: &str| Held::Batch(HeldBatch { sweep: sweep.clone(), id: id.to_owned(), generation: 0 });
    let told = [(0, "0a-0"), (1, "0a-1"), (2, "0b-0")].map(|(item, id)| open(key(&sweep, 0, item), id, 3));
    ledger.record_progress(told.into()).await.unwrap();
    let mut silence = Duration::ZERO;
    while silence < Duration::from_millis(50) {
        silence = ledger.quiet(&sweep, "silent", false).await.unwrap();
    }
    let within = Duration::from_millis(50);
    let silent = [(0, UnderWay::Silent), (1, UnderWay::Silent), (2, UnderWay::Silent)];
    assert_eq!(under_way(within).await, silent, "they were told of once, a while ago");

    ledger.record_held(BTreeSet::from([batch(&other, "0a"), batch(&sweep, "0"), batch(&sweep, "0a-0")])).await.unwrap();
    assert_eq!(under_way(within).await, silent, "none of these is theirs");
    ledger.record_held(BTreeSet::from([batch(&sweep, "0a"), batch(&"gone".parse().unwrap(), "0b")])).await.unwrap();
    assert_eq!(under_way(LONG).await, [(0, UnderWay::Told), (1, UnderWay::Told), (2, UnderWay::Told)]);
    let of_the_batch = async || {
        let found = under_way(within).await;
        found.into_iter().filter(|(_, evidence)| *evidence == UnderWay::Told).map(|(item, _)| item).collect::<Vec<_>>()
    };
    // Told of again until a look comes in time, however slow the store is.
    let mut found = of_the_batch().await;
    while found.is_empty() {
        ledger.record_held(BTreeSet::from([batch(&sweep, "0a")])).await.unwrap();
        found = of_the_batch().await;
    }
    assert_eq!(found, [0, 1]);
    assert_eq!(under_way(Duration::ZERO).await, silent, "a batch that is not told of any more tells nothing");

    ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap();
    ledger.record_held(BTreeSet::from([batch(&sweep, "0a")])).await.unwrap();
    let resumed = [(0, UnderWay::Silent), (1, UnderWay::Silent), (2, UnderWay::Told)];
    assert_eq!(under_way(LONG).await, resumed, "its sweep was resumed, which made the batch void");
    let of_this = Held::Batch(HeldBatch { sweep: sweep.clone(), id: "0a".to_owned(), generation: 1 });
    let mut found = Vec::new();
    while found.is_empty() {
        ledger.record_held(BTreeSet::from([of_this.clone()])).await.unwrap();
        found = of_the_batch().await;
    }
    assert_eq!(found, [0, 1], "one of the resumed sweep");

    ledger.close_open_attempts(&sweep, at(9)).await.unwrap();
    assert!(under_way(LONG).await.iter().all(|(_, evidence)| *evidence == UnderWay::Unconfirmed));
    ledger.transition(&sweep, &[SweepState::Running], SweepState::Cancelled, at(9)).await.unwrap();
    assert!(ledger.drop_sweep(&sweep).await.unwrap(), "what is held goes with its sweep");
}

pub(crate) async fn a_sweep_that_has_ended_is_alive_while_workers_tell_of_something_of_it(world: World) {
    let (sweep, other) = (world.sweep("s", 1, 4).await, world.sweep("t", 1, 4).await);
    let ledger = &world.ledger;
    let is_alive = async |sweep: &SweepId| ledger.is_alive(sweep, LONG).await.unwrap();
    assert!(!is_alive(&sweep).await);
    ledger.record_progress(vec![open(key(&sweep, 0, 0), "w-1", 3)]).await.unwrap();
    ledger.transition(&sweep, &[SweepState::Running], SweepState::Cancelled, at(9)).await.unwrap();
    ledger.close_open_attempts(&sweep, at(9)).await.unwrap();
    assert!(is_alive(&sweep).await);
    // Its worker goes on to tell of the session, whose attempt stays lost.
    let mut silence = Duration::ZERO;
    while silence < Duration::from_millis(50) {
        silence = ledger.quiet(&sweep, "silent", false).await.unwrap();
    }
    let within = Duration::from_millis(50);
    assert!(!ledger.is_alive(&sweep, within).await.unwrap());
    let mut is_alive_again = false;
    while !is_alive_again {
        ledger.record_progress(vec![open(key(&sweep, 0, 0), "w-1", 3)]).await.unwrap();
        is_alive_again = ledger.is_alive(&sweep, within).await.unwrap();
    }
    assert!(!ledger.is_alive(&sweep, Duration::ZERO).await.unwrap());
    ledger.record(vec![record(key(&sweep, 0, 0), "w-1")]).await.unwrap();
    assert!(!is_alive(&sweep).await, "it has a result");

    let batch = HeldBatch { sweep: sweep.clone(), id: "0a".to_owned(), generation: 0 };
    ledger.record_held(BTreeSet::from([Held::Batch(batch)])).await.unwrap();
    assert!(is_alive(&sweep).await && !is_alive(&other).await);
}

pub(crate) async fn questions_that_a_worker_tells_of_are_those_of_their_sweep(world: World) {
    let (sweep, other) = (world.sweep("s", 1, 1).await, world.sweep("t", 1, 1).await);
    let ledger = &world.ledger;
    let questions = |sweep: &SweepId, worker: &str| Held::Questions {
        sweep: sweep.clone(),
        worker: worker.parse().unwrap(),
        generation: 0,
        is_named: true,
    };
    assert!(!ledger.is_judging(&sweep, LONG).await.unwrap());
    let batch = Held::Batch(HeldBatch { sweep: sweep.clone(), id: "w1".to_owned(), generation: 0 });
    ledger.record_held(BTreeSet::from([questions(&other, "w1"), batch])).await.unwrap();
    assert!(!ledger.is_judging(&sweep, LONG).await.unwrap(), "these are of another sweep");
    ledger.record_held(BTreeSet::from([questions(&sweep, "w1"), questions(&sweep, "w2")])).await.unwrap();
    assert!(ledger.is_judging(&sweep, LONG).await.unwrap());
    assert!(!ledger.is_judging(&sweep, Duration::ZERO).await.unwrap(), "a worker that is gone tells nothing");
}

pub(crate) async fn an_older_echo_changes_nothing(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    for (number, noted) in [(3, 3), (2, 3), (3, 3), (1 << 40, 1 << 40)] {
        world.ledger.echo(&sweep, number, Partition::WHOLE).await.unwrap();
        assert_eq!(world.ledger.sweep(&sweep).await.unwrap().unwrap().echo, noted);
    }
}

pub(crate) async fn an_echo_is_heard_when_all_partitions_have_answered_the_same_question(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let answers = [(5, 0, 0), (5, 2, 0), (5, 2, 0), (6, 1, 0), (5, 1, 0), (6, 0, 0), (6, 2, 6), (7, 0, 6), (6, 1, 6)];
    for (question, number, heard) in answers {
        world.ledger.echo(&sweep, question, Partition { number, of: 3 }).await.unwrap();
        assert_eq!(world.ledger.sweep(&sweep).await.unwrap().unwrap().echo, heard, "{question} of {number}");
    }
}

pub(crate) async fn an_echo_of_a_partition_that_there_cannot_be_is_refused(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    for partition in [Partition { number: 3, of: 3 }, Partition { number: 0, of: 0 }, Partition { number: 0, of: 63 }] {
        let refused = world.ledger.echo(&sweep, 1, partition).await;
        assert!(matches!(refused, Err(LedgerError::OutOfRange { .. })), "{partition:?}: {refused:?}");
    }
    assert_eq!(world.ledger.sweep(&sweep).await.unwrap().unwrap().echo, 0);
}

pub(crate) async fn a_sweep_is_quiet_since_it_last_moved_whoever_asks(world: World) {
    let (sweep, other) = (world.sweep("s", 1, 4).await, world.sweep("t", 1, 4).await);
    let ledger = &world.ledger;
    let quiet = async |life: &str, anew: bool| ledger.quiet(&sweep, life, anew).await.unwrap();
    assert_eq!(quiet("1 of 4", false).await, Duration::ZERO);
    let mut first = quiet("1 of 4", false).await;
    while first < Duration::from_millis(20) {
        first = quiet("1 of 4", false).await;
    }
    assert!(ledger.clone().quiet(&sweep, "1 of 4", false).await.unwrap() >= first, "another one who asks");
    assert!(ledger.quiet(&other, "1 of 4", false).await.unwrap() < first, "another sweep");
    assert!(quiet("1 of 4", true).await < first);
    assert!(quiet("2 of 4", false).await < first);
    assert!(quiet("1 of 4", false).await < first, "what was before does not count");
}
