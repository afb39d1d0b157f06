//! The confirming publisher: one task publishes for all callers, keeps many messages in flight, and publishes again those whose
//! confirmation was lost with a connection, or gives them up where they may come but once.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use lapin::options::BasicPublishOptions;
use lapin::types::ShortString;
use lapin::{BasicProperties, Channel, Confirmation};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::publication::{Claim, Request, Route, Times};
use crate::queue::QueueError;

/// Most messages in flight, which are not confirmed yet.
const WINDOW_MESSAGES: usize = 4096;
/// Most bytes in flight; a single larger message is allowed.
const WINDOW_BYTES: usize = 64 << 20;

/// AMQP delivery mode of durable messages.
const PERSISTENT: u8 = 2;

/// All messages that callers have handed over and that are not confirmed; it outlives connections.
pub(super) struct Unconfirmed {
    incoming: mpsc::Receiver<Request>,
    /// Waiting callers by number.
    callers: HashMap<u64, Caller>,
    callers_seen: u64,
    /// Messages to send, in order.
    backlog: VecDeque<(u64, Message)>,
    /// Messages in flight, by position in the order of all messages.
    sent: BTreeMap<u64, Message>,
    sent_bytes: usize,
    messages_seen: u64,
    timeout: Duration,
}

struct Caller {
    /// Messages that it has handed over, and those of them that are not confirmed.
    messages: usize,
    unconfirmed: usize,
    times: Times,
    claim: Arc<Claim>,
    done: oneshot::Sender<Result<(), QueueError>>,
}

#[derive(Clone)]
struct Message {
    caller: u64,
    route: Arc<Route>,
    body: Bytes,
    /// Time at which it was last sent.
    sent_at: Option<Instant>,
}

type Fate = (u64, lapin::Result<Confirmation>);

impl Unconfirmed {
    pub(super) fn new(incoming: mpsc::Receiver<Request>, timeout: Duration) -> Self {
        Self {
            incoming,
            callers: HashMap::new(),
            callers_seen: 0,
            backlog: VecDeque::new(),
            sent: BTreeMap::new(),
            sent_bytes: 0,
            messages_seen: 0,
            timeout,
        }
    }

    /// Publishes on this channel, which is in confirm mode, until the channel breaks, and returns its error. Returns `Ok` when there are no
    /// callers any more.
    pub(super) async fn publish_on(&mut self, channel: &Channel) -> Result<(), lapin::Error> {
        let result = self.try_publish_on(channel).await;
        self.lose_channel();
        result
    }

    /// The broker may or may not have what is in flight: it is sent again, before all others and in its order, unless it must not come twice.
    fn lose_channel(&mut self) {
        for (position, message) in std::mem::take(&mut self.sent).into_iter().rev() {
            if !self.give_up(&message) {
                self.backlog.push_front((position, message));
            }
        }
        self.sent_bytes = 0;
    }

    async fn try_publish_on(&mut self, channel: &Channel) -> Result<(), lapin::Error> {
        let mut fates = FuturesUnordered::new();
        loop {
            while let Some((position, message)) = self.next_to_send() {
                fates.push(send(channel, position, message));
            }
            // Also drives the new ones, because a future does nothing before it is polled.
            self.settle(known(&mut fates))?;
            if !self.backlog.is_empty() && self.has_room() {
                continue;
            }
            // A queue without a leader confirms nothing, and its messages must not fill the window for ever. On a new channel, messages
            // without a waiting caller are not sent again, and the others can proceed.
            let oldest = self.sent.first_key_value().and_then(|(_, message)| message.sent_at);
            let overdue = tokio::time::sleep_until(oldest.unwrap_or_else(Instant::now) + self.timeout);
            tokio::select! {
                () = overdue, if oldest.is_some() => {
                    return Err(overdue_error());
                }
                request = self.incoming.recv(), if self.backlog.is_empty() => match request {
                    Some(request) => self.accept(request),
                    None if self.sent.is_empty() => return Ok(()),
                    None => if let Some(fate) = fates.next().await { self.settle(vec![fate])? },
                },
                Some(fate) = fates.next(), if !fates.is_empty() => {
                    let mut round = vec![fate];
                    round.append(&mut known(&mut fates));
                    self.settle(round)?;
                }
            }
        }
    }

    /// `true` if there are no callers, and no message is left.
    pub(super) fn is_finished(&self) -> bool {
        self.incoming.is_closed() && self.incoming.is_empty() && self.backlog.is_empty()
    }

    fn accept(&mut self, request: Request) {
        self.callers_seen += 1;
        let caller = self.callers_seen;
        let Request { times, claim, done, .. } = request;
        let messages = request.bodies.len();
        self.callers.insert(caller, Caller { messages, unconfirmed: messages, times, claim, done });
        for body in request.bodies {
            self.messages_seen += 1;
            let route = Arc::clone(&request.route);
            self.backlog.push_back((self.messages_seen, Message { caller, route, body, sent_at: None }));
        }
    }

