//! The calls of a session, and who may join one instead of making another.
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
pub(crate) struct Flights<O, W> {
    inner: Mutex<Inner<O, W>>,
    /// Those whose calls run.
    running: TaskTracker,
}

struct Inner<O, W> {
    is_closed: bool,
    begun: u64,
    flights: VecDeque<Flight<O, W>>,
}

struct Flight<O, W> {
    number: u64,
    request: Digest,
    idempotency_key: Option<String>,
    waiting: Vec<W>,
    outcome: watch::Receiver<Option<O>>,
    has_landed: bool,
}

/// What a request says about earlier ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// Of member, format and body.
    pub(crate) request: Digest,
    pub(crate) idempotency_key: Option<String>,
}

/// Where a request ends up.
#[derive(Debug)]
pub(crate) enum Boarding<O> {
    /// A call is to be made.
    New(Pilot<O>, Seat<O>),
    /// One is made, or was.
    Joined(Seat<O>),
    /// There are as many as may be.
    Full,
    /// The session is closed.
    Closed,
}

/// Waits for a call.
#[derive(Debug)]
pub(crate) struct Seat<O> {
    /// Of the call, within its session.
    pub(crate) number: u64,
    pub(crate) outcome: watch::Receiver<Option<O>>,
}

/// Makes a call.
#[derive(Debug)]
pub(crate) struct Pilot<O> {
    pub(crate) number: u64,
    pub(crate) outcome: watch::Sender<Option<O>>,
    /// Until it is dropped, the call counts as running.
    pub(crate) running: TaskTrackerToken,
}

impl<O, W> Flights<O, W> {
    pub(crate) fn new() -> Self {
        let inner = Inner { is_closed: false, begun: 0, flights: VecDeque::new() };
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
    pub(crate) fn landed(&self, number: u64, is_answered: bool) {
        let mut inner = self.lock();
        if !is_answered {
            inner.flights.retain(|flight| flight.number != number);
            return;
        }
        if let Some(flight) = inner.flights.iter_mut().find(|flight| flight.number == number) {
            flight.has_landed = true;
        }
        let landed = inner.flights.iter().filter(|flight| flight.has_landed).count();
        if landed > KEPT_MAX
            && let Some(oldest) = inner.flights.iter().position(|flight| flight.has_landed)
        {
            inner.flights.remove(oldest);
        }
    }

    /// Somebody was given the answer of the call of this number.
    pub(crate) fn claimed(&self, number: u64) {
        self.lock().flights.retain(|flight| flight.number != number || flight.idempotency_key.is_some());
    }

    fn lock(&self) -> MutexGuard<'_, Inner<O, W>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O, W: Waiting> Flights<O, W> {
    /// Finds a call for a request of `waiting`.
    pub(crate) fn board(&self, ticket: Ticket, waiting: W) -> Boarding<O> {
        let mut inner = self.lock();
        if inner.is_closed {
            return Boarding::Closed;
        }
        let joined = inner.place(&ticket).and_then(|place| inner.flights.get_mut(place));
        if let Some(flight) = joined {
            flight.waiting.push(waiting);
            return Boarding::Joined(Seat { number: flight.number, outcome: flight.outcome.clone() });
        }
        if inner.flights.iter().filter(|flight| !flight.has_landed).count() >= IN_FLIGHT_MAX {
            return Boarding::Full;
        }
        let number = inner.begun;
        inner.begun += 1;
        let (sender, outcome) = watch::channel(None);
        inner.flights.push_back(Flight {
            number,
            request: ticket.request,
            idempotency_key: ticket.idempotency_key,
            waiting: vec![waiting],
            outcome: outcome.clone(),
            has_landed: false,
        });
        let pilot = Pilot { number, outcome: sender, running: self.running.token() };
        Boarding::New(pilot, Seat { number, outcome })
    }
}

impl<O, W: Waiting> Inner<O, W> {
    /// The call to join, the oldest first.
    fn place(&self, ticket: &Ticket) -> Option<usize> {
        self.flights.iter().position(|flight| {
            let is_same = flight.request == ticket.request && flight.idempotency_key == ticket.idempotency_key;
            is_same && (ticket.idempotency_key.is_some() || flight.waiting.iter().all(Waiting::is_gone))
        })
    }
}

#[cfg(test)]
mod tests;
