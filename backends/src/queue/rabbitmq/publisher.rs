//! The callers' end of publishing: hands messages over, and waits until all are confirmed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lapin::types::ShortString;
use tokio::sync::{mpsc, oneshot};

use super::unconfirmed::Unconfirmed;
use crate::queue::QueueError;

/// Most requests that wait for the publishing task; further callers wait to queue theirs.
const WAITING_REQUESTS: usize = 64;

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
    /// It may come twice, and is not lost.
    UntilConfirmed,
    /// It may be lost, and does not come twice.
    Once,
}

/// Shared by all callers.
#[derive(Debug, Clone)]
pub(super) struct Publisher {
    requests: mpsc::Sender<Request>,
    timeout: Duration,
}

/// Messages of one caller.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) route: Arc<Route>,
    pub(super) bodies: Vec<Bytes>,
    pub(super) times: Times,
    pub(super) done: oneshot::Sender<Result<(), QueueError>>,
}

impl Publisher {
    /// A publisher, and the state of its task.
    pub(super) fn new(timeout: Duration) -> (Self, Unconfirmed) {
        let (requests, incoming) = mpsc::channel(WAITING_REQUESTS);
        (Self { requests, timeout }, Unconfirmed::new(incoming, timeout))
    }

    /// Returns when all are confirmed.
    pub(super) async fn publish(&self, route: Route, bodies: Vec<Bytes>, times: Times) -> Result<(), QueueError> {
        if bodies.is_empty() {
            return Ok(());
        }
        let queue = if route.exchange.as_str().is_empty() { route.key.to_string() } else { route.exchange.to_string() };
        let messages = bodies.len();
        let (done, confirmed) = oneshot::channel();
        let request = Request { route: Arc::new(route), bodies, times, done };
        let published = async {
            self.requests.send(request).await.map_err(|_| QueueError::Closed)?;
            confirmed.await.map_err(|_| QueueError::Closed)?
        };
        match tokio::time::timeout(self.timeout, published).await {
            Ok(result) => result,
            Err(_) => Err(QueueError::Unconfirmed { queue, messages, timeout: self.timeout }),
        }
    }
}