    fn has_room(&self) -> bool {
        self.sent.len() < WINDOW_MESSAGES && self.sent_bytes < WINDOW_BYTES
    }

    /// Moves one message from the backlog to those in flight. Messages without a waiting caller are dropped, and those that may not be sent
    /// any more.
    fn next_to_send(&mut self) -> Option<(u64, Message)> {
        while self.has_room() {
            let (position, mut message) = self.backlog.pop_front()?;
            let Some(caller) = self.callers.get(&message.caller) else { continue };
            if caller.done.is_closed() {
                self.callers.remove(&message.caller);
                continue;
            }
            let now = Instant::now();
            let is_late = matches!(caller.times, Times::Once { until } if now >= until);
            if is_late || !caller.claim.send() {
                self.too_late(&message);
                continue;
            }
            self.sent_bytes += message.body.len();
            message.sent_at = Some(now);
            self.sent.insert(position, message.clone());
            return Some((position, message));
        }
        None
    }

    /// Fails the caller of a message that is not sent any more.
    fn too_late(&mut self, message: &Message) {
        let Some(caller) = self.callers.remove(&message.caller) else { return };
        let (queue, messages) = (message.route.key.to_string(), caller.messages);
        let error = if caller.claim.take_back() {
            QueueError::TooLate { queue, messages }
        } else {
            QueueError::InDoubt { queue, messages }
        };
        let _ = caller.done.send(Err(error));
    }

    /// Handles the confirmations of some messages; fails if the channel is broken.
    ///
    /// The client attaches a returned message to the next confirmation that it completes, which may be that of another message. So a return
    /// is applied to all messages to the same queue, before confirmations are handled.
    fn settle(&mut self, fates: Vec<Fate>) -> Result<(), lapin::Error> {
        let mut confirmed = Vec::with_capacity(fates.len());
        let mut broken = None;
        let mut missing = HashSet::new();
        for (position, fate) in fates {
            match fate {
                Ok(Confirmation::Ack(returned)) => {
                    confirmed.push(position);
                    missing.extend(returned.map(|returned| returned.routing_key.clone()));
                }
                Ok(Confirmation::Nack(returned)) => {
                    missing.extend(returned.map(|returned| returned.routing_key.clone()));
                    broken = Some(io::Error::other("the broker refused a message (nack)").into());
                }
                Ok(Confirmation::NotRequested) => broken = Some(io::Error::other("confirms are off").into()),
                Err(error) => broken = Some(error),
            }
        }
        if !missing.is_empty() {
            self.fail_missing(&missing);
        }
        for position in confirmed {
            self.confirm(position);
        }
        broken.map_or(Ok(()), Err)
    }

    fn confirm(&mut self, position: u64) {
        let Some(message) = self.forget(position) else { return };
        let Some(caller) = self.callers.get_mut(&message.caller) else { return };
        caller.unconfirmed -= 1;
        if caller.unconfirmed == 0
            && let Some(caller) = self.callers.remove(&message.caller)
        {
            // The caller may have gone away.
            let _ = caller.done.send(Ok(()));
        }
    }

    fn fail_missing(&mut self, missing: &HashSet<ShortString>) {
        let lost = |message: &Message| message.route.mandatory && missing.contains(&message.route.key);
        let positions: Vec<u64> =
            self.sent.iter().filter(|(_, message)| lost(message)).map(|(position, _)| *position).collect();
        for position in positions {
            let Some(message) = self.forget(position) else { continue };
            if let Some(caller) = self.callers.remove(&message.caller) {
                let queue = message.route.key.to_string();
                let _ = caller.done.send(Err(QueueError::NoSuchQueue { queue }));
            }
        }
    }

    /// Fails the caller of a message that may have come and must not come twice; `false` if it may.
    fn give_up(&mut self, message: &Message) -> bool {
        if self.callers.get(&message.caller).is_none_or(|caller| !matches!(caller.times, Times::Once { .. })) {
            return false;
        }
        // Its other messages have no caller then, and are not sent.
        let Some(caller) = self.callers.remove(&message.caller) else { return false };
        let queue = message.route.key.to_string();
        let _ = caller.done.send(Err(QueueError::InDoubt { queue, messages: caller.messages }));
        true
    }

