//! The body of an answer: whole, streamed, broken off in the middle, or endless.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::event_stream::{EventStream, Next};
use crate::trickle::Trickle;

/// Ends a body before its declared length, which makes the server close the connection.
#[derive(Debug, thiserror::Error)]
#[error("the simulation broke the body off")]
pub struct BrokenOff;

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum AnswerBody {
    /// The whole body.
    Whole(Bytes),
    /// The beginning of a body, whose declared length is `declared` bytes.
    Part {
        /// The bytes that are sent.
        sent: Bytes,
        /// The content length.
        declared: u64,
    },
    /// The beginning has been passed to the connection, which still has to flush it.
    Flushing {
        /// Number of bytes that are never sent.
        missing: u64,
    },
    /// The next poll breaks the body off.
    Breaking {
        /// Number of bytes that are never sent.
        missing: u64,
    },
    /// Events, each at its time.
    Stream(Box<EventStream>),
    /// An endless body.
    Trickle(Box<Trickle>),
}

/// A body that breaks off in the middle: its first half, declared with its whole length.
pub fn first_half(body: &Bytes) -> impl Body<Data = Bytes, Error = BrokenOff> + Send + use<> {
    AnswerBody::first_half_of(body)
}

impl AnswerBody {
    /// The first half of `body`, declared with its whole length.
    pub(crate) fn first_half_of(body: &Bytes) -> Self {
        Self::Part { sent: body.slice(..body.len() / 2), declared: body.len() as u64 }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match &mut *self {
            Self::Whole(body) if body.is_empty() => Poll::Ready(None),
            Self::Whole(body) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(body))))),
            Self::Part { sent, declared } => {
                let sent = std::mem::take(sent);
                let missing = *declared - sent.len() as u64;
                *self = Self::Flushing { missing };
                Poll::Ready(Some(Ok(Frame::data(sent))))
            }
            // An error discards buffered bytes, so the connection gets a turn to write them first.
            Self::Flushing { missing } => {
                let missing = *missing;
                *self = Self::Breaking { missing };
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Self::Breaking { .. } => Poll::Ready(Some(Err(BrokenOff))),
            Self::Stream(stream) => match ready!(stream.poll_next(cx)) {
                Next::Events(events) => Poll::Ready(Some(Ok(Frame::data(events)))),
                Next::End => Poll::Ready(None),
                Next::Break => {
                    *self = Self::Flushing { missing: 0 };
                    self.poll_frame(cx)
                }
            },
            Self::Trickle(trickle) => trickle.poll_byte(cx).map(|byte| Some(Ok(Frame::data(byte)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(body) if body.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => SizeHint::with_exact(body.len() as u64),
            Self::Part { declared, .. } => SizeHint::with_exact(*declared),
            Self::Flushing { missing } | Self::Breaking { missing } => SizeHint::with_exact(*missing),
            Self::Stream(_) | Self::Trickle(_) => SizeHint::default(),
        }
    }
}
