use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use regatta_backends::faults::{Fate, Trouble, Troubles};
use regatta_backends::{Ledger, TickState};
use regatta_coordinator::{CoordinatorError, NightVerdict};
use regatta_proto::SweepState;
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::night_shift::NightShift;
use crate::stage::Process;

/// A fault of a process at one of its calls to the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It is cut off before the call takes effect.
    Before,
    /// It is cut off after that, before it hears of it.
    After,
    /// It stands still until it is woken.
    Stall,
}

/// The fate of a process.
struct Misfortune {
    calls: AtomicU32,
    at: u32,
    fault: Fault,
    woken: Notify,
}

impl Misfortune {
    /// `true` once it has come.
    fn has_come(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > self.at
    }
}

impl Fate for Misfortune {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        async move {
            match self.fault {
                Fault::Stall if call == self.at => {
                    self.woken.notified().await;
                    Ok(())
                }
                Fault::Before if call >= self.at => Err(Trouble),
                Fault::After if call > self.at => Err(Trouble),
                Fault::Stall | Fault::Before | Fault::After => Ok(()),
            }
        }
        .boxed()
    }
    fn after(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        let is_lost = self.fault != Fault::Stall && self.has_come();
        async move { if is_lost { Err(Trouble) } else { Ok(()) } }.boxed()
    }
}

/// A coordinator `id` with a fault at one of its calls.
fn coordinator(
    shift: &mut NightShift,
    ledger: &Ledger,
    id: &str,
    fault: Option<(u32, Fault)>,
) -> (Process, Arc<Misfortune>) {
    let (at, fault) = fault.unwrap_or((u32::MAX, Fault::Before));
    let fate = Arc::new(Misfortune { calls: AtomicU32::new(0), at, fault, woken: Notify::new() });
    shift.stage.config.id = id.parse().unwrap();
    shift.stage.ledger = ledger.troubled(Troubles::new(fate.clone()));
    let process = shift.stage.process();
    shift.stage.ledger = ledger.clone();
    (process, fate)
}

