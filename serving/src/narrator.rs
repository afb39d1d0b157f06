//! How a format tells an answer piece by piece, as server-sent events.

use bytes::Bytes;
use regatta_proto::Reply;
use serde::Serialize;

use crate::error::{ApiError, json_bytes};
use crate::parts::{Part, part, parts};

/// Writes the events of one answer, in this order: the opening; of each part its beginning, its pieces and its end; and then the closing.
/// Anywhere after the opening, an error may come instead.
pub trait Narrator: Send {
    /// What comes before the first part.
    fn opening(&mut self, out: &mut Vec<u8>);

    /// The beginning of `part`.
    fn begin(&mut self, part: Part, reply: &Reply, out: &mut Vec<u8>);

    /// The next piece of `part`.
    fn piece(&mut self, part: Part, piece: &str, out: &mut Vec<u8>);

    /// The end of `part`, which is told.
    fn end(&mut self, part: Part, reply: &Reply, out: &mut Vec<u8>);

    /// What comes after the last part.
    fn closing(&mut self, reply: &Reply, out: &mut Vec<u8>);

    /// The generation failed, when of its text `text` was told.
    fn error(&mut self, error: &ApiError, text: &str, out: &mut Vec<u8>);
}

/// Everything at once: each part is one piece.
#[must_use]
pub fn at_once(mut narrator: Box<dyn Narrator>, reply: &Reply) -> Bytes {
    let mut out = Vec::new();
    narrator.opening(&mut out);
    for told in parts(reply) {
        narrator.begin(told, reply, &mut out);
        narrator.piece(told, part(reply, told), &mut out);
        narrator.end(told, reply, &mut out);
    }
    narrator.closing(reply, &mut out);
    out.into()
}

/// An event without a name, as OpenAI's chat completions have them.
pub(crate) fn write_unnamed(out: &mut Vec<u8>, data: &impl Serialize) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(&json_bytes(data));
    out.extend_from_slice(b"\n\n");
}

/// An event that also tells its name outside of its data.
pub(crate) fn write_named(out: &mut Vec<u8>, name: &str, data: &impl Serialize) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.push(b'\n');
    write_unnamed(out, data);
}
