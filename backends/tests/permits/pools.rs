use std::time::Duration;

use futures::future::join_all;
use regatta_backends::Permits;
use regatta_proto::{PoolRequest, Signals};

use crate::world::{World, wanting};

/// As `wanting`, with slots for everything.
fn on_many_slots(worker: &str, waiting: u32) -> PoolRequest {
    let mut request = wanting(worker, waiting);
    request.limits.concurrency = 10_000;
    request
}

fn telling(worker: &str, signals: Signals) -> PoolRequest {
    PoolRequest { signals, ..wanting(worker, 10) }
}

pub(crate) async fn requests_are_counted_over_all_workers(world: World) {
    let other = world.open().await;
    assert_eq!(world.lease(&on_many_slots("w-1", 400)).await.grants[0].requests, 400);
    assert_eq!(other.lease(&on_many_slots("w-2", 400)).await.unwrap().grants[0].requests, 200);
    let mut back = on_many_slots("w-1", 0);
    back.parties[0].unsent_requests = 150;
    world.lease(&back).await;
    assert_eq!(other.lease(&on_many_slots("w-2", 400)).await.unwrap().grants[0].requests, 150);
}

pub(crate) async fn a_grant_counts_for_a_minute_and_not_for_longer(world: World) {
    assert_eq!(world.lease(&on_many_slots("w-1", 600)).await.grants[0].requests, 600);
    world.pass(Duration::from_secs(60)).await;
    assert_eq!(world.lease(&on_many_slots("w-2", 600)).await.grants[0].requests, 0);
    world.pass(Duration::from_secs(2)).await;
    assert_eq!(world.lease(&on_many_slots("w-2", 600)).await.grants[0].requests, 600);
}

pub(crate) async fn pools_are_apart(world: World) {
    assert_eq!(world.lease(&on_many_slots("w-1", 600)).await.grants[0].requests, 600);
    let elsewhere = PoolRequest { pool: "another".to_owned(), ..on_many_slots("w-1", 600) };
    assert_eq!(world.lease(&elsewhere).await.grants[0].requests, 600);
}

pub(crate) async fn slots_of_a_silent_worker_come_back(world: World) {
    assert_eq!(world.lease(&wanting("w-1", 500)).await.grants[0].slots, 100);
    let mut slots = 0;
    for at_s in 1..=11 {
        world.pass(Duration::from_secs(1)).await;
        slots = world.lease(&wanting("w-2", 500)).await.grants[0].slots;
        // A database's clock goes on while the test does.
        assert!(at_s > 6 || slots == 0, "{slots} after {at_s} s");
        // With the slots it was granted the rest of the minute's requests, and without those nobody is granted slots.
        if slots > 0 {
            break;
        }
    }
    assert_eq!(slots, 100);
}

pub(crate) async fn where_all_were_silent_each_has_time_to_tell_of_its_slots(world: World) {
    assert_eq!(world.lease(&wanting("w-1", 500)).await.grants[0].slots, 100);
    world.pass(Duration::from_secs(40)).await;
    // A database's clock goes on while the test does.
    for at_s in (0..26).step_by(2) {
        let slots = world.lease(&wanting("w-2", 500)).await.grants[0].slots;
        assert!(at_s > 18 || slots == 0, "{slots} after {at_s} s");
        world.pass(Duration::from_secs(2)).await;
    }
    assert_eq!(world.lease(&wanting("w-2", 500)).await.grants[0].slots, 100);
}

pub(crate) async fn refusals_are_heard_by_the_whole_fleet_and_remembered(world: World) {
    let refused = Signals { refused: 2, reason: "too many".to_owned(), ..Signals::default() };
    assert_eq!(world.lease(&telling("w-1", refused)).await.factor, 0.7);
    let other = world.open().await;
    assert_eq!(other.lease(&wanting("w-2", 500)).await.unwrap().factor, 0.7);
    world.pass(Duration::from_secs(12)).await;
    assert_eq!(world.lease(&telling("w-1", Signals { answered: 1, ..Signals::default() })).await.factor, 0.9);

    let changes = other.changes("endpoint").await.unwrap();
    let told: Vec<_> = changes.iter().map(|change| (change.from, change.to, change.reason.as_str())).collect();
    let [fell, (from, to, rose)] = told[..] else { panic!("{told:?}") };
    assert_eq!(fell, (1.0, 0.7, "2 of 2 refused: too many"));
    // A database's clock goes on while the test does.
    assert!((from, to) == (0.7, 0.9) && rose.starts_with("nothing refused in 1"), "{from} {to} {rose}");
    assert!(changes[0].at <= changes[1].at && changes[0].at.as_second() > 1_700_000_000);
}

pub(crate) async fn a_hold_holds_the_whole_fleet(world: World) {
    let hold = Signals { hold_ms: Some(20_000), reason: "reset".to_owned(), ..Signals::default() };
    let reply = world.lease(&telling("w-1", hold)).await;
    assert_eq!((reply.grants[0].requests, reply.retry_ms), (0, 1000));
    assert_eq!(world.lease(&wanting("w-2", 5)).await.grants[0].requests, 0);
    world.pass(Duration::from_secs(20)).await;
    assert_eq!(world.lease(&wanting("w-2", 5)).await.grants[0].requests, 5);
    let changes = world.permits.changes("endpoint").await.unwrap();
    assert_eq!(changes.iter().map(|change| change.reason.as_str()).collect::<Vec<_>>(), ["held for 20.0 s: reset"]);
}

