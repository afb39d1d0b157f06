//! The body of an answer, which tells when it is handed over.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::connection::{Peer, Waiting as _};
use crate::open::Opened;

/// The client went before it could be given its answer.
#[derive(Debug)]
pub(crate) struct Gone;

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the client is gone")
    }
}

impl std::error::Error for Gone {}

/// A whole body.
pub(crate) struct AnswerBody {
    bytes: Bytes,
    claim: Option<Claim>,
}

/// The answer of a call, to be given to one client.
pub(crate) struct Claim {
    pub(crate) opened: Arc<Opened>,
    pub(crate) number: u64,
    pub(crate) peer: Peer,
}

impl AnswerBody {
    pub(crate) const fn new(bytes: Bytes, claim: Option<Claim>) -> Self {
        Self { bytes, claim }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Gone;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Gone>>> {
        if let Some(Claim { opened, number, peer }) = self.claim.take() {
            if peer.is_gone() {
                return Poll::Ready(Some(Err(Gone)));
            }
            opened.flights.claimed(number);
        }
        let bytes = std::mem::take(&mut self.bytes);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}
