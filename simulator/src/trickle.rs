//! A body that never ends: a byte now and then, as from a peer that ties up its clients ("slow loris").

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Sleep, sleep};

use crate::account::Account;

/// Short enough that no time-out between two reads ends it, only one for the whole answer.
const PAUSE: Duration = Duration::from_millis(100);

/// The body without its last byte, one byte at a time, and then spaces for ever.
pub(crate) struct Trickle {
    rest: Bytes,
    pause: Pin<Box<Sleep>>,
    /// Holds the slot of the request until its client disconnects.
    _account: Account,
}

impl Trickle {
    pub(crate) fn new(body: &Bytes, account: Account) -> Self {
        let rest = body.slice(..body.len().saturating_sub(1));
        Self { rest, pause: Box::pin(sleep(Duration::ZERO)), _account: account }
    }

    /// The next byte.
    pub(crate) fn poll_byte(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        if self.pause.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.pause = Box::pin(sleep(PAUSE));
        Poll::Ready(if self.rest.is_empty() { Bytes::from_static(b" ") } else { self.rest.split_to(1) })
    }
}

impl std::fmt::Debug for Trickle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trickle").field("rest", &self.rest.len()).finish_non_exhaustive()
    }
}
