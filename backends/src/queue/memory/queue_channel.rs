//! One queue in memory: its messages, consumers and unsettled deliveries. Every step costs O(1), or O(log prefetch) where a consumer's
//! messages are kept in order.
//!
//! Messages are assigned to consumers as they arrive, like by a broker with prefetch, so that turns are fair and `depth` has the same
//! meaning.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A queue of messages and its consumers.
pub(super) struct QueueChannel<T> {
    name: String,
    delivery_limit: u32,
    dead: Arc<AtomicU64>,
    state: Mutex<State<T>>,
}

/// Distribution of a queue's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consumption {
    /// All consumers have messages, in turn.
    Shared,
    /// The consumer that has waited longest has all of them, until it is gone with what it holds.
    OneAtATime,
}

struct State<T> {
    consumption: Consumption,
    ready: VecDeque<Held<T>>,
    subscribers: HashMap<u64, Subscriber<T>>,
    /// Subscribers in turn, each at most once: those with credit, or all where one has all messages. Those that have stopped are skipped.
    turns: VecDeque<u64>,
    last_subscriber: u64,
    last_tag: u64,
}

struct Held<T> {
    message: Arc<T>,
    redeliveries: u32,
}

/// State of a consumer.
struct Subscriber<T> {
    credit: u32,
    stopped: bool,
    /// Messages assigned and not settled, by tag.
    held: BTreeMap<u64, Held<T>>,
    /// Tags of the messages that the consumer has not taken yet.
    untaken: VecDeque<u64>,
    arrived: Arc<Notify>,
    /// Fires when its messages are delivered again.
    voided: CancellationToken,
}

/// Result of taking a message.
pub(super) enum Taken<T> {
    /// A message.
    Message { message: Arc<T>, redeliveries: u32, tag: u64, voided: CancellationToken },
    /// No message has arrived yet.
    Nothing,
    /// No message is left, and none will arrive.
    Stopped,
}

/// Settles a message without knowing its type.
pub(super) trait Settle: Send + Sync {
    /// Removes the message.
    fn ack(&self, subscriber: u64, tag: u64);
    /// Queues the message again.
    fn hand_back(&self, subscriber: u64, tag: u64);
    /// Nobody will settle the message. It is queued again: with all others of its consumer, where none may overtake it.
    fn leave(&self, subscriber: u64, tag: u64);
}

impl<T> QueueChannel<T> {
    pub(super) fn new(name: &str, consumption: Consumption, delivery_limit: u32, dead: Arc<AtomicU64>) -> Self {
        let state = State {
            consumption,
            ready: VecDeque::new(),
            subscribers: HashMap::new(),
            turns: VecDeque::new(),
            last_subscriber: 0,
            last_tag: 0,
        };
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
        self.lock().subscribers.values().filter(|subscriber| !subscriber.stopped).count() as u64
    }

    /// Subscribes a new consumer, which `arrived` tells of messages. Returns its number.
    pub(super) fn subscribe(&self, prefetch: u32, arrived: &Arc<Notify>) -> u64 {
        let mut state = self.lock();
        state.last_subscriber += 1;
        let subscriber = state.last_subscriber;
        let place = Subscriber {
            credit: prefetch.max(1),
            stopped: false,
            held: BTreeMap::new(),
            untaken: VecDeque::new(),
            arrived: Arc::clone(arrived),
            voided: CancellationToken::new(),
        };
        state.subscribers.insert(subscriber, place);
        state.turns.push_back(subscriber);
        state.assign();
        subscriber
    }

