//! One queue in memory: who waits, who holds what. Every step costs O(1), or O(log prefetch) where a holder's messages are kept
//! in order.
//!
//! Messages are assigned to consumers as they come, as a broker with prefetch does: that keeps a consumer's turn fair, and the
//! meaning of `depth` the same.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A queue of messages and its consumers.
pub(super) struct Lane<T> {
    name: String,
    delivery_limit: u32,
    dead: Arc<AtomicU64>,
    state: Mutex<State<T>>,
}

struct State<T> {
    ready: VecDeque<Held<T>>,
    seats: HashMap<u64, Seat<T>>,
    /// Seats with credit, in turn; a seat is here once or not at all. Seats that stopped are passed over.
    turns: VecDeque<u64>,
    last_seat: u64,
    last_tag: u64,
}

struct Held<T> {
    message: Arc<T>,
    redeliveries: u32,
}

/// A consumer's place.
struct Seat<T> {
    credit: u32,
    stopped: bool,
    /// Assigned, by tag, and not settled.
    held: BTreeMap<u64, Held<T>>,
    /// Tags of those not yet taken.
    untaken: VecDeque<u64>,
    arrived: Arc<Notify>,
    /// Fires when what it holds is delivered again.
    voided: CancellationToken,
}

/// What a consumer finds when it looks.
pub(super) enum Taken<T> {
    /// A message.
    Message { message: Arc<T>, redeliveries: u32, tag: u64, voided: CancellationToken },
    /// Nothing yet.
    Nothing,
    /// Nothing, and nothing will come.
    Stopped,
}

/// How a receipt settles without knowing the type of its message.
pub(super) trait Settle: Send + Sync {
    /// Forgets the message.
    fn ack(&self, seat: u64, tag: u64);
    /// Queues the message again.
    fn hand_back(&self, seat: u64, tag: u64);
}

impl<T> Lane<T> {
    pub(super) fn new(name: &str, delivery_limit: u32, dead: Arc<AtomicU64>) -> Self {
        let state =
            State { ready: VecDeque::new(), seats: HashMap::new(), turns: VecDeque::new(), last_seat: 0, last_tag: 0 };
        Self { name: name.to_owned(), delivery_limit, dead, state: Mutex::new(state) }
    }

    pub(super) fn publish(&self, messages: Vec<T>) {
        let mut state = self.lock();
        state.ready.extend(messages.into_iter().map(|message| Held { message: Arc::new(message), redeliveries: 0 }));
        state.assign();
    }

    pub(super) fn depth(&self) -> u64 {
        self.lock().ready.len() as u64
    }

    pub(super) fn consumers(&self) -> u64 {
        self.lock().seats.values().filter(|seat| !seat.stopped).count() as u64
    }

    /// A new consumer: its number, and what tells it that something arrived.
    pub(super) fn sit_down(&self, prefetch: u32) -> (u64, Arc<Notify>) {
        let mut state = self.lock();
        state.last_seat += 1;
        let seat = state.last_seat;
        let arrived = Arc::new(Notify::new());
        let place = Seat {
            credit: prefetch.max(1),
            stopped: false,
            held: BTreeMap::new(),
            untaken: VecDeque::new(),
            arrived: Arc::clone(&arrived),
            voided: CancellationToken::new(),
        };
        state.seats.insert(seat, place);
        state.turns.push_back(seat);
        state.assign();
        (seat, arrived)
    }

    pub(super) fn take(&self, seat: u64) -> Taken<T> {
        let mut state = self.lock();
        let Some(place) = state.seats.get_mut(&seat).filter(|place| !place.stopped) else { return Taken::Stopped };
        let Some(tag) = place.untaken.pop_front() else { return Taken::Nothing };
        match place.held.get(&tag) {
            Some(held) => Taken::Message {
                message: Arc::clone(&held.message),
                redeliveries: held.redeliveries,
                tag,
                voided: place.voided.clone(),
            },
            None => Taken::Nothing,
        }
    }

    /// Assigns no more to this consumer, and gives back what it has not taken.
    pub(super) fn stop(&self, seat: u64) {
        let mut state = self.lock();
        let Some(place) = state.seats.get_mut(&seat) else { return };
        place.stopped = true;
        place.arrived.notify_one();
        let untaken = std::mem::take(&mut place.untaken);
        let returned: Vec<_> = untaken.into_iter().filter_map(|tag| place.held.remove(&tag)).collect();
        self.put_back(&mut state, returned);
    }

    /// Gives back all that this consumer holds, taken or not; it stays.
    #[cfg(feature = "faults")]
    pub(super) fn reset(&self, seat: u64) {
        let mut state = self.lock();
        let Some(place) = state.seats.get_mut(&seat) else { return };
        std::mem::take(&mut place.voided).cancel();
        place.untaken.clear();
        let returned: Vec<_> = std::mem::take(&mut place.held).into_values().collect();
        let was_full = place.credit == 0;
        place.credit += returned.len() as u32;
        if was_full && !returned.is_empty() {
            state.turns.push_back(seat);
        }
        self.put_back(&mut state, returned);
    }

    /// Forgets this consumer, and gives back all it holds. Whoever waits for its messages hears of it.
    pub(super) fn stand_up(&self, seat: u64) {
        let mut state = self.lock();
        let Some(place) = state.seats.remove(&seat) else { return };
        place.arrived.notify_one();
        place.voided.cancel();
        self.put_back(&mut state, place.held.into_values().collect());
    }

    /// `returned` in the order of assignment; they go to the front again in that order.
    fn put_back(&self, state: &mut State<T>, returned: Vec<Held<T>>) {
        for mut held in returned.into_iter().rev() {
            if held.redeliveries >= self.delivery_limit {
                self.dead.fetch_add(1, Ordering::SeqCst);
                tracing::error!(queue = %self.name, redeliveries = held.redeliveries, "made a message that was delivered too often a dead letter");
                continue;
            }
            held.redeliveries += 1;
            state.ready.push_front(held);
        }
        state.assign();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No code of others runs under the lock, so a poisoned state is a whole one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    /// Hands what is ready to those whose turn it is.
    fn assign(&mut self) {
        while !self.ready.is_empty() {
            let Some(seat) = self.turns.pop_front() else { return };
            let Some(place) = self.seats.get_mut(&seat).filter(|place| !place.stopped) else { continue };
            let Some(held) = self.ready.pop_front() else { return };
            self.last_tag += 1;
            place.held.insert(self.last_tag, held);
            place.untaken.push_back(self.last_tag);
            place.arrived.notify_one();
            place.credit -= 1;
            if place.credit > 0 {
                self.turns.push_back(seat);
            }
        }
    }

    /// Takes a message from its holder, who may take another one then.
    fn release(&mut self, seat: u64, tag: u64) -> Option<Held<T>> {
        let place = self.seats.get_mut(&seat)?;
        let held = place.held.remove(&tag)?;
        if place.credit == 0 {
            self.turns.push_back(seat);
        }
        place.credit += 1;
        Some(held)
    }
}

impl<T: Send + Sync> Settle for Lane<T> {
    fn ack(&self, seat: u64, tag: u64) {
        let mut state = self.lock();
        state.release(seat, tag);
        state.assign();
    }

    fn hand_back(&self, seat: u64, tag: u64) {
        let mut state = self.lock();
        let held = state.release(seat, tag);
        self.put_back(&mut state, held.into_iter().collect());
    }
}
