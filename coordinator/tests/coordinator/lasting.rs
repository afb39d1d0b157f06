//! Rounds that take longer than a lease, and steps that fail once, cost time and nothing else.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use regatta_backends::faults::{Fate, Trouble, Troubles};
use regatta_backends::{Queue, ShardState};
use regatta_proto::{Money, SessionKey};
use tokio::time::Instant;

use crate::recovering::all_jobs;
use crate::stage::{Stage, spec};
use crate::told::deployed;

/// Each call takes this long.
struct Slow(Duration);

impl Fate for Slow {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async {
            tokio::time::sleep(self.0).await;
            Ok(())
        }
        .boxed()
    }
}

/// The time until each of `count` sweeps has jobs, where each call to the ledger takes `call`; then the same for a leader that takes over.
async fn all_are_dispatched(count: u32, call: Duration) -> [Duration; 2] {
    let mut stage = deployed().await;
    stage.config.window = 4;
    let mut sweeps = Vec::new();
    for number in 0..count {
        sweeps.push(stage.submit(&stage.process(), &spec(&format!("s{number}"), 6, "")).await);
    }
    let fast = stage.ledger.clone();
    let mut took = [Duration::ZERO; 2];
    for (leader, took) in ["first", "second"].into_iter().zip(&mut took) {
        stage.config.id = leader.parse().unwrap();
        stage.ledger = fast.troubled(Troubles::new(Arc::new(Slow(call))));
        let process = stage.start();
        stage.ledger = fast.clone();
        let (since, mut idle) = (Instant::now(), sweeps.clone());
        while !idle.is_empty() && since.elapsed() < Duration::from_secs(600) {
            tokio::time::sleep(Duration::from_secs(1)).await;
            stage.answer_echoes().await;
            for sweep in std::mem::take(&mut idle) {
                match stage.waiting(&sweep).await as usize {
                    0 => idle.push(sweep),
                    waiting => {
                        let jobs = stage.take(&sweep, waiting).await;
                        stage.finish(&sweep, &jobs, Money::ZERO).await;
                    }
                }
            }
        }
        *took = since.elapsed();
        process.end().await;
    }
    took
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_whose_rounds_take_longer_than_its_lease_gets_on() {
    for (sweeps, call) in [(30, 100), (1, 2_500)] {
        let took = all_are_dispatched(sweeps, Duration::from_millis(call)).await;
        // What comes first is dispatched in a round of half a minute or two.
        assert!(took.iter().all(|took| took.as_secs() < 240), "{sweeps} sweeps, {call} ms a call: {took:?}");
    }
}

/// One call waits for longer than a lease lasts; nobody leads meanwhile.
struct WaitsAfter(AtomicU32);

impl Fate for WaitsAfter {
    fn after(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async {
            if self.0.fetch_sub(1, Ordering::Relaxed) == 0 {
                tokio::time::sleep(Duration::from_secs(11)).await;
            }
            Ok(())
        }
        .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn after_any_call_to_the_ledger_that_outlasts_the_lease_everything_is_dispatched_once_and_soon() {
    for call in 0..16 {
        let mut stage = deployed().await;
        stage.config.tick = Duration::from_secs(1);
        let sweep = stage.submit(&stage.process(), &spec("s", 6, "")).await;
        let ledger = stage.ledger.clone();
        stage.ledger = ledger.troubled(Troubles::new(Arc::new(WaitsAfter(AtomicU32::new(call)))));
        let process = stage.start();
        stage.ledger = ledger;
        tokio::time::sleep(Duration::from_secs(20)).await;
        let state = stage.ledger.shards(&sweep.id).await.unwrap()[0].state;
        let sessions = all_jobs(&sweep).len() as u64;
        assert_eq!((state, stage.waiting(&sweep).await), (ShardState::Dispatched, sessions), "call {call} took long");
        process.end().await;
    }
}

/// One call fails without an effect.
struct FailsOnce(AtomicU32);

impl FailsOnce {
    const NEVER: u32 = u32::MAX;
}

impl Fate for FailsOnce {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        async {
            let left = self.0.load(Ordering::Relaxed);
            if left == Self::NEVER {
                return Ok(());
            }
            self.0.store(left.checked_sub(1).unwrap_or(Self::NEVER), Ordering::Relaxed);
            if left == 0 { Err(Trouble) } else { Ok(()) }
        }
        .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_queue_that_dies_everything_is_planned_again_whichever_call_to_the_ledger_fails_at_the_start() {
    for call in 0..12 {
        let mut stage = deployed().await;
        stage.config.queue_survives = false;
        let first = stage.start();
        let sweep = stage.submit(&first, &spec("s", 6, "")).await;
        let jobs = all_jobs(&sweep);
        stage.until_waiting(&sweep, jobs.len() as u64).await;
        first.end().await;
        stage.queue = Queue::memory();
        let ledger = stage.ledger.clone();
        stage.ledger = ledger.troubled(Troubles::new(Arc::new(FailsOnce(AtomicU32::new(call)))));
        let second = stage.start();
        stage.ledger = ledger;
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(stage.waiting(&sweep).await as usize, jobs.len(), "call {call} failed");
        second.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_held_back_is_dispatched_once_and_soon_whichever_call_to_the_ledger_fails_then() {
    for call in 0..24 {
        let mut stage: Stage = deployed().await;
        let (ledger, fate) = (stage.ledger.clone(), Arc::new(FailsOnce(AtomicU32::new(FailsOnce::NEVER))));
        stage.ledger = ledger.troubled(Troubles::new(fate.clone()));
        let process = stage.start();
        stage.ledger = ledger;
        let sweep = stage.submit(&process, &spec("s", 6, "")).await;
        let jobs = stage.take(&sweep, all_jobs(&sweep).len()).await;
        let told_at = Instant::now();
        stage.begin(&jobs[0]).await;
        process.coordinator.cancel(&sweep.id).await.unwrap();
        stage.ledger.close_open_attempts(&sweep.id, jiff::Timestamp::UNIX_EPOCH).await.unwrap();
        process.coordinator.resume(&sweep.id, regatta_coordinator::Resumption::default()).await.unwrap();
        stage.until_waiting(&sweep, jobs.len() as u64 - 1).await;
        let others = stage.take(&sweep, jobs.len() - 1).await;
        // Others move, so that nothing counts as lost.
        while told_at.elapsed() < stage.config.running_within - Duration::from_secs(5) {
            for job in &others {
                stage.begin(job).await;
            }
            stage.round().await;
        }
        fate.0.store(call, Ordering::Relaxed);
        let since = Instant::now();
        while stage.waiting(&sweep).await == 0 && since.elapsed() < Duration::from_secs(30) {
            for job in &others {
                stage.begin(job).await;
            }
            stage.round().await;
        }
        let again = stage.take(&sweep, stage.waiting(&sweep).await as usize).await;
        let again: BTreeSet<&SessionKey> = again.iter().map(|job| &job.key).collect();
        assert_eq!(again, BTreeSet::from([&jobs[0].key]), "call {call} failed");
        process.end().await;
    }
}
