//! Reads a request's body, up to a limit.

use std::future::poll_fn;
use std::pin::pin;

use bytes::{Bytes, BytesMut};
use hyper::body::Body;

use crate::error::ApiError;

/// Multiple of the limit up to which a body that is too long is still read (and discarded), because a client whose connection is cut while
/// it sends does not see the error.
const DISCARDED: u64 = 4;

/// A body that was not read.
#[derive(Debug)]
pub enum NoBody<E> {
    /// The body is too long; the client gets this error.
    Refused(ApiError),
    /// The client disconnected.
    Disconnected(E),
}

/// The whole body, of at most `limit` bytes.
///
/// # Errors
/// When it is longer (413), or breaks off.
pub async fn read_body<B: Body<Data = Bytes>>(body: B, limit: usize) -> Result<Bytes, NoBody<B::Error>> {
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
        } else if first.is_empty() {
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
