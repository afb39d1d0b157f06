//! Reads a request's body, up to a limit.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::body::Body;
use regatta_memory::HeldBytes;

use crate::error::ApiError;

/// Multiple of the limit up to which a body that is too long is still read (and discarded), because a client whose connection is cut while
/// it sends does not see the error.
const DISCARDED: u64 = 4;

/// Longest time for which a body may come in. Slow lines send the largest ones within it.
pub const BODY_TIME_MAX: Duration = Duration::from_secs(60);

/// A body that was not read.
#[derive(Debug)]
pub enum NoBody<E> {
    /// The body is too long, or took too long; the client gets this error.
    Refused(ApiError),
    /// The client disconnected.
    Disconnected(E),
}

/// The whole body, of at most `limit` bytes, which are among those of `held`. While these cannot grow, nothing is read.
///
/// # Errors
/// When it is longer, or longer than what may be held (413), takes longer than [`BODY_TIME_MAX`] by the runtime's clock (408), or breaks off.
pub async fn read_body<B: Body<Data = Bytes>>(
    body: B,
    limit: usize,
    held: Option<&mut HeldBytes>,
) -> Result<Bytes, NoBody<B::Error>> {
    match tokio::time::timeout(BODY_TIME_MAX, read_pieces(body, limit, held)).await {
        Ok(read) => read,
        Err(_) => {
            let message = format!("the body took longer than {} s", BODY_TIME_MAX.as_secs());
            Err(NoBody::Refused(ApiError::too_slow(message)))
        }
    }
}

async fn read_pieces<B: Body<Data = Bytes>>(
    body: B,
    limit: usize,
    mut held: Option<&mut HeldBytes>,
) -> Result<Bytes, NoBody<B::Error>> {
    let mut body = pin!(body);
    let declared = body.size_hint().lower();
    let mut length = 0u64;
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let Ok(data) = frame.map_err(NoBody::Disconnected)?.into_data() else {
            continue;
        };
        length += data.len() as u64;
        if length.max(declared) > limit as u64 {
            if length > limit as u64 * DISCARDED {
                break;
            }
            rest.clear();
            continue;
        }
        if let Some(held) = &mut held {
            let room = held.grow(data.len() as u64).await;
            room.map_err(|error| NoBody::Refused(ApiError::too_large(error.to_string())))?;
        }
        if first.is_empty() {
            // Most requests arrive in one piece, which needs no copy.
            first = data;
        } else {
            if rest.is_empty() {
                rest.reserve(usize::try_from(declared).unwrap_or(limit).min(limit));
                rest.extend_from_slice(&first);
            }
            rest.extend_from_slice(&data);
        }
    }
    if length.max(declared) > limit as u64 {
        let message = format!("the body is longer than {limit} bytes; send less");
        return Err(NoBody::Refused(ApiError::too_large(message)));
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::Future as _;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use hyper::StatusCode;
    use hyper::body::Frame;
    use tokio::time::{Instant, Sleep, sleep};

    use super::*;

    /// A client that sends a byte each `pause`, for ever.
    struct Dripping {
        pause: Duration,
        next: Pin<Box<Sleep>>,
    }

    impl Body for Dripping {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            std::task::ready!(self.next.as_mut().poll(cx));
            self.next = Box::pin(sleep(self.pause));
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_refused_after_a_minute() {
        let begun = Instant::now();
        let pause = Duration::from_secs(1);
        let read = read_body(Dripping { pause, next: Box::pin(sleep(pause)) }, 1 << 20, None).await;
        let Err(NoBody::Refused(refusal)) = read else { panic!("{read:?}") };
        assert_eq!((refusal.status, begun.elapsed()), (StatusCode::REQUEST_TIMEOUT, BODY_TIME_MAX));
    }
}
