//! Calls that an endpoint has told to slow down, and the calls that wait for them.
//!
//! A call that waits for a retry holds no permit, so at an endpoint over its limit every session of the worker would come in, be
//! refused, and use its tries up. Therefore, once many calls are being refused, no new one begins until those got through: a new one
//! would take the place of one that has waited, which then fails for good.

use tokio::sync::{Mutex, watch};

/// Refused calls that new ones never wait for, however small the endpoint's concurrency: a single refusal must not stop the rest.
const REFUSED_MIN: usize = 16;

/// The calls of an endpoint that were refused by its rate limit and are not done yet.
#[derive(Debug)]
pub(crate) struct Backlog {
    refused_max: usize,
    state: watch::Sender<State>,
    /// Held by the one new call that watches; the others queue here, so that each change wakes one of them and not thousands.
    door: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    refused: usize,
    is_closed: bool,
}

/// A refused call; over when dropped.
#[derive(Debug)]
pub(crate) struct Refused<'a>(&'a Backlog);

impl Drop for Refused<'_> {
    fn drop(&mut self) {
        self.0.state.send_modify(|state| {
            state.refused -= 1;
            state.is_closed &= state.refused > 0;
        });
    }
}

impl Backlog {
    /// New calls stop when calls of half the `concurrency` are being refused: accidental refusals are fewer.
    pub(crate) fn new(concurrency: u32) -> Self {
        let refused_max = (concurrency as usize / 2).max(REFUSED_MIN);
        Self { refused_max, state: watch::Sender::default(), door: Mutex::new(()) }
    }

    /// Whether new calls have to wait.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.borrow().is_closed
    }

    /// Waits until a new call may begin.
    pub(crate) async fn admit(&self) {
        if !self.is_closed() {
            return;
        }
        let _door = self.door.lock().await;
        // The sender lives in `self`, so the channel cannot close meanwhile.
        let _ = self.state.subscribe().wait_for(|state| !state.is_closed).await;
    }

    /// Counts a call as refused until the guard is dropped.
    pub(crate) fn refuse(&self) -> Refused<'_> {
        self.state.send_modify(|state| {
            state.refused += 1;
            state.is_closed |= state.refused >= self.refused_max;
        });
        Refused(self)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn new_calls_wait_until_all_refused_ones_got_through() {
        let backlog = Backlog::new(40);
        let mut refused: Vec<Refused<'_>> = (0..19).map(|_| backlog.refuse()).collect();
        assert!(backlog.admit().now_or_never().is_some());
        refused.push(backlog.refuse());
        let (mut first, mut second) = (Box::pin(backlog.admit()), Box::pin(backlog.admit()));
        refused.truncate(1);
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        refused.clear();
        first.await;
        second.await;
    }

    #[tokio::test]
    async fn a_few_refusals_stop_nobody_however_small_the_concurrency() {
        let backlog = Backlog::new(1);
        let _refused: Vec<Refused<'_>> = (1..REFUSED_MIN).map(|_| backlog.refuse()).collect();
        assert!(backlog.admit().now_or_never().is_some());
    }
}
