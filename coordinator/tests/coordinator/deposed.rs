//! A leader sends nothing once its lease is over, and what it says late undoes nothing newer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use regatta_backends::faults::{Fate, Trouble, Troubles};
use regatta_backends::{Ledger, Queue, ShardState};
use regatta_catalog::Sweep;
use regatta_coordinator::Resumption;
use regatta_proto::{Job, ShardIndex};

use crate::recovering::{LEASE, all_jobs};
use crate::stage::{Stage, queue_of, spec};
use crate::told::deployed;

/// One call of a coordinator to its queue waits for longer than its lease lasts.
struct WaitsBefore {
    ledger: Ledger,
    /// Calls before that one.
    calls_left: AtomicU32,
    /// Another coordinator leads meanwhile.
    is_followed: bool,
}

impl Fate for WaitsBefore {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async {
            if self.calls_left.fetch_sub(1, Ordering::Relaxed) == 0 {
                tokio::time::advance(Duration::from_secs(11)).await;
                if self.is_followed {
                    let other = "other".parse().unwrap();
                    assert!(self.ledger.lead(&other, LEASE).await.unwrap().is_some(), "the lease is over");
                }
            }
            Ok(())
        }
        .boxed()
    }
}

/// State of the only shard, and number of its jobs in the queue, some rounds after `call` to the queue waited beyond the lease.
async fn left_after_waiting(call: u32, is_followed: bool) -> (ShardState, u64, usize) {
    let mut stage = deployed().await;
    stage.config.tick = Duration::from_secs(1);
    let sweep = stage.submit(&stage.process(), &spec("s", 6, "")).await;
    let queue = stage.queue.clone();
    let fate = WaitsBefore { ledger: stage.ledger.clone(), calls_left: AtomicU32::new(call), is_followed };
    stage.queue = queue.troubled(Troubles::new(Arc::new(fate)));
    let process = stage.start();
    stage.queue = queue;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let state = stage.ledger.shards(&sweep.id).await.unwrap()[0].state;
    let left = (state, stage.waiting(&sweep).await, all_jobs(&sweep).len());
    process.end().await;
    left
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_the_broker_beyond_the_lease_of_its_leader_is_not_published() {
    let (mut left, mut call) = (Vec::new(), 0);
    while left.last() != Some(&ShardState::Dispatched) {
        let (state, waiting, sessions) = left_after_waiting(call, true).await;
        let published = if state == ShardState::Dispatched { sessions as u64 } else { 0 };
        assert_eq!(waiting, published, "published after another led since call {call}: {state}");
        left.push(state);
        call += 1;
    }
    assert!(left.contains(&ShardState::Dispatching), "the next leader decides about what was claimed: {left:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_nobody_has_followed_publishes_at_once_and_once_what_had_waited_too_long() {
    for call in 0..8 {
        let (state, waiting, sessions) = left_after_waiting(call, false).await;
        assert_eq!((state, waiting), (ShardState::Dispatched, sessions as u64), "call {call} waited");
    }
}

/// A leader stands still after one call to its ledger. Another leads meanwhile, dispatches again what seemed lost, and is gone.
struct IsFollowedAfter {
    ledger: Ledger,
    queue: Queue,
    sweep: Arc<Sweep>,
    /// Calls before that one.
    calls_left: AtomicU32,
    /// The first has dispatched the jobs again itself by then.
    comes_late: AtomicBool,
}

impl IsFollowedAfter {
    const NEVER: u32 = u32::MAX;

    async fn follow(&self) {
        if self.queue.depth(&queue_of(&self.sweep)).await.unwrap() > 0 {
            return self.comes_late.store(true, Ordering::Relaxed);
        }
        tokio::time::advance(Duration::from_secs(11)).await;
        let (sweep, other) = (&self.sweep, "other".parse().unwrap());
        let lead = self.ledger.lead(&other, Duration::from_secs(5)).await.unwrap();
        let term = lead.expect("the lease is over");
        self.ledger.quiet(&sweep.id, "moved on", true).await.unwrap();
        // Should the first have planned everything again already, this changes nothing.
        self.ledger.reset_dispatch(&sweep.id, term).await.unwrap();
        assert!(self.ledger.claim_shard(&sweep.id, ShardIndex(0), 0, term).await.unwrap());
        let jobs = all_jobs(sweep);
        let count = jobs.len() as u32;
        let jobs = jobs.into_iter().map(|job| Job::Session(Box::new(job))).collect();
        self.queue.publish_jobs(&queue_of(sweep), jobs).await.unwrap();
        assert!(self.ledger.confirm_shard(&sweep.id, ShardIndex(0), count, term).await.unwrap());
        tokio::time::advance(Duration::from_secs(6)).await;
    }
}

impl Fate for IsFollowedAfter {
    fn after(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async {
            let left = self.calls_left.load(Ordering::Relaxed);
            if left != Self::NEVER {
                self.calls_left.store(left.checked_sub(1).unwrap_or(Self::NEVER), Ordering::Relaxed);
                if left == 0 {
                    self.follow().await;
                }
            }
            Ok(())
        }
        .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stood_still_does_not_act_on_what_it_saw_before_another_led() {
    for call in 0.. {
        let mut stage = deployed().await;
        (stage.config.tick, stage.config.rebroadcast) = (Duration::from_secs(1), Duration::from_secs(4));
        let sweep = stage.submit(&stage.process(), &spec("s", 6, "")).await;
        let fate = Arc::new(IsFollowedAfter {
            ledger: stage.ledger.clone(),
            queue: stage.queue.clone(),
            sweep: sweep.clone(),
            calls_left: AtomicU32::new(IsFollowedAfter::NEVER),
            comes_late: AtomicBool::new(false),
        });
        let ledger = stage.ledger.clone();
        stage.ledger = ledger.troubled(Troubles::new(fate.clone()));
        let process = stage.start();
        stage.ledger = ledger;
        let sessions = all_jobs(&sweep).len();
        stage.until_waiting(&sweep, sessions as u64).await;
        stage.take(&sweep, sessions).await;
        tokio::time::sleep(stage.config.lost_after - Duration::from_millis(1_500)).await;
        stage.round().await;
        fate.calls_left.store(call, Ordering::Relaxed);
        while fate.calls_left.load(Ordering::Relaxed) != IsFollowedAfter::NEVER {
            stage.round().await;
        }
        if fate.comes_late.load(Ordering::Relaxed) {
            assert!(call > 8, "{call}");
            return process.end().await;
        }
        let before = stage.waiting(&sweep).await as usize;
        stage.take(&sweep, before).await;
        let since = tokio::time::Instant::now();
        while since.elapsed() < stage.config.lost_after / 2 {
            stage.round().await;
        }
        let after = stage.waiting(&sweep).await as usize;
        assert_eq!(before + after, sessions, "dispatched twice by one that stood still after call {call}");
        process.end().await;
    }
}

#[tokio::test]
async fn broadcasts_are_numbered_from_one_leader_to_the_next() {
    let mut stage = Stage::set().await;
    let first = stage.start();
    let numbers = [stage.told().await.number.unwrap(), stage.told().await.number.unwrap()];
    let coordinator = first.coordinator.clone();
    first.end().await;
    coordinator.resign().await.unwrap();
    stage.config.id = "successor".parse().unwrap();
    let second = stage.start();
    stage.until(async || second.metrics.leads.get() == 1).await;
    let last = stage.told().await.number.unwrap();
    assert!(numbers[0] < numbers[1] && numbers[1] < last, "{numbers:?}, {last:?}");
    second.end().await;
}

#[tokio::test]
async fn a_cancelled_sweep_is_told_with_the_generation_that_was_cancelled() {
    let stage = Stage::set().await;
    let process = stage.start();
    let sweep = stage.submit(&process, &spec("s", 2, "")).await;
    process.coordinator.cancel(&sweep.id).await.unwrap();
    process.coordinator.resume(&sweep.id, Resumption::default()).await.unwrap();
    process.coordinator.cancel(&sweep.id).await.unwrap();
    let told = stage.told().await;
    assert_eq!((told.cancelled, told.generations), (vec![sweep.id.clone()], BTreeMap::from([(sweep.id.clone(), 1)])));
    process.end().await;
}