    fn forget(&mut self, position: u64) -> Option<Message> {
        let message = self.sent.remove(&position)?;
        self.sent_bytes -= message.body.len();
        Some(message)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the broker did not confirm a message in time")]
struct Overdue;

fn overdue_error() -> lapin::Error {
    io::Error::new(io::ErrorKind::TimedOut, Overdue).into()
}

/// `true` if the channel was given up because a message on it was not confirmed.
pub(super) fn is_overdue(error: &lapin::Error) -> bool {
    matches!(error.kind(), lapin::ErrorKind::IOError(error) if error.get_ref().is_some_and(|error| error.is::<Overdue>()))
}

/// All confirmations that have arrived, without waiting.
fn known<F: Future<Output = Fate>>(fates: &mut FuturesUnordered<F>) -> Vec<Fate> {
    std::iter::from_fn(|| fates.next().now_or_never().flatten()).collect()
}

async fn send(channel: &Channel, position: u64, message: Message) -> Fate {
    let options = BasicPublishOptions { mandatory: message.route.mandatory, immediate: false };
    let properties = BasicProperties::default().with_delivery_mode(PERSISTENT);
    let Message { route, body, .. } = message;
    let published = channel.basic_publish(route.exchange.clone(), route.key.clone(), options, &body, properties).await;
    match published {
        Ok(confirm) => (position, confirm.await),
        Err(error) => (position, Err(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hand_over(
        unconfirmed: &mut Unconfirmed,
        times: Times,
        bodies: &[&'static str],
    ) -> oneshot::Receiver<Result<(), QueueError>> {
        let (done, confirmed) = oneshot::channel();
        let route = Arc::new(Route { exchange: ShortString::default(), key: "q".into(), mandatory: true });
        let bodies = bodies.iter().map(|body| Bytes::from_static(body.as_bytes())).collect();
        unconfirmed.accept(Request { route, bodies, times, claim: Arc::default(), done });
        confirmed
    }

    fn send_all(unconfirmed: &mut Unconfirmed) -> Vec<(u64, Bytes)> {
        std::iter::from_fn(|| unconfirmed.next_to_send()).map(|(position, message)| (position, message.body)).collect()
    }

    #[tokio::test]
    async fn what_the_broker_may_have_is_sent_again_unless_it_may_come_but_once() {
        let (_requests, incoming) = mpsc::channel(1);
        let mut unconfirmed = Unconfirmed::new(incoming, Duration::from_secs(10));
        let mut again = hand_over(&mut unconfirmed, Times::UntilConfirmed, &["a", "b"]);
        let in_time = Times::Once { until: Instant::now() + Duration::from_secs(10) };
        let once = hand_over(&mut unconfirmed, in_time, &["c", "d"]);
        let sent = send_all(&mut unconfirmed);
        unconfirmed.confirm(sent[0].0);
        unconfirmed.confirm(sent[2].0);
        let mut unsent = hand_over(&mut unconfirmed, in_time, &["e"]);

        unconfirmed.lose_channel();
        let error = once.await.unwrap().unwrap_err();
        assert!(matches!(&error, QueueError::InDoubt { queue, messages: 2 } if queue == "q"), "{error}");
        let sent: Vec<_> = send_all(&mut unconfirmed);
        let bodies: Vec<&[u8]> = sent.iter().map(|(_, body)| body.as_ref()).collect();
        assert_eq!(bodies, [b"b", b"e"], "what was never sent is");

        for (position, _) in sent {
            unconfirmed.confirm(position);
        }
        again.try_recv().unwrap().unwrap();
        unsent.try_recv().unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_not_sent_in_time_is_not_sent_any_more() {
        let (_requests, incoming) = mpsc::channel(1);
        let mut unconfirmed = Unconfirmed::new(incoming, Duration::from_secs(60));
        let in_time = Times::Once { until: Instant::now() + Duration::from_secs(10) };
        let late = hand_over(&mut unconfirmed, in_time, &["a", "b"]);
        let mut others = hand_over(&mut unconfirmed, Times::UntilConfirmed, &["c"]);
        tokio::time::advance(Duration::from_secs(10)).await;

        let sent = send_all(&mut unconfirmed);
        assert_eq!(sent.iter().map(|(_, body)| body.as_ref()).collect::<Vec<_>>(), [b"c"]);
        let error = late.await.unwrap().unwrap_err();
        assert!(matches!(&error, QueueError::TooLate { queue, messages: 2 } if queue == "q"), "{error}");
        unconfirmed.confirm(sent[0].0);
        others.try_recv().unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_sent_in_part_before_its_time_was_over_is_in_doubt() {
        let (_requests, incoming) = mpsc::channel(1);
        let mut unconfirmed = Unconfirmed::new(incoming, Duration::from_secs(60));
        let in_time = Times::Once { until: Instant::now() + Duration::from_secs(10) };
        let partly = hand_over(&mut unconfirmed, in_time, &["a", "b"]);
        assert!(unconfirmed.next_to_send().is_some());
        tokio::time::advance(Duration::from_secs(10)).await;

        assert!(unconfirmed.next_to_send().is_none());
        let error = partly.await.unwrap().unwrap_err();
        assert!(matches!(&error, QueueError::InDoubt { messages: 2, .. }), "{error}");
    }
}