    pub(super) fn take(&self, subscriber: u64) -> Taken<T> {
        let mut state = self.lock();
        let Some(place) = state.subscribers.get_mut(&subscriber).filter(|place| !place.stopped) else {
            return Taken::Stopped;
        };
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

    /// Assigns no more messages to this consumer, and returns those that it has not taken.
    pub(super) fn stop(&self, subscriber: u64) {
        let mut state = self.lock();
        let Some(place) = state.subscribers.get_mut(&subscriber) else { return };
        place.stopped = true;
        place.arrived.notify_one();
        let untaken = std::mem::take(&mut place.untaken);
        let returned: Vec<_> = untaken.into_iter().filter_map(|tag| place.held.remove(&tag)).collect();
        self.put_back(&mut state, returned);
    }

    /// Returns all messages of this consumer, taken or not; it is subscribed anew.
    #[cfg(feature = "faults")]
    pub(super) fn reset(&self, subscriber: u64) {
        let mut state = self.lock();
        let Some(place) = state.subscribers.get_mut(&subscriber) else { return };
        std::mem::take(&mut place.voided).cancel();
        place.untaken.clear();
        let returned: Vec<_> = std::mem::take(&mut place.held).into_values().collect();
        place.credit += returned.len() as u32;
        state.turns.retain(|other| *other != subscriber);
        state.turns.push_back(subscriber);
        self.put_back(&mut state, returned);
    }

    /// Unsubscribes this consumer, and returns all its messages. A caller that waits for its messages sees the end.
    pub(super) fn stand_up(&self, subscriber: u64) {
        let mut state = self.lock();
        let Some(place) = state.subscribers.remove(&subscriber) else { return };
        state.turns.retain(|other| *other != subscriber);
        place.arrived.notify_one();
        place.voided.cancel();
        self.put_back(&mut state, place.held.into_values().collect());
    }

    /// Puts messages back to the front of the queue, in the order of their assignment.
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
        // The lock is never held while foreign code runs, so a poisoned state is consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    /// Assigns ready messages to the consumers in turn.
    fn assign(&mut self) {
        while !self.ready.is_empty() {
            let Some(subscriber) = self.next_in_turn() else { return };
            let Some(place) = self.subscribers.get_mut(&subscriber).filter(|place| !place.stopped) else { continue };
            let Some(held) = self.ready.pop_front() else { return };
            self.last_tag += 1;
            place.held.insert(self.last_tag, held);
            place.untaken.push_back(self.last_tag);
            place.arrived.notify_one();
            place.credit -= 1;
            if place.credit > 0 && self.consumption == Consumption::Shared {
                self.turns.push_back(subscriber);
            }
        }
    }

    /// The subscriber that is assigned the next message, if one can be.
    fn next_in_turn(&mut self) -> Option<u64> {
        match self.consumption {
            Consumption::Shared => self.turns.pop_front(),
            Consumption::OneAtATime => {
                // One that has stopped is followed when it holds nothing any more: what it holds is not overtaken.
                let in_line = |subscriber: &&u64| {
                    self.subscribers.get(subscriber).is_some_and(|place| !place.stopped || !place.held.is_empty())
                };
                let subscriber = *self.turns.iter().find(in_line)?;
                let place = self.subscribers.get(&subscriber)?;
                (!place.stopped && place.credit > 0).then_some(subscriber)
            }
        }
    }

    /// Removes a message from its consumer, which then has credit for another one.
    fn release(&mut self, subscriber: u64, tag: u64) -> Option<Held<T>> {
        let place = self.subscribers.get_mut(&subscriber)?;
        let held = place.held.remove(&tag)?;
        if place.credit == 0 && self.consumption == Consumption::Shared {
            self.turns.push_back(subscriber);
        }
        place.credit += 1;
        Some(held)
    }
}

impl<T: Send + Sync> Settle for QueueChannel<T> {
    fn ack(&self, subscriber: u64, tag: u64) {
        let mut state = self.lock();
        state.release(subscriber, tag);
        state.assign();
    }

    fn hand_back(&self, subscriber: u64, tag: u64) {
        let mut state = self.lock();
        let held = state.release(subscriber, tag);
        self.put_back(&mut state, held.into_iter().collect());
    }

    fn leave(&self, subscriber: u64, tag: u64) {
        let consumption = self.lock().consumption;
        if consumption == Consumption::Shared {
            self.hand_back(subscriber, tag);
        }
    }
}