/// Two nights, each looked at until its end, by whoever leads: the first coordinator until it is cut off, then the second. Says how many
/// calls the first one made.
async fn two_nights(fault: Option<(u32, Fault)>) -> u32 {
    let mut shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let ledger = Ledger::in_memory().unwrap();
    shift.stage.ledger = ledger.clone();
    let writer = shift.stage.process();
    let more = json!({ "gate": "metrics: {}", "catch_up": "all:9", "notify": { "webhooks": ["ci"] } });
    shift.schedule(&writer, more).await;
    *shift.gate.verdicts.lock().unwrap() = vec![Ok(NightVerdict::NoGo); 9];
    let (first, fate) = coordinator(&mut shift, &ledger, "first", fault);
    let (second, _) = coordinator(&mut shift, &ledger, "second", None);
    let mut takes_over = false;
    for _ in 0..2 {
        shift.pass(60);
        for _ in 0..2 {
            for _ in 0..2 {
                // What a process that is cut off does comes to nothing, and it goes on trying.
                let result = first.coordinator.look_after_schedules().await;
                takes_over |= result.is_err() || fate.has_come();
                if takes_over {
                    // Until the lease is over, the second one stands by.
                    tokio::time::advance(Duration::from_secs(11)).await;
                    second.coordinator.look_after_schedules().await.unwrap();
                }
            }
            shift.end_sweeps(SweepState::Complete).await;
        }
    }
    let ticks = shift.history(&second).await;
    let states: Vec<_> = ticks.iter().rev().map(|tick| (tick.at.to_string(), tick.state)).collect();
    let expected = ["2026-11-23T00:01:00Z", "2026-11-23T00:02:00Z"].map(|at| (at.to_owned(), TickState::Ended));
    assert_eq!(states, expected, "{fault:?}");
    let sweeps: BTreeSet<_> = ledger.sweeps().await.unwrap().into_iter().map(|row| row.id).collect();
    let named: BTreeSet<_> = ticks.iter().filter_map(|tick| tick.sweep.clone()).collect();
    assert_eq!((sweeps.len(), &sweeps), (2, &named), "{fault:?}: one sweep a tick");
    // Each night is told; one more time where it is not known that it was.
    let ids: Vec<_> = shift.postman.taken.lock().unwrap().iter().map(|message| message.id.clone()).collect();
    let different: BTreeSet<_> = ids.iter().collect();
    assert_eq!(different.len(), 2, "{fault:?}");
    assert!(ids.len() <= 3, "{fault:?}: {ids:?}");
    let verdicts: BTreeSet<_> = shift.postman.told().into_iter().collect();
    let expected = ["ended 2026-11-23T00:01:00Z", "no_go 2026-11-23T00:02:00Z"].map(str::to_owned);
    assert_eq!(verdicts, BTreeSet::from(expected), "{fault:?}");
    let judged = ledger.schedule(&"nightly".parse().unwrap()).await.unwrap().unwrap().judged;
    assert_eq!(judged, 1, "{fault:?}: a night is counted once");
    fate.calls.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn while_the_ledger_is_away_schedules_are_looked_after_with_growing_pauses() {
    let mut shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let ledger = Ledger::in_memory().unwrap();
    let (process, fate) = coordinator(&mut shift, &ledger, "first", Some((0, Fault::Before)));
    let stop = CancellationToken::new();
    let keeping = process.coordinator.keep_schedules(stop.clone());
    let minute = async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        stop.cancel();
    };
    tokio::join!(keeping, minute);
    // At 0, 1, 3 and 7 seconds, and then every five.
    assert_eq!(fate.calls.load(Ordering::Relaxed), 14);
    assert_eq!(process.metrics.failed_ticks.get(), 14);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_at_any_call_loses_and_doubles_no_night() {
    let calls = two_nights(None).await;
    assert!(calls > 30, "{calls}");
    for call in 0..calls {
        for fault in [Fault::Before, Fault::After] {
            two_nights(Some((call, fault))).await;
        }
    }
}

/// The first coordinator stops at `call` of a look, the second leads and looks, the first goes on. Says whether the look had so many calls.
async fn stood_still(call: u32) -> bool {
    let mut shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let ledger = Ledger::in_memory().unwrap();
    shift.stage.ledger = ledger.clone();
    let writer = shift.stage.process();
    shift.schedule(&writer, json!({ "catch_up": "all:9" })).await;
    let (first, fate) = coordinator(&mut shift, &ledger, "first", Some((call, Fault::Stall)));
    let (second, _) = coordinator(&mut shift, &ledger, "second", None);
    shift.pass(60);
    let mut look = first.coordinator.look_after_schedules();
    let is_over = futures::poll!(&mut look).is_ready();
    tokio::time::advance(Duration::from_secs(11)).await;
    second.coordinator.look_after_schedules().await.unwrap();
    fate.woken.notify_one();
    if !is_over {
        let _ = look.await;
    }
    // Whoever leads now goes on with what the other began.
    tokio::time::advance(Duration::from_secs(11)).await;
    let _ = second.coordinator.look_after_schedules().await;
    assert_eq!(ledger.sweeps().await.unwrap().len(), 1, "call {call}");
    assert_eq!(shift.states(&second).await, ["2026-11-23T00:01:00Z running"], "call {call}");
    !is_over
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stood_still_starts_nothing_when_it_goes_on() {
    let mut calls = 0;
    while stood_still(calls).await {
        calls += 1;
    }
    assert!(calls > 8, "{calls}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_dispatching_hangs_does_not_lead_on_by_its_schedules() {
    let mut shift = NightShift::at("2026-11-23T00:00:00Z").await;
    let ledger = Ledger::in_memory().unwrap();
    shift.stage.ledger = ledger.clone();
    // It alone is cut off from the broker: its first call there is not answered.
    let fate = Arc::new(Misfortune { calls: AtomicU32::new(0), at: 0, fault: Fault::Stall, woken: Notify::new() });
    let queue = shift.stage.queue.clone();
    shift.stage.queue = queue.troubled(Troubles::new(fate.clone()));
    let (mut first, _) = coordinator(&mut shift, &ledger, "first", None);
    shift.stage.queue = queue;
    let (second, _) = coordinator(&mut shift, &ledger, "second", None);
    first.work();
    while !fate.has_come() {
        tokio::task::yield_now().await;
    }
    assert_eq!(first.metrics.leads.get(), 1);
    for _ in 0..11 {
        // In the end its lead is over.
        let _ = first.coordinator.look_after_schedules().await;
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    second.coordinator.look_after_schedules().await.expect("the other one leads");
    let looked = first.coordinator.look_after_schedules().await;
    assert!(matches!(looked, Err(CoordinatorError::NotLeading)), "{looked:?}");
    assert_eq!(first.metrics.leads.get(), 0);
    fate.woken.notify_one();
    first.end().await;
}