pub(crate) async fn nobody_has_changed_a_pool_that_nobody_uses(world: World) {
    assert_eq!(world.permits.changes("endpoint").await.unwrap(), []);
    world.lease(&wanting("w-1", 5)).await;
    assert_eq!(world.permits.changes("endpoint").await.unwrap(), []);
}

pub(crate) async fn who_holds_what_is_told_until_it_falls_silent(world: World) {
    assert_eq!(world.permits.holders("endpoint").await.unwrap(), []);
    let mut busy = wanting("w-2", 5);
    busy.parties[0].in_flight = 30;
    world.lease(&wanting("w-1", 40)).await;
    world.lease(&busy).await;
    let held = async || {
        let other = world.open().await;
        let holders = other.holders("endpoint").await.unwrap();
        let told = holders.into_iter().map(|one| (one.holder.to_string(), one.slots, one.in_flight, one.waiting));
        told.collect::<Vec<_>>()
    };
    assert_eq!(held().await, [("w-1".to_owned(), 40, 0, 40), ("w-2".to_owned(), 35, 30, 5)]);
    for _ in 0..3 {
        world.pass(Duration::from_secs(3)).await;
        world.lease(&busy).await;
    }
    world.pass(Duration::from_secs(2)).await;
    let held = held().await;
    assert_eq!((held.len(), held[0].0.as_str()), (1, "w-2"), "{held:?}");
}

pub(crate) async fn of_many_at_once_nobody_gets_what_another_one_has(world: World) {
    let handles = join_all((0..6).map(|_| world.open())).await;
    let tasks = (0..24).map(|number: usize| {
        let permits = handles[number % handles.len()].clone();
        tokio::spawn(async move {
            let (mut requests, mut slots) = (0, 0);
            for round in 0..6 {
                let mut request = wanting(&format!("w-{number}"), 40);
                request.parties[0].in_flight = if round == 0 { 0 } else { slots };
                let grant = permits.lease(&request).await.unwrap().grants[0];
                requests += grant.requests;
                slots = grant.slots.max(request.parties[0].in_flight);
            }
            (requests, slots)
        })
    });
    let granted: Vec<(u32, u32)> = join_all(tasks).await.into_iter().map(Result::unwrap).collect();
    let sum = |part: fn(&(u32, u32)) -> u32| granted.iter().map(part).sum::<u32>();
    // A slot that is left over by rounding is another worker's in each second; that one may have asked for the last time.
    assert!((90..=100).contains(&sum(|(_, slots)| *slots)), "{granted:?}");
    assert!(sum(|(requests, _)| *requests) <= 600, "{granted:?}");
}

async fn granted(permits: &Permits, worker: &str, waiting: u32) -> u32 {
    permits.lease(&on_many_slots(worker, waiting)).await.unwrap().grants[0].requests
}

/// Only of the permits in memory that are kept in files; so are those below.
#[tokio::test(start_paused = true)]
async fn what_a_process_that_died_was_granted_counts_in_the_minute_of_the_next_ones() {
    let folder = tempfile::tempdir().unwrap();
    let first = Permits::kept(folder.path()).unwrap();
    assert_eq!((granted(&first, "w-1", 400).await, granted(&first, "w-1", 3).await), (400, 3));
    drop(first);
    // The three were no reason to write; as many as there may have been, a fiftieth of the limit, count.
    let second = Permits::kept(folder.path()).unwrap();
    assert_eq!(granted(&second, "w-1", 600).await, 188);
    drop(second);
    let third = Permits::kept(folder.path()).unwrap();
    assert_eq!(granted(&third, "w-1", 600).await, 0);
    tokio::time::advance(Duration::from_secs(62)).await;
    assert_eq!(granted(&third, "w-1", 600).await, 600);
}

#[tokio::test(start_paused = true)]
async fn slots_of_a_process_that_died_are_free_at_once_and_its_hold_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let first = Permits::kept(folder.path()).unwrap();
    assert_eq!(first.lease(&wanting("w-1", 500)).await.unwrap().grants[0].slots, 100);
    let second = Permits::kept(folder.path()).unwrap();
    assert_eq!(second.holders("endpoint").await.unwrap(), []);
    assert_eq!(second.lease(&wanting("w-2", 500)).await.unwrap().grants[0].slots, 100);
    let hold = Signals { hold_ms: Some(20_000), reason: "reset".to_owned(), ..Signals::default() };
    second.lease(&telling("w-2", hold)).await.unwrap();
    let third = Permits::kept(folder.path()).unwrap();
    assert_eq!(granted(&third, "w-3", 5).await, 0);
    tokio::time::advance(Duration::from_secs(22)).await;
    assert_eq!(granted(&third, "w-3", 5).await, 5);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_granted_for_a_minute_where_what_a_process_was_granted_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pools.json"), "{\"endpoint\":").unwrap();
    let permits = Permits::kept(folder.path()).unwrap();
    for _ in 0..20 {
        assert_eq!(granted(&permits, "w-1", 5).await, 0);
        tokio::time::advance(Duration::from_secs(3)).await;
    }
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(granted(&permits, "w-1", 5).await, 5);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_granted_that_cannot_be_kept_and_nothing_of_it_counts() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("store");
    std::fs::create_dir(&folder).unwrap();
    let permits = Permits::kept(&folder).unwrap();
    std::fs::remove_dir(&folder).unwrap();
    let error = permits.lease(&on_many_slots("w-1", 600)).await.unwrap_err();
    assert!(error.to_string().contains("pools.json"), "{error}");
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(granted(&permits, "w-1", 600).await, 600);
}
