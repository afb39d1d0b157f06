//! SSE encoders: each format writes an answer piece by piece, as server-sent events.

use bytes::Bytes;
use regatta_proto::Reply;
use serde::Serialize;

use crate::error::{ApiError, json_bytes};
use crate::parts::{Part, part, parts};

/// An SSE encoder: writes the events of one answer in this order: the opening; of each part the beginning, the pieces and the end; the
/// closing. At any point after the opening, an error may end the stream instead.
pub trait SseEncoder: Send {
    /// Writes the events before the first part.
    fn opening(&mut self, out: &mut Vec<u8>);

    /// Writes the beginning of `part`.
    fn begin(&mut self, part: Part, reply: &Reply, out: &mut Vec<u8>);

    /// Writes the next piece of `part`.
    fn piece(&mut self, part: Part, piece: &str, out: &mut Vec<u8>);

    /// Writes the end of `part`.
    fn end(&mut self, part: Part, reply: &Reply, out: &mut Vec<u8>);

    /// Writes the events after the last part.
    fn closing(&mut self, reply: &Reply, out: &mut Vec<u8>);

    /// Writes the error of a generation that failed after `text` of its text had been sent.
    fn error(&mut self, error: &ApiError, text: &str, out: &mut Vec<u8>);
}

/// Writes the whole answer, each part as one piece.
#[must_use]
pub fn at_once(mut encoder: Box<dyn SseEncoder>, reply: &Reply) -> Bytes {
    let mut out = Vec::new();
    encoder.opening(&mut out);
    for told in parts(reply) {
        encoder.begin(told, reply, &mut out);
        encoder.piece(told, part(reply, told), &mut out);
        encoder.end(told, reply, &mut out);
    }
    encoder.closing(reply, &mut out);
    out.into()
}

/// Writes an event without a name, as OpenAI's chat completions use them.
pub(crate) fn write_unnamed(out: &mut Vec<u8>, data: &impl Serialize) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(&json_bytes(data));
    out.extend_from_slice(b"\n\n");
}

/// Writes an event whose name also stands outside its data.
pub(crate) fn write_named(out: &mut Vec<u8>, name: &str, data: &impl Serialize) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.push(b'\n');
    write_unnamed(out, data);
}
