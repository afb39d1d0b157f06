//! Messages on their way from a caller to the task that publishes.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use lapin::types::ShortString;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::queue::QueueError;

/// Destination of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Route {
    /// Name of the exchange; empty for the default one, which leads to the queue named by `key`.
    pub(super) exchange: ShortString,
    pub(super) key: ShortString,
    /// The message must reach a queue.
    pub(super) mandatory: bool,
}

/// Rule for messages whose confirmation was lost with a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::queue) enum Times {
    /// At least once: the message is sent until the broker confirms it, and may be delivered twice.
    UntilConfirmed,
    /// At most once: the message may be lost, and is not delivered twice.
    Once {
        /// It is not sent after this time.
        until: Instant,
    },
}

/// Agreement of a caller that gives up and the task that sends: once a message is sent, its caller cannot take it back, and what its caller
/// has taken back is not sent.
#[derive(Debug, Default)]
pub(super) struct Claim(OnceLock<Claimed>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claimed {
    Sent,
    TakenBack,
}

impl Claim {
    /// `false` if the caller has taken its messages back: then none is sent.
    pub(super) fn send(&self) -> bool {
        *self.0.get_or_init(|| Claimed::Sent) == Claimed::Sent
    }

    /// `false` if some message was sent.
    pub(super) fn take_back(&self) -> bool {
        *self.0.get_or_init(|| Claimed::TakenBack) == Claimed::TakenBack
    }
}

/// Messages of one caller.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) route: Arc<Route>,
    pub(super) bodies: Vec<Bytes>,
    pub(super) times: Times,
    pub(super) claim: Arc<Claim>,
    pub(super) done: oneshot::Sender<Result<(), QueueError>>,
}
