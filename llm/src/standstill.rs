//! Standstills of this process: it was stopped, its machine slept, or nothing of it ran.
//!
//! Meanwhile others may have been given what it held. It hears of that on its connections, but a moment later than a permit that comes
//! at once; a call that is sent in between is paid for twice.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::time::error::Elapsed;
use tokio::time::{Instant, MissedTickBehavior, timeout_at};

/// Interval at which a process that runs notes that it does.
const BEAT: Duration = Duration::from_secs(1);
/// Longest time between two notes of a process that did not stand still. No broker or store takes anything away from one that sooner.
const BETWEEN_BEATS_MAX: Duration = Duration::from_secs(3);
/// Time after a standstill for which no call is sent: connections that were lost are noticed within a tenth of a second.
const PAUSE: Duration = Duration::from_secs(2);

/// A request that was not sent, because its process stood still between the permission to send it and its first byte.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("this process stood still before the request was sent")]
pub(crate) struct StoodStill;

#[derive(Debug)]
struct State {
    beat: Instant,
    /// End of the pause after the last standstill.
    paused_until: Option<Instant>,
}

/// Watches for standstills of this process, until the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Standstill(Arc<Mutex<State>>);

impl Standstill {
    /// Begins to watch, in a task of its own.
    #[must_use]
    pub fn watch() -> Self {
        let state = Arc::new(Mutex::new(State { beat: Instant::now(), paused_until: None }));
        tokio::spawn(keep_beating(Arc::downgrade(&state)));
        Self(state)
    }

    /// Nothing of this process runs until then: said by who simulates it, where one clock goes on for all.
    pub fn stands_still(&self, until: Instant) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.paused_until = state.paused_until.max(Some(until + PAUSE));
    }

    /// Waits for `awaited` until `deadline`. A standstill puts that off to the end of the pause after it: an answer that came meanwhile is
    /// there, and has yet to be read.
    ///
    /// # Errors
    /// When it gives nothing by then.
    pub(crate) async fn timeout_at<F: Future>(&self, mut deadline: Instant, awaited: F) -> Result<F::Output, Elapsed> {
        tokio::pin!(awaited);
        loop {
            match (timeout_at(deadline, &mut awaited).await, self.paused_until()) {
                (Err(_), Some(until)) if until > deadline => deadline = until,
                (given, _) => return given,
            }
        }
    }

    /// End of the pause that a standstill has led to; `None` if calls may be sent.
    pub(crate) fn paused_until(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // After a standstill this may be asked before the task beats.
        beat(&mut state, now);
        state.paused_until
    }
}

async fn keep_beating(state: Weak<Mutex<State>>) {
    let mut ticks = tokio::time::interval(BEAT);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(state) = state.upgrade() else { return };
        beat(&mut state.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
    }
}

fn beat(state: &mut State, now: Instant) {
    let stood_for = now.saturating_duration_since(state.beat);
    if stood_for > BETWEEN_BEATS_MAX {
        tracing::warn!(
            seconds = stood_for.as_secs_f64(),
            "this process stood still; it sends no call until its connections have noticed"
        );
        state.paused_until = Some(now + PAUSE);
    }
    state.beat = now;
    state.paused_until = state.paused_until.filter(|until| now < *until);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets other tasks run without time going by.
    async fn turns() {
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_runs_is_never_paused_however_long_it_waits() {
        let standstill = Standstill::watch();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(standstill.paused_until(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_standstill_nothing_is_sent_for_two_seconds_whoever_notices_first() {
        for task_is_first in [false, true] {
            let standstill = Standstill::watch();
            turns().await;
            // The clock goes on, and nothing runs.
            tokio::time::advance(Duration::from_secs(13)).await;
            if task_is_first {
                turns().await;
            }
            assert_eq!(standstill.paused_until(), Some(Instant::now() + PAUSE));
            tokio::time::sleep(PAUSE).await;
            assert_eq!(standstill.paused_until(), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_came_during_a_standstill_is_taken_although_its_deadline_has_passed() {
        let standstill = Standstill::watch();
        turns().await;
        let (sender, mut receiver) = tokio::sync::oneshot::channel();
        let deadline = Instant::now() + Duration::from_secs(5);
        // It is there, but who brings it runs after who waits for it.
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(6)).await;
            turns().await;
            sender.send(7)
        });
        turns().await;
        tokio::time::advance(Duration::from_secs(13)).await;
        assert_eq!(standstill.timeout_at(deadline, &mut receiver).await.unwrap().unwrap(), 7);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_holds_where_nothing_stood_still_and_two_seconds_after_where_it_did() {
        let standstill = Standstill::watch();
        turns().await;
        let begun = Instant::now();
        let never = || std::future::pending::<()>();
        assert!(standstill.timeout_at(begun + Duration::from_secs(5), never()).await.is_err());
        assert_eq!(begun.elapsed().as_secs(), 5);
        tokio::time::advance(Duration::from_secs(13)).await;
        assert!(standstill.timeout_at(begun + Duration::from_secs(6), never()).await.is_err());
        assert_eq!(begun.elapsed().as_secs(), 20);
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_processor_is_no_standstill() {
        let standstill = Standstill::watch();
        turns().await;
        tokio::time::advance(Duration::from_millis(2_900)).await;
        assert_eq!(standstill.paused_until(), None);
    }
}
