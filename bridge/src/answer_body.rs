//! The body of an answer, which tells when it is handed over, and keeps its client awake until it is there.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Interval, MissedTickBehavior};

use crate::connection::{Peer, Waiting as _};
use crate::open::Opened;

/// The client closed its connection before its answer was sent.
#[derive(Debug)]
pub(crate) struct Gone;

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the client is gone")
    }
}

impl std::error::Error for Gone {}

/// A body: bytes, preceded by filler while they are still to come.
pub(crate) struct AnswerBody {
    bytes: Bytes,
    claim: Option<Claim>,
    coming: Option<Coming>,
}

/// The rest of a body that is still to come.
struct Coming {
    end: BoxFuture<'static, AnswerBody>,
    meanwhile: Bytes,
    ticks: Interval,
}

/// The answer of a call, to be given to one client.
pub(crate) struct Claim {
    pub(crate) opened: Arc<Opened>,
    pub(crate) number: u64,
    pub(crate) peer: Peer,
}

impl AnswerBody {
    pub(crate) const fn new(bytes: Bytes, claim: Option<Claim>) -> Self {
        Self { bytes, claim, coming: None }
    }

    /// A body that sends `meanwhile` at once and after each `pause` until `end` completes, and then the body that `end` gives.
    pub(crate) fn after(end: BoxFuture<'static, Self>, meanwhile: Bytes, pause: Duration) -> Self {
        let mut ticks = tokio::time::interval(pause);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { bytes: Bytes::new(), claim: None, coming: Some(Coming { end, meanwhile, ticks }) }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Gone;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Gone>>> {
        if let Some(coming) = &mut self.coming {
            match coming.end.as_mut().poll(cx) {
                Poll::Ready(body) => *self = body,
                Poll::Pending => {
                    return coming.ticks.poll_tick(cx).map(|_| Some(Ok(Frame::data(coming.meanwhile.clone()))));
                }
            }
        }
        if let Some(Claim { opened, number, peer }) = self.claim.take() {
            if peer.is_gone() {
                return Poll::Ready(Some(Err(Gone)));
            }
            opened.shared_calls.claimed(number);
        }
        let bytes = std::mem::take(&mut self.bytes);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.coming.is_none() && self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if self.coming.is_some() { SizeHint::default() } else { SizeHint::with_exact(self.bytes.len() as u64) }
    }
}
