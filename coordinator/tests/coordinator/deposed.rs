//! A leader sends nothing that another has claimed, and nothing once its lease is over; what it says late undoes nothing newer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use regatta_backends::faults::{Fate, Trouble, Troubles};
use regatta_backends::{Blobs, Ledger, Queue, ShardState};
use regatta_catalog::Sweep;
use regatta_coordinator::Resumption;
use regatta_proto::{Job, ShardIndex, SweepId, WorkerId};

use crate::recovering::{LEASE, all_jobs};
use crate::stage::{Stage, queue_of, spec};
use crate::told::deployed;

/// Somebody else claims the first shard, under the same term, before one call of a coordinator to its ledger.
struct ClaimsBefore {
    ledger: Ledger,
    sweep: SweepId,
    leader: WorkerId,
    /// Calls before that one.
    calls_left: AtomicU32,
    has_claimed: AtomicBool,
}

impl Fate for ClaimsBefore {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async {
            // From zero on it wraps around: a test ends long before it is zero again.
            if self.calls_left.fetch_sub(1, Ordering::Relaxed) == 0 {
                let term = self.ledger.lead(&self.leader, LEASE).await.unwrap().unwrap();
                let claimed = self.ledger.claim_shard(&self.sweep, ShardIndex(0), 0, term).await.unwrap();
                self.has_claimed.store(claimed, Ordering::Relaxed);
            }
            Ok(())
        }
        .boxed()
    }
}

/// Says whether somebody else could claim the shard before `call`.
async fn claimed_before(call: u32) -> bool {
    let mut stage = Stage::set().await;
    let ledger = Ledger::in_memory().unwrap();
    (stage.ledger, stage.in_memory) = (ledger.clone(), Some(Blobs::memory()));
    let sweep = stage.submit(&stage.process(), &spec("s", 6, "")).await;
    let fate = Arc::new(ClaimsBefore {
        ledger: ledger.clone(),
        sweep: sweep.id.clone(),
        leader: stage.config.id.clone(),
        calls_left: AtomicU32::new(call),
        has_claimed: AtomicBool::new(false),
    });
    stage.ledger = ledger.troubled(Troubles::new(fate.clone()));
    let process = stage.start();
    stage.ledger = ledger;
    stage.round().await;
    stage.round().await;
    let has_claimed = fate.has_claimed.load(Ordering::Relaxed);
    if has_claimed {
        assert_eq!(stage.waiting(&sweep).await, 0, "claimed by somebody else before call {call}");
        assert_eq!(process.metrics.dispatched.get(), 0, "call {call}");
        assert_eq!(stage.ledger.shards(&sweep.id).await.unwrap()[0].state, ShardState::Dispatching, "call {call}");
    } else {
        assert_eq!(stage.waiting(&sweep).await, all_jobs(&sweep).len() as u64);
    }
    process.end().await;
    has_claimed
}

#[tokio::test(start_paused = true)]
async fn a_shard_that_somebody_else_has_claimed_is_not_published() {
    let mut calls = 0;
    // The last of them is the coordinator's own claim.
    while claimed_before(calls).await {
        calls += 1;
    }
    assert!(calls > 8, "{calls}");
}

/// A coordinator stands still after one call to its ledger, until another leads.
struct StandsStillAfter {
    ledger: Ledger,
    queue: Queue,
    jobs: String,
    /// Calls before that one.
    calls_left: AtomicU32,
    /// Jobs that had been published by then.
    published: OnceLock<u64>,
}

impl Fate for StandsStillAfter {
    fn after(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async {
            if self.calls_left.fetch_sub(1, Ordering::Relaxed) == 0 {
                self.published.set(self.queue.depth(&self.jobs).await.unwrap_or(0)).unwrap();
                tokio::time::advance(Duration::from_secs(11)).await;
                let other = "other".parse().unwrap();
                assert!(self.ledger.lead(&other, LEASE).await.unwrap().is_some(), "the lease is over");
            }
            Ok(())
        }
        .boxed()
    }
}

