//! The calls of a session, and the rule by which a request joins an earlier call instead of making another.
//!
//! A client that gives up waiting asks again, on a new connection, while its call goes on here. It gets the answer of that call: the model
//! is not sampled twice. When a request equals an earlier one in member, format and body, it joins the earlier call
//!
//! - if both have the same idempotency key, whatever became of the call, or else
//! - if neither has one, nobody was given the answer yet, and whoever waited for it is gone.
//!
//! So two equal requests at once whose clients are both there are two samples. That a request says of itself that it is a retry changes
//! nothing: clients close the connection of the try before, and one that is still open may be that of somebody else who asks the same. A
//! call that failed is forgotten: to ask again is to try again.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use regatta_proto::Digest;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::connection::Waiting;

/// Calls in flight of one session.
pub(crate) const IN_FLIGHT_MAX: usize = 128;
/// Answers that are kept of one session, for whoever asks again.
const KEPT_MAX: usize = 64;

/// The calls of one session; `O` is what comes of one, and `W` waits for it.
pub(crate) struct SingleFlight<O, W> {
    inner: Mutex<Inner<O, W>>,
    /// Tasks of the calls that run.
    running: TaskTracker,
}

struct Inner<O, W> {
    is_closed: bool,
    begun: u64,
    calls: VecDeque<SharedCall<O, W>>,
}

struct SharedCall<O, W> {
    number: u64,
    request: Digest,
    idempotency_key: Option<String>,
    waiting: Vec<W>,
    outcome: watch::Receiver<Option<O>>,
    is_finished: bool,
}

/// Properties of a request that decide which earlier call it joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestKey {
    /// Digest of member, format and body.
    pub(crate) request: Digest,
    pub(crate) idempotency_key: Option<String>,
}

/// Result of a request: its own call, an earlier one, or a refusal.
#[derive(Debug)]
pub(crate) enum Join<O> {
    /// The request makes a call.
    Lead(CallLeader<O>, Waiter<O>),
    /// The request waits for a call that runs or has ended.
    Wait(Waiter<O>),
    /// Refused: as many calls run as may.
    Full,
    /// Refused: the session is closed.
    Closed,
}

/// Waits for a call.
#[derive(Debug)]
pub(crate) struct Waiter<O> {
    /// Number of the call within its session.
    pub(crate) number: u64,
    pub(crate) outcome: watch::Receiver<Option<O>>,
}

/// Makes a call.
#[derive(Debug)]
pub(crate) struct CallLeader<O> {
    pub(crate) number: u64,
    pub(crate) outcome: watch::Sender<Option<O>>,
    /// Until it is dropped, the call counts as running.
    pub(crate) running: TaskTrackerToken,
}

impl<O, W> SingleFlight<O, W> {
    pub(crate) fn new() -> Self {
        let inner = Inner { is_closed: false, begun: 0, calls: VecDeque::new() };
        Self { inner: Mutex::new(inner), running: TaskTracker::new() }
    }

    /// Lets no call begin any more.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.running.close();
    }

    /// Waits until no call runs; of a closed session.
    pub(crate) fn running(&self) -> TaskTracker {
        self.running.clone()
    }

    /// The call of this number is over. One that failed is forgotten.
    pub(crate) fn finished(&self, number: u64, is_answered: bool) {
        let mut inner = self.lock();
        if !is_answered {
            inner.calls.retain(|call| call.number != number);
            return;
        }
        if let Some(call) = inner.calls.iter_mut().find(|call| call.number == number) {
            call.is_finished = true;
        }
        let finished = inner.calls.iter().filter(|call| call.is_finished).count();
        if finished > KEPT_MAX
            && let Some(oldest) = inner.calls.iter().position(|call| call.is_finished)
        {
            inner.calls.remove(oldest);
        }
    }

    /// Notes that a client was given the answer of the call of this number.
    pub(crate) fn claimed(&self, number: u64) {
        self.lock().calls.retain(|call| call.number != number || call.idempotency_key.is_some());
    }

    fn lock(&self) -> MutexGuard<'_, Inner<O, W>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O, W: Waiting> SingleFlight<O, W> {
    /// Finds a call for a request of `waiting`.
    pub(crate) fn join(&self, key: RequestKey, waiting: W) -> Join<O> {
        let mut inner = self.lock();
        if inner.is_closed {
            return Join::Closed;
        }
        let joined = inner.place(&key).and_then(|place| inner.calls.get_mut(place));
        if let Some(call) = joined {
            call.waiting.push(waiting);
            return Join::Wait(Waiter { number: call.number, outcome: call.outcome.clone() });
        }
        if inner.calls.iter().filter(|call| !call.is_finished).count() >= IN_FLIGHT_MAX {
            return Join::Full;
        }
        let number = inner.begun;
        inner.begun += 1;
        let (sender, outcome) = watch::channel(None);
        inner.calls.push_back(SharedCall {
            number,
            request: key.request,
            idempotency_key: key.idempotency_key,
            waiting: vec![waiting],
            outcome: outcome.clone(),
            is_finished: false,
        });
        let leader = CallLeader { number, outcome: sender, running: self.running.token() };
        Join::Lead(leader, Waiter { number, outcome })
    }
}

impl<O, W: Waiting> Inner<O, W> {
    /// The call to join, the oldest first.
    fn place(&self, key: &RequestKey) -> Option<usize> {
        self.calls.iter().position(|call| {
            let is_same = call.request == key.request && call.idempotency_key == key.idempotency_key;
            is_same && (key.idempotency_key.is_some() || call.waiting.iter().all(Waiting::is_gone))
        })
    }
}

#[cfg(test)]
mod tests;