/// The state in which a leader that stands still after `call` has left its only shard; `None` if it had published that before.
async fn left_after(call: u32) -> Option<ShardState> {
    let mut stage = Stage::set().await;
    let ledger = Ledger::in_memory().unwrap();
    (stage.ledger, stage.in_memory) = (ledger.clone(), Some(Blobs::memory()));
    stage.config.tick = Duration::from_secs(1);
    let sweep = stage.submit(&stage.process(), &spec("s", 6, "")).await;
    let fate = Arc::new(StandsStillAfter {
        ledger: ledger.clone(),
        queue: stage.queue.clone(),
        jobs: queue_of(&sweep),
        calls_left: AtomicU32::new(call),
        published: OnceLock::new(),
    });
    stage.ledger = ledger.troubled(Troubles::new(fate.clone()));
    let process = stage.start();
    stage.ledger = ledger;
    // It looks at the ledger often enough, and finds that it does not lead any more.
    tokio::time::sleep(Duration::from_secs(20)).await;
    let published = *fate.published.get().expect("it makes so many calls");
    assert_eq!(stage.waiting(&sweep).await, published, "published after another led since call {call}");
    let state = stage.ledger.shards(&sweep.id).await.unwrap()[0].state;
    process.end().await;
    if published == 0 { Some(state) } else { None }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stood_still_publishes_nothing_of_what_it_has_claimed() {
    let mut left = Vec::new();
    while let Some(state) = left_after(left.len() as u32).await {
        left.push(state);
    }
    assert_eq!(left.last(), Some(&ShardState::Dispatching), "it stood still right after its claim");
    assert!(left.len() > 8, "{left:?}");
}

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

/// Once cut off from the broker, each call to it fails after a while.
struct IsCutOff {
    is_cut_off: AtomicBool,
    fails_after: Duration,
}

impl Fate for IsCutOff {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async {
            if !self.is_cut_off.load(Ordering::Relaxed) {
                return Ok(());
            }
            tokio::time::sleep(self.fails_after).await;
            Err(Trouble)
        }
        .boxed()
    }
}

/// A leader and a standby of which the leader alone is cut off from the broker. Says which of the two lead, 15 seconds after and five later.
async fn leads_of_both_when_calls_fail_after(fails_after: Duration) -> [(i64, i64); 2] {
    let mut stage = deployed().await;
    // Nobody is told anything new, so that the first call that waits is about a sweep, and what fails with it is that sweep alone.
    (stage.config.tick, stage.config.rebroadcast) = (Duration::from_secs(1), Duration::from_secs(3600));
    let fate = Arc::new(IsCutOff { is_cut_off: AtomicBool::new(false), fails_after });
    let queue = stage.queue.clone();
    stage.queue = queue.troubled(Troubles::new(fate.clone()));
    let first = stage.start();
    stage.queue = queue;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(first.metrics.leads.get(), 1);
    stage.config.id = "successor".parse().unwrap();
    let second = stage.start();
    fate.is_cut_off.store(true, Ordering::Relaxed);
    stage.submit(&second, &spec("s", 6, "")).await;
    let mut leads = [(0, 0); 2];
    for (leads, after) in leads.iter_mut().zip([15, 5]) {
        tokio::time::sleep(Duration::from_secs(after)).await;
        *leads = (first.metrics.leads.get(), second.metrics.leads.get());
    }
    first.end().await;
    second.end().await;
    leads
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_from_the_broker_leaves_the_lead_to_another_however_soon_or_late_its_calls_fail() {
    for fails_after in (0..=12).map(Duration::from_secs) {
        let leads = leads_of_both_when_calls_fail_after(fails_after).await;
        assert_eq!(leads, [(0, 1), (0, 1)], "calls fail after {fails_after:?}");
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
        self.ledger.reset_dispatch(&sweep.id, Duration::ZERO, term).await.unwrap();
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
